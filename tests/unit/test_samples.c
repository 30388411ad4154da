/* Samples from the store to the trees, timelines and exports, in recordings made by hand with known answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/functions.h"
#include "analyse/owners.h"
#include "analyse/timeline.h"
#include "base/bytes.h"
#include "base/err.h"
#include "export/chrome_writer.h"
#include "export/collapsed_writer.h"
#include "export/flamegraph_writer.h"
#include "export/frames.h"
#include "export/speedscope_writer.h"
#include "export/stream.h"
#include "store/compress.h"
#include "store/reader.h"
#include "store/record.h"
#include "store/recording.h"
#include "store/rewrite.h"
#include "store/writer.h"

enum { RUN = SAMPLE_RUNNING, GIL = SAMPLE_RUNNING | SAMPLE_GIL };

/* Codes and nodes of `make`, by id. */
enum { MAIN = 1, WORK, LEAF };
enum { MAIN_5 = 1, WORK_11, WORK_12, LEAF_21, WORK_DEEP };

static uint32_t text(struct recording *recording, const char *words)
{
    return strings_intern_text(&recording->strings, words);
}

static void add_code(struct recording *recording, const char *name, const char *module, const char *file,
                     uint32_t line)
{
    struct code code = {.name = text(recording, name),
                        .qualname = text(recording, name),
                        .file = text(recording, file),
                        .module = text(recording, module),
                        .line = line,
                        .kind = CODE_PYTHON};
    recording_add_code(recording, &code);
}

static void add(struct recording *recording, uint32_t thread, uint64_t time_ns, uint32_t node, uint8_t state)
{
    recording_add_sample(
        recording,
        &(struct sample_row){
            .time_ns = time_ns, .weight_ns = 10, .thread = thread, .node = node, .count = 1, .state = state});
}

/* main:5 → work:11 | work:12 → leaf:21 → work:11; two threads of one process. */
static void make(struct recording *recording)
{
    recording_init(recording, NULL);
    add_code(recording, "main", "__main__", "/home/me/a.py", 1);
    add_code(recording, "work", "pack.mod", "/home/me/pack/mod.py", 10);
    add_code(recording, "leaf", "", "/usr/lib/python3.12/json/decoder.py", 20);
    const struct node nodes[] = {
        {0, MAIN, 5}, {MAIN_5, WORK, 11}, {MAIN_5, WORK, 12}, {WORK_12, LEAF, 21}, {LEAF_21, WORK, 11}};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        recording_add_node(recording, &nodes[i]);
    recording_add_process(recording, &(struct process){.pid = 7, .rank = UINT32_MAX, .exit_code = INT32_MIN});
    recording_add_thread(recording,
                         &(struct thread){.process = 1, .tid = 7, .name = text(recording, "Main;\nThread")});
    recording_add_thread(recording, &(struct thread){.process = 1, .tid = 8});
}

static void make_samples(struct recording *recording)
{
    make(recording);
    add(recording, 1, 100, WORK_11, GIL);
    add(recording, 1, 110, WORK_11, GIL);
    add(recording, 1, 120, WORK_12, RUN);
    add(recording, 1, 130, WORK_DEEP, RUN);
    add(recording, 1, 140, MAIN_5, 0);
    add(recording, 2, 120, LEAF_21, RUN);
    add(recording, 2, 130, LEAF_21, 0);
}

/* ---- store ---- */

static void samples_are_small(void **state)
{
    (void)state;
    struct recording recording = {0}, again = {0};
    make(&recording);
    uint32_t random = 1;
    for (uint32_t i = 0; i < 100000; i++) {
        random = random * 1664525 + 1013904223;
        recording_add_sample(&recording,
                             &(struct sample_row){.time_ns = i * UINT64_C(1000000) + random / 4096,
                                                  .weight_ns = 1000000,
                                                  .thread = 1 + i % 2,
                                                  .node = 1 + random % 5,
                                                  .count = 1,
                                                  .state = GIL});
    }
    struct bytes file = {0};
    struct writer *writer =
        writer_new(&(struct writer_options){writer_sink_bytes, &file, compress_zstd}, NULL);
    assert_int_equal(rewrite_recording(writer, &recording, NULL), 0);
    assert_int_equal(writer_close(writer, NULL), 0);
    assert_true(file.size < 600000); /* six bytes each; written by turns of threads */
    assert_int_equal(reader_read(file.data, file.size, "file", &again, NULL), 0);
    assert_int_equal(recording_order_samples(&recording, NULL), 0);
    assert_int_equal(again.samples_count, 100000);
    for (uint32_t i = 0; i < again.samples_count; i++) {
        assert_true(again.samples[i].time_ns == recording.samples[i].time_ns);
        assert_int_equal(again.samples[i].node, recording.samples[i].node);
    }
    bytes_clear(&file);
    recording_clear(&again);
    recording_clear(&recording);
}

