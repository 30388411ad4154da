#include "collect/agent/own_stack.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/agent/own_calls.h"

struct range {
    uint64_t low, high;
};

/* Eats "START-END …" a byte at a time; true at the end of a line's two numbers. */
struct line_scan {
    uint64_t number[2];
    unsigned which;
};

static bool scan(struct line_scan *line, char byte)
{
    unsigned digit = byte <= '9' ? (unsigned)byte - '0' : (unsigned)byte - 'a' + 10;
    if (byte == '\n')
        *line = (struct line_scan){0};
    else if (line->which < 2 && (byte == '-' || byte == ' '))
        return ++line->which == 2;
    else if (line->which < 2)
        line->number[line->which] = line->number[line->which] << 4 | digit;
    return false;
}

/* The mapping that holds the address. */
static bool find_mapping(uint64_t address, struct range *found)
{
    char text[1024];
    struct line_scan line = {0};
    int fd = own_calls_open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    bool done = false;
    for (long size; fd >= 0 && !done && (size = own_calls_read(fd, text, sizeof text)) > 0;)
        for (long at = 0; at < size && !done; at++)
            done = scan(&line, text[at]) && address >= line.number[0] && address < line.number[1];
    if (fd >= 0)
        own_calls_close(fd);
    *found = (struct range){line.number[0], line.number[1]};
    return done;
}

static bool is_in(uint64_t address, uint64_t low, uint64_t high)
{
    return address >= low && address < high;
}

bool own_stack_holds(struct own_stack *stack, uint64_t stack_pointer)
{
    if (is_in(stack_pointer, stack->low, stack->high))
        return true;
    struct range mapping;
    if (is_in(stack_pointer, stack->foreign_low, stack->foreign_high) ||
        !find_mapping(stack_pointer, &mapping))
        return false;
    uint64_t record = (uint64_t)pthread_self();
    bool has_record = is_in(record, stack_pointer, mapping.high);
    /* The kernel leaves some random bytes on the main thread's. */
    if (has_record || is_in(getauxval(AT_RANDOM), stack_pointer, mapping.high)) {
        stack->low = mapping.low;
        stack->high = has_record ? record & ~(uint64_t)7 : mapping.high;
        return true;
    }
    stack->foreign_low = mapping.low;
    stack->foreign_high = mapping.high;
    return false;
}
