#include "show/mpi_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "analyse/labels.h"
#include "analyse/mpi_suspects.h"
#include "base/bytes.h"
#include "base/quantity.h"
#include "show/terminal.h"
#include "store/mpi_calls.h"
#include "store/recording.h"

#define CALL_WIDTH   20
#define AMOUNT_WIDTH 10
#define MATRIX_MAX   16 /* ranks of which a whole matrix is drawn; of more the largest cells are listed */
#define CELL_WIDTH   10
#define PATH_FRAMES  3 /* innermost ones that are told of a stack */

struct page {
    const struct mpi_suspects *mpi;
    const struct terminal *terminal;
    uint32_t limit;
    struct bytes *out;
};

static uint32_t shown(const struct page *page, uint32_t count)
{
    return page->limit && page->limit < count ? page->limit : count;
}

static void put_heading(const struct page *page, const char *text)
{
    bytes_put_u8(page->out, '\n');
    terminal_style(page->terminal, TERMINAL_BOLD, page->out);
    bytes_put_text(page->out, text);
    terminal_style(page->terminal, TERMINAL_PLAIN, page->out);
    bytes_put_u8(page->out, '\n');
}

static void put_rest(const struct page *page, uint32_t count)
{
    if (shown(page, count) < count)
        bytes_putf(page->out, "  (%u more: -n all shows them)\n", count - shown(page, count));
}

/* Texts that are not all ASCII have fewer columns than bytes. */
static void put_right(const struct page *page, const char *text, unsigned width)
{
    size_t columns = terminal_columns(text);
    bytes_putf(page->out, " %*s%s", columns < width ? (int)(width - columns) : 0, "", text);
}

static void put_duration(const struct page *page, uint64_t ns)
{
    put_right(page, quantity_duration((double)ns).text, AMOUNT_WIDTH);
}

static void put_bytes(const struct page *page, uint64_t size)
{
    put_right(page, size ? quantity_bytes((double)size).text : "-", AMOUNT_WIDTH);
}

static void put_extreme(const struct page *page, uint64_t ns, uint32_t rank)
{
    char where[24] = "";
    put_duration(page, ns);
    if (rank != MPI_NOBODY)
        snprintf(where, sizeof where, "(%u)", rank);
    bytes_putf(page->out, " %-6s", where);
}

/* "exchange (halo.py:31) ← step:44 ← main:60": the lines, where they are known, tell two calls of one function apart */
static void put_stack(const struct page *page, uint32_t node)
{
    const struct recording *recording = page->mpi->recording;
    struct bytes text = {0};
    labels_place(recording, node, &text);
    uint32_t caller = recording->nodes[node].parent;
    for (int i = 1; i < PATH_FRAMES && caller; i++, caller = recording->nodes[caller].parent) {
        bytes_put_text(&text, terminal_is_ascii() ? " < " : " ← ");
        labels_brief(recording, recording->nodes[caller].code, &text);
        if (recording->nodes[caller].line)
            bytes_putf(&text, ":%u", recording->nodes[caller].line);
    }
    bytes_put_u8(&text, '\0');
    if (!text.failed)
        terminal_put(node ? (const char *)text.data : "(no Python stack)", page->out);
    bytes_clear(&text);
    bytes_put_u8(page->out, '\n');
}

static void put_time_row(const struct page *page, const struct mpi_time_row *row)
{
    uint32_t ranks = page->mpi->times.ranks_count;
    put_right(page, quantity_count(row->count).text, 11);
    put_duration(page, row->total_ns);
    put_duration(page, ranks ? row->total_ns / ranks : row->total_ns);
    put_extreme(page, row->least_ns, row->least_rank);
    put_extreme(page, row->most_ns, row->most_rank);
    put_bytes(page, row->sent_bytes);
    put_bytes(page, row->received_bytes);
}

#define TIME_HEADING                                                                                         \
    "       calls      total  mean/rank        min (rank)        max (rank)       sent   received  "