/* Threads by turns of two processes, as many as there may be in a long run; samples of some of them. */
static void very_many_threads(void **state)
{
    (void)state;
    enum { THREADS = 20000, SAMPLES = 50 };
    struct recording again = {0};
    struct bytes file = {0};
    struct writer *writer = writer_new(&(struct writer_options){writer_sink_bytes, &file, NULL}, NULL);
    for (uint64_t pid = 1; pid <= 2; pid++)
        writer_process(writer, &(struct process){.pid = pid, .rank = UINT32_MAX});
    for (uint32_t id = 1; id <= THREADS; id++)
        assert_int_equal(writer_thread(writer, &(struct thread){.process = 1 + id / 100 % 2, .tid = id}), id);
    for (uint32_t i = 0; i < SAMPLES; i++)
        writer_sample(writer, &(struct sample_row){
                                  .time_ns = 1 + i, .weight_ns = 1, .thread = THREADS - i * 399, .count = 1});
    assert_int_equal(writer_close(writer, NULL), 0);
    assert_int_equal(reader_read(file.data, file.size, "file", &again, NULL), 0);
    assert_int_equal(again.threads_count, THREADS + 1);
    assert_int_equal(again.samples_count, SAMPLES);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        assert_int_equal(again.samples[i].thread, THREADS - (SAMPLES - 1 - i) * 399);
        assert_int_equal(again.threads[again.samples[i].thread].tid, again.samples[i].thread);
    }
    for (uint32_t i = 0, row = 0; i < again.chunks_count; i++) {
        const struct chunk_info *chunk = &again.chunks[i];
        for (uint32_t n = 0; chunk->kind == RECORD_KIND_SAMPLES && n < chunk->records; n++, row++)
            assert_int_equal(chunk->process, again.threads[again.samples[row].thread].process);
    }
    bytes_clear(&file);
    recording_clear(&again);
}

static void a_clock_that_goes_back_is_sorted(void **state)
{
    (void)state;
    struct recording recording = {0};
    make(&recording);
    const uint64_t times[] = {50, 10, 40, 10, 30};
    for (uint32_t i = 0; i < 5; i++)
        add(&recording, 2 - i % 2, times[i], MAIN_5, RUN);
    assert_int_equal(recording_order_samples(&recording, NULL), 0);
    for (uint32_t i = 1; i < 5; i++) {
        const struct sample_row *row = &recording.samples[i];
        assert_true(row[-1].thread < row->thread ||
                    (row[-1].thread == row->thread && row[-1].time_ns <= row->time_ns));
    }
    assert_int_equal(recording.samples[4].time_ns, 50);
    recording_clear(&recording);
}

/* ---- tree and table ---- */

static void assert_function(const struct functions *functions, uint32_t code, uint64_t samples,
                            uint64_t total_samples, uint64_t total_ns)
{
    const struct function_row *row = functions_find(functions, code);
    assert_non_null(row);
    assert_int_equal(row->calls, 0);
    assert_int_equal(row->samples, samples);
    assert_int_equal(row->total_samples, total_samples);
    assert_int_equal(row->total, total_ns);
}

static void functions_count_samples(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct functions functions;
    make_samples(&recording);
    assert_int_equal(functions_build(&recording, NULL, &functions, NULL), 0);
    assert_true(functions.sampled);
    assert_int_equal(functions.total_samples, 5);
    assert_int_equal(functions.total, 50);
    assert_function(&functions, MAIN, 0, 5, 50);
    assert_function(&functions, WORK, 4, 5, 50); /* once, though it is on one stack twice */
    assert_function(&functions, LEAF, 1, 2, 20);
    functions_clear(&functions);
    recording_clear(&recording);
}

static void selections_of_samples(void **state)
{
    (void)state;
    static const struct {
        struct selection selection;
        uint64_t samples;
    } rows[] = {{{0}, 5},
                {{.idle = true}, 7},
                {{.gil = true}, 2},
                {{.gil = true, .idle = true}, 2},
                {{.thread = 2}, 1},
                {{.thread = 2, .idle = true}, 2},
                {{.process = 1, .idle = true}, 7}};
    struct recording recording = {0};
    make_samples(&recording);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tree tree;
        assert_int_equal(tree_build(&recording, &rows[i].selection, &tree, NULL), 0);
        assert_int_equal(tree.nodes[0].total_samples, rows[i].samples);
        assert_int_equal(tree.nodes[0].total, rows[i].samples * 10);
        tree_clear(&tree);
    }
    recording_clear(&recording);
}

