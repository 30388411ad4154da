#include "cli/dump_reader.h"

#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/dump_native.h"
#include "cli/dump_tasks.h"
#include "collect/agent/task_list.h"
#include "collect/outside/core_file.h"
#include "collect/outside/hold.h"
#include "collect/outside/process_access.h"
#include "collect/outside/process_image.h"
#include "collect/outside/thread_states.h"
#include "python/lines.h"
#include "python/locals.h"
#include "python/names.h"
#include "python/thread_names.h"
#include "python/threads.h"
#include "python/values.h"
#include "show/dump.h"

enum { MOST_THREADS = 4096, MOST_FRAMES = 1 << 12, MOST_VARIABLES = 256, TRIES = 50 };
enum { PAUSE_NS = 1000000, PAUSES = 3000 }; /* 3 s in all */
enum { FOLDERS_MAX = 64, TEXT_BYTES = 4096, LINES_BYTES = 1 << 20, GIL_BYTES = 208 };

/* A thread as the kernel sees it. */
struct kernel_thread {
    uint32_t tid;     /* as we see it */
    uint32_t own_tid; /* as the process sees it */
};

/* What a thread has asked the kernel for. */
struct kernel_call {
    int64_t number; /* below 0 = nothing */
    uint64_t first, second;
};

struct reader {
    struct dump *dump;
    const struct dump_reader_options *options;
    uint32_t pid;                 /* 0 = a core file */
    const struct core_file *core; /* NULL = a process */
    const struct target_image *image;
    struct target_python python;
    struct code_cache codes;
    struct walk_process walk;
    enum dump_state state_now; /* of the thread at hand, when it stood still */
    struct dump_native native;
    struct dump_tasks tasks; /* of the thread at hand */
    bool native_taken;       /* of the thread at hand */
    uint32_t tid_offset;     /* as target_python_tid_offset says */
    struct thread_names names;
    struct kernel_thread threads[MOST_THREADS];
    size_t thread_count;
    struct threads_row rows[MOST_THREADS];
    enum dump_state states[MOST_THREADS]; /* of the rows */
    ssize_t row_count;
    struct walk_frame frames[MOST_FRAMES];
    struct locals_row variables[MOST_VARIABLES];
    uint8_t lines[LINES_BYTES];
};

static uint32_t intern(struct reader *r, const char *text)
{
    return dump_intern(r->dump, text, strlen(text));
}

/* ---- frames ---- */

static uint32_t intern_python_text(struct reader *r, uint64_t text)
{
    char out[TEXT_BYTES];
    ssize_t size = names_text(&r->python.layout, &r->image->memory, text, out, sizeof out);
    return size < 0 ? intern(r, "?") : dump_intern(r->dump, out, (size_t)size);
}

static int32_t line_of(struct reader *r, const struct names_code *code, int32_t offset)
{
    const struct layout *layout = &r->python.layout;
    ssize_t size = names_bytes(layout, &r->image->memory, code->lines, r->lines, sizeof r->lines);
    if (size < 0 || (size_t)size > sizeof r->lines)
        return -1;
    return lines_find(lines_format(layout->version), r->lines, (size_t)size, code->first_line, offset).line;
}

