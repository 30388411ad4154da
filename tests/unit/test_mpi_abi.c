/* What MPI's libraries look like, held against the headers of those that are installed; and requests, whose handles may be equal. */
#include "collect/agent/mpi_abi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/agent/mpi_requests.h"

/* Prints the constants of the header that it is compiled with. */
static const char program[] =
    "#include <mpi.h>\n"
    "#include <stddef.h>\n"
    "#include <stdio.h>\n"
    "int main(void)\n"
    "{\n"
    "    printf(\"%zu %zu %zu %zu %zu \", sizeof(MPI_Comm), sizeof(MPI_Request), sizeof(MPI_Status),\n"
    "           offsetof(MPI_Status, MPI_SOURCE), offsetof(MPI_Status, MPI_TAG));\n"
    "    printf(\"%d %d %d %zu %ld %ld \", MPI_PROC_NULL, MPI_ANY_SOURCE, MPI_ROOT, sizeof(MPI_Count),\n"
    "           (long)MPI_IN_PLACE, (long)MPI_STATUS_IGNORE);\n"
    "    if (sizeof(MPI_Comm) == 4)\n"
    "        printf(\"%ld %ld %ld %ld %ld\", (long)MPI_COMM_WORLD, (long)MPI_COMM_SELF, "
    "(long)MPI_COMM_NULL,\n"
    "               (long)MPI_REQUEST_NULL, (long)MPI_BYTE);\n"
    "}\n";

/* How many facts were had: 0 when there is no such compiler. */
static int ask(const char *compiler, long *facts, int most)
{
    char command[1024], folder[] = "/tmp/sonde-mpi-XXXXXX", path[64];
    int found = 0;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/facts.c", folder);
    FILE *source = fopen(path, "w");
    assert_non_null(source);
    fputs(program, source);
    fclose(source);
    snprintf(command, sizeof command, "cd %s && %s -w -o facts facts.c 2>/dev/null && ./facts; rm -rf %s",
             folder, compiler, folder);
    FILE *answer = popen(command, "r");
    assert_non_null(answer);
    while (found < most && fscanf(answer, "%ld", &facts[found]) == 1)
        found++;
    pclose(answer);
    return found;
}

static void compare(const char *name, const char *compiler)
{
    long facts[16];
    const struct mpi_abi *abi = mpi_abi_find(name);
    int found = ask(compiler, facts, 16);
    if (!found)
        skip();
    assert_true(found >= 11);
    assert_int_equal(facts[0], abi->handle_bytes);
    assert_int_equal(facts[1], abi->handle_bytes);
    assert_int_equal(facts[2], abi->status_bytes);
    assert_int_equal(facts[3], abi->status_source);
    assert_int_equal(facts[4], abi->status_tag);
    assert_int_equal(facts[5], abi->proc_null);
    assert_int_equal(facts[6], abi->any_source);
    assert_int_equal(facts[7], abi->root);
    assert_int_equal(facts[8], 8);
    assert_int_equal(facts[9], (long)abi->in_place);
    assert_int_equal(facts[10], (long)abi->no_status);
    const mpi_word handles[] = {abi->world, abi->self, abi->no_communicator, abi->no_request, abi->byte};
    for (int i = 11; i < found; i++)
        assert_int_equal(facts[i], (long)handles[i - 11]);
}

static void test_openmpi(void **state)
{
    (void)state;
    compare("openmpi", "mpicc.openmpi");
}

static void test_mpich(void **state)
{
    (void)state;
    compare("mpich", "mpicc.mpich");
}

static void test_requests(void **state)
{
    (void)state;
    struct mpi_requests *requests = calloc(1, sizeof *requests);
    struct mpi_request found;
    assert_non_null(requests);
    for (uint64_t i = 1; i <= 3; i++) {
        const struct mpi_request row = {.posted_ticks = 10 * i, .number = i, .is_active = true};
        assert_true(mpi_requests_add(requests, 0xabc, &row));
    }
    for (uint64_t i = 1; i <= 3; i++) { /* of equal handles the oldest comes first */
        assert_true(mpi_requests_take(requests, 0xabc, &found));
        assert_int_equal(found.number, i);
    }
    assert_false(mpi_requests_take(requests, 0xabc, &found));
    const struct mpi_request persistent = {.number = 7, .is_persistent = true};
    assert_true(mpi_requests_add(requests, 5, &persistent));
    assert_false(mpi_requests_take(requests, 5, &found)); /* it has not begun */
    assert_non_null(mpi_requests_start(requests, 5, 100, 1));
    assert_true(mpi_requests_take(requests, 5, &found));
    assert_false(mpi_requests_take(requests, 5, &found));
    mpi_requests_drop(requests, 5);
    assert_null(mpi_requests_start(requests, 5, 100, 1));
    free(requests);
}

static void test_requests_are_bounded(void **state)
{
    (void)state;
    struct mpi_requests *requests = calloc(1, sizeof *requests);
    const struct mpi_request row = {.is_active = true};
    uint32_t taken = 0;
    assert_non_null(requests);
    for (uint32_t i = 0; i < 1000; i++)
        taken += mpi_requests_add(requests, 0x77, &row);
    assert_true(taken > 0 && taken < 1000);
    free(requests);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_openmpi),
        cmocka_unit_test(test_mpich),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_requests_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
