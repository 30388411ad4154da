#include "export/report_json.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyse/findings.h"
#include "analyse/functions.h"
#include "analyse/heap_totals.h"
#include "analyse/labels.h"
#include "analyse/line_table.h"
#include "analyse/series.h"
#include "base/err.h"
#include "base/json.h"
#include "export/counter_json.h"
#include "export/region_json.h"
#include "store/recording.h"

#define REPORT_JSON_VERSION 1

struct document {
    const struct recording *recording;
    const struct selection *selection;
    struct functions functions;
    struct tree tree;
    struct findings findings;
    struct line_table lines;
    bool has_memory;
    struct heap_totals memory;
    struct heap_histogram sizes;
    struct json json;
};

static void put_string(struct document *document, const char *key, uint32_t string)
{
    json_key(&document->json, key);
    json_text(&document->json, recording_text(document->recording, string),
              strings_size(&document->recording->strings, string));
}

static void put_index(struct document *document, uint32_t code)
{
    const struct function_row *row = functions_find(&document->functions, code);
    json_signed(&document->json, row ? row - document->functions.rows : -1);
}

/* A field whose name ends in the unit: "total_ns", "total_bytes". */
static void put_amount(struct document *document, const char *name, uint64_t amount)
{
    char key[32];
    snprintf(key, sizeof key, "%s_%s", name, measure_suffix(document->functions.measure));
    json_put_unsigned(&document->json, key, amount);
}

static const char *sample_name(const struct document *document, bool total)
{
    if (measure_is_memory(document->functions.measure))
        return total ? "total_count" : "count";
    return total ? "total_samples" : "samples";
}

/* What ranges of time count from; sums have none. */
static void put_axis(struct document *document)
{
    struct timeline_axis axis = series_whole_axis(document->recording);
    if (!axis.end_ns)
        return;
    json_line(&document->json);
    json_put_unsigned(&document->json, "begin_ns", axis.begin_ns);
    json_put_unsigned(&document->json, "end_ns", axis.end_ns);
}

static void put_run(struct document *document)
{
    struct json *json = &document->json;
    json_key(json, "sonde_report");
    json_unsigned(json, REPORT_JSON_VERSION);
    json_line(json);
    json_key(json, "meta");
    json_begin_object(json);
    for (uint32_t i = 0; i < document->recording->metas_count; i++)
        put_string(document, recording_text(document->recording, document->recording->metas[i].key),
                   document->recording->metas[i].value);
    json_end_object(json);
    put_axis(document);
    json_line(json);
    json_key(json, "measure");
    json_string(json, measure_name(document->functions.measure));
    put_amount(document, "total", document->functions.total);
    json_put_unsigned(json, "total_calls", document->functions.total_calls);
    json_put_unsigned(json, "total_primitive_calls", document->functions.total_primitive_calls);
    if (document->functions.sampled)
        json_put_unsigned(json, sample_name(document, true), document->functions.total_samples);
}

