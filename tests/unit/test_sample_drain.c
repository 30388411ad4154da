/* A program that starts threads without end: what is kept of those that have ended is bounded. */
#include "collect/recorder/sample_drain.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/err.h"
#include "collect/agent/sample_area.h"
#include "store/writer.h"

enum { THREADS = 12000, NAMED = 4096 };

struct made {
    struct sample_area *area;
    struct writer *writer;
    struct sample_drain *drain;
    struct clock_rate rate;
};

static int forget(void *context, const void *data, size_t size, struct err *err)
{
    (void)context, (void)data, (void)size, (void)err;
    return 0;
}

static struct made make(void)
{
    struct err err = {{0}};
    struct made made = {.rate = {.ns_per_tick = 1.0}};
    made.area = mmap(NULL, sizeof *made.area, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(made.area, MAP_FAILED);
    sample_area_format(made.area, sizeof *made.area, 1, 1000000, 0x030c01f0);
    made.area->slot_count = 1;
    made.writer = writer_new(&(struct writer_options){.sink = forget}, &err);
    uint32_t process = writer_process(made.writer, &(struct process){.pid = 1});
    made.drain = sample_drain_new(made.area, made.writer, process, NULL);
    return made;
}

static void clear(struct made *made)
{
    sample_drain_free(made->drain);
    writer_abandon(made->writer);
    munmap(made->area, sizeof *made->area);
}

/* One thread's life, of one sample. */
static void live(struct made *made, uint32_t number, const char *name)
{
    struct sample_slot *slot = &made->area->slots[0];
    struct sample_record record = {.count = 1, .ticks = number};
    slot->generation++;
    slot->end_ticks = 0;
    slot->start_ticks = number;
    snprintf(slot->name, sizeof slot->name, "%s", name);
    assert_true(sample_area_put(slot, &record, NULL, 0));
    slot->tid = number;
    sample_drain_step(made->drain, &made->rate);
    slot->end_ticks = number + 1;
    sample_drain_step(made->drain, &made->rate);
    assert_int_equal(slot->tid, 0);
}

static bool knows(const struct made *made, const char *text)
{
    const struct recording *known = writer_known(made->writer);
    for (uint32_t id = 0; id < known->strings.count; id++)
        if (strcmp(recording_text(known, id), text) == 0)
            return true;
    return false;
}

static void test_threads_without_end(void **state)
{
    (void)state;
    struct made made = make();
    size_t early_bytes = 0;
    for (uint32_t number = 1; number <= THREADS; number++) {
        char name[SAMPLE_AREA_NAME_BYTES];
        snprintf(name, sizeof name, "Thread-%u (work of 2)", number);
        live(&made, number, name);
        if (number % 1000 == 0)
            writer_flush(made.writer);
        if (number == THREADS / 2)
            early_bytes = mallinfo2().uordblks;
    }
    assert_int_equal(sample_drain_counts(made.drain).samples, THREADS);
    assert_true(mallinfo2().uordblks < early_bytes + 4096);
    assert_true(writer_known(made.writer)->strings.count < NAMED + 10);
    assert_true(knows(&made, "Thread-4096 (work of 2)"));
    assert_false(knows(&made, "Thread-4097 (work of 2)"));
    assert_true(knows(&made, "Thread-N (work of N)"));
    clear(&made);
}

/* Names that differ in more than numbers. */
static void test_names_without_end(void **state)
{
    (void)state;
    struct made made = make();
    for (uint32_t number = 1; number <= THREADS; number++) {
        char name[SAMPLE_AREA_NAME_BYTES] = "";
        for (uint32_t rest = number; rest; rest /= 26)
            snprintf(name + strlen(name), 2, "%c", 'a' + (int)(rest % 26));
        live(&made, number, name);
    }
    assert_true(writer_known(made.writer)->strings.count < 2 * NAMED + 10);
    clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_without_end),
        cmocka_unit_test(test_names_without_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
