/* Which PyThreadState is whose, in made-up memory; and that many threads are not gone through for each of them. */
#include "collect/agent/state_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "collect/agent/stack_sample.h"

enum { RUNTIME = 0x1000, INTERPRETER = 0x2000, STATES = 0x10000, STATE_BYTES = 256, THREADS = 1000 };
enum { NEXT = 16, ID = 72, NATIVE_ID = 80, INTERPRETERS = 8, FIRST_THREAD = 24, NEXT_INTERPRETER = 32 };
enum { PTHREADS = 0x900000, TID_OFFSET = 720 };

static uint64_t words[(STATES + THREADS * STATE_BYTES) / 8];
static unsigned reads;

static bool read_words(void *context, uint64_t address, void *out, size_t size)
{
    (void)context;
    reads++;
    if (address >= PTHREADS) { /* what a pthread_t points to: its number lies far behind */
        uint64_t tid = (address - PTHREADS - TID_OFFSET) / 4096;
        memcpy(out, &tid, size);
        return size == 8;
    }
    if (address + size > sizeof words)
        return false;
    memcpy(out, (char *)words + address, size);
    return true;
}

static void put(uint64_t address, uint64_t word)
{
    words[address / 8] = word;
}

static uint64_t state_at(uint64_t index)
{
    return STATES + index * STATE_BYTES;
}

/* The newest first: thread 1 is the last of the list. */
static void draw(struct stack_reader *reader, bool native_id)
{
    memset(words, 0, sizeof words);
    *reader = (struct stack_reader){.runtime = RUNTIME, .process.memory = {.read = read_words, .own = true}};
    reader->layout = (struct layout){.runtime_interpreters = INTERPRETERS,
                                     .interpreter_threads = FIRST_THREAD,
                                     .interpreter_next = NEXT_INTERPRETER,
                                     .thread_next = NEXT,
                                     .thread_id = ID,
                                     .thread_native_id = native_id ? NATIVE_ID : LAYOUT_ABSENT};
    reader->tid_offset = TID_OFFSET;
    put(RUNTIME + INTERPRETERS, INTERPRETER);
    put(INTERPRETER + FIRST_THREAD, state_at(0));
    for (uint64_t i = 0; i < THREADS; i++) {
        put(state_at(i) + NEXT, i + 1 < THREADS ? state_at(i + 1) : 0);
        put(state_at(i) + (native_id ? NATIVE_ID : ID),
            native_id ? THREADS - i : PTHREADS + 4096 * (THREADS - i));
    }
}

static void check_all(bool native_id, unsigned most_reads)
{
    static struct state_list list;
    static struct stack_reader reader;
    draw(&reader, native_id);
    memset(&list, 0, sizeof list);
    for (uint64_t look = 0; look < 3; look++) {
        reads = 0;
        for (uint32_t tid = 1; tid <= THREADS; tid++)
            assert_int_equal(state_list_find(&list, &reader, tid, look), state_at(THREADS - tid));
        assert_int_equal(state_list_find(&list, &reader, THREADS + 1, look), 0);
        assert_true(reads <= most_reads);
    }
}

static void test_each_is_found(void **state)
{
    (void)state;
    check_all(true, THREADS + 3);
    check_all(false, 2 * THREADS + 3);
}

static void test_new_thread_with_its_makers_number(void **state)
{
    (void)state;
    static struct state_list list;
    static struct stack_reader reader;
    draw(&reader, true);
    put(state_at(0) + NATIVE_ID, 1);
    assert_int_equal(state_list_find(&list, &reader, 1, 0), state_at(THREADS - 1));
    put(state_at(0) + NATIVE_ID, 77000);
    assert_int_equal(state_list_find(&list, &reader, 77000, 0), 0); /* at the next look */
    assert_int_equal(state_list_find(&list, &reader, 77000, 1), state_at(0));
}

static void test_lists_that_make_no_sense(void **state)
{
    (void)state;
    static struct state_list list;
    static struct stack_reader reader;
    draw(&reader, true);
    put(state_at(THREADS - 1) + NEXT, state_at(0)); /* a circle */
    put(INTERPRETER + NEXT_INTERPRETER, INTERPRETER);
    assert_int_equal(state_list_find(&list, &reader, 5, 0), state_at(THREADS - 5));
    assert_true(list.count <= STATE_LIST_MAX);
    draw(&reader, true);
    put(state_at(9) + NEXT, UINT64_MAX / 2);
    assert_int_equal(state_list_find(&list, &reader, THREADS, 1), state_at(0));
    assert_int_equal(list.count, 10);
    put(RUNTIME + INTERPRETERS, UINT64_MAX / 2);
    assert_int_equal(state_list_find(&list, &reader, THREADS, 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_is_found),
        cmocka_unit_test(test_new_thread_with_its_makers_number),
        cmocka_unit_test(test_lists_that_make_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
