#include "import/tau_profile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "store/recording.h"

#define METAS_MAX 1024 /* of metadata and user events; more are left out */

void tau_profile_clear(struct tau_profile *profile)
{
    tau_names_clear(&profile->names);
    map_clear(&profile->nodes);
    map_clear(&profile->processes);
    flat_clear(&profile->flat);
    strings_clear(&profile->event_names);
    free(profile->rows);
    free(profile->ended);
    free(profile->events);
    *profile = (struct tau_profile){0};
}

/* `rows` with room for `count`, the new ones zeroed; NULL when memory ran out, and then profile->failed. */
static void *with_room(struct tau_profile *profile, void *rows, uint32_t count, uint32_t *capacity,
                       size_t size)
{
    if (count <= *capacity)
        return rows;
    uint32_t larger = count * 2 + 64;
    char *all = realloc(rows, larger * size);
    if (!all) {
        profile->failed = true;
        return rows;
    }
    memset(all + *capacity * size, 0, (larger - *capacity) * size);
    *capacity = larger;
    return all;
}

/* ---- threads ---- */

static uint32_t process_of(struct tau_profile *profile, uint32_t node, uint32_t context)
{
    uint32_t found = map_get(&profile->processes, map_pair(node, context));
    if (found != MAP_NONE)
        return found;
    struct process process = {.rank = node, .exit_code = INT32_MIN};
    uint32_t id = recording_add_process(profile->recording, &process);
    profile->failed |= !id || !map_set(&profile->processes, map_pair(node, context), id);
    return id;
}

void tau_profile_thread(struct tau_profile *profile, uint32_t node, uint32_t context, uint32_t thread)
{
    profile->names.recording = profile->recording;
    profile->ours = false;
    profile->rows_count = 0;
    profile->process = process_of(profile, node, context);
    profile->thread = recording_add_thread(profile->recording,
                                           &(struct thread){.process = profile->process, .tid = thread});
    profile->failed |= !profile->thread;
}

/* ---- metadata ---- */

static uint64_t number_of(struct tau_span span)
{
    uint64_t value = 0;
    for (size_t i = 0; i < span.size && span.at[i] >= '0' && span.at[i] <= '9' && value < INT64_MAX / 10; i++)
        value = value * 10 + (uint64_t)(span.at[i] - '0');
    return value;
}

/* Of what the file says of its first thread the rest is kept as it is. */
static void keep_meta(struct tau_profile *profile, struct tau_span name, uint32_t value)
{
    struct recording *recording = profile->recording;
    struct bytes key = {0};
    if (profile->thread != 1 || recording->metas_count >= METAS_MAX)
        return;
    bytes_put_text(&key, "tau ");
    bytes_put(&key, name.at, name.size);
    struct meta meta = {strings_intern(&recording->strings, (const char *)key.data, key.size), value};
    profile->failed |= key.failed || meta.key == UINT32_MAX || recording_put_meta(recording, meta) < 0;
    bytes_clear(&key);
}

void tau_profile_attribute(struct tau_profile *profile, struct tau_span name, struct tau_span value)
{
    struct recording *recording = profile->recording;
    uint32_t text = strings_intern(&recording->strings, value.at, value.size);
    if (profile->failed || text == UINT32_MAX) {
        profile->failed = true;
        return;
    }
    struct process *process = &recording->processes[profile->process];
    if (tau_names_is(name, "Written By"))
        profile->ours = value.size > 6 && memcmp(value.at, "sonde ", 6) == 0;
    else if (tau_names_is(name, "Ranks") && tau_names_is(value, "none"))
        process->rank = UINT32_MAX;
    else if (tau_names_is(name, "Hostname"))
        process->host = text;
    else if (tau_names_is(name, "Command Line"))
        process->command = text;
    else if (tau_names_is(name, "Executable"))
        process->exe = text;
    else if (tau_names_is(name, "Python"))
        process->python = text;
    else if (tau_names_is(name, "Thread Name"))
        recording->threads[profile->thread].name = text;
    else if (tau_names_is(name, "pid"))
        process->pid = number_of(value);
    else if (tau_names_is(name, "tid"))
        recording->threads[profile->thread].tid = number_of(value);
    else if (!tau_names_is(name, "Metric Name"))
        keep_meta(profile, name, text);
}