static void lines_are_nodes_when_asked_for(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct tree tree;
    make_samples(&recording);
    assert_int_equal(tree_build(&recording, NULL, &tree, NULL), 0);
    assert_int_equal(tree.count, 5); /* root, main, work, leaf, work */
    assert_int_equal(tree.nodes[2].code, WORK);
    assert_int_equal(tree.nodes[2].line, 0);
    assert_int_equal(tree.nodes[2].samples, 3);
    assert_int_equal(tree.nodes[2].total_samples, 5);
    assert_true(tree.nodes[4].recursive);
    tree_clear(&tree);
    assert_int_equal(tree_build(&recording, &(struct selection){.lines = true}, &tree, NULL), 0);
    assert_int_equal(tree.count, 6);
    assert_int_equal(tree.nodes[2].line, 11);
    assert_int_equal(tree.nodes[3].line, 12);
    tree_clear(&tree);
    recording_clear(&recording);
}

/* Of samples and calls in one recording: 50 ns in 5 samples, 1000 ns in 3 calls. */
static void assert_taken(const struct recording *recording, struct selection selection, uint64_t total,
                         uint64_t samples)
{
    struct functions functions;
    assert_int_equal(functions_build(recording, &selection, &functions, NULL), 0);
    assert_int_equal(functions.sampled, samples > 0);
    assert_int_equal(functions.total, total);
    assert_int_equal(functions.total_samples, samples);
    assert_int_equal(functions.total_calls, samples ? 0 : 3);
    functions_clear(&functions);
}

static void the_measure_chooses_calls_or_samples(void **state)
{
    (void)state;
    struct recording recording = {0};
    make_samples(&recording);
    assert_false(measure_is_offered(&recording, MEASURE_SAMPLED)); /* it is the time that there is */
    assert_taken(&recording, (struct selection){.measure = MEASURE_SAMPLED}, 50, 5);
    recording_add_calls(&recording, &(struct call_row){1, MAIN_5, 3, 1000});
    assert_true(measure_is_offered(&recording, MEASURE_SAMPLED));
    assert_taken(&recording, (struct selection){0}, 1000, 0);
    assert_taken(&recording, (struct selection){.measure = MEASURE_SAMPLED}, 50, 5);
    /* Calls that were added up are of no time in particular. */
    assert_taken(&recording, (struct selection){.begin_ns = 115}, 30, 3);
    recording_set_meta(&recording, "mode", "record");
    assert_taken(&recording, (struct selection){0}, 50, 5);
    assert_taken(&recording, (struct selection){.measure = MEASURE_TIME}, 1000, 0);
    recording_clear(&recording);
}

static void owners_keep_threads_apart(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct tree tree;
    make_samples(&recording);
    assert_int_equal(owners_insert(&recording, true, true, NULL), 0);
    assert_int_equal(tree_build(&recording, NULL, &tree, NULL), 0);
    const struct tree_node *process = &tree.nodes[tree.nodes[0].first_child];
    const struct tree_node *thread = &tree.nodes[process->first_child];
    assert_string_equal(recording_text(&recording, recording.codes[process->code].name), "process 7");
    assert_string_equal(recording_text(&recording, recording.codes[thread->code].name),
                        "thread (7): Main;\nThread");
    assert_int_equal(thread->total_samples, 4);
    assert_string_equal(
        recording_text(&recording, recording.codes[tree.nodes[thread->next_sibling].code].name),
        "thread (8)");
    assert_int_equal(tree.nodes[0].total_samples, 5);
    tree_clear(&tree);
    recording_clear(&recording);
}

/* ---- timeline ---- */

static void assert_spans(const struct recording *recording, const struct selection *selection,
                         uint32_t thread, const struct span *expected, size_t count)
{
    struct timeline timeline;
    struct span span;
    timeline_begin(&timeline, recording, selection, NULL, timeline_axis(recording), thread);
    for (size_t i = 0; i < count; i++) {
        assert_true(timeline_next(&timeline, &span));
        assert_int_equal(span.start_ns, expected[i].start_ns);
        assert_int_equal(span.end_ns, expected[i].end_ns);
        assert_int_equal(span.node, expected[i].node);
    }
    assert_false(timeline_next(&timeline, &span));
}

