#include "export/tau_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "export/frames.h"
#include "export/thread_profiles.h"
#include "store/recording.h"

static const struct frame_style style = {.function = true, .full_filenames = true, .exact_names = true};

/* `also`: further characters that would be punctuation here. */
static void put_escaped(struct bytes *out, const char *text, const char *also)
{
    for (const char *at = text; *at; at++) {
        bool punctuation = (unsigned char)*at < ' ' || *at == '"' || *at == '%' || *at == 0x7f ||
                           (*at == '>' && at > text && at[-1] == '=') || strchr(also, *at);
        if (punctuation)
            bytes_putf(out, "%%%02X", (unsigned char)*at);
        else
            bytes_put_u8(out, (uint8_t)*at);
    }
}

static void word_function(const struct recording *recording, uint32_t code, struct bytes *out)
{
    struct bytes name = {0};
    const char *file = frames_file(recording, &style, code);
    frames_put_name(recording, &style, code, &name);
    bytes_put_u8(&name, '\0');
    out->failed |= name.failed;
    put_escaped(out, name.failed ? "" : (const char *)name.data, "{}");
    bytes_clear(&name);
    if (!file[0])
        return;
    bytes_put_text(out, " [{");
    put_escaped(out, file, "{} ");
    bytes_putf(out, "} {%u}]", recording->codes[code].line);
}

void tau_text_function(const struct tau_text *text, uint32_t code, struct bytes *out)
{
    size_t start = code ? text->name_ends[code - 1] : 0;
    bytes_put(out, text->names.data + start, text->name_ends[code] - start);
}

void tau_text_path(const struct tau_text *text, uint32_t node, struct bytes *out)
{
    struct bytes stack = {0}; /* the codes, innermost first */
    for (; node; node = thread_profiles_parent(text->profiles, node))
        bytes_put(&stack, &text->recording->nodes[node].code, sizeof(uint32_t));
    out->failed |= stack.failed;
    bytes_put_text(out, TAU_TEXT_ROOT);
    while (stack.size) {
        uint32_t code;
        stack.size -= sizeof code;
        memcpy(&code, stack.data + stack.size, sizeof code);
        bytes_put_text(out, " => ");
        tau_text_function(text, code, out);
    }
    bytes_clear(&stack);
}

const char *const tau_text_groups[TAU_GROUPS] = {"TAU_DEFAULT", "TAU_CALLPATH", "TAU_PYTHON",
                                                 "TAU_NATIVE",  "TAU_USER",     "MPI"};

enum tau_group tau_text_group(const struct tau_text *text, uint32_t code)
{
    const struct code *row = &text->recording->codes[code];
    const char *name = recording_text(text->recording, row->name);
    if (strncmp(recording_text(text->recording, row->module), "mpi4py", 6) == 0 || strstr(name, "mpi4py.") ||
        strncmp(name, "MPI_", 4) == 0)
        return TAU_MPI;
    return row->kind == CODE_PYTHON ? TAU_PYTHON : row->kind == CODE_OTHER ? TAU_USER : TAU_NATIVE;
}

/* ---- metadata ---- */

static void put_some(const char *name, const char *value, tau_text_attribute *put, void *context)
{
    if (value && value[0])
        put(name, value, context);
}

static void put_number(const char *name, uint64_t value, tau_text_attribute *put, void *context)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    put(name, text, context);
}

