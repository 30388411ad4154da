#include "collect/agent/native_stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/agent/own_calls.h"
#include "python/memory.h"

enum { REGISTER_RSP = 7, REGISTER_PC = 16 };
#define RED_ZONE   128
#define PAGE_BYTES 4096u

static bool is_in(uint64_t address, uint64_t low, uint64_t high)
{
    return address >= low && address < high;
}

/* ---- walking ---- */

static bool load_safely(void *context, uint64_t address, uint64_t *value)
{
    return memory_read_word(context, address, value);
}

static struct walk_native_range copy_stack(const struct native_walker *walker, struct native_slot *slot,
                                           uint64_t stack_pointer)
{
    uint64_t low = (stack_pointer - RED_ZONE) & ~(uint64_t)7;
    struct iovec here = {slot->copied, sizeof slot->copied};
    struct iovec there = {(void *)(uintptr_t)low, sizeof slot->copied};
    pid_t pid = walker->pid ? (pid_t)walker->pid : (pid_t)syscall(SYS_getpid);
    ssize_t size = process_vm_readv(pid, &here, 1, &there, 1, 0);
    return (struct walk_native_range){low, low + (size > 0 ? (uint64_t)size : 0), slot->copied};
}

/* The red zone is mapped if this very handler runs below it; on a signal stack it may reach into a guard page. */
static struct walk_native_range range_of(const struct own_stack *stack, uint64_t stack_pointer)
{
    uint64_t low = (stack_pointer - RED_ZONE) & ~(uint64_t)7, here = (uint64_t)__builtin_frame_address(0);
    uint64_t page = stack_pointer & ~(uint64_t)(PAGE_BYTES - 1);
    if (!is_in(here, stack->low, stack_pointer) && low < page)
        low = page;
    return (struct walk_native_range){low, stack->high, (const uint8_t *)(uintptr_t)low};
}

static const struct modules *table_of(const struct native_walker *walker)
{
    uint64_t at = __atomic_load_n(&walker->area->table_at, __ATOMIC_ACQUIRE);
    return at ? (const struct modules *)(const void *)((const char *)walker->area + at) : walker->inherited;
}

/* Outermost first; a return address becomes one of the call. */
static void turn_around(struct native_slot *slot, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct walk_native_frame *frame = &slot->walked[count - 1 - i];
        slot->now[i] = frame->address - (frame->flags & WALK_NATIVE_RETURN ? 1 : 0);
    }
}

static uint16_t pack(struct native_slot *slot, size_t shared, size_t count)
{
    uint8_t *at = slot->packed;
    uint64_t last = shared ? slot->now[shared - 1] : 0;
    for (size_t i = shared; i < count; i++) {
        int64_t difference = (int64_t)(slot->now[i] - last);
        uint64_t rest = (uint64_t)difference << 1 ^ (uint64_t)(difference >> 63);
        for (; rest >= 0x80; rest >>= 7)
            *at++ = (uint8_t)(rest | 0x80);
        *at++ = (uint8_t)rest;
        last = slot->now[i];
    }
    return (uint16_t)(at - slot->packed);
}

static void fill_head(struct native_slot *slot, const struct walk_native_stack *stack,
                      struct native_head *head)
{
    size_t shared = 0;
    turn_around(slot, stack->count);
    while (shared < stack->count && shared < slot->depth && slot->now[shared] == slot->before[shared])
        shared++;
    bool guessed = stack->count && slot->walked[stack->count - 1].flags & WALK_NATIVE_GUESSED;
    *head = (struct native_head){.shared = (uint16_t)shared,
                                 .count = (uint16_t)(stack->count - shared),
                                 .bytes = pack(slot, shared, stack->count)};
    head->flags =
        (uint16_t)((stack->end == WALK_NATIVE_ROOT ? NATIVE_ROOT : 0) |
                   (stack->end == WALK_NATIVE_FULL ? NATIVE_CUT : 0) | (guessed ? NATIVE_GUESSED : 0));
}

