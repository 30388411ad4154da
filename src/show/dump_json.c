#include "show/dump_json.h"

#include "analyse/labels.h"
#include "base/json.h"
#include "show/dump.h"

static void put_text(const struct dump *dump, struct json *json, const char *key, uint32_t id)
{
    json_key(json, key);
    if (id)
        json_text(json, strings_text(&dump->strings, id), strings_size(&dump->strings, id));
    else
        json_null(json);
}

static void put_bool(struct json *json, const char *key, bool value)
{
    json_key(json, key);
    json_bool(json, value);
}

static void put_variables(const struct dump *dump, const struct dump_frame *frame, struct json *json)
{
    json_key(json, "locals");
    json_begin_array(json);
    for (size_t i = 0; i < frame->variable_count; i++) {
        const struct dump_variable *variable = &dump->variables[frame->first_variable + i];
        json_begin_row(json);
        put_text(dump, json, "name", variable->name);
        json_put_unsigned(json, "addr", variable->address);
        put_bool(json, "arg", variable->argument);
        put_text(dump, json, "repr", variable->value);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_frame(const struct dump *dump, const struct dump_frame *frame, struct json *json)
{
    json_begin_row(json);
    put_text(dump, json, "name", frame->function);
    put_text(dump, json, "filename", frame->file);
    put_text(dump, json, "module", frame->module);
    json_key(json, "short_filename");
    json_string(json,
                frame->file ? labels_path(strings_text(&dump->strings, frame->file), LABEL_SHORT) : NULL);
    json_key(json, "line");
    json_signed(json, frame->line > 0 ? frame->line : 0);
    put_bool(json, "is_entry", frame->entry);
    put_bool(json, "native", frame->native);
    put_variables(dump, frame, json);
    json_end_object(json);
}

static void put_frames(const struct dump *dump, size_t first, size_t count, struct json *json)
{
    json_key(json, "frames");
    json_begin_array(json);
    for (size_t i = 0; i < count; i++)
        put_frame(dump, &dump->frames[first + i], json);
    json_end_array(json);
}

static void put_task(const struct dump *dump, const struct dump_task *task, struct json *json)
{
    json_begin_row(json);
    json_put_unsigned(json, "id", task->id);
    put_text(dump, json, "name", task->name);
    put_bool(json, "running", task->running);
    json_key(json, "awaited_by");
    json_begin_array(json);
    for (size_t i = 0; i < task->awaiter_count; i++)
        json_unsigned(json, dump->awaiters[task->first_awaiter + i]);
    json_end_array(json);
    put_frames(dump, task->first_frame, task->frame_count, json);
    json_end_object(json);
}

static void put_tasks(const struct dump *dump, const struct dump_thread *thread, struct json *json)
{
    json_put_unsigned(json, "tasks_left_out", thread->tasks_left_out);
    json_key(json, "tasks");
    json_begin_array(json);
    for (size_t i = 0; i < thread->task_count; i++)
        put_task(dump, &dump->tasks[thread->first_task + i], json);
    json_end_array(json);
}

static void put_process(const struct dump *dump, struct json *json)
{
    json_key(json, "process_info");
    json_begin_object(json);
    json_put_unsigned(json, "pid", dump->pid);
    json_put_unsigned(json, "ppid", dump->parent);
    put_text(dump, json, "command_line", dump->command);
    put_text(dump, json, "python_version", dump->version);
    put_text(dump, json, "executable", dump->executable);
    put_text(dump, json, "core", dump->core);
    json_put_unsigned(json, "signal", (uint64_t)dump->signal);
    put_bool(json, "stopped", dump->stopped);
    json_end_object(json);
}

static const char *state_name(enum dump_state state)
{
    static const char *const names[] = {[DUMP_UNKNOWN] = "unknown",
                                        [DUMP_ACTIVE] = "active",
                                        [DUMP_IDLE] = "idle",
                                        [DUMP_WAITS_FOR_GIL] = "waiting for the GIL"};
    return names[state];
}

static void put_thread(const struct dump *dump, const struct dump_thread *thread, struct json *json)
{
    json_begin_row(json);
    json_put_unsigned(json, "pid", dump->pid);
    json_put_unsigned(json, "thread_id", thread->thread_id);
    put_text(dump, json, "thread_name", thread->name);
    json_key(json, "os_thread_id");
    if (thread->native_id)
        json_unsigned(json, thread->native_id);
    else
        json_null(json);
    put_bool(json, "active", thread->state == DUMP_ACTIVE);
    put_bool(json, "owns_gil", thread->holds_gil);
    json_key(json, "state");
    json_string(json, state_name(thread->state));
    json_key(json, "interpreter");
    json_signed(json, thread->interpreter);
    put_bool(json, "died", thread->died);
    put_text(dump, json, "problem", thread->problem);
    put_frames(dump, thread->first_frame, thread->frame_count, json);
    json_put_unsigned(json, "frames_left_out", thread->frames_left_out);
    put_tasks(dump, thread, json);
    put_process(dump, json);
    json_end_object(json);
}

void dump_json_put(const struct dump *dumps, size_t count, struct json *json)
{
    json_begin_array(json);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < dumps[i].thread_count; j++)
            put_thread(&dumps[i], &dumps[i].threads[j], json);
    json_line(json);
    json_end_array(json);
}
