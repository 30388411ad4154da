/*
 * The .prof reader on any bytes: it never crashes, what it accepts obeys the invariants of recording.h, and
 * what it accepted can be written as a .prof file that it accepts again.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyse/functions.h"
#include "base/bytes.h"
#include "base/err.h"
#include "export/pstats_writer.h"
#include "import/pstats_reader.h"
#include "tests/store_sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact)
{
    if (!fact)
        abort();
}

/* Entries without a call or a time are not written, and odd bytes in names can become equal. */
static void round_trip(const struct recording *recording)
{
    struct functions functions;
    struct bytes file = {0};
    require(functions_build(recording, &(struct selection){0}, &functions, NULL) == 0);
    require(pstats_writer_write(recording, &functions, &file, NULL) == 0);
    struct recording again = {0};
    require(pstats_reader_recognises(file.data, file.size));
    require(pstats_reader_read(file.data, file.size, "again", &again, NULL) == 0);
    require(again.edges_count <= recording->edges_count && again.codes_count <= recording->codes_count);
    recording_clear(&again);
    functions_clear(&functions);
    bytes_clear(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct recording recording = {0};
    struct err err = {0};
    pstats_reader_recognises(data, size);
    if (pstats_reader_read(data, size, "fuzz", &recording, &err) == 0) {
        require(sample_invariants_hold(&recording));
        round_trip(&recording);
    } else {
        require(err_is_set(&err));
    }
    recording_clear(&recording);
    return 0;
}