static uint32_t take_cell(struct native_area *area)
{
    for (uint32_t i = 0; i < NATIVE_AREA_CELLS; i++) {
        uint32_t unused = 0;
        if (!area->cells[i].used && __atomic_compare_exchange_n(&area->cells[i].used, &unused, 1, false,
                                                                __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return i;
    }
    return NATIVE_AREA_CELLS;
}

/* The walk met code that the recorder does not know yet: it gets the stack itself. */
static void keep_stack(struct native_walker *walker, const struct walk_native_registers *registers,
                       const struct walk_native_range *range, struct native_head *head)
{
    uint32_t place = walker->area->hopeless ? NATIVE_AREA_CELLS : take_cell(walker->area);
    __atomic_fetch_add(&walker->area->unknown, 1, __ATOMIC_RELEASE);
    if (place == NATIVE_AREA_CELLS)
        return;
    struct native_cell *cell = &walker->area->cells[place];
    uint64_t size = range->high > range->low ? range->high - range->low : 0;
    cell->size = (uint32_t)(size < sizeof cell->stack ? size : sizeof cell->stack);
    cell->low = range->low;
    cell->registers = *registers;
    memcpy(cell->stack, range->bytes, cell->size);
    *head = (struct native_head){.shared = (uint16_t)place, .flags = NATIVE_RAW};
}

static bool walk(struct native_walker *walker, struct native_slot *slot,
                 const struct walk_native_registers *registers, const struct walk_native_range *ranges,
                 size_t range_count, struct native_head *head)
{
    const struct modules *modules = table_of(walker);
    struct memory loaded = walker->pid ? memory_of_process((int)walker->pid) : memory_own();
    const struct walk_native_memory memory = {
        .ranges = ranges, .range_count = range_count, .load = load_safely, .context = &loaded};
    struct walk_native_stack stack = {.frames = slot->walked, .capacity = NATIVE_AREA_DEPTH};
    if (!modules) { /* the recorder has not come so far yet */
        keep_stack(walker, registers, &ranges[0], head);
        return head->flags & NATIVE_RAW;
    }
    walk_native(&stack, registers, modules, &memory, &walker->cache);
    fill_head(slot, &stack, head);
    if (stack.met_unmapped)
        keep_stack(walker, registers, &ranges[0], head);
    return stack.count > 0;
}

bool native_stack_of_context(struct native_walker *walker, struct native_slot *slot, struct own_stack *stack,
                             const ucontext_t *context, struct native_head *head)
{
    struct walk_native_registers registers;
    walk_native_from_context(&registers, context);
    uint64_t stack_pointer = registers.value[REGISTER_RSP];
    struct walk_native_range ranges[2];
    size_t count = 1;
    if (own_stack_holds(stack, stack_pointer)) {
        ranges[0] = range_of(stack, stack_pointer);
    } else {
        ranges[0] = copy_stack(walker, slot, stack_pointer);
        if (stack->high) /* what it may return to */
            ranges[count++] =
                (struct walk_native_range){stack->low, stack->high, (const uint8_t *)(uintptr_t)stack->low};
    }
    return walk(walker, slot, &registers, ranges, count, head);
}

void native_stack_walk(struct native_walker *walker, struct own_stack *own,
                       const struct walk_native_registers *registers, struct walk_native_stack *stack)
{
    uint64_t stack_pointer = registers->value[REGISTER_RSP];
    const struct modules *modules = table_of(walker);
    struct memory loaded = memory_own();
    bool is_own = own_stack_holds(own, stack_pointer);
    const struct walk_native_range range = {stack_pointer, is_own ? own->high : stack_pointer,
                                            (const uint8_t *)(uintptr_t)stack_pointer};
    const struct walk_native_memory memory = {
        .ranges = &range, .range_count = 1, .load = load_safely, .context = &loaded};
    stack->count = 0;
    stack->met_unmapped = false;
    stack->end = WALK_NATIVE_STUCK;
    if (modules)
        walk_native(stack, registers, modules, &memory, &walker->cache);
}

bool native_stack_of_registers(struct native_walker *walker, struct native_slot *slot,
                               const struct walk_native_registers *registers, struct native_head *head)
{
    struct walk_native_range range = copy_stack(walker, slot, registers->value[REGISTER_RSP]);
    return range.high > range.low && walk(walker, slot, registers, &range, 1, head);
}

/* "NUMBER ARGUMENTS… STACK_POINTER PROGRAM_COUNTER", or "-1 STACK_POINTER PROGRAM_COUNTER" outside system calls. */
static bool read_registers(uint32_t pid, uint32_t tid, struct walk_native_registers *registers)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%u/task/%u/syscall", pid, tid);
    int fd = own_calls_open(path, O_RDONLY | O_CLOEXEC);
    long size = fd >= 0 ? own_calls_read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        own_calls_close(fd);
    text[size > 0 ? size : 0] = '\0';
    char *last = strrchr(text, ' ');
    if (!last)
        return false;
    *last = '\0';
    char *before = strrchr(text, ' ');
    *registers = (struct walk_native_registers){.known = 1u << REGISTER_RSP | 1u << REGISTER_PC};
    registers->value[REGISTER_PC] = strtoull(last + 1, NULL, 16);
    registers->value[REGISTER_RSP] = before ? strtoull(before + 1, NULL, 16) : 0;
    return registers->value[REGISTER_RSP] != 0;
}

bool native_stack_of_sleeper(struct native_walker *walker, struct native_slot *slot, uint32_t pid,
                             uint32_t tid, struct native_head *head)
{
    struct walk_native_registers registers;
    if (!read_registers(pid, tid, &registers))
        return false;
    return native_stack_of_registers(walker, slot, &registers, head);
}

void native_stack_drop(struct native_walker *walker, const struct native_head *head)
{
    if (head->flags & NATIVE_RAW)
        __atomic_store_n(&walker->area->cells[head->shared].used, 0, __ATOMIC_RELEASE);
}

void native_stack_keep(struct native_slot *slot, const struct native_head *head)
{
    if (head->flags & NATIVE_RAW)
        return;
    memcpy(&slot->before[head->shared], &slot->now[head->shared], head->count * sizeof slot->now[0]);
    slot->depth = (uint32_t)head->shared + head->count;
}

/* ---- the table ---- */

void native_stack_ask(struct native_walker *walker)
{
    walker->area->hopeless = 0;
    __atomic_fetch_add(&walker->area->loads, 1, __ATOMIC_RELEASE);
}

bool native_stack_ready(const struct native_walker *walker)
{
    return walker->area && table_of(walker);
}

void native_stack_init(struct native_walker *walker, struct native_area *area)
{
    walker->area = area;
    native_stack_ask(walker);
}

void native_stack_after_fork(struct native_walker *walker, struct native_area *area, uint64_t parent_pid)
{
    walker->inherited = walker->area ? table_of(walker) : NULL;
    walker->area = area;
    if (area)
        area->forked_from = parent_pid;
}
