#include "show/info_json.h"

#include "base/json.h"
#include "show/info_modules.h"
#include "show/info_totals.h"
#include "store/call_events.h"
#include "store/recording.h"

static void put_text(struct json *json, const char *key, const struct recording *recording, uint32_t string)
{
    json_key(json, key);
    json_text(json, recording_text(recording, string), strings_size(&recording->strings, string));
}

static void put_metas(const struct recording *recording, struct json *json)
{
    json_line(json);
    json_key(json, "meta");
    json_begin_object(json);
    for (uint32_t i = 0; i < recording->metas_count; i++)
        put_text(json, recording_text(recording, recording->metas[i].key), recording,
                 recording->metas[i].value);
    json_end_object(json);
}

static void put_process(const struct recording *recording, const struct process *process, struct json *json)
{
    json_put_unsigned(json, "pid", process->pid);
    json_key(json, "parent");
    if (process->parent)
        json_unsigned(json, recording->processes[process->parent].pid);
    else
        json_null(json);
    json_key(json, "rank");
    if (process->rank != UINT32_MAX)
        json_unsigned(json, process->rank);
    else
        json_null(json);
    json_key(json, "exit_code");
    if (process->exit_code != INT32_MIN)
        json_signed(json, process->exit_code);
    else
        json_null(json);
    put_text(json, "host", recording, process->host);
    put_text(json, "python", recording, process->python);
    put_text(json, "exe", recording, process->exe);
    put_text(json, "command", recording, process->command);
    json_put_unsigned(json, "start_ns", process->start_ns);
    json_put_unsigned(json, "end_ns", process->end_ns);
}

