#include "show/info_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "show/info_modules.h"
#include "show/info_totals.h"
#include "show/terminal.h"
#include "store/call_events.h"
#include "store/recording.h"

/* A run of a thousand processes is counted, not listed; --json lists all. */
#define ROWS_SHOWN    32
#define COMMAND_SHOWN 60

/* "512 B", "1.5 kB", "20.3 MB" */
static void format_size(uint64_t size_bytes, char text[static 16])
{
    static const char units[] = "kMGTPE";
    double value = (double)size_bytes;
    int unit = -1;
    for (; value >= 999.95 && units[unit + 1]; unit++)
        value /= 1000;
    if (unit < 0)
        snprintf(text, 16, "%u B", (unsigned)size_bytes);
    else
        snprintf(text, 16, "%.1f %cB", value, units[unit]);
}

static void format_time(uint64_t start_ns, uint64_t end_ns, char text[static 24])
{
    if (end_ns < start_ns || end_ns == 0)
        snprintf(text, 24, "-");
    else
        snprintf(text, 24, "%.3f s", (double)(end_ns - start_ns) / 1e9);
}

static void format_exit(int32_t exit_code, char text[static 24])
{
    if (exit_code == INT32_MIN)
        snprintf(text, 24, "unknown");
    else if (exit_code < 0)
        snprintf(text, 24, "signal %d", -(int)exit_code);
    else
        snprintf(text, 24, "%d", (int)exit_code);
}

/* A command line can be endless: its beginning, here. */
static void put_beginning(const char *text, struct bytes *out)
{
    char beginning[COMMAND_SHOWN * 4 + 1];
    size_t size = 0, characters = 0;
    for (; text[size]; size++) {
        bool starts_character = ((unsigned char)text[size] & 0xc0) != 0x80;
        if (size == COMMAND_SHOWN * 4 || (starts_character && characters++ == COMMAND_SHOWN))
            break;
        beginning[size] = text[size];
    }
    beginning[size] = '\0';
    terminal_put(beginning, out);
    bytes_put_text(out, text[size] ? "...\n" : "\n");
}

static void put_more(uint32_t count, struct bytes *out)
{
    if (count > ROWS_SHOWN + 1)
        bytes_putf(out, "  and %u more (--json lists all)\n", count - 1 - ROWS_SHOWN);
}

static bool is_shown(uint32_t id, uint32_t count)
{
    return id < count && id <= ROWS_SHOWN;
}

static void put_metas(const struct recording *recording, struct bytes *out)
{
    for (uint32_t i = 0; i < recording->metas_count; i++) {
        const struct meta *meta = &recording->metas[i];
        size_t key_columns = strlen(recording_text(recording, meta->key));
        bytes_put_text(out, "  ");
        terminal_put(recording_text(recording, meta->key), out);
        bytes_putf(out, "%*s", key_columns < 12 ? (int)(13 - key_columns) : 1, "");
        terminal_put(recording_text(recording, meta->value), out);
        bytes_put_u8(out, '\n');
    }
}

static void put_process(const struct recording *recording, uint32_t id, struct bytes *out)
{
    const struct process *process = &recording->processes[id];
    char exit_text[24], time[24], parent[24] = "-", rank[16] = "-";
    format_exit(process->exit_code, exit_text);
    format_time(process->start_ns, process->end_ns, time);
    if (process->parent)
        snprintf(parent, sizeof parent, "%" PRIu64, recording->processes[process->parent].pid);
    if (process->rank != UINT32_MAX)
        snprintf(rank, sizeof rank, "%u", process->rank);
    bytes_putf(out, "  %8" PRIu64 " %8s %5s %10s %12s  ", process->pid, parent, rank, exit_text, time);
    terminal_put(process->python ? recording_text(recording, process->python) : "-", out);
    bytes_put_text(out, "  ");
    put_beginning(recording_text(recording, process->command), out);
}

static void put_processes(const struct recording *recording, struct bytes *out)
{
    if (recording->processes_count <= 1)
        return;
    bytes_putf(out, "\nProcesses: %u\n", recording->processes_count - 1);
    bytes_putf(out, "  %8s %8s %5s %10s %12s  Python, command\n", "pid", "parent", "rank", "exit", "time");
    for (uint32_t id = 1; is_shown(id, recording->processes_count); id++)
        put_process(recording, id, out);
    put_more(recording->processes_count, out);
}

