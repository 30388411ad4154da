#include "collect/recorder/event_drain.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/agent/event_area.h"
#include "collect/recorder/loss_notes.h"
#include "collect/recorder/mark_rows.h"
#include "collect/recorder/open_regions.h"
#include "store/writer.h"

#define TEXT_BYTES_MAX  (32u << 20) /* of all marks: each text that is new stays in memory */
#define EVENTS_MAX      (1u << 26)  /* of regions: a reader has all of them in memory */
#define PUBLISHED_EVERY 1024
#define METADATA_PREFIX "program."
#define HELD_STEPS_MAX  2 /* an end without its beginning is kept that long: another ring may bring it */
#define HELD_MAX        4096

struct drained_thread {
    uint32_t serial; /* of the row: another one is another thread */
    uint32_t id;     /* in the file */
    struct open_regions open;
};

/* An end of what is not open in its own thread. */
struct held_end {
    uint64_t ticks, owner;
    int64_t value;
    uint32_t region, steps;
};

struct event_drain {
    struct event_area *area;
    uint32_t ring_slots; /* as it was when the area was checked */
    struct writer *writer;
    uint32_t process;
    struct clock_rate rate;
    uint64_t page_bytes;
    struct drained_thread threads[EVENT_AREA_THREADS];
    uint32_t *names; /* the file's id, plus 1: of a region, a counter or a string, by what the name is of */
    struct held_end held[HELD_MAX];
    uint32_t held_count;
    uint64_t events, text_bytes;
    uint64_t senseless, cut_off, lost_texts, too_many;
};

struct event_drain *event_drain_new(struct event_area *area, uint64_t bytes, struct writer *writer,
                                    uint32_t process)
{
    struct event_drain *drain = event_area_is_sound(area, bytes) ? calloc(1, sizeof *drain) : NULL;
    if (!drain)
        return NULL;
    drain->area = area;
    drain->ring_slots = (uint32_t)((bytes - sizeof *area) / sizeof(struct event_slot) / EVENT_AREA_THREADS);
    drain->writer = writer;
    drain->process = process;
    drain->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    drain->names = calloc(EVENT_AREA_NAMES, sizeof *drain->names);
    if (drain->names)
        return drain;
    event_drain_free(drain);
    return NULL;
}

void event_drain_free(struct event_drain *drain)
{
    for (uint32_t i = 0; drain && i < EVENT_AREA_THREADS; i++)
        open_regions_clear(&drain->threads[i].open);
    if (drain)
        free(drain->names);
    free(drain);
}

/* ---- names ---- */

static uint32_t define(struct event_drain *drain, uint32_t kind, uint32_t string)
{
    if (kind == EVENT_NAME_REGION)
        return writer_region(drain->writer, &(struct region){.name = string});
    if (kind == EVENT_NAME_COUNTER)
        return writer_counter(drain->writer, &(struct counter){.name = string,
                                                               .unit = writer_string(drain->writer, "", 0),
                                                               .process = drain->process,
                                                               .kind = COUNTER_REAL});
    return string;
}

/* What the file calls it; UINT32_MAX when there is no such name of that kind. */
static uint32_t name_id(struct event_drain *drain, uint32_t name, uint32_t kind)
{
    if (name == 0 || name >= EVENT_AREA_NAMES)
        return UINT32_MAX;
    struct event_name_row row = drain->area->names[name];
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (row.kind != kind || row.at > EVENT_AREA_NAME_BYTES || row.bytes > EVENT_AREA_NAME_BYTES - row.at)
        return UINT32_MAX;
    if (!drain->names[name]) {
        uint32_t string = writer_string(drain->writer, drain->area->texts + row.at, row.bytes);
        drain->names[name] = define(drain, kind, string) + 1;
    }
    return drain->names[name] - 1;
}

/* ---- regions ---- */

static uint64_t to_ns(const struct event_drain *drain, uint64_t ticks)
{
    return clock_to_ns(&drain->rate, ticks);
}

static void write_end(struct event_drain *drain, struct drained_thread *thread, uint32_t place,
                      const struct held_end *end)
{
    const struct open_region *region = &thread->open.rows[place];
    const struct region_event_row row = {.time_ns = to_ns(drain, end->ticks),
                                         .value = end->value,
                                         .thread = thread->id,
                                         .ends = region->region,
                                         .back = open_regions_back(&thread->open, place, end->ticks)};
    if (!region->skipped)
        writer_region_event(drain->writer, &row);
    drain->events += !region->skipped;
    open_regions_remove(&thread->open, place);
}

