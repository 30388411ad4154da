/* graph: the call graph above the given shares, in graphviz's language; `code`: the function of each node. */
#include "analyse/callgraph.h"
#include "analyse/prune.h"
#include "base/err.h"
#include "export/dot_writer.h"
#include "export/heat.h"
#include "query/answer.h"
#include "query/opened.h"
#include "query/queries.h"
#include "query/request.h"

/* One name must not make the picture many times as wide as a screen. */
#define NAME_LENGTH 80

static int put_graph(const struct callgraph *graph, const struct request *request, struct answer *answer,
                     struct err *err)
{
    static const enum dot_writer_measure measures[] = {DOT_WRITER_TOTAL_SHARE, DOT_WRITER_SELF_SHARE};
    const struct dot_writer_style style = {.theme = heat_find(request->view[0] ? request->view : "color"),
                                           .skew = 1,
                                           .time_format = "%.7g",
                                           .measures = measures,
                                           .measure_count = 2,
                                           .strip = true,
                                           .name_length = NAME_LENGTH};
    struct bytes dot = {0};
    if (!style.theme)
        return err_set(err, "there is no colour map \"%s\"", request->view);
    int result = dot_writer_write(graph, NULL, &style, &dot, err);
    const uint32_t end = (uint32_t)dot.size;
    if (result == 0)
        answer_texts(answer, "dot", &dot, &end, 1);
    bytes_clear(&dot);
    return result;
}

static void put_codes(const struct callgraph *graph, struct answer *answer)
{
    uint32_t *code = answer_numbers(answer, "code", callgraph_kept_functions(graph));
    for (uint32_t i = 0; code && i < graph->function_count; i++)
        if (graph->functions[i].kept)
            *code++ = graph->functions[i].code;
}

/* "above": what the thresholds leave; "functions", "calls": what is drawn of that. */
static void prune(struct callgraph *graph, const struct request *request, struct answer *answer)
{
    const struct prune_limits limits = {.function_share = request->node_share,
                                        .call_share = request->edge_share};
    json_put_unsigned(&answer->json, "all_functions", graph->function_count);
    prune_by_limits(graph, &limits);
    json_put_unsigned(&answer->json, "functions_above", callgraph_kept_functions(graph));
    if (request->limit)
        prune_to_hottest(graph, request->limit);
    json_put_unsigned(&answer->json, "functions", callgraph_kept_functions(graph));
    json_put_unsigned(&answer->json, "calls", callgraph_kept_calls(graph));
}

int graph_query(struct opened *opened, struct opened_recording *row, const struct request *request,
                struct answer *answer, struct err *err)
{
    (void)opened;
    struct callgraph graph;
    if (callgraph_build(&row->recording, &request->selection, &graph, err) < 0)
        return -1;
    prune(&graph, request, answer);
    if (request->by_self)
        callgraph_weigh_by_self(&graph);
    put_codes(&graph, answer);
    int result = put_graph(&graph, request, answer, err);
    callgraph_clear(&graph);
    return result;
}
