#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/err.h"
#include "query/answer.h"
#include "query/opened.h"
#include "query/queries.h"
#include "query/request.h"
#include "store/rewrite.h"
#include "store/writer.h"
#include "tests/live_sample.h"
#include "tests/store_sample.h"

static const char collapsed[] = "main;work;spin 60\nmain;work 30\nmain 10\n";

/* The head of the answer as text that ends with a zero; the caller frees. */
static char *ask(struct opened *opened, const char *json, struct bytes *out)
{
    bytes_reset(out);
    queries_ask(opened, json, strlen(json), out);
    assert_true(out->size >= 8);
    uint32_t magic, head;
    memcpy(&magic, out->data, 4);
    memcpy(&head, out->data + 4, 4);
    assert_int_equal(magic, ANSWER_MAGIC);
    assert_int_equal(head % 8, 0);
    assert_true(head <= out->size - 8);
    char *text = calloc(1, head + 1);
    memcpy(text, out->data + 8, head);
    return text;
}

/* Where the array lies, and how many items it has. */
static const void *array(const struct bytes *out, const char *head, const char *name, uint32_t *count)
{
    char key[64];
    unsigned offset, items;
    snprintf(key, sizeof key, "\"%s\":[\"", name);
    const char *at = strstr(head, key);
    assert_non_null(at);
    assert_int_equal(sscanf(at + strlen(key), "%*3[a-z0-9]\",%u,%u]", &offset, &items), 2);
    *count = items;
    return out->data + 8 + strlen(head) + offset;
}

static void open_collapsed(struct opened *opened)
{
    struct err err = {0};
    assert_int_equal(opened_add(opened, "x.txt", collapsed, sizeof collapsed - 1, &err), 0);
}

static void test_stacks_are_levels(void **state)
{
    (void)state;
    struct opened *opened = calloc(1, sizeof *opened);
    struct bytes out = {0};
    open_collapsed(opened);
    char *head = ask(opened, "{\"ask\":\"stacks\"}", &out);
    uint32_t count;
    const uint32_t *level = array(&out, head, "level", &count);
    assert_int_equal(count, 5);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(level[i], i); /* one rectangle in each of four levels: root, main, work, spin */
    const double *total = array(&out, head, "total", &count);
    assert_int_equal(count, 4);
    assert_true(total[0] == total[1]);
    assert_true(total[2] / total[1] > 0.899 && total[2] / total[1] < 0.901);
    assert_true(total[3] / total[1] > 0.599 && total[3] / total[1] < 0.601);
    free(head);
    bytes_clear(&out);
    opened_clear(opened);
    free(opened);
}

static void test_bottom_up_begins_at_the_leaves(void **state)
{
    (void)state;
    struct opened *opened = calloc(1, sizeof *opened);
    struct bytes out = {0};
    open_collapsed(opened);
    char *head = ask(opened, "{\"ask\":\"stacks\",\"view\":\"bottom-up\"}", &out);
    uint32_t count;
    const uint32_t *level = array(&out, head, "level", &count);
    assert_int_equal(level[2] - level[1], 3); /* spin, work, main */
    free(head);
    bytes_clear(&out);
    opened_clear(opened);
    free(opened);
}

static const char *const two_threads =
    "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"shared\":{\"frames\":["
    "{\"name\":\"work\"},{\"name\":\"rest\"},{\"name\":\"both\"}]},\"profiles\":["
    "{\"type\":\"sampled\",\"name\":\"first\",\"unit\":\"seconds\",\"startValue\":0,\"endValue\":8,"
    "\"samples\":[[0],[2,0,2]],\"weights\":[5,3]},"
    "{\"type\":\"sampled\",\"name\":\"second\",\"unit\":\"seconds\",\"startValue\":0,\"endValue\":5,"
    "\"samples\":[[1],[2,0,2]],\"weights\":[4,1]}]}";