static void put_findings(struct document *document)
{
    struct json *json = &document->json;
    json_begin_list(json, "findings");
    for (uint32_t i = 0; i < document->findings.count; i++) {
        const struct finding *finding = &document->findings.rows[i];
        json_begin_row(json);
        json_key(json, "topic");
        json_string(json, finding->topic);
        json_key(json, "share");
        json_real(json, finding->share);
        json_key(json, "function");
        put_index(document, finding->code);
        json_key(json, "text");
        json_string(json, finding->text);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_process(struct document *document, uint32_t id)
{
    const struct process *process = &document->recording->processes[id];
    struct json *json = &document->json;
    json_begin_row(json);
    json_put_unsigned(json, "id", id);
    json_put_unsigned(json, "pid", process->pid);
    json_put_unsigned(json, "parent", process->parent);
    if (process->rank != UINT32_MAX)
        json_put_unsigned(json, "rank", process->rank);
    put_string(document, "host", process->host);
    put_string(document, "command", process->command);
    put_string(document, "python", process->python);
    put_string(document, "exe", process->exe);
    json_put_unsigned(json, "start_ns", process->start_ns);
    json_put_unsigned(json, "end_ns", process->end_ns);
    json_key(json, "exit_code");
    if (process->exit_code == INT32_MIN)
        json_null(json);
    else
        json_signed(json, process->exit_code);
    json_end_object(json);
}

static void put_thread(struct document *document, uint32_t id)
{
    const struct thread *thread = &document->recording->threads[id];
    struct json *json = &document->json;
    json_begin_row(json);
    json_put_unsigned(json, "id", id);
    json_put_unsigned(json, "process", thread->process);
    json_put_unsigned(json, "tid", thread->tid);
    put_string(document, "name", thread->name);
    json_put_unsigned(json, "start_ns", thread->start_ns);
    json_put_unsigned(json, "end_ns", thread->end_ns);
    json_end_object(json);
}

static void put_owners(struct document *document)
{
    json_begin_list(&document->json, "processes");
    for (uint32_t i = 1; i < document->recording->processes_count; i++)
        put_process(document, i);
    json_end_array(&document->json);
    json_begin_list(&document->json, "threads");
    for (uint32_t i = 1; i < document->recording->threads_count; i++)
        put_thread(document, i);
    json_end_array(&document->json);
}

/* What rows of functions and of pairs say alike. */
struct figures {
    uint64_t calls, primitive_calls, samples, total_samples, self, total;
};

static void put_figures(struct document *document, struct figures figures)
{
    struct json *json = &document->json;
    if (!measure_is_memory(document->functions.measure)) {
        json_put_unsigned(json, "calls", figures.calls);
        json_put_unsigned(json, "primitive_calls", figures.primitive_calls);
    }
    put_amount(document, "self", figures.self);
    put_amount(document, "total", figures.total);
    if (document->functions.sampled) {
        json_put_unsigned(json, sample_name(document, false), figures.samples);
        json_put_unsigned(json, sample_name(document, true), figures.total_samples);
    }
}

static void put_function(struct document *document, const struct function_row *row)
{
    const struct code *code = &document->recording->codes[row->code];
    struct json *json = &document->json;
    struct bytes module = {0};
    labels_module(document->recording, row->code, &module);
    json_begin_row(json);
    put_string(document, "file", code->file);
    json_put_unsigned(json, "line", code->line);
    put_string(document, "name", code->name);
    put_string(document, "qualname", code->qualname);
    json_key(json, "module");
    json_text(json, (const char *)module.data, module.size);
    json_key(json, "c");
    json_bool(json, labels_is_c(code));
    if (code->flags & CODE_THROTTLED) {
        json_key(json, "throttled");
        json_bool(json, true);
    }
    put_figures(document, (struct figures){row->calls, row->primitive_calls, row->samples, row->total_samples,
                                           row->self, row->total});
    json_end_object(json);
    bytes_clear(&module);
}

static void put_functions(struct document *document)
{
    const struct functions *functions = &document->functions;
    struct json *json = &document->json;
    json_begin_list(json, "functions");
    for (uint32_t i = 0; i < functions->row_count; i++)
        put_function(document, &functions->rows[i]);
    json_end_array(json);
    json_begin_list(json, "edges");
    for (uint32_t i = 0; i < functions->edge_count; i++) {
        const struct edge_row *edge = &functions->edges[i];
        json_begin_row(json);
        json_key(json, "caller");
        put_index(document, edge->caller);
        json_key(json, "callee");
        put_index(document, edge->callee);
        put_figures(document, (struct figures){edge->calls, edge->primitive_calls, edge->samples,
                                               edge->total_samples, edge->self, edge->total});
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_tree(struct document *document)
{
    struct json *json = &document->json;
    json_line(json);
    json_key(json, "tree_estimated");
    json_bool(json, document->tree.estimated);
    json_begin_list(json, "tree");
    for (uint32_t i = 0; i < document->tree.count; i++) {
        const struct tree_node *node = &document->tree.nodes[i];
        json_line(json);
        json_begin_array(json);
        json_unsigned(json, node->parent);
        put_index(document, node->code);
        json_unsigned(json, node->calls);
        json_unsigned(json, node->self);
        json_unsigned(json, node->total);
        if (document->functions.sampled) {
            json_unsigned(json, node->samples);
            json_unsigned(json, node->total_samples);
        }
        json_end_array(json);
    }
    json_end_array(json);
}

static void put_line_memory(struct json *json, const struct line_table_memory *memory)
{
    json_key(json, "rss_growth_bytes");
    json_signed(json, memory->rss_growth_bytes);
    json_put_unsigned(json, "rss_bytes", memory->rss_bytes);
    if (!memory->heap_bytes)
        return;
    json_key(json, "heap_growth_bytes");
    json_signed(json, memory->heap_growth_bytes);
    json_put_unsigned(json, "heap_bytes", memory->heap_bytes);
}

static void put_line(struct json *json, const struct line_table_row *row)
{
    json_begin_row(json);
    json_put_unsigned(json, "line", row->line);
    json_put_unsigned(json, "hits", row->hits);
    json_put_unsigned(json, "total_ns", row->total_ns);
    if (!row->sums_only) {
        json_put_unsigned(json, "self_ns", row->self_ns);
        json_put_unsigned(json, "min_ns", row->min_ns);
        json_put_unsigned(json, "max_ns", row->max_ns);
    }
    if (row->memory.known)
        put_line_memory(json, &row->memory);
    json_end_object(json);
}

/* Threads are kept apart. */
static void put_lines(struct document *document)
{
    struct json *json = &document->json;
    json_begin_list(json, "lines");
    for (uint32_t i = 0; i < document->lines.function_count; i++) {
        const struct line_table_function *function = &document->lines.functions[i];
        const struct code *code = &document->recording->codes[function->code];
        json_begin_row(json);
        put_string(document, "file", code->file);
        json_put_unsigned(json, "line", code->line);
        put_string(document, "qualname", code->qualname);
        if (function->owner)
            json_put_unsigned(json, "thread", function->owner);
        json_key(json, "rows");
        json_begin_array(json);
        for (uint32_t j = 0; j < function->count; j++)
            put_line(json, &document->lines.rows[function->first + j]);
        json_end_array(json);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_memory(struct document *document)
{
    struct json *json = &document->json;
    const struct heap_totals *memory = &document->memory;
    json_line(json);
    json_key(json, "memory");
    json_begin_object(json);
    for (enum measure measure = MEASURE_PEAK; measure <= MEASURE_TEMPORARY; measure++) {
        char key[32];
        snprintf(key, sizeof key, "%s_bytes", measure_name(measure));
        json_put_unsigned(json, key, memory->of[measure].bytes);
        snprintf(key, sizeof key, "%s_count", measure_name(measure));
        json_put_unsigned(json, key, memory->of[measure].count);
    }
    json_put_unsigned(json, "kept_bytes", memory->kept.bytes);
    json_put_unsigned(json, "arena_bytes", memory->arenas.bytes);
    json_put_unsigned(json, "peak_ns", memory->peak_ns);
    json_key(json, "sampled");
    json_bool(json, memory->sampled);
    json_begin_list(json, "sizes");
    for (uint32_t i = 0; i < document->sizes.count; i++) {
        json_begin_object(json);
        json_put_unsigned(json, "from_bytes", document->sizes.rows[i].floor_bytes);
        json_put_unsigned(json, "count", document->sizes.rows[i].count);
        json_put_unsigned(json, "total_bytes", document->sizes.rows[i].total_bytes);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

static void put_notes(struct document *document)
{
    struct json *json = &document->json;
    const struct damage *damage = &document->recording->damage;
    json_begin_list(json, "notes");
    for (uint32_t i = 0; i < document->recording->notes_count; i++) {
        const struct note *note = &document->recording->notes[i];
        json_begin_object(json);
        json_put_unsigned(json, "process", note->process);
        json_put_unsigned(json, "kind", note->kind);
        json_put_unsigned(json, "count", note->count);
        put_string(document, "text", note->text);
        json_end_object(json);
    }
    json_end_array(json);
    json_line(json);
    json_key(json, "damage");
    json_begin_object(json);
    json_put_unsigned(json, "damaged_chunks", damage->damaged_chunks);
    json_put_unsigned(json, "orphaned_chunks", damage->orphaned_chunks);
    json_put_unsigned(json, "unknown_chunks", damage->unknown_chunks);
    json_put_unsigned(json, "skipped_bytes", damage->skipped_bytes);
    json_key(json, "truncated");
    json_bool(json, damage->truncated);
    json_end_object(json);
}

static int put_document(struct document *document, struct err *err)
{
    json_begin_object(&document->json);
    put_run(document);
    put_findings(document);
    put_notes(document);
    put_owners(document);
    int result = 0;
    if (document->recording->counters_count > 1)
        result = counter_json_put(&document->json, document->recording, err);
    if (result == 0)
        result = region_json_put(&document->json, document->recording, document->selection, err);
    put_functions(document);
    put_tree(document);
    if (document->has_memory)
        put_memory(document);
    if (document->lines.function_count)
        put_lines(document);
    json_line(&document->json);
    json_end_object(&document->json);
    bytes_put_u8(document->json.out, '\n');
    return result;
}

int report_json_put(const struct recording *recording, const struct selection *selection, struct bytes *out,
                    struct err *err)
{
    struct document document = {.recording = recording,
                                .selection = selection,
                                .has_memory = measure_has_memory(recording),
                                .json = {.out = out}};
    int result = functions_build(recording, selection, &document.functions, err);
    if (result == 0)
        result =
            findings_build_from(recording, selection, &document.functions, NULL, &document.findings, err);
    if (result == 0)
        result = tree_build(recording, selection, &document.tree, err);
    if (result == 0)
        result = line_table_build(recording, selection, GROUP_THREAD, &document.lines, err);
    if (result == 0 && document.has_memory)
        result = heap_totals_build(recording, selection, &document.memory, err);
    if (result == 0 && document.has_memory)
        result = heap_totals_histogram(recording, selection, &document.sizes, err);
    if (result == 0)
        result = put_document(&document, err);
    if (result == 0 && out->failed)
        result = err_set(err, "not enough memory for the report as JSON");
    findings_clear(&document.findings);
    functions_clear(&document.functions);
    tree_clear(&document.tree);
    line_table_clear(&document.lines);
    free(document.sizes.rows);
    return result;
}