static void begin_region(struct event_drain *drain, struct drained_thread *thread,
                         const struct held_end *begin)
{
    const struct open_region open = {.ticks = begin->ticks,
                                     .owner = begin->owner,
                                     .region = begin->region,
                                     .skipped = drain->events >= EVENTS_MAX};
    const struct region_event_row row = {.time_ns = to_ns(drain, begin->ticks),
                                         .value = begin->value,
                                         .thread = thread->id,
                                         .region = begin->region};
    drain->too_many += open.skipped;
    if (!open_regions_add(&thread->open, &open)) {
        drain->senseless++;
        return;
    }
    if (!open.skipped)
        writer_region_event(drain->writer, &row);
    drain->events += !open.skipped;
}

static void end_region(struct event_drain *drain, struct drained_thread *thread, const struct held_end *end)
{
    uint32_t place = open_regions_find(&thread->open, end->region, end->owner, UINT64_MAX);
    if (place != OPEN_REGIONS_NONE)
        write_end(drain, thread, place, end);
    else if (drain->held_count < HELD_MAX)
        drain->held[drain->held_count++] = *end;
}

/* The thread in which it began last before that; NULL = none. */
static struct drained_thread *find_beginner(struct event_drain *drain, const struct held_end *end,
                                            uint32_t *place)
{
    struct drained_thread *found = NULL;
    uint64_t latest_ticks = 0;
    for (uint32_t i = 0; i < EVENT_AREA_THREADS; i++) {
        struct drained_thread *thread = &drain->threads[i];
        uint32_t there = open_regions_find(&thread->open, end->region, end->owner, end->ticks);
        if (there == OPEN_REGIONS_NONE || thread->open.rows[there].ticks < latest_ticks)
            continue;
        latest_ticks = thread->open.rows[there].ticks;
        *place = there;
        found = thread;
    }
    return found;
}

/* One whose beginning does not come began in the process that forked this one, or was left out. */
static void end_in_other_threads(struct event_drain *drain)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < drain->held_count; i++) {
        struct held_end end = drain->held[i];
        uint32_t place = 0;
        struct drained_thread *thread = find_beginner(drain, &end, &place);
        if (thread)
            write_end(drain, thread, place, &end);
        else if (++end.steps < HELD_STEPS_MAX)
            drain->held[kept++] = end;
    }
    drain->held_count = kept;
}

static void end_all(struct event_drain *drain, struct drained_thread *thread, uint64_t ticks)
{
    while (thread->open.count) {
        const struct open_region *last = &thread->open.rows[thread->open.count - 1];
        const struct held_end end = {.ticks = ticks > last->ticks ? ticks : last->ticks};
        drain->cut_off += !last->skipped;
        write_end(drain, thread, thread->open.count - 1, &end);
    }
}

/* ---- the rest ---- */

/* Copies what follows an event. */
static uint32_t copy_text(const struct event_drain *drain, const struct event_slot *ring, uint64_t at,
                          uint32_t bytes, char *text)
{
    bytes = bytes < EVENT_AREA_TEXT_MAX ? bytes : EVENT_AREA_TEXT_MAX;
    for (uint32_t done = 0; done < bytes; done += 16) {
        uint32_t left = bytes - done;
        memcpy(text + done, &ring[(at + 1 + done / 16) & (drain->ring_slots - 1)], left < 16 ? left : 16);
    }
    text[bytes] = '\0';
    return bytes;
}

static void put_mark(struct event_drain *drain, uint32_t thread, uint64_t time_ns, uint32_t name,
                     const char *text, uint32_t bytes)
{
    struct mark_row row = {.time_ns = time_ns, .thread = thread, .name = name};
    bool has_room = drain->text_bytes + bytes <= TEXT_BYTES_MAX;
    drain->lost_texts += !has_room;
    drain->text_bytes += has_room ? bytes : 0;
    row.text = has_room ? writer_string(drain->writer, text, bytes) : 0;
    writer_mark(drain->writer, &row);
}