static void put_threads(const struct recording *recording, struct bytes *out)
{
    if (recording->threads_count <= 1)
        return;
    bytes_putf(out, "\nThreads: %u\n", recording->threads_count - 1);
    bytes_putf(out, "  %8s %8s %12s  name\n", "tid", "pid", "time");
    for (uint32_t id = 1; is_shown(id, recording->threads_count); id++) {
        const struct thread *thread = &recording->threads[id];
        char time[24];
        format_time(thread->start_ns, thread->end_ns, time);
        bytes_putf(out, "  %8" PRIu64 " %8" PRIu64 " %12s  ", thread->tid,
                   recording->processes[thread->process].pid, time);
        terminal_put(recording_text(recording, thread->name), out);
        bytes_put_u8(out, '\n');
    }
    put_more(recording->threads_count, out);
}

static void put_total(const struct info_total *total, struct bytes *out)
{
    char stored[16], raw[16];
    format_size(total->stored_bytes, stored);
    format_size(total->raw_bytes, raw);
    bytes_putf(out, "  %-12s %8" PRIu64 " %12s %12s %12" PRIu64 "\n", total->kind, total->chunks, stored, raw,
               total->rows);
}

static void put_chunk_totals(const struct recording *recording, struct bytes *out)
{
    struct info_totals totals = info_totals_of(recording);
    if (totals.count == 0)
        return;
    bytes_putf(out, "\nChunks\n  %-12s %8s %12s %12s %12s\n", "kind", "count", "stored", "raw", "rows");
    for (uint32_t i = 0; i < totals.count; i++)
        put_total(&totals.kinds[i], out);
    put_total(&totals.all, out);
}

static void put_each_chunk(const struct recording *recording, struct bytes *out)
{
    bytes_putf(out, "\n  %12s %-12s %8s %12s %12s %10s  %-8s %s\n", "offset", "kind", "pid", "stored", "raw",
               "rows", "state", "time since the first");
    for (uint32_t i = 0; i < recording->chunks_count; i++) {
        const struct chunk_info *chunk = &recording->chunks[i];
        char time[24];
        format_time(recording->chunks[0].clock_ns, chunk->clock_ns, time);
        bytes_putf(out, "  %12" PRIu64 " %-12s %8" PRIu64 " %12u %12u %10u  %-8s %s\n", chunk->offset,
                   info_totals_kind(chunk), recording->processes[chunk->process].pid, chunk->stored_bytes,
                   chunk->raw_bytes, chunk->records, info_totals_state(chunk), time);
    }
}

static uint64_t count_samples(const struct recording *recording)
{
    uint64_t samples = 0;
    for (uint32_t i = 0; i < recording->samples_count; i++)
        samples += recording->samples[i].count;
    return samples;
}

static uint64_t count_hits(const struct recording *recording)
{
    uint64_t hits = 0;
    for (uint32_t i = 0; i < recording->lines_count; i++)
        hits += recording->lines[i].hits;
    return hits;
}

static void put_counts(const struct recording *recording, struct bytes *out)
{
    uint64_t calls = 0;
    for (uint32_t i = 0; i < recording->calls_count; i++)
        calls += recording->calls[i].calls;
    bytes_put_text(out, "\nHolds\n");
    bytes_putf(out, "  %u functions, %u call paths, %u strings\n", recording->codes_count - 1,
               recording->nodes_count - 1, recording->strings.count - 1);
    if (recording->calls_count)
        bytes_putf(out, "  %" PRIu64 " calls in %u rows (thread, call path)\n", calls,
                   recording->calls_count);
    uint32_t line_events = call_events_lines(recording);
    if (recording->call_events_count)
        bytes_putf(out, "  %u single calls with their times\n", recording->call_events_count - line_events);
    if (line_events)
        bytes_putf(out, "  %u single lines with their times\n", line_events);
    if (recording->lines_count)
        bytes_putf(out, "  %" PRIu64 " hits of lines in %u rows (thread, line)\n", count_hits(recording),
                   recording->lines_count);
    if (recording->samples_count)
        bytes_putf(out, "  %" PRIu64 " samples in %u rows (thread, time)\n", count_samples(recording),
                   recording->samples_count);
    if (recording->region_events_count || recording->marks_count)
        bytes_putf(out, "  %u begins and ends of regions (%u names), %u marks\n",
                   recording->region_events_count, recording->regions_count - 1, recording->marks_count);
    if (recording->messages_count || recording->collectives_count || recording->mpi_totals_count)
        bytes_putf(out, "  %u messages, %u collectives, %u rows of MPI calls in %u communicators\n",
                   recording->messages_count, recording->collectives_count, recording->mpi_totals_count,
                   recording->communicators_count - 1);
    if (recording->sources_count) {
        char size[16];
        format_size(recording->source_texts.size, size);
        bytes_putf(out, "  the text of %u source file%s, %s\n", recording->sources_count,
                   recording->sources_count == 1 ? "" : "s", size);
    }
    if (recording->functions_count)
        bytes_putf(out, "  a flat profile: functions %u, caller-callee pairs %u\n",
                   recording->functions_count, recording->edges_count);
}

