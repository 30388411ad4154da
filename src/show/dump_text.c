#include "show/dump_text.h"

#include <inttypes.h>
#include <string.h>

#include "analyse/labels.h"
#include "base/bytes.h"
#include "show/dump.h"
#include "show/terminal.h"

struct writing_dump {
    const struct dump *dump;
    const struct terminal *terminal;
    enum label_paths paths;
    struct bytes *out;
};

static void put_text(const struct writing_dump *w, uint32_t id)
{
    terminal_put(strings_text(&w->dump->strings, id), w->out);
}

static void put_styled(const struct writing_dump *w, enum terminal_style style, uint32_t id)
{
    terminal_style(w->terminal, style, w->out);
    put_text(w, id);
    terminal_style(w->terminal, TERMINAL_PLAIN, w->out);
}

static void put_process(const struct writing_dump *w)
{
    const struct dump *dump = w->dump;
    bytes_putf(w->out, "Process %" PRIu64 ": ", dump->pid);
    put_text(w, dump->command);
    if (dump->stopped)
        bytes_put_text(w->out, " (stopped)");
    bytes_put_text(w->out, "\nPython ");
    put_text(w, dump->version);
    bytes_put_text(w->out, " (");
    put_text(w, dump->executable);
    bytes_put_text(w->out, ")\n");
    if (!dump->core)
        return;
    bytes_put_text(w->out, "Core file ");
    put_text(w, dump->core);
    if (dump->signal)
        bytes_putf(w->out, ", died of signal %d (%s)", dump->signal, strsignal(dump->signal));
    bytes_put_text(w->out, "\n");
}

static void put_thread_name(const struct writing_dump *w, const struct dump_thread *thread)
{
    if (thread->native_id)
        bytes_putf(w->out, "thread %" PRIu64, thread->native_id);
    else
        bytes_putf(w->out, "thread 0x%" PRIx64, thread->thread_id);
    if (!thread->name)
        return;
    bytes_put_text(w->out, " \"");
    put_text(w, thread->name);
    bytes_put_text(w->out, "\"");
}

/* Interpreters with a GIL of their own are told apart. */
static void put_lock_holders(const struct writing_dump *w)
{
    const struct dump *dump = w->dump;
    bool several = false, held = false;
    for (size_t i = 0; i < dump->thread_count; i++)
        several |= dump->threads[i].interpreter != dump->threads[0].interpreter;
    for (size_t i = 0; i < dump->thread_count; i++) {
        const struct dump_thread *thread = &dump->threads[i];
        if (!thread->holds_gil)
            continue;
        bytes_put_text(w->out, "GIL");
        if (several)
            bytes_putf(w->out, " of interpreter %" PRId64, thread->interpreter);
        bytes_put_text(w->out, ": held by ");
        put_thread_name(w, thread);
        if (thread->state == DUMP_IDLE)
            bytes_put_text(w->out, ", which sleeps without letting go of it");
        bytes_put_text(w->out, "\n");
        held = true;
    }
    if (!held && dump->thread_count)
        bytes_put_text(w->out, "GIL: held by nobody\n");
}

static void put_lock_waiters(const struct writing_dump *w)
{
    size_t waiting = 0;
    for (size_t i = 0; i < w->dump->thread_count; i++) {
        const struct dump_thread *thread = &w->dump->threads[i];
        if (thread->state != DUMP_WAITS_FOR_GIL)
            continue;
        bytes_put_text(w->out, waiting++ ? ", " : "GIL: waited for by ");
        put_thread_name(w, thread);
    }
    if (waiting)
        bytes_put_text(w->out, "\n");
}

static void put_variables(const struct writing_dump *w, const struct dump_frame *frame, bool arguments)
{
    bool headed = false;
    for (size_t i = 0; i < frame->variable_count; i++) {
        const struct dump_variable *variable = &w->dump->variables[frame->first_variable + i];
        if (variable->argument != arguments)
            continue;
        if (!headed)
            bytes_put_text(w->out, arguments ? "        Arguments:\n" : "        Locals:\n");
        headed = true;
        bytes_put_text(w->out, "            ");
        put_text(w, variable->name);
        bytes_put_text(w->out, ": ");
        put_text(w, variable->value);
        bytes_put_text(w->out, "\n");
    }
}