#define SPANS(recording, selection, thread, ...)                                                             \
    assert_spans(recording, selection, thread, (struct span[]){__VA_ARGS__},                                 \
                 sizeof(struct span[]){__VA_ARGS__} / sizeof(struct span))

static void spans_share_an_axis(void **state)
{
    (void)state;
    struct recording recording = {0};
    make_samples(&recording);
    SPANS(&recording, NULL, 1, {100, 120, WORK_11}, {120, 130, WORK_12}, {130, 140, WORK_DEEP},
          {140, 150, TIMELINE_GAP});
    SPANS(&recording, NULL, 2, {100, 120, TIMELINE_GAP}, {120, 130, LEAF_21}, {130, 150, TIMELINE_GAP});
    SPANS(&recording, &(struct selection){.idle = true}, 2, {100, 120, TIMELINE_GAP}, {120, 140, LEAF_21},
          {140, 150, TIMELINE_GAP});
    recording_clear(&recording);
}

/* Irregular times are stretched to the next sample, a long silence is a gap, an early one cuts short. */
static void spans_of_irregular_samples(void **state)
{
    (void)state;
    struct recording recording = {0};
    make(&recording);
    add(&recording, 1, 100, MAIN_5, RUN);
    add(&recording, 1, 105, WORK_11, RUN);
    add(&recording, 1, 130, WORK_12, RUN);
    add(&recording, 1, 1000, MAIN_5, RUN);
    SPANS(&recording, NULL, 1, {100, 105, MAIN_5}, {105, 130, WORK_11}, {130, 220, WORK_12},
          {220, 1000, TIMELINE_GAP}, {1000, 1010, MAIN_5});
    recording.samples[3].time_ns = UINT64_MAX - 1;
    recording.samples[2].weight_ns = UINT64_MAX;
    SPANS(&recording, NULL, 1, {100, 105, MAIN_5}, {105, 130, WORK_11}, {130, UINT64_MAX - 1, WORK_12},
          {UINT64_MAX - 1, UINT64_MAX, MAIN_5});
    recording_clear(&recording);
}

/* ---- exports ---- */

static void assert_text(struct stream *stream, const char *expected)
{
    assert_int_equal(stream_finish(stream, NULL), 0);
    bytes_put_u8(&stream->out, '\0');
    assert_string_equal((const char *)stream->out.data, expected);
    stream_clear(stream);
}

static void collapse(struct recording *recording, const struct frame_style *style, struct stream *stream)
{
    struct tree tree;
    struct selection selection = {.lines = frames_have_lines(style)};
    assert_int_equal(tree_build(recording, &selection, &tree, NULL), 0);
    assert_int_equal(collapsed_writer_write(recording, &tree, style, stream, NULL), 0);
    tree_clear(&tree);
}

static void collapsed_frames_are_worded_as_py_spy_does(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct stream stream = {0};
    make_samples(&recording);
    collapse(&recording, &(struct frame_style){0}, &stream);
    assert_text(&stream, "main (a.py:5);work (pack/mod.py:12) 1\n"
                         "main (a.py:5);work (pack/mod.py:12);leaf (json/decoder.py:21) 1\n"
                         "main (a.py:5);work (pack/mod.py:12);leaf (json/decoder.py:21);work "
                         "(pack/mod.py:11) 1\n"
                         "main (a.py:5);work (pack/mod.py:11) 2\n");
    collapse(&recording, &(struct frame_style){.function = true, .full_filenames = true}, &stream);
    assert_text(&stream, "main (/home/me/a.py:1);work (/home/me/pack/mod.py:10) 3\n"
                         "main (/home/me/a.py:1);work (/home/me/pack/mod.py:10);leaf "
                         "(/usr/lib/python3.12/json/decoder.py:20) 1\n"
                         "main (/home/me/a.py:1);work (/home/me/pack/mod.py:10);leaf "
                         "(/usr/lib/python3.12/json/decoder.py:20);work (/home/me/pack/mod.py:10) 1\n");
    recording.codes[LEAF].file = text(&recording, "");
    recording.codes[LEAF].name = recording.codes[LEAF].qualname = text(&recording, "a;b\nc");
    collapse(&recording, &(struct frame_style){.no_lines = true}, &stream);
    assert_text(&stream, "main (a.py);work (pack/mod.py) 3\nmain (a.py);work (pack/mod.py);a:b c 1\n"
                         "main (a.py);work (pack/mod.py);a:b c;work (pack/mod.py) 1\n");
    recording_clear(&recording);
}

