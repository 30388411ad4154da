/*
 * mpi_calls: what ranks can do with one another, as numbers in a file. The numbers are never changed: new ones are
 * appended. 0 is a call that this version does not know.
 */
#ifndef SONDE_STORE_MPI_CALLS_H
#define SONDE_STORE_MPI_CALLS_H

#include <stdint.h>

/* Who takes part, and so who may wait for whom. */
enum mpi_shape {
    MPI_SHAPE_OTHER,
    MPI_SHAPE_SEND,
    MPI_SHAPE_RECEIVE,
    MPI_SHAPE_EXCHANGE,     /* sends, receives, or both */
    MPI_SHAPE_WAIT,         /* for what was posted before, or for what may come */
    MPI_SHAPE_ALL_WITH_ALL, /* nobody leaves before the last has come */
    MPI_SHAPE_ONE_TO_ALL,   /* nobody leaves before the root has come */
    MPI_SHAPE_ALL_TO_ONE,   /* the root does not leave before the last has come */
    MPI_SHAPE_PREFIX,       /* a rank does not leave before those below it have come */
    MPI_SHAPE_NEIGHBOURS,
    MPI_SHAPE_GROUP, /* makes or ends communicators, or MPI itself */
    MPI_SHAPE_MEMORY,
    MPI_SHAPE_FILE,
    MPI_SHAPE_PYTHON, /* no call of MPI's: what Python does around it */
};