/* Of both (4 s), rest (4 s) and work (5 s), in the order of their names, which thread they are mostly of. */
static void test_stacks_know_their_threads(void **state)
{
    (void)state;
    struct opened *opened = calloc(1, sizeof *opened);
    struct bytes out = {0};
    struct err err = {0};
    assert_int_equal(opened_add(opened, "x.json", two_threads, strlen(two_threads), &err), 0);
    char *head = ask(opened, "{\"ask\":\"stacks\",\"threads\":true,\"by_name\":true}", &out);
    uint32_t count;
    const uint32_t *node = array(&out, head, "node", &count);
    const uint32_t *thread = array(&out, head, "node_thread", &count);
    const double *part = array(&out, head, "node_thread_part", &count);
    const double *total = array(&out, head, "total", &count);
    assert_true(total[1] == 4e9 && total[2] == 4e9 && total[3] == 5e9);
    assert_int_equal(thread[node[1]], 1);
    assert_true(part[node[1]] == 0.75);
    assert_int_equal(thread[node[2]], 2);
    assert_true(part[node[2]] == 1);
    assert_int_equal(thread[node[3]], 1);
    free(head);
    bytes_clear(&out);
    opened_clear(opened);
    free(opened);
}

static uint32_t level_count(struct opened *opened, const char *json)
{
    struct bytes out = {0};
    uint32_t count;
    char *head = ask(opened, json, &out);
    array(&out, head, "level", &count);
    free(head);
    bytes_clear(&out);
    return count - 1;
}

/* Of both, work, both: three levels below the root, from either end. */
static void test_recursion_is_merged_from_either_end(void **state)
{
    (void)state;
    struct opened *opened = calloc(1, sizeof *opened);
    struct err err = {0};
    assert_int_equal(opened_add(opened, "x.json", two_threads, strlen(two_threads), &err), 0);
    assert_int_equal(level_count(opened, "{\"ask\":\"stacks\"}"), 4);
    assert_int_equal(level_count(opened, "{\"ask\":\"stacks\",\"fold\":true}"), 3);
    assert_int_equal(level_count(opened, "{\"ask\":\"stacks\",\"view\":\"bottom-up\"}"), 4);
    assert_int_equal(level_count(opened, "{\"ask\":\"stacks\",\"view\":\"bottom-up\",\"fold\":true}"), 2);
    opened_clear(opened);
    free(opened);
}

/* The block may be made in place or behind what is there already: it is the same. */
static void test_answers_can_follow_each_other(void **state)
{
    (void)state;
    static const char json[] = "{\"ask\":\"functions\"}";
    struct opened *opened = calloc(1, sizeof *opened);
    struct bytes alone = {0}, behind = {0};
    open_collapsed(opened);
    queries_ask(opened, json, sizeof json - 1, &alone);
    bytes_put_text(&behind, "12345678");
    queries_ask(opened, json, sizeof json - 1, &behind);
    struct bytes second = {.data = behind.data + 8, .size = behind.size - 8};
    uint32_t counts[2], head_bytes[2];
    memcpy(&head_bytes[0], alone.data + 4, 4);
    memcpy(&head_bytes[1], second.data + 4, 4);
    char *heads[2] = {strndup((char *)alone.data + 8, head_bytes[0]),
                      strndup((char *)second.data + 8, head_bytes[1])};
    const double *one = array(&alone, heads[0], "total", &counts[0]);
    const double *other = array(&second, heads[1], "total", &counts[1]);
    assert_int_equal(counts[0], 3);
    assert_int_equal(counts[1], 3);
    assert_memory_equal(one, other, 3 * sizeof *one);
    assert_true(one[0] > one[1] && one[1] > one[2] && one[2] > 0);
    free(heads[0]);
    free(heads[1]);
    bytes_clear(&alone);
    bytes_clear(&behind);
    opened_clear(opened);
    free(opened);
}

