/*
 * The .sonde reader on any bytes: it never crashes, what it accepts obeys the invariants of recording.h, and
 * what it accepted can be written and read again with nothing lost.
 * Each input is read twice, as it is and repaired.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/reader.h"
#include "store/rewrite.h"
#include "tests/fuzz/repair.h"
#include "tests/store_sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact)
{
    if (!fact)
        abort();
}

/* Equal definitions become one when written, so their numbers may shrink; rows of data never do. */
static void round_trip(const struct recording *recording)
{
    struct bytes file = {0};
    struct writer *writer = writer_new(&(struct writer_options){writer_sink_bytes, &file, NULL}, NULL);
    require(writer && rewrite_recording(writer, recording, NULL) == 0);
    require(writer_close(writer, NULL) == 0);
    struct recording again = {0};
    require(reader_read(file.data, file.size, "again", &again, NULL) == 0);
    require(again.damage.complete && again.damage.damaged_chunks == 0 && again.damage.skipped_bytes == 0);
    require(again.processes_count == recording->processes_count);
    require(again.threads_count == recording->threads_count);
    require(again.functions_count == recording->functions_count &&
            again.edges_count == recording->edges_count);
    require(again.notes_count == recording->notes_count);
    require(again.samples_count == recording->samples_count);
    require(again.nodes_count <= recording->nodes_count && again.calls_count <= recording->calls_count);
    recording_clear(&again);
    bytes_clear(&file);
}

static void check(const uint8_t *data, size_t size)
{
    struct recording recording = {0};
    struct err err = {0};
    if (reader_read(data, size, "fuzz", &recording, &err) == 0) {
        require(sample_invariants_hold(&recording));
        round_trip(&recording);
    } else {
        require(err_is_set(&err));
    }
    recording_clear(&recording);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    repair_check_both(data, size, check);
    return 0;
}
