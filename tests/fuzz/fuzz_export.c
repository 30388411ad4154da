/*
 * Every export of any recording that the readers of .sonde, collapsed stacks and speedscope files accept, and what is
 * said of its memory: none crashes, and what was read obeys the invariants of recording.h.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/chosen.h"
#include "analyse/findings.h"
#include "analyse/heap_totals.h"
#include "analyse/native_stacks.h"
#include "analyse/owners.h"
#include "analyse/tree.h"
#include "export/chrome_writer.h"
#include "export/collapsed_writer.h"
#include "export/flamegraph_writer.h"
#include "export/frames.h"
#include "export/speedscope_writer.h"
#include "export/stream.h"
#include "import/collapsed_reader.h"
#include "import/speedscope_reader.h"
#include "store/reader.h"
#include "tests/fuzz/repair.h"
#include "tests/store_sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact)
{
    if (!fact)
        abort();
}

static void put_tree(const struct recording *recording, const struct selection *selection,
                     const struct frame_style *style, struct stream *stream)
{
    struct flamegraph_options options = {.title = "<&>", .upward = style->function};
    struct err err = {0};
    struct tree tree;
    require(tree_build(recording, selection, &tree, NULL) == 0);
    require(collapsed_writer_write(recording, &tree, style, stream, NULL) == 0);
    if (flamegraph_writer_write(recording, &tree, style, &options, stream, &err) < 0)
        require(err_is_set(&err));
    tree_clear(&tree);
}

/* What is said of memory, by every measure, of all and of a range; of the whole and of the user's own code. */
static void weigh(const struct recording *recording)
{
    for (enum measure measure = MEASURE_NATURAL; measure < MEASURE_END; measure++) {
        struct selection selection = {.measure = measure};
        struct findings findings;
        struct tree tree;
        require(tree_build(recording, &selection, &tree, NULL) == 0);
        tree_clear(&tree);
        selection.begin_ns = recording->heap_count ? recording->heap[recording->heap_count / 2].at_ns : 2;
        require(findings_build(recording, &selection, &findings, NULL) == 0);
        findings_clear(&findings);
    }
}

static void weigh_all(const struct recording *recording)
{
    struct heap_histogram histogram;
    struct chosen own;
    require(heap_totals_histogram(recording, NULL, &histogram, NULL) == 0);
    free(histogram.rows);
    weigh(recording);
    require(chosen_build(recording, (struct chosen_by){.own = true}, &own, NULL) == 0);
    weigh(&own.recording);
    chosen_clear(&own);
}

static void put_all(struct recording *recording, bool function)
{
    struct frame_style style = {.function = function, .exact_names = function};
    struct selection selection = {.idle = function, .lines = !function};
    struct stream stream = {0};
    struct err err = {0};
    require(native_stacks_name(recording, function, NULL) == 0);
    require(sample_definitions_hold(recording) && sample_rows_hold(recording));
    weigh_all(recording);
    require(speedscope_writer_write(recording, &selection, &style, "name", &stream, NULL) == 0);
    if (chrome_writer_write(recording, &selection, &style, &stream, &err) < 0)
        require(err_is_set(&err));
    require(owners_insert(recording, function, true, NULL) == 0);
    require(sample_definitions_hold(recording));
    put_tree(recording, &selection, &style, &stream);
    require(stream_finish(&stream, NULL) == 0);
    stream_clear(&stream);
}

/* Hostile depths make outputs that grow with their square: only small recordings are tried. */
static void check(struct recording *recording)
{
    if (recording->nodes_count < 300 && recording->samples_count < 3000 && recording->heap_count < 3000 &&
        recording->allocations_count < 3000) {
        put_all(recording, true);
        put_all(recording, false);
    }
    recording_clear(recording);
}

static void check_text(const uint8_t *data, size_t size, bool (*recognises)(const void *, size_t),
                       int (*read)(const void *, size_t, const char *, struct recording *, struct err *))
{
    struct recording recording = {0};
    struct err err = {0};
    recognises(data, size);
    if (read(data, size, "fuzz", &recording, &err) == 0) {
        require(sample_invariants_hold(&recording));
        check(&recording);
    } else {
        require(err_is_set(&err));
    }
    recording_clear(&recording);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct recording recording = {0};
    struct err err = {0};
    uint8_t *copy = malloc(size + 1);
    require(copy);
    memcpy(copy, data, size);
    repair_chunks(copy, size);
    if (reader_read(copy, size, "fuzz", &recording, &err) == 0)
        check(&recording);
    recording_clear(&recording);
    free(copy);
    check_text(data, size, collapsed_reader_recognises, collapsed_reader_read);
    check_text(data, size, speedscope_reader_recognises, speedscope_reader_read);
    return 0;
}