static void add_variables(struct reader *r, const struct walk_frame *frame)
{
    char text[VALUES_DETAILED_BYTES];
    struct values values = {.layout = &r->python.layout,
                            .memory = r->image->memory,
                            .code_type = r->python.code_type,
                            .detailed = r->options->detailed};
    ssize_t count = locals_read(&r->python.layout, &r->image->memory, frame->code, frame->frame, r->variables,
                                MOST_VARIABLES);
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

static void add_frame(struct reader *r, const struct walk_frame *walked)
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

static void add_frame_and_variables(struct reader *r, const struct walk_frame *walked)
{
    size_t before = r->dump->frame_count;
    add_frame(r, walked);
    if (r->options->variables && r->dump->frame_count > before && r->dump->frames[before].file)
        add_variables(r, walked);
}

static void forget_frames(struct dump *dump, struct dump_thread *thread)
{
    if (thread->frame_count)
        dump->variable_count = dump->frames[thread->first_frame].first_variable;
    dump->frame_count = thread->first_frame;
    thread->frame_count = 0;
}

static void add_frames(struct reader *r, const struct walk *walk)
{
    for (uint32_t i = 0; i < walk->count; i++)
        add_frame_and_variables(r, &r->frames[i]);
}

/* The thread stands still. Without variables the frames are named later, when it runs again. */
static struct walk walk_thread(struct reader *r, uint64_t state)
{
    if (!state)
        return (struct walk){.status = WALK_EMPTY}; /* a thread without Python */
    struct walk_thread thread = {.state = state};
    struct walk walk = walk_frames(&r->walk, &thread, r->frames, MOST_FRAMES);
    dump_tasks_take(&r->tasks, state);
    if (r->options->variables && walk.status == WALK_OK)
        add_frames(r, &walk);
    return walk;
}

/* ---- states ---- */

static uint64_t gil_address(const struct reader *r, const struct threads_row *row)
{
    const struct layout *layout = &r->python.layout;
    uint64_t gil = r->python.runtime + layout->runtime_gil;
    if (layout->runtime_gil == LAYOUT_ABSENT &&
        !memory_read_word(&r->image->memory, row->interpreter + layout->interpreter_gil, &gil))
        return 0;
    return gil;
}

/* A thread that waits for the GIL sleeps on a condition within it. */
static enum dump_state state_in_call(const struct reader *r, const struct threads_row *row,
                                     const struct kernel_call *call)
{
    uint64_t gil = row->state ? gil_address(r, row) : 0;
    if (call->number < 0)
        return DUMP_ACTIVE;
    uint64_t operation = call->second & FUTEX_CMD_MASK;
    if (call->number == SYS_futex && (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET) && gil &&
        call->first >= gil && call->first - gil < GIL_BYTES && !row->holds_gil)
        return DUMP_WAITS_FOR_GIL;
    return DUMP_IDLE;
}

/* Where the kernel does not tell what a thread has called. */
static enum dump_state coarse_state(const struct reader *r, const struct kernel_thread *kernel)
{
    struct task task = {0};
    if (!task_list_open(&task, r->pid, kernel->tid))
        return DUMP_UNKNOWN;
    char state = task_list_state(&task);
    task_list_close(&task);
    return state == 'R' ? DUMP_ACTIVE : state ? DUMP_IDLE : DUMP_UNKNOWN;
}

static enum dump_state process_state(const struct reader *r, const struct threads_row *row,
                                     const struct kernel_thread *kernel)
{
    char path[64];
    struct bytes text = {0};
    struct kernel_call call = {.number = -1};
    snprintf(path, sizeof path, "/proc/%u/task/%u/syscall", r->pid, kernel->tid);
    enum dump_state state;
    if (bytes_read_file(&text, path, TEXT_BYTES, NULL) == 0 && text.size) {
        bytes_put_u8(&text, 0); /* "running", or the number of the call and its arguments */
        if (sscanf((char *)text.data, "%" SCNd64 " %" SCNx64 " %" SCNx64, &call.number, &call.first,
                   &call.second) < 1)
            call.number = -1;
        state = state_in_call(r, row, &call);
    } else
        state = coarse_state(r, kernel);
    bytes_clear(&text);
    return state;
}

static enum dump_state core_state(const struct reader *r, const struct threads_row *row, uint32_t tid)
{
#if defined(__x86_64__)
    enum { RSI = 13, RDI = 14, ORIGINAL_RAX = 15 };
    for (size_t i = 0; i < r->core->thread_count; i++) {
        const struct core_file_thread *thread = &r->core->threads[i];
        const struct kernel_call call = {(int64_t)thread->registers[ORIGINAL_RAX], thread->registers[RDI],
                                         thread->registers[RSI]};
        if (thread->tid == tid && thread->register_count > ORIGINAL_RAX)
            return state_in_call(r, row, &call);
    }
#else
    (void)r;
    (void)row;
    (void)tid;
#endif
    return DUMP_UNKNOWN;
}

/* ---- one thread of a process ---- */

static bool sleeps(char state)
{
    return state == 'S' || state == 'D' || state == 'T' || state == 't' || state == 'I';
}

/* Believed only if it was not on a CPU in between. */
static bool read_sleeper(struct reader *r, const struct task *task, const struct kernel_thread *kernel,
                         const struct threads_row *row, struct walk *walk)
{
    struct task_times before, after;
    if (!task_list_times(task, &before) || !sleeps(task_list_state(task)))
        return false;
    *walk = walk_thread(r, row->state);
    r->state_now = process_state(r, row, kernel);
    return task_list_times(task, &after) && sleeps(task_list_state(task)) && before.slices == after.slices &&
           before.run_ns == after.run_ns;
}

/* On a busy machine a thread may have to wait for a CPU before it can stand still. */
static bool hold_patiently(struct hold *hold, uint32_t tid)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    enum hold_outcome outcome = hold_take(hold, tid);
    for (int i = 0; outcome == HOLD_PENDING && i < PAUSES; i++) {
        nanosleep(&pause, NULL);
        outcome = hold_again(hold);
    }
    return outcome == HOLD_TAKEN;
}

