#include "cli/dump_stack.h"

#include <stdio.h>
#include <string.h>

#include "cli/dump_reading.h"
#include "python/lines.h"
#include "python/names.h"
#include "python/values.h"

enum { TEXT_BYTES = 4096 };

static uint32_t intern(struct dump_reading *r, const char *text)
{
    return dump_intern(r->dump, text, strlen(text));
}

static uint32_t intern_python_text(struct dump_reading *r, uint64_t text)
{
    char out[TEXT_BYTES];
    ssize_t size = names_text(&r->python.layout, &r->image->memory, text, out, sizeof out);
    return size < 0 ? intern(r, "?") : dump_intern(r->dump, out, (size_t)size);
}

static int32_t line_of(struct dump_reading *r, const struct names_code *code, int32_t offset)
{
    const struct layout *layout = &r->python.layout;
    ssize_t size = names_bytes(layout, &r->image->memory, code->lines, r->lines, sizeof r->lines);
    if (size < 0 || (size_t)size > sizeof r->lines)
        return -1;
    return lines_find(lines_format(layout->version), r->lines, (size_t)size, code->first_line, offset).line;
}

static void add_variables(struct dump_reading *r, const struct walk_frame *frame)
{
    char text[VALUES_DETAILED_BYTES];
    struct values values = {.layout = &r->python.layout,
                            .memory = r->image->memory,
                            .code_type = r->python.code_type,
                            .detailed = r->options->detailed};
    ssize_t count = locals_read(&r->python.layout, &r->image->memory, frame->code, frame->frame, r->variables,
                                DUMP_READING_VARIABLES);
    for (ssize_t i = 0; i < count; i++) {
        const struct locals_row *row = &r->variables[i];
        struct dump_variable *variable = dump_add_variable(r->dump);
        if (!variable)
            return;
        variable->name = intern(r, row->name);
        variable->value = dump_intern(r->dump, text, values_put(&values, row->value, text));
        variable->address = row->value;
        variable->argument = row->argument;
    }
}

static void add_frame(struct dump_reading *r, const struct walk_frame *walked)
{
    struct names_code code;
    struct dump_frame *frame = walked->flags & WALK_STARTING ? NULL : dump_add_frame(r->dump);
    if (!frame)
        return; /* one that has not begun is not shown by Python either */
    frame->entry = walked->flags & WALK_ENTRY;
    if (!names_read_code(&r->python.layout, &r->image->memory, r->python.code_type, walked->code, &code)) {
        frame->function = intern(r, "?");
        return;
    }
    frame->function = intern_python_text(r, code.qualname ? code.qualname : code.name);
    frame->file = intern_python_text(r, code.filename);
    frame->line = line_of(r, &code, walked->offset);
}

static void add_frames(struct dump_reading *r, const struct walk *walk)
{
    for (uint32_t i = 0; i < walk->count; i++) {
        size_t before = r->dump->frame_count;
        add_frame(r, &r->frames[i]);
        if (r->options->variables && r->dump->frame_count > before && r->dump->frames[before].file)
            add_variables(r, &r->frames[i]);
    }
}

/* Without variables the frames are named later, when it runs again. */
struct walk dump_stack_take(struct dump_reading *r, uint64_t state)
{
    if (!state)
        return (struct walk){.status = WALK_EMPTY};
    struct walk_thread thread = {.state = state};
    struct walk walk = walk_frames(&r->walk, &thread, r->frames, DUMP_READING_FRAMES);
    dump_tasks_take(&r->tasks, state);
    if (r->options->variables && walk.status == WALK_OK)
        add_frames(r, &walk);
    return walk;
}

void dump_stack_forget(struct dump_reading *r, struct dump_thread *thread)
{
    struct dump *dump = r->dump;
    if (thread->frame_count)
        dump->variable_count = dump->frames[thread->first_frame].first_variable;
    dump->frame_count = thread->first_frame;
    thread->frame_count = 0;
}

static void set_problem(struct dump_reading *r, struct dump_thread *thread, bool stood,
                        const struct walk *walk)
{
    char words[256];
    if (!stood)
        snprintf(words, sizeof words, "it could not be made to stand still");
    else if (walk->status == WALK_REJECTED)
        snprintf(words, sizeof words, "its stack could not be read: %s", walk_reason_text(walk->reason));
    else
        snprintf(words, sizeof words, "it runs no Python");
    thread->problem = intern(r, words);
}

void dump_stack_finish(struct dump_reading *r, struct dump_thread *thread, bool stood,
                       const struct walk *walk)
{
    if (!stood || walk->status != WALK_OK)
        set_problem(r, thread, stood, walk);
    else if (!r->options->variables)
        add_frames(r, walk);
    thread->frames_left_out = stood && walk->depth > walk->count ? walk->depth - walk->count : 0;
    if (!r->native_taken)
        return;
    dump_native_weave(&r->native, r->dump, thread, r->frames, walk->status == WALK_OK ? walk->count : 0);
    if (stood && walk->status == WALK_EMPTY)
        thread->problem = 0;
}

/* Without variables: the thread may run again. */
static void add_task_frames(struct dump_reading *r, const struct dump_tasks_row *row)
{
    for (size_t i = row->frame_count; i-- > 0;)
        add_frame(r, &r->tasks.frames[row->first_frame + i]);
}

void dump_stack_add_tasks(struct dump_reading *r, struct dump_thread *thread)
{
    const struct dump_tasks *tasks = &r->tasks;
    for (size_t i = 0; i < tasks->count; i++) {
        const struct dump_tasks_row *row = &tasks->rows[i];
        struct dump_task *task = dump_add_task(r->dump);
        if (!task)
            return;
        task->id = row->address;
        task->running = row->running;
        task->name = row->name_bytes ? dump_intern(r->dump, row->name, row->name_bytes) : 0;
        for (size_t j = 0; j < row->awaiter_count; j++)
            dump_add_awaiter(r->dump, tasks->awaiters[row->first_awaiter + j]);
        add_task_frames(r, row);
    }
    thread->tasks_left_out = tasks->left_out;
}
