#include "collect/recorder/sample_drain.h"
#include "collect/recorder/hot_functions.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "collect/agent/native_area.h"
#include "collect/agent/sample_area.h"
#include "collect/recorder/code_names.h"
#include "collect/recorder/loss_notes.h"
#include "collect/recorder/native_space.h"
#include "store/writer.h"

/* What a signal costs beside the time in its handler: measured on one machine (see bench), so a rough guide. */
#define SIGNAL_COST_NS 5000
#define MERGED_MAX     (SAMPLE_AREA_DEPTH + NATIVE_AREA_DEPTH)

/* Names of threads that a process may give; after that they lose what numbers them, and after twice as many they have
 * none: a program may start any number of threads. */
#define NAMES_MAX  4096
#define SPARES_MAX 2

/* A native stack of a thread. */
struct drained_native {
    uint32_t depth;
    uint16_t flags;                        /* enum native_flag */
    uint64_t addresses[NATIVE_AREA_DEPTH]; /* outermost first */
};

/* What merging one stack needs. */
struct merging {
    struct drained_native raw; /* one that we walk ourselves */
    uint8_t packed[NATIVE_AREA_PACKED_BYTES];
    struct native_code codes[NATIVE_AREA_DEPTH];
    uint8_t kinds[NATIVE_AREA_DEPTH], entries[SAMPLE_AREA_DEPTH];
    struct native_merge_frame frames[MERGED_MAX];
};

/* What is known of the thread in a slot. */
struct drained_slot {
    uint32_t generation;                /* of the thread; 0 = none yet */
    uint32_t thread;                    /* in the file */
    uint32_t name;                      /* the string of its name */
    char named[SAMPLE_AREA_NAME_BYTES]; /* what it was called then */
    uint32_t depth;
    struct sample_frame frames[SAMPLE_AREA_DEPTH]; /* of its last sample, outermost first */
    struct drained_native *native;                 /* its last that came as a difference; NULL = none yet */
    /* the same with native frames merged in, as it is in the file */
    uint32_t path_depth;
    struct node path[MERGED_MAX]; /* outermost first; `parent` is not set */
    uint32_t nodes[MERGED_MAX];   /* in the file, of each */
    uint8_t state;                /* enum sample_state that follows from the stack */
};

struct sample_drain {
    struct sample_area *area;
    struct writer *writer;
    uint32_t process;
    struct native_space *space; /* NULL = no native stacks; not owned */
    struct hot_functions *hot;  /* NULL = nobody counts; not owned */
    struct code_names code_names;
    struct drained_slot *slots[SAMPLE_AREA_SLOTS];
    struct drained_slot *spares[SPARES_MAX]; /* of threads that have ended, for others */
    uint32_t names;                          /* that threads have brought */
    struct merging merging;
    struct sample_counts counts;
    double ns_per_tick;
    uint64_t senseless;
};

struct sample_drain *sample_drain_new(struct sample_area *area, struct writer *writer, uint32_t process,
                                      struct native_space *space)
{
    struct sample_drain *drain = calloc(1, sizeof *drain);
    if (!drain)
        return NULL;
    *drain = (struct sample_drain){.area = area, .writer = writer, .process = process, .space = space};
    if (code_names_init(&drain->code_names, &area->codes, writer, area->python))
        return drain;
    free(drain);
    return NULL;
}

static void free_slot(struct drained_slot *slot)
{
    if (slot)
        free(slot->native);
    free(slot);
}

/* They are large, and threads may come and go quickly. */
static struct drained_slot *new_slot(struct sample_drain *drain)
{
    for (uint32_t i = 0; i < SPARES_MAX; i++) {
        struct drained_slot *spare = drain->spares[i];
        drain->spares[i] = NULL;
        if (spare)
            return spare;
    }
    return calloc(1, sizeof(struct drained_slot));
}

static void drop_slot(struct sample_drain *drain, uint32_t place)
{
    struct drained_slot *slot = drain->slots[place];
    drain->slots[place] = NULL;
    slot->generation = 0;
    for (uint32_t i = 0; i < SPARES_MAX && slot; i++) {
        if (!drain->spares[i]) {
            drain->spares[i] = slot;
            slot = NULL;
        }
    }
    free_slot(slot);
}

void sample_drain_count_for(struct sample_drain *drain, struct hot_functions *hot)
{
    drain->hot = hot;
}

void sample_drain_free(struct sample_drain *drain)
{
    if (!drain)
        return;
    for (uint32_t place = 0; place < SAMPLE_AREA_SLOTS; place++)
        free_slot(drain->slots[place]);
    for (uint32_t i = 0; i < SPARES_MAX; i++)
        free_slot(drain->spares[i]);
    code_names_clear(&drain->code_names);
    free(drain);
}

