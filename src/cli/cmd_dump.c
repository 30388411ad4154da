/* sonde dump: what every thread of a Python process is doing at this moment, or did when it died. */
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/conversion.h"
#include "cli/dump_ranks.h"
#include "cli/dump_reader.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/target.h"
#include "collect/outside/process_tree.h"
#include "collect/outside/thread_states.h"
#include "show/dump.h"
#include "show/dump_json.h"
#include "show/dump_text.h"
#include "show/terminal.h"

enum { SEARCH_DIRS_MAX = 64 };

struct values {
    int64_t pid;
    const char *core;
    int locals;
    bool json, full_filenames, native, internals, subprocesses, mpi_all;
    bool nonblocking; /* py-spy's: needless here */
    struct option_list search_dirs;
};

static const struct values defaults = {.pid = TARGET_NO_PID};

/* Of one process, or of several. */
struct dumps {
    struct dump *items;
    size_t count;
};

static const struct option options[] = {
    {"pid", 'p', OPTION_NUMBER, "PID", offsetof(struct values, pid), NULL,
     "The process to look at. Each of its threads is held for an instant at most; it runs on."},
    {"core", 'c', OPTION_TEXT, "FILE", offsetof(struct values, core), NULL,
     "Look at a core file instead: what a process left when it died (ulimit -c, gcore, coredumpctl dump)."},
    {"locals", 'l', OPTION_COUNT, NULL, offsetof(struct values, locals), NULL,
     "Show the arguments and local variables of each function. Twice: longer, and with the attributes of "
     "objects."},
    {"native", 'n', OPTION_FLAG, NULL, offsetof(struct values, native), NULL,
     "Native frames too: C, C++, Fortran and Cython functions between the Python ones, and threads that run "
     "no "
     "Python."},
    {"subprocesses", 's', OPTION_FLAG, NULL, offsetof(struct values, subprocesses), NULL,
     "With --pid: the Python processes that it has started, and those that they have, one after the other."},
    {"mpi-all", 0, OPTION_FLAG, NULL, offsetof(struct values, mpi_all), NULL,
     "The ranks of a parallel run that are on this host, all at once and grouped by what they do: of a run "
     "folder, a job of Slurm (1234 or 1234.0) or the process of a launcher; without any of these all ranks "
     "of "
     "this user. They need not have been started by sonde, nor use MPI."},
    {"internals", 0, OPTION_FLAG, NULL, offsetof(struct values, internals), NULL, CONVERSION_INTERNALS_HELP},
    {"json", 'j', OPTION_FLAG, NULL, offsetof(struct values, json), NULL,
     "Write JSON: a list with one object for each thread of each process, nothing shortened."},
    {"full-filenames", 0, OPTION_FLAG, NULL, offsetof(struct values, full_filenames), NULL,
     "Whole paths of source files."},
    {"search-dir", 0, OPTION_LIST, "DIR", offsetof(struct values, search_dirs), NULL,
     "With --core: look here first for the program and its libraries, by path and by name. May be repeated."},
    {"nonblocking", 0, OPTION_FLAG, NULL, offsetof(struct values, nonblocking), NULL, NULL},
    {0},
};

static int check_ranks(const struct values *values, struct err *err)
{
    if (values->pid != TARGET_NO_PID || values->core || values->subprocesses)
        return err_set(err,
                       "--mpi-all excludes --pid, --core and --subprocesses; it takes a run, a job or the "
                       "process of a launcher as a word");
    if (values->locals)
        return err_set(err, "--locals is for one process: sonde dump -p PID --locals");
    return 0;
}

static int check(const struct values *values, int argc, char **argv, struct err *err)
{
    if (values->mpi_all)
        return check_ranks(values, err);
    if (argc)
        return err_set(err, "'%s' is one word too many: name a process with -p PID", argv[0]);
    bool has_pid = values->pid != TARGET_NO_PID;
    if (has_pid && values->core)
        return err_set(err, "--pid and --core exclude each other");
    if (!has_pid && !values->core)
        return err_set(err, "name a process with -p PID, or a core file with --core FILE");
    if (target_check_pid(values->pid, err) < 0)
        return -1;
    if (values->subprocesses && values->core)
        return err_set(err, "--subprocesses is for --pid; a core file holds one process");
    if (values->search_dirs.count >= SEARCH_DIRS_MAX)
        return err_set(err, "--search-dir can be given %d times at most", SEARCH_DIRS_MAX - 1);
    return 0;
}

static struct dump *add_dump(struct dumps *dumps, struct err *err)
{
    struct dump *grown = realloc(dumps->items, (dumps->count + 1) * sizeof *grown);
    if (!grown) {
        err_set(err, "out of memory");
        return NULL;
    }
    dumps->items = grown;
    grown[dumps->count] = (struct dump){0};
    return &grown[dumps->count++];
}

static void drop_last(struct dumps *dumps)
{
    dump_clear(&dumps->items[--dumps->count]);
}

