#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/rank.h"
#include "cli/options.h"
#include "cli/output.h"

const struct command *const sonde_commands[] = {NULL};

static const struct output_context alone = {
    .run_id = "20261115-122430-k7", .host = "node7", .rank = RANK_NONE, .pid = 4711};
static const struct output_context third = {
    .run_id = "20261115-122430-k7", .host = "node7", .rank = 3, .pid = 4712};

static void assert_path(const char *pattern, const char *program, const struct output_context *context,
                        const char *expected)
{
    char *path = NULL;
    struct err err = {0};
    int result = output_path(pattern, program, ".sonde", context, &path, &err);
    assert_string_equal(result == 0 ? path : err.text, expected);
    free(path);
}

static void test_default_names(void **state)
{
    (void)state;
    assert_path(NULL, "dir/x.py", &alone, "x.20261115-122430-k7.sonde");
    assert_path("", "desi_extract", &alone, "desi_extract.20261115-122430-k7.sonde");
    assert_path(NULL, NULL, &alone, "python.20261115-122430-k7.sonde");
    assert_path(NULL, "-", &alone, "python.20261115-122430-k7.sonde");
    assert_path("/tmp", "x.py", &alone, "/tmp/x.20261115-122430-k7.sonde");
    char *path = NULL;
    struct err err = {0};
    assert_int_equal(output_path(NULL, "x.py", ".svg", &alone, &path, &err), 0);
    assert_string_equal(path, "x.20261115-122430-k7.svg");
    free(path);
    assert_path("/tmp/", "x.py", &alone, "/tmp/x.20261115-122430-k7.sonde");
    assert_path("not-yet/", "x.py", &alone, "not-yet/x.20261115-122430-k7.sonde");
}

static void test_expansion(void **state)
{
    (void)state;
    setenv("SONDE_TEST_JOB", "99", 1);
    unsetenv("SONDE_TEST_NONE");
    assert_path("cpu_%r.prof", "x.py", &third, "cpu_3.prof");
    assert_path("cpu_%r.prof", "x.py", &alone, "cpu_0.prof");
    assert_path("%h-%p-%{SONDE_TEST_JOB}-100%%", "x.py", &alone, "node7-4711-99-100%");
    assert_path("a%{SONDE_TEST_NONE}", "x.py", &alone,
                "the output path names the environment variable SONDE_TEST_NONE, which is not set");
    assert_path("a%{X", "x.py", &alone, "in the output path, '%{X' does not end with '}'");
    assert_path("a%d", "x.py", &alone,
                "in the output path, '%d' means nothing; there are %r, %p, %h, %{NAME} and %%");
    assert_path("a%", "x.py", &alone,
                "in the output path, '%' means nothing; there are %r, %p, %h, %{NAME} and %%");
    char longer[5000];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_path(longer, "x.py", &alone, "the output path is longer than 4096 characters");
}

static void test_run_ids_sort(void **state)
{
    (void)state;
    struct output_context first, second;
    output_context_init(&first);
    usleep(2000);
    output_context_init(&second);
    assert_int_equal(strlen(first.run_id), 18);
    assert_true(strcmp(first.run_id, second.run_id) < 0);
    assert_int_equal(first.pid, getpid());
}

static void test_formats(void **state)
{
    (void)state;
    assert_string_equal(output_format("dot", "x.svg", "sonde"), "dot");
    assert_string_equal(output_format(NULL, "x.prof", "sonde"), "pstats");
    assert_string_equal(output_format(NULL, "a/b.svg", "dot"), "svg");
    assert_string_equal(output_format(NULL, "x.dat", "sonde"), "sonde");
    assert_string_equal(output_format(NULL, ".prof", "sonde"), "sonde");
    assert_string_equal(output_format(NULL, NULL, "text"), "text");
}

/* Claiming names. */

static char folder[] = "/tmp/sonde-output-XXXXXX";