/* "Thread-12 (work)" becomes "Thread-N (work)". */
static size_t leave_out_numbers(char *name)
{
    size_t used = 0;
    for (size_t at = 0; name[at]; at++) {
        bool is_digit = name[at] >= '0' && name[at] <= '9';
        if (!is_digit)
            name[used++] = name[at];
        else if (!used || name[used - 1] != 'N')
            name[used++] = 'N';
    }
    return used;
}

/* What the thread is called now. */
static void name_thread(struct sample_drain *drain, struct drained_slot *drained,
                        const struct sample_slot *slot)
{
    char name[sizeof slot->name + 1] = "";
    memcpy(drained->named, slot->name, sizeof drained->named);
    memcpy(name, drained->named, sizeof drained->named);
    size_t size = drain->names < NAMES_MAX ? strlen(name) : leave_out_numbers(name);
    uint32_t known = writer_known(drain->writer)->strings.count;
    drained->name = drain->names < 2 * NAMES_MAX ? writer_string(drain->writer, name, size) : 0;
    drain->names += writer_known(drain->writer)->strings.count > known;
}

static struct thread describe_thread(const struct sample_drain *drain, const struct drained_slot *drained,
                                     const struct sample_slot *slot, const struct clock_rate *rate)
{
    return (struct thread){
        .process = drain->process,
        .name = drained->name,
        .tid = slot->tid,
        .start_ns = clock_to_ns(rate, slot->start_ticks),
    };
}

/* A program may name its threads late. */
static void rename_thread(struct sample_drain *drain, struct drained_slot *drained,
                          const struct sample_slot *slot, const struct clock_rate *rate)
{
    uint32_t before = drained->name;
    if (memcmp(drained->named, slot->name, sizeof drained->named) == 0)
        return;
    name_thread(drain, drained, slot);
    const struct thread thread = describe_thread(drain, drained, slot, rate);
    if (drained->name != before)
        writer_update_thread(drain->writer, drained->thread, &thread);
}

static struct drained_slot *slot_of(struct sample_drain *drain, uint32_t place, const struct clock_rate *rate)
{
    struct sample_slot *slot = &drain->area->slots[place];
    if (!drain->slots[place])
        drain->slots[place] = new_slot(drain);
    struct drained_slot *drained = drain->slots[place];
    if (!drained || drained->generation == slot->generation)
        return drained;
    drained->generation = slot->generation;
    drained->depth = drained->path_depth = 0;
    drained->state = 0;
    if (drained->native)
        drained->native->depth = 0;
    name_thread(drain, drained, slot);
    const struct thread thread = describe_thread(drain, drained, slot, rate);
    drained->thread = writer_met_thread(drain->writer, WRITER_SAMPLES, &thread);
    return drained;
}

static void copy_out(const struct sample_slot *slot, uint64_t at, void *out, size_t size)
{
    size_t begin = at % SAMPLE_AREA_RING_BYTES;
    size_t first = size < SAMPLE_AREA_RING_BYTES - begin ? size : SAMPLE_AREA_RING_BYTES - begin;
    memcpy(out, slot->ring + begin, first);
    memcpy((char *)out + first, slot->ring, size - first);
}

/* The next frame of the path, outwards to inwards; those that were there before keep their nodes. */
static void put_node(struct sample_drain *drain, struct drained_slot *drained, uint32_t depth, uint32_t code,
                     uint32_t line)
{
    struct node *place = &drained->path[depth];
    if (depth < drained->path_depth && place->code == code && place->line == line)
        return;
    *place = (struct node){.code = code, .line = line};
    drained->path_depth = depth;
    const struct node node = {.parent = depth ? drained->nodes[depth - 1] : 0, .code = code, .line = line};
    drained->nodes[depth] = writer_node(drain->writer, &node);
    drained->path_depth = depth + 1;
}

static void put_python(struct sample_drain *drain, struct drained_slot *drained, uint32_t depth,
                       uint32_t index)
{
    const struct sample_frame *frame = &drained->frames[index];
    uint32_t code = frame->code & ~SAMPLE_FRAME_ENTRY;
    put_node(drain, drained, depth, code_names_id(&drain->code_names, code),
             code_names_line(&drain->code_names, code, frame->offset));
}

static void place_python(struct sample_drain *drain, struct drained_slot *drained)
{
    for (uint32_t i = 0; i < drained->depth; i++)
        put_python(drain, drained, i, i);
    drained->path_depth = drained->depth;
    drained->state = 0;
}

static void count_native(struct sample_drain *drain, const struct drained_native *native,
                         const struct sample_record *record, bool agrees)
{
    struct sample_native_counts *counts = &drain->counts.native;
    bool whole = native->flags & NATIVE_ROOT;
    if (!(record->state & SAMPLE_RUNNING)) {
        counts->sleeping++;
        counts->sleeping_whole += whole;
        return;
    }
    counts->samples++;
    counts->whole += whole;
    counts->guessed += (native->flags & NATIVE_GUESSED) != 0;
    counts->disagreements += !agrees;
}

