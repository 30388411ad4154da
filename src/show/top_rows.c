#include "show/top_rows.h"

#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>

#include "analyse/labels.h"
#include "analyse/live.h"
#include "base/err.h"
#include "show/top_view.h"
#include "store/recording.h"

const char *top_rows_heading(const struct top_view *view, unsigned column)
{
    static const char *const functions[] = {"%Own", "%Total", "OwnTime", "TotalTime",
                                            "Function (filename:line)"};
    static const char *const threads[] = {"%CPU", "%GIL", "CPUTime", "GILTime", "Thread: where it is"};
    return (view->threads ? threads : functions)[column];
}

/* ---- labels ---- */

static void put_function(const struct recording *recording, bool full_filenames, uint32_t id, uint32_t line,
                         struct bytes *out)
{
    const struct code *code = &recording->codes[id];
    const char *file = recording_text(recording, code->file);
    const char *library = labels_library(recording, code);
    labels_brief(recording, id, out);
    if (file[0] == '\0' && library[0])
        bytes_putf(out, " (%s)", library);
    if (code->kind == CODE_C || file[0] == '\0')
        return;
    bytes_putf(out, " (%s", labels_path(file, full_filenames ? LABEL_FULL : LABEL_SHORT));
    if (line || code->line)
        bytes_putf(out, ":%" PRIu32, line ? line : code->line);
    bytes_put_text(out, ")");
}

/* The innermost frame that is not the interpreter's own. */
static uint32_t shown_node(const struct recording *recording, uint32_t node)
{
    while (node && recording->codes[recording->nodes[node].code].flags & CODE_INTERNAL)
        node = recording->nodes[node].parent;
    return node;
}

static void put_thread(const struct recording *recording, bool full_filenames, uint32_t id, uint32_t node,
                       struct bytes *out)
{
    const struct thread *thread = &recording->threads[id];
    const struct process *process = &recording->processes[thread->process];
    const char *name = recording_text(recording, thread->name);
    bytes_putf(out, "%s%s%" PRIu64, name, name[0] ? " " : "", thread->tid);
    if (recording->processes_count > 2 && process->pid != thread->tid)
        bytes_putf(out, " of %" PRIu64, process->pid);
    bytes_put_text(out, ": ");
    node = shown_node(recording, node);
    if (node)
        put_function(recording, full_filenames, recording->nodes[node].code, recording->nodes[node].line,
                     out);
    else
        bytes_put_text(out, "no Python");
}

/* ---- choosing ---- */

struct chooser {
    const struct top_view *view;
    const struct recording *recording;
    struct top_rows *rows;
    regex_t filter;
    bool filtered;
};

static struct top_row *begin_row(struct chooser *chooser, uint32_t id)
{
    struct top_row *row = &chooser->rows->rows[chooser->rows->count];
    row->id = id;
    row->label = (uint32_t)chooser->rows->labels.size;
    return row;
}

/* The label is at the end of the labels: it stays when the row does. */
static void end_row(struct chooser *chooser, const struct top_row *row)
{
    struct bytes *labels = &chooser->rows->labels;
    bytes_put_u8(labels, '\0');
    if (labels->failed)
        return;
    if (!chooser->filtered || regexec(&chooser->filter, (char *)labels->data + row->label, 0, NULL, 0) == 0) {
        chooser->rows->count++;
        return;
    }
    chooser->rows->hidden++;
    labels->size = row->label;
}

static void choose_functions(struct chooser *chooser, const struct live_table *table)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const struct live_row *from = &table->rows[i];
        if (!from->all_total_ns)
            continue;
        struct top_row *row = begin_row(chooser, i);
        row->values_ns[0] = from->own_ns;
        row->values_ns[1] = from->total_ns;
        row->values_ns[2] = from->all_own_ns;
        row->values_ns[3] = from->all_total_ns;
        put_function(chooser->recording, chooser->view->full_filenames, from->code, from->line,
                     &chooser->rows->labels);
        end_row(chooser, row);
    }
}

static void choose_threads(struct chooser *chooser, const struct live *live)
{
    for (uint32_t i = 1; i < live->threads_count && i < chooser->recording->threads_count; i++) {
        const struct live_thread *from = &live->threads[i];
        if (!from->seen_ns)
            continue;
        struct top_row *row = begin_row(chooser, i);
        row->values_ns[0] = from->running_ns;
        row->values_ns[1] = from->gil_ns;
        row->values_ns[2] = from->all_running_ns;
        row->values_ns[3] = from->all_gil_ns;
        put_thread(chooser->recording, chooser->view->full_filenames, i, from->node, &chooser->rows->labels);
        end_row(chooser, row);
    }
}

/* ---- sorting ---- */

static int compare(const void *left, const void *right, void *context)
{
    const struct top_row *a = left, *b = right;
    static const unsigned others[][4] = {{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}};
    const unsigned *columns = others[*(const unsigned *)context];
    for (unsigned i = 0; i < 4; i++)
        if (a->values_ns[columns[i]] != b->values_ns[columns[i]])
            return a->values_ns[columns[i]] < b->values_ns[columns[i]] ? 1 : -1;
    return a->id < b->id ? -1 : a->id > b->id;
}

void top_rows_clear(struct top_rows *rows)
{
    free(rows->rows);
    bytes_clear(&rows->labels);
    *rows = (struct top_rows){0};
}

int top_rows_build(const struct top_view *view, const struct recording *recording, const struct live *live,
                   struct top_rows *rows, struct err *err)
{
    const struct live_table *table = &live->tables[view->lines ? LIVE_LINES : LIVE_FUNCTIONS];
    uint32_t most = view->threads ? live->threads_count : table->count;
    struct chooser chooser = {.view = view, .recording = recording, .rows = rows};
    *rows = (struct top_rows){.rows = calloc((size_t)most + 1, sizeof *rows->rows)};
    if (!rows->rows)
        return err_set(err, "out of memory");
    if (view->filter[0]) {
        chooser.filtered = regcomp(&chooser.filter, view->filter, REG_EXTENDED | REG_ICASE | REG_NOSUB) == 0;
        rows->bad_filter = !chooser.filtered;
    }
    if (view->threads)
        choose_threads(&chooser, live);
    else
        choose_functions(&chooser, table);
    if (chooser.filtered)
        regfree(&chooser.filter);
    if (rows->labels.failed)
        return err_set(err, "out of memory");
    unsigned sort = view->sort;
    qsort_r(rows->rows, rows->count, sizeof *rows->rows, compare, &sort);
    return 0;
}
