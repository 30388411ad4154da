/* sonde info: what is inside a recording, and whether it is whole. */
#include <stdio.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/message.h"
#include "show/info_json.h"
#include "show/info_text.h"
#include "store/recording.h"

struct info_values {
    bool json;
    bool chunks;
};

static const struct option options[] = {
    {"json", 0, OPTION_FLAG, NULL, offsetof(struct info_values, json), NULL,
     "Write JSON: a list with one object for each file, nothing shortened."},
    {"chunks", 0, OPTION_FLAG, NULL, offsetof(struct info_values, chunks), NULL,
     "List every chunk of the file: where it lies, its kind, sizes and state."},
    {0},
};

static int put_file(const struct info_values *values, const char *path, struct json *json, struct err *err)
{
    struct recording recording = {0};
    int result = input_read(path, &recording, err);
    if (result == 0 && values->json)
        info_json_put(&recording, path, values->chunks, json);
    else if (result == 0)
        info_text_put(&recording, path, values->chunks, json->out);
    recording_clear(&recording);
    return result;
}

static int print(struct bytes *out)
{
    struct err err = {0};
    if (out->failed)
        err_set(&err, "out of memory for the text");
    else if (fwrite(out->data, 1, out->size, stdout) != out->size || fflush(stdout) != 0)
        err_set_errno(&err, "cannot write to standard output");
    bytes_clear(out);
    return err_is_set(&err) ? message_fail(&err) : 0;
}

/* A file that cannot be read does not hide the others. */
static int put_files(const struct info_values *values, const struct input_paths *paths)
{
    struct bytes out = {0};
    struct json json = {.out = &out};
    int code = 0;
    if (values->json)
        json_begin_array(&json);
    for (size_t i = 0; i < paths->count; i++) {
        struct err err = {0};
        if (i > 0 && !values->json && out.size)
            bytes_put_u8(&out, '\n');
        if (put_file(values, paths->items[i], &json, &err) < 0)
            code = message_fail(&err);
    }
    if (values->json) {
        json_end_array(&json);
        bytes_put_u8(&out, '\n');
    }
    int printed = print(&out);
    return code ? code : printed;
}

static int run(void *parsed, int argc, char **argv)
{
    struct input_paths paths = {0};
    struct err err = {0};
    int code = input_expand(argc, argv, &paths, &err) < 0 ? message_fail(&err) : put_files(parsed, &paths);
    input_clear(&paths);
    return code;
}

const struct command command_info = {
    .name = "info",
    .group = "Look",
    .summary = "Say what is inside a recording, and whether it is whole",
    .arguments = "[FILE...]",
    .description =
        "Prints what a recording says about its run (command, host, versions), its processes and threads, "
        "the "
        "chunks of the file, how much each kind of data takes, what was lost while recording, and what is "
        "damaged. A damaged or cut recording is not an error: all other commands use what is whole.\n\n"
        "Without a file the newest recording in the working directory is used.",
    .examples = "sonde info\tthe newest recording here\n"
                "sonde info --chunks run.sonde\tevery chunk of the file\n"
                "sonde info --json *.sonde\tfor programs",
    .options = options,
    .values_size = sizeof(struct info_values),
    .run = run,
};
