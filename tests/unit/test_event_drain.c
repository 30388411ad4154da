/* What a process tells, as it comes into the file: names, pairs, tasks, threads; and an area that the program has overwritten. */
#include "collect/recorder/event_drain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/err.h"
#include "collect/agent/event_area.h"
#include "store/reader.h"
#include "store/writer.h"

#define SLOTS EVENT_AREA_RING_LEAST

static const struct clock_rate rate = {.ns_per_tick = 1.0};

struct made {
    struct event_area *area;
    struct bytes bytes;
    struct writer *writer;
    struct event_drain *drain;
};

static struct event_area *make_area(void)
{
    struct event_area *area = mmap(NULL, event_area_bytes(SLOTS), PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(area, MAP_FAILED);
    event_area_format(area, SLOTS, 1, 0);
    return area;
}

static struct made make(void)
{
    return (struct made){.area = make_area()};
}

/* Where the bytes are is known from now on. */
static void open_drain(struct made *made)
{
    struct err err = {{0}};
    const struct writer_options options = {.sink = writer_sink_bytes, .context = &made->bytes};
    made->writer = writer_new(&options, &err);
    uint32_t process = writer_process(made->writer, &(struct process){.pid = 1});
    made->drain = event_drain_new(made->area, event_area_bytes(SLOTS), made->writer, process);
    assert_non_null(made->drain);
}

static void finish(struct made *made, uint64_t end_ticks, struct recording *recording)
{
    struct err err = {{0}};
    event_drain_finish(made->drain, &rate, end_ticks);
    event_drain_free(made->drain);
    assert_int_equal(writer_close(made->writer, &err), 0);
    *recording = (struct recording){0};
    assert_int_equal(reader_read(made->bytes.data, made->bytes.size, "x", recording, &err), 0);
}

static void clear(struct made *made, struct recording *recording)
{
    recording_clear(recording);
    bytes_clear(&made->bytes);
    munmap(made->area, event_area_bytes(SLOTS));
}

static uint32_t region(struct made *made, const char *name)
{
    return event_area_name(made->area, EVENT_NAME_REGION, name, strlen(name));
}

static void begin_thread(struct made *made, uint32_t number, uint64_t tid)
{
    struct event_thread_row *row = &made->area->threads[number];
    row->tid = tid;
    row->serial++;
    if (made->area->thread_count <= number)
        made->area->thread_count = number + 1;
}

static void put(struct made *made, uint32_t thread, struct event_slot slot)
{
    struct event_thread_row *row = &made->area->threads[thread];
    made->area->rings[(size_t)thread * SLOTS + row->written++ % SLOTS] = slot;
}

static void tell(struct made *made, uint32_t thread, uint64_t ticks, enum event_kind kind, uint32_t name)
{
    put(made, thread, (struct event_slot){ticks, (uint32_t)kind << 24 | name, 0});
}

static void tell_for(struct made *made, uint32_t thread, uint64_t ticks, enum event_kind kind, uint32_t name,
                     uint64_t owner)
{
    tell(made, thread, ticks, kind, name);
    put(made, thread, (struct event_slot){.ticks = owner});
}

static void assert_event(const struct recording *recording, uint32_t place, uint64_t time_ns,
                         const char *begins, const char *ends, uint32_t back)
{
    const struct region_event_row *row = &recording->region_events[place];
    assert_true(place < recording->region_events_count);
    assert_int_equal(row->time_ns, time_ns);
    assert_string_equal(recording_text(recording, recording->regions[row->region].name), begins);
    assert_string_equal(recording_text(recording, recording->regions[row->ends].name), ends);
    assert_int_equal(row->back, back);
}

static uint64_t noted(const struct recording *recording, enum note_kind kind)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < recording->notes_count; i++)
        count += recording->notes[i].kind == kind ? recording->notes[i].count : 0;
    return count;
}

