#include "collect/agent/heap_wrappers.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/agent/heap_tracker.h"
#include "collect/agent/own_library.h"

#define EXPORT              __attribute__((visibility("default")))
#define LIKELY(condition)   __builtin_expect((condition), 1)
#define UNLIKELY(condition) __builtin_expect((condition), 0)
#define EARLY_BYTES         (128u << 10)

/* The smallest block that other allocators than the C library's align to 16 bytes. */
#define SMALLEST_ALIGNED 16u

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    void *(*mmap)(void *, size_t, int, int, int, off_t);
    int (*munmap)(void *, size_t);
    void *(*mremap)(void *, size_t, size_t, int, ...);
} next;
static size_t smallest; /* what smaller requests are made: 0 or SMALLEST_ALIGNED */

/* ---- before the next functions are known ---- */

/* Looking them up allocates. What it gets comes from here, and is never given back; its size lies before it. */
static _Alignas(16) char early[EARLY_BYTES];
static size_t early_used;

static bool is_early(const void *block)
{
    return (const char *)block >= early && (const char *)block < early + sizeof early;
}

static void *allocate_early(size_t bytes)
{
    size_t need = (bytes + 2 * sizeof(uint64_t) + 15) & ~(size_t)15;
    size_t at = bytes < sizeof early ? __atomic_fetch_add(&early_used, need, __ATOMIC_RELAXED) : sizeof early;
    if (at > sizeof early - need || need > sizeof early)
        return NULL;
    memcpy(early + at, &bytes, sizeof bytes);
    return early + at + 2 * sizeof(uint64_t);
}

static size_t early_bytes(const void *block)
{
    size_t bytes;
    memcpy(&bytes, (const char *)block - 2 * sizeof(uint64_t), sizeof bytes);
    return bytes;
}

/* 1 at our own library, 2 at the C library: objects come in the order in which functions are looked for. The address of
 * a function does not tell: in a program it may be that of its own stub. */
static int look_at_object(struct dl_phdr_info *info, size_t size, void *here)
{
    (void)size;
    uint64_t low, high;
    const char *slash = strrchr(info->dlpi_name, '/');
    if (own_library_find(info, (uint64_t)here, &low, &high))
        return 1;
    return slash && strncmp(slash, "/libc.so", 8) == 0 ? 2 : 0;
}

bool heap_wrappers_are_first(void)
{
    return dl_iterate_phdr(look_at_object, (void *)heap_wrappers_init) == 1;
}

/* Preloaded, we stand before the next functions; loaded later, behind them. */
static void find_all(void)
{
    void *where = heap_wrappers_are_first() ? RTLD_NEXT : RTLD_DEFAULT;
    *(void **)&next.calloc = dlsym(where, "calloc");
    *(void **)&next.realloc = dlsym(where, "realloc");
    *(void **)&next.posix_memalign = dlsym(where, "posix_memalign");
    *(void **)&next.aligned_alloc = dlsym(where, "aligned_alloc");
    *(void **)&next.memalign = dlsym(where, "memalign");
    *(void **)&next.valloc = dlsym(where, "valloc");
    *(void **)&next.pvalloc = dlsym(where, "pvalloc");
    *(void **)&next.mmap = dlsym(where, "mmap");
    *(void **)&next.munmap = dlsym(where, "munmap");
    *(void **)&next.mremap = dlsym(where, "mremap");
    *(void **)&next.free = dlsym(where, "free");
    *(void **)&next.malloc = dlsym(where, "malloc");
}

/* The C library's blocks take 32 bytes at least. */
uint8_t heap_wrappers_shift(void)
{
    return smallest ? 4 : 5;
}

static bool is_c_library(const void *function)
{
    Dl_info info;
    const char *slash = dladdr(function, &info) && info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    return slash && strncmp(slash, "/libc.so", 8) == 0;
}

void heap_wrappers_init(void)
{
    static __thread __attribute__((tls_model("initial-exec"))) bool finding;
    if (next.malloc || finding)
        return;
    finding = true;
    find_all();
    smallest = is_c_library((void *)next.malloc) ? 0 : SMALLEST_ALIGNED;
    finding = false;
}

static __attribute__((noinline)) bool get_ready(void)
{
    heap_wrappers_init();
    return next.malloc;
}

static inline bool is_ready(void)
{
    return LIKELY(next.malloc != NULL) || get_ready();
}

static inline size_t enough(size_t bytes)
{
    return bytes < smallest ? smallest : bytes;
}

/* ---- malloc and its like ---- */

/* Whether a block counts. */
static inline bool counts(size_t bytes)
{
    return (heap_tracker_countdown -= (int64_t)bytes) < 0;
}

static __attribute__((noinline)) void *malloc_counted(size_t bytes)
{
    if (!is_ready())
        return allocate_early(bytes);
    void *block = next.malloc(enough(bytes));
    heap_tracker_allocated(block, bytes, HEAP_MALLOC);
    return block;
}

EXPORT void *malloc(size_t bytes)
{
    if (LIKELY(next.malloc != NULL) && !counts(bytes))
        return next.malloc(enough(bytes));
    return malloc_counted(bytes);
}

static __attribute__((noinline)) void free_counted(void *block)
{
    if (is_early(block) || !is_ready())
        return;
    heap_tracker_freed(block);
    next.free(block);
}

EXPORT void free(void *block)
{
    if (LIKELY(next.free != NULL) && !heap_tracker_remembers(block) && !is_early(block)) {
        next.free(block);
        return;
    }
    if (block)
        free_counted(block);
}