/* ---- rows ---- */

/* Compensation for its own cost leaves TAU with small negative times; nothing below 0 or beyond 146 years is meant. */
static uint64_t whole(double value)
{
    if (!(value > 0))
        return 0;
    return value < 4e18 ? (uint64_t)llround(value) : (uint64_t)4e18;
}

void tau_profile_row(struct tau_profile *profile, struct tau_span name, bool is_parameter,
                     const struct tau_values *values)
{
    uint32_t id = tau_names_find(&profile->names, tau_names_trim(name), profile->ours);
    profile->failed |= profile->names.failed;
    if (profile->failed)
        return;
    if (is_parameter || profile->names.paths[id].sampled) {
        profile->left_out++;
        return;
    }
    profile->rows = with_room(profile, profile->rows, profile->rows_count + 1, &profile->rows_capacity,
                              sizeof *profile->rows);
    if (!profile->failed)
        profile->rows[profile->rows_count++] = (struct tau_row){.name = id,
                                                                .calls = whole(values->calls),
                                                                .self_ns = whole(values->self_us * 1e3),
                                                                .total_ns = whole(values->total_us * 1e3)};
}

static const struct tau_path *path_of(const struct tau_profile *profile, const struct tau_row *row)
{
    return &profile->names.paths[row->name];
}

static uint32_t code_at(const struct tau_profile *profile, const struct tau_path *path, uint32_t index)
{
    return profile->names.codes[path->first + index];
}

static uint32_t last_code(const struct tau_profile *profile, const struct tau_path *path)
{
    return code_at(profile, path, path->count - 1);
}

static uint32_t node_below(struct tau_profile *profile, uint32_t parent, uint32_t code)
{
    uint32_t found = map_get(&profile->nodes, map_pair(parent, code));
    if (found != MAP_NONE)
        return found;
    uint32_t id = recording_add_node(profile->recording, &(struct node){.parent = parent, .code = code});
    profile->failed |= !id || !map_set(&profile->nodes, map_pair(parent, code), id);
    return id;
}

static void add_calls(struct tau_profile *profile, uint32_t node, uint64_t calls, uint64_t self_ns)
{
    struct call_row row = {.thread = profile->thread, .node = node, .calls = calls, .self_ns = self_ns};
    if ((calls || self_ns) && recording_add_calls(profile->recording, &row) == UINT32_MAX)
        profile->failed = true;
}

/* ---- the tree ---- */

static void sum_ends(struct tau_profile *profile)
{
    uint32_t codes = profile->recording->codes_count;
    profile->ended =
        with_room(profile, profile->ended, codes, &profile->ended_capacity, sizeof *profile->ended);
    if (profile->failed)
        return;
    memset(profile->ended, 0, codes * sizeof *profile->ended);
    for (uint32_t i = 0; i < profile->rows_count; i++) {
        const struct tau_path *path = path_of(profile, &profile->rows[i]);
        if (path->count < 2)
            continue;
        struct tau_ended *ended = &profile->ended[last_code(profile, path)];
        ended->calls += profile->rows[i].calls;
        ended->self_ns += profile->rows[i].self_ns;
        profile->ended[code_at(profile, path, 0)].heads = true;
    }
}

/* Whether the paths are whole: each begins with a function that was also called by nobody, which is one that has more calls
 * than the paths that end in it. */
