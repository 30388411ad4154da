/* sonde list: the recordings in a folder, newest first. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyse/series.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/quantity.h"
#include "cli/commands.h"
#include "cli/folder.h"
#include "cli/message.h"
#include "cli/output.h"
#include "import/formats.h"
#include "show/terminal.h"
#include "store/recording.h"

/* A list must not take as long as reading every recording whole. What says what a run was stands at the
 * beginning, and whether it was closed at the end; the reader passes over the gap as over a damaged part. */
#define WHOLE_BYTES_MAX (8 << 20)
#define HEAD_BYTES      (1 << 20)
#define TAIL_BYTES      (1 << 18)

#define DURATION_WIDTH 10

struct values {
    bool json;
};

/* What is told about one recording. */
struct row {
    const struct folder_entry *entry;
    char *command; /* owned; "" = unknown */
    char *mode;    /* owned */
    uint64_t duration_ns;
    double peak_bytes; /* resident, all processes together; negative = unknown */
    const char *state;
    struct err problem; /* why it could not be read */
};

static void read_piece(int fd, uint64_t offset, size_t size, struct bytes *out)
{
    if (!bytes_reserve(out, size))
        return;
    ssize_t got = pread(fd, out->data + out->size, size, (off_t)offset);
    out->size += got > 0 ? (size_t)got : 0;
}

/* Everything, or head and tail of a large recording; `whole` says which. */
static void read_pieces(int fd, const struct folder_entry *entry, bool *whole, struct bytes *out)
{
    struct stat status;
    uint64_t size = fstat(fd, &status) == 0 ? (uint64_t)status.st_size : 0;
    *whole = size <= WHOLE_BYTES_MAX || strcmp(entry->format->name, "sonde") != 0;
    if (*whole) {
        read_piece(fd, 0, (size_t)size, out);
        return;
    }
    read_piece(fd, 0, HEAD_BYTES, out);
    read_piece(fd, size - TAIL_BYTES, TAIL_BYTES, out);
}

/* From the first process's start to the last end; a run that was cut short lasted to its last chunk. What was imported
 * has neither. */
static uint64_t duration_of(const struct recording *recording)
{
    uint64_t start = UINT64_MAX, end = 0, sum = 0;
    for (uint32_t id = 1; id < recording->processes_count; id++) {
        const struct process *process = &recording->processes[id];
        start = process->start_ns < start ? process->start_ns : start;
        end = process->end_ns > end ? process->end_ns : end;
    }
    if (end == 0 && recording->chunks_count)
        end = recording->chunks[recording->chunks_count - 1].clock_ns;
    for (uint32_t index = 0; index < recording->functions_count; index++)
        sum += recording->functions[index].self_ns;
    struct timeline_axis counted = series_axis(recording);
    return end > start ? end - start : sum ? sum : counted.end_ns - counted.begin_ns;
}

/* Of a recording that was not read whole it is not known. */
static double peak_of(const struct recording *recording, bool whole)
{
    struct series_row *rows = NULL;
    struct series series = {0};
    double peak = -1;
    if (whole && series_sum(recording, "rss", &rows, &series, NULL) == 0 && series.count)
        peak = series_summarise(&series).most;
    free(rows);
    return peak;
}

static char *copy_meta(const struct recording *recording, const char *key)
{
    const char *text = recording_meta(recording, key);
    if (!text && strcmp(key, "command") == 0 && recording->processes_count > 1)
        text = recording_text(recording, recording->processes[1].command);
    return strdup(text ? text : "");
}

static const char *state_of(const struct recording *recording, bool whole, bool foreign)
{
    const struct damage *damage = &recording->damage;
    if (foreign)
        return "complete";
    if (whole && (damage->damaged_chunks || damage->orphaned_chunks))
        return "damaged";
    return damage->complete ? "complete" : "cut short";
}

/* Of several ranks the first one's. */
static char *command_of(const struct recording *recording, const struct folder_entry *entry)
{
    char *own = copy_meta(recording, "command"), *text;
    if (!entry->first || !own || asprintf(&text, "%" PRIu32 " ranks: %s", entry->ranks, own) < 0)
        return own;
    free(own);
    return text;
}

