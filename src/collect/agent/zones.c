#include "collect/agent/zones.h"

#define SONDE_NO_ZONES /* but for the struct */
#include <sonde/zones.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/agent/announcement.h"
#include "collect/agent/event_area.h"
#include "collect/agent/own_memory.h"
#include "collect/agent/seccomp_watch.h"

enum { DROPPED_MAX = 64, PAGE_DIGITS = 20 };

/* What a thread knows of its ring. */
struct writing {
    struct event_area *area; /* NULL = it has no row */
    struct event_thread_row *row;
    struct event_slot *ring;
    uint64_t written, taken; /* the row's; the second as it was when last looked at */
    uint32_t generation;     /* of the process, which changes by fork */
    uint32_t open;           /* regions of its own that have not ended: their ends have room */
    uint32_t dropped_count;
    uint32_t dropped[DROPPED_MAX]; /* regions whose begin was left out: so is their end */
    uint32_t busy;
};

enum state { CLOSED, OPENING, OPEN };

static struct {
    const struct session *session;
    const uint32_t *python;
    struct event_area *area, *inherited; /* the second: of the process that forked this one */
    uint32_t state;                      /* enum state */
    uint32_t generation;
    pthread_key_t key;
    bool has_key;
} zones;

static void (*watcher)(uint32_t kind, uint32_t name);

static __thread struct writing own __attribute__((tls_model("initial-exec")));

static uint32_t name(uint32_t kind, const char *text, size_t bytes);
static void begin(uint32_t region);
static void end(uint32_t region);
static void begin_for(uint32_t region, uint64_t owner);
static void end_for(uint32_t region, uint64_t owner);
static void mark(uint32_t mark, const char *text, size_t bytes);
static void counter(uint32_t counter, double value);
static void metadata(const char *key, size_t key_bytes, const char *value, size_t value_bytes);

__attribute__((visibility("default"))) struct sonde_zones sonde_zones = {.version = SONDE_ZONES_VERSION,
                                                                         .name = name,
                                                                         .begin = begin,
                                                                         .end = end,
                                                                         .mark = mark,
                                                                         .counter = counter,
                                                                         .metadata = metadata,
                                                                         .begin_for = begin_for,
                                                                         .end_for = end_for};

/* ---- the area ---- */

static struct event_area *make_area(void)
{
    uint32_t slots = event_area_ring_within(announcement_allowed_bytes(event_area_bytes(EVENT_AREA_RING)));
    uint64_t bytes = event_area_bytes(slots);
    int fd;
    struct event_area *area = slots && !seccomp_watch_is_deadly() ? announcement_map(bytes, &fd) : NULL;
    if (!area)
        return NULL;
    event_area_format(area, slots, (uint64_t)getpid(), *zones.python);
    area->resident = zones.session->resident_regions;
    if (zones.inherited)
        event_area_copy_names(area, zones.inherited);
    struct session_hello hello;
    announcement_init(&hello, SESSION_EVENTS);
    hello.arena_bytes = bytes;
    return announcement_send(zones.session, area, fd, &hello);
}

static void open_area(void)
{
    struct event_area *area = make_area();
    if (!area)
        sonde_zones.recording = 0;
    if (zones.inherited)
        own_memory_unmap(zones.inherited, zones.inherited->total_bytes);
    zones.inherited = NULL;
    __atomic_store_n(&zones.area, area, __ATOMIC_RELEASE);
    __atomic_store_n(&zones.state, OPEN, __ATOMIC_RELEASE);
}

/* Once for each process: other threads that come just then wait, since what they have to tell would be lost. */
static struct event_area *area_now(void)
{
    const struct timespec wait = {.tv_nsec = 50000};
    uint32_t closed = CLOSED;
    if (__atomic_load_n(&zones.state, __ATOMIC_ACQUIRE) == CLOSED &&
        __atomic_compare_exchange_n(&zones.state, &closed, OPENING, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED))
        open_area();
    while (__atomic_load_n(&zones.state, __ATOMIC_ACQUIRE) == OPENING)
        syscall(SYS_nanosleep, &wait, NULL);
    return zones.area;
}

/* ---- threads ---- */

static void thread_ends(void *unused)
{
    (void)unused;
    if (own.area && own.generation == zones.generation) {
        own.row->end_ticks = event_area_now(own.area);
        __atomic_store_n(&own.row->serial, own.row->serial + 1, __ATOMIC_RELEASE);
    }
    own.area = NULL;
}

