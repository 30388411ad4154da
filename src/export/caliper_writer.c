#include "export/caliper_writer.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/json.h"
#include "export/frames.h"
#include "export/stream.h"
#include "export/thread_profiles.h"
#include "store/recording.h"

/* What a rank has spent in a path. */
struct sum {
    uint64_t calls, self_ns, total_ns;
    bool used;
};

struct caliper {
    struct thread_profiles profiles;
    const struct frame_style *style;
    struct stream *stream;
    struct json json;
    struct sum *sums;    /* by node: of the rank that is being added up */
    uint32_t *number_of; /* by node: its place in `nodes` */
    uint32_t *nodes;     /* in the order of the file: parents first */
    uint32_t count;
};

static void add_thread(struct caliper *caliper, const struct thread_profile *profile)
{
    for (uint32_t i = 1; i < profile->count; i++) {
        const struct thread_path *path = &profile->paths[i];
        struct sum *sum = &caliper->sums[path->node];
        sum->used = true;
        sum->calls += path->calls;
        sum->self_ns += path->self_ns;
        sum->total_ns += path->total_ns;
    }
}

/* Every nanosecond of it. */
static void put_seconds(struct json *json, uint64_t time_ns)
{
    json_unsigned(json, time_ns / 1000000000u);
    bytes_putf(json->out, ".%09u", (unsigned)(time_ns % 1000000000u));
}

static void put_row(struct caliper *caliper, uint32_t number, uint32_t rank)
{
    struct json *json = &caliper->json;
    struct sum *sum = &caliper->sums[caliper->nodes[number]];
    json_line(json);
    json_begin_array(json);
    json_unsigned(json, number);
    json_unsigned(json, number);
    if (caliper->profiles.ranked)
        json_unsigned(json, rank);
    put_seconds(json, sum->self_ns);
    put_seconds(json, sum->total_ns);
    json_unsigned(json, sum->calls);
    json_end_array(json);
    stream_drain(caliper->stream);
    *sum = (struct sum){0};
}

/* Hatchet takes the order of node number n from row number n: so the first rank has rows of all nodes. */
static void put_rank(struct caliper *caliper, uint32_t rank, bool is_first)
{
    for (uint32_t i = 0; i < caliper->count; i++)
        if (is_first || caliper->sums[caliper->nodes[i]].used)
            put_row(caliper, i, rank);
}

static int put_data(struct caliper *caliper, struct err *err)
{
    struct thread_profile profile = {0};
    const struct thread_profiles *profiles = &caliper->profiles;
    bool is_first = true;
    int result = 0;
    json_key(&caliper->json, "data");
    json_begin_array(&caliper->json);
    for (uint32_t i = 0; i < profiles->count && result == 0; i++) {
        const struct thread_place *place = &profiles->places[i];
        bool is_last = i + 1 == profiles->count || (profiles->ranked && place[1].rank != place->rank);
        result = thread_profiles_read(&caliper->profiles, place, &profile, err);
        if (result == 0)
            add_thread(caliper, &profile);
        if (result == 0 && is_last) {
            put_rank(caliper, place->rank, is_first);
            is_first = false;
        }
    }
    json_end_array(&caliper->json);
    thread_profiles_release(&profile);
    return result;
}

static const struct column {
    const char *name, *unit;
    bool is_value;
} columns[] = {
    {"Node order", NULL, false}, /* first, where Hatchet looks for it; a number of a node, as `path` is */
    {"path", NULL, false},
    {"mpi.rank", NULL, true},
    {"sum#time.duration", "sec", true},
    {"inclusive#sum#time.duration", "sec", true},
    {"count", NULL, true},
};
#define COLUMNS (sizeof columns / sizeof columns[0])
#define RANK    2

static void put_column(struct json *json, const struct column *column)
{
    json_begin_object(json);
    json_key(json, "is_value");
    json_bool(json, column->is_value);
    if (column->unit)
        json_put_string(json, "attribute.unit", column->unit);
    json_end_object(json);
}

