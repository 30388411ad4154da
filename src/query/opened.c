#include "query/opened.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/native_stacks.h"
#include "base/err.h"
#include "import/formats.h"

int opened_add(struct opened *opened, const char *name, const void *data, size_t size, struct err *err)
{
    if (opened->count == OPENED_MAX)
        return err_set(err, "%s: %d recordings are open already", name, OPENED_MAX);
    struct opened_recording *row = &opened->rows[opened->count];
    *row = (struct opened_recording){.name = strdup(name)};
    if (!row->name)
        return err_set(err, "out of memory");
    if (formats_read(data, size, name, &row->recording, err) < 0 ||
        native_stacks_name(&row->recording, false, err) < 0) {
        recording_clear(&row->recording);
        free(row->name);
        return -1;
    }
    opened->count++;
    return 0;
}

struct opened_recording *opened_find(struct opened *opened, uint32_t number, struct err *err)
{
    if (number < opened->count)
        return &opened->rows[number];
    err_set(err, "recording %u is not open; there are %u", number, opened->count);
    return NULL;
}

static void forget_tables(struct opened_recording *row)
{
    tree_clear(&row->tree);
    functions_clear(&row->functions);
    row->has_tree = row->has_functions = false;
}

void opened_clear(struct opened *opened)
{
    for (uint32_t i = 0; i < opened->count; i++) {
        forget_tables(&opened->rows[i]);
        recording_clear(&opened->rows[i].recording);
        free(opened->rows[i].name);
    }
    opened->count = 0;
}

static bool is_same(const struct selection *a, const struct selection *b)
{
    return a->process == b->process && a->thread == b->thread && a->idle == b->idle && a->gil == b->gil &&
           a->lines == b->lines && a->begin_ns == b->begin_ns && a->end_ns == b->end_ns;
}

static void choose(struct opened_recording *row, const struct selection *selection)
{
    if (!is_same(&row->selection, selection))
        forget_tables(row);
    row->selection = *selection;
}

const struct tree *opened_tree(struct opened_recording *row, const struct selection *selection,
                               struct err *err)
{
    choose(row, selection);
    if (!row->has_tree && tree_build(&row->recording, selection, &row->tree, err) < 0)
        return NULL;
    row->has_tree = true;
    return &row->tree;
}

const struct functions *opened_functions(struct opened_recording *row, const struct selection *selection,
                                         struct err *err)
{
    choose(row, selection);
    if (!row->has_functions && functions_build(&row->recording, selection, &row->functions, err) < 0)
        return NULL;
    row->has_functions = true;
    return &row->functions;
}
