#include "import/ppk_reader.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "import/tau_profile.h"
#include "import/tau_reader.h"
#include "store/recording.h"

#define COMPATIBLE 2 /* with versions of the format up to this one */

/* What all threads name by number. */
struct ppk_function {
    struct tau_span name;
    bool is_parameter;
};

struct ppk {
    struct cursor cursor;
    struct tau_profile profile;
    uint32_t metrics, time; /* how many, and which of them is the time */
    struct tau_span *groups, *events;
    struct ppk_function *functions;
    uint32_t group_count, event_count, function_count;
    const uint8_t *trial_at, *threads_at; /* metadata of all threads, and of each; NULL = it has none */
    uint32_t threads;
    const char *problem;
};

static int fail(struct ppk *ppk, const char *problem)
{
    if (!ppk->problem)
        ppk->problem = problem;
    return -1;
}

/* ---- numbers and texts ---- */

static uint32_t get_u32(struct ppk *ppk)
{
    return __builtin_bswap32(cursor_get_u32(&ppk->cursor));
}

static double get_real(struct ppk *ppk)
{
    uint64_t bits = __builtin_bswap64(cursor_get_u64(&ppk->cursor));
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static struct tau_span get_text(struct ppk *ppk)
{
    size_t high = cursor_get_u8(&ppk->cursor), size = high << 8 | cursor_get_u8(&ppk->cursor);
    const uint8_t *text = cursor_get(&ppk->cursor, size);
    return text ? (struct tau_span){(const char *)text, size} : (struct tau_span){"", 0};
}

/* A number of things of at least `least_bytes` each: there cannot be more of them than bytes. */
static uint32_t get_count(struct ppk *ppk, size_t least_bytes)
{
    uint32_t count = get_u32(ppk);
    if (ppk->cursor.failed || count > cursor_left(&ppk->cursor) / least_bytes) {
        fail(ppk, "it ends in the middle, or a count in it is wrong");
        return 0;
    }
    return count;
}

static int check(struct ppk *ppk)
{
    return ppk->cursor.failed ? fail(ppk, "it ends in the middle") : ppk->problem ? -1 : 0;
}

/* ---- the tables ---- */

static void skip_attributes(struct ppk *ppk)
{
    for (uint32_t count = get_count(ppk, 4); count && !ppk->cursor.failed; count--) {
        get_text(ppk);
        get_text(ppk);
    }
}

/* The metadata of threads come before all else: where they are is remembered. */
static int read_header(struct ppk *ppk)
{
    cursor_get(&ppk->cursor, 6);
    uint32_t version = get_u32(ppk), compatible = get_u32(ppk), size = get_u32(ppk);
    if (check(ppk) < 0)
        return -1;
    if (compatible > COMPATIBLE)
        return fail(ppk, "it is of a newer format");
    if (version < 2) {
        cursor_get(&ppk->cursor, size);
        return check(ppk);
    }
    cursor_get(&ppk->cursor, get_u32(ppk));
    ppk->trial_at = ppk->cursor.at;
    skip_attributes(ppk);
    ppk->threads = get_count(ppk, 16);
    ppk->threads_at = ppk->cursor.at;
    for (uint32_t i = 0; i < ppk->threads && !ppk->problem && !ppk->cursor.failed; i++) {
        cursor_get(&ppk->cursor, 12);
        skip_attributes(ppk);
    }
    return check(ppk);
}

static int read_metrics(struct ppk *ppk)
{
    ppk->metrics = get_count(ppk, 2);
    ppk->time = ppk->metrics ? UINT32_MAX : 0;
    for (uint32_t i = 0; i < ppk->metrics && !ppk->cursor.failed; i++) {
        struct tau_span name = get_text(ppk);
        if (ppk->time == UINT32_MAX && tau_reader_is_time(name.at, name.size))
            ppk->time = i;
    }
    if (check(ppk) < 0)
        return -1;
    return ppk->time == UINT32_MAX || !ppk->metrics ? fail(ppk, "it has no metric") : 0;
}

static struct tau_span *read_texts(struct ppk *ppk, uint32_t *count)
{
    *count = get_count(ppk, 2);
    struct tau_span *texts = calloc((size_t)*count + 1, sizeof *texts);
    if (!texts)
        fail(ppk, "out of memory");
    for (uint32_t i = 0; i < *count && texts && !ppk->cursor.failed; i++)
        texts[i] = get_text(ppk);
    return texts;
}

static void read_function(struct ppk *ppk, struct ppk_function *function)
{
    function->name = get_text(ppk);
    for (uint32_t count = get_count(ppk, 4); count && !ppk->cursor.failed; count--) {
        uint32_t group = get_u32(ppk);
        if (group >= ppk->group_count)
            fail(ppk, "a function is of a group that there is not");
        else
            function->is_parameter |= tau_names_is(ppk->groups[group], "TAU_PARAM");
    }
}

static int read_tables(struct ppk *ppk)
{
    if (read_header(ppk) < 0 || read_metrics(ppk) < 0)
        return -1;
    ppk->groups = read_texts(ppk, &ppk->group_count);
    ppk->function_count = get_count(ppk, 6);
    ppk->functions = calloc((size_t)ppk->function_count + 1, sizeof *ppk->functions);
    if (!ppk->functions)
        return fail(ppk, "out of memory");
    for (uint32_t i = 0; i < ppk->function_count && check(ppk) == 0; i++)
        read_function(ppk, &ppk->functions[i]);
    if (check(ppk) == 0)
        ppk->events = read_texts(ppk, &ppk->event_count);
    return check(ppk);
}

/* ---- threads ---- */

static void read_attributes(struct ppk *ppk)
{
    for (uint32_t count = get_count(ppk, 4); count && !ppk->cursor.failed; count--) {
        struct tau_span name = get_text(ppk), value = get_text(ppk);
        tau_profile_attribute(&ppk->profile, name, value);
    }
}

/* What is said of all threads, and then of the one that stands at the same place in the header as its rows do among the threads:
 * there `header` is, and goes on. */
static void read_metadata(struct ppk *ppk, struct cursor *header)
{
    struct cursor rows = ppk->cursor;
    ppk->cursor.at = ppk->trial_at;
    read_attributes(ppk);
    ppk->cursor = *header;
    cursor_get(&ppk->cursor, 12);
    read_attributes(ppk);
    *header = ppk->cursor;
    ppk->cursor = rows;
}

static void read_row(struct ppk *ppk)
{
    uint32_t id = get_u32(ppk);
    struct tau_values values = {.calls = get_real(ppk)};
    get_real(ppk);
    for (uint32_t i = 0; i < ppk->metrics && !ppk->cursor.failed; i++) {
        double self = get_real(ppk), total = get_real(ppk);
        values.self_us = i == ppk->time ? self : values.self_us;
        values.total_us = i == ppk->time ? total : values.total_us;
    }
    if (id >= ppk->function_count)
        fail(ppk, "a row is of a function that there is not");
    else if (!ppk->cursor.failed)
        tau_profile_row(&ppk->profile, ppk->functions[id].name, ppk->functions[id].is_parameter, &values);
}

static void read_event(struct ppk *ppk)
{
    uint32_t id = get_u32(ppk), count = get_u32(ppk);
    struct tau_sum sum = {.count = count < INT32_MAX ? count : 0};
    sum.min = get_real(ppk);
    sum.max = get_real(ppk);
    sum.total = get_real(ppk) * (double)sum.count;
    get_real(ppk);
    if (id >= ppk->event_count)
        fail(ppk, "a row is of a user event that there is not");
    else if (!ppk->cursor.failed)
        tau_profile_event(&ppk->profile, ppk->events[id], &sum);
}

static int read_thread(struct ppk *ppk, struct cursor *header)
{
    uint32_t place[3];
    for (int i = 0; i < 3; i++) {
        place[i] = get_u32(ppk);
        if (place[i] > TAU_PROFILE_PLACE_MAX)
            return fail(ppk, "the number of a thread is wrong");
    }
    tau_profile_thread(&ppk->profile, place[0], place[1], place[2]);
    if (header->at && !ppk->profile.failed)
        read_metadata(ppk, header);
    for (uint32_t count = get_count(ppk, 20 + 16 * (size_t)ppk->metrics); count && check(ppk) == 0; count--)
        read_row(ppk);
    for (uint32_t count = get_count(ppk, 40); count && check(ppk) == 0; count--)
        read_event(ppk);
    if (check(ppk) == 0)
        tau_profile_end_thread(&ppk->profile);
    return ppk->profile.failed ? fail(ppk, "out of memory") : check(ppk);
}

static int read_all(struct ppk *ppk)
{
    if (read_tables(ppk) < 0)
        return -1;
    uint32_t threads = get_count(ppk, 20);
    struct cursor header = ppk->cursor;
    header.at = threads == ppk->threads ? ppk->threads_at : NULL;
    ppk->profile.alone = threads == 1;
    for (uint32_t i = 0; i < threads && check(ppk) == 0; i++)
        read_thread(ppk, &header);
    if (check(ppk) < 0)
        return -1;
    return tau_profile_finish(&ppk->profile) < 0 ? fail(ppk, "out of memory") : 0;
}

bool ppk_reader_recognises(const void *data, size_t size)
{
    return size > 6 && memcmp(data, "\0P\0P\0K", 6) == 0;
}

int ppk_reader_read(const void *data, size_t size, const char *name, struct recording *recording,
                    struct err *err)
{
    struct ppk ppk = {.cursor = cursor_on(data, size), .profile = {.recording = recording}};
    if (recording_init(recording, err) < 0)
        return -1;
    int result = read_all(&ppk);
    if (result < 0) {
        recording_clear(recording);
        if (ppk.metrics && ppk.time == UINT32_MAX)
            err_set(
                err,
                "%s holds no times, and nothing else is read of packed profiles; pack the folder MULTI__TIME",
                name);
        err_set(err, "%s: not a whole packed profile of ParaProf: %s; pack it again, or copy it again", name,
                ppk.problem);
    }
    tau_profile_clear(&ppk.profile);
    free(ppk.groups);
    free(ppk.events);
    free(ppk.functions);
    return result;
}