static void put_metadata(struct event_drain *drain, uint32_t name, const char *text)
{
    const struct recording *known = writer_known(drain->writer);
    const char *key = recording_text(known, name);
    size_t size = sizeof METADATA_PREFIX + strlen(key);
    char *whole = malloc(size);
    if (!whole)
        return;
    memcpy(whole, METADATA_PREFIX, sizeof METADATA_PREFIX - 1);
    memcpy(whole + sizeof METADATA_PREFIX - 1, key, size - sizeof METADATA_PREFIX + 1);
    writer_meta(drain->writer, whole, text);
    free(whole);
}

static void put_value(struct event_drain *drain, uint32_t counter, uint64_t time_ns, uint64_t bits)
{
    const struct series_row row = {.time_ns = time_ns, .value = (int64_t)bits, .counter = counter};
    writer_series(drain->writer, &row);
}

static uint32_t kind_of_name(uint32_t event)
{
    static const uint8_t kinds[] = {
        [EVENT_BEGIN] = EVENT_NAME_REGION,      [EVENT_END] = EVENT_NAME_REGION,
        [EVENT_BEGIN_FOR] = EVENT_NAME_REGION,  [EVENT_END_FOR] = EVENT_NAME_REGION,
        [EVENT_MARK] = EVENT_NAME_MARK,         [EVENT_COUNTER] = EVENT_NAME_COUNTER,
        [EVENT_METADATA] = EVENT_NAME_METADATA,
    };
    return event < sizeof kinds ? kinds[event] : 0;
}

static void take_event(struct event_drain *drain, struct drained_thread *thread,
                       const struct event_slot *ring, uint64_t at, const struct event_slot *slot)
{
    const struct event_slot next = ring[(at + 1) & (drain->ring_slots - 1)];
    uint32_t kind = slot->what >> 24, name_kind = kind_of_name(kind);
    uint32_t id = name_kind ? name_id(drain, slot->what & 0xffffff, name_kind) : UINT32_MAX;
    struct held_end event = {.ticks = slot->ticks,
                             .owner = kind == EVENT_BEGIN_FOR || kind == EVENT_END_FOR ? next.ticks : 0,
                             .value = (int64_t)(slot->value * drain->page_bytes),
                             .region = id};
    char text[EVENT_AREA_TEXT_MAX + 1];
    uint32_t bytes =
        kind == EVENT_MARK || kind == EVENT_METADATA ? copy_text(drain, ring, at, slot->value, text) : 0;
    if (id == UINT32_MAX)
        drain->senseless++;
    else if (kind == EVENT_BEGIN || kind == EVENT_BEGIN_FOR)
        begin_region(drain, thread, &event);
    else if (kind == EVENT_END || kind == EVENT_END_FOR)
        end_region(drain, thread, &event);
    else if (kind == EVENT_MARK)
        put_mark(drain, thread->id, to_ns(drain, slot->ticks), id, text, bytes);
    else if (kind == EVENT_COUNTER)
        put_value(drain, id, to_ns(drain, slot->ticks), next.ticks);
    else
        put_metadata(drain, id, text);
}

/* ---- threads ---- */

static void begin_thread(struct event_drain *drain, struct drained_thread *thread, uint32_t serial,
                         const struct event_thread_row *row)
{
    char name[sizeof row->name + 1] = "";
    memcpy(name, row->name, sizeof row->name);
    end_all(drain, thread, row->start_ticks);
    const struct thread described = {.process = drain->process,
                                     .name = writer_string(drain->writer, name, strlen(name)),
                                     .tid = row->tid,
                                     .start_ns = to_ns(drain, row->start_ticks)};
    thread->id = writer_met_thread(drain->writer, WRITER_EVENTS, &described);
    thread->serial = serial;
}

