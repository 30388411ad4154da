/* hot_functions: whose lines are to be timed, by samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/err.h"
#include "collect/agent/arena.h"
#include "collect/recorder/hot_functions.h"
#include "store/recording.h"

#define SECOND_NS 1000000000u

static uint32_t add_code(struct recording *recording, const char *file, const char *name, uint32_t line)
{
    const struct code code = {.name = strings_intern_text(&recording->strings, name),
                              .file = strings_intern_text(&recording->strings, file),
                              .line = line,
                              .kind = CODE_PYTHON};
    return recording_add_code(recording, &code);
}

static uint32_t add_node(struct recording *recording, uint32_t parent, uint32_t code)
{
    return recording_add_node(recording, &(struct node){.parent = parent, .code = code});
}

static void count(struct hot_functions *hot, const struct recording *recording, uint32_t node,
                  uint32_t samples)
{
    hot_functions_count(hot, recording,
                        &(struct sample_row){.node = node, .count = samples, .state = SAMPLE_RUNNING});
}

/* work() calls the library's parse(); the module's body imports. */
struct program {
    struct recording recording;
    uint32_t work, parse, cold;                     /* codes */
    uint32_t in_work, in_parse, in_cold, in_import; /* nodes */
};

static void make(struct program *program)
{
    struct recording *recording = &program->recording;
    struct err err;
    *program = (struct program){0};
    assert_int_equal(recording_init(recording, &err), 0);
    uint32_t body = add_code(recording, "/home/x/sim.py", "<module>", 1);
    uint32_t importing = add_code(recording, "<frozen importlib._bootstrap>", "_find_and_load", 1);
    program->work = add_code(recording, "/home/x/sim.py", "work", 10);
    program->cold = add_code(recording, "/home/x/sim.py", "cold", 20);
    program->parse = add_code(recording, "/usr/lib/python3.12/json/decoder.py", "parse", 30);
    uint32_t root = add_node(recording, 0, body);
    program->in_work = add_node(recording, root, program->work);
    program->in_parse = add_node(recording, program->in_work, program->parse);
    program->in_cold = add_node(recording, root, program->cold);
    program->in_import = add_node(recording, add_node(recording, root, importing), program->parse);
}

static void test_the_programs_own_first(void **state)
{
    (void)state;
    struct program program;
    struct hot_functions hot = {.limit = 3};
    make(&program);
    count(&hot, &program.recording, program.in_import, 10000);
    count(&hot, &program.recording, program.in_parse, 900);
    count(&hot, &program.recording, program.in_work, 90);
    count(&hot, &program.recording, program.in_cold, 9);
    assert_true(hot_functions_find(&hot, &program.recording, SECOND_NS));
    assert_int_equal(hot.found_count, 1); /* cold() has less than a fiftieth */
    assert_int_equal(hot.found[0], program.work);
    count(&hot, &program.recording, program.in_cold, 1000);
    assert_false(hot_functions_find(&hot, &program.recording, SECOND_NS)); /* it is too soon */
    assert_true(hot_functions_find(&hot, &program.recording, 2 * (uint64_t)SECOND_NS));
    assert_int_equal(hot.found_count, 2);
    assert_int_equal(hot.found[1], program.cold);
    hot_functions_clear(&hot);
    recording_clear(&program.recording);
}

static void test_the_library_when_there_is_nothing_else(void **state)
{
    (void)state;
    struct program program;
    struct hot_functions hot = {.limit = 3};
    make(&program);
    uint32_t alone = add_node(&program.recording, 0, program.parse);
    count(&hot, &program.recording, alone, 400);
    assert_false(hot_functions_find(&hot, &program.recording, SECOND_NS));
    count(&hot, &program.recording, alone, 400);
    assert_true(hot_functions_find(&hot, &program.recording, 2 * (uint64_t)SECOND_NS));
    assert_int_equal(hot.found[0], program.parse);
    struct arena *arena = calloc(1, sizeof *arena);
    assert_non_null(arena);
    hot_functions_ask(&hot, &program.recording, arena);
    assert_int_equal(arena->request_count, 1);
    assert_int_equal(arena->requests[0], arena_request("/usr/lib/python3.12/json/decoder.py", "parse", 30));
    free(arena);
    hot_functions_clear(&hot);
    recording_clear(&program.recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_programs_own_first),
        cmocka_unit_test(test_the_library_when_there_is_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
