#include "collect/recorder/sample_drain.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "collect/agent/sample_area.h"
#include "python/lines.h"
#include "store/writer.h"

#define NOT_MAPPED UINT32_MAX

/* What a signal costs beside the time in its handler: measured on one machine (see bench), so a rough guide. */
#define SIGNAL_COST_NS 5000

/* What is known of the thread in a slot. */
struct drained_slot {
    uint32_t generation; /* of the thread; 0 = none yet */
    uint32_t thread;     /* in the file */
    uint32_t depth;
    struct sample_frame frames[SAMPLE_AREA_DEPTH]; /* of its last sample, outermost first */
    uint32_t nodes[SAMPLE_AREA_DEPTH];             /* in the file, of each */
};

struct sample_drain {
    struct sample_area *area;
    struct writer *writer;
    uint32_t process;
    uint32_t *codes;  /* the file's ids by row; NOT_MAPPED = not asked for yet */
    struct map lines; /* (row, offset) → line */
    struct drained_slot *slots[SAMPLE_AREA_SLOTS];
    struct sample_counts counts;
    double ns_per_tick;
    uint64_t senseless;
};

struct sample_drain *sample_drain_new(struct sample_area *area, struct writer *writer, uint32_t process)
{
    struct sample_drain *drain = calloc(1, sizeof *drain);
    uint32_t *codes = malloc(SAMPLE_AREA_CODES * sizeof *codes);
    if (!drain || !codes) {
        free(drain);
        free(codes);
        return NULL;
    }
    memset(codes, 0xff, SAMPLE_AREA_CODES * sizeof *codes);
    *drain = (struct sample_drain){.area = area, .writer = writer, .process = process, .codes = codes};
    return drain;
}

void sample_drain_free(struct sample_drain *drain)
{
    if (!drain)
        return;
    for (uint32_t i = 0; i < SAMPLE_AREA_SLOTS; i++)
        free(drain->slots[i]);
    map_clear(&drain->lines);
    free(drain->codes);
    free(drain);
}

static uint32_t copy_text(struct sample_drain *drain, uint32_t text)
{
    uint32_t size;
    const uint8_t *bytes = sample_area_text(drain->area, text, &size);
    return bytes ? writer_string(drain->writer, (const char *)bytes, size) : 0;
}

static uint32_t define_code(struct sample_drain *drain, const struct sample_code *row)
{
    struct code code = {
        .name = copy_text(drain, row->name),
        .qualname = copy_text(drain, row->qualname ? row->qualname : row->name),
        .file = copy_text(drain, row->filename),
        .line = row->first_line > 0 ? (uint32_t)row->first_line : 0,
        .kind = row->made_up ? CODE_OTHER : CODE_PYTHON,
    };
    return writer_code(drain->writer, &code);
}

static uint32_t code_id(struct sample_drain *drain, uint32_t row)
{
    if (row == 0 || row >= SAMPLE_AREA_CODES ||
        !__atomic_load_n(&drain->area->codes[row].ready, __ATOMIC_ACQUIRE)) {
        const struct code unknown = {.name = writer_string(drain->writer, "(unknown)", 9),
                                     .kind = CODE_OTHER};
        return writer_code(drain->writer, &unknown);
    }
    if (drain->codes[row] == NOT_MAPPED)
        drain->codes[row] = define_code(drain, &drain->area->codes[row]);
    return drain->codes[row];
}

static uint32_t line_of(struct sample_drain *drain, const struct sample_frame *frame)
{
    if (frame->code == 0 || frame->code >= SAMPLE_AREA_CODES)
        return 0;
    uint64_t key = map_pair(frame->code, (uint32_t)frame->offset);
    uint32_t known = map_get(&drain->lines, key);
    if (known != MAP_NONE)
        return known;
    const struct sample_code *row = &drain->area->codes[frame->code];
    uint32_t size;
    const uint8_t *table = sample_area_text(drain->area, row->lines, &size);
    struct lines_location location = {.line = row->first_line};
    if (table)
        location = lines_find(lines_format(drain->area->python), table, size, row->first_line, frame->offset);
    uint32_t line = location.line > 0 ? (uint32_t)location.line : 0;
    map_set(&drain->lines, key, line);
    return line;
}

static struct drained_slot *slot_of(struct sample_drain *drain, uint32_t place, const struct clock_rate *rate)
{
    struct sample_slot *slot = &drain->area->slots[place];
    if (!drain->slots[place])
        drain->slots[place] = calloc(1, sizeof *drain->slots[place]);
    struct drained_slot *drained = drain->slots[place];
    if (!drained || drained->generation == slot->generation)
        return drained;
    const struct thread thread = {
        .process = drain->process,
        .name = writer_string(drain->writer, slot->name, strnlen(slot->name, sizeof slot->name)),
        .tid = slot->tid,
        .start_ns = clock_to_ns(rate, slot->start_ticks),
    };
    drained->generation = slot->generation;
    drained->depth = 0;
    drained->thread = writer_thread(drain->writer, &thread);
    return drained;
}

static void copy_out(const struct sample_slot *slot, uint64_t at, void *out, size_t size)
{
    size_t begin = at % SAMPLE_AREA_RING_BYTES;
    size_t first = size < SAMPLE_AREA_RING_BYTES - begin ? size : SAMPLE_AREA_RING_BYTES - begin;
    memcpy(out, slot->ring + begin, first);
    memcpy((char *)out + first, slot->ring, size - first);
}

