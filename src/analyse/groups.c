#include "analyse/groups.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/weights.h"
#include "base/bytes.h"
#include "base/err.h"
#include "store/recording.h"

/* Which group each code is in, or of lines each node of the tree, and how often each group is on the stack during the
 * walk. */
struct grouping {
    struct ranking *ranking; /* by group; sorted out at the end */
    uint32_t *group_of;      /* by code, or node */
    uint32_t *active;        /* by group */
    bool by_node;
};

static int out_of_memory(struct err *err)
{
    return err_set(err, "not enough memory to group the functions");
}

static void put_group_name(const struct recording *recording, uint32_t code, enum group_by by,
                           enum label_paths paths, struct bytes *text)
{
    const char *file = recording_text(recording, recording->codes[code].file);
    if (by == GROUP_MODULE)
        labels_module(recording, code, text);
    else if (!file[0] && recording->codes[code].kind == CODE_NATIVE)
        labels_module(recording, code, text);
    else if (!file[0] || strcmp(file, "~") == 0)
        bytes_put_text(text, "(C functions)");
    else
        bytes_put_text(text, labels_path(file, paths));
}

/* Numbers the groups by their names' ids in ranking->texts; group 0 ("") is "no code". */
static int assign(const struct recording *recording, enum group_by by, enum label_paths paths,
                  struct grouping *grouping)
{
    struct bytes text = {0};
    int result = strings_intern(&grouping->ranking->texts, "", 0) == 0 ? 0 : -1;
    for (uint32_t code = 1; code < recording->codes_count && result == 0; code++) {
        bytes_reset(&text);
        put_group_name(recording, code, by, paths, &text);
        uint32_t group = strings_intern(&grouping->ranking->texts, (char *)text.data, text.size);
        grouping->group_of[code] = group;
        result = text.failed || group == UINT32_MAX ? -1 : 0;
    }
    bytes_clear(&text);
    return result;
}

static uint32_t group_of(const struct grouping *grouping, const struct tree *tree, uint32_t at)
{
    return grouping->group_of[grouping->by_node ? at : tree->nodes[at].code];
}

static void enter(const struct tree *tree, uint32_t at, void *context)
{
    struct grouping *grouping = context;
    const struct tree_node *node = &tree->nodes[at];
    if (!node->code)
        return;
    uint32_t group = group_of(grouping, tree, at);
    struct ranking_row *entry = &grouping->ranking->rows[group];
    entry->calls += node->calls;
    entry->samples += node->samples;
    entry->self += node->self;
    if (grouping->active[group]++)
        return;
    entry->primitive_calls += node->calls;
    entry->total_samples += node->total_samples;
    entry->total += node->total;
}

static void leave(const struct tree *tree, uint32_t at, void *context)
{
    struct grouping *grouping = context;
    if (tree->nodes[at].code)
        grouping->active[group_of(grouping, tree, at)]--;
}

static void add_flat_edges(const struct functions *functions, struct grouping *grouping)
{
    for (uint32_t i = 0; i < functions->edge_count; i++) {
        const struct edge_row *edge = &functions->edges[i];
        uint32_t group = grouping->group_of[edge->callee];
        struct ranking_row *entry = &grouping->ranking->rows[group];
        if (grouping->group_of[edge->caller] != group)
            entry->total += edge->total;
        else
            entry->primitive_calls -=
                edge->calls < entry->primitive_calls ? edge->calls : entry->primitive_calls;
    }
}

static void add_flat(const struct functions *functions, struct grouping *grouping)
{
    const struct edge_row *edge = functions->edges, *end = edge + functions->edge_count;
    for (uint32_t i = 0; i < functions->row_count; i++) {
        const struct function_row *row = &functions->rows[i];
        struct ranking_row *entry = &grouping->ranking->rows[grouping->group_of[row->code]];
        entry->calls += row->calls;
        entry->primitive_calls += row->calls;
        entry->self += row->self;
        while (edge < end && edge->callee < row->code)
            edge++;
        bool has_callers = edge < end && edge->callee == row->code;
        entry->total += has_callers ? 0 : row->total;
    }
    add_flat_edges(functions, grouping);
    for (uint32_t i = 0; i < grouping->ranking->count; i++) {
        struct ranking_row *entry = &grouping->ranking->rows[i];
        uint64_t most_ns = entry->total < functions->whole ? entry->total : functions->whole;
        entry->total = most_ns < entry->self ? entry->self : most_ns;
    }
}

