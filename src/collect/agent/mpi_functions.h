/*
 * mpi_functions: the functions of MPI that are followed: one row for each, with the form of its arguments. In Fortran they have
 * the same arguments, each by its address, and one for the error at the end; with large counts (MPI_Send_c) the same but
 * for the width of counts.
 */
#ifndef SONDE_COLLECT_AGENT_MPI_FUNCTIONS_H
#define SONDE_COLLECT_AGENT_MPI_FUNCTIONS_H

#include <stdint.h>

#include "collect/agent/mpi_abi.h"

/* What the arguments are, in order. `request` comes last in what does not block. */
enum mpi_form {
    MPI_FORM_SEND,             /* buffer, count, type, peer, tag, communicator (, request) */
    MPI_FORM_SEND_INIT,        /* the same, to be started */
    MPI_FORM_RECV,             /* buffer, count, type, peer, tag, communicator, status */
    MPI_FORM_IRECV,            /* the same with a request for the status */
    MPI_FORM_RECV_INIT,        /* likewise */
    MPI_FORM_MRECV,            /* buffer, count, type, message, status */
    MPI_FORM_IMRECV,           /* the same with a request for the status */
    MPI_FORM_SENDRECV,         /* as SEND, then as RECV, with one communicator */
    MPI_FORM_SENDRECV_REPLACE, /* buffer, count, type, peer, tag, source, tag, communicator, status */
    MPI_FORM_WAIT,             /* request, status */
    MPI_FORM_WAITALL,          /* count, requests, statuses */
    MPI_FORM_WAITANY,          /* count, requests, index, status */
    MPI_FORM_WAITSOME,         /* count, requests, count of the indices, indices, statuses */
    MPI_FORM_TEST,             /* request, flag, status */
    MPI_FORM_TESTALL,          /* count, requests, flag, statuses */
    MPI_FORM_TESTANY,          /* count, requests, index, flag, status */
    MPI_FORM_START,            /* request */
    MPI_FORM_STARTALL,         /* count, requests */
    MPI_FORM_REQUEST_FREE,     /* request */
    MPI_FORM_PROBE,            /* peer, tag, communicator, ... */
    MPI_FORM_MPROBE,           /* peer, tag, communicator, message, status */
    MPI_FORM_IMPROBE,          /* peer, tag, communicator, flag, message, status */
    /* Collectives. `in`, `out`: buffer, count, type. */
    MPI_FORM_BARRIER,      /* communicator */
    MPI_FORM_BCAST,        /* buffer, count, type, root, communicator */
    MPI_FORM_REDUCE,       /* buffers, count, type, operation, root, communicator */
    MPI_FORM_ALLREDUCE,    /* buffers, count, type, operation, communicator */
    MPI_FORM_REDUCE_SPLIT, /* the same with a count for each rank */
    MPI_FORM_REDUCE_BLOCK, /* the same with one count for all ranks */
    MPI_FORM_GATHER,       /* in, out, root, communicator */
    MPI_FORM_GATHERV,      /* in, buffer, counts, offsets, type, root, communicator */
    MPI_FORM_SCATTER,      /* in, out, root, communicator */
    MPI_FORM_SCATTERV,     /* buffer, counts, offsets, type, out, root, communicator */
    MPI_FORM_ALLGATHER,    /* in, out, communicator */
    MPI_FORM_ALLGATHERV,   /* in, buffer, counts, offsets, type, communicator */
    MPI_FORM_ALLTOALL,     /* in, out, communicator */
    MPI_FORM_ALLTOALLV,    /* buffer, counts, offsets, type, the same again, communicator */
    MPI_FORM_ALLTOALLW,    /* the same with a type for each rank */
    /* The others; `at`: where something is that the row names. */
    MPI_FORM_INIT,
    MPI_FORM_FINALIZE,
    MPI_FORM_PCONTROL, /* level */
    MPI_FORM_MAKE,     /* makes a communicator: from that at `from`, an address of it at `at` */
    MPI_FORM_FREE,     /* address of a communicator */
    MPI_FORM_NAME,     /* communicator, name */
    MPI_FORM_ON,       /* something with the communicator at `at` */
    MPI_FORM_PUT,      /* moves count, type at `at` away, with a window or a file */
    MPI_FORM_GET,      /* the same to here */
    MPI_FORM_OTHER,
};