static void put_frame(const struct writing_dump *w, const struct dump_frame *frame, const char *indent)
{
    bytes_put_text(w->out, indent);
    put_styled(w, frame->native ? TERMINAL_DIM : TERMINAL_BOLD, frame->function);
    uint32_t file = frame->file ? frame->file : frame->module;
    if (file) {
        bytes_put_text(w->out, " (");
        terminal_put(labels_path(strings_text(&w->dump->strings, file), w->paths), w->out);
        if (frame->line > 0)
            bytes_putf(w->out, ":%" PRId32, frame->line);
        bytes_put_text(w->out, ")");
    }
    bytes_put_text(w->out, "\n");
    put_variables(w, frame, true);
    put_variables(w, frame, false);
}

/* Awaiters may belong to other threads, or be gone already. */
static void put_task_name(const struct writing_dump *w, uint64_t id)
{
    for (size_t i = 0; i < w->dump->task_count; i++) {
        if (w->dump->tasks[i].id != id)
            continue;
        if (w->dump->tasks[i].name) {
            put_styled(w, TERMINAL_BOLD, w->dump->tasks[i].name);
            return;
        }
    }
    bytes_putf(w->out, "0x%" PRIx64, id);
}

static void put_task(const struct writing_dump *w, const struct dump_task *task)
{
    bytes_put_text(w->out, "        ");
    put_task_name(w, task->id);
    if (task->running)
        bytes_put_text(w->out, " (running: the stack above)");
    for (size_t i = 0; i < task->awaiter_count; i++) {
        bytes_put_text(w->out, i ? ", " : ", awaited by ");
        put_task_name(w, w->dump->awaiters[task->first_awaiter + i]);
    }
    bytes_put_text(w->out, "\n");
    for (size_t i = 0; i < task->frame_count; i++)
        put_frame(w, &w->dump->frames[task->first_frame + i], "            ");
}

static void put_tasks(const struct writing_dump *w, const struct dump_thread *thread)
{
    if (!thread->task_count)
        return;
    bytes_putf(w->out, "    Tasks of its event loop: %zu\n", thread->task_count + thread->tasks_left_out);
    for (size_t i = 0; i < thread->task_count; i++)
        put_task(w, &w->dump->tasks[thread->first_task + i]);
    if (thread->tasks_left_out)
        bytes_putf(w->out, "        ... and %zu more\n", thread->tasks_left_out);
}

static void put_thread(const struct writing_dump *w, const struct dump_thread *thread)
{
    if (thread->native_id)
        bytes_putf(w->out, "\nThread %" PRIu64, thread->native_id);
    else
        bytes_putf(w->out, "\nThread 0x%" PRIx64, thread->thread_id);
    const char *state = dump_state_text(thread);
    if (state[0] || thread->died)
        bytes_putf(w->out, " (%s%s%s)", state, state[0] && thread->died ? ", " : "",
                   thread->died ? "died" : "");
    if (thread->name) {
        bytes_put_text(w->out, ": \"");
        put_text(w, thread->name);
        bytes_put_text(w->out, "\"");
    }
    bytes_put_text(w->out, "\n");
    for (size_t i = 0; i < thread->frame_count; i++)
        put_frame(w, &w->dump->frames[thread->first_frame + i], "    ");
    if (thread->frames_left_out)
        bytes_putf(w->out, "    ... and %zu more\n", thread->frames_left_out);
    if (thread->problem) {
        bytes_put_text(w->out, "    (");
        put_text(w, thread->problem);
        bytes_put_text(w->out, ")\n");
    }
    put_tasks(w, thread);
}

void dump_text_put(const struct dump *dump, const struct terminal *terminal, bool full_filenames,
                   struct bytes *out)
{
    struct writing_dump w = {dump, terminal, full_filenames ? LABEL_FULL : LABEL_SHORT, out};
    put_process(&w);
    put_lock_holders(&w);
    put_lock_waiters(&w);
    for (size_t i = 0; i < dump->thread_count; i++)
        put_thread(&w, &dump->threads[i]);
}