/* Python and native frames as one stack. */
static void place_merged(struct sample_drain *drain, struct drained_slot *drained,
                         const struct sample_record *record, const struct drained_native *native)
{
    struct merging *merging = &drain->merging;
    for (uint32_t i = 0; i < native->depth; i++) {
        merging->codes[i] = native_space_find(drain->space, native->addresses[native->depth - 1 - i]);
        merging->kinds[i] = (uint8_t)merging->codes[i].kind;
    }
    for (uint32_t i = 0; i < drained->depth; i++)
        merging->entries[i] = (drained->frames[drained->depth - 1 - i].code & SAMPLE_FRAME_ENTRY) != 0;
    const struct native_merge_stacks stacks = {.native = merging->kinds,
                                               .native_count = native->depth,
                                               .native_is_whole = native->flags & NATIVE_ROOT,
                                               .python = merging->entries,
                                               .python_count = drained->depth,
                                               .python_is_whole = !(record->state & SAMPLE_CUT)};
    bool agrees;
    uint32_t count = (uint32_t)native_merge(&stacks, merging->frames, &agrees);
    for (uint32_t i = 0; i < count; i++) {
        const struct native_merge_frame *frame = &merging->frames[count - 1 - i];
        if (frame->is_python)
            put_python(drain, drained, i, drained->depth - 1 - frame->index);
        else
            put_node(drain, drained, i, merging->codes[frame->index].code, 0);
    }
    drained->path_depth = count;
    drained->state = (uint8_t)((count && !merging->frames[0].is_python ? SAMPLE_NATIVE : 0) |
                               (native->flags & NATIVE_CUT ? SAMPLE_CUT : 0) |
                               (native->flags & NATIVE_GUESSED ? SAMPLE_GUESSED : 0));
    count_native(drain, native, record, agrees);
}

static void write_row(struct sample_drain *drain, const struct drained_slot *drained,
                      const struct sample_record *record, const struct clock_rate *rate)
{
    const struct sample_row row = {
        .time_ns = clock_to_ns(rate, record->ticks),
        .weight_ns =
            drain->area->cpu_clock ? record->cpu_ns : (uint64_t)record->count * drain->area->period_ns,
        .thread = drained->thread,
        .node = drained->path_depth ? drained->nodes[drained->path_depth - 1] : 0,
        .count = record->count,
        .state = (uint8_t)(record->state | drained->state),
    };
    writer_sample(drain->writer, &row);
    if (drain->hot)
        hot_functions_count(drain->hot, writer_known(drain->writer), &row);
    drain->counts.samples += record->count;
}

static bool unpack(struct merging *merging, struct drained_native *native, const struct sample_slot *slot,
                   uint64_t at, const struct native_head *head)
{
    if (head->shared > native->depth || head->count > NATIVE_AREA_DEPTH - head->shared ||
        head->bytes > sizeof merging->packed)
        return false;
    copy_out(slot, at, merging->packed, head->bytes);
    struct cursor differences = cursor_on(merging->packed, head->bytes);
    uint64_t last = head->shared ? native->addresses[head->shared - 1] : 0;
    native->depth = (uint32_t)head->shared + head->count;
    native->flags = head->flags;
    for (uint32_t i = head->shared; i < native->depth; i++)
        last = native->addresses[i] = last + (uint64_t)cursor_get_signed(&differences);
    return !differences.failed;
}

/* The native part of a record, `left` bytes of it. NULL when it makes no sense. */
static const struct drained_native *take_native(struct sample_drain *drain, struct drained_slot *drained,
                                                const struct sample_slot *slot, uint64_t at, size_t left)
{
    struct native_head head;
    struct drained_native *raw = &drain->merging.raw;
    if (!drained->native)
        drained->native = calloc(1, sizeof *drained->native);
    if (!drained->native || left < sizeof head)
        return NULL;
    copy_out(slot, at, &head, sizeof head);
    if (head.bytes != left - sizeof head)
        return NULL;
    if (head.flags & NATIVE_RAW) {
        raw->depth = native_space_walk(drain->space, head.shared, raw->addresses, &raw->flags);
        return raw;
    }
    return unpack(&drain->merging, drained->native, slot, at + sizeof head, &head) ? drained->native : NULL;
}

/* False when the record makes no sense. Gives the size of what lies before the native part. */
static bool take_frames(struct drained_slot *drained, const struct sample_slot *slot, uint64_t at,
                        const struct sample_record *record, size_t *used)
{
    size_t size = record->frames * sizeof(struct sample_frame), left = record->bytes - sizeof *record;
    bool alone = !(record->flags & SAMPLE_HAS_NATIVE);
    if (record->shared > drained->depth || record->frames > SAMPLE_AREA_DEPTH - record->shared ||
        size > left || (alone && size != left))
        return false;
    copy_out(slot, at + sizeof *record, &drained->frames[record->shared], size);
    drained->depth = (uint32_t)record->shared + record->frames;
    *used = sizeof *record + size;
    return true;
}