static void fill_row(struct row *row, const struct folder_entry *entry)
{
    const char *path = entry->first ? entry->first : entry->path;
    struct bytes bytes = {0};
    struct recording recording = {0};
    bool whole = true;
    *row = (struct row){.entry = entry, .state = "unreadable"};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        err_set_errno(&row->problem, "cannot open %s", path);
    } else {
        read_pieces(fd, entry, &whole, &bytes);
        if (formats_read(bytes.data, bytes.size, path, &recording, &row->problem) == 0)
            row->state = output_is_being_written(fd)
                             ? "running"
                             : state_of(&recording, whole, strcmp(entry->format->name, "sonde") != 0);
        close(fd);
    }
    row->duration_ns = duration_of(&recording);
    row->peak_bytes = peak_of(&recording, whole);
    row->command = command_of(&recording, entry);
    row->mode = copy_meta(&recording, "mode");
    recording_clear(&recording);
    bytes_clear(&bytes);
}

static void clear_row(struct row *row)
{
    free(row->command);
    free(row->mode);
}

/* Quantities in a few characters. */

struct unit {
    const char *name;
    double size;
};

static void format_quantity(char *text, size_t size, double value, const struct unit *units)
{
    while (units[1].name && value < units->size)
        units++;
    value /= units->size;
    snprintf(text, size, value < 9.95 && units->size > 1 ? "%.1f %s" : "%.0f %s", value, units->name);
}

static void format_age(char *text, size_t size, double seconds)
{
    static const struct unit units[] = {{"days", 2 * 86400}, {"h", 3600}, {"min", 60}, {"s", 1}, {NULL, 0}};
    if (seconds >= 2 * 86400)
        snprintf(text, size, "%.0f days", seconds / 86400);
    else
        format_quantity(text, size, seconds < 0 ? 0 : seconds, units + 1);
}

/* Output. */

static double age_seconds(const struct folder_entry *entry, uint64_t now_ns)
{
    return ((double)now_ns - (double)entry->modified_ns) / 1e9;
}

static const char *name_of(const struct folder_entry *entry)
{
    const char *slash = strrchr(entry->path, '/');
    return slash ? slash + 1 : entry->path;
}

static void put_padding(struct bytes *out, size_t count)
{
    bytes_putf(out, "%*s", (int)count, "");
}

/* The command line, cut where a terminal ends. */
static void put_command(struct bytes *out, const char *command, size_t used)
{
    size_t columns = isatty(STDOUT_FILENO) ? message_columns(stdout) : SIZE_MAX;
    struct bytes clean = {0};
    terminal_put(command, &clean);
    if (columns > used + 8)
        bytes_put(out, clean.data, clean.size < columns - used ? clean.size : columns - used - 1);
    bytes_clear(&clean);
}

static void put_table_row(struct bytes *out, const struct row *row, size_t index, size_t name_width,
                          uint64_t now_ns)
{
    char age[32];
    struct quantity duration = quantity_duration((double)row->duration_ns);
    format_age(age, sizeof age, age_seconds(row->entry, now_ns));
    const char *mode = row->mode && *row->mode ? row->mode : row->entry->format->name;
    size_t line = out->size;
    bytes_putf(out, "%3s%-4zu ", "@", index + 1);
    terminal_put(name_of(row->entry), out);
    put_padding(out, name_width - terminal_columns(name_of(row->entry)));
    int micro = strstr(duration.text, "µ") != NULL; /* one column, two bytes */
    bytes_putf(out, "  %8s  %-6s %*s %9s %9s  %-10s ", age, mode, DURATION_WIDTH + micro,
               row->duration_ns ? duration.text : "-", quantity_bytes((double)row->entry->size_bytes).text,
               row->peak_bytes < 0 ? "-" : quantity_bytes(row->peak_bytes).text, row->state);
    put_command(out, row->command ? row->command : "", out->size - line);
    while (out->size && out->data[out->size - 1] == ' ')
        out->size--;
    bytes_put_u8(out, '\n');
}

