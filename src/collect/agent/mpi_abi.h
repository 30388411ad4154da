/*
 * mpi_abi: the library of MPI that a process has loaded, and how it is called: what its handles, constants and statuses look
 * like. There are three ways: Open MPI's, that of MPICH and its descendants (Intel, Cray, MVAPICH), and the standard one of
 * MPI 5. They differ in a dozen numbers, which are a row of a table here, so that no library of MPI is needed to build
 * sonde, and one build serves all.
 *
 * Arguments are words: on the machines that we know, every argument of MPI's functions travels in a register or a stack slot
 * of its own, whatever its width. Of a narrow one only the lower half means something.
 */
#ifndef SONDE_COLLECT_AGENT_MPI_ABI_H
#define SONDE_COLLECT_AGENT_MPI_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uintptr_t mpi_word;

enum { MPI_ABI_ARGUMENTS = 14 };    /* at most */
enum { MPI_ABI_STATUS_BYTES = 32 }; /* of the largest */

struct mpi_abi {
    const char *name;
    const char *mark; /* a symbol that only its libraries have; NULL = all that no other row means */
    uint32_t handle_bytes, status_bytes;
    uint32_t status_source, status_tag; /* byte offsets */
    int proc_null, any_source, root;
    mpi_word in_place, no_status; /* in place of a buffer; of a status, or several */
    /* Handles: numbers, or where `mark` has symbols, these. */
    mpi_word world, self, no_communicator, no_request, byte;
    const char *world_symbol, *self_symbol, *no_communicator_symbol, *no_request_symbol, *byte_symbol;
};

/* What of the library we call ourselves; all take words. */
#define MPI_ABI_FUNCTIONS(X)                                                                                 \
    X(Initialized)                                                                                           \
    X(Finalized)                                                                                             \
    X(Comm_rank)                                                                                             \
    X(Comm_size)                                                                                             \
    X(Comm_group)                                                                                            \
    X(Comm_remote_group)                                                                                     \
    X(Comm_test_inter)                                                                                       \
    X(Comm_get_name)                                                                                         \
    X(Comm_dup)                                                                                              \
    X(Comm_free)                                                                                             \
    X(Group_size)                                                                                            \
    X(Group_translate_ranks)                                                                                 \
    X(Group_free)                                                                                            \
    X(Type_size)                                                                                             \
    X(Get_elements_x)                                                                                        \
    X(Allgather)                                                                                             \
    X(Send)                                                                                                  \
    X(Recv)

typedef int mpi_function(mpi_word, ...);

/* The library of this process. Without one, `abi` is NULL. */
struct mpi_binding {
    struct mpi_abi abi; /* with all handles filled in */
    bool is_bound;
    void *library; /* as dlopen gives it */
    void *base;    /* an address in it */
    void *fortran; /* its functions for Fortran, likewise; NULL = not loaded */
#define MPI_ABI_MEMBER(name) mpi_function *name;
    MPI_ABI_FUNCTIONS(MPI_ABI_MEMBER)
#undef MPI_ABI_MEMBER
    /* What makes a handle of a Fortran number; NULL = they are the same. */
    mpi_word (*communicator_of)(int), (*type_of)(int), (*request_of)(int), (*message_of)(int);
    /* Where the library keeps what Fortran passes in place of a status, of several, and of a buffer; NULL = it has none. It may
     * know only once Fortran has called it. */
    const void *const *status_ignored, *const *statuses_ignored, *const *in_place;
    const void *in_place_itself; /* in place of the latter: that is it */
};
extern struct mpi_binding mpi_binding;

/* Looks for a library of MPI among the loaded objects, and for its functions for Fortran. True when something was found that
 * was not known. */
bool mpi_abi_bind(void);

/* The rows, for tests. */
const struct mpi_abi *mpi_abi_find(const char *name);

/* A handle as it lies in memory. */
static inline mpi_word mpi_abi_handle(const void *at, size_t index)
{
    if (mpi_binding.abi.handle_bytes == sizeof(uint32_t))
        return ((const uint32_t *)at)[index];
    return ((const mpi_word *)at)[index];
}

/* A handle as it is passed. */
static inline mpi_word mpi_abi_handle_of(mpi_word argument)
{
    return mpi_binding.abi.handle_bytes == sizeof(uint32_t) ? (uint32_t)argument : argument;
}

#endif