/* One that a thread has left, and of which all was read. */
static bool take_over(struct event_thread_row *row)
{
    uint32_t serial = __atomic_load_n(&row->serial, __ATOMIC_ACQUIRE);
    return serial % 2 == 0 && __atomic_load_n(&row->taken, __ATOMIC_ACQUIRE) == row->written &&
           __atomic_compare_exchange_n(&row->taking, &(uint32_t){0}, 1, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

static struct event_thread_row *take_row(struct event_area *area)
{
    uint32_t count = __atomic_load_n(&area->thread_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count && i < EVENT_AREA_THREADS; i++)
        if (take_over(&area->threads[i]))
            return &area->threads[i];
    while (count < EVENT_AREA_THREADS)
        if (__atomic_compare_exchange_n(&area->thread_count, &count, count + 1, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            area->threads[count].taking = 1;
            return &area->threads[count];
        }
    return NULL;
}

static void describe(struct event_thread_row *row, const struct event_area *area)
{
    row->tid = (uint64_t)syscall(SYS_gettid);
    row->start_ticks = event_area_now(area);
    row->end_ticks = 0;
    if (row->tid == (uint64_t)getpid())
        strcpy(row->name, "MainThread");
    else
        prctl(PR_GET_NAME, row->name);
    __atomic_store_n(&row->serial, row->serial + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&row->taking, 0, __ATOMIC_RELEASE);
}

/* False when there is no room for one more thread. */
static bool join(struct event_area *area)
{
    struct event_thread_row *row = take_row(area);
    if (!row) {
        __atomic_fetch_add(&area->lost_threads, 1, __ATOMIC_RELAXED);
        return false;
    }
    describe(row, area);
    own.row = row;
    own.ring = area->rings + (size_t)(row - area->threads) * area->ring_slots;
    own.written = own.taken = row->written;
    own.generation = zones.generation;
    own.open = own.dropped_count = 0;
    own.area = area;
    if (zones.has_key)
        pthread_setspecific(zones.key, &own);
    return true;
}

/* Begins to write; false when this thread cannot. A signal handler that comes in between finds it busy. */
static bool enter(void)
{
    if (own.busy) {
        if (own.area)
            __atomic_fetch_add(&own.area->lost_nested, 1, __ATOMIC_RELAXED);
        return false;
    }
    own.busy = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (own.area && own.generation == zones.generation)
        return true;
    struct event_area *area = sonde_zones.recording ? area_now() : NULL;
    if (area && join(area))
        return true;
    own.busy = 0;
    return false;
}

static void leave(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    own.busy = 0;
}

/* ---- events ---- */

static bool has_room(uint64_t slots)
{
    if (own.written - own.taken + slots <= own.area->ring_slots)
        return true;
    own.taken = __atomic_load_n(&own.row->taken, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&own.area->stop, __ATOMIC_RELAXED))
        sonde_zones.recording = 0;
    return own.written - own.taken + slots <= own.area->ring_slots;
}

static struct event_slot *slot(uint64_t number)
{
    return &own.ring[number & (own.area->ring_slots - 1)];
}

static void put(enum event_kind kind, uint32_t name, uint32_t value)
{
    *slot(own.written) = (struct event_slot){event_area_now(own.area), (uint32_t)kind << 24 | name, value};
}

static void publish(uint64_t slots)
{
    own.written += slots;
    __atomic_store_n(&own.row->written, own.written, __ATOMIC_RELEASE);
}

/* Pages, from "TOTAL RESIDENT …". */
static uint32_t resident_pages(void)
{
    char text[PAGE_DIGITS * 2 + 2] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[size > 0 ? size : 0] = '\0';
    const char *space = strchr(text, ' ');
    return space ? (uint32_t)strtoul(space + 1, NULL, 10) : 0;
}

static uint32_t measured(void)
{
    return own.area->resident ? resident_pages() : 0;
}

static bool take_dropped(uint32_t region)
{
    for (uint32_t i = own.dropped_count; i-- > 0;)
        if (own.dropped[i] == region) {
            own.dropped[i] = own.dropped[--own.dropped_count];
            return true;
        }
    return false;
}

static bool is_dropped(uint32_t region)
{
    for (uint32_t i = 0; i < own.dropped_count; i++)
        if (own.dropped[i] == region)
            return true;
    return false;
}

static void drop(uint32_t region)
{
    __atomic_fetch_add(&own.area->lost_pairs, 1, __ATOMIC_RELAXED);
    if (own.dropped_count < DROPPED_MAX)
        own.dropped[own.dropped_count++] = region;
}

/* A region's begin or end takes one slot, or with an owner two. */
static void put_region(enum event_kind kind, uint32_t region, uint64_t owner)
{
    put(owner ? kind + (EVENT_BEGIN_FOR - EVENT_BEGIN) : kind, region, measured());
    if (owner)
        *slot(own.written + 1) = (struct event_slot){.ticks = owner};
    publish(owner ? 2 : 1);
}

/* What is open has room for its ends, as long as that is not most of the ring. */
static uint64_t kept_free(void)
{
    uint64_t ends = (uint64_t)own.open * 2 + 4;
    return ends < own.area->ring_slots / 2 ? ends : own.area->ring_slots / 2;
}

static void tell_watcher(enum event_kind kind, uint32_t name)
{
    if (__builtin_expect(watcher != NULL, 0))
        watcher(kind, name);
}

static void write_begin(uint32_t region, uint64_t owner)
{
    if (!region || !enter())
        return;
    if (own.dropped_count && is_dropped(region))
        drop(region);
    else if (has_room(kept_free())) {
        put_region(EVENT_BEGIN, region, owner);
        own.open++;
    } else
        drop(region);
    leave();
}

static void begin_for(uint32_t region, uint64_t owner)
{
    write_begin(region, owner);
    tell_watcher(EVENT_BEGIN, region);
}

static void write_end(uint32_t region, uint64_t owner)
{
    if (!region || !enter())
        return;
    if (!own.dropped_count || !take_dropped(region)) {
        own.open -= own.open > 0;
        if (has_room(2))
            put_region(EVENT_END, region, owner);
        else
            __atomic_fetch_add(&own.area->lost_events, 1, __ATOMIC_RELAXED);
    }
    leave();
}

static void end_for(uint32_t region, uint64_t owner)
{
    write_end(region, owner);
    tell_watcher(EVENT_END, region);
}

static void begin(uint32_t region)
{
    begin_for(region, 0);
}

static void end(uint32_t region)
{
    end_for(region, 0);
}

/* An event with bytes behind it, as many as fit. */
static void put_bytes(enum event_kind kind, uint32_t name, const void *bytes, uint32_t size)
{
    uint32_t extra = event_area_extra(kind, size);
    if (!has_room(kept_free() + 1 + extra)) {
        __atomic_fetch_add(&own.area->lost_events, 1, __ATOMIC_RELAXED);
        return;
    }
    put(kind, name, size);
    for (uint32_t i = 0; i < extra; i++) {
        uint32_t left = size - i * 16;
        memcpy(slot(own.written + 1 + i), (const char *)bytes + i * 16, left < 16 ? left : 16);
    }
    publish(1 + extra);
}

static void tell(enum event_kind kind, uint32_t name, const void *bytes, size_t size)
{
    if (!name || !enter())
        return;
    put_bytes(kind, name, bytes, size < EVENT_AREA_TEXT_MAX ? (uint32_t)size : EVENT_AREA_TEXT_MAX);
    leave();
}

static void mark(uint32_t mark, const char *text, size_t bytes)
{
    tell(EVENT_MARK, mark, text, text ? bytes : 0);
    tell_watcher(EVENT_MARK, mark);
}

static void counter(uint32_t counter, double value)
{
    tell(EVENT_COUNTER, counter, &value, sizeof value);
}

static uint32_t name(uint32_t kind, const char *text, size_t bytes)
{
    bool known = kind >= EVENT_NAME_REGION && kind <= EVENT_NAME_MET_ROW;
    struct event_area *area = known && sonde_zones.recording && !own.busy ? area_now() : NULL;
    return area ? event_area_name(area, kind, text, bytes) : 0;
}

static void metadata(const char *key, size_t key_bytes, const char *value, size_t value_bytes)
{
    tell(EVENT_METADATA, name(EVENT_NAME_METADATA, key, key_bytes), value, value_bytes);
}

/* ---- the process ---- */

void zones_begin(const struct session *session, const uint32_t *python)
{
    zones.session = session;
    zones.python = python;
    zones.has_key = pthread_key_create(&zones.key, thread_ends) == 0;
    sonde_zones.recording = 1;
}

void zones_watch(void (*passed)(uint32_t kind, uint32_t name))
{
    watcher = passed;
}

void zones_after_fork(void)
{
    if (!zones.session)
        return;
    if (zones.area)
        zones.inherited = zones.area;
    zones.area = NULL;
    zones.state = CLOSED;
    zones.generation++;
    own.busy = 0;
    sonde_zones.recording = zones.session->follow;
}
