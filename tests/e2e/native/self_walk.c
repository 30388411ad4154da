/*
 * A library that a test program loads with ctypes: it reads the interpreter that it is loaded into, as the
 * agent would, and answers in text. All functions want the GIL (ctypes.PyDLL).
 */
#include "python/layouts.h"
#include "python/lines.h"
#include "python/locals.h"
#include "python/names.h"
#include "python/threads.h"
#include "python/values.h"
#include "step_rule.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { TEXT_BYTES = 4096, TABLE_BYTES = 1 << 20 };

static struct layout layout;
static struct code_cache codes;
static struct walk_process process;
static struct walk_frame frames[1 << 16];
static struct step_rule rule;
static struct walk_thread stepped;
static uint64_t most_steps;

static uint64_t symbol(const char *name)
{
    return (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, name);
}

static struct walk_thread this_thread(void)
{
    void *(*get)(void) = (void *(*)(void))dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    struct walk_thread thread = {.state = (uint64_t)(uintptr_t)get()};
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    if (!pthread_getattr_np(pthread_self(), &attributes)) {
        pthread_attr_getstack(&attributes, &low, &size);
        pthread_attr_destroy(&attributes);
    }
    /* Only what is in use is certainly mapped. */
    thread.stack_high = (uint64_t)(uintptr_t)low + size;
    thread.stack_low = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    return thread;
}

/* Finds the interpreter. 0, or -1 with words in `out`. */
EXPORT int self_init(char *out, size_t size)
{
    struct err err = {{0}};
    const char *(*version)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "Py_GetVersion");
    process = (struct walk_process){.layout = &layout, .memory = memory_own(), .codes = &codes};
    process.code_type = symbol("PyCode_Type");
    process.frame_type = symbol("PyFrame_Type");
    int failed =
        layouts_read(&process.memory, symbol("_PyRuntime"), layouts_version(version()), &layout, &err) ||
        layouts_check(&layout, &process.memory, process.code_type, &err);
    snprintf(out, size, "%s", err.text);
    return failed ? -1 : 0;
}