static bool read_held(struct reader *r, const struct kernel_thread *kernel, const struct threads_row *row,
                      struct walk *walk)
{
    struct hold hold;
    if (!hold_patiently(&hold, kernel->tid))
        return false;
    *walk = walk_thread(r, row->state);
    r->native_taken = r->options->native && dump_native_take_held(&r->native, kernel->tid);
    r->state_now = process_state(r, row, kernel);
    hold_release(&hold);
    return true;
}

static void set_problem(struct reader *r, struct dump_thread *thread, bool stood, const struct walk *walk)
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

/* Without variables: the thread may run again. */
static void add_task_frames(struct reader *r, const struct dump_tasks_row *row)
{
    for (size_t i = row->frame_count; i-- > 0;)
        add_frame(r, &r->tasks.frames[row->first_frame + i]);
}

static void add_tasks(struct reader *r, struct dump_thread *thread)
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

static void finish_stack(struct reader *r, struct dump_thread *thread, bool stood, const struct walk *walk)
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

/* At some instructions a stack is just being changed: try again. */
static void read_thread(struct reader *r, struct dump_thread *thread, const struct threads_row *row,
                        const struct kernel_thread *kernel)
{
    struct task task = {0};
    struct walk walk = {0};
    bool stood = false;
    r->native_taken = false;
    if (!task_list_open(&task, r->pid, kernel->tid)) {
        thread->problem = intern(r, "it has just ended");
        return;
    }
    for (int i = 0; i < TRIES; i++) {
        forget_frames(r->dump, thread);
        /* The registers of a thread are seen only when it is held. */
        bool deaf = task_list_state(&task) == 'D'; /* deep in the kernel it cannot be held */
        stood = (r->options->native && !deaf && read_held(r, kernel, row, &walk)) ||
                read_sleeper(r, &task, kernel, row, &walk) || read_held(r, kernel, row, &walk);
        if (stood && walk.status != WALK_REJECTED)
            break;
    }
    task_list_close(&task);
    /* One that waits for the GIL wakes up now and then to ask for it. */
    if (stood && thread->state == DUMP_ACTIVE && r->state_now == DUMP_WAITS_FOR_GIL)
        thread->state = r->state_now;
    finish_stack(r, thread, stood, &walk);
}

/* ---- all threads ---- */

static uint32_t own_tid_of(const struct reader *r, const struct threads_row *row)
{
    uint32_t tid = 0;
    if (row->native_id || !r->tid_offset)
        return (uint32_t)row->native_id;
    memory_read(&r->image->memory, row->thread_id + r->tid_offset, &tid, sizeof tid);
    return tid;
}