static void put_calls(const struct page *page)
{
    const struct mpi_times *times = &page->mpi->times;
    put_heading(page, "MPI time by call");
    bytes_put_text(page->out, TIME_HEADING "call\n");
    for (uint32_t i = 0; i < shown(page, times->calls_count); i++) {
        put_time_row(page, &times->calls[i]);
        bytes_putf(page->out, "  %s\n", mpi_call_name(times->calls[i].call));
    }
    put_rest(page, times->calls_count);
}

static void put_paths(const struct page *page)
{
    const struct mpi_times *times = &page->mpi->times;
    put_heading(page, "MPI time by call path");
    bytes_putf(page->out, TIME_HEADING "%-*s called from\n", CALL_WIDTH, "call");
    for (uint32_t i = 0; i < shown(page, times->stacks_count); i++) {
        put_time_row(page, &times->stacks[i]);
        bytes_putf(page->out, "  %-*s ", CALL_WIDTH, mpi_call_name(times->stacks[i].call));
        put_stack(page, times->stacks[i].node);
    }
    put_rest(page, times->stacks_count);
}

static void put_doubts(const struct page *page)
{
    const struct mpi_waits *waits = &page->mpi->waits;
    if (waits->error_ns)
        bytes_putf(page->out, "  Clocks of different hosts agree within %s; no shorter wait is shown.\n",
                   quantity_duration((double)waits->error_ns).text);
    if (waits->unknown_clocks)
        bytes_putf(page->out,
                   "  Nothing relates the clocks of %u ranks to the others: their waits are not known.\n",
                   waits->unknown_clocks);
    if (waits->violation_ns > waits->error_ns)
        bytes_putf(
            page->out,
            "  A message seems to have come %s before it was sent: waits of that length are in doubt.\n",
            quantity_duration((double)waits->violation_ns).text);
    if (waits->incomplete)
        bytes_putf(
            page->out,
            "  %s collectives were not recorded by all of their ranks: waits there are at least so long.\n",
            quantity_count(waits->incomplete).text);
    if (waits->unmatched)
        bytes_putf(page->out, "  Of %s messages the other side was not recorded.\n",
                   quantity_count(waits->unmatched).text);
}

static void put_waits(const struct page *page)
{
    const struct mpi_waits *waits = &page->mpi->waits;
    put_heading(page, "Who waited for whom");
    put_doubts(page);
    if (!waits->count) {
        bytes_put_text(page->out, "  Nobody, as far as was recorded.\n");
        return;
    }
    bytes_putf(page->out, "      waited    times    longest   rank    for  %-*s  %-*s waiting in\n", 20,
               "why", CALL_WIDTH, "call");
    for (uint32_t i = 0; i < shown(page, waits->count); i++) {
        const struct mpi_wait_row *row = &waits->rows[i];
        put_right(page, quantity_duration((double)row->wait_ns).text, 11);
        put_right(page, quantity_count(row->count).text, 8);
        put_duration(page, row->longest_ns);
        bytes_putf(page->out, " %6u %6u  %-20s  %-*s ", row->rank, row->culprit,
                   mpi_waits_kind_name(row->kind), CALL_WIDTH, mpi_call_name(row->call));
        put_stack(page, row->node);
    }
    put_rest(page, waits->count);
}

static void put_late(const struct page *page)
{
    const struct mpi_waits *waits = &page->mpi->waits;
    uint32_t count = 0;
    while (count < waits->late_count && waits->late[count].caused_ns)
        count++;
    if (!count)
        return;
    put_heading(page, "Last to come");
    bytes_put_text(page->out, "      caused   rank      late        of  share  call\n");
    for (uint32_t i = 0; i < shown(page, count); i++) {
        const struct mpi_late_row *row = &waits->late[i];
        put_right(page, quantity_duration((double)row->caused_ns).text, 11);
        bytes_putf(page->out, " %6u", row->rank);
        put_right(page, quantity_count(row->was_last).text, 9);
        put_right(page, quantity_count(row->took_part).text, 9);
        put_right(page, quantity_share((double)row->was_last / (double)row->took_part).text, 6);
        bytes_putf(page->out, "  %s\n", mpi_call_name(row->call));
    }
    put_rest(page, count);
}

