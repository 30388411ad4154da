/* stacks: call paths as rectangles: from the top down, from the leaves up, or those of one function. */
#include <string.h>

#include "analyse/fold.h"
#include "analyse/sandwich.h"
#include "base/err.h"
#include "query/opened.h"
#include "query/queries.h"
#include "query/rectangles.h"
#include "query/request.h"

/* A view whose tree is made for this answer alone. `seen` is the tree of the selection. */
typedef int make_tree(struct opened_recording *row, const struct tree *seen, const struct request *request,
                      struct tree *tree, struct err *err);

static int make_bottom_up(struct opened_recording *row, const struct tree *seen,
                          const struct request *request, struct tree *tree, struct err *err)
{
    (void)seen;
    return tree_build_bottom_up(&row->recording, &request->selection, tree, err);
}

static int make_callers(struct opened_recording *row, const struct tree *seen, const struct request *request,
                        struct tree *tree, struct err *err)
{
    return sandwich_callers(seen, request->code, row->recording.codes_count, tree, err);
}

static int make_callees(struct opened_recording *row, const struct tree *seen, const struct request *request,
                        struct tree *tree, struct err *err)
{
    return sandwich_callees(seen, request->code, row->recording.codes_count, tree, err);
}

static int make_folded(struct opened_recording *row, const struct tree *seen, const struct request *request,
                       struct tree *tree, struct err *err)
{
    (void)seen;
    if (tree_build(&row->recording, &request->selection, tree, err) < 0)
        return -1;
    return fold_recursion(tree, row->recording.codes_count, err);
}

static const struct {
    const char *view;
    make_tree *make;
} views[] = {
    {"bottom-up", make_bottom_up},
    {"callers", make_callers},
    {"callees", make_callees},
};

/* NULL = the tree of the selection as it is. */
static make_tree *find(const struct request *request)
{
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (strcmp(views[i].view, request->view) == 0)
            return views[i].make;
    return request->fold ? make_folded : NULL;
}

int stacks_query(struct opened *opened, struct opened_recording *row, const struct request *request,
                 struct answer *answer, struct err *err)
{
    (void)opened;
    const struct tree *seen = opened_tree(row, &request->selection, err);
    make_tree *make = find(request);
    if (!seen)
        return -1;
    if (!make)
        return rectangles_put(answer, seen, err);
    struct tree tree = {0};
    int result = make(row, seen, request, &tree, err);
    if (result == 0)
        result = rectangles_put(answer, &tree, err);
    tree_clear(&tree);
    return result;
}
