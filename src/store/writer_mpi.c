#include "store/writer_mpi.h"

#include "store/record.h"
#include "store/writer_tables.h"

static bool same_communicator(const struct communicator *a, const struct communicator *b)
{
    return a->process == b->process && a->key == b->key && a->name == b->name;
}

uint32_t writer_mpi_communicator(struct writer *writer, const struct communicator *communicator)
{
    const struct recording *known = &writer->known;
    if (writer_tables_failed(writer) || !writer_tables_knows_strings(writer, &communicator->name, 1) ||
        !writer_tables_knows(writer, "process", communicator->process, known->processes_count))
        return 0;
    uint64_t key =
        map_hash_bytes((const uint64_t[]){communicator->process, communicator->key, communicator->name}, 24);
    uint32_t id;
    while ((id = map_get(&writer->communicators, key)) != MAP_NONE &&
           !same_communicator(&known->communicators[id], communicator))
        key++;
    if (id != MAP_NONE)
        return id;
    id = recording_add_communicator(&writer->known, communicator);
    if (!id || !map_set(&writer->communicators, key, id))
        return writer_tables_fail_memory(writer);
    gather_definition(&writer->gather, GATHER_COMMUNICATORS, id,
                      (uint64_t[]){communicator->process, communicator->key, communicator->size,
                                   communicator->rank, communicator->name});
    return id;
}

void writer_mpi_clock(struct writer *writer, const struct clock_row *row)
{
    if (writer_tables_failed(writer) ||
        !writer_tables_knows(writer, "process", row->process, writer->known.processes_count))
        return;
    gather_row(&writer->gather, GATHER_CLOCKS, 0,
               (uint64_t[]){row->process, row->local_ns, (uint64_t)row->reference_ns, row->error_ns});
}

/* Whether a row of what ranks say to one another may follow. */
static bool begin_mpi(struct writer *writer, uint32_t thread, uint32_t node, uint32_t communicator)
{
    return writer_tables_begin_data(writer, thread, node) &&
           writer_tables_knows(writer, "communicator", communicator, writer->known.communicators_count);
}

/* A rank as the file has it: nobody is 0. */
static uint64_t stored_rank(uint32_t rank)
{
    return (uint32_t)(rank + 1);
}

void writer_mpi_message(struct writer *writer, const struct message_row *row)
{
    if (!begin_mpi(writer, row->thread, row->node, row->communicator))
        return;
    gather_time(&writer->gather, RECORD_KIND_MPI, row->posted_ns);
    gather_row(&writer->gather, GATHER_MESSAGES, row->thread,
               (uint64_t[]){row->time_ns, row->duration_ns, row->time_ns - row->posted_ns, row->call,
                            row->received, row->size_bytes, row->communicator, stored_rank(row->peer),
                            (uint64_t)(int64_t)row->tag, row->node});
}

void writer_mpi_collective(struct writer *writer, const struct collective_row *row)
{
    if (!begin_mpi(writer, row->thread, row->node, row->communicator))
        return;
    gather_time(&writer->gather, RECORD_KIND_MPI, row->posted_ns);
    gather_row(&writer->gather, GATHER_COLLECTIVES, row->thread,
               (uint64_t[]){row->time_ns, row->duration_ns, row->time_ns - row->posted_ns, row->call,
                            row->communicator, row->number, row->sent_bytes, row->received_bytes,
                            stored_rank(row->root), row->node});
}

void writer_mpi_total(struct writer *writer, const struct mpi_total_row *row)
{
    if (!begin_mpi(writer, row->thread, row->node, row->communicator))
        return;
    gather_row(&writer->gather, GATHER_MPI_TOTALS, row->thread,
               (uint64_t[]){row->node, row->call, row->communicator, stored_rank(row->peer), row->count,
                            row->sent_bytes, row->received_bytes, row->total_ns});
}