/* ---- messages ---- */

static void put_matrix(const struct page *page)
{
    const struct mpi_times *times = &page->mpi->times;
    const struct mpi_cell *cell = times->cells, *end = times->cells + times->cells_count;
    bytes_putf(page->out, "  %8s", "from\\to");
    for (uint32_t to = 0; to < times->ranks_count; to++)
        bytes_putf(page->out, " %*u", CELL_WIDTH, times->ranks[to].rank);
    bytes_put_u8(page->out, '\n');
    for (uint32_t from = 0; from < times->ranks_count; from++) {
        bytes_putf(page->out, "  %8u", times->ranks[from].rank);
        for (uint32_t to = 0; to < times->ranks_count; to++) {
            while (cell < end &&
                   (cell->from < times->ranks[from].rank ||
                    (cell->from == times->ranks[from].rank && cell->to < times->ranks[to].rank)))
                cell++;
            bool found =
                cell < end && cell->from == times->ranks[from].rank && cell->to == times->ranks[to].rank;
            put_right(page, found ? quantity_bytes((double)cell->size_bytes).text : ".", CELL_WIDTH);
        }
        bytes_put_u8(page->out, '\n');
    }
}

static void put_cells(const struct page *page)
{
    const struct mpi_times *times = &page->mpi->times;
    bytes_put_text(page->out, "    from     to       count       size\n");
    for (uint32_t i = 0; i < shown(page, times->cells_count); i++) {
        const struct mpi_cell *cell = &times->cells[i];
        bytes_putf(page->out, "  %6u %6u", cell->from, cell->to);
        put_right(page, quantity_count(cell->count).text, 11);
        put_bytes(page, cell->size_bytes);
        bytes_put_u8(page->out, '\n');
    }
    put_rest(page, times->cells_count);
}

static void put_messages(const struct page *page)
{
    put_heading(page, "Messages from rank to rank");
    if (!page->mpi->times.cells_count)
        bytes_put_text(page->out, "  There are none but those within collectives.\n");
    else if (page->mpi->times.ranks_count <= MATRIX_MAX)
        put_matrix(page);
    else
        put_cells(page);
}

static void put_ranks(const struct page *page)
{
    const struct mpi_times *times = &page->mpi->times;
    put_heading(page, "MPI time by rank");
    bytes_put_text(page->out, "    rank      calls     in MPI   pickling       sent   received\n");
    for (uint32_t i = 0; i < shown(page, times->ranks_count); i++) {
        const struct mpi_rank_row *row = &times->ranks[i];
        bytes_putf(page->out, "  %6u", row->rank);
        put_right(page, quantity_count(row->calls).text, 10);
        put_duration(page, row->mpi_ns);
        put_duration(page, row->python_ns);
        put_bytes(page, row->sent_bytes);
        put_bytes(page, row->received_bytes);
        bytes_put_u8(page->out, '\n');
    }
    put_rest(page, times->ranks_count);
}

void mpi_text_put(const struct mpi_suspects *mpi, const struct terminal *terminal, enum mpi_table table,
                  uint32_t limit, struct bytes *out)
{
    static void (*const tables[])(const struct page *) = {
        [MPI_TABLE_CALLS] = put_calls,       [MPI_TABLE_PATHS] = put_paths, [MPI_TABLE_WAITS] = put_waits,
        [MPI_TABLE_MESSAGES] = put_messages, [MPI_TABLE_RANKS] = put_ranks,
    };
    const struct page page = {mpi, terminal, limit, out};
    if (table != MPI_TABLE_ALL) {
        tables[table](&page);
        return;
    }
    put_calls(&page);
    put_paths(&page);
    put_waits(&page);
    put_late(&page);
    put_ranks(&page);
    put_messages(&page);
}