static char *name_in_folder(const char *name)
{
    char *path;
    assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
    return path;
}

static int create(char **path, const struct output_context *context, struct err *err)
{
    *err = (struct err){0};
    options_common.quiet = true;
    return output_create(path, context, err);
}

static void test_a_running_writer_is_left_alone(void **state)
{
    (void)state;
    struct err err;
    char *first = name_in_folder("a.sonde"), *second = strdup(first), *third_path = strdup(first);
    int fd = create(&first, &alone, &err);
    assert_true(fd >= 0);
    int other = create(&second, &alone, &err);
    assert_true(other >= 0);
    assert_string_equal(second + strlen(first), ".0.4711");
    close(other);
    unlink(second);
    close(fd);
    /* A finished empty file is taken over under its own name. */
    other = create(&third_path, &alone, &err);
    assert_true(other >= 0);
    assert_string_equal(third_path, first);
    close(other);
    unlink(first);
    free(first);
    free(second);
    free(third_path);
}

static void test_a_rank_never_takes_what_is_there(void **state)
{
    (void)state;
    struct err err;
    char *first = name_in_folder("r.sonde"), *second = strdup(first);
    int fd = create(&first, &third, &err);
    close(fd);
    fd = create(&second, &third, &err);
    assert_true(fd >= 0);
    assert_string_equal(second + strlen(first), ".3.4712");
    close(fd);
    unlink(first);
    unlink(second);
    free(first);
    free(second);
}

static void test_only_recordings_are_replaced(void **state)
{
    (void)state;
    struct err err;
    char *path = name_in_folder("x.py");
    assert_int_equal(output_write(path, "print(1)", 8, &(struct err){0}), 0);
    assert_int_equal(create(&path, &alone, &err), -1);
    assert_non_null(strstr(err.text, "x.py exists and is no recording"));
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 8);
    assert_int_equal(output_write(path, "\x89SONDE\r\n", 8, &(struct err){0}), 0);
    int fd = create(&path, &alone, &err);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_size, 0);
    close(fd);
    unlink(path);
    free(path);
}

static void test_places_that_cannot_be_written(void **state)
{
    (void)state;
    struct err err;
    char *path = name_in_folder("none/x.sonde"), *null = strdup("/dev/null");
    assert_int_equal(create(&path, &alone, &err), -1);
    assert_non_null(strstr(err.text, "cannot create"));
    int fd = create(&null, &alone, &err);
    assert_true(fd >= 0);
    close(fd);
    free(path);
    free(null);
}

/* Ranks. */

static void assert_rank(const char *rank, const char *number, const char *size, const char *count,
                        uint32_t expected)
{
    if (number)
        setenv(rank, number, 1);
    if (count)
        setenv(size, count, 1);
    assert_int_equal(rank_detect().number, expected);
    unsetenv(rank);
    if (size)
        unsetenv(size);
}

static void test_ranks(void **state)
{
    (void)state;
    assert_rank("OMPI_COMM_WORLD_RANK", "5", "OMPI_COMM_WORLD_SIZE", "8", 5);
    assert_rank("PMI_RANK", "0", "PMI_SIZE", "2", 0);
    assert_rank("SLURM_PROCID", "3", "SLURM_STEP_NUM_TASKS", "4", 3);
    assert_rank("PMIX_RANK", "7", NULL, NULL, 7);
    /* A batch script outside srun, and a run of one. */
    assert_rank("SLURM_PROCID", "0", "SLURM_STEP_NUM_TASKS", NULL, RANK_NONE);
    assert_rank("SLURM_PROCID", "0", "SLURM_STEP_NUM_TASKS", "1", RANK_NONE);
    assert_rank("PMI_RANK", "x", "PMI_SIZE", "2", RANK_NONE);
    assert_rank("PMI_RANK", "-1", "PMI_SIZE", "2", RANK_NONE);
    assert_rank("PMI_RANK", "", "PMI_SIZE", "2", RANK_NONE);
    assert_rank("RANK", "3", "WORLD_SIZE", "4", 3);
    assert_rank("RANK", "3", "WORLD_SIZE", NULL, RANK_NONE); /* anybody may have a variable of that name */
}