static void test_what_is_wrong_is_said(void **state)
{
    (void)state;
    static const char *const requests[] = {
        "",
        "[]",
        "{\"ask\":\"nonsense\"}",
        "{\"ask\":\"stacks\",\"recording\":7}",
        "{\"ask\":\"stacks\",\"recording\":-1}",
        "{\"ask\":\"stacks\",\"idle\":3}",
        "{\"ask\":12}",
        "{\"ask\":\"share\",\"marks\":\"0\"}",
        "{\"ask\":\"share\",\"marks\":\"0g\"}",
        "{\"ask\":\"share\",\"marks\":3}",
        "{\"ask\":\"stacks\"",
    };
    struct opened *opened = calloc(1, sizeof *opened);
    struct bytes out = {0};
    open_collapsed(opened);
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        char *head = ask(opened, requests[i], &out);
        assert_memory_equal(head, "{\"error\":\"", 10);
        free(head);
    }
    bytes_clear(&out);
    opened_clear(opened);
    free(opened);
}

static void test_unknown_fields_are_passed_over(void **state)
{
    (void)state;
    struct request request;
    struct err err = {0};
    const char *json = "{\"new\":{\"a\":[1,2]},\"ask\":\"stacks\",\"begin_ns\":4000000000000,\"idle\":true}";
    assert_int_equal(request_read(json, strlen(json), &request, &err), 0);
    assert_string_equal(request.ask, "stacks");
    assert_true(request.selection.idle);
    assert_int_equal(request.selection.begin_ns, UINT64_C(4000000000000));
}

static const char with_library[] =
    "main (/home/me/x.py:1);loads (/usr/lib/python3.12/json/__init__.py:3) 60\n"
    "main (/home/me/x.py:1) 40\n";

static uint32_t items(struct opened *opened, const char *json, const char *name)
{
    struct bytes out = {0};
    uint32_t count;
    char *head = ask(opened, json, &out);
    array(&out, head, name, &count);
    free(head);
    bytes_clear(&out);
    return count;
}

static void test_share_of_a_search(void **state)
{
    (void)state;
    const struct {
        const char *marks, *total;
    } cases[] = {
        {"02", "\"total\":100"}, /* code 1, main: all */
        {"04", "\"total\":60"},  /* code 2, loads */
        {"06", "\"total\":100"}, /* both: a stack counts once */
        {"", "\"total\":0"},
    };
    struct opened *opened = calloc(1, sizeof *opened);
    struct bytes out = {0};
    struct err err = {0};
    assert_int_equal(opened_add(opened, "x.txt", with_library, sizeof with_library - 1, &err), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[64];
        snprintf(json, sizeof json, "{\"ask\":\"share\",\"marks\":\"%s\"}", cases[i].marks);
        char *head = ask(opened, json, &out);
        assert_non_null(strstr(head, cases[i].total));
        free(head);
    }
    bytes_clear(&out);
    opened_clear(opened);
    free(opened);
}

static void test_libraries_can_be_left_out(void **state)
{
    (void)state;
    struct opened *opened = calloc(1, sizeof *opened);
    struct err err = {0};
    assert_int_equal(opened_add(opened, "x.txt", with_library, sizeof with_library - 1, &err), 0);
    for (int i = 0; i < 2; i++) { /* both are kept: one does not spoil the other */
        assert_int_equal(items(opened, "{\"ask\":\"functions\"}", "self"), 2);
        assert_int_equal(items(opened, "{\"ask\":\"functions\",\"own\":true}", "self"), 1);
        assert_int_equal(items(opened, "{\"ask\":\"stacks\",\"own\":true}", "total"), 2);
    }
    opened_clear(opened);
    free(opened);
}

static void test_groups(void **state)
{
    (void)state;
    struct opened *opened = calloc(1, sizeof *opened);
    struct err err = {0};
    struct bytes out = {0};
    assert_int_equal(opened_add(opened, "x.txt", with_library, sizeof with_library - 1, &err), 0);
    assert_int_equal(items(opened, "{\"ask\":\"groups\",\"view\":\"module\"}", "self"), 2);
    assert_int_equal(items(opened, "{\"ask\":\"groups\",\"view\":\"file\"}", "name_at"), 3);
    assert_int_equal(items(opened, "{\"ask\":\"groups\",\"view\":\"thread\"}", "total"), 1);
    char *head = ask(opened, "{\"ask\":\"groups\",\"view\":\"colour\"}", &out);
    assert_memory_equal(head, "{\"error\":\"", 10);
    free(head);
    bytes_clear(&out);
    opened_clear(opened);
    free(opened);
}

