#include "show/regions_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "analyse/regions.h"
#include "base/bytes.h"
#include "base/quantity.h"
#include "show/report_text.h"
#include "show/terminal.h"
#include "store/recording.h"

#define COLUMNS        68 /* before the name */
#define PARTS_COLUMNS  51 /* more, where processes are compared */
#define DURATION_WIDTH 10

/* µ is one character and two bytes. */
static void put_duration(double ns, struct bytes *out)
{
    struct quantity text = quantity_duration(ns);
    bytes_putf(out, " %*s%s", (int)(DURATION_WIDTH - terminal_columns(text.text)), "", text.text);
}

static void put_process(const struct recording *recording, uint64_t ns, uint32_t process, struct bytes *out)
{
    const struct process *row = &recording->processes[process];
    char where[32];
    if (row->rank != UINT32_MAX)
        snprintf(where, sizeof where, "(%" PRIu32 ")", row->rank);
    else
        snprintf(where, sizeof where, "(%" PRIu64 ")", row->pid);
    put_duration((double)ns, out);
    bytes_putf(out, " %-8s", where);
}

static void put_row(const struct recording *recording, const struct report_options *options,
                    const struct regions *regions, const struct regions_row *row, bool compares,
                    struct bytes *out)
{
    bytes_putf(out, "%9s", quantity_count(row->count).text);
    put_duration((double)row->total_ns, out);
    bytes_putf(out, " %5s",
               regions->run_ns ? quantity_share((double)row->total_ns / (double)regions->run_ns).text : "");
    put_duration((double)row->self_ns, out);
    put_duration((double)row->lengths_ns / (double)row->count, out);
    put_duration((double)row->least_ns, out);
    put_duration((double)row->most_ns, out);
    if (compares) {
        put_duration((double)row->total_ns / (double)row->processes, out);
        put_process(recording, row->least_process_ns, row->least_process, out);
        put_process(recording, row->most_process_ns, row->most_process, out);
    }
    bytes_put_text(out, "  ");
    terminal_fit(&options->terminal, recording_text(recording, recording->regions[row->region].name),
                 COLUMNS + (compares ? PARTS_COLUMNS : 0), out);
    if (row->open)
        bytes_putf(out, " (%s not ended)", quantity_count(row->open).text);
    bytes_put_u8(out, '\n');
}

static void put_heads(const struct recording *recording, const struct regions *regions, uint32_t shown,
                      bool compares, struct bytes *out)
{
    bool ranks = recording->processes_count > 1 && recording->processes[1].rank != UINT32_MAX;
    if (shown < regions->count)
        bytes_putf(out, "\nThe longest %u of %u regions; --regions shows all\n", shown, regions->count);
    bytes_put_text(out, "\n    calls      total   run       self       mean        min        max");
    if (compares)
        bytes_put_text(out, ranks ? "  rank mean   rank min            rank max         "
                                  : " proc. mean  proc. min           proc. max         ");
    bytes_put_text(out, "  region\n");
}

int regions_text_put(const struct recording *recording, const struct report_options *options, uint32_t limit,
                     struct bytes *out, struct err *err)
{
    struct regions regions;
    if (!recording->region_events_count)
        return 0;
    if (regions_build(recording, &options->selection, &regions, err) < 0)
        return -1;
    uint32_t shown = limit && limit < regions.count ? limit : regions.count;
    bool compares = false;
    for (uint32_t i = 0; i < shown; i++)
        compares |= regions.rows[i].processes > 1;
    if (shown)
        put_heads(recording, &regions, shown, compares, out);
    for (uint32_t i = 0; i < shown; i++)
        put_row(recording, options, &regions, &regions.rows[i], compares, out);
    regions_clear(&regions);
    return 0;
}