static void name_and_squeeze(struct ranking *ranking)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < ranking->count; i++) {
        struct ranking_row entry = ranking->rows[i];
        if (!entry.calls && !entry.total_samples && !entry.self && !entry.total)
            continue;
        entry.id = i;
        entry.label = entry.name = entry.file = strings_text(&ranking->texts, i);
        ranking->rows[kept++] = entry;
    }
    ranking->count = kept;
}

static int sum_functions(const struct recording *recording, const struct selection *selection,
                         struct grouping *grouping, struct err *err)
{
    struct functions functions;
    if (functions_build(recording, selection, &functions, err) < 0)
        return -1;
    add_flat(&functions, grouping);
    functions_clear(&functions);
    return 0;
}

static int sum_flat(const struct recording *recording, struct grouping *grouping, struct err *err)
{
    struct recording flat = tree_flat_part(recording);
    return sum_functions(&flat, NULL, grouping, err);
}

static int make_rows(struct grouping *grouping, struct err *err)
{
    struct ranking *ranking = grouping->ranking;
    ranking->count = ranking->texts.count;
    ranking->rows = calloc((size_t)ranking->count + 1, sizeof *ranking->rows);
    grouping->active = calloc((size_t)ranking->count + 1, sizeof *grouping->active);
    return ranking->rows && grouping->active ? 0 : out_of_memory(err);
}

static int sum_codes(const struct recording *recording, const struct selection *selection,
                     struct grouping *grouping, struct err *err)
{
    struct tree tree;
    if (make_rows(grouping, err) < 0 || tree_build_exact(recording, selection, &tree, err) < 0)
        return -1;
    tree_walk(&tree, enter, leave, grouping);
    tree_clear(&tree);
    if (functions_are_of_lines(recording))
        return sum_functions(recording, selection, grouping, err);
    bool has_flat = recording->functions_count && tree_selection_is_all(selection) &&
                    !measure_is_memory(measure_of(recording, selection));
    return has_flat ? sum_flat(recording, grouping, err) : 0;
}

static int build_by_code(const struct recording *recording, const struct selection *selection,
                         enum group_by by, enum label_paths paths, struct ranking *ranking, struct err *err)
{
    struct grouping grouping = {.ranking = ranking};
    grouping.group_of = calloc((size_t)recording->codes_count + 1, sizeof *grouping.group_of);
    int result = grouping.group_of && assign(recording, by, paths, &grouping) == 0
                     ? sum_codes(recording, selection, &grouping, err)
                     : out_of_memory(err);
    free(grouping.group_of);
    free(grouping.active);
    if (result == 0)
        name_and_squeeze(ranking);
    return result;
}

/* "file:line(function)", the file's name with the folders that tell it. */
static void put_line_name(const struct recording *recording, const struct tree_node *node,
                          enum label_paths paths, struct bytes *text)
{
    const struct code *code = &recording->codes[node->code];
    if (!node->line) {
        labels_standard(recording, node->code, paths, text);
        return;
    }
    bytes_putf(text, "%s:%u(", labels_path(recording_text(recording, code->file), paths), node->line);
    labels_name(recording, node->code, text);
    bytes_put_u8(text, ')');
}

static int assign_lines(const struct recording *recording, const struct tree *tree, enum label_paths paths,
                        struct grouping *grouping)
{
    struct bytes text = {0};
    int result = strings_intern(&grouping->ranking->texts, "", 0) == 0 ? 0 : -1;
    for (uint32_t i = 1; i < tree->count && result == 0; i++) {
        bytes_reset(&text);
        put_line_name(recording, &tree->nodes[i], paths, &text);
        grouping->group_of[i] = strings_intern(&grouping->ranking->texts, (char *)text.data, text.size);
        result = text.failed || grouping->group_of[i] == UINT32_MAX ? -1 : 0;
    }
    bytes_clear(&text);
    return result;
}

/* A row of a line is found by the line and its function, for those who show its text. Rows are by group still. */
static int place_lines(struct ranking *ranking, const struct tree *tree, const uint32_t *group_of,
                       struct err *err)
{
    const struct tree_node **first = calloc((size_t)ranking->texts.count + 1, sizeof *first);
    if (!first)
        return out_of_memory(err);
    for (uint32_t i = tree->count; i-- > 1;)
        first[group_of[i]] = &tree->nodes[i];
    for (uint32_t i = 0; i < ranking->count; i++) {
        const struct tree_node *node = first[ranking->rows[i].id];
        ranking->rows[i].id = node->code;
        ranking->rows[i].line = node->line;
    }
    free(first);
    return 0;
}