static const struct kernel_thread *find_kernel_thread(const struct reader *r, uint32_t own_tid)
{
    for (size_t i = 0; i < r->thread_count; i++)
        if (r->threads[i].own_tid == own_tid)
            return &r->threads[i];
    /* After a fork some versions keep the parent's number. */
    return r->thread_count == 1 ? &r->threads[0] : NULL;
}

/* As the program calls it. */
static void name_thread(struct reader *r, struct dump_thread *thread, const struct threads_row *row)
{
    const struct layout *layout = &r->python.layout;
    char name[TEXT_BYTES];
    ssize_t size = -1;
    if (thread_names_find(&r->names, layout, &r->image->memory, row->state))
        size = thread_names_read(&r->names, layout, &r->image->memory, row->state, name, sizeof name);
    if (size > 0)
        thread->name = dump_intern(r->dump, name, (size_t)size);
}

static void name_after_kernel(struct reader *r, struct dump_thread *thread,
                              const struct kernel_thread *kernel)
{
    struct task task = {0};
    char name[64] = "";
    if (!task_list_open(&task, r->pid, kernel->tid))
        return;
    task_list_name(&task, name, sizeof name);
    task_list_close(&task);
    thread->name = intern(r, name);
}

static void add_process_thread(struct reader *r, struct dump_thread *thread, const struct threads_row *row)
{
    const struct kernel_thread *kernel = find_kernel_thread(r, (uint32_t)thread->native_id);
    if (!kernel) {
        thread->problem = intern(r, "it has just ended");
        return;
    }
    thread->native_id = kernel->tid;
    if (!thread->name)
        name_after_kernel(r, thread, kernel);
    read_thread(r, thread, row, kernel);
}

static void add_dead_thread(struct reader *r, struct dump_thread *thread, const struct threads_row *row)
{
    const struct core_file *core = r->core;
    thread->died = core->signal && core->thread_count && core->threads[0].tid == thread->native_id;
    r->native_taken = false;
    for (size_t i = 0; r->options->native && i < core->thread_count; i++)
        if (core->threads[i].tid == thread->native_id)
            r->native_taken =
                dump_native_take(&r->native, core->threads[i].registers, core->threads[i].register_count);
    struct walk walk = walk_thread(r, row->state);
    finish_stack(r, thread, true, &walk);
}

static void add_thread(struct reader *r, const struct threads_row *row, enum dump_state state)
{
    struct dump_thread *thread = dump_add_thread(r->dump);
    if (!thread)
        return;
    dump_tasks_take(&r->tasks, 0); /* none yet */
    thread->native_id = own_tid_of(r, row);
    thread->thread_id = row->thread_id;
    thread->interpreter = row->interpreter_id;
    thread->holds_gil = row->holds_gil;
    thread->state = state;
    if (row->state)
        name_thread(r, thread, row);
    if (r->core)
        add_dead_thread(r, thread, row);
    else
        add_process_thread(r, thread, row);
    add_tasks(r, thread);
}

static ssize_t list_threads(struct reader *r, struct threads_row *rows)
{
    ssize_t count = threads_list(&r->python.layout, &r->image->memory, r->python.runtime, rows, MOST_THREADS);
    return count > MOST_THREADS ? MOST_THREADS : count;
}

static bool same_holders(const struct reader *r, const struct threads_row *later, ssize_t count)
{
    bool same = count == r->row_count;
    for (ssize_t i = 0; same && i < count; i++)
        same = later[i].state == r->rows[i].state && later[i].holds_gil == r->rows[i].holds_gil;
    return same;
}

/* Who holds the GIL and who sleeps, of one instant: nobody came, went or handed it over in between. */
static bool call_roll(struct reader *r, struct threads_row *later)
{
    r->row_count = list_threads(r, r->rows);
    for (ssize_t i = 0; i < r->row_count; i++) {
        const struct threads_row *row = &r->rows[i];
        uint32_t tid = own_tid_of(r, row);
        const struct kernel_thread *kernel = r->core ? NULL : find_kernel_thread(r, tid);
        r->states[i] = r->core  ? core_state(r, row, tid)
                       : kernel ? process_state(r, row, kernel)
                                : DUMP_UNKNOWN;
    }
    return r->row_count >= 0 && same_holders(r, later, list_threads(r, later));
}

