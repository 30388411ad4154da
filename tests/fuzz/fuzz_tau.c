/*
 * The readers of TAU's profiles, text and packed, on any bytes: they never crash, what they accept obeys the invariants of
 * recording.h, and what they accepted can be written as both and read again, with as many calls.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyse/tree.h"
#include "base/bytes.h"
#include "base/err.h"
#include "export/ppk_writer.h"
#include "export/stream.h"
#include "export/tau_writer.h"
#include "import/ppk_reader.h"
#include "import/tau_profile.h"
#include "import/tau_reader.h"
#include "tests/store_sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact)
{
    if (!fact)
        abort();
}

static int read_file(void *context, const char *name, const struct bytes *text, struct err *err)
{
    return tau_reader_add(context, text->data, text->size, name, err);
}

static void round_trip(const struct recording *recording)
{
    struct recording again = {0};
    struct tau_profile profile = {.recording = &again};
    struct stream stream = {0};
    require(recording_init(&again, NULL) == 0);
    require(tau_writer_write(recording, &(struct selection){0}, read_file, &profile, NULL) == 0);
    require(tau_profile_finish(&profile) == 0);
    require(sample_invariants_hold(&again));
    require(again.calls_count <= recording->calls_count);
    tau_profile_clear(&profile);
    recording_clear(&again);
    struct err err = {0}; /* names that are too long are refused */
    require(ppk_writer_write(recording, &(struct selection){0}, &stream, &err) == 0 || err_is_set(&err));
    stream_clear(&stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct recording recording = {0};
    struct err err = {0};
    bool packed = ppk_reader_recognises(data, size);
    tau_reader_recognises(data, size);
    int result = packed ? ppk_reader_read(data, size, "fuzz", &recording, &err)
                        : tau_reader_read(data, size, "profile.1.0.2", &recording, &err);
    if (result == 0) {
        require(sample_invariants_hold(&recording));
        round_trip(&recording);
    } else {
        require(err_is_set(&err));
    }
    recording_clear(&recording);
    return 0;
}