/* The new frames behind those that the sample shares with the one before. */
static void place_frames(struct sample_drain *drain, struct drained_slot *drained, uint32_t shared,
                         uint32_t count)
{
    for (uint32_t i = shared; i < shared + count; i++) {
        const struct node node = {
            .parent = i ? drained->nodes[i - 1] : 0,
            .code = code_id(drain, drained->frames[i].code),
            .line = line_of(drain, &drained->frames[i]),
        };
        drained->nodes[i] = writer_node(drain->writer, &node);
    }
    drained->depth = shared + count;
}

static void write_row(struct sample_drain *drain, const struct drained_slot *drained,
                      const struct sample_record *record, const struct clock_rate *rate)
{
    const struct sample_row row = {
        .time_ns = clock_to_ns(rate, record->ticks),
        .weight_ns = (uint64_t)record->count * drain->area->period_ns,
        .thread = drained->thread,
        .node = drained->depth ? drained->nodes[drained->depth - 1] : 0,
        .count = record->count,
        .state = (uint8_t)record->state,
    };
    writer_sample(drain->writer, &row);
    drain->counts.samples += record->count;
}

/* False when the record makes no sense. */
static bool take_record(struct sample_drain *drain, struct drained_slot *drained,
                        const struct sample_slot *slot, uint64_t at, const struct sample_record *record,
                        const struct clock_rate *rate)
{
    uint32_t count = (uint32_t)((record->bytes - sizeof *record) / sizeof(struct sample_frame));
    if (record->flags & SAMPLE_REJECTED) {
        drain->counts.errors += record->count;
        return true;
    }
    if (record->shared > drained->depth || count > SAMPLE_AREA_DEPTH - record->shared)
        return false;
    copy_out(slot, at + sizeof *record, &drained->frames[record->shared],
             count * sizeof(struct sample_frame));
    place_frames(drain, drained, record->shared, count);
    write_row(drain, drained, record, rate);
    return true;
}

static void drain_slot(struct sample_drain *drain, uint32_t place, const struct clock_rate *rate)
{
    struct sample_slot *slot = &drain->area->slots[place];
    uint64_t written = __atomic_load_n(&slot->written, __ATOMIC_ACQUIRE), at = slot->taken;
    struct drained_slot *drained = slot_of(drain, place, rate);
    while (drained && at < written) {
        struct sample_record record;
        copy_out(slot, at, &record, sizeof record);
        if (record.bytes < sizeof record || record.bytes > written - at ||
            !take_record(drain, drained, slot, at, &record, rate)) {
            drain->senseless++;
            at = written;
            break;
        }
        at += record.bytes;
    }
    __atomic_store_n(&slot->taken, at, __ATOMIC_RELEASE);
}

static void end_thread(struct sample_drain *drain, uint32_t place, const struct clock_rate *rate,
                       uint64_t end_ticks)
{
    const struct sample_slot *slot = &drain->area->slots[place];
    const struct thread thread = {
        .process = drain->process,
        .name = writer_string(drain->writer, slot->name, strnlen(slot->name, sizeof slot->name)),
        .tid = slot->tid,
        .start_ns = clock_to_ns(rate, slot->start_ticks),
        .end_ns = clock_to_ns(rate, end_ticks),
    };
    writer_update_thread(drain->writer, drain->slots[place]->thread, &thread);
}

void sample_drain_step(struct sample_drain *drain, const struct clock_rate *rate)
{
    drain->ns_per_tick = rate->ns_per_tick;
    uint32_t count =
        drain->area->slot_count < SAMPLE_AREA_SLOTS ? drain->area->slot_count : SAMPLE_AREA_SLOTS;
    for (uint32_t place = 0; place < count; place++) {
        struct sample_slot *slot = &drain->area->slots[place];
        if (!__atomic_load_n(&slot->tid, __ATOMIC_ACQUIRE))
            continue;
        uint64_t end_ticks = __atomic_load_n(&slot->end_ticks, __ATOMIC_ACQUIRE);
        drain_slot(drain, place, rate);
        if (end_ticks && drain->slots[place]) { /* nothing more will come: the slot may be given to another */
            end_thread(drain, place, rate, end_ticks);
            __atomic_store_n(&slot->tid, 0, __ATOMIC_RELEASE);
        }
    }
}

static void note(struct sample_drain *drain, uint64_t count, const char *text)
{
    const struct note row = {.process = drain->process,
                             .kind = NOTE_LOSS,
                             .count = count,
                             .text = writer_string(drain->writer, text, strlen(text))};
    if (count)
        writer_note(drain->writer, &row);
}

void sample_drain_finish(struct sample_drain *drain, const struct clock_rate *rate, uint64_t end_ticks)
{
    const struct sample_area *area = drain->area;
    sample_drain_step(drain, rate);
    for (uint32_t place = 0; place < SAMPLE_AREA_SLOTS; place++)
        if (area->slots[place].tid && drain->slots[place])
            end_thread(drain, place, rate, end_ticks);
    for (int reason = 0; reason < WALK_REASONS; reason++)
        note(drain, area->rejected[reason], walk_reason_text((enum walk_reason)reason));
    note(drain, area->lost_full, "samples lost because the recorder was too slow");
    note(drain, area->lost_threads, "times that a thread could not be sampled because there were too many");
    note(drain, drain->senseless, "stretches of samples passed over because the program overwrote them");
}

struct sample_counts sample_drain_counts(const struct sample_drain *drain)
{
    const struct sample_area *area = drain->area;
    struct sample_counts counts = drain->counts;
    counts.errors += area->lost_full;
    counts.sampler_cpu_ns = area->sampler_cpu_ns;
    counts.slowdown_ns =
        (uint64_t)((double)area->handler_ticks * drain->ns_per_tick) + area->signals * SIGNAL_COST_NS;
    return counts;
}