/* name, number, as it is written, shape */
#define MPI_CALLS(X)                                                                                         \
    X(SEND, 1, "MPI_Send", SEND)                                                                             \
    X(BSEND, 2, "MPI_Bsend", SEND)                                                                           \
    X(SSEND, 3, "MPI_Ssend", SEND)                                                                           \
    X(RSEND, 4, "MPI_Rsend", SEND)                                                                           \
    X(ISEND, 5, "MPI_Isend", SEND)                                                                           \
    X(IBSEND, 6, "MPI_Ibsend", SEND)                                                                         \
    X(ISSEND, 7, "MPI_Issend", SEND)                                                                         \
    X(IRSEND, 8, "MPI_Irsend", SEND)                                                                         \
    X(RECV, 9, "MPI_Recv", RECEIVE)                                                                          \
    X(IRECV, 10, "MPI_Irecv", RECEIVE)                                                                       \
    X(MRECV, 11, "MPI_Mrecv", RECEIVE)                                                                       \
    X(IMRECV, 12, "MPI_Imrecv", RECEIVE)                                                                     \
    X(SENDRECV, 13, "MPI_Sendrecv", EXCHANGE)                                                                \
    X(SENDRECV_REPLACE, 14, "MPI_Sendrecv_replace", EXCHANGE)                                                \
    X(WAIT, 15, "MPI_Wait", WAIT)                                                                            \
    X(WAITALL, 16, "MPI_Waitall", WAIT)                                                                      \
    X(WAITANY, 17, "MPI_Waitany", WAIT)                                                                      \
    X(WAITSOME, 18, "MPI_Waitsome", WAIT)                                                                    \
    X(TEST, 19, "MPI_Test", WAIT)                                                                            \
    X(TESTALL, 20, "MPI_Testall", WAIT)                                                                      \
    X(TESTANY, 21, "MPI_Testany", WAIT)                                                                      \
    X(TESTSOME, 22, "MPI_Testsome", WAIT)                                                                    \
    X(START, 23, "MPI_Start", EXCHANGE)                                                                      \
    X(STARTALL, 24, "MPI_Startall", WAIT)                                                                    \
    X(PROBE, 25, "MPI_Probe", WAIT)                                                                          \
    X(IPROBE, 26, "MPI_Iprobe", WAIT)                                                                        \
    X(MPROBE, 27, "MPI_Mprobe", WAIT)                                                                        \
    X(IMPROBE, 28, "MPI_Improbe", WAIT)                                                                      \
    X(BARRIER, 29, "MPI_Barrier", ALL_WITH_ALL)                                                              \
    X(IBARRIER, 30, "MPI_Ibarrier", ALL_WITH_ALL)                                                            \
    X(ALLREDUCE, 31, "MPI_Allreduce", ALL_WITH_ALL)                                                          \
    X(IALLREDUCE, 32, "MPI_Iallreduce", ALL_WITH_ALL)                                                        \
    X(ALLGATHER, 33, "MPI_Allgather", ALL_WITH_ALL)                                                          \
    X(IALLGATHER, 34, "MPI_Iallgather", ALL_WITH_ALL)                                                        \
    X(ALLGATHERV, 35, "MPI_Allgatherv", ALL_WITH_ALL)                                                        \
    X(IALLGATHERV, 36, "MPI_Iallgatherv", ALL_WITH_ALL)                                                      \
    X(ALLTOALL, 37, "MPI_Alltoall", ALL_WITH_ALL)                                                            \
    X(IALLTOALL, 38, "MPI_Ialltoall", ALL_WITH_ALL)                                                          \
    X(ALLTOALLV, 39, "MPI_Alltoallv", ALL_WITH_ALL)                                                          \
    X(IALLTOALLV, 40, "MPI_Ialltoallv", ALL_WITH_ALL)                                                        \
    X(ALLTOALLW, 41, "MPI_Alltoallw", ALL_WITH_ALL)                                                          \
    X(IALLTOALLW, 42, "MPI_Ialltoallw", ALL_WITH_ALL)                                                        \
    X(REDUCE_SCATTER, 43, "MPI_Reduce_scatter", ALL_WITH_ALL)                                                \
    X(IREDUCE_SCATTER, 44, "MPI_Ireduce_scatter", ALL_WITH_ALL)                                              \
    X(REDUCE_SCATTER_BLOCK, 45, "MPI_Reduce_scatter_block", ALL_WITH_ALL)                                    \
    X(IREDUCE_SCATTER_BLOCK, 46, "MPI_Ireduce_scatter_block", ALL_WITH_ALL)                                  \
    X(BCAST, 47, "MPI_Bcast", ONE_TO_ALL)                                                                    \
    X(IBCAST, 48, "MPI_Ibcast", ONE_TO_ALL)                                                                  \
    X(SCATTER, 49, "MPI_Scatter", ONE_TO_ALL)                                                                \
    X(ISCATTER, 50, "MPI_Iscatter", ONE_TO_ALL)                                                              \
    X(SCATTERV, 51, "MPI_Scatterv", ONE_TO_ALL)                                                              \
    X(ISCATTERV, 52, "MPI_Iscatterv", ONE_TO_ALL)                                                            \
    X(REDUCE, 53, "MPI_Reduce", ALL_TO_ONE)                                                                  \
    X(IREDUCE, 54, "MPI_Ireduce", ALL_TO_ONE)                                                                \
    X(GATHER, 55, "MPI_Gather", ALL_TO_ONE)                                                                  \
    X(IGATHER, 56, "MPI_Igather", ALL_TO_ONE)                                                                \
    X(GATHERV, 57, "MPI_Gatherv", ALL_TO_ONE)                                                                \
    X(IGATHERV, 58, "MPI_Igatherv", ALL_TO_ONE)                                                              \
    X(SCAN, 59, "MPI_Scan", PREFIX)                                                                          \
    X(ISCAN, 60, "MPI_Iscan", PREFIX)                                                                        \
    X(EXSCAN, 61, "MPI_Exscan", PREFIX)                                                                      \
    X(IEXSCAN, 62, "MPI_Iexscan", PREFIX)                                                                    \
    X(NEIGHBOR_ALLGATHER, 63, "MPI_Neighbor_allgather", NEIGHBOURS)                                          \
    X(NEIGHBOR_ALLGATHERV, 64, "MPI_Neighbor_allgatherv", NEIGHBOURS)                                        \
    X(NEIGHBOR_ALLTOALL, 65, "MPI_Neighbor_alltoall", NEIGHBOURS)                                            \
    X(NEIGHBOR_ALLTOALLV, 66, "MPI_Neighbor_alltoallv", NEIGHBOURS)                                          \
    X(NEIGHBOR_ALLTOALLW, 67, "MPI_Neighbor_alltoallw", NEIGHBOURS)                                          \
    X(INIT, 68, "MPI_Init", GROUP)                                                                           \
    X(FINALIZE, 69, "MPI_Finalize", GROUP)                                                                   \
    X(COMM_DUP, 70, "MPI_Comm_dup", GROUP)                                                                   \
    X(COMM_SPLIT, 71, "MPI_Comm_split", GROUP)                                                               \
    X(COMM_SPLIT_TYPE, 72, "MPI_Comm_split_type", GROUP)                                                     \
    X(COMM_CREATE, 73, "MPI_Comm_create", GROUP)                                                             \
    X(COMM_CREATE_GROUP, 74, "MPI_Comm_create_group", GROUP)                                                 \
    X(COMM_FREE, 75, "MPI_Comm_free", GROUP)                                                                 \
    X(INTERCOMM_CREATE, 76, "MPI_Intercomm_create", GROUP)                                                   \
    X(INTERCOMM_MERGE, 77, "MPI_Intercomm_merge", GROUP)                                                     \
    X(CART_CREATE, 78, "MPI_Cart_create", GROUP)                                                             \
    X(DIST_GRAPH_CREATE_ADJACENT, 79, "MPI_Dist_graph_create_adjacent", GROUP)                               \
    X(PUT, 80, "MPI_Put", MEMORY)                                                                            \
    X(GET, 81, "MPI_Get", MEMORY)                                                                            \
    X(ACCUMULATE, 82, "MPI_Accumulate", MEMORY)                                                              \
    X(GET_ACCUMULATE, 83, "MPI_Get_accumulate", MEMORY)                                                      \
    X(FETCH_AND_OP, 84, "MPI_Fetch_and_op", MEMORY)                                                          \
    X(COMPARE_AND_SWAP, 85, "MPI_Compare_and_swap", MEMORY)                                                  \
    X(WIN_CREATE, 86, "MPI_Win_create", MEMORY)                                                              \
    X(WIN_ALLOCATE, 87, "MPI_Win_allocate", MEMORY)                                                          \
    X(WIN_ALLOCATE_SHARED, 88, "MPI_Win_allocate_shared", MEMORY)                                            \
    X(WIN_FREE, 89, "MPI_Win_free", MEMORY)                                                                  \
    X(WIN_FENCE, 90, "MPI_Win_fence", MEMORY)                                                                \
    X(WIN_LOCK, 91, "MPI_Win_lock", MEMORY)                                                                  \
    X(WIN_UNLOCK, 92, "MPI_Win_unlock", MEMORY)                                                              \
    X(WIN_LOCK_ALL, 93, "MPI_Win_lock_all", MEMORY)                                                          \
    X(WIN_UNLOCK_ALL, 94, "MPI_Win_unlock_all", MEMORY)                                                      \
    X(WIN_FLUSH, 95, "MPI_Win_flush", MEMORY)                                                                \
    X(WIN_FLUSH_ALL, 96, "MPI_Win_flush_all", MEMORY)                                                        \
    X(WIN_START, 97, "MPI_Win_start", MEMORY)                                                                \
    X(WIN_COMPLETE, 98, "MPI_Win_complete", MEMORY)                                                          \
    X(WIN_POST, 99, "MPI_Win_post", MEMORY)                                                                  \
    X(WIN_WAIT, 100, "MPI_Win_wait", MEMORY)                                                                 \
    X(FILE_OPEN, 101, "MPI_File_open", FILE)                                                                 \
    X(FILE_CLOSE, 102, "MPI_File_close", FILE)                                                               \
    X(FILE_READ, 103, "MPI_File_read", FILE)                                                                 \
    X(FILE_READ_ALL, 104, "MPI_File_read_all", FILE)                                                         \
    X(FILE_READ_AT, 105, "MPI_File_read_at", FILE)                                                           \
    X(FILE_READ_AT_ALL, 106, "MPI_File_read_at_all", FILE)                                                   \
    X(FILE_WRITE, 107, "MPI_File_write", FILE)                                                               \
    X(FILE_WRITE_ALL, 108, "MPI_File_write_all", FILE)                                                       \
    X(FILE_WRITE_AT, 109, "MPI_File_write_at", FILE)                                                         \
    X(FILE_WRITE_AT_ALL, 110, "MPI_File_write_at_all", FILE)                                                 \
    X(FILE_SYNC, 111, "MPI_File_sync", FILE)                                                                 \
    X(PICKLE, 112, "pickle", PYTHON)                                                                         \
    X(UNPICKLE, 113, "unpickle", PYTHON)                                                                     \
    X(ABORT, 114, "MPI_Abort", GROUP)                                                                        \
    X(SEND_INIT, 115, "MPI_Send_init", WAIT)                                                                 \
    X(RECV_INIT, 116, "MPI_Recv_init", WAIT)                                                                 \
    X(REQUEST_FREE, 117, "MPI_Request_free", WAIT)                                                           \
    X(REQUEST_GET_STATUS, 118, "MPI_Request_get_status", WAIT)                                               \
    X(BUFFER_DETACH, 119, "MPI_Buffer_detach", WAIT)                                                         \
    X(ISENDRECV, 120, "MPI_Isendrecv", WAIT)                                                                 \
    X(ISENDRECV_REPLACE, 121, "MPI_Isendrecv_replace", WAIT)                                                 \
    X(INEIGHBOR_ALLGATHER, 122, "MPI_Ineighbor_allgather", NEIGHBOURS)                                       \
    X(INEIGHBOR_ALLGATHERV, 123, "MPI_Ineighbor_allgatherv", NEIGHBOURS)                                     \
    X(INEIGHBOR_ALLTOALL, 124, "MPI_Ineighbor_alltoall", NEIGHBOURS)                                         \
    X(INEIGHBOR_ALLTOALLV, 125, "MPI_Ineighbor_alltoallv", NEIGHBOURS)                                       \
    X(INEIGHBOR_ALLTOALLW, 126, "MPI_Ineighbor_alltoallw", NEIGHBOURS)                                       \
    X(COMM_DUP_WITH_INFO, 127, "MPI_Comm_dup_with_info", GROUP)                                              \
    X(COMM_IDUP, 128, "MPI_Comm_idup", GROUP)                                                                \
    X(COMM_SPAWN, 129, "MPI_Comm_spawn", GROUP)                                                              \
    X(COMM_SPAWN_MULTIPLE, 130, "MPI_Comm_spawn_multiple", GROUP)                                            \
    X(COMM_ACCEPT, 131, "MPI_Comm_accept", GROUP)                                                            \
    X(COMM_CONNECT, 132, "MPI_Comm_connect", GROUP)                                                          \
    X(COMM_DISCONNECT, 133, "MPI_Comm_disconnect", GROUP)                                                    \
    X(COMM_SET_NAME, 134, "MPI_Comm_set_name", GROUP)                                                        \
    X(CART_SUB, 135, "MPI_Cart_sub", GROUP)                                                                  \
    X(GRAPH_CREATE, 136, "MPI_Graph_create", GROUP)                                                          \
    X(DIST_GRAPH_CREATE, 137, "MPI_Dist_graph_create", GROUP)                                                \
    X(RPUT, 138, "MPI_Rput", MEMORY)                                                                         \
    X(RGET, 139, "MPI_Rget", MEMORY)                                                                         \
    X(RACCUMULATE, 140, "MPI_Raccumulate", MEMORY)                                                           \
    X(RGET_ACCUMULATE, 141, "MPI_Rget_accumulate", MEMORY)                                                   \
    X(WIN_CREATE_DYNAMIC, 142, "MPI_Win_create_dynamic", MEMORY)                                             \
    X(WIN_FLUSH_LOCAL, 143, "MPI_Win_flush_local", MEMORY)                                                   \
    X(WIN_FLUSH_LOCAL_ALL, 144, "MPI_Win_flush_local_all", MEMORY)                                           \
    X(WIN_SYNC, 145, "MPI_Win_sync", MEMORY)                                                                 \
    X(WIN_TEST, 146, "MPI_Win_test", MEMORY)                                                                 \
    X(FILE_IREAD, 147, "MPI_File_iread", FILE)                                                               \
    X(FILE_IREAD_ALL, 148, "MPI_File_iread_all", FILE)                                                       \
    X(FILE_IREAD_AT, 149, "MPI_File_iread_at", FILE)                                                         \
    X(FILE_IREAD_AT_ALL, 150, "MPI_File_iread_at_all", FILE)                                                 \
    X(FILE_IWRITE, 151, "MPI_File_iwrite", FILE)                                                             \
    X(FILE_IWRITE_ALL, 152, "MPI_File_iwrite_all", FILE)                                                     \
    X(FILE_IWRITE_AT, 153, "MPI_File_iwrite_at", FILE)                                                       \
    X(FILE_IWRITE_AT_ALL, 154, "MPI_File_iwrite_at_all", FILE)                                               \
    X(FILE_READ_SHARED, 155, "MPI_File_read_shared", FILE)                                                   \
    X(FILE_WRITE_SHARED, 156, "MPI_File_write_shared", FILE)                                                 \
    X(FILE_READ_ORDERED, 157, "MPI_File_read_ordered", FILE)                                                 \
    X(FILE_WRITE_ORDERED, 158, "MPI_File_write_ordered", FILE)                                               \
    X(FILE_SET_VIEW, 159, "MPI_File_set_view", FILE)                                                         \
    X(FILE_SET_SIZE, 160, "MPI_File_set_size", FILE)                                                         \
    X(FILE_PREALLOCATE, 161, "MPI_File_preallocate", FILE)                                                   \
    X(FILE_DELETE, 162, "MPI_File_delete", FILE)

#define MPI_CALL_ROW(name, number, text, shape) MPI_CALL_##name = number,
enum mpi_call { MPI_CALL_OTHER = 0, MPI_CALLS(MPI_CALL_ROW) MPI_CALL_COUNT };
#undef MPI_CALL_ROW

/* "MPI_Send"; of a number that is not in the list "another call of MPI". */
static inline const char *mpi_call_name(unsigned call)
{
    switch (call) {
#define MPI_CALL_ROW(name, number, text, shape)                                                              \
    case number:                                                                                             \
        return text;
        MPI_CALLS(MPI_CALL_ROW)
#undef MPI_CALL_ROW
    }
    return "another call of MPI";
}

static inline enum mpi_shape mpi_call_shape(unsigned call)
{
    switch (call) {
#define MPI_CALL_ROW(name, number, text, shape)                                                              \
    case number:                                                                                             \
        return MPI_SHAPE_##shape;
        MPI_CALLS(MPI_CALL_ROW)
#undef MPI_CALL_ROW
    }
    return MPI_SHAPE_OTHER;
}

#endif