/* Ids in the order of a column, as text. */
static void assert_order(struct opened *opened, const char *json, const char *expected)
{
    struct bytes out = {0}, text = {0};
    char *head = ask(opened, json, &out);
    uint32_t count;
    const uint32_t *code = array(&out, head, "code", &count);
    for (uint32_t i = 0; i < count; i++)
        bytes_putf(&text, "%u ", code[i]);
    bytes_put_u8(&text, 0);
    assert_string_equal((char *)text.data, expected);
    free(head);
    bytes_clear(&text);
    bytes_clear(&out);
}

static void test_order_of_a_column(void **state)
{
    (void)state;
    struct opened *opened = calloc(1, sizeof *opened);
    struct err err = {0};
    static const char stacks[] = "main;zeta 10\nmain;alpha 30\nmain;beta 10\nmain 5\n";
    assert_int_equal(opened_add(opened, "x.txt", stacks, sizeof stacks - 1, &err), 0);
    /* main 1, zeta 2, alpha 3, beta 4 */
    assert_order(opened, "{\"ask\":\"order\",\"view\":\"self\"}", "1 2 4 3 ");
    assert_order(opened, "{\"ask\":\"order\",\"view\":\"self\",\"falling\":true}", "3 2 4 1 ");
    assert_order(opened, "{\"ask\":\"order\",\"view\":\"total\",\"falling\":true}", "1 3 2 4 ");
    assert_order(opened, "{\"ask\":\"order\",\"view\":\"name\"}", "3 4 1 2 ");
    assert_order(opened, "{\"ask\":\"order\",\"view\":\"name\",\"falling\":true}", "2 1 4 3 ");
    assert_order(opened, "{\"ask\":\"order\",\"view\":\"place\",\"falling\":true}", "1 2 3 4 ");
    struct bytes out = {0};
    char *head = ask(opened, "{\"ask\":\"order\",\"view\":\"colour\"}", &out);
    assert_non_null(strstr(head, "no column \\\"colour\\\""));
    free(head);
    bytes_clear(&out);
    opened_clear(opened);
    free(opened);
}

static void test_graph_is_cut_to_the_hottest(void **state)
{
    (void)state;
    struct opened *opened = calloc(1, sizeof *opened);
    open_collapsed(opened);
    assert_int_equal(items(opened, "{\"ask\":\"graph\"}", "code"), 3);
    assert_int_equal(items(opened, "{\"ask\":\"graph\",\"limit\":2}", "code"), 2);
    opened_clear(opened);
    free(opened);
}

/* A file of two seconds of samples; `half` = its size after the first. */
static struct bytes live_file(size_t *half)
{
    struct bytes file = {0};
    struct recording recording = {0};
    struct writer_options options = {.sink = writer_sink_bytes, .context = &file};
    struct writer *writer = writer_new(&options, NULL);
    live_program(&recording);
    live_samples(&recording, 0, 50, 2, NODE_DEEP, SAMPLE_RUNNING);
    live_samples(&recording, 0, 30, 1, NODE_WORK, SAMPLE_RUNNING);
    rewrite_recording(writer, &recording, NULL);
    writer_flush(writer);
    *half = file.size;
    for (uint32_t i = 0; i < recording.samples_count; i++) {
        recording.samples[i].time_ns += LIVE_SAMPLE_SECOND;
        writer_sample(writer, &recording.samples[i]);
    }
    writer_close(writer, NULL);
    recording_clear(&recording);
    return file;
}