static void equal_names_have_one_id(void **state)
{
    (void)state;
    struct event_area *area = make_area(), *child = make_area();
    uint32_t one = event_area_name(area, EVENT_NAME_REGION, "one", 3);
    char text[EVENT_AREA_NAME_MAX + 10];
    assert_int_not_equal(one, 0);
    assert_int_equal(event_area_name(area, EVENT_NAME_REGION, "one and more", 3), one);
    assert_int_not_equal(event_area_name(area, EVENT_NAME_MARK, "one", 3), one);
    memset(text, 'a', sizeof text);
    uint32_t cut = event_area_name(area, EVENT_NAME_REGION, text, sizeof text);
    assert_int_equal(area->names[cut].bytes, EVENT_AREA_NAME_MAX);
    event_area_copy_names(child, area);
    assert_int_equal(event_area_name(child, EVENT_NAME_REGION, "one", 3), one);
    assert_int_equal(event_area_name(child, EVENT_NAME_REGION, text, sizeof text), cut);
    uint32_t last = 0;
    for (int i = 0; i < EVENT_AREA_NAMES; i++) {
        int size = snprintf(text, sizeof text, "%d", i);
        uint32_t id = event_area_name(area, EVENT_NAME_REGION, text, (size_t)size);
        last = id ? id : last;
    }
    assert_int_equal(last, EVENT_AREA_NAMES - 1);
    assert_true(area->lost_names > 0);
    assert_int_equal(event_area_name(area, EVENT_NAME_REGION, "one", 3), one);
    munmap(area, event_area_bytes(SLOTS));
    munmap(child, event_area_bytes(SLOTS));
}

/* Two tasks in one region, which end in the order in which they began; the thread's own of the same name lies outside. */
static void tasks_end_what_they_began(void **state)
{
    (void)state;
    struct made made = make();
    struct recording recording;
    open_drain(&made);
    uint32_t a = region(&made, "a");
    begin_thread(&made, 0, 7);
    tell(&made, 0, 100, EVENT_BEGIN, a);
    tell_for(&made, 0, 110, EVENT_BEGIN_FOR, a, 1);
    tell_for(&made, 0, 120, EVENT_BEGIN_FOR, a, 2);
    event_drain_step(made.drain, &rate);
    tell_for(&made, 0, 130, EVENT_END_FOR, a, 1);
    tell(&made, 0, 140, EVENT_END, a);
    tell_for(&made, 0, 150, EVENT_END_FOR, a, 2);
    finish(&made, 1000, &recording);
    assert_int_equal(recording.region_events_count, 6);
    assert_event(&recording, 3, 130, "", "a", 1);
    assert_event(&recording, 4, 140, "", "a", 1);
    assert_event(&recording, 5, 150, "", "a", 0);
    assert_int_equal(recording.notes_count, 0);
    clear(&made, &recording);
}

/* Begun in thread 1, whose ring is looked at after that of thread 0, in which it ends; one that never began is dropped. */
static void what_another_thread_ends_ends_where_it_began(void **state)
{
    (void)state;
    struct made made = make();
    struct recording recording;
    open_drain(&made);
    uint32_t a = region(&made, "a"), b = region(&made, "b");
    begin_thread(&made, 0, 7);
    begin_thread(&made, 1, 8);
    tell(&made, 0, 200, EVENT_END, a);
    tell(&made, 0, 210, EVENT_END, b);
    tell(&made, 1, 100, EVENT_BEGIN, a);
    event_drain_step(made.drain, &rate);
    event_drain_step(made.drain, &rate);
    tell(&made, 1, 300, EVENT_BEGIN, b);
    finish(&made, 1000, &recording);
    assert_int_equal(recording.region_events_count, 4);
    assert_event(&recording, 0, 100, "a", "", 0);
    assert_event(&recording, 1, 200, "", "a", 0);
    assert_event(&recording, 2, 300, "b", "", 0);
    assert_event(&recording, 3, 1000, "", "b", 0);
    assert_int_equal(recording.threads[recording.region_events[0].thread].tid, 8);
    assert_int_equal(noted(&recording, NOTE_REMARK), 1);
    clear(&made, &recording);
}

