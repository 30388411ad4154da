#include "collect/inside/resident.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/inside/line_clock.h"

#define OUT_OF_THE_WAY 900 /* the least number of the descriptor, where the limit allows */
#define TRIES          32

uint64_t resident_quickest_ticks;

static int descriptor = -1;
static uint64_t page_bytes;

static void open_again(void)
{
    int low = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    descriptor = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
    if (descriptor < 0)
        descriptor = low;
    else
        close(low);
}

/* The second of seven numbers; false when it is something else that was read. */
static bool parse(const char *text, uint64_t *pages)
{
    char *at;
    uint64_t numbers[7];
    for (int i = 0; i < 7; i++, text = at) {
        numbers[i] = strtoull(text, &at, 10);
        if (at == text)
            return false;
    }
    *pages = numbers[1];
    return *at == '\n' && numbers[1] <= numbers[0];
}

static bool read_pages(uint64_t *pages)
{
    char text[160];
    ssize_t size = descriptor < 0 ? -1 : pread(descriptor, text, sizeof text - 1, 0);
    if (size <= 0)
        return false;
    text[size] = '\0';
    return parse(text, pages);
}

/* A program may close descriptors that it has not opened, or open its own at the same number. */
uint64_t resident_bytes(void)
{
    uint64_t pages = 0;
    if (read_pages(&pages))
        return pages * page_bytes;
    open_again();
    return read_pages(&pages) ? pages * page_bytes : 0;
}

void resident_forget(void)
{
    if (descriptor >= 0)
        close(descriptor);
    descriptor = -1;
}

static void keep_least(uint64_t *least, uint64_t since)
{
    uint64_t elapsed = line_clock_now() - since;
    if (elapsed < *least)
        *least = elapsed;
}

/* Half of what is found: the quickest ever is not seen in a few tries. */
void resident_init(void)
{
    page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t least = UINT64_MAX;
    char *pages = mmap(NULL, TRIES * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return;
    for (int i = 0; i < TRIES; i++) {
        uint64_t since = line_clock_now();
        *(volatile char *)(pages + (size_t)i * page_bytes) = 1;
        keep_least(&least, since);
    }
    for (int i = 0; i < TRIES; i++) {
        uint64_t since = line_clock_now();
        munmap(pages + (size_t)i * page_bytes, page_bytes);
        keep_least(&least, since);
    }
    resident_quickest_ticks = least / 2;
}
