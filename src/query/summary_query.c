/* summary: what was recorded, how good it is, and what to look at first. */
#include <stdlib.h>

#include "analyse/findings.h"
#include "analyse/main_threads.h"
#include "analyse/mark_order.h"
#include "analyse/overhead.h"
#include "analyse/region_order.h"
#include "analyse/series.h"
#include "base/err.h"
#include "export/counter_json.h"
#include "query/answer.h"
#include "query/opened.h"
#include "query/queries.h"
#include "query/request.h"

static void put_text(struct json *json, const struct recording *recording, const char *key, uint32_t string)
{
    json_key(json, key);
    json_text(json, recording_text(recording, string), strings_size(&recording->strings, string));
}

static void put_list(struct json *json, const char *key)
{
    json_key(json, key);
    json_begin_array(json);
}

static void put_processes(struct json *json, const struct recording *recording)
{
    put_list(json, "processes");
    for (uint32_t i = 1; i < recording->processes_count; i++) {
        const struct process *process = &recording->processes[i];
        json_begin_object(json);
        json_put_unsigned(json, "id", i);
        json_put_unsigned(json, "pid", process->pid);
        json_put_unsigned(json, "parent", process->parent);
        put_text(json, recording, "host", process->host);
        put_text(json, recording, "command", process->command);
        put_text(json, recording, "python", process->python);
        json_put_unsigned(json, "start_ns", process->start_ns);
        json_put_unsigned(json, "end_ns", process->end_ns);
        if (process->rank != UINT32_MAX)
            json_put_unsigned(json, "rank", process->rank);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_threads(struct json *json, const struct recording *recording)
{
    put_list(json, "threads");
    for (uint32_t i = 1; i < recording->threads_count; i++) {
        const struct thread *thread = &recording->threads[i];
        json_begin_object(json);
        json_put_unsigned(json, "id", i);
        json_put_unsigned(json, "process", thread->process);
        json_put_unsigned(json, "tid", thread->tid);
        put_text(json, recording, "name", thread->name);
        json_put_unsigned(json, "start_ns", thread->start_ns);
        json_put_unsigned(json, "end_ns", thread->end_ns);
        json_key(json, "regions");
        json_bool(json, region_order_has(recording, i));
        json_key(json, "marks");
        json_bool(json, mark_order_has(recording, i));
        json_end_object(json);
    }
    json_end_array(json);
}

/* Those that can be told apart by colour, the busiest first. */
static int put_busiest(struct json *json, const struct recording *recording, struct err *err)
{
    uint32_t ids[MAIN_THREADS_MAX];
    int count = main_threads_busiest(recording, ids, err);
    put_list(json, "busiest_threads");
    for (int i = 0; i < count; i++)
        json_unsigned(json, ids[i]);
    json_end_array(json);
    return count < 0 ? -1 : 0;
}

/* By id: the first is that of no region. */
static void put_regions(struct json *json, const struct recording *recording)
{
    put_list(json, "regions");
    for (uint32_t i = 0; i < recording->regions_count; i++) {
        uint32_t name = recording->regions[i].name;
        json_text(json, recording_text(recording, name), strings_size(&recording->strings, name));
    }
    json_end_array(json);
}

static void put_notes(struct json *json, const struct recording *recording)
{
    put_list(json, "notes");
    for (uint32_t i = 0; i < recording->notes_count; i++) {
        json_begin_object(json);
        json_put_unsigned(json, "kind", recording->notes[i].kind);
        json_put_unsigned(json, "count", recording->notes[i].count);
        json_put_unsigned(json, "process", recording->notes[i].process);
        put_text(json, recording, "text", recording->notes[i].text);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_metas(struct json *json, const struct recording *recording)
{
    json_key(json, "meta");
    json_begin_object(json);
    for (uint32_t i = 0; i < recording->metas_count; i++)
        put_text(json, recording, recording_text(recording, recording->metas[i].key),
                 recording->metas[i].value);
    json_end_object(json);
}

static void put_damage(struct json *json, const struct damage *damage)
{
    json_key(json, "damage");
    json_begin_object(json);
    json_put_unsigned(json, "damaged_chunks", damage->damaged_chunks);
    json_put_unsigned(json, "orphaned_rows", damage->orphaned_rows);
    json_put_unsigned(json, "unknown_chunks", damage->unknown_chunks);
    json_key(json, "truncated");
    json_bool(json, damage->truncated);
    json_key(json, "complete");
    json_bool(json, damage->complete);
    json_end_object(json);
}

/* How long the run took, as it was told, else as long as something was recorded; 0 = not known. */
static uint64_t duration_ns(const struct recording *recording, struct timeline_axis axis)
{
    const char *elapsed = recording_meta(recording, "elapsed_ns");
    uint64_t told_ns = elapsed ? strtoull(elapsed, NULL, 10) : 0;
    return told_ns ? told_ns : axis.end_ns - axis.begin_ns;
}

static int put_findings(struct json *json, struct opened_recording *row, const struct selection *selection,
                        struct err *err)
{
    const struct functions *functions = opened_functions(row, selection, err);
    const struct tree *tree = functions ? opened_tree(row, selection, err) : NULL;
    struct findings findings = {0};
    if (!tree || findings_build_from(&row->recording, selection, functions, tree, &findings, err) < 0)
        return -1;
    struct overhead overhead = overhead_of(&row->recording, functions);
    json_key(json, "overhead_ns");
    json_real(json, overhead.ns);
    json_key(json, "overhead_share");
    json_real(json, overhead.share);
    put_list(json, "findings");
    for (uint32_t i = 0; i < findings.count; i++) {
        json_begin_object(json);
        json_key(json, "topic");
        json_string(json, findings.rows[i].topic);
        json_put_unsigned(json, "code", findings.rows[i].code);
        json_key(json, "share");
        json_real(json, findings.rows[i].share);
        json_key(json, "text");
        json_string(json, findings.rows[i].text);
        json_end_object(json);
    }
    json_end_array(json);
    findings_clear(&findings);
    return 0;
}

/* What can be chosen; numbers of blocks go with their bytes. */
static void put_measures(const struct recording *recording, struct json *json)
{
    json_begin_list(json, "measures");
    for (enum measure measure = MEASURE_TIME; measure < MEASURE_PEAK_COUNT; measure++)
        if (measure_is_offered(recording, measure))
            json_string(json, measure_name(measure));
    json_end_array(json);
}

int summary_query(struct opened *opened, struct opened_recording *row, const struct request *request,
                  struct answer *answer, struct err *err)
{
    (void)opened;
    const struct recording *recording = &row->recording;
    struct timeline_axis axis = series_whole_axis(recording);
    struct json *json = &answer->json;
    json_key(json, "name");
    json_string(json, row->name);
    json_key(json, "sampled");
    json_bool(json, recording->samples_count > 0);
    json_key(json, "flat");
    json_bool(json, recording->functions_count && !recording->calls_count && !recording->samples_count);
    json_key(json, "lined");
    json_bool(json, recording->lines_count > 0);
    json_key(json, "only_lines");
    json_bool(json, functions_are_of_lines(recording));
    json_key(json, "only_counters");
    json_bool(json, series_is_all(recording));
    json_key(json, "timed");
    json_bool(json, recording->samples_count || recording->call_events_count);
    json_key(json, "memory");
    json_bool(json, measure_has_memory(recording));
    json_key(json, "measure");
    json_string(json, measure_name(measure_of(recording, NULL)));
    put_measures(recording, json);
    json_key(json, "live");
    json_bool(json, row->is_live);
    json_key(json, "state");
    json_string(json, row->state);
    json_put_unsigned(json, "begin_ns", axis.begin_ns);
    json_put_unsigned(json, "end_ns", axis.end_ns);
    json_put_unsigned(json, "duration_ns", duration_ns(recording, axis));
    put_metas(json, recording);
    put_processes(json, recording);
    put_threads(json, recording);
    put_regions(json, recording);
    if (counter_json_put(json, recording, err) < 0 || put_busiest(json, recording, err) < 0)
        return -1;
    put_notes(json, recording);
    put_damage(json, &recording->damage);
    return put_findings(json, row, &request->selection, err);
}