static int build_by_line(const struct recording *recording, const struct selection *selection,
                         enum label_paths paths, struct ranking *ranking, struct err *err)
{
    struct selection of_lines = selection ? *selection : (struct selection){0};
    struct grouping grouping = {.ranking = ranking, .by_node = true};
    struct tree tree;
    of_lines.lines = true;
    if (tree_build_exact(recording, &of_lines, &tree, err) < 0)
        return -1;
    grouping.group_of = calloc((size_t)tree.count + 1, sizeof *grouping.group_of);
    int result = grouping.group_of && assign_lines(recording, &tree, paths, &grouping) == 0
                     ? make_rows(&grouping, err)
                     : out_of_memory(err);
    if (result == 0) {
        tree_walk(&tree, enter, leave, &grouping);
        name_and_squeeze(ranking);
        result = place_lines(ranking, &tree, grouping.group_of, err);
    }
    free(grouping.group_of);
    free(grouping.active);
    tree_clear(&tree);
    return result;
}

static void put_process_name(const struct recording *recording, uint32_t id, struct bytes *text)
{
    const struct process *process = &recording->processes[id];
    bytes_putf(text, "process %" PRIu64, process->pid);
    if (process->rank != UINT32_MAX)
        bytes_putf(text, ", rank %u", process->rank);
    const char *command = recording_text(recording, process->command);
    if (command[0])
        bytes_putf(text, "  %s", command);
}

static void put_thread_name(const struct recording *recording, uint32_t id, struct bytes *text)
{
    const struct thread *thread = &recording->threads[id];
    const char *name = recording_text(recording, thread->name);
    bytes_putf(text, "%s %" PRIu64, name[0] ? name : "thread", thread->tid);
    if (thread->process && recording->processes_count > 2)
        bytes_putf(text, ", process %" PRIu64, recording->processes[thread->process].pid);
}

/* Rows of threads, or of processes. */
struct owners {
    const struct recording *recording;
    struct ranking *ranking;
    bool by_thread;
};

static void add_to_owner(const struct weight *weight, void *context)
{
    const struct owners *owners = context;
    uint32_t owner = owners->by_thread ? weight->thread : owners->recording->threads[weight->thread].process;
    struct ranking_row *entry = &owners->ranking->rows[owner];
    entry->calls += weight->calls;
    entry->primitive_calls += weight->calls;
    entry->samples += weight->samples;
    entry->total_samples += weight->samples;
    entry->self += weight->amount;
    entry->total += weight->amount;
}

static int build_by_owner(const struct recording *recording, const struct selection *selection,
                          bool by_thread, struct ranking *ranking, struct err *err)
{
    uint32_t count = by_thread ? recording->threads_count : recording->processes_count;
    ranking->rows = calloc((size_t)count + 1, sizeof *ranking->rows);
    if (!ranking->rows)
        return out_of_memory(err);
    struct owners owners = {recording, ranking, by_thread};
    if (weights_each(recording, selection, add_to_owner, &owners, err) < 0)
        return -1;
    struct bytes text = {0};
    for (uint32_t i = 0; i < count; i++) {
        if (!ranking->rows[i].calls && !ranking->rows[i].samples && !ranking->rows[i].self)
            continue;
        bytes_reset(&text);
        if (by_thread)
            put_thread_name(recording, i, &text);
        else
            put_process_name(recording, i, &text);
        uint32_t name = strings_intern(&ranking->texts, (char *)text.data, text.size);
        struct ranking_row entry = ranking->rows[i];
        entry.id = i;
        entry.label = entry.name = entry.file = strings_text(&ranking->texts, name);
        ranking->rows[ranking->count++] = entry;
    }
    bytes_clear(&text);
    return 0;
}

int groups_build(const struct recording *recording, const struct selection *selection, enum group_by by,
                 enum label_paths paths, struct ranking *ranking, struct err *err)
{
    *ranking = (struct ranking){0};
    bool by_code = by == GROUP_MODULE || by == GROUP_FILE;
    int result = by_code            ? build_by_code(recording, selection, by, paths, ranking, err)
                 : by == GROUP_LINE ? build_by_line(recording, selection, paths, ranking, err)
                                    : build_by_owner(recording, selection, by == GROUP_THREAD, ranking, err);
    if (result < 0)
        ranking_clear(ranking);
    return result;
}