static void put_table(struct bytes *out, const struct folder *folder)
{
    uint64_t now_ns = clock_real_ns();
    size_t name_width = strlen("Name");
    for (size_t index = 0; index < folder->count; index++) {
        size_t width = terminal_columns(name_of(&folder->entries[index]));
        name_width = width > name_width ? width : name_width;
    }
    bytes_putf(out, "%-8s%-*s  %8s  %-6s %*s %9s %9s  %-10s %s\n", "  Which", (int)name_width, "Name", "Age",
               "Mode", DURATION_WIDTH, "Duration", "Size", "Peak RSS", "State", "Command");
    for (size_t index = 0; index < folder->count; index++) {
        struct row row;
        fill_row(&row, &folder->entries[index]);
        put_table_row(out, &row, index, name_width, now_ns);
        clear_row(&row);
    }
}

static void put_json_row(struct json *json, const struct row *row, size_t index)
{
    json_begin_row(json);
    json_key(json, "index");
    json_unsigned(json, index + 1);
    json_key(json, "path");
    json_string(json, row->entry->path);
    json_key(json, "format");
    json_string(json, row->entry->format->name);
    json_key(json, "modified_ns");
    json_signed(json, row->entry->modified_ns);
    json_key(json, "size_bytes");
    json_unsigned(json, row->entry->size_bytes);
    json_key(json, "mode");
    json_string(json, row->mode);
    json_key(json, "duration_ns");
    json_unsigned(json, row->duration_ns);
    json_key(json, "peak_rss_bytes");
    if (row->peak_bytes < 0)
        json_null(json);
    else
        json_unsigned(json, (uint64_t)row->peak_bytes);
    json_key(json, "command");
    json_string(json, row->command);
    json_key(json, "state");
    json_string(json, row->state);
    json_key(json, "problem");
    json_string(json, row->problem.text[0] ? row->problem.text : NULL);
    json_end_object(json);
}

static void put_json(struct bytes *out, const struct folder *folder)
{
    struct json json = {.out = out};
    json_begin_array(&json);
    for (size_t index = 0; index < folder->count; index++) {
        struct row row;
        fill_row(&row, &folder->entries[index]);
        put_json_row(&json, &row, index);
        clear_row(&row);
    }
    json_line(&json);
    json_end_array(&json);
    bytes_put_u8(out, '\n');
}

static int list(const struct values *values, const char *path, struct err *err)
{
    struct folder folder = {0};
    struct bytes out = {0};
    if (folder_read(path, 0, &folder, err) != 0)
        return -1;
    if (values->json)
        put_json(&out, &folder);
    else if (folder.count)
        put_table(&out, &folder);
    else
        message_note("no recording in %s; make one: sonde trace SCRIPT",
                     strcmp(path, ".") == 0 ? "the working directory" : path);
    int result = out.failed ? err_set(err, "out of memory") : output_write("-", out.data, out.size, err);
    bytes_clear(&out);
    folder_clear(&folder);
    return result;
}

static int run(void *values, int argc, char **argv)
{
    struct err err = {0};
    if (argc > 1) {
        err_set(&err, "list takes one folder, not %d", argc);
        return message_fail_with(&err, "'sonde list --help' shows how it is used");
    }
    return list(values, argc ? argv[0] : ".", &err) == 0 ? 0 : message_fail(&err);
}

static const struct option options[] = {
    {"json", 0, OPTION_FLAG, NULL, offsetof(struct values, json), NULL,
     "Write the list as JSON, with times in nanoseconds and sizes in bytes."},
    {NULL},
};

const struct command command_list = {
    .name = "list",
    .group = "Look",
    .summary = "List the recordings in a folder, newest first",
    .arguments = "[DIR]",
    .description =
        "Lists every file in the folder (else in the working directory) that sonde can read, whatever its "
        "name: age, how it was made, how long the run took, size, the most memory that its processes had "
        "together (in recordings that are too large to be looked through, see sonde report), state and "
        "command "
        "line.\n\n"
        "Other commands accept @N for the Nth of the list in the working directory.\n\n"
        "A recording is complete when its recorder closed it, running while it is being written, cut short "
        "when "
        "the recorder was killed (all up to then is there), and damaged when parts of the file are unusable.",
    .examples = "sonde list\tWhat there is here.\n"
                "sonde report @2\tA report of the second newest.\n"
                "sonde list --json runs/\tFor programs.",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
