/* sonde finalize: names for the native frames of recordings, possibly on another machine than they come from. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/commands.h"
#include "cli/finalize.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/output.h"
#include "symbols/symbols.h"

struct values {
    struct option_list folders;
};

static void put_module(const struct finalize_module *module, struct bytes *out)
{
    bytes_putf(out, "  %s: %u of %u addresses named, %u with lines\n", module->path, module->named,
               module->addresses, module->with_lines);
    if (module->problem[0])
        bytes_putf(out, "    %s\n", module->problem);
}

static void put_result(const char *path, const struct finalize *result, struct bytes *out)
{
    if (result->addresses == 0) {
        bytes_putf(out, "%s: no native frames, so nothing to name\n", path);
        return;
    }
    bytes_putf(out, "%s: %u of %u native addresses named, %u with lines; names added or changed: %u\n", path,
               result->named, result->addresses, result->with_lines, result->written);
    for (size_t i = 0; i < result->module_count; i++)
        put_module(&result->modules[i], out);
}

static int run(void *given, int argc, char **argv)
{
    const struct values *values = given;
    const struct finalize_options options = {.folders = values->folders.items,
                                             .folder_count = values->folders.count};
    struct input_paths paths = {0};
    struct bytes out = {0};
    struct err err = {0};
    if (input_expand(argc, argv, &paths, &err) < 0)
        return message_fail(&err);
    int code = 0;
    if (symbols_unavailable())
        message_warn("%s", symbols_unavailable());
    for (size_t i = 0; i < paths.count; i++) {
        struct finalize result;
        err = (struct err){0};
        if (finalize_file(paths.items[i], &options, &result, &err) < 0)
            code = message_fail(&err);
        else
            put_result(paths.items[i], &result, &out);
        finalize_clear(&result);
    }
    input_clear(&paths);
    int printed = output_print(&out);
    return code ? code : printed;
}

static const struct option options[] = {
    {"search-dir", 0, OPTION_LIST, "DIR", offsetof(struct values, folders), NULL,
     "Look here too for libraries and their debug data: by build id (.build-id/ab/cdef.debug), by path, by "
     "name. May be repeated."},
    {NULL},
};

const struct command command_finalize = {
    .name = "finalize",
    .group = "Convert",
    .summary = "Name the native frames of a recording, here or elsewhere",
    .arguments = "[FILE...]",
    .description =
        "A recording with native frames (sonde record --native) holds addresses and the build ids of the "
        "files that they lie in. Names, source files and lines are found afterwards and appended to the "
        "recording; nothing in it is changed. sonde record does this at its end. With --no-finalize it does "
        "not, and this command does it later, or again, where libraries and debug data are.\n\n"
        "A library whose build id is not the recorded one gives no names: they would be wrong ones. What "
        "could not be named is told with the reason: the file is missing, is another build, or has no debug "
        "data (then functions have names without lines). Debug data: Debian and Ubuntu PACKAGE-dbgsym or "
        "PACKAGE-dbg, Fedora dnf debuginfo-install PACKAGE; servers named in DEBUGINFOD_URLS are asked.",
    .examples = "sonde finalize\tthe newest recording here\n"
                "sonde finalize --search-dir /mnt/image run.sonde\tlibraries below another root\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