/* Threads that have no PyThreadState: of libraries, and of programs that embed Python. */
static void add_foreign_threads(struct reader *r)
{
    size_t known = r->dump->thread_count;
    for (size_t i = 0; i < r->thread_count; i++) {
        const struct kernel_thread *kernel = &r->threads[i];
        bool python = false;
        for (size_t j = 0; j < known; j++)
            python |= r->dump->threads[j].native_id == kernel->tid;
        const struct threads_row row = {.native_id = kernel->own_tid};
        if (!python && (known > 1 || r->thread_count > 1))
            add_thread(r, &row,
                       r->core ? core_state(r, &row, kernel->own_tid) : process_state(r, &row, kernel));
    }
}

static int add_threads(struct reader *r, struct err *err)
{
    struct threads_row *later = calloc(MOST_THREADS, sizeof *later);
    if (!later)
        return err_set(err, "out of memory");
    for (int i = 0; i < TRIES && !call_roll(r, later); i++)
        continue; /* in a busy program the last one must do */
    free(later);
    if (r->row_count < 0)
        return err_set(err, "its list of threads cannot be read; has Python ended there?");
    for (ssize_t i = r->row_count; i > 0; i--) /* the oldest first */
        add_thread(r, &r->rows[i - 1], r->states[i - 1]);
    if (r->options->native)
        add_foreign_threads(r);
    return r->dump->failed ? err_set(err, "out of memory") : 0;
}

/* ---- processes and core files ---- */

static void add_version(struct reader *r)
{
    uint32_t version = r->python.layout.version;
    char text[32];
    int size =
        snprintf(text, sizeof text, "%u.%u.%u", version >> 24, version >> 16 & 0xff, version >> 8 & 0xff);
    if ((version >> 4 & 0xf) == 0xc)
        snprintf(text + size, sizeof text - (size_t)size, "rc%u", version & 0xf);
    r->dump->version = intern(r, text);
}

static int find_python(struct reader *r, struct err *err)
{
    if (target_python_find(r->image, &r->python, err) < 0)
        return -1;
    r->walk = target_python_walk(&r->python, &r->image->memory, &r->codes);
    dump_tasks_init(&r->tasks, r->image, &r->python.layout);
    r->dump->executable = intern(r, r->python.path);
    add_version(r);
    uint32_t tids[MOST_THREADS];
    for (size_t i = 0; i < r->thread_count; i++)
        tids[i] = r->threads[i].own_tid;
    if (r->python.layout.thread_native_id == LAYOUT_ABSENT)
        r->tid_offset = target_python_tid_offset(&r->python, &r->image->memory, tids, r->thread_count);
    return 0;
}

/* The files of a process in another root are looked for there first. */
static int prepare_native(struct reader *r, struct err *err)
{
    char root[64];
    const char *folders[FOLDERS_MAX];
    size_t count = 0;
    if (!r->options->native)
        return 0;
    snprintf(root, sizeof root, "/proc/%u/root", r->pid);
    if (r->pid)
        folders[count++] = root;
    for (size_t i = 0; r->options->search_dirs[i] && count < FOLDERS_MAX; i++)
        folders[count++] = r->options->search_dirs[i];
    return dump_native_init(&r->native, r->image, folders, count, r->options->internals, err);
}

static void list_kernel_threads(struct reader *r)
{
    struct task_folder folder;
    uint32_t tid;
    if (!task_list_open_folder(&folder, r->pid))
        return;
    while (r->thread_count < MOST_THREADS && (tid = task_list_next(&folder)) != 0)
        r->threads[r->thread_count++] =
            (struct kernel_thread){.tid = tid, .own_tid = thread_states_own_tid(r->pid, tid)};
    task_list_close_folder(&folder);
}

