/* The library that follows calls of MPI: its beginning, and which functions it stands before. */
#include <ctype.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "collect/agent/agent.h"
#include "collect/agent/mpi.h"
#include "collect/agent/mpi_functions.h"
#include "collect/agent/mpi_tracker.h"
#include "collect/agent/relocations.h"

enum { ROWS_MAX = 1000, NAME_BYTES = 48, MANGLINGS = 4 };

static struct redirection rows[ROWS_MAX];
static char names[ROWS_MAX][NAME_BYTES];
static void *originals[ROWS_MAX];
static size_t row_count;

/* A function by that name in the library, if it has one. */
static void add_row(void *library, const char *name, void *wrapper, void **original)
{
    void *found = library ? dlsym(library, name) : NULL;
    if (!found || row_count == ROWS_MAX)
        return;
    snprintf(names[row_count], NAME_BYTES, "%s", name);
    originals[row_count] = found;
    *original = found;
    rows[row_count] = (struct redirection){.name = names[row_count],
                                           .replacement = wrapper,
                                           .original = &originals[row_count],
                                           .is_known = true};
    row_count++;
}

/* As Fortran compilers write a name: mpi_send_, mpi_send, mpi_send__, MPI_SEND. */
static void mangle(char *out, const char *name, int mangling)
{
    static const char *const ends[MANGLINGS] = {"", "__", "",
                                                "_"}; /* the last is the usual one, and is called */
    snprintf(out, NAME_BYTES, "MPI_%s%s", name, ends[mangling]);
    for (char *at = out; *at; at++)
        *at = (char)(mangling == 0 ? toupper(*at) : tolower(*at));
}

static void add_c(struct mpi_function_row *row)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "MPI_%s", row->name);
    add_row(mpi_binding.library, name, row->wrappers[MPI_LANGUAGE_C], &row->originals[MPI_LANGUAGE_C]);
    snprintf(name, sizeof name, "MPI_%s_c", row->name);
    add_row(mpi_binding.library, name, row->wrappers[MPI_LANGUAGE_C_LARGE],
            &row->originals[MPI_LANGUAGE_C_LARGE]);
}

static void add_fortran(struct mpi_function_row *row)
{
    for (int i = 0; i < MANGLINGS; i++) {
        char name[NAME_BYTES];
        mangle(name, row->name, i);
        add_row(mpi_binding.fortran, name, row->wrappers[MPI_LANGUAGE_FORTRAN],
                &row->originals[MPI_LANGUAGE_FORTRAN]);
    }
}

/* Rows that were there keep their places: another thread may just be looking at one. */
static void redirect(void)
{
    const void *const own[] = {mpi_binding.base};
    row_count = 0;
    for (struct mpi_function_row *row = mpi_wrappers; row->name && mpi_binding.is_bound; row++)
        add_c(row);
    for (struct mpi_function_row *row = mpi_wrappers; row->name && mpi_binding.fortran; row++)
        add_fortran(row);
    relocations_redirect(rows, row_count, own, mpi_binding.is_bound);
}

/* Threads may load libraries at the same time; one sees to it. */
static void loaded(void)
{
    static atomic_flag busy = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&busy))
        return;
    if (mpi_abi_bind())
        redirect();
    atomic_flag_clear(&busy);
}

static void rest(bool resting)
{
    mpi_tracker_pause(MPI_PAUSED_BY_SONDE, resting);
}

static void start(const struct agent *agent)
{
    mpi_tracker_init(agent);
    rest(session_begins_at_rest(agent->session));
    mpi_abi_bind();
    relocations_call_at_loads(loaded);
    redirect();
}

__attribute__((visibility("default"))) const struct mpi sonde_mpi = {
    .version = MPI_INTERFACE, .start = start, .python_runs = mpi_tracker_read_python, .rest = rest};