/* name, its number (store/mpi_calls.h), form, how many arguments, `from`, `at` */
#define MPI_FUNCTIONS(X)                                                                                     \
    X(Send, SEND, SEND, 6, 0, 0)                                                                             \
    X(Bsend, BSEND, SEND, 6, 0, 0)                                                                           \
    X(Ssend, SSEND, SEND, 6, 0, 0)                                                                           \
    X(Rsend, RSEND, SEND, 6, 0, 0)                                                                           \
    X(Isend, ISEND, SEND, 7, 0, 0)                                                                           \
    X(Ibsend, IBSEND, SEND, 7, 0, 0)                                                                         \
    X(Issend, ISSEND, SEND, 7, 0, 0)                                                                         \
    X(Irsend, IRSEND, SEND, 7, 0, 0)                                                                         \
    X(Send_init, ISEND, SEND_INIT, 7, 0, 0)                                                                  \
    X(Bsend_init, IBSEND, SEND_INIT, 7, 0, 0)                                                                \
    X(Ssend_init, ISSEND, SEND_INIT, 7, 0, 0)                                                                \
    X(Rsend_init, IRSEND, SEND_INIT, 7, 0, 0)                                                                \
    X(Recv, RECV, RECV, 7, 0, 0)                                                                             \
    X(Irecv, IRECV, IRECV, 7, 0, 0)                                                                          \
    X(Recv_init, IRECV, RECV_INIT, 7, 0, 0)                                                                  \
    X(Mrecv, MRECV, MRECV, 5, 0, 0)                                                                          \
    X(Imrecv, IMRECV, IMRECV, 5, 0, 0)                                                                       \
    X(Sendrecv, SENDRECV, SENDRECV, 12, 0, 0)                                                                \
    X(Sendrecv_replace, SENDRECV_REPLACE, SENDRECV_REPLACE, 9, 0, 0)                                         \
    X(Wait, WAIT, WAIT, 2, 0, 0)                                                                             \
    X(Waitall, WAITALL, WAITALL, 3, 0, 0)                                                                    \
    X(Waitany, WAITANY, WAITANY, 4, 0, 0)                                                                    \
    X(Waitsome, WAITSOME, WAITSOME, 5, 0, 0)                                                                 \
    X(Test, TEST, TEST, 3, 0, 0)                                                                             \
    X(Testall, TESTALL, TESTALL, 4, 0, 0)                                                                    \
    X(Testany, TESTANY, TESTANY, 5, 0, 0)                                                                    \
    X(Testsome, TESTSOME, WAITSOME, 5, 0, 0)                                                                 \
    X(Start, START, START, 1, 0, 0)                                                                          \
    X(Startall, STARTALL, STARTALL, 2, 0, 0)                                                                 \
    X(Request_free, REQUEST_FREE, REQUEST_FREE, 1, 0, 0)                                                     \
    X(Probe, PROBE, PROBE, 4, 0, 0)                                                                          \
    X(Iprobe, IPROBE, PROBE, 5, 0, 0)                                                                        \
    X(Mprobe, MPROBE, MPROBE, 5, 0, 0)                                                                       \
    X(Improbe, IMPROBE, IMPROBE, 6, 0, 0)                                                                    \
    X(Barrier, BARRIER, BARRIER, 1, 0, 0)                                                                    \
    X(Ibarrier, IBARRIER, BARRIER, 2, 0, 0)                                                                  \
    X(Bcast, BCAST, BCAST, 5, 0, 0)                                                                          \
    X(Ibcast, IBCAST, BCAST, 6, 0, 0)                                                                        \
    X(Reduce, REDUCE, REDUCE, 7, 0, 0)                                                                       \
    X(Ireduce, IREDUCE, REDUCE, 8, 0, 0)                                                                     \
    X(Allreduce, ALLREDUCE, ALLREDUCE, 6, 0, 0)                                                              \
    X(Iallreduce, IALLREDUCE, ALLREDUCE, 7, 0, 0)                                                            \
    X(Scan, SCAN, ALLREDUCE, 6, 0, 0)                                                                        \
    X(Iscan, ISCAN, ALLREDUCE, 7, 0, 0)                                                                      \
    X(Exscan, EXSCAN, ALLREDUCE, 6, 0, 0)                                                                    \
    X(Iexscan, IEXSCAN, ALLREDUCE, 7, 0, 0)                                                                  \
    X(Reduce_scatter, REDUCE_SCATTER, REDUCE_SPLIT, 6, 0, 0)                                                 \
    X(Ireduce_scatter, IREDUCE_SCATTER, REDUCE_SPLIT, 7, 0, 0)                                               \
    X(Reduce_scatter_block, REDUCE_SCATTER_BLOCK, REDUCE_BLOCK, 6, 0, 0)                                     \
    X(Ireduce_scatter_block, IREDUCE_SCATTER_BLOCK, REDUCE_BLOCK, 7, 0, 0)                                   \
    X(Gather, GATHER, GATHER, 8, 0, 0)                                                                       \
    X(Igather, IGATHER, GATHER, 9, 0, 0)                                                                     \
    X(Gatherv, GATHERV, GATHERV, 9, 0, 0)                                                                    \
    X(Igatherv, IGATHERV, GATHERV, 10, 0, 0)                                                                 \
    X(Scatter, SCATTER, SCATTER, 8, 0, 0)                                                                    \
    X(Iscatter, ISCATTER, SCATTER, 9, 0, 0)                                                                  \
    X(Scatterv, SCATTERV, SCATTERV, 9, 0, 0)                                                                 \
    X(Iscatterv, ISCATTERV, SCATTERV, 10, 0, 0)                                                              \
    X(Allgather, ALLGATHER, ALLGATHER, 7, 0, 0)                                                              \
    X(Iallgather, IALLGATHER, ALLGATHER, 8, 0, 0)                                                            \
    X(Allgatherv, ALLGATHERV, ALLGATHERV, 8, 0, 0)                                                           \
    X(Iallgatherv, IALLGATHERV, ALLGATHERV, 9, 0, 0)                                                         \
    X(Alltoall, ALLTOALL, ALLTOALL, 7, 0, 0)                                                                 \
    X(Ialltoall, IALLTOALL, ALLTOALL, 8, 0, 0)                                                               \
    X(Alltoallv, ALLTOALLV, ALLTOALLV, 9, 0, 0)                                                              \
    X(Ialltoallv, IALLTOALLV, ALLTOALLV, 10, 0, 0)                                                           \
    X(Alltoallw, ALLTOALLW, ALLTOALLW, 9, 0, 0)                                                              \
    X(Ialltoallw, IALLTOALLW, ALLTOALLW, 10, 0, 0)                                                           \
    X(Neighbor_allgather, NEIGHBOR_ALLGATHER, ON, 7, 0, 6)                                                   \
    X(Ineighbor_allgather, INEIGHBOR_ALLGATHER, ON, 8, 0, 6)                                                 \
    X(Neighbor_allgatherv, NEIGHBOR_ALLGATHERV, ON, 8, 0, 7)                                                 \
    X(Ineighbor_allgatherv, INEIGHBOR_ALLGATHERV, ON, 9, 0, 7)                                               \
    X(Neighbor_alltoall, NEIGHBOR_ALLTOALL, ON, 7, 0, 6)                                                     \
    X(Ineighbor_alltoall, INEIGHBOR_ALLTOALL, ON, 8, 0, 6)                                                   \
    X(Neighbor_alltoallv, NEIGHBOR_ALLTOALLV, ON, 9, 0, 8)                                                   \
    X(Ineighbor_alltoallv, INEIGHBOR_ALLTOALLV, ON, 10, 0, 8)                                                \
    X(Neighbor_alltoallw, NEIGHBOR_ALLTOALLW, ON, 9, 0, 8)                                                   \
    X(Ineighbor_alltoallw, INEIGHBOR_ALLTOALLW, ON, 10, 0, 8)                                                \
    X(Init, INIT, INIT, 2, 0, 0)                                                                             \
    X(Init_thread, INIT, INIT, 4, 0, 0)                                                                      \
    X(Finalize, FINALIZE, FINALIZE, 1, 0, 0)                                                                 \
    X(Pcontrol, OTHER, PCONTROL, 4, 0, 0)                                                                    \
    X(Comm_dup, COMM_DUP, MAKE, 2, 0, 1)                                                                     \
    X(Comm_dup_with_info, COMM_DUP_WITH_INFO, MAKE, 3, 0, 2)                                                 \
    X(Comm_split, COMM_SPLIT, MAKE, 4, 0, 3)                                                                 \
    X(Comm_split_type, COMM_SPLIT_TYPE, MAKE, 5, 0, 4)                                                       \
    X(Comm_create, COMM_CREATE, MAKE, 3, 0, 2)                                                               \
    X(Comm_create_group, COMM_CREATE_GROUP, MAKE, 4, 0, 3)                                                   \
    X(Comm_spawn, COMM_SPAWN, MAKE, 8, 5, 6)                                                                 \
    X(Comm_free, COMM_FREE, FREE, 1, 0, 0)                                                                   \
    X(Comm_disconnect, COMM_DISCONNECT, FREE, 1, 0, 0)                                                       \
    X(Comm_set_name, COMM_SET_NAME, NAME, 2, 0, 0)                                                           \
    X(Intercomm_create, INTERCOMM_CREATE, MAKE, 6, 0, 5)                                                     \
    X(Intercomm_merge, INTERCOMM_MERGE, MAKE, 3, 0, 2)                                                       \
    X(Cart_create, CART_CREATE, MAKE, 6, 0, 5)                                                               \
    X(Cart_sub, CART_SUB, MAKE, 3, 0, 2)                                                                     \
    X(Graph_create, GRAPH_CREATE, MAKE, 6, 0, 5)                                                             \
    X(Dist_graph_create, DIST_GRAPH_CREATE, MAKE, 9, 0, 8)                                                   \
    X(Dist_graph_create_adjacent, DIST_GRAPH_CREATE_ADJACENT, MAKE, 10, 0, 9)                                \
    X(Put, PUT, PUT, 8, 0, 1)                                                                                \
    X(Rput, RPUT, PUT, 9, 0, 1)                                                                              \
    X(Get, GET, GET, 8, 0, 1)                                                                                \
    X(Rget, RGET, GET, 9, 0, 1)                                                                              \
    X(Accumulate, ACCUMULATE, PUT, 9, 0, 1)                                                                  \
    X(Raccumulate, RACCUMULATE, PUT, 10, 0, 1)                                                               \
    X(Get_accumulate, GET_ACCUMULATE, GET, 12, 0, 4)                                                         \
    X(Rget_accumulate, RGET_ACCUMULATE, GET, 13, 0, 4)                                                       \
    X(Fetch_and_op, FETCH_AND_OP, OTHER, 7, 0, 0)                                                            \
    X(Compare_and_swap, COMPARE_AND_SWAP, OTHER, 7, 0, 0)                                                    \
    X(Win_create, WIN_CREATE, ON, 6, 0, 4)                                                                   \
    X(Win_allocate, WIN_ALLOCATE, ON, 6, 0, 3)                                                               \
    X(Win_allocate_shared, WIN_ALLOCATE_SHARED, ON, 6, 0, 3)                                                 \
    X(Win_free, WIN_FREE, OTHER, 1, 0, 0)                                                                    \
    X(Win_fence, WIN_FENCE, OTHER, 2, 0, 0)                                                                  \
    X(Win_lock, WIN_LOCK, OTHER, 4, 0, 0)                                                                    \
    X(Win_unlock, WIN_UNLOCK, OTHER, 2, 0, 0)                                                                \
    X(Win_lock_all, WIN_LOCK_ALL, OTHER, 2, 0, 0)                                                            \
    X(Win_unlock_all, WIN_UNLOCK_ALL, OTHER, 1, 0, 0)                                                        \
    X(Win_flush, WIN_FLUSH, OTHER, 2, 0, 0)                                                                  \
    X(Win_flush_all, WIN_FLUSH_ALL, OTHER, 1, 0, 0)                                                          \
    X(Win_start, WIN_START, OTHER, 3, 0, 0)                                                                  \
    X(Win_complete, WIN_COMPLETE, OTHER, 1, 0, 0)                                                            \
    X(Win_post, WIN_POST, OTHER, 3, 0, 0)                                                                    \
    X(Win_wait, WIN_WAIT, OTHER, 1, 0, 0)                                                                    \
    X(File_open, FILE_OPEN, ON, 5, 0, 0)                                                                     \
    X(File_close, FILE_CLOSE, OTHER, 1, 0, 0)                                                                \
    X(File_read, FILE_READ, GET, 5, 0, 2)                                                                    \
    X(File_read_all, FILE_READ_ALL, GET, 5, 0, 2)                                                            \
    X(File_read_at, FILE_READ_AT, GET, 6, 0, 3)                                                              \
    X(File_read_at_all, FILE_READ_AT_ALL, GET, 6, 0, 3)                                                      \
    X(File_write, FILE_WRITE, PUT, 5, 0, 2)                                                                  \
    X(File_write_all, FILE_WRITE_ALL, PUT, 5, 0, 2)                                                          \
    X(File_write_at, FILE_WRITE_AT, PUT, 6, 0, 3)                                                            \
    X(File_write_at_all, FILE_WRITE_AT_ALL, PUT, 6, 0, 3)                                                    \
    X(File_sync, FILE_SYNC, OTHER, 1, 0, 0)                                                                  \
    X(Abort, ABORT, OTHER, 2, 0, 0)                                                                          \
    X(Request_get_status, REQUEST_GET_STATUS, OTHER, 3, 0, 0)                                                \
    X(Buffer_detach, BUFFER_DETACH, OTHER, 2, 0, 0)                                                          \
    X(Isendrecv, ISENDRECV, ON, 12, 0, 10)                                                                   \
    X(Isendrecv_replace, ISENDRECV_REPLACE, ON, 9, 0, 7)                                                     \
    X(Comm_idup, COMM_IDUP, ON, 3, 0, 0)                                                                     \
    X(Comm_spawn_multiple, COMM_SPAWN_MULTIPLE, MAKE, 9, 6, 7)                                               \
    X(Comm_accept, COMM_ACCEPT, MAKE, 5, 3, 4)                                                               \
    X(Comm_connect, COMM_CONNECT, MAKE, 5, 3, 4)                                                             \
    X(Win_create_dynamic, WIN_CREATE_DYNAMIC, ON, 3, 0, 1)                                                   \
    X(Win_flush_local, WIN_FLUSH_LOCAL, OTHER, 2, 0, 0)                                                      \
    X(Win_flush_local_all, WIN_FLUSH_LOCAL_ALL, OTHER, 1, 0, 0)                                              \
    X(Win_sync, WIN_SYNC, OTHER, 1, 0, 0)                                                                    \
    X(Win_test, WIN_TEST, OTHER, 2, 0, 0)                                                                    \
    X(File_iread, FILE_IREAD, GET, 5, 0, 2)                                                                  \
    X(File_iread_all, FILE_IREAD_ALL, GET, 5, 0, 2)                                                          \
    X(File_iread_at, FILE_IREAD_AT, GET, 6, 0, 3)                                                            \
    X(File_iread_at_all, FILE_IREAD_AT_ALL, GET, 6, 0, 3)                                                    \
    X(File_iwrite, FILE_IWRITE, PUT, 5, 0, 2)                                                                \
    X(File_iwrite_all, FILE_IWRITE_ALL, PUT, 5, 0, 2)                                                        \
    X(File_iwrite_at, FILE_IWRITE_AT, PUT, 6, 0, 3)                                                          \
    X(File_iwrite_at_all, FILE_IWRITE_AT_ALL, PUT, 6, 0, 3)                                                  \
    X(File_read_shared, FILE_READ_SHARED, GET, 5, 0, 2)                                                      \
    X(File_write_shared, FILE_WRITE_SHARED, PUT, 5, 0, 2)                                                    \
    X(File_read_ordered, FILE_READ_ORDERED, GET, 5, 0, 2)                                                    \
    X(File_write_ordered, FILE_WRITE_ORDERED, PUT, 5, 0, 2)                                                  \
    X(File_set_view, FILE_SET_VIEW, OTHER, 6, 0, 0)                                                          \
    X(File_set_size, FILE_SET_SIZE, OTHER, 2, 0, 0)                                                          \
    X(File_preallocate, FILE_PREALLOCATE, OTHER, 2, 0, 0)                                                    \
    X(File_delete, FILE_DELETE, OTHER, 2, 0, 0)

/* Which of a function's three ways of being called. */
enum mpi_language { MPI_LANGUAGE_C, MPI_LANGUAGE_C_LARGE, MPI_LANGUAGE_FORTRAN, MPI_LANGUAGES };

struct mpi_function_row {
    const char *name; /* "Send" */
    uint8_t call;     /* enum mpi_call */
    uint8_t form;     /* enum mpi_form */
    uint8_t arguments;
    uint8_t from, at;
    void *wrappers[MPI_LANGUAGES];  /* what stands before the function */
    void *originals[MPI_LANGUAGES]; /* the function; NULL = this library has none such */
};

/* In mpi_wrappers.c; ends with a name of NULL. */
extern struct mpi_function_row mpi_wrappers[];

#endif