static void put_processes(const struct recording *recording, struct json *json)
{
    json_begin_list(json, "processes");
    for (uint32_t id = 1; id < recording->processes_count; id++) {
        json_begin_row(json);
        put_process(recording, &recording->processes[id], json);
        json_end_object(json);
    }
    json_end_array(json);
    json_begin_list(json, "threads");
    for (uint32_t id = 1; id < recording->threads_count; id++) {
        const struct thread *thread = &recording->threads[id];
        json_begin_row(json);
        json_put_unsigned(json, "tid", thread->tid);
        json_put_unsigned(json, "pid", recording->processes[thread->process].pid);
        put_text(json, "name", recording, thread->name);
        json_put_unsigned(json, "start_ns", thread->start_ns);
        json_put_unsigned(json, "end_ns", thread->end_ns);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_total(const struct info_total *total, struct json *json)
{
    json_begin_row(json);
    json_put_string(json, "kind", total->kind);
    json_put_unsigned(json, "chunks", total->chunks);
    json_put_unsigned(json, "stored_bytes", total->stored_bytes);
    json_put_unsigned(json, "raw_bytes", total->raw_bytes);
    json_put_unsigned(json, "rows", total->rows);
    json_end_object(json);
}

static void put_chunk(const struct chunk_info *chunk, struct json *json)
{
    json_begin_row(json);
    json_put_unsigned(json, "offset", chunk->offset);
    json_put_string(json, "kind", info_totals_kind(chunk));
    json_put_string(json, "state", info_totals_state(chunk));
    json_put_unsigned(json, "process", chunk->process);
    json_put_unsigned(json, "clock_ns", chunk->clock_ns);
    json_put_unsigned(json, "stored_bytes", chunk->stored_bytes);
    json_put_unsigned(json, "raw_bytes", chunk->raw_bytes);
    json_put_unsigned(json, "rows", chunk->records);
    json_end_object(json);
}

static void put_chunks(const struct recording *recording, bool each_chunk, struct json *json)
{
    struct info_totals totals = info_totals_of(recording);
    json_begin_list(json, "kinds");
    for (uint32_t i = 0; i < totals.count; i++)
        put_total(&totals.kinds[i], json);
    json_end_array(json);
    if (!each_chunk)
        return;
    json_begin_list(json, "chunks");
    for (uint32_t i = 0; i < recording->chunks_count; i++)
        put_chunk(&recording->chunks[i], json);
    json_end_array(json);
}

static void put_counts(const struct recording *recording, struct json *json)
{
    json_line(json);
    json_key(json, "counts");
    json_begin_object(json);
    json_put_unsigned(json, "strings", recording->strings.count - 1);
    json_put_unsigned(json, "codes", recording->codes_count - 1);
    json_put_unsigned(json, "nodes", recording->nodes_count - 1);
    json_put_unsigned(json, "call_rows", recording->calls_count);
    uint32_t line_events = call_events_lines(recording);
    json_put_unsigned(json, "call_event_rows", recording->call_events_count - line_events);
    json_put_unsigned(json, "line_event_rows", line_events);
    json_put_unsigned(json, "line_rows", recording->lines_count);
    json_put_unsigned(json, "sample_rows", recording->samples_count);
    json_put_unsigned(json, "heap_rows", recording->heap_count);
    json_put_unsigned(json, "allocation_rows", recording->allocations_count);
    json_put_unsigned(json, "line_memory_rows", recording->line_memory_count);
    json_put_unsigned(json, "series_rows", recording->series_count);
    json_put_unsigned(json, "region_event_rows", recording->region_events_count);
    json_put_unsigned(json, "mark_rows", recording->marks_count);
    json_put_unsigned(json, "message_rows", recording->messages_count);
    json_put_unsigned(json, "collective_rows", recording->collectives_count);
    json_put_unsigned(json, "mpi_total_rows", recording->mpi_totals_count);
    json_put_unsigned(json, "flat_functions", recording->functions_count);
    json_put_unsigned(json, "flat_edges", recording->edges_count);
    json_put_unsigned(json, "source_files", recording->sources_count);
    json_end_object(json);
}

static void put_modules(const struct recording *recording, struct json *json)
{
    struct info_modules modules = info_modules_of(recording);
    json_begin_list(json, "modules");
    for (uint32_t i = 0; i < modules.count; i++) {
        json_begin_row(json);
        json_put_string(json, "path", modules.rows[i].path);
        json_put_string(json, "build_id", modules.rows[i].build_id);
        json_put_unsigned(json, "addresses", modules.rows[i].addresses);
        json_put_unsigned(json, "named", modules.rows[i].named);
        json_end_object(json);
    }
    json_end_array(json);
    info_modules_clear(&modules);
}

static void put_notes(const struct recording *recording, struct json *json)
{
    json_begin_list(json, "notes");
    for (uint32_t i = 0; i < recording->notes_count; i++) {
        const struct note *note = &recording->notes[i];
        json_begin_row(json);
        json_put_string(json, "kind", info_totals_note(note));
        json_put_unsigned(json, "pid", recording->processes[note->process].pid);
        json_put_unsigned(json, "count", note->count);
        put_text(json, "text", recording, note->text);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_damage(const struct damage *damage, struct json *json)
{
    json_line(json);
    json_key(json, "damage");
    json_begin_object(json);
    json_key(json, "complete");
    json_bool(json, damage->complete);
    json_key(json, "truncated");
    json_bool(json, damage->truncated);
    json_put_unsigned(json, "damaged_chunks", damage->damaged_chunks);
    json_put_unsigned(json, "orphaned_chunks", damage->orphaned_chunks);
    json_put_unsigned(json, "orphaned_rows", damage->orphaned_rows);
    json_put_unsigned(json, "unknown_chunks", damage->unknown_chunks);
    json_put_unsigned(json, "unknown_records", damage->unknown_records);
    json_put_unsigned(json, "skipped_bytes", damage->skipped_bytes);
    json_end_object(json);
}

void info_json_put(const struct recording *recording, const char *name, bool each_chunk, struct json *json)
{
    json_begin_row(json);
    json_put_string(json, "file", name);
    put_metas(recording, json);
    put_processes(recording, json);
    put_counts(recording, json);
    put_modules(recording, json);
    put_chunks(recording, each_chunk, json);
    put_notes(recording, json);
    put_damage(&recording->damage, json);
    json_end_object(json);
}