static void put_modules(const struct recording *recording, struct bytes *out)
{
    struct info_modules modules = info_modules_of(recording);
    if (modules.count)
        bytes_putf(out, "\nNative code: %u addresses in %u files, %u named\n  %8s %8s  file, build id\n",
                   modules.addresses, modules.count, modules.named, "named", "of");
    for (uint32_t i = 0; i < modules.count && i < ROWS_SHOWN; i++) {
        const struct info_module *row = &modules.rows[i];
        bytes_putf(out, "  %8u %8u  ", row->named, row->addresses);
        terminal_put(*row->path ? row->path : "[anonymous]", out);
        bytes_put_text(out, "  ");
        terminal_put(*row->build_id ? row->build_id : "-", out);
        bytes_put_u8(out, '\n');
    }
    put_more(modules.count + 1, out);
    info_modules_clear(&modules);
}

static void put_notes(const struct recording *recording, struct bytes *out)
{
    if (recording->notes_count)
        bytes_put_text(out, "\nNotes\n");
    for (uint32_t i = 0; i < recording->notes_count && i < ROWS_SHOWN; i++) {
        const struct note *note = &recording->notes[i];
        bytes_putf(out, "  %-10s ", info_totals_note(note));
        if (note->process)
            bytes_putf(out, "pid %" PRIu64 ": ", recording->processes[note->process].pid);
        terminal_put(recording_text(recording, note->text), out);
        bytes_putf(out, note->count ? " (%" PRIu64 ")\n" : "\n", note->count);
    }
    put_more(recording->notes_count + 1, out);
}

static void put_damage_row(uint64_t count, const char *words, struct bytes *out)
{
    if (count)
        bytes_putf(out, "  %s: %" PRIu64 "\n", words, count);
}

static void put_damage(const struct recording *recording, struct bytes *out)
{
    const struct damage *damage = &recording->damage;
    bool any = damage->truncated || damage->skipped_bytes || damage->damaged_chunks ||
               damage->unknown_chunks || damage->unknown_records || damage->orphaned_rows;
    if (recording->chunks_count == 0 && !any)
        return; /* not a .sonde file */
    bytes_put_text(out, any ? "\nDamage\n" : "\nDamage: none\n");
    if (damage->truncated)
        bytes_put_text(out, "  the file ends in the middle of a chunk\n");
    put_damage_row(damage->damaged_chunks, "damaged or missing chunks", out);
    put_damage_row(damage->orphaned_rows, "rows not used, because what they name was in a damaged chunk",
                   out);
    put_damage_row(damage->unknown_chunks, "chunks of a kind that this sonde does not read", out);
    put_damage_row(damage->unknown_records, "records that this sonde does not read", out);
    put_damage_row(damage->skipped_bytes, "bytes not used", out);
}

static const char *ending(const struct recording *recording)
{
    if (recording->chunks_count == 0 && recording_meta(recording, "mode"))
        return "a file of another tool";
    if (recording->chunks_count == 0)
        return "empty: the recorder was killed before it wrote anything";
    return recording->damage.complete ? "closed by the recorder"
                                      : "not closed: still being recorded, or the recorder was killed";
}

void info_text_put(const struct recording *recording, const char *name, bool each_chunk, struct bytes *out)
{
    terminal_put(name, out);
    bytes_putf(out, ": %s\n", ending(recording));
    put_metas(recording, out);
    put_processes(recording, out);
    put_threads(recording, out);
    put_counts(recording, out);
    put_modules(recording, out);
    put_chunk_totals(recording, out);
    if (each_chunk)
        put_each_chunk(recording, out);
    put_notes(recording, out);
    put_damage(recording, out);
}