static double total_of(struct opened *opened)
{
    struct bytes out = {0};
    uint32_t count;
    char *head = ask(opened, "{\"ask\":\"stacks\"}", &out);
    double total = *(const double *)array(&out, head, "total", &count);
    free(head);
    bytes_clear(&out);
    return total;
}

static void test_what_is_fed_is_what_is_read(void **state)
{
    (void)state;
    size_t half;
    struct bytes file = live_file(&half);
    struct opened *fed = calloc(1, sizeof *fed), *whole = calloc(1, sizeof *whole);
    assert_int_equal(opened_add(whole, "x", file.data, file.size, NULL), 0);
    assert_int_equal(opened_add_live(fed, "x", NULL), 0);
    assert_true(fed->rows[0].is_live);
    double last = 0;
    for (size_t at = 0; at < file.size; at += 100) {
        size_t left = file.size - at;
        assert_int_equal(opened_feed(&fed->rows[0], file.data + at, left < 100 ? left : 100, NULL), 0);
        assert_int_equal(opened_settle(&fed->rows[0], NULL), 0);
        double total = total_of(fed);
        assert_true(total >= last);
        last = total;
        if (at >= half && at < half + 100)
            assert_true(total > 0 && total < total_of(whole));
    }
    assert_true(last > 0 && last == total_of(whole));
    opened_clear(fed);
    opened_clear(whole);
    free(fed);
    free(whole);
    bytes_clear(&file);
}

static void test_native_frames_cannot_be_fed(void **state)
{
    (void)state;
    struct bytes file = sample_file(NULL);
    struct opened *opened = calloc(1, sizeof *opened);
    assert_int_equal(opened_add_live(opened, "x", NULL), 0);
    struct opened_recording *row = &opened->rows[0];
    assert_int_equal(opened_feed(row, file.data, file.size, NULL), 0);
    assert_int_equal(opened_settle(row, NULL), OPENED_MUST_REPLACE);
    assert_int_equal(opened_replace(row, file.data, file.size, NULL), 0);
    assert_false(row->is_fed);
    double total = total_of(opened);
    assert_true(total > 0);
    assert_int_equal(opened_replace(row, "no recording", 12, NULL), -1);
    assert_true(total_of(opened) == total);
    opened_clear(opened);
    free(opened);
    bytes_clear(&file);
}

static void test_lines_have_their_text(void **state)
{
    (void)state;
    struct bytes file = sample_file(NULL), out = {0};
    struct opened *opened = calloc(1, sizeof *opened);
    assert_int_equal(opened_add(opened, "x", file.data, file.size, NULL), 0);
    char request[64];
    snprintf(request, sizeof request, "{\"ask\":\"lines\",\"file\":%u}",
             opened->rows[0].recording.codes[1].file);
    char *head = ask(opened, request, &out);
    uint32_t count;
    const char *text = array(&out, head, "text", &count);
    assert_int_equal(count, 16);
    assert_memory_equal(text, "import b\nlen(b)\n", 16);
    assert_non_null(strstr(head, "\"has_text\":true"));
    free(head);
    bytes_clear(&out);
    opened_clear(opened);
    free(opened);
    bytes_clear(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stacks_are_levels),
        cmocka_unit_test(test_bottom_up_begins_at_the_leaves),
        cmocka_unit_test(test_stacks_know_their_threads),
        cmocka_unit_test(test_recursion_is_merged_from_either_end),
        cmocka_unit_test(test_answers_can_follow_each_other),
        cmocka_unit_test(test_what_is_wrong_is_said),
        cmocka_unit_test(test_share_of_a_search),
        cmocka_unit_test(test_libraries_can_be_left_out),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_order_of_a_column),
        cmocka_unit_test(test_graph_is_cut_to_the_hottest),
        cmocka_unit_test(test_unknown_fields_are_passed_over),
        cmocka_unit_test(test_what_is_fed_is_what_is_read),
        cmocka_unit_test(test_native_frames_cannot_be_fed),
        cmocka_unit_test(test_lines_have_their_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