static const char *look_up(const void *environment, const char *name)
{
    for (const char *const *at = environment; *at; at += 2) {
        if (strcmp(at[0], name) == 0)
            return at[1];
    }
    return NULL;
}

static struct rank found(const char *const *environment)
{
    return rank_find(look_up, environment);
}

/* Of several launchers the innermost is meant. */
static void test_order_of_launchers(void **state)
{
    (void)state;
    const char *const in_batch_script[] = {
        "SLURM_PROCID", "0", "SLURM_JOB_ID", "7", "SLURM_NTASKS", "4", "SLURM_LOCALID", "0", NULL};
    assert_int_equal(found(in_batch_script).number, RANK_NONE);
    const char *const mpirun_in_slurm[] = {"OMPI_COMM_WORLD_RANK",
                                           "2",
                                           "OMPI_COMM_WORLD_SIZE",
                                           "4",
                                           "OMPI_COMM_WORLD_LOCAL_RANK",
                                           "1",
                                           "OMPI_COMM_WORLD_LOCAL_SIZE",
                                           "2",
                                           "SLURM_PROCID",
                                           "0",
                                           "SLURM_STEP_NUM_TASKS",
                                           "2",
                                           NULL};
    struct rank rank = found(mpirun_in_slurm);
    assert_int_equal(rank.number, 2);
    assert_int_equal(rank.size, 4);
    assert_int_equal(rank.local, 1);
    assert_int_equal(rank.local_size, 2);
    assert_string_equal(rank.launcher->name, "Open MPI");
    const char *const torchrun_in_srun[] = {"PMI_RANK",
                                            "1",
                                            "PMI_SIZE",
                                            "2",
                                            "RANK",
                                            "6",
                                            "WORLD_SIZE",
                                            "8",
                                            "LOCAL_RANK",
                                            "2",
                                            "TORCHELASTIC_RUN_ID",
                                            "none",
                                            NULL};
    assert_int_equal(found(torchrun_in_srun).number, 6);
    const char *const srun_with_pmix[] = {"PMIX_RANK", "1", "SLURM_STEP_ID", "0", "SLURM_STEP_NUM_TASKS",
                                          "3",         NULL};
    assert_int_equal(found(srun_with_pmix).size, 3);
    const char *const of_user[] = {"SONDE_RANK", "9", "PMI_RANK", "1", "PMI_SIZE", "2", NULL};
    assert_int_equal(found(of_user).number, 9);
    const char *const switched_off[] = {"SONDE_RANK", "0",        "SONDE_SIZE", "1", "PMI_RANK",
                                        "1",          "PMI_SIZE", "2",          NULL};
    assert_int_equal(found(switched_off).number, RANK_NONE);
    const char *const mpirun_of_one[] = {
        "OMPI_COMM_WORLD_RANK", "0", "OMPI_COMM_WORLD_SIZE", "1", "PMIX_RANK", "0", NULL};
    assert_int_equal(found(mpirun_of_one).number, RANK_NONE);
    const char *const above_size[] = {"PMI_RANK", "5", "PMI_SIZE", "2", NULL};
    assert_int_equal(found(above_size).number, 5);
    assert_int_equal(found(above_size).size, 0);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_names),
        cmocka_unit_test(test_expansion),
        cmocka_unit_test(test_run_ids_sort),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_a_running_writer_is_left_alone),
        cmocka_unit_test(test_a_rank_never_takes_what_is_there),
        cmocka_unit_test(test_only_recordings_are_replaced),
        cmocka_unit_test(test_places_that_cannot_be_written),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_order_of_launchers),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
