#include "collect/recorder/true_rank.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/rank.h"
#include "store/writer.h"

static void put_number(struct writer *writer, const char *key, uint32_t number)
{
    char text[16];
    snprintf(text, sizeof text, "%" PRIu32, number);
    writer_meta(writer, key, text);
}

static void remark(struct writer *writer, const char *text)
{
    writer_note(
        writer,
        &(struct note){.kind = NOTE_REMARK, .count = 1, .text = writer_string(writer, text, strlen(text))});
}

static void note_mistake(struct writer *writer, uint32_t guess, uint32_t rank)
{
    char text[128];
    snprintf(text, sizeof text,
             "the launcher's environment says rank %" PRIu32 ", MPI says %" PRIu32 ", which counts", guess,
             rank);
    remark(writer, text);
}

void true_rank_tell(struct writer *writer, uint32_t rank, uint32_t size)
{
    uint32_t guess = writer_rank(writer);
    if (size < 2 && guess != RANK_NONE) {
        remark(writer, "the launcher started several ranks, but a process of this one is alone in its "
                       "MPI_COMM_WORLD; where that is not meant, its MPI library is not the launcher's");
        writer_meta(writer, "mpi_alone", "1");
        return;
    }
    if (guess != RANK_NONE && guess != rank)
        note_mistake(writer, guess, rank);
    writer_set_rank(writer, rank);
    put_number(writer, "rank", rank);
    put_number(writer, "ranks", size);
    writer_meta(writer, "rank_from", "MPI_COMM_WORLD");
}
