#include "cli/run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/json.h"
#include "base/json_reader.h"
#include "base/rank.h"
#include "cli/folder.h"
#include "cli/output.h"
#include "cli/run_identity.h"

#define CANDIDATES_MAX     1000
#define DIGITS_UNKNOWN     5
#define NOTE_BYTES_MAX     65536
#define SLACK_LASTING_S    3600 /* between the clocks of hosts, and between the first rank and the last */
#define SLACK_OTHERS_S     60
#define NOTE_LOOKS         100
#define NOTE_LOOK_INTERVAL 20000 /* us */

bool run_folder_is_meant(const char *output, bool has_format)
{
    if (!output || !*output || folder_is(output) || output[strlen(output) - 1] == '/')
        return true;
    return !has_format && !strchr(output, '%') && !output_format(NULL, output, NULL);
}

char *run_folder_file(const char *folder, uint32_t rank, uint32_t size, const char *suffix)
{
    char *path;
    int digits = size ? snprintf(NULL, 0, "%" PRIu32, size - 1) : DIGITS_UNKNOWN;
    int made = asprintf(&path, "%s/rank-%0*" PRIu32 "%s", folder, digits, rank, suffix);
    return made < 0 ? NULL : path;
}

static char *joined(const char *folder, const char *name)
{
    char *path;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

bool run_folder_is(const char *path)
{
    char *note = joined(path, RUN_FOLDER_NOTE);
    bool is = note && access(note, F_OK) == 0;
    free(note);
    return is;
}

/* The note: run.json. */

static void put_note(const struct rank *rank, const struct run_identity *identity, struct bytes *out)
{
    struct json json = {.out = out};
    json_begin_object(&json);
    json_put_string(&json, "run_id", identity->id);
    json_put_string(&json, "key", identity->key);
    json_put_unsigned(&json, "created_s", (uint64_t)time(NULL));
    if (rank->size)
        json_put_unsigned(&json, "ranks", rank->size);
    json_end_object(&json);
    bytes_put_u8(out, '\n');
}

static int write_file(const char *path, const struct bytes *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool written = fd >= 0 && bytes_write(fd, text->data, text->size);
    return fd >= 0 && close(fd) == 0 && written ? 0 : -1;
}

/* A link appears with all its bytes, or not at all; the first one wins. Where the file system has none, the name
 * is taken by whoever renames last, which is as good between the ranks of one run. */
static int publish(const char *draft, const char *note)
{
    if (link(draft, note) == 0 || errno == EEXIST)
        return 0;
    return access(note, F_OK) == 0 ? 0 : rename(draft, note);
}

static int leave_note(const char *folder, const struct rank *rank, const struct run_identity *identity,
                      struct err *err)
{
    struct bytes text = {0};
    char *note = joined(folder, RUN_FOLDER_NOTE), *draft = NULL;
    int made =
        asprintf(&draft, "%s/.%s.%" PRIu32 ".%d", folder, RUN_FOLDER_NOTE, rank->number, (int)getpid());
    put_note(rank, identity, &text);
    int result = 0;
    if (!note || made < 0 || text.failed)
        result = err_set(err, "out of memory");
    else if (access(note, F_OK) != 0 && (write_file(draft, &text) < 0 || publish(draft, note) < 0))
        result = err_set_errno(err, "cannot write %s", note);
    if (made >= 0)
        unlink(draft);
    free(note);
    free(made < 0 ? NULL : draft);
    bytes_clear(&text);
    return result;
}

struct note {
    char *key;
    int64_t created_s;
};

static bool parse_note(const struct bytes *text, struct note *note)
{
    struct json_reader reader = {.at = (char *)text->data, .end = (char *)text->data + text->size};
    bool is_object = text->size && json_reader_next(&reader) == JSON_OBJECT;
    while (is_object && json_reader_next(&reader) == JSON_KEY) {
        bool is_key = json_reader_is(&reader, "key"), is_created = json_reader_is(&reader, "created_s");
        enum json_token token = json_reader_next(&reader);
        if (is_key && token == JSON_STRING && !note->key)
            note->key = strndup((char *)reader.text.data, reader.text.size);
        else if (is_created && token == JSON_NUMBER)
            note->created_s = (int64_t)reader.number;
        else
            json_reader_skip(&reader);
    }
    json_reader_clear(&reader);
    return note->key;
}

/* File systems over a network may show a new file late, or before its bytes. */
static bool read_note(const char *folder, struct note *note)
{
    char *path = joined(folder, RUN_FOLDER_NOTE);
    bool is_read = false;
    for (int look = 0; path && !is_read && look < NOTE_LOOKS; look++) {
        struct bytes text = {0};
        if (look)
            usleep(NOTE_LOOK_INTERVAL);
        is_read = bytes_read_file(&text, path, NOTE_BYTES_MAX, NULL) == 0 && parse_note(&text, note);
        bytes_clear(&text);
    }
    free(path);
    return is_read;
}

/* Joining. */

enum outcome { OUTCOME_JOINED, OUTCOME_OTHERS, OUTCOME_FAILED };

static bool has_finished_file(const char *folder, const struct rank *rank)
{
    char *path = run_folder_file(folder, rank->number, rank->size, ".sonde");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    bool is_finished = fd >= 0 && !output_is_being_written(fd);
    if (fd >= 0)
        close(fd);
    free(path);
    return is_finished;
}

static bool is_ours(const char *folder, const struct note *note, const struct rank *rank,
                    const struct run_identity *identity)
{
    int64_t slack_s = identity->is_lasting ? SLACK_LASTING_S : SLACK_OTHERS_S;
    if (strcmp(note->key, identity->key) != 0 || note->created_s < identity->started_s - slack_s)
        return false;
    return identity->is_lasting || !has_finished_file(folder, rank);
}

static enum outcome join(const char *path, const struct rank *rank, const struct run_identity *identity,
                         struct err *err)
{
    struct note note = {0};
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return err_set_errno(err, "cannot make the folder %s for the files of the ranks", path),
               OUTCOME_FAILED;
    if (!folder_is(path))
        return OUTCOME_OTHERS;
    if (leave_note(path, rank, identity, err) < 0)
        return OUTCOME_FAILED;
    if (!read_note(path, &note))
        return err_set(err, "%s/%s cannot be read; remove the folder, or name another with -o", path,
                       RUN_FOLDER_NOTE),
               OUTCOME_FAILED;
    enum outcome outcome = is_ours(path, &note, rank, identity) ? OUTCOME_JOINED : OUTCOME_OTHERS;
    free(note.key);
    return outcome;
}

/* Whether things lie in it that are no run's. Ours may have been begun by another rank just now. */
static bool has_others_files(const char *path)
{
    DIR *stream = opendir(path);
    bool has = false;
    struct dirent *entry;
    while (stream && !has && (entry = readdir(stream)))
        has = entry->d_name[0] != '.' && strncmp(entry->d_name, "rank-", 5) != 0 &&
              strcmp(entry->d_name, RUN_FOLDER_NOTE) != 0;
    if (stream)
        closedir(stream);
    return has;
}

/* "runs/" → "runs" or, when it holds other things, "runs/NAME.<run id>"; nothing → "NAME.<run id>". */
static char *settle(const char *wanted, const char *otherwise)
{
    if (!wanted || !*wanted)
        return strdup(otherwise);
    if (!run_folder_is(wanted) && has_others_files(wanted))
        return joined(wanted, otherwise);
    size_t size = strlen(wanted);
    while (size > 1 && wanted[size - 1] == '/')
        size--;
    return strndup(wanted, size);
}

static char *candidate(const char *first, int place)
{
    char *path;
    int made = place == 1 ? asprintf(&path, "%s", first) : asprintf(&path, "%s-%d", first, place);
    return made < 0 ? NULL : path;
}

int run_folder_open(struct run_folder *folder, const char *wanted, const char *otherwise,
                    const struct rank *rank, const struct run_identity *identity, struct err *err)
{
    char *first = settle(wanted, otherwise);
    enum outcome outcome = first ? OUTCOME_OTHERS : OUTCOME_FAILED;
    for (int place = 1; place <= CANDIDATES_MAX && outcome == OUTCOME_OTHERS; place++) {
        free(folder->path);
        folder->path = candidate(first, place);
        outcome = folder->path ? join(folder->path, rank, identity, err) : OUTCOME_FAILED;
    }
    if (outcome == OUTCOME_OTHERS)
        err_set(err, "%s and %d more folders are other runs'; name another with -o", first,
                CANDIDATES_MAX - 1);
    free(first);
    if (outcome == OUTCOME_JOINED)
        return 0;
    run_folder_clear(folder);
    return err_is_set(err) ? -1 : err_set(err, "out of memory");
}

void run_folder_clear(struct run_folder *folder)
{
    free(folder->path);
    *folder = (struct run_folder){0};
}
