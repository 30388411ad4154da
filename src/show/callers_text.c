#include "show/callers_text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/sort.h"
#include "show/amount_text.h"
#include "show/report_text.h"
#include "store/recording.h"

#define NAME_COLUMN 33

/* Edges in the order of the function they are listed under, costliest first. */
struct listing {
    const struct edge_row **edges;
    uint32_t count;
    bool callees;
};

static uint32_t owner(const struct listing *listing, const struct edge_row *edge)
{
    return listing->callees ? edge->caller : edge->callee;
}

static int compare(const void *a, const void *b, void *context)
{
    const struct edge_row *left = *(const struct edge_row *const *)a,
                          *right = *(const struct edge_row *const *)b;
    uint32_t left_owner = owner(context, left), right_owner = owner(context, right);
    if (left_owner != right_owner)
        return left_owner < right_owner ? -1 : 1;
    if (left->total != right->total)
        return left->total > right->total ? -1 : 1;
    return left < right ? -1 : left > right;
}

static uint32_t first_of(const struct listing *listing, uint32_t code)
{
    uint32_t low = 0, high = listing->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (owner(listing, listing->edges[middle]) < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void put_label(const struct recording *recording, uint32_t code, const struct report_options *options,
                      unsigned used, struct bytes *out)
{
    struct bytes label = {0};
    labels_standard(recording, code, options->paths, &label);
    bytes_put_u8(&label, '\0');
    if (!label.failed)
        terminal_fit(&options->terminal, (const char *)label.data, used, out);
    bytes_clear(&label);
}

static void put_edge(const struct recording *recording, const struct edge_row *edge, uint32_t other,
                     const struct report_options *options, struct bytes *out)
{
    enum measure measure = measure_of(recording, &options->selection);
    char calls[48];
    int size = snprintf(calls, sizeof calls, "%" PRIu64, edge->calls + edge->total_samples);
    if (edge->primitive_calls != edge->calls)
        snprintf(calls + size, sizeof calls - (size_t)size, "/%" PRIu64, edge->primitive_calls);
    bytes_putf(out, "    %9s ", calls);
    amount_text_put(measure, (double)edge->self, out);
    bytes_put_u8(out, ' ');
    amount_text_put(measure, (double)edge->total, out);
    bytes_put_text(out, "  ");
    put_label(recording, other, options, NAME_COLUMN, out);
    bytes_put_u8(out, '\n');
}

static void put_function(const struct recording *recording, const struct listing *listing, uint32_t code,
                         const struct report_options *options, struct bytes *out)
{
    terminal_style(&options->terminal, TERMINAL_BOLD, out);
    put_label(recording, code, options, 20, out);
    terminal_style(&options->terminal, TERMINAL_PLAIN, out);
    uint32_t at = first_of(listing, code);
    bool any = at < listing->count && owner(listing, listing->edges[at]) == code;
    if (any)
        bytes_put_text(out, listing->callees ? " called\n" : " was called by\n");
    else
        bytes_put_text(out, listing->callees ? " called nothing\n" : " was called from outside\n");
    for (; at < listing->count && owner(listing, listing->edges[at]) == code; at++) {
        const struct edge_row *edge = listing->edges[at];
        put_edge(recording, edge, listing->callees ? edge->callee : edge->caller, options, out);
    }
}

int callers_text_put(const struct recording *recording, const struct functions *functions,
                     const struct ranking *ranking, const struct report_options *options, struct bytes *out,
                     struct err *err)
{
    struct listing listing = {.count = functions->edge_count, .callees = options->view == REPORT_CALLEES};
    listing.edges = malloc(((size_t)listing.count + 1) * sizeof *listing.edges);
    if (!listing.edges)
        return err_set(err, "not enough memory to list callers");
    for (uint32_t i = 0; i < listing.count; i++)
        listing.edges[i] = &functions->edges[i];
    if (sort_rows(listing.edges, listing.count, sizeof *listing.edges, compare, &listing, err) < 0) {
        free(listing.edges);
        return -1;
    }
    bool memory = measure_is_memory(functions->measure);
    bytes_putf(out, "    %9s %8s %8s  filename:lineno(function)\n",
               memory               ? "blocks"
               : functions->sampled ? "samples"
                                    : "ncalls",
               memory ? "own" : "tottime", memory ? "total" : "cumtime");
    for (uint32_t i = 0; i < ranking->count; i++)
        put_function(recording, &listing, ranking->rows[i].id, options, out);
    free(listing.edges);
    return 0;
}
