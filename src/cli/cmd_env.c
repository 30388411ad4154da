/* sonde env: which rank this process is, who said so, and where its recording would go. */
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/json.h"
#include "base/rank.h"
#include "cli/commands.h"
#include "cli/installation.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/run_folder.h"
#include "cli/run_identity.h"
#include "cli/target.h"

enum { VARIABLES_MAX = 160, LIBRARIES_MAX = 32 };

struct env_values {
    bool json;
};

static const struct option options[] = {
    {"json", 0, OPTION_FLAG, NULL, offsetof(struct env_values, json), NULL, "Write JSON."},
    {0},
};

/* What tells the run and the job, beside the columns of the table of launchers. */
static const char *const others[] = {"SLURM_JOB_ID",
                                     "SLURM_STEP_ID",
                                     "SLURM_NTASKS",
                                     "SLURM_NODELIST",
                                     "SLURM_RESTART_COUNT",
                                     "PBS_JOBID",
                                     "LSB_JOBID",
                                     "JOB_ID",
                                     "MASTER_ADDR",
                                     "PMI_LOCAL_RANK",
                                     "TORCHELASTIC_RESTART_COUNT",
                                     NULL};

struct facts {
    struct rank rank;
    struct run_identity identity; /* of ranks */
    struct output_context context;
    char *file; /* where a recording of NAME would go */
    const char *variables[VARIABLES_MAX];
    size_t variable_count;
    glob_t parts; /* of ours that deal with MPI */
    char *libraries[LIBRARIES_MAX];
    size_t library_count;
    char *python;
};

/* ---- what is there ---- */

static void note_variable(struct facts *facts, const char *name)
{
    if (!name || !getenv(name) || facts->variable_count == VARIABLES_MAX)
        return;
    for (size_t i = 0; i < facts->variable_count; i++) {
        if (strcmp(facts->variables[i], name) == 0)
            return;
    }
    facts->variables[facts->variable_count++] = name;
}

static void find_variables(struct facts *facts)
{
    for (const struct rank_launcher *row = rank_launchers; row->name; row++) {
        const char *const names[] = {row->rank,       row->size,   row->local_rank,
                                     row->local_size, row->run[0], row->run[1]};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            note_variable(facts, names[i]);
    }
    for (const char *const *name = others; *name; name++)
        note_variable(facts, *name);
    for (const char *const *name = rank_array_variables; *name; name++)
        note_variable(facts, *name);
}

static void note_library(struct facts *facts, const char *folder, size_t size, const char *name)
{
    char *path;
    if (!size || facts->library_count == LIBRARIES_MAX ||
        asprintf(&path, "%.*s/%s", (int)size, folder, name) < 0)
        return;
    if (access(path, R_OK) == 0)
        facts->libraries[facts->library_count++] = path;
    else
        free(path);
}

/* Where the loader looks, but for its cache. */
static void find_libraries(struct facts *facts)
{
    static const char *const names[] = {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi_abi.so.0",
                                        "libmpi_abi.so.1"};
    const char *paths[] = {getenv("LD_LIBRARY_PATH"),
                           "/usr/local/lib:/usr/lib64:/usr/lib:/usr/lib/x86_64-linux-gnu:"
                           "/usr/lib/aarch64-linux-gnu:/usr/lib64/openmpi/lib:/usr/lib64/mpich/lib"};
    for (size_t place = 0; place < sizeof paths / sizeof *paths; place++) {
        for (const char *at = paths[place]; at && *at;) {
            size_t size = strcspn(at, ":");
            for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                note_library(facts, at, size, names[i]);
            at += size + (at[size] == ':');
        }
    }
}

static void find_parts(struct facts *facts)
{
    struct installation installation = {0};
    char *pattern = NULL;
    if (installation_find(&installation, NULL) == 0 &&
        asprintf(&pattern, "%s/_bin/*sonde_mpi*", installation.package) >= 0) {
        glob(pattern, 0, NULL, &facts->parts);
        free(pattern);
    }
    installation_clear(&installation);
}

static int find_file(struct facts *facts, struct err *err)
{
    char *folder = NULL;
    bool is_rank = facts->rank.number != RANK_NONE;
    if (output_path(NULL, "NAME", is_rank ? "" : ".sonde", &facts->context, &folder, err) < 0)
        return -1;
    if (!is_rank) {
        facts->file = folder;
        return 0;
    }
    facts->file = run_folder_file(folder, facts->rank.number, facts->rank.size, ".sonde");
    free(folder);
    return facts->file ? 0 : err_set(err, "out of memory");
}

static int find_facts(struct facts *facts, struct err *err)
{
    const char *given = getenv("SONDE_PYTHON");
    *facts = (struct facts){.rank = rank_detect()};
    output_context_init(&facts->context);
    if (facts->rank.number != RANK_NONE) {
        run_identity_find(&facts->rank, facts->context.host, &facts->identity);
        strcpy(facts->context.run_id, facts->identity.id);
    }
    find_variables(facts);
    find_libraries(facts);
    find_parts(facts);
    facts->python = given && *given ? strdup(given) : target_find_program("python3");
    return find_file(facts, err);
}

static void clear_facts(struct facts *facts)
{
    for (size_t i = 0; i < facts->library_count; i++)
        free(facts->libraries[i]);
    globfree(&facts->parts);
    free(facts->python);
    free(facts->file);
}

/* ---- text ---- */