static void put_columns(struct caliper *caliper)
{
    struct json *json = &caliper->json;
    bool ranked = caliper->profiles.ranked;
    json_begin_list(json, "columns");
    for (size_t i = 0; i < COLUMNS; i++)
        if (i != RANK || ranked)
            json_string(json, columns[i].name);
    json_end_array(json);
    json_begin_list(json, "column_metadata");
    for (size_t i = 0; i < COLUMNS; i++)
        if (i != RANK || ranked)
            put_column(json, &columns[i]);
    json_end_array(json);
}

static int put_node(struct caliper *caliper, uint32_t node, struct bytes *label, struct err *err)
{
    struct json *json = &caliper->json;
    const struct recording *recording = caliper->profiles.recording;
    uint32_t parent = thread_profiles_parent(&caliper->profiles, node);
    bytes_reset(label);
    frames_put_text(recording, caliper->style, recording->nodes[node].code, 0, label);
    if (label->failed)
        return err_set(err, "not enough memory for the names of call paths");
    json_begin_row(json);
    json_key(json, "label");
    json_text(json, (const char *)label->data, label->size);
    json_put_string(json, "column", "path");
    if (parent)
        json_put_unsigned(json, "parent", caliper->number_of[parent]);
    json_end_object(json);
    stream_drain(caliper->stream);
    return 0;
}

static int put_nodes(struct caliper *caliper, struct err *err)
{
    struct bytes label = {0};
    int result = 0;
    json_begin_list(&caliper->json, "nodes");
    for (uint32_t i = 0; i < caliper->count && result == 0; i++)
        result = put_node(caliper, caliper->nodes[i], &label, err);
    json_end_array(&caliper->json);
    bytes_clear(&label);
    return result;
}

/* Whatever else the object has is metadata of the run to those who read it. */
static void put_metas(struct caliper *caliper)
{
    const struct recording *recording = caliper->profiles.recording;
    struct json *json = &caliper->json;
    json_line(json);
    json_put_string(json, "written.by", "sonde " SONDE_VERSION);
    for (uint32_t i = 0; i < recording->metas_count; i++) {
        json_line(json);
        json_put_string(json, recording_text(recording, recording->metas[i].key),
                        recording_text(recording, recording->metas[i].value));
    }
}

static int put_all(struct caliper *caliper, struct err *err)
{
    caliper->count = thread_profiles_number(&caliper->profiles, caliper->nodes, caliper->number_of);
    json_begin_object(&caliper->json);
    int result = put_data(caliper, err);
    put_columns(caliper);
    if (result == 0)
        result = put_nodes(caliper, err);
    put_metas(caliper);
    json_end_object(&caliper->json);
    bytes_put_u8(&caliper->stream->out, '\n');
    return result;
}

int caliper_writer_write(const struct recording *recording, const struct selection *selection,
                         const struct frame_style *style, struct stream *stream, struct err *err)
{
    struct frame_style functions = *style;
    struct caliper caliper = {.style = &functions, .stream = stream, .json = {.out = &stream->out}};
    functions.function = true;
    if (thread_profiles_init(recording, selection, &caliper.profiles, err) < 0)
        return -1;
    size_t count = (size_t)recording->nodes_count + 1;
    caliper.sums = calloc(count, sizeof *caliper.sums);
    caliper.number_of = calloc(count, sizeof *caliper.number_of);
    caliper.nodes = calloc(count, sizeof *caliper.nodes);
    int result = caliper.sums && caliper.number_of && caliper.nodes
                     ? put_all(&caliper, err)
                     : err_set(err, "not enough memory for %u call paths", recording->nodes_count);
    free(caliper.sums);
    free(caliper.number_of);
    free(caliper.nodes);
    thread_profiles_clear(&caliper.profiles);
    return result;
}