static void add_command(struct reader *r)
{
    char path[64];
    struct bytes text = {0};
    snprintf(path, sizeof path, "/proc/%u/cmdline", r->pid);
    if (bytes_read_file(&text, path, 1 << 20, NULL) == 0 && text.size) {
        for (size_t i = 0; i + 1 < text.size; i++)
            if (!text.data[i])
                text.data[i] = ' ';
        r->dump->command = dump_intern(r->dump, (char *)text.data, text.size - !text.data[text.size - 1]);
    }
    bytes_clear(&text);
}

static void add_executable(struct reader *r)
{
    char path[64], target[TEXT_BYTES];
    snprintf(path, sizeof path, "/proc/%u/exe", r->pid);
    ssize_t size = readlink(path, target, sizeof target);
    if (size > 0)
        r->dump->executable = dump_intern(r->dump, target, (size_t)size);
}

static void add_standing(struct reader *r)
{
    struct task task = {0};
    if (!task_list_open(&task, r->pid, r->pid))
        return;
    char state = task_list_state(&task);
    r->dump->stopped = state == 'T' || state == 't';
    task_list_close(&task);
}

static int read_process(struct reader *r, struct err *err)
{
    list_kernel_threads(r);
    if (find_python(r, err) < 0 || prepare_native(r, err) < 0)
        return -1;
    add_command(r);
    add_executable(r);
    add_standing(r);
    hold_init();
    int result = add_threads(r, err);
    hold_clear();
    dump_native_clear(&r->native);
    dump_tasks_clear(&r->tasks);
    return result;
}

int dump_reader_process(uint32_t pid, const struct dump_reader_options *options, struct dump *dump,
                        struct err *err)
{
    struct err inner = {{0}};
    struct process_image process;
    if (process_access_check(pid, err) < 0 || process_image_open(&process, pid, err) < 0)
        return -1;
    struct reader *r = calloc(1, sizeof *r);
    int result = -1;
    if (r) {
        *r = (struct reader){.pid = pid, .dump = dump, .options = options, .image = &process.image};
        dump->pid = pid;
        result = read_process(r, &inner);
    } else
        err_set(&inner, "out of memory");
    free(r);
    process_image_close(&process);
    return result < 0 ? err_set(err, "process %u: %s", pid, inner.text) : 0;
}

static int read_core(struct reader *r, const struct core_file *core, struct err *err)
{
    r->core = core;
    r->image = &core->image;
    for (size_t i = 0; i < core->thread_count && i < MOST_THREADS; i++)
        r->threads[r->thread_count++] =
            (struct kernel_thread){.tid = core->threads[i].tid, .own_tid = core->threads[i].tid};
    if (find_python(r, err) < 0) {
        const char *missing = core_file_missing(core);
        if (!missing)
            return -1;
        return err_set(err,
                       "no Python was found in it; %s is not there as it was: name a folder that has it with "
                       "--search-dir",
                       missing);
    }
    r->dump->pid = core->pid;
    r->dump->signal = core->signal;
    r->dump->command = intern(r, core->command);
    int result = prepare_native(r, err);
    if (result == 0)
        result = add_threads(r, err);
    dump_native_clear(&r->native);
    dump_tasks_clear(&r->tasks);
    return result;
}

int dump_reader_core(const char *path, const struct dump_reader_options *options, struct dump *dump,
                     struct err *err)
{
    struct core_file core;
    struct err inner = {{0}};
    if (core_file_open(&core, path, options->search_dirs, err) < 0)
        return -1;
    struct reader *r = calloc(1, sizeof *r);
    int result = -1;
    if (r) {
        r->dump = dump;
        r->options = options;
        dump->core = intern(r, path);
        result = read_core(r, &core, &inner);
    } else
        err_set(&inner, "out of memory");
    free(r);
    core_file_close(&core);
    return result < 0 ? err_set(err, "%s: %s", path, inner.text) : 0;
}
