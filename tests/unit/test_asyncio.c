/* Tasks in damaged memory: tables that make no sense, lists and awaits in circles, bytes at random. */
#include "python/asyncio.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Memory that is one array at BASE; from one address on nothing is mapped. */
enum { BASE = 0x10000, IMAGE_WORDS = 4096, RANDOM_ROUNDS = 20000 };

static uint64_t image[IMAGE_WORDS];

static bool read_image(void *context, uint64_t address, void *out, size_t size)
{
    (void)context;
    if (address < BASE || size > sizeof image || address - BASE > sizeof image - size)
        return false;
    memcpy(out, (const char *)image + (address - BASE), size);
    return true;
}

static const struct memory memory = {.read = read_image};

static const struct layout layout = {.version = 0x030e0af0,
                                     .object_type = 8,
                                     .type_name = 24,
                                     .type_flags = 168,
                                     .type_dictionary = 264,
                                     .text_length = 16,
                                     .text_state = 32,
                                     .text_kind_bit = 2,
                                     .text_ascii_data = 40,
                                     .text_compact_data = 56,
                                     .int_tag = 16,
                                     .int_digits = 24,
                                     .set_mask = 32,
                                     .set_table = 40,
                                     .frame_locals = 80,
                                     .frame_instruction = 56,
                                     .frame_stack_pointer = 64,
                                     .frame_owner = 74,
                                     .code_instructions = 208,
                                     .generator_frame = 72,
                                     .generator_state = 67};

/* What 3.14.10 publishes. */
static const uint64_t words_3_14[] = {168, 136, 96, 108, 109, 128, 152, 225864, 10880, 936, 864, 872, 880};

static void publish(struct asyncio *asyncio)
{
    memset(image, 0, sizeof image);
    memcpy(image, words_3_14, sizeof words_3_14);
    assert_true(asyncio_read(asyncio, &layout, &memory, BASE));
    assert_int_equal(asyncio->thread_running_task, 872);
    assert_int_equal(asyncio->task_coroutine, 128);
}

static void tables_that_make_no_sense(void **state)
{
    (void)state;
    struct asyncio asyncio;
    for (size_t i = 0; i < sizeof words_3_14 / sizeof *words_3_14; i++) {
        publish(&asyncio);
        image[i] = UINT64_C(1) << 40;
        assert_false(asyncio_read(&asyncio, &layout, &memory, BASE));
        assert_null(asyncio.layout);
    }
    publish(&asyncio);
    assert_false(asyncio_read(&asyncio, &layout, &memory, BASE + sizeof image - 8));
    struct layout older = layout;
    older.version = 0x030d0af0;
    assert_false(asyncio_read(&asyncio, &older, &memory, BASE));
}

static void lists_come_to_an_end(void **state)
{
    (void)state;
    struct asyncio asyncio;
    uint64_t found[4], thread = BASE + 256, head = thread + 880, node = BASE + 8192;
    publish(&asyncio);
    image[(head - BASE) / 8] = head;
    assert_int_equal(asyncio_tasks(&asyncio, &memory, thread, found, 4), 0);
    image[(head - BASE) / 8] = node;
    image[(node - BASE) / 8] = node; /* never back to the head */
    assert_int_equal(asyncio_tasks(&asyncio, &memory, thread, found, 4), -1);
    image[(node - BASE) / 8] = head;
    assert_int_equal(asyncio_tasks(&asyncio, &memory, thread, found, 4), 1);
    assert_int_equal(found[0], node - 152);
}

static void a_single_awaiter_and_a_set(void **state)
{
    (void)state;
    struct asyncio asyncio;
    uint64_t found[4], set = BASE + 1024, table = BASE + 2048;
    publish(&asyncio);
    struct asyncio_task task = {.awaited_by = 77};
    assert_int_equal(asyncio_parent(&asyncio, &memory, &task), 77);
    task = (struct asyncio_task){.awaited_by = set, .awaited_by_is_set = true};
    image[(set - BASE + 32) / 8] = 7;
    image[(set - BASE + 40) / 8] = table;
    uint64_t *slots = &image[(table - BASE) / 8];
    slots[2] = 300;                        /* with their hashes */
    slots[6] = 100, slots[7] = UINT64_MAX; /* has left */
    slots[14] = 200;
    assert_int_equal(asyncio_awaiters(&asyncio, &memory, &task, found, 1), 2);
    assert_int_equal(asyncio_parent(&asyncio, &memory, &task), 200);
    image[(set - BASE + 40) / 8] = 1;
    assert_int_equal(asyncio_parent(&asyncio, &memory, &task), 0);
}

/* Words that are addresses of the image as often as not. */
static void any_memory_comes_to_an_end(void **state)
{
    (void)state;
    struct asyncio asyncio;
    struct walk_frame frames[16];
    char name[ASYNCIO_NAME_BYTES];
    bool chosen;
    publish(&asyncio);
    srand(1);
    for (int round = 0; round < RANDOM_ROUNDS; round++) {
        for (int i = 0; i < 64; i++)
            image[rand() % IMAGE_WORDS] =
                rand() % 2 ? BASE + 8 * (uint64_t)(rand() % IMAGE_WORDS) : (uint64_t)rand();
        struct asyncio_task task = {.name = BASE + 8 * (uint64_t)(rand() % IMAGE_WORDS),
                                    .coroutine = BASE + 8 * (uint64_t)(rand() % IMAGE_WORDS),
                                    .awaited_by = BASE + 8 * (uint64_t)(rand() % IMAGE_WORDS),
                                    .awaited_by_is_set = rand() % 2};
        assert_true(asyncio_stack(&asyncio, &memory, &task, frames, 16) <= 16);
        assert_true(asyncio_name(&asyncio, &memory, &task, name, &chosen) <= ASYNCIO_NAME_BYTES);
        asyncio_parent(&asyncio, &memory, &task);
        asyncio_read_task(&asyncio, &memory, task.coroutine, &task);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_that_make_no_sense),
        cmocka_unit_test(lists_come_to_an_end),
        cmocka_unit_test(a_single_awaiter_and_a_set),
        cmocka_unit_test(any_memory_comes_to_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
