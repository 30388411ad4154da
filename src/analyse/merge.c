#include "analyse/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/functions.h"
#include "analyse/merge_ids.h"
#include "analyse/merge_rows.h"
#include "base/err.h"
#include "store/call_events.h"
#include "store/memory_rows.h"
#include "store/mpi_rows.h"

static void add_function(struct merge_ids *ids, struct flat_function function)
{
    function.code = merge_ids_code(ids, function.code);
    if (flat_add_function(&ids->merge->flat, &ids->merge->result, &function) < 0)
        ids->failed = true;
}

static void add_edge(struct merge_ids *ids, struct flat_edge edge)
{
    edge.caller = merge_ids_code(ids, edge.caller);
    edge.callee = merge_ids_code(ids, edge.callee);
    if (flat_add_edge(&ids->merge->flat, &ids->merge->result, &edge) < 0)
        ids->failed = true;
}

static void add_flat_rows(struct merge_ids *ids)
{
    for (uint32_t i = 0; i < ids->from->functions_count && !ids->failed; i++)
        add_function(ids, ids->from->functions[i]);
    for (uint32_t i = 0; i < ids->from->edges_count && !ids->failed; i++)
        add_edge(ids, ids->from->edges[i]);
}

static void add_function_table(struct merge_ids *ids, const struct functions *functions)
{
    for (uint32_t i = 0; i < functions->row_count && !ids->failed; i++) {
        const struct function_row *row = &functions->rows[i];
        add_function(
            ids, (struct flat_function){row->code, row->calls, row->primitive_calls, row->self, row->total});
    }
    for (uint32_t i = 0; i < functions->edge_count && !ids->failed; i++) {
        const struct edge_row *row = &functions->edges[i];
        add_edge(ids, (struct flat_edge){row->caller, row->callee, row->calls, row->primitive_calls,
                                         row->self, row->total});
    }
}

static void add_damage(struct damage *sum, const struct damage *damage, bool first)
{
    sum->damaged_chunks += damage->damaged_chunks;
    sum->orphaned_chunks += damage->orphaned_chunks;
    sum->unknown_chunks += damage->unknown_chunks;
    sum->skipped_bytes += damage->skipped_bytes;
    sum->truncated |= damage->truncated;
    sum->complete = damage->complete && (first || sum->complete);
}

/* Counts of a run are added up. They and the number of recordings are written when all is known: texts of sums on the
 * way would stay in the result. */
static const char *const counted[] = {"samples", "errors"};
_Static_assert(sizeof counted / sizeof *counted == MERGE_COUNTS, "one sum for each");

static void add_counts(struct merge *merge, const struct recording *from)
{
    for (size_t i = 0; i < MERGE_COUNTS; i++) {
        const char *text = recording_meta(from, counted[i]);
        merge->counts[i].met |= text != NULL;
        merge->counts[i].sum += text ? strtoull(text, NULL, 10) : 0;
    }
    const char *merged = recording_meta(from, "merged");
    long inside = merged ? atol(merged) : 1;
    merge->added += inside > 0 ? (uint32_t)inside : 1;
}

static bool set_count(struct recording *result, const char *key, uint64_t count)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)count);
    return recording_set_meta(result, key, text) == 0;
}

static bool set_counts(struct merge *merge)
{
    bool done = merge->added < 2 || set_count(&merge->result, "merged", merge->added);
    for (size_t i = 0; i < MERGE_COUNTS && done; i++)
        done = !merge->counts[i].met || set_count(&merge->result, counted[i], merge->counts[i].sum);
    return done;
}

static bool is_counted(const char *key)
{
    return strcmp(key, counted[0]) == 0 || strcmp(key, counted[1]) == 0 || strcmp(key, "merged") == 0;
}

static void keep_agreed_metas(struct recording *result, const struct recording *from)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < result->metas_count; i++) {
        struct meta meta = result->metas[i];
        const char *value = recording_meta(from, recording_text(result, meta.key));
        if (value && strcmp(value, recording_text(result, meta.value)) == 0)
            result->metas[kept++] = meta;
    }
    result->metas_count = kept;
}

