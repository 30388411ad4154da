#include "cli/rank_summary.h"

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/rank.h"
#include "cli/input.h"
#include "cli/message.h"
#include "show/regions_text.h"
#include "show/report_text.h"
#include "store/recording.h"

#define LOOKS   100
#define LOOK_US 50000 /* in all 5 s */

static bool is_wished(void)
{
    static const char *const names[] = {"SONDE_PRINT_SUMMARY", "PYOP2_PRINT_SUMMARY"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value && strcmp(value, "0") != 0)
            return true;
    }
    return false;
}

/* Whatever differs from rank to rank may be anything. A name without it is followed by the rank and the process. */
static void put_glob(const char *pattern, struct bytes *out)
{
    bool differs = false;
    for (; *pattern; pattern++) {
        if (*pattern != '%' || pattern[1] == '%') {
            if (strchr("*?[\\", *pattern))
                bytes_put_u8(out, '\\');
            bytes_put_u8(out, (uint8_t)*pattern);
            pattern += *pattern == '%';
            continue;
        }
        differs |= pattern[1] == 'r' || pattern[1] == 'p';
        bytes_put_u8(out, '*');
        pattern += pattern[1] == '{' ? strcspn(pattern, "}") : 1;
    }
    bytes_put_text(out, differs ? "" : "*");
    bytes_put_u8(out, 0);
}

static bool is_of_this_run(const char *path, int64_t start_s)
{
    struct stat status;
    struct recording recording = {0};
    struct err err = {0};
    if (stat(path, &status) != 0 || status.st_mtim.tv_sec < start_s)
        return false;
    bool is_whole = input_read(path, &recording, &err) == 0 && recording.damage.complete;
    recording_clear(&recording);
    return is_whole;
}

/* Moves those that are there to the front; how many they are. */
static uint32_t count_whole(glob_t *found, int64_t start_s)
{
    uint32_t count = 0;
    for (size_t i = 0; i < found->gl_pathc; i++) {
        if (!is_of_this_run(found->gl_pathv[i], start_s))
            continue;
        char *path = found->gl_pathv[i];
        found->gl_pathv[i] = found->gl_pathv[count];
        found->gl_pathv[count++] = path;
    }
    return count;
}

/* The files of all ranks, or after a while of those that have ended. */
static uint32_t await_files(const char *names, uint32_t ranks, int64_t start_s, glob_t *found)
{
    uint32_t count = 0;
    for (int look = 0; look < LOOKS && count < ranks; look++) {
        if (look) {
            globfree(found);
            usleep(LOOK_US);
        }
        *found = (glob_t){0};
        bool has_all = glob(names, 0, NULL, found) == 0 && found->gl_pathc >= ranks;
        count = has_all || look == LOOKS - 1 ? count_whole(found, start_s) : 0;
    }
    return count;
}

static int put_table(char **paths, uint32_t count, struct bytes *out, struct err *err)
{
    struct recording recording = {0};
    const struct report_options report = {
        .terminal = {.width = isatty(STDOUT_FILENO) ? message_columns(stdout) : 0}};
    char *name = NULL;
    int result = input_read_all((int)count, paths, &recording, &name, err);
    if (result == 0)
        result = regions_text_put(&recording, &report, 0, out, err);
    recording_clear(&recording);
    free(name);
    return result;
}

void rank_summary_print(const char *pattern, int64_t start_s)
{
    struct rank rank = rank_detect();
    struct bytes names = {0}, text = {0};
    struct err err = {0};
    glob_t found = {0};
    if (!pattern || rank.number != 0 || rank.size < 2 || !is_wished())
        return;
    put_glob(pattern, &names);
    uint32_t count = names.failed ? 0 : await_files((char *)names.data, rank.size, start_s, &found);
    if (count > 1 && put_table(found.gl_pathv, count, &text, &err) < 0)
        message_warn("the summary of all ranks: %s", err.text);
    else if (text.size && !text.failed)
        printf("**** sonde timings summary, %u of %u ranks ****%.*s", count, rank.size, (int)text.size,
               text.data);
    else if (count < 2)
        message_note("the other ranks' files did not come, so there is no summary of all ranks; sonde report "
                     "--regions "
                     "makes one");
    fflush(stdout);
    globfree(&found);
    bytes_clear(&names);
    bytes_clear(&text);
}