static bool has_tree(const struct tau_profile *profile)
{
    uint32_t heads = 0, tops = 0;
    for (uint32_t code = 1; code < profile->recording->codes_count; code++)
        heads += profile->ended[code].heads;
    for (uint32_t i = 0; i < profile->rows_count; i++) {
        const struct tau_path *path = path_of(profile, &profile->rows[i]);
        if (path->count != 1)
            continue;
        const struct tau_ended *ended = &profile->ended[last_code(profile, path)];
        tops += ended->heads && profile->rows[i].calls > ended->calls;
    }
    return heads && tops == heads;
}

static void add_path(struct tau_profile *profile, const struct tau_row *row)
{
    const struct tau_path *path = path_of(profile, row);
    uint32_t node = 0;
    for (uint32_t i = 0; i < path->count && !profile->failed; i++)
        node = node_below(profile, node, code_at(profile, path, i));
    add_calls(profile, node, row->calls, row->self_ns);
}

/* What the paths that end in a function leave over was called by nobody. */
static void add_tree(struct tau_profile *profile)
{
    for (uint32_t i = 0; i < profile->rows_count && !profile->failed; i++) {
        struct tau_row row = profile->rows[i];
        const struct tau_path *path = path_of(profile, &row);
        if (path->count == 1) {
            const struct tau_ended *ended = &profile->ended[last_code(profile, path)];
            row.calls = row.calls > ended->calls ? row.calls - ended->calls : 0;
            row.self_ns = row.calls && row.self_ns > ended->self_ns ? row.self_ns - ended->self_ns : 0;
        }
        if (path->count && (row.calls || row.self_ns))
            add_path(profile, &row);
    }
}

/* Every path is there, and functions' own rows are their sums. */
static void add_our_paths(struct tau_profile *profile)
{
    bool below_root = false;
    for (uint32_t i = 0; i < profile->rows_count && !profile->failed; i++) {
        const char *text = strings_text(&profile->names.names, profile->rows[i].name);
        below_root = strstr(text, "=>") != NULL;
        if (below_root && path_of(profile, &profile->rows[i])->count)
            add_path(profile, &profile->rows[i]);
    }
}

/* ---- flat ---- */

/* The code of the function that ran all the time; 0 = none did. */
static uint32_t find_whole(const struct tau_profile *profile)
{
    uint64_t sum_ns = 0, most_ns = 0;
    uint32_t code = 0;
    for (uint32_t i = 0; i < profile->rows_count; i++) {
        const struct tau_row *row = &profile->rows[i];
        const struct tau_path *path = path_of(profile, row);
        if (path->count != 1)
            continue;
        sum_ns += row->self_ns;
        if (row->total_ns > most_ns) {
            most_ns = row->total_ns;
            code = last_code(profile, path);
        }
    }
    return most_ns >= sum_ns - sum_ns / 100 ? code : 0;
}

static void add_flat_rows(struct tau_profile *profile)
{
    uint32_t top = find_whole(profile), root = top ? node_below(profile, 0, top) : 0;
    for (uint32_t i = 0; i < profile->rows_count && !profile->failed; i++) {
        const struct tau_row *row = &profile->rows[i];
        const struct tau_path *path = path_of(profile, row);
        if (path->count != 1)
            continue;
        uint32_t code = last_code(profile, path);
        add_calls(profile, code == top ? root : node_below(profile, root, code), row->calls, row->self_ns);
    }
    profile->flat_threads++;
}

static void add_flat_profile(struct tau_profile *profile)
{
    int result = 0;
    for (uint32_t i = 0; i < profile->rows_count && result == 0; i++) {
        const struct tau_row *row = &profile->rows[i];
        const struct tau_path *path = path_of(profile, row);
        struct flat_function function = {.calls = row->calls,
                                         .primitive_calls = row->calls,
                                         .self_ns = row->self_ns,
                                         .total_ns = row->total_ns};
        struct flat_edge edge = {.calls = row->calls,
                                 .primitive_calls = row->calls,
                                 .self_ns = row->self_ns,
                                 .total_ns = row->total_ns};
        if (path->count == 1) {
            function.code = last_code(profile, path);
            result = flat_add_function(&profile->flat, profile->recording, &function);
        } else if (path->count) {
            edge.caller = code_at(profile, path, path->count - 2);
            edge.callee = last_code(profile, path);
            result = flat_add_edge(&profile->flat, profile->recording, &edge);
        }
    }
    profile->failed |= result < 0;
}

