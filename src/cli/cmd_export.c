/* sonde export: one recording in the formats of other tools. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/commands.h"
#include "cli/conversion.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/selection_options.h"
#include "store/recording.h"

struct values {
    const char *format, *output;
    const char *measure, *range;
    struct selection_part part;
    bool function, nolineno, full_filenames;
    bool threads, idle, gil;
    bool upward, internals;
};

static int check(const struct values *values, const struct conversion *conversion, const char *output,
                 struct err *err)
{
    if (!conversion->format)
        return err_set(
            err, "export must be told the format: --format html, speedscope, flamegraph, collapsed, chrome, "
                 "pstats, lprof, tau, ppk, caliper, otf2 or sonde");
    if (strcmp(output, "-") == 0 && !conversion_is_text(conversion->format) && isatty(STDOUT_FILENO))
        return err_set(err, "%s is not for a terminal; name a file with -o", values->format);
    return 0;
}

static int run(void *given, int argc, char **argv)
{
    const struct values *values = given;
    const char *output = values->output ? values->output : "-";
    struct conversion conversion = {
        .format = conversion_find(values->format, values->output),
        .selection = {.idle = values->idle, .gil = values->gil},
        .part = values->part,
        .frames = {.function = values->function,
                   .no_lines = values->nolineno,
                   .full_filenames = values->full_filenames},
        .threads = values->threads,
        .upward = values->upward,
        .internals = values->internals,
    };
    struct recording recording = {0};
    struct err err = {0};
    char *name = NULL;
    int result = check(values, &conversion, output, &err);
    if (result == 0)
        result = input_read_all(argc, argv, &recording, &name, &err);
    if (result == 0)
        result =
            selection_options_choose(values->measure, values->range, &recording, &conversion.selection, &err);
    if (result == 0)
        result = conversion_write(&conversion, &recording, name, output, &err);
    recording_clear(&recording);
    free(name);
    return result < 0 ? message_fail(&err) : 0;
}

#define FIELD(name) offsetof(struct values, name)

static const struct option options[] = {
    {"format", 'f', OPTION_CHOICE, "FORMAT", FIELD(format), conversion_names,
     "Otherwise the suffix of -o decides: .html, .speedscope.json or .json, .svg, .collapsed, .trace.json, "
     ".prof, .lprof, .tau, .ppk, .cali.json, .sonde."},
    {"output", 'o', OPTION_TEXT, "FILE", FIELD(output), NULL,
     "Write to FILE instead of standard output; for tau and otf2 the name of a folder."},
    {"What of it", .kind = OPTION_HEADING},
    {"measure", 0, OPTION_CHOICE, "WHAT", FIELD(measure), measure_names, SELECTION_OPTIONS_MEASURE_HELP},
    {"range", 0, OPTION_TEXT, "A,B", FIELD(range), NULL, SELECTION_OPTIONS_RANGE_HELP},
    SELECTION_OPTIONS_PART(struct values),
    {"Which samples", .kind = OPTION_HEADING},
    {"idle", 'i', OPTION_FLAG, NULL, FIELD(idle), NULL, "Those of idle threads, too."},
    {"gil", 'g', OPTION_FLAG, NULL, FIELD(gil), NULL, "Only those of threads that held the GIL."},
    {"Frames", .kind = OPTION_HEADING},
    {"function", 'F', OPTION_FLAG, NULL, FIELD(function), NULL,
     "A function is one frame, at its first line, whatever line it was at."},
    {"nolineno", 0, OPTION_FLAG, NULL, FIELD(nolineno), NULL, "The same, and no line numbers are shown."},
    {"full-filenames", 0, OPTION_FLAG, NULL, FIELD(full_filenames), NULL,
     "Show paths as they were recorded, not shortened to the package; speedscope and chrome always have "
     "them."},
    {"internals", 0, OPTION_FLAG, NULL, FIELD(internals), NULL, CONVERSION_INTERNALS_HELP},
    {"threads", 't', OPTION_FLAG, NULL, FIELD(threads), NULL,
     "Keep threads apart in flame graphs and collapsed stacks; the other formats always do."},
    {"upward", 0, OPTION_FLAG, NULL, FIELD(upward), NULL,
     "Draw the flame graph from the bottom up, the program at the bottom."},
    {NULL},
};

const struct command command_export = {
    .name = "export",
    .group = "Convert",
    .summary = "Write a recording for other tools: speedscope, flame graph, Perfetto",
    .arguments = "[FILE]",
    .description =
        "Formats: html (a page of its own to look at it in, see sonde view), speedscope (speedscope.app), "
        "flamegraph (an SVG that zooms and searches in a browser), "
        "collapsed or raw (one line for each stack, for flame graph tools), chrome (Perfetto, "
        "chrome://tracing), pstats (cProfile's), tau (a folder of profile.N.0.T files, one for each thread T "
        "of rank N: "
        "ParaProf, pprof, Hatchet), ppk (the same in one file, ParaProf's), caliper (split JSON, one row for "
        "each call path and rank: Hatchet, "
        "Thicket), otf2 (an archive of calls in their order, regions and messages: Vampir, Pipit; needs "
        "libopen-trace-format2), sonde.\n\n"
        "Samples keep their times in speedscope and chrome: all threads share one axis, and idle time is a "
        "gap. Traced calls are written as stacks weighted by their own time; they have no order in time, "
        "so there is no Chrome trace of them; nor of memory, whose stacks are weighted by bytes or blocks.",
    .examples =
        "sonde export -o profile.svg\ta flame graph of the newest recording\n"
        "sonde export run.sonde -o run.speedscope.json\tfor speedscope.app\n"
        "sonde export --measure leaked mem.sonde -o leaks.svg\ta flame graph of what was never freed\n"
        "sonde export RUN -f tau -o run.tau\tall ranks of a run for ParaProf\n"
        "sonde export -f collapsed -F -t run.sonde\tstacks by function, threads apart\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