EXPORT void *calloc(size_t count, size_t size)
{
    size_t bytes;
    if (UNLIKELY(__builtin_mul_overflow(count, size, &bytes))) {
        errno = ENOMEM;
        return NULL;
    }
    if (UNLIKELY(!is_ready()))
        return allocate_early(bytes);
    void *block = bytes < smallest ? next.calloc(1, smallest) : next.calloc(count, size);
    if (counts(bytes))
        heap_tracker_allocated(block, bytes, HEAP_CALLOC);
    return block;
}

static void *reallocate_early(void *block, size_t bytes)
{
    void *copy = malloc(bytes);
    if (copy)
        memcpy(copy, block, early_bytes(block) < bytes ? early_bytes(block) : bytes);
    return copy;
}

EXPORT void *realloc(void *block, size_t bytes)
{
    if (UNLIKELY(!is_ready() || is_early(block)))
        return block ? reallocate_early(block, bytes) : malloc(bytes);
    uint64_t entry = block && heap_tracker_remembers(block) ? heap_tracker_take(block) : 0;
    void *moved = next.realloc(block, bytes ? enough(bytes) : 0);
    if (UNLIKELY(!moved && bytes)) {
        heap_tracker_put_back(block, entry);
        return NULL;
    }
    if (entry)
        heap_tracker_free_moved(block, entry);
    if (moved && counts(bytes))
        heap_tracker_allocated(moved, bytes, HEAP_REALLOC);
    return moved;
}

EXPORT void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(block, bytes);
}

static void *note_aligned(void *block, size_t bytes)
{
    if (block && counts(bytes))
        heap_tracker_allocated(block, bytes, HEAP_ALIGNED);
    return block;
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    if (!is_ready())
        return ENOMEM;
    int result = next.posix_memalign(block, alignment, enough(bytes));
    if (result == 0)
        note_aligned(*block, bytes);
    return result;
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
    return is_ready() ? note_aligned(next.aligned_alloc(alignment, enough(bytes)), bytes) : NULL;
}

EXPORT void *memalign(size_t alignment, size_t bytes)
{
    return is_ready() ? note_aligned(next.memalign(alignment, enough(bytes)), bytes) : NULL;
}

EXPORT void *valloc(size_t bytes)
{
    return is_ready() && next.valloc ? note_aligned(next.valloc(enough(bytes)), bytes) : NULL;
}

EXPORT void *pvalloc(size_t bytes)
{
    return is_ready() && next.pvalloc ? note_aligned(next.pvalloc(enough(bytes)), bytes) : NULL;
}

/* ---- mmap and its like ---- */

static size_t whole_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) & ~(page - 1);
}

/* Headers may make one of the two names the other. */
EXPORT void *map_memory(void *, size_t, int, int, int, off_t) __asm__("mmap");
EXPORT void *map_memory_64(void *, size_t, int, int, int, off_t) __asm__("mmap64");

void *map_memory(void *wanted, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (!is_ready())
        return (void *)syscall(SYS_mmap, wanted, bytes, protection, flags, fd, offset);
    if (flags & MAP_FIXED)
        heap_tracker_unmapped(wanted, whole_pages(bytes));
    void *memory = next.mmap(wanted, bytes, protection, flags, fd, offset);
    /* What shows a file is no memory of its own. */
    if (memory != MAP_FAILED && flags & MAP_ANONYMOUS)
        heap_tracker_mapped(memory, whole_pages(bytes));
    return memory;
}

void *map_memory_64(void *wanted, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return map_memory(wanted, bytes, protection, flags, fd, offset);
}

EXPORT int munmap(void *memory, size_t bytes)
{
    if (!is_ready())
        return (int)syscall(SYS_munmap, memory, bytes);
    heap_tracker_unmapped(memory, whole_pages(bytes));
    return next.munmap(memory, bytes);
}

EXPORT void *mremap(void *memory, size_t old_bytes, size_t bytes, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    void *wanted = flags & MREMAP_FIXED ? va_arg(list, void *) : NULL;
    va_end(list);
    if (!is_ready())
        return (void *)syscall(SYS_mremap, memory, old_bytes, bytes, flags, wanted);
    bool known = heap_tracker_has_mapped(memory);
    if (known)
        heap_tracker_unmapped(memory, whole_pages(old_bytes));
    void *moved = next.mremap(memory, old_bytes, bytes, flags, wanted);
    bool failed = moved == MAP_FAILED;
    if (known)
        heap_tracker_mapped(failed ? memory : moved, whole_pages(failed ? old_bytes : bytes));
    return moved;
}

#define WRAPPER(name, function)                                                                              \
    {                                                                                                        \
#name, (void *)(function), (void **)&next.name                                                       \
    }
const struct heap_wrapper heap_wrappers_list[] = {
    WRAPPER(malloc, malloc),
    WRAPPER(free, free),
    WRAPPER(calloc, calloc),
    WRAPPER(realloc, realloc),
    {"reallocarray", (void *)reallocarray, NULL},
    WRAPPER(memalign, memalign),
    WRAPPER(aligned_alloc, aligned_alloc),
    WRAPPER(valloc, valloc),
    WRAPPER(pvalloc, pvalloc),
    WRAPPER(posix_memalign, posix_memalign),
    WRAPPER(mmap, map_memory),
    {"mmap64", (void *)map_memory_64, NULL},
    WRAPPER(munmap, munmap),
    WRAPPER(mremap, mremap),
    {NULL, NULL, NULL},
};