static void put_rank(const struct facts *facts, struct bytes *out)
{
    const struct rank *rank = &facts->rank;
    int64_t task = rank_array_task();
    if (rank->number == RANK_NONE) {
        bytes_put_text(out, "No rank: no launcher's variables say that there are several.\n");
    } else {
        bytes_putf(out, "Rank %" PRIu32, rank->number);
        if (rank->size)
            bytes_putf(out, " of %" PRIu32, rank->size);
        if (rank->local != RANK_NONE)
            bytes_putf(out, ", local rank %" PRIu32, rank->local);
        bytes_putf(out, ", says %s (%s)\n", rank->launcher->rank, rank->launcher->name);
        bytes_putf(out, "Run %s, by %s\n", facts->identity.id, facts->identity.source);
    }
    if (task >= 0)
        bytes_putf(out, "Task %" PRId64 " of an array job: a run of its own\n", task);
    bytes_putf(out, "Recorded into %s\n", facts->file);
    bytes_putf(out, "Host %s\n", facts->context.host);
}

static void put_list(const char *heading, char *const *items, size_t count, const char *otherwise,
                     struct bytes *out)
{
    bytes_putf(out, "%s\n", heading);
    for (size_t i = 0; i < count; i++)
        bytes_putf(out, "  %s\n", items[i]);
    if (!count)
        bytes_putf(out, "  %s\n", otherwise);
}

static void put_text(const struct facts *facts, struct bytes *out)
{
    put_rank(facts, out);
    bytes_putf(out, "Python %s\n", facts->python ? facts->python : "not on PATH");
    bytes_put_text(out, "Variables that are set, in the order in which they are asked:\n");
    for (size_t i = 0; i < facts->variable_count; i++)
        bytes_putf(out, "  %s=%s\n", facts->variables[i], getenv(facts->variables[i]));
    if (!facts->variable_count)
        bytes_put_text(out, "  none\n");
    put_list("Parts of sonde for MPI (calls: libsonde_mpi; merging under mpirun: sonde_mpi_*):",
             facts->parts.gl_pathv, facts->parts.gl_pathc, "none", out);
    put_list("MPI libraries in the usual places:", facts->libraries, facts->library_count, "none", out);
}

/* ---- JSON ---- */

static void put_number(struct json *json, const char *key, bool is_known, uint64_t number)
{
    json_key(json, key);
    if (is_known)
        json_unsigned(json, number);
    else
        json_null(json);
}

static void put_strings(struct json *json, const char *key, char *const *items, size_t count)
{
    json_key(json, key);
    json_begin_array(json);
    for (size_t i = 0; i < count; i++)
        json_string(json, items[i]);
    json_end_array(json);
}

static void put_json(const struct facts *facts, struct json *json)
{
    const struct rank *rank = &facts->rank;
    int64_t task = rank_array_task();
    bool is_rank = rank->number != RANK_NONE;
    json_begin_object(json);
    put_number(json, "rank", is_rank, rank->number);
    put_number(json, "ranks", rank->size, rank->size);
    put_number(json, "local_rank", rank->local != RANK_NONE, rank->local);
    put_number(json, "local_ranks", rank->local_size, rank->local_size);
    json_put_string(json, "rank_from", is_rank ? rank->launcher->rank : NULL);
    json_put_string(json, "launcher", is_rank ? rank->launcher->name : NULL);
    put_number(json, "array_task", task >= 0, (uint64_t)task);
    json_put_string(json, "run_id", facts->context.run_id);
    json_put_string(json, "run_id_from", facts->identity.source);
    json_put_string(json, "output", facts->file);
    json_put_string(json, "host", facts->context.host);
    json_put_string(json, "python", facts->python);
    json_key(json, "variables");
    json_begin_object(json);
    for (size_t i = 0; i < facts->variable_count; i++)
        json_put_string(json, facts->variables[i], getenv(facts->variables[i]));
    json_end_object(json);
    put_strings(json, "mpi_parts", facts->parts.gl_pathv, facts->parts.gl_pathc);
    put_strings(json, "mpi_libraries", facts->libraries, facts->library_count);
    json_end_object(json);
    bytes_put_u8(json->out, '\n');
}

static int run(void *parsed, int argc, char **argv)
{
    const struct env_values *values = parsed;
    struct facts facts;
    struct bytes out = {0};
    struct err err = {0};
    if (argc) {
        err_set(&err, "'%s' is one word too many: sonde env takes none", argv[0]);
        return message_fail(&err);
    }
    int result = find_facts(&facts, &err);
    if (result == 0 && values->json)
        put_json(&facts, &(struct json){.out = &out});
    else if (result == 0)
        put_text(&facts, &out);
    clear_facts(&facts);
    return result == 0 ? output_print(&out) : message_fail(&err);
}

const struct command command_env = {
    .name = "env",
    .group = "Help",
    .summary = "Say which rank this is, who said so, and where its recording would go",
    .arguments = "",
    .description =
        "Prints what the launcher of a parallel run left in the environment and what sonde makes of it: "
        "rank, "
        "number of ranks, place on the host, the variable that said so, the run and its folder. Start it as "
        "the program would be started, since a launcher tells its ranks only; in a container it shows what "
        "came through.\n\n"
        "When the launcher is one that sonde does not know, say the rank yourself: SONDE_RANK, SONDE_SIZE, "
        "SONDE_LOCAL_RANK and SONDE_RUN_ID count before everything else, and SONDE_RANK=0 with SONDE_SIZE=1 "
        "switches ranks off.",
    .examples = "srun -n 4 sonde env\twhat each rank of a step sees\n"
                "mpirun -n 2 sonde env --json\tfor programs",
    .options = options,
    .values_size = sizeof(struct env_values),
    .run = run,
};
