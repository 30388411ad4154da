#include "cli/run_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/rank.h"
#include "cli/conversion.h"
#include "cli/finalize.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/run.h"
#include "store/recording.h"

/* ---- where they go ---- */

/* The path of the result: in the folder of a run of several ranks, or what -o says. */
static int choose_wanted(struct run_files *files, const struct run_request *request, const char *program,
                         char **wanted, struct err *err)
{
    const char *suffix = conversion_suffix(files->format);
    if (run_ranks_open(&files->ranks, request->output, request->format, program, &files->context, err) < 0)
        return -1;
    if (!files->ranks.folder.path)
        return output_path(request->output, program, suffix, &files->context, wanted, err);
    *wanted = run_ranks_file(&files->ranks, suffix);
    return *wanted ? 0 : err_set(err, "out of memory");
}

/* Where the .sonde file goes, and whether something else is to be made of it. */
static int choose_paths(struct run_files *files, const struct run_options *options, const char *program,
                        struct err *err)
{
    const struct run_request *request = options->request;
    const struct conversion_format *sonde = conversion_find("sonde", NULL);
    char *wanted = NULL;
    files->format = request->format ? conversion_find(request->format, NULL) : sonde;
    if (choose_wanted(files, request, program, &wanted, err) < 0)
        return -1;
    files->format = conversion_find(request->format, wanted);
    /* A profile of times may be called .dat as well as one of memory: only `sonde mem` takes the name as mprof's. */
    if (!request->format && files->format == conversion_find("mprof", NULL) &&
        strcmp(options->mode, "mem") != 0)
        files->format = sonde;
    if (!files->format || files->format == sonde) {
        files->recording.path = wanted;
        return strcmp(wanted, "-") == 0
                   ? err_set(err, "standard output is the program's; name a file with -o, "
                                  "or a format that is text with -f")
                   : 0;
    }
    files->result = wanted;
    files->recording.path = malloc(strlen(wanted) + 7);
    if (!files->recording.path)
        return err_set(err, "out of memory");
    sprintf(files->recording.path, "%s.sonde", wanted);
    return 0;
}

/* Whether what will be made of the recording has another writer: the recording itself has, or a rank beside this one
 * has ended already. */
static bool is_result_taken(const struct run_files *files)
{
    struct stat status;
    size_t size = strlen(files->result);
    bool renamed = strncmp(files->recording.path, files->result, size) != 0 ||
                   strcmp(files->recording.path + size, ".sonde") != 0;
    return renamed || (files->context.rank != RANK_NONE && lstat(files->result, &status) == 0 &&
                       S_ISREG(status.st_mode));
}

static int settle_result(struct run_files *files, struct err *err)
{
    if (!files->result || !is_result_taken(files))
        return 0;
    char *other = output_second_name(files->result, &files->context);
    if (!other)
        return err_set(err, "out of memory");
    message_note("%s has another writer, too; this run goes to %s", files->result, other);
    free(files->result);
    files->result = other;
    return 0;
}

int run_files_open(struct run_files *files, const struct run_options *options, const char *program,
                   struct err *err)
{
    if (choose_paths(files, options, program, err) < 0)
        return -1;
    files->recording.fd = output_create(&files->recording.path, &files->context, err);
    return files->recording.fd < 0 ? -1 : settle_result(files, err);
}

void run_files_take_rank(struct run_files *files, uint32_t rank)
{
    char suffix[64];
    const char *of_result = files->result ? conversion_suffix(files->format) : "";
    if (!files->ranks.folder.path || rank == RANK_NONE)
        return;
    snprintf(suffix, sizeof suffix, "%s.sonde", of_result);
    run_ranks_correct(&files->ranks, rank, &files->context, suffix, &files->recording.path);
    char *result = files->result ? run_ranks_file(&files->ranks, of_result) : NULL;
    if (result) {
        free(files->result);
        files->result = result;
        settle_result(files, NULL);
    }
}

/* ---- what becomes of them ---- */

void run_files_name_native(const struct run_files *files)
{
    struct finalize result;
    struct err err = {0};
    const struct finalize_options options = {.local = true};
    if (finalize_open_file(files->recording.fd, files->recording.path, &options, &result, &err) < 0)
        message_warn("native functions have no names: %s", err.text);
    else
        finalize_tell(&result);
    finalize_clear(&result);
}

static int convert(const struct run_files *files, const struct run_options *options, const char *program,
                   struct err *err)
{
    struct recording recording = {0};
    struct conversion conversion = options->conversion;
    conversion.format = files->format;
    int result = input_read(files->recording.path, &recording, err);
    if (result == 0)
        result = conversion_write(&conversion, &recording, program, files->result, err);
    recording_clear(&recording);
    return result;
}

int run_files_make_result(struct run_files *files, const struct run_options *options, const char *program,
                          bool has_samples, struct err *err)
{
    if (!files->result)
        return 0;
    if (options->rate_hz && !has_samples) {
        bool launched = !options->target.pid;
        message_warn("no sample was taken, so %s is not written%s", files->result,
                     launched ? ": the program was too short for this rate (-r)" : "");
        return 0;
    }
    if (convert(files, options, program, err) < 0)
        return -1;
    files->is_spare = true;
    return 0;
}

void run_files_tell_failure(const struct run_files *files, bool recorded, const struct err *err)
{
    const struct recording_file *file = &files->recording;
    if (!file->failed)
        message_fail(err);
    if (!recorded || (!file->failed && !files->result))
        return;
    if (!file->whole_bytes || !recording_file_is_plain(file))
        message_warn("nothing of the recording is kept");
    else if (file->failed)
        message_warn("what was recorded until nothing more could be written is kept in %s, which can be read",
                     file->path);
    else
        message_warn("what was recorded is kept in %s", file->path);
}

char *run_files_take_kept(struct run_files *files)
{
    char **kept = files->is_spare ? &files->result : &files->recording.path;
    char *path = *kept;
    *kept = NULL;
    return path;
}

void run_files_close(struct run_files *files)
{
    recording_file_close(&files->recording);
    run_ranks_clear(&files->ranks);
    free(files->result);
}
