#include "cli/run_sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/folder.h"
#include "cli/input.h"
#include "cli/merge_job.h"
#include "cli/message.h"
#include "cli/run_folder.h"
#include "cli/staged.h"
#include "cli/tau_folder.h"

/* The folder's name without slashes at its end, "x.20261116-055604-k7". */
static char *name_of(const char *path)
{
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        size--;
    size_t begin = size;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    return strndup(path + begin, size - begin);
}

static int make_folder(struct run_sums *sums, struct err *err)
{
    const char *parent = getenv("TMPDIR");
    if (sums->folder)
        return 0;
    if (asprintf(&sums->folder, "%s/sonde-view.XXXXXX", parent && *parent ? parent : "/tmp") < 0) {
        sums->folder = NULL;
        return err_set(err, "out of memory");
    }
    if (mkdtemp(sums->folder))
        return 0;
    int result = err_set_errno(err, "cannot make the folder %s for the sum of the ranks; TMPDIR says where",
                               sums->folder);
    free(sums->folder);
    sums->folder = NULL;
    return result;
}

static int merge_into(const char *path, char *run, struct err *err)
{
    struct input_paths inputs = {0};
    struct staged file = {0};
    struct merge_job job = {.keep_going = true}; /* a rank that is lost costs itself only */
    int result = input_expand(1, &run, &inputs, err);
    if (result == 0)
        result = staged_open(&file, path, err);
    if (result == 0)
        result = merge_job_begin(&job, "sonde", staged_append, &file, err);
    if (result == 0)
        result = merge_job_add(&job, &inputs, 0, inputs.count, err);
    if (result == 0 && job.added == 0)
        result = err_set(err, "no file of the run %s can be read", run);
    if (result == 0)
        result = merge_job_finish(&job, staged_append, &file, err);
    if (result == 0) {
        if (job.added > 1)
            message_note("%zu ranks of %s, merged", job.added, run);
        result = staged_commit(&file, err);
    }
    merge_job_clear(&job);
    staged_discard(&file);
    input_clear(&inputs);
    return result;
}

static int add_run(struct run_sums *sums, char *run, struct err *err)
{
    char *name = name_of(run), *path = NULL;
    int result = make_folder(sums, err);
    if (result == 0 && (!name || asprintf(&path, "%s/%s.sonde", sums->folder, name) < 0)) {
        path = NULL;
        result = err_set(err, "out of memory");
    }
    free(name);
    if (result == 0)
        result = merge_into(path, run, err);
    if (result == 0)
        sums->words[sums->count++] = path;
    else
        free(path);
    return result;
}

int run_sums_make(struct run_sums *sums, int argc, char **argv, struct err *err)
{
    *sums = (struct run_sums){.words = calloc((size_t)argc + 1, sizeof *sums->words)};
    int result = sums->words ? 0 : err_set(err, "out of memory");
    for (int i = 0; i < argc && result == 0; i++) {
        if (folder_is(argv[i]) && (run_folder_is(argv[i]) || tau_folder_is(argv[i]))) {
            result = add_run(sums, argv[i], err);
            continue;
        }
        sums->words[sums->count] = strdup(argv[i]);
        if (!sums->words[sums->count++])
            result = err_set(err, "out of memory");
    }
    if (result != 0)
        run_sums_clear(sums);
    return result;
}

void run_sums_clear(struct run_sums *sums)
{
    size_t inside = sums->folder ? strlen(sums->folder) : 0;
    for (int i = 0; i < sums->count; i++) {
        if (inside && sums->words[i] && strncmp(sums->words[i], sums->folder, inside) == 0)
            unlink(sums->words[i]);
        free(sums->words[i]);
    }
    if (sums->folder)
        rmdir(sums->folder);
    free(sums->folder);
    free(sums->words);
    *sums = (struct run_sums){0};
}
