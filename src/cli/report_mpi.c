#include "cli/report_mpi.h"

#include <string.h>

#include "analyse/merge.h"
#include "analyse/mpi_suspects.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/input.h"
#include "export/mpi_tables.h"
#include "show/mpi_text.h"
#include "show/terminal.h"
#include "store/recording.h"

#define ROWS 15

/* In the order of enum mpi_table. */
const char *const report_mpi_tables[] = {"all", "calls", "paths", "waits", "messages", "ranks", NULL};

void report_mpi_strip(struct recording *recording)
{
    recording->calls_count = recording->lines_count = recording->samples_count = 0;
    recording->series_count = recording->region_events_count = recording->marks_count = 0;
    recording->call_events_count = recording->heap_count = recording->heap_sizes_count = 0;
    recording->allocations_count = recording->line_memory_count = 0;
    recording->functions_count = recording->edges_count = recording->sources_count = 0;
}

static int read_ranks(int argc, char **argv, struct recording *run, struct err *err)
{
    struct input_paths paths = {0};
    struct merge merge = {0};
    int result = input_expand(argc, argv, &paths, err);
    for (size_t i = 0; i < paths.count && result == 0; i++) {
        struct recording recording = {0};
        result = input_read(paths.items[i], &recording, err);
        report_mpi_strip(&recording);
        if (result == 0)
            result = merge_add(&merge, &recording, err);
        recording_clear(&recording);
    }
    if (result == 0)
        result = merge_take(&merge, run, err);
    merge_clear(&merge);
    input_clear(&paths);
    return result;
}

static enum mpi_table find_table(const char *name)
{
    enum mpi_table table = MPI_TABLE_ALL;
    while (report_mpi_tables[table] && strcmp(report_mpi_tables[table], name) != 0)
        table++;
    return table;
}

static void put_csv(const struct mpi_suspects *mpi, enum mpi_table table, struct bytes *out)
{
    static void (*const tables[])(const struct mpi_suspects *, struct bytes *) = {
        [MPI_TABLE_ALL] = mpi_tables_put_paths,         [MPI_TABLE_CALLS] = mpi_tables_put_calls,
        [MPI_TABLE_PATHS] = mpi_tables_put_paths,       [MPI_TABLE_WAITS] = mpi_tables_put_waits,
        [MPI_TABLE_MESSAGES] = mpi_tables_put_messages, [MPI_TABLE_RANKS] = mpi_tables_put_ranks,
    };
    tables[table](mpi, out);
}

static void put_json(const struct mpi_suspects *mpi, struct bytes *out)
{
    struct json json = {.out = out};
    json_begin_object(&json);
    mpi_tables_put_json(mpi, &json);
    json_line(&json);
    json_end_object(&json);
    bytes_put_u8(out, '\n');
}

/* What is worth saying, before the tables. */
static void put_findings(const struct mpi_suspects *mpi, const struct terminal *terminal, struct bytes *out)
{
    for (int i = 0; mpi_suspects_list[i].topic; i++) {
        struct bytes text = {0};
        uint32_t code;
        if (mpi_suspects_list[i].look(mpi, &text, &code) > 0) {
            bytes_put_u8(&text, '\0');
            bytes_put_text(out, "* ");
            if (!text.failed)
                terminal_wrap(terminal, (const char *)text.data, 2, 2, out);
        }
        bytes_clear(&text);
    }
}

static void put_text(const struct report_mpi *report, const struct mpi_suspects *mpi, struct bytes *out)
{
    enum mpi_table table = find_table(report->table);
    int64_t limit = report->limit ? report->limit : ROWS;
    if (table == MPI_TABLE_ALL)
        put_findings(mpi, report->terminal, out);
    mpi_text_put(mpi, report->terminal, table, limit < 0 ? 0 : (uint32_t)limit, out);
}

static int put(const struct report_mpi *report, const struct recording *run, struct bytes *out,
               struct err *err)
{
    struct mpi_suspects mpi;
    if (!mpi_suspects_has(run))
        return err_set(
            err, "nothing of MPI was recorded: record with --mpi, for example: mpirun -n 4 sonde record "
                 "--mpi x.py");
    if (mpi_suspects_init(&mpi, run, err) < 0)
        return -1;
    if (report->json)
        put_json(&mpi, out);
    else if (report->csv)
        put_csv(&mpi, find_table(report->table), out);
    else
        put_text(report, &mpi, out);
    mpi_suspects_clear(&mpi);
    return 0;
}

int report_mpi_put(const struct report_mpi *report, int argc, char **argv, struct bytes *out, struct err *err)
{
    struct recording run = {0};
    int result = read_ranks(argc, argv, &run, err);
    if (result == 0)
        result = put(report, &run, out, err);
    recording_clear(&run);
    return result;
}