static bool take_stack(struct sample_drain *drain, struct drained_slot *drained,
                       const struct sample_slot *slot, uint64_t at, const struct sample_record *record)
{
    size_t used;
    if (!take_frames(drained, slot, at, record, &used))
        return false;
    if (!(record->flags & SAMPLE_HAS_NATIVE) || !drain->space) {
        place_python(drain, drained);
        return true;
    }
    const struct drained_native *native = take_native(drain, drained, slot, at + used, record->bytes - used);
    if (native)
        place_merged(drain, drained, record, native);
    return native;
}

/* False when the record makes no sense. */
static bool take_record(struct sample_drain *drain, struct drained_slot *drained,
                        const struct sample_slot *slot, uint64_t at, const struct sample_record *record,
                        const struct clock_rate *rate)
{
    if (record->flags & SAMPLE_REJECTED) {
        drain->counts.errors += record->count;
        return true;
    }
    if (!(record->flags & SAMPLE_AGAIN) && !take_stack(drain, drained, slot, at, record))
        return false;
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
    if (drained)
        rename_thread(drain, drained, slot, rate);
}

static void end_thread(struct sample_drain *drain, uint32_t place, const struct clock_rate *rate,
                       uint64_t end_ticks)
{
    struct thread thread = describe_thread(drain, drain->slots[place], &drain->area->slots[place], rate);
    thread.end_ns = clock_to_ns(rate, end_ticks);
    writer_update_thread(drain->writer, drain->slots[place]->thread, &thread);
}

void sample_drain_step(struct sample_drain *drain, const struct clock_rate *rate)
{
    __atomic_fetch_add(&drain->area->drains, 1, __ATOMIC_RELAXED);
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
            drop_slot(drain, place);
            __atomic_store_n(&slot->tid, 0, __ATOMIC_RELEASE);
        }
    }
}

static void note(struct sample_drain *drain, enum note_kind kind, uint64_t count, const char *text)
{
    loss_notes_put(drain->writer, drain->process, kind, count, text);
}

void sample_drain_finish(struct sample_drain *drain, const struct clock_rate *rate, uint64_t end_ticks)
{
    const struct sample_area *area = drain->area;
    sample_drain_step(drain, rate);
    for (uint32_t place = 0; place < SAMPLE_AREA_SLOTS; place++)
        if (area->slots[place].tid && drain->slots[place])
            end_thread(drain, place, rate, end_ticks);
    for (int reason = 0; reason < WALK_REASONS; reason++)
        note(drain, NOTE_LOSS, area->rejected[reason], walk_reason_text((enum walk_reason)reason));
    note(drain, NOTE_LOSS, area->lost_full, "samples lost because the recorder was too slow");
    note(drain, NOTE_LOSS, area->lost_held,
         "samples lost because a thread could not be held: another process traced it");
    note(drain, NOTE_LOSS, area->lost_threads,
         "times that a thread could not be sampled because there were too many");
    if (drain->space && !drain->counts.native.samples && native_space_problem(drain->space))
        note(drain, NOTE_LOSS, drain->counts.samples, native_space_problem(drain->space));
    note(drain, NOTE_WARNING, drain->names > NAMES_MAX,
         "threads beyond the first 4096 are named without their numbers");
    note(drain, NOTE_LOSS, area->unasked,
         "samples of running threads not taken, because the program uses every real-time signal itself");
    note(drain, NOTE_LOSS, area->forbidden,
         "samples of running threads not taken, because a seccomp filter kills the program for system calls "
         "that they need");
    note(drain, NOTE_WARNING, area->unfollowed,
         "processes not followed, because a seccomp filter would have killed them");
    note(drain, NOTE_LOSS, drain->senseless,
         "stretches of samples passed over because the program overwrote them");
}

struct sample_counts sample_drain_counts(const struct sample_drain *drain)
{
    const struct sample_area *area = drain->area;
    struct sample_counts counts = drain->counts;
    counts.errors += area->lost_full + area->lost_held;
    counts.sampler_cpu_ns = area->sampler_cpu_ns;
    counts.looks = area->looks;
    counts.rested_ns = area->rested_ns;
    for (uint32_t i = 0; i < SAMPLE_AREA_LATENESS; i++)
        counts.lateness[i] = area->lateness[i];
    counts.slowdown_ns = (uint64_t)((double)area->handler_ticks * drain->ns_per_tick) +
                         area->signals * SIGNAL_COST_NS + area->fork_ns;
    return counts;
}