void tau_profile_end_thread(struct tau_profile *profile)
{
    sum_ends(profile);
    if (profile->failed)
        return;
    if (profile->ours)
        add_our_paths(profile);
    else if (has_tree(profile))
        add_tree(profile);
    else if (profile->alone)
        add_flat_profile(profile);
    else
        add_flat_rows(profile);
}

/* ---- user events ---- */

void tau_profile_event(struct tau_profile *profile, struct tau_span name, const struct tau_sum *values)
{
    uint32_t id = strings_intern(&profile->event_names, name.at, name.size);
    profile->failed |= id == UINT32_MAX;
    if (profile->failed || !values->count)
        return;
    profile->events =
        with_room(profile, profile->events, id + 1, &profile->events_capacity, sizeof *profile->events);
    if (profile->failed)
        return;
    struct tau_sum *sum = &profile->events[id];
    sum->min = !sum->count || values->min < sum->min ? values->min : sum->min;
    sum->max = !sum->count || values->max > sum->max ? values->max : sum->max;
    sum->count += values->count;
    sum->total += values->total;
}

static void add_note(struct tau_profile *profile, uint64_t count, struct bytes *text)
{
    uint32_t id = strings_intern(&profile->recording->strings, (const char *)text->data, text->size);
    struct note note = {.kind = NOTE_REMARK, .count = count, .text = id};
    profile->failed |=
        text->failed || id == UINT32_MAX || recording_add_note(profile->recording, &note) == UINT32_MAX;
    bytes_clear(text);
}

static void add_event_metas(struct tau_profile *profile)
{
    for (uint32_t id = 1; id < profile->event_names.count && id < profile->events_capacity; id++) {
        const struct tau_sum *sum = &profile->events[id];
        struct bytes key = {0}, value = {0};
        if (!sum->count || profile->recording->metas_count >= METAS_MAX)
            continue;
        bytes_putf(&key, "tau event %s", strings_text(&profile->event_names, id));
        bytes_putf(&value, "%" PRIu64 " value%s from %g to %g, %g on average", sum->count,
                   sum->count == 1 ? "" : "s", sum->min, sum->max, sum->total / (double)sum->count);
        bytes_put_u8(&key, '\0');
        bytes_put_u8(&value, '\0');
        if (key.failed || value.failed ||
            recording_set_meta(profile->recording, (const char *)key.data, (const char *)value.data) < 0)
            profile->failed = true;
        bytes_clear(&key);
        bytes_clear(&value);
    }
}

int tau_profile_finish(struct tau_profile *profile)
{
    struct bytes text = {0};
    /* A damaged file may have a row twice. */
    if (!profile->failed && recording_compact_calls(profile->recording, NULL) < 0)
        profile->failed = true;
    if (!profile->failed && recording_set_meta(profile->recording, "mode", "TAU profile") < 0)
        profile->failed = true;
    if (!profile->failed)
        add_event_metas(profile);
    if (!profile->failed && profile->flat_threads) {
        bytes_put_text(
            &text,
            "TAU recorded no whole call paths (TAU_CALLPATH_DEPTH): functions have their own times and calls "
            "for each thread, and inclusive times only of what ran all the time");
        add_note(profile, profile->flat_threads, &text);
    }
    if (!profile->failed && profile->left_out) {
        bytes_put_text(
            &text, "rows of TAU's own sampling and of parameters were left out; their timers have that time");
        add_note(profile, profile->left_out, &text);
    }
    return profile->failed ? -1 : 0;
}
