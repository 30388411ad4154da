/* What the page asks about ranks: numbers worked out by hand, many ranks in few columns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "query/opened.h"
#include "query/queries.h"

static uint32_t add_code(struct recording *recording, const char *name)
{
    uint32_t text = strings_intern_text(&recording->strings, name);
    uint32_t file = strings_intern_text(&recording->strings, "a.py");
    return recording_add_code(
        recording, &(struct code){.name = text, .qualname = text, .file = file, .kind = CODE_PYTHON});
}

/* main → work on `ranks` ranks: rank r has 1 in main and works r, and the last one not at all. */
static struct opened *open_ranks(uint32_t ranks)
{
    struct opened *opened = calloc(1, sizeof *opened);
    struct recording *recording = &opened->rows[0].recording;
    opened->rows[0].name = strdup("run");
    opened->count = 1;
    recording_init(recording, NULL);
    uint32_t work = add_code(recording, "work"), main = add_code(recording, "main");
    uint32_t top = recording_add_node(recording, &(struct node){.code = main});
    uint32_t below = recording_add_node(recording, &(struct node){.parent = top, .code = work});
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t process = recording_add_process(recording, &(struct process){.pid = 10, .rank = rank});
        uint32_t thread = recording_add_thread(recording, &(struct thread){.process = process});
        recording_add_calls(recording, &(struct call_row){thread, top, 1, 1});
        if (rank + 1 < ranks)
            recording_add_calls(recording, &(struct call_row){thread, below, 2, rank});
    }
    return opened;
}

struct reply {
    struct bytes out;
    char *head;
};

static void ask(struct opened *opened, const char *json, struct reply *reply)
{
    uint32_t size;
    free(reply->head);
    bytes_reset(&reply->out);
    queries_ask(opened, json, strlen(json), &reply->out);
    memcpy(&size, reply->out.data + 4, sizeof size);
    reply->head = calloc(1, size + 1);
    memcpy(reply->head, reply->out.data + 8, size);
    assert_null(strstr(reply->head, "\"error\""));
}

static const void *array(const struct reply *reply, const char *name, uint32_t count)
{
    char key[64];
    unsigned offset, items;
    snprintf(key, sizeof key, "\"%s\":[\"", name);
    const char *at = strstr(reply->head, key);
    assert_non_null(at);
    assert_int_equal(sscanf(at + strlen(key), "%*3[a-z0-9]\",%u,%u]", &offset, &items), 2);
    assert_int_equal(items, count);
    return reply->out.data + 8 + strlen(reply->head) + offset;
}

static void done(struct opened *opened, struct reply *reply)
{
    free(reply->head);
    bytes_clear(&reply->out);
    opened_clear(opened);
    free(opened);
}

static void ranks_are_listed(void **state)
{
    (void)state;
    struct reply reply = {0};
    struct opened *opened = open_ranks(5);
    ask(opened, "{\"ask\":\"ranks\"}", &reply);
    const double *amount = array(&reply, "amount", 5);
    const uint32_t *rank = array(&reply, "rank", 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(rank[i], i);
        assert_float_equal(amount[i], i == 4 ? 1 : 1 + i, 0);
    }
    assert_non_null(strstr(reply.head, "\"rank_count\":5"));
    assert_non_null(strstr(reply.head, "\"load_balance\":0.55,")); /* (1 + 2 + 3 + 4 + 1) / 5 / 4 */
    done(opened, &reply);
}

static void a_heat_map_has_the_columns_asked_for(void **state)
{
    (void)state;
    struct reply reply = {0};
    struct opened *opened = open_ranks(1000);
    ask(opened, "{\"ask\":\"rank_functions\",\"by_self\":true,\"columns\":10,\"limit\":1}", &reply);
    assert_non_null(strstr(reply.head, "\"all\":2"));
    const uint32_t *first = array(&reply, "column_first", 11);
    const double *mean = array(&reply, "cell_mean", 10), *least = array(&reply, "cell_min", 10);
    const double *most = array(&reply, "cell_max", 10);
    assert_int_equal(first[1], 100);
    assert_int_equal(first[10], 1000);
    assert_float_equal(mean[1], 149.5, 1e-9); /* 100 ... 199 */
    assert_float_equal(least[1], 100, 0);
    assert_float_equal(most[1], 199, 0);
    assert_float_equal(least[9], 0, 0); /* the last rank does nothing */
    assert_float_equal(most[9], 998, 0);
    assert_int_equal(*(const uint32_t *)array(&reply, "present", 1), 999);
    done(opened, &reply);
}