void tau_text_metadata(const struct tau_text *text, const struct thread_place *place, tau_text_attribute *put,
                       void *context)
{
    const struct recording *recording = text->recording;
    const struct thread *thread = &recording->threads[place->thread];
    const struct process *process = &recording->processes[thread->process];
    put("Metric Name", "TIME", context);
    put("Written By", "sonde " SONDE_VERSION, context);
    if (text->profiles->sampled)
        put("Calls Are", "samples", context);
    if (!text->profiles->ranked)
        put("Ranks", "none", context);
    put_some("Hostname", recording_text(recording, process->host), put, context);
    put_some("Command Line", recording_text(recording, process->command), put, context);
    put_some("Executable", recording_text(recording, process->exe), put, context);
    put_some("Python", recording_text(recording, process->python), put, context);
    put_some("Thread Name", recording_text(recording, thread->name), put, context);
    if (process->pid)
        put_number("pid", process->pid, put, context);
    if (thread->tid)
        put_number("tid", thread->tid, put, context);
    for (uint32_t i = 0; i < recording->metas_count; i++)
        put_some(recording_text(recording, recording->metas[i].key),
                 recording_text(recording, recording->metas[i].value), put, context);
}

/* ---- user events ---- */

static void add_value(struct tau_event *event, double value)
{
    event->min = !event->count || value < event->min ? value : event->min;
    event->max = !event->count || value > event->max ? value : event->max;
    event->count++;
    event->mean += (value - event->mean) / (double)event->count;
    event->sum_of_squares += value * value;
}

/* A sum that only grows counts as one value, the last. */
static void add_up_events(const struct recording *recording, struct tau_event *events)
{
    for (uint32_t i = 0; i < recording->series_count; i++) {
        const struct series_row *row = &recording->series[i];
        uint8_t kind = recording->counters[row->counter].kind;
        if (kind == COUNTER_SUM)
            events[row->counter] = (struct tau_event){0};
        add_value(&events[row->counter],
                  kind == COUNTER_REAL ? recording_real(row->value) : (double)row->value);
    }
}

static void put_event(const struct recording *recording, uint32_t counter, const struct tau_event *event,
                      tau_text_event *put, void *context)
{
    struct bytes name = {0};
    const char *unit = recording_text(recording, recording->counters[counter].unit);
    put_escaped(&name, recording_text(recording, recording->counters[counter].name), "");
    if (unit[0])
        bytes_putf(&name, " (%s)", unit);
    bytes_put_u8(&name, '\0');
    if (!name.failed)
        put((const char *)name.data, event, context);
    bytes_clear(&name);
}

static bool is_first_of_process(const struct thread_profiles *profiles, const struct thread_place *place)
{
    const struct thread *threads = profiles->recording->threads;
    for (const struct thread_place *other = place; other > profiles->places && other[-1].rank == place->rank;)
        if (threads[(--other)->thread].process == threads[place->thread].process)
            return false;
    return true;
}

void tau_text_events(const struct tau_text *text, const struct thread_place *place, tau_text_event *put,
                     void *context)
{
    const struct recording *recording = text->recording;
    uint32_t process = recording->threads[place->thread].process;
    if (!is_first_of_process(text->profiles, place))
        return;
    for (uint32_t counter = 1; counter < recording->counters_count; counter++)
        if (text->events[counter].count && recording->counters[counter].process == process)
            put_event(recording, counter, &text->events[counter], put, context);
}

/* ---- */

int tau_text_init(struct tau_text *text, const struct thread_profiles *profiles, struct err *err)
{
    const struct recording *recording = profiles->recording;
    *text = (struct tau_text){.profiles = profiles, .recording = recording};
    text->name_ends = calloc((size_t)recording->codes_count + 1, sizeof *text->name_ends);
    text->events = calloc((size_t)recording->counters_count + 1, sizeof *text->events);
    for (uint32_t code = 1; code < recording->codes_count && text->name_ends; code++) {
        word_function(recording, code, &text->names);
        text->name_ends[code] = text->names.size;
    }
    if (!text->name_ends || !text->events || text->names.failed) {
        tau_text_clear(text);
        return err_set(err, "not enough memory for the names of %u functions", recording->codes_count);
    }
    add_up_events(recording, text->events);
    return 0;
}

void tau_text_clear(struct tau_text *text)
{
    bytes_clear(&text->names);
    free(text->name_ends);
    free(text->events);
    *text = (struct tau_text){0};
}