static const char hostile[] = "]]></script><script>alert(1)</script>\"'&\x01\x1b\xff\xed\xa0\x80\xef\xbf\xbf";

/* Whatever stands in a name, the bytes that leave are those of the format. */
static void hostile_names_are_harmless(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct stream stream = {0};
    struct tree tree;
    char *name = malloc(10001);
    memset(name, '<', 10000);
    memcpy(name, hostile, sizeof hostile - 1);
    name[10000] = '\0';
    make_samples(&recording);
    recording.codes[WORK].name = recording.codes[WORK].qualname = text(&recording, name);
    struct flamegraph_options options = {.title = name};
    assert_int_equal(tree_build(&recording, NULL, &tree, NULL), 0);
    assert_int_equal(
        flamegraph_writer_write(&recording, &tree, &(struct frame_style){0}, &options, &stream, NULL), 0);
    assert_int_equal(stream_finish(&stream, NULL), 0);
    bytes_put_u8(&stream.out, '\0');
    assert_null(strstr((char *)stream.out.data, "alert(1)</script"));
    assert_null(strstr((char *)stream.out.data, "\xef\xbf\xbf"));
    assert_null(strchr((char *)stream.out.data, '\x1b'));
    assert_null(memchr(stream.out.data, 0xed, stream.out.size));
    assert_non_null(strstr((char *)stream.out.data, "\xef\xbf\xbd"));
    assert_true(stream.out.size < 60000);
    tree_clear(&tree);
    stream_clear(&stream);
    free(name);
    recording_clear(&recording);
}

static void nothing_to_draw_is_said(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct stream stream = {0};
    struct err err = {0};
    struct tree tree;
    make(&recording);
    add(&recording, 1, 100, MAIN_5, 0);
    struct flamegraph_options options = {0};
    assert_int_equal(tree_build(&recording, NULL, &tree, NULL), 0);
    assert_int_equal(
        flamegraph_writer_write(&recording, &tree, &(struct frame_style){0}, &options, &stream, &err), -1);
    assert_non_null(strstr(err.text, "--idle"));
    tree_clear(&tree);
    recording_clear(&recording);
}

static int keep_piece(void *context, const void *data, size_t size, struct err *err)
{
    (void)err;
    bytes_put(context, data, size);
    return 0;
}

static int refuse_piece(void *context, const void *data, size_t size, struct err *err)
{
    (void)context, (void)data, (void)size;
    return err_set(err, "the disk is full");
}

/* Large outputs leave in pieces, and are the same. */
static void streams_leave_in_pieces(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct bytes kept = {0};
    struct stream whole = {0}, pieces = {.sink = keep_piece, .context = &kept}, full = {.sink = refuse_piece};
    struct frame_style style = {0};
    struct err err = {0};
    make(&recording);
    for (uint32_t i = 0; i < 60000; i++)
        add(&recording, 1, 100 + 10 * i, 1 + i % 5, RUN);
    struct stream *streams[] = {&whole, &pieces, &full};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(speedscope_writer_write(&recording, NULL, &style, NULL, streams[i], NULL), 0);
        assert_int_equal(chrome_writer_write(&recording, NULL, &style, streams[i], NULL), 0);
    }
    assert_int_equal(stream_finish(&whole, NULL), 0);
    assert_int_equal(stream_finish(&pieces, NULL), 0);
    assert_int_equal(stream_finish(&full, &err), -1);
    assert_string_equal(err.text, "the disk is full");
    assert_true(whole.out.size > 3 * STREAM_PIECE_BYTES);
    assert_int_equal(kept.size, whole.out.size);
    assert_memory_equal(kept.data, whole.out.data, kept.size);
    stream_clear(&whole);
    stream_clear(&pieces);
    stream_clear(&full);
    bytes_clear(&kept);
    recording_clear(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_small),
        cmocka_unit_test(very_many_threads),
        cmocka_unit_test(a_clock_that_goes_back_is_sorted),
        cmocka_unit_test(functions_count_samples),
        cmocka_unit_test(selections_of_samples),
        cmocka_unit_test(lines_are_nodes_when_asked_for),
        cmocka_unit_test(the_measure_chooses_calls_or_samples),
        cmocka_unit_test(owners_keep_threads_apart),
        cmocka_unit_test(spans_share_an_axis),
        cmocka_unit_test(spans_of_irregular_samples),
        cmocka_unit_test(collapsed_frames_are_worded_as_py_spy_does),
        cmocka_unit_test(hostile_names_are_harmless),
        cmocka_unit_test(nothing_to_draw_is_said),
        cmocka_unit_test(streams_leave_in_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