/* A row that a thread has left is another's; what the first had open ended with it. */
static void a_row_may_have_several_threads(void **state)
{
    (void)state;
    struct made made = make();
    struct recording recording;
    open_drain(&made);
    uint32_t a = region(&made, "a");
    begin_thread(&made, 0, 7);
    tell(&made, 0, 100, EVENT_BEGIN, a);
    made.area->threads[0].end_ticks = 150;
    made.area->threads[0].serial++;
    event_drain_step(made.drain, &rate);
    begin_thread(&made, 0, 8);
    tell(&made, 0, 200, EVENT_BEGIN, a);
    tell(&made, 0, 250, EVENT_END, a);
    finish(&made, 1000, &recording);
    assert_int_equal(recording.threads_count, 3);
    assert_int_equal(recording.region_events_count, 4);
    assert_event(&recording, 1, 150, "", "a", 0);
    assert_event(&recording, 3, 250, "", "a", 0);
    assert_int_not_equal(recording.region_events[1].thread, recording.region_events[2].thread);
    clear(&made, &recording);
}

static void tell_text(struct made *made, enum event_kind kind, uint32_t name, const char *text)
{
    uint32_t bytes = (uint32_t)strlen(text);
    put(made, 0, (struct event_slot){5000, (uint32_t)kind << 24 | name, bytes});
    for (uint32_t done = 0; done < bytes; done += 16) {
        struct event_slot slot = {0};
        memcpy(&slot, text + done, bytes - done < 16 ? bytes - done : 16);
        put(made, 0, slot);
    }
}

static void texts_and_numbers_follow_their_event(void **state)
{
    (void)state;
    struct made made = make();
    struct recording recording;
    double value = -0.125;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    open_drain(&made);
    uint32_t mark = event_area_name(made.area, EVENT_NAME_MARK, "mark", 4);
    uint32_t counter = event_area_name(made.area, EVENT_NAME_COUNTER, "counter", 7);
    uint32_t key = event_area_name(made.area, EVENT_NAME_METADATA, "key", 3);
    begin_thread(&made, 0, 7);
    for (uint32_t i = 0; i < SLOTS - 3; i++) { /* so that what follows goes round the end */
        tell(&made, 0, i, EVENT_MARK, mark);
        event_drain_step(made.drain, &rate);
    }
    tell_text(&made, EVENT_MARK, mark, "a text that takes more than two slots, surely");
    tell_text(&made, EVENT_METADATA, key, "value");
    tell_for(&made, 0, 600, EVENT_COUNTER, counter, bits);
    finish(&made, 1000, &recording);
    assert_int_equal(recording.marks_count, SLOTS - 2);
    const struct mark_row *last = &recording.marks[SLOTS - 3];
    assert_string_equal(recording_text(&recording, last->text),
                        "a text that takes more than two slots, surely");
    assert_string_equal(recording_meta(&recording, "program.key"), "value");
    assert_int_equal(recording.counters[1].kind, COUNTER_REAL);
    assert_true(recording_real(recording.series[0].value) == value);
    assert_int_equal(recording.notes_count, 0);
    clear(&made, &recording);
}

/* Whatever the program writes over its area, the file is a good one. */
static void an_overwritten_area_harms_nobody(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252u;
    for (int round = 0; round < 200; round++) {
        struct made made = make();
        struct recording recording;
        open_drain(&made);
        uint32_t name = region(&made, "a");
        begin_thread(&made, 0, 7);
        for (int i = 0; i < 300; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            uint32_t kind = random % 10, known = random >> 8 & 1;
            put(&made, 0,
                (struct event_slot){random, kind << 24 | (known ? name : (uint32_t)(random >> 20) & 0xffffff),
                                    (uint32_t)(random >> 32) >> (random % 32)});
        }
        event_drain_step(made.drain, &rate);
        for (int i = 0; i < 20; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            memcpy((char *)made.area + 64 + random % (sizeof(struct event_area) - 72), &random,
                   sizeof random);
            made.area->threads[random % 8].written = random >> 40;
            made.area->names[name].at = (uint32_t)random;
            event_drain_step(made.drain, &rate);
        }
        finish(&made, 1000, &recording);
        clear(&made, &recording);
    }
    struct event_area *area = make_area();
    area->ring_slots *= 2;
    assert_false(event_area_is_sound(area, event_area_bytes(SLOTS)));
    munmap(area, event_area_bytes(SLOTS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_names_have_one_id),
        cmocka_unit_test(tasks_end_what_they_began),
        cmocka_unit_test(what_another_thread_ends_ends_where_it_began),
        cmocka_unit_test(a_row_may_have_several_threads),
        cmocka_unit_test(texts_and_numbers_follow_their_event),
        cmocka_unit_test(an_overwritten_area_harms_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