static void add_metas(struct merge_ids *ids)
{
    struct recording *result = &ids->merge->result;
    if (ids->merge->added)
        keep_agreed_metas(result, ids->from);
    for (uint32_t i = 0; !ids->merge->added && i < ids->from->metas_count && !ids->failed; i++) {
        const struct meta *meta = &ids->from->metas[i];
        const char *key = recording_text(ids->from, meta->key);
        ids->failed |=
            !is_counted(key) && recording_set_meta(result, key, recording_text(ids->from, meta->value)) < 0;
    }
    add_counts(ids->merge, ids->from);
}

static int finish_add(struct merge_ids *ids, struct err *err)
{
    if (!ids->failed)
        add_metas(ids);
    int result = ids->failed ? err_set(err, "out of memory while merging") : 0;
    merge_ids_clear(ids);
    return result;
}

int merge_add(struct merge *merge, const struct recording *recording, struct err *err)
{
    struct merge_ids ids;
    if (merge_ids_init(&ids, merge, recording) == 0) {
        merge_ids_add_inlinings(&ids);
        add_flat_rows(&ids);
        merge_ids_add_nodes(&ids);
        merge_ids_add_processes(&ids);
        merge_ids_add_threads(&ids);
        merge_rows_add(&ids);
        add_damage(&merge->result.damage, &recording->damage, merge->added == 0);
    }
    return finish_add(&ids, err);
}

int merge_add_totals(struct merge *merge, const struct recording *recording, struct err *err)
{
    struct merge_ids ids;
    if (merge_ids_init(&ids, merge, recording) == 0) {
        merge_ids_add_inlinings(&ids);
        add_flat_rows(&ids);
    }
    return finish_add(&ids, err);
}

int merge_add_note(struct merge *merge, enum note_kind kind, const char *text, struct err *err)
{
    struct recording *result = &merge->result;
    if (recording_init(result, err) < 0)
        return -1;
    struct note note = {.kind = (uint8_t)kind, .text = strings_intern_text(&result->strings, text)};
    if (note.text == UINT32_MAX || recording_add_note(result, &note) == UINT32_MAX)
        return err_set(err, "out of memory while merging");
    return 0;
}

int merge_add_functions(struct merge *merge, const struct recording *recording,
                        const struct functions *functions, struct err *err)
{
    struct merge_ids ids;
    if (merge_ids_init(&ids, merge, recording) == 0) {
        merge_ids_add_inlinings(&ids);
        add_function_table(&ids, functions);
    }
    return finish_add(&ids, err);
}

/* Summed at once, so that memory does not grow with the number of recordings. */
int merge_add_lines(struct merge *merge, const struct recording *recording, struct err *err)
{
    struct merge_ids ids;
    if (merge_ids_init(&ids, merge, recording) == 0)
        merge_rows_add_lines(&ids);
    recording_compact_lines(&merge->result);
    return finish_add(&ids, err);
}

int merge_take(struct merge *merge, struct recording *recording, struct err *err)
{
    if (recording_init(&merge->result, err) < 0 || recording_compact_calls(&merge->result, err) < 0)
        return -1;
    recording_compact_lines(&merge->result);
    if (memory_rows_order(&merge->result, err) < 0 || mpi_rows_order(&merge->result, err) < 0 ||
        call_events_order(&merge->result, err) < 0)
        return -1;
    if (!set_counts(merge))
        return err_set(err, "out of memory while merging");
    *recording = merge->result;
    merge->result = (struct recording){0};
    merge_clear(merge);
    return 0;
}

void merge_clear(struct merge *merge)
{
    recording_clear(&merge->result);
    strings_clear(&merge->codes);
    node_table_clear(&merge->nodes);
    map_clear(&merge->modules);
    map_clear(&merge->symbols);
    flat_clear(&merge->flat);
    *merge = (struct merge){0};
}