static void take_ring(struct event_drain *drain, uint32_t number, uint64_t taken, uint64_t written)
{
    struct event_thread_row *row = &drain->area->threads[number];
    const struct event_slot *ring = drain->area->rings + (size_t)number * drain->ring_slots;
    for (uint32_t count = 0; taken < written; count++) {
        const struct event_slot slot = ring[taken & (drain->ring_slots - 1)];
        uint32_t slots = 1 + event_area_extra(slot.what >> 24, slot.value);
        if (slots > written - taken) {
            drain->senseless++;
            break;
        }
        take_event(drain, &drain->threads[number], ring, taken, &slot);
        taken += slots;
        if (count % PUBLISHED_EVERY == 0)
            __atomic_store_n(&row->taken, taken, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&row->taken, written, __ATOMIC_RELEASE);
}

/* Whose the events are that the row has now: the serial is read on both sides of how many there are. True when there are
 * rather many. */
static bool drain_thread(struct event_drain *drain, uint32_t number)
{
    struct event_thread_row *row = &drain->area->threads[number];
    struct drained_thread *thread = &drain->threads[number];
    uint32_t serial = __atomic_load_n(&row->serial, __ATOMIC_ACQUIRE);
    uint64_t written = __atomic_load_n(&row->written, __ATOMIC_ACQUIRE), taken = row->taken;
    if (!serial || serial != __atomic_load_n(&row->serial, __ATOMIC_ACQUIRE))
        return false;
    uint32_t owner = serial % 2 ? serial : serial - 1; /* of a free row: the last that had it */
    if (owner != thread->serial)
        begin_thread(drain, thread, owner, row);
    if (written - taken > drain->ring_slots) {
        drain->senseless++;
        __atomic_store_n(&row->taken, written, __ATOMIC_RELEASE);
        return false;
    }
    take_ring(drain, number, taken, written);
    return written - taken > drain->ring_slots / 8;
}

static void end_left_threads(struct event_drain *drain)
{
    for (uint32_t i = 0; i < EVENT_AREA_THREADS; i++) {
        const struct event_thread_row *row = &drain->area->threads[i];
        uint32_t serial = __atomic_load_n(&row->serial, __ATOMIC_ACQUIRE);
        if (serial && serial == drain->threads[i].serial + 1 && row->taken == row->written)
            end_all(drain, &drain->threads[i], row->end_ticks);
    }
}

bool event_drain_step(struct event_drain *drain, const struct clock_rate *rate)
{
    uint32_t count = __atomic_load_n(&drain->area->thread_count, __ATOMIC_ACQUIRE);
    bool full = false;
    drain->rate = *rate;
    for (uint32_t i = 0; i < count && i < EVENT_AREA_THREADS; i++)
        full |= drain_thread(drain, i);
    if (drain->held_count)
        end_in_other_threads(drain);
    end_left_threads(drain);
    return full;
}

static void note_losses(const struct event_drain *drain)
{
    const struct event_area *area = drain->area;
    const struct {
        enum note_kind kind;
        uint64_t count;
        const char *text;
    } notes[] = {
        {NOTE_LOSS, area->lost_pairs, "regions left out because they came faster than they could be written"},
        {NOTE_LOSS, drain->too_many, "regions left out because there were more than a recording can hold"},
        {NOTE_LOSS, area->lost_events,
         "marks, values of counters and metadata left out because they came faster than they could be "
         "written"},
        {NOTE_LOSS, area->lost_names, "names of regions, marks or counters that there was no room for"},
        {NOTE_LOSS, area->lost_threads, "events of threads left out because too many threads had some"},
        {NOTE_LOSS, area->lost_nested, "events left out in signal handlers that interrupted another event"},
        {NOTE_LOSS, drain->lost_texts, "texts of marks left out because there were too many"},
        {NOTE_LOSS, drain->senseless, "events passed over because the program overwrote them"},
        {NOTE_REMARK, drain->cut_off,
         "regions that had not ended when their thread, or the recording, did: they end there"},
    };
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        loss_notes_put(drain->writer, drain->process, notes[i].kind, notes[i].count, notes[i].text);
}

void event_drain_finish(struct event_drain *drain, const struct clock_rate *rate, uint64_t end_ticks)
{
    event_drain_step(drain, rate);
    for (uint32_t i = 0; i < EVENT_AREA_THREADS; i++)
        end_all(drain, &drain->threads[i], end_ticks);
    note_losses(drain);
}

void event_drain_add_rows(struct event_drain *drain, struct mark_rows *rows)
{
    uint32_t count = __atomic_load_n(&drain->area->name_count, __ATOMIC_ACQUIRE);
    for (uint32_t name = 1; name < count && name < EVENT_AREA_NAMES; name++) {
        uint32_t kind = drain->area->names[name].kind;
        uint32_t words =
            kind == EVENT_NAME_ROW || kind == EVENT_NAME_MET_ROW ? name_id(drain, name, kind) : UINT32_MAX;
        if (words != UINT32_MAX)
            mark_rows_add(rows, words, kind == EVENT_NAME_MET_ROW);
    }
}
