/* sonde page: the viewer without data, to be dropped recordings on. */
#include "base/err.h"
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/page_file.h"

struct values {
    const char *output;
};

static int run(void *given, int argc, char **argv)
{
    const struct values *values = given;
    struct err err = {0};
    if (argc)
        err_set(&err,
                "page takes no file, '%s' is one too many; a page with a recording in it is made by "
                "sonde view -o",
                argv[0]);
    else if (page_file_write(values->output, NULL, &err) == 0)
        return 0;
    return message_fail(&err);
}

static const struct values defaults = {.output = "sonde.html"};

static const struct option options[] = {
    {"output", 'o', OPTION_TEXT, "FILE", offsetof(struct values, output), NULL,
     "Where to write it (default sonde.html; - is standard output)."},
    {NULL},
};

const struct command command_page = {
    .name = "page",
    .group = "Convert",
    .summary = "Write the viewer as one HTML file, to drop recordings on",
    .arguments = "",
    .description =
        "The page opens recordings (.sonde, .prof, collapsed stacks, speedscope) that are dropped on it, in "
        "any recent browser on any system. It needs no server and no network, and nothing leaves it.",
    .examples = "sonde page -o viewer.html\topen it with a browser, drop a recording on it\n",
    .options = options,
    .defaults = &defaults,
    .values_size = sizeof(struct values),
    .run = run,
};