static void rows_come_in_the_order_asked_for(void **state)
{
    (void)state;
    struct reply reply = {0};
    struct opened *opened = open_ranks(3);
    ask(opened, "{\"ask\":\"rank_functions\",\"view\":\"present\",\"falling\":true}", &reply);
    const uint32_t *code = array(&reply, "code", 2);
    assert_int_equal(code[0], 2); /* main is on all ranks */
    ask(opened, "{\"ask\":\"rank_functions\",\"view\":\"present\"}", &reply);
    code = array(&reply, "code", 2);
    assert_int_equal(code[0], 1);
    ask(opened, "{\"ask\":\"rank_functions\",\"view\":\"name\",\"first\":1}", &reply);
    code = array(&reply, "code", 1);
    assert_int_equal(code[0], 1); /* "work" behind "main" */
    done(opened, &reply);
}

static void one_function_on_each_rank(void **state)
{
    (void)state;
    struct reply reply = {0};
    struct opened *opened = open_ranks(5);
    ask(opened, "{\"ask\":\"rank_function\",\"code\":1,\"limit\":3}", &reply);
    const double *total = array(&reply, "total", 5), *share = array(&reply, "share", 5);
    assert_float_equal(total[3], 3, 0);
    assert_float_equal(total[4], 0, 0);
    assert_float_equal(share[3], 0.75, 1e-9);
    const uint32_t *histogram = array(&reply, "histogram", 3);
    assert_int_equal(histogram[0], 2); /* 0 and none */
    assert_int_equal(histogram[1], 1);
    assert_int_equal(histogram[2], 2);
    assert_non_null(strstr(reply.head, "\"max_rank\":3"));
    assert_non_null(strstr(reply.head, "\"mean\":1.2"));
    ask(opened, "{\"ask\":\"rank_function\",\"code\":77}", &reply);
    assert_non_null(strstr(reply.head, "\"present\":0"));
    done(opened, &reply);
}

static void bars_add_up(void **state)
{
    (void)state;
    struct reply reply = {0};
    struct opened *opened = open_ranks(5);
    ask(opened, "{\"ask\":\"rank_bars\",\"limit\":1}", &reply);
    const uint32_t *code = array(&reply, "code", 1);
    const double *cells = array(&reply, "cell_mean", 10);
    assert_int_equal(code[0], 1);
    assert_float_equal(cells[3], 3, 0);     /* work on rank 3 */
    assert_float_equal(cells[5 + 3], 1, 0); /* the rest of it: main */
    assert_non_null(strstr(reply.head, "\"whole\":{\"mean\":2.2,"));
    done(opened, &reply);
}

static void some_ranks_can_be_chosen(void **state)
{
    (void)state;
    struct reply reply = {0};
    struct opened *opened = open_ranks(5);
    ask(opened, "{\"ask\":\"functions\",\"ranks\":\"2-3\"}", &reply);
    assert_non_null(strstr(reply.head, "\"total\":7,")); /* 1 + 2 and 1 + 3 */
    ask(opened, "{\"ask\":\"compare\",\"ranks\":\"1\",\"other_ranks\":\"3\"}", &reply);
    const double *change = array(&reply, "change_total", 2);
    assert_float_equal(change[0], 2, 0); /* work and main: 1 and 3, 2 and 4 */
    assert_float_equal(change[1], 2, 0);
    done(opened, &reply);
}

/* One that is not of ranks has none, and nothing breaks. */
static void without_ranks_there_are_none(void **state)
{
    (void)state;
    static const char collapsed[] = "main;work 30\n";
    static const char *const asks[] = {"ranks", "rank_functions", "rank_function", "rank_bars"};
    struct opened *opened = calloc(1, sizeof *opened);
    struct reply reply = {0};
    assert_int_equal(opened_add(opened, "x.txt", collapsed, sizeof collapsed - 1, NULL), 0);
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        char json[64];
        snprintf(json, sizeof json, "{\"ask\":\"%s\",\"code\":1,\"columns\":7}", asks[i]);
        ask(opened, json, &reply);
        assert_non_null(strstr(reply.head, "\"rank_count\":0"));
    }
    done(opened, &reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_listed),
        cmocka_unit_test(a_heat_map_has_the_columns_asked_for),
        cmocka_unit_test(rows_come_in_the_order_asked_for),
        cmocka_unit_test(one_function_on_each_rank),
        cmocka_unit_test(bars_add_up),
        cmocka_unit_test(some_ranks_can_be_chosen),
        cmocka_unit_test(without_ranks_there_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