/* The row, as tools/probe_layouts prints it. */
EXPORT void self_row(char *out, size_t size)
{
    int used = snprintf(out, size, "version 0x%08x\n", layout.version);
#define ROW(name)                                                                                            \
    used += layout.name == LAYOUT_ABSENT ? snprintf(out + used, size - used, #name " absent\n")              \
                                         : snprintf(out + used, size - used, #name " %u\n", layout.name);
    LAYOUT_FIELDS(ROW)
#undef ROW
}

static int line_of(const struct names_code *code, int32_t offset)
{
    static uint8_t table[TABLE_BYTES];
    ssize_t size = names_bytes(&layout, &process.memory, code->lines, table, sizeof table);
    if (size < 0 || size > TABLE_BYTES)
        return -2;
    return lines_find(lines_format(layout.version), table, size, code->first_line, offset).line;
}

static int put_text(char *out, size_t size, uint64_t text)
{
    char name[TEXT_BYTES];
    ssize_t length = text ? names_text(&layout, &process.memory, text, name, sizeof name) : 0;
    return snprintf(out, size, "%.*s\t", length < 0 ? 1 : (int)length, length < 0 ? "?" : name);
}

/* "status reason depth", then for each frame: flags, line, name, qualified name, file. */
EXPORT void self_walk(char *out, size_t size)
{
    struct walk_thread thread = this_thread();
    struct walk walk = walk_frames(&process, &thread, frames, sizeof frames / sizeof *frames);
    size_t used = snprintf(out, size, "%d\t%s\t%u\n", walk.status, walk_reason_text(walk.reason), walk.depth);
    for (uint32_t i = 0; i < walk.count && used + 3 * TEXT_BYTES < size; i++) {
        struct names_code code = {0};
        if (!names_read_code(&layout, &process.memory, process.code_type, frames[i].code, &code))
            continue;
        used +=
            snprintf(out + used, size - used, "%u\t%d\t", frames[i].flags, line_of(&code, frames[i].offset));
        used += put_text(out + used, size - used, code.name);
        used += put_text(out + used, size - used, code.qualname);
        used += put_text(out + used, size - used, code.filename);
        out[used - 1] = '\n';
    }
}

/* Line, end line, column, end column of every instruction of a code object; their number. */
EXPORT int self_locations(uint64_t address, int32_t (*out)[4], int capacity)
{
    static uint8_t table[TABLE_BYTES];
    struct names_code code;
    if (!names_read_code(&layout, &process.memory, process.code_type, address, &code))
        return -1;
    ssize_t size = names_bytes(&layout, &process.memory, code.lines, table, sizeof table);
    int count = code.instructions_bytes / 2;
    for (int i = 0; i < count && i < capacity; i++) {
        struct lines_location at =
            lines_find(lines_format(layout.version), table, size, code.first_line, 2 * i);
        memcpy(out[i], &at, sizeof at);
    }
    return count;
}

static size_t put_value(char *out, uint64_t value, bool detailed)
{
    struct values values = {
        .layout = &layout, .memory = process.memory, .code_type = process.code_type, .detailed = detailed};
    return values_put(&values, value, out);
}

/* The object as its repr; the size, no zero byte. `out` holds VALUES_DETAILED_BYTES. */
EXPORT int self_value(uint64_t address, int detailed, char *out)
{
    return (int)put_value(out, address, detailed);
}

/* The local variables of the frame `level` frames above the calling one: "a name=value" in a line, with "v" for
 * those that are no arguments. */
EXPORT void self_locals(int level, char *out, size_t size)
{
    struct locals_row rows[256];
    struct walk_thread thread = this_thread();
    struct walk walk = walk_frames(&process, &thread, frames, sizeof frames / sizeof *frames);
    ssize_t count = walk.count > (uint32_t)level ? locals_read(&layout, &process.memory, frames[level].code,
                                                               frames[level].frame, rows, 256)
                                                 : -1;
    size_t used = 0;
    for (ssize_t i = 0; i < count && used + 2 * VALUES_DETAILED_BYTES < size; i++) {
        used += snprintf(out + used, size - used, "%c %s=", rows[i].argument ? 'a' : 'v', rows[i].name);
        used += put_value(out + used, rows[i].value, true);
        out[used++] = '\n';
    }
    out[used] = 0;
}

/* For each thread: interpreter, thread id, native id, whether it holds the GIL. */
EXPORT void self_threads(char *out, size_t size)
{
    struct threads_row rows[64];
    ssize_t count = threads_list(&layout, &process.memory, symbol("_PyRuntime"), rows, 64);
    size_t used = snprintf(out, size, "%zd\n", count);
    for (ssize_t i = 0; i < count && i < 64; i++)
        used += snprintf(out + used, size - used, "%lld %llu %llu %d\n", (long long)rows[i].interpreter_id,
                         (unsigned long long)rows[i].thread_id, (unsigned long long)rows[i].native_id,
                         rows[i].holds_gil);
}

/* Nanoseconds for each of `rounds` walks of the calling thread; `depth` gets its number of frames. */
EXPORT double self_time(int rounds, int *depth)
{
    struct walk_thread thread = this_thread();
    struct timespec begin, end;
    struct walk walk = {0};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < rounds; i++)
        walk = walk_frames(&process, &thread, frames, sizeof frames / sizeof *frames);
    clock_gettime(CLOCK_MONOTONIC, &end);
    *depth = walk.status == WALK_OK ? (int)walk.depth : -1;
    return ((end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec)) / rounds;
}

static void on_step(int number, siginfo_t *information, void *context)
{
    (void)number, (void)information;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    stepped.stack_low = (uint64_t)registers[REG_RSP];
    struct walk walk = walk_frames(&process, &stepped, step_rule_space(&rule), rule.capacity);
    step_rule_take(&rule, &walk);
    if (rule.steps >= most_steps)
        registers[REG_EFL] &= ~0x100;
}

/* From here on the thread traps after every instruction, and walks itself in the handler: `capacity` frames
 * (0 = all that it has). */
EXPORT void self_step_begin(uint64_t most, uint32_t capacity)
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGTRAP, &action, NULL);
    stepped = this_thread();
    stepped.stop_when_full = true;
    most_steps = most;
    memset(&rule, 0, sizeof rule);
    rule.capacity = capacity ? capacity : STEP_RULE_FRAMES;
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
}

/* How many of the most steps are left. */
EXPORT uint64_t self_steps_left(void)
{
    return most_steps - rule.steps;
}

EXPORT void self_step_end(char *out, size_t size)
{
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
    step_rule_text(&rule, out, size);
}

/* Tells single_step where to look, and waits for it. */
EXPORT void self_mark(int descriptor)
{
    uint64_t addresses[] = {symbol("_PyRuntime"), this_thread().state, process.code_type, process.frame_type,
                            layout.version};
    if (write(descriptor, addresses, sizeof addresses) == sizeof addresses)
        raise(SIGSTOP);
}
