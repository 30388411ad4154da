#include "collect/outside/read_ahead.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

/* Pieces that lie so close together are fetched as one. Less than a page: what lies between two mapped pages that
 * follow one another is mapped. */
enum { GAP_BYTES = 1024, PAGE_BYTES = 4096 };

static const struct read_ahead_range *find_range(const struct read_ahead *ahead, uint64_t address,
                                                 size_t size)
{
    const struct read_ahead_range *ranges = ahead->list->ranges;
    uint32_t low = 0, high = ahead->fetched;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ranges[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const struct read_ahead_range *range = low ? &ranges[low - 1] : NULL;
    bool holds =
        range && address - range->address <= range->size && size <= range->size - (address - range->address);
    return holds ? range : NULL;
}

static bool read_live(int pid, uint64_t address, void *out, size_t size)
{
    struct iovec here = {out, size};
    struct iovec there = {(void *)(uintptr_t)address, size};
    return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static void remember(struct read_ahead_list *asked, uint64_t address, size_t size)
{
    if (asked->count < READ_AHEAD_RANGES && size <= PAGE_BYTES)
        asked->ranges[asked->count++] = (struct read_ahead_range){address, (uint32_t)size, 0};
}

static bool read_memory(void *context, uint64_t address, void *out, size_t size)
{
    struct read_ahead *ahead = context;
    const struct read_ahead_range *range = ahead->list ? find_range(ahead, address, size) : NULL;
    if (range)
        memcpy(out, ahead->bytes + range->at + (address - range->address), size);
    else if (!read_live(ahead->pid, address, out, size))
        return false;
    if (ahead->list)
        remember(&ahead->asked, address, size);
    return true;
}

struct memory read_ahead_memory(struct read_ahead *ahead)
{
    return (struct memory){.read = read_memory, .context = ahead};
}

void read_ahead_begin(struct read_ahead *ahead, struct read_ahead_list *list)
{
    struct iovec there[READ_AHEAD_RANGES];
    struct iovec here = {ahead->bytes, 0};
    for (uint32_t i = 0; i < list->count; i++) {
        there[i] = (struct iovec){(void *)(uintptr_t)list->ranges[i].address, list->ranges[i].size};
        here.iov_len += list->ranges[i].size;
    }
    ssize_t got = list->count ? process_vm_readv(ahead->pid, &here, 1, there, list->count, 0) : 0;
    ahead->list = list;
    ahead->asked.count = ahead->fetched = 0;
    /* It ends before the first range that cannot be had. */
    while (ahead->fetched < list->count &&
           (ssize_t)(list->ranges[ahead->fetched].at + list->ranges[ahead->fetched].size) <= got)
        ahead->fetched++;
}

static int by_address(const void *left, const void *right)
{
    const struct read_ahead_range *one = left, *other = right;
    return (one->address > other->address) - (one->address < other->address);
}

void read_ahead_end(struct read_ahead *ahead)
{
    struct read_ahead_list *list = ahead->list, *asked = &ahead->asked;
    uint32_t bytes = 0;
    qsort(asked->ranges, asked->count, sizeof *asked->ranges, by_address);
    list->count = 0;
    for (uint32_t i = 0; i < asked->count; i++) {
        const struct read_ahead_range *next = &asked->ranges[i];
        struct read_ahead_range *last = list->count ? &list->ranges[list->count - 1] : NULL;
        bool joins = last && next->address <= last->address + last->size + GAP_BYTES;
        uint64_t begin = joins ? last->address : next->address, end = next->address + next->size;
        uint32_t size = joins && last->address + last->size > end ? last->size : (uint32_t)(end - begin);
        uint32_t more = joins ? size - last->size : size;
        if (more > READ_AHEAD_BYTES - bytes)
            break;
        if (joins)
            last->size = size;
        else
            list->ranges[list->count++] = (struct read_ahead_range){begin, size, bytes};
        bytes += more;
    }
    ahead->list = NULL;
}
