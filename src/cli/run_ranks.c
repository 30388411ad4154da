#include "cli/run_ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/ranks_option.h"
#include "cli/run.h"
#include "store/writer.h"

static int open_folder(struct run_ranks *ranks, const char *output, const char *program_name,
                       const struct output_context *context, struct err *err)
{
    char *wanted = NULL, *otherwise = NULL;
    int result = output_expand(output, context, &wanted, err);
    if (result == 0)
        result = output_path(NULL, program_name, "", context, &otherwise, err);
    if (result == 0)
        result = run_folder_open(&ranks->folder, wanted, otherwise, &ranks->rank, &ranks->identity, err);
    free(wanted);
    free(otherwise);
    return result;
}

int run_ranks_open(struct run_ranks *ranks, const char *output, const char *format, const char *program_name,
                   struct output_context *context, struct err *err)
{
    *ranks = (struct run_ranks){.rank = rank_detect(), .was_quiet = options_common.quiet};
    if (ranks->rank.number == RANK_NONE)
        return 0;
    run_identity_find(&ranks->rank, context->host, &ranks->identity);
    strcpy(context->run_id, ranks->identity.id);
    if (!run_folder_is_meant(output, format))
        return 0;
    if (ranks->rank.number != 0)
        options_common.quiet = true;
    return open_folder(ranks, output, program_name, context, err);
}

void run_ranks_clear(struct run_ranks *ranks)
{
    run_folder_clear(&ranks->folder);
}

char *run_ranks_file(const struct run_ranks *ranks, const char *suffix)
{
    return ranks->folder.path
               ? run_folder_file(ranks->folder.path, ranks->rank.number, ranks->rank.size, suffix)
               : NULL;
}

char *run_ranks_pattern(const struct run_ranks *ranks)
{
    char *pattern;
    return ranks->folder.path && asprintf(&pattern, "%s/rank-%%r", ranks->folder.path) >= 0 ? pattern : NULL;
}

static void put_number(struct writer *writer, const char *key, uint32_t number)
{
    char text[16];
    snprintf(text, sizeof text, "%" PRIu32, number);
    writer_meta(writer, key, text);
}

void run_ranks_describe(const struct run_ranks *ranks, struct writer *writer)
{
    const struct rank *rank = &ranks->rank;
    if (rank->number == RANK_NONE)
        return;
    put_number(writer, "rank", rank->number);
    if (rank->size)
        put_number(writer, "ranks", rank->size);
    if (rank->local != RANK_NONE)
        put_number(writer, "local_rank", rank->local);
    writer_meta(writer, "rank_from", rank->launcher->rank);
}

/* As rename, but fails when the new name is there. */
static int rename_exclusively(const char *from, const char *to)
{
    if (link(from, to) == 0)
        return unlink(from);
    return errno == EEXIST || access(to, F_OK) == 0 ? -1 : rename(from, to);
}

void run_ranks_correct(struct run_ranks *ranks, uint32_t rank, struct output_context *context,
                       const char *suffix, char **path)
{
    bool is_same = ranks->rank.number == rank;
    ranks->rank.number = context->rank = rank;
    char *name = run_ranks_file(ranks, suffix);
    char *second = name ? output_second_name(name, context) : NULL;
    char **taken = NULL;
    if (second && strcmp(*path, name) == 0)
        is_same = true;
    else if (second && rename_exclusively(*path, name) == 0)
        taken = &name;
    else if (second && !is_same && rename_exclusively(*path, second) == 0)
        taken = &second;
    if (taken) {
        free(*path);
        *path = *taken;
        *taken = NULL;
    } else if (!is_same) {
        message_warn("%s is rank %" PRIu32 "'s, but could not be called so", *path, rank);
    }
    free(name);
    free(second);
}

void run_ranks_hush(struct run_ranks *ranks)
{
    if (ranks->folder.path)
        options_common.quiet = true;
}

void run_ranks_tell(const struct run_ranks *ranks, const char *wanted, const struct run *run)
{
    const char *path = ranks->folder.path;
    if (!path || ranks->rank.number != 0)
        return;
    options_common.quiet = ranks->was_quiet;
    if (!run->path)
        return;
    char whose[48] = "all";
    uint32_t size = ranks->rank.size, recorded = ranks_option_count(wanted, size);
    if (size && recorded < size)
        snprintf(whose, sizeof whose, "%" PRIu32 " of %" PRIu32, recorded, size);
    else if (size)
        snprintf(whose, sizeof whose, "%" PRIu32, size);
    message_note("%s ranks, %.3f s: %s (look at it with: sonde report %s)", whose,
                 (double)run->elapsed_ns / 1e9, path, path);
}
