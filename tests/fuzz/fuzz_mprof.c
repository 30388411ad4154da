/*
 * The .dat reader of mprof on any bytes: it never crashes, what it accepts obeys the invariants of recording.h, can be
 * summed, summarised and drawn, and comes back the same when it is written and read again.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyse/regions.h"
#include "analyse/series.h"
#include "base/err.h"
#include "export/mprof_writer.h"
#include "export/stream.h"
#include "import/mprof_reader.h"
#include "tests/store_sample.h"

#define COLUMNS 100

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact)
{
    if (!fact)
        abort();
}

static void look_at(const struct recording *recording)
{
    struct timeline_axis axis = series_whole_axis(recording);
    struct series_row *rows;
    struct series sum;
    struct regions regions;
    double least[COLUMNS], most[COLUMNS];
    for (uint32_t i = 1; i < recording->counters_count && i < 100; i++) {
        const struct series series = series_of(recording, i);
        require(series_summarise(&series).points == series.count);
        series_columns(&series, axis.begin_ns, axis.end_ns, COLUMNS, least, most);
    }
    require(series_sum(recording, "rss", &rows, &sum, NULL) == 0);
    free(rows);
    require(regions_build(recording, NULL, &regions, NULL) == 0);
    regions_clear(&regions);
}

/* Times are written with four decimals, so points may come nearer, but none is lost. */
static void round_trip(const struct recording *recording)
{
    struct stream stream = {0};
    struct recording again = {0};
    struct err err = {0};
    if (!recording->series_count)
        return;
    require(mprof_writer_write(recording, "fuzz", &stream, &err) == 0);
    require(mprof_reader_read(stream.out.data, stream.out.size, "again", &again, &err) == 0);
    require(again.series_count == recording->series_count);
    recording_clear(&again);
    stream_clear(&stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct recording recording = {0};
    struct err err = {0};
    mprof_reader_recognises(data, size);
    if (mprof_reader_read(data, size, "fuzz", &recording, &err) == 0) {
        require(sample_invariants_hold(&recording));
        look_at(&recording);
        round_trip(&recording);
    } else {
        require(err_is_set(&err));
    }
    recording_clear(&recording);
    return 0;
}