/* As dump_reader_process says. */
static int add_process(struct dumps *dumps, uint32_t pid, const struct dump_reader_options *reading,
                       struct err *err)
{
    struct dump *dump = add_dump(dumps, err);
    int result = dump ? dump_reader_process(pid, reading, dump, err) : -1;
    if (dump && result != 0)
        drop_last(dumps);
    return result;
}

/* One that has ended meanwhile is not missed; nor are programs that are no Python, so long as one is. */
static int add_processes_below(struct dumps *dumps, const struct process_tree *tree,
                               const struct dump_reader_options *reading, struct err *err)
{
    int result = add_process(dumps, tree->pids[0], reading, err);
    for (size_t i = 1; i < tree->count && result >= 0; i++) {
        struct err inner = {{0}};
        if (add_process(dumps, tree->pids[i], reading, &inner) < 0 && thread_states_is_running(tree->pids[i]))
            message_warn("%s", inner.text);
    }
    return dumps->count ? 0 : result;
}

static int add_tree(struct dumps *dumps, uint32_t pid, const struct dump_reader_options *reading,
                    struct err *err)
{
    struct process_tree tree;
    if (process_tree_list(&tree, pid, err) < 0)
        return -1;
    int result = add_processes_below(dumps, &tree, reading, err);
    process_tree_clear(&tree);
    return result;
}

static int read_dumps(const struct values *values, struct dumps *dumps, struct err *err)
{
    const char *search_dirs[SEARCH_DIRS_MAX] = {0};
    for (size_t i = 0; i < values->search_dirs.count; i++)
        search_dirs[i] = values->search_dirs.items[i];
    const struct dump_reader_options reading = {.variables = values->locals > 0,
                                                .detailed = values->locals > 1,
                                                .native = values->native,
                                                .internals = values->internals,
                                                .search_dirs = search_dirs};
    if (values->core) {
        struct dump *dump = add_dump(dumps, err);
        return dump ? dump_reader_core(values->core, &reading, dump, err) : -1;
    }
    uint32_t pid = target_pid(values->pid);
    return values->subprocesses ? add_tree(dumps, pid, &reading, err)
                                : add_process(dumps, pid, &reading, err);
}

static int dump_ranks(const struct values *values, int argc, char **argv)
{
    static const char *const nowhere[] = {NULL};
    const struct dump_reader_options reading = {
        .native = values->native, .internals = values->internals, .search_dirs = nowhere};
    const struct dump_ranks_options ranks = {
        .reading = &reading, .json = values->json, .full_filenames = values->full_filenames};
    return dump_ranks_run(&ranks, argc, argv);
}

static int print(const struct values *values, const struct dumps *dumps)
{
    struct bytes out = {0};
    struct json json = {.out = &out};
    const struct terminal terminal = {.color = message_has_color(stdout)};
    if (values->json) {
        dump_json_put(dumps->items, dumps->count, &json);
        bytes_put_text(&out, "\n");
        return output_print(&out);
    }
    for (size_t i = 0; i < dumps->count; i++) {
        bytes_put_text(&out, i ? "\n" : "");
        dump_text_put(&dumps->items[i], &terminal, values->full_filenames, &out);
    }
    return output_print(&out);
}

static int run(void *parsed, int argc, char **argv)
{
    const struct values *values = parsed;
    struct dumps dumps = {0};
    struct err err = {0};
    if (check(values, argc, argv, &err) < 0)
        return message_fail(&err);
    if (values->mpi_all)
        return dump_ranks(values, argc, argv);
    bool got = read_dumps(values, &dumps, &err) == 0;
    int code = got ? print(values, &dumps) : message_fail(&err);
    while (dumps.count)
        drop_last(&dumps);
    free(dumps.items);
    return code;
}

const struct command command_dump = {
    .name = "dump",
    .group = "Look",
    .summary = "Print the stacks of a running Python, or of a core file",
    .arguments = "-p PID\n--core FILE\n--mpi-all [RUN|JOB|PID...]",
    .description =
        "Prints what every thread is doing at this moment: its functions with their lines, whether it runs "
        "(active), sleeps (idle) or waits for the GIL, and who holds the GIL. That is the way to find out "
        "why a program hangs: nothing has to be prepared in it, and it is not disturbed. A stopped process "
        "can be looked at as well.\n\n"
        "With Python 3.14 and later, all tasks of the event loops of asyncio follow the stacks of their "
        "threads: where "
        "each of them waits, innermost function first, and which tasks await it.\n\n"
        "With --locals the variables of every function are shown as repr would show them, read from memory "
        "without running anything in the process. Of a variable that changes while it is read, a part of the "
        "old and of the new value may be shown.",
    .examples = "sonde dump -p 1234\tthe stacks of all threads\n"
                "sonde dump -p 1234 --locals\twith arguments and variables\n"
                "sonde dump -p 1234 --subprocesses\tand of the processes that it has started\n"
                "sonde dump --mpi-all\tall ranks of a parallel run that hangs\n"
                "sonde dump --core core.1234 -l\tof a process that died",
    .options = options,
    .defaults = &defaults,
    .values_size = sizeof(struct values),
    .run = run,
};
