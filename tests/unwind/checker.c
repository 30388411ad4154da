/*
 * Preloaded into a program, compares walk_native with the truth and writes counts as JSON when it ends.
 *
 *   UNWIND_REPORT=FILE     where to
 *   UNWIND_SAMPLE_US=N     every N us one thread is interrupted; its walk is compared with libunwind's
 *   raise(SIGTRAP)         from now on, until the next one, the thread is stopped after every instruction, and
 *                          its walk is compared with a shadow call stack that knows nothing of descriptions
 *   UNWIND_STEPS_MAX=N     stepping ends by itself after N steps
 *   UNWIND_STEP_ALL=1      stepping begins before main
 */
#define UNW_LOCAL_ONLY
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libunwind.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "unwind/loaded.h"
#include "unwind/walk_native.h"

#define FRAMES_MAX    2048
#define TASKS_MAX     256
#define EXAMPLES_MAX  8
#define TRAP_FLAG     0x100
#define CALL_SIZE_MAX 15

static const struct modules *modules;
static struct walk_native_cache cache;
static uint64_t loader_start, loader_end;
static int own_thread;
static bool table_is_old; /* a guess was needed: there may be new code */

/* Counters are changed in handlers of several threads. */
static struct counts {
    uint64_t walks, frames, ns, root, guessed, different, different_exact, skipped, compared, rewritten,
        rewritten_astray, steps;
    uint64_t other_ns;
    uint64_t asleep, asleep_root, asleep_different;
} counts;
static char examples[EXAMPLES_MAX][1024];
static uint64_t example_count;

static void add(uint64_t *counter, uint64_t value)
{
    __atomic_fetch_add(counter, value, __ATOMIC_RELAXED);
}

/* Other memory of this process, without a fault where there is none. */
static bool load_self(void *context, uint64_t address, uint64_t *value)
{
    (void)context;
    struct iovec here = {value, sizeof *value}, there = {(void *)(uintptr_t)address, sizeof *value};
    return process_vm_readv(own_thread, &here, 1, &there, 1, 0) == sizeof *value;
}

/* The end of the mapping that holds the address, from /proc/self/maps, with system calls alone. */
static uint64_t mapping_end(uint64_t address)
{
    char text[4096 + 1];
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    uint64_t number[2] = {0}, found = 0;
    unsigned which = 0;
    for (ssize_t size; !found && (size = read(file, text, sizeof text - 1)) > 0;) {
        for (ssize_t at = 0; at < size && !found; at++) {
            char byte = text[at];
            unsigned digit = byte >= '0' && byte <= '9' ? (unsigned)byte - '0' : (unsigned)byte - 'a' + 10;
            if (byte == '\n')
                which = 0, number[0] = number[1] = 0;
            else if (which < 2 && (byte == '-' || byte == ' '))
                which++;
            else if (which < 2)
                number[which] = number[which] << 4 | digit;
            if (which == 2 && address >= number[0] && address < number[1])
                found = number[1];
        }
    }
    close(file);
    return found;
}

static __thread uint64_t stack_low __attribute__((tls_model("initial-exec")));
static __thread uint64_t stack_high __attribute__((tls_model("initial-exec")));

static bool is_guessed(const struct walk_native_stack *stack)
{
    return stack->frames[stack->count - 1].flags & WALK_NATIVE_GUESSED;
}

static void walk(struct walk_native_stack *stack, const ucontext_t *context)
{
    struct walk_native_registers registers;
    walk_native_from_context(&registers, context);
    uint64_t stack_pointer = registers.value[7], low = (stack_pointer - 128) & ~(uint64_t)7;
    if (low < stack_low || stack_pointer >= stack_high) {
        stack_high = mapping_end(stack_pointer);
        stack_low = stack_high > (8u << 20) ? stack_high - (8u << 20) : 0;
    }
    struct walk_native_range range = {low, stack_high, (const uint8_t *)(uintptr_t)low};
    struct walk_native_memory memory = {.ranges = &range, .range_count = 1, .load = load_self};
    uint64_t start = clock_monotonic_ns();
    walk_native(stack, &registers, modules, &memory, &cache);
    add(&counts.ns, clock_monotonic_ns() - start);
    add(&counts.walks, 1);
    add(&counts.frames, stack->count);
    add(&counts.root, stack->end == WALK_NATIVE_ROOT);
    add(&counts.guessed, is_guessed(stack));
    if (is_guessed(stack))
        __atomic_store_n(&table_is_old, true, __ATOMIC_RELAXED);
}

static void describe(const char *title, char *text, size_t size, const uint64_t *addresses, size_t count,
                     size_t around)
{
    size_t used = (size_t)snprintf(text, size, "%s(%zu)", title, count);
    for (size_t index = around > 2 ? around - 2 : 0; index < count && index < around + 3 && used < size;
         index++) {
        char name[128];
        loaded_name(modules, addresses[index], name, sizeof name);
        used += (size_t)snprintf(text + used, size - used, " %zu:%s", index, name);
    }
}

static void list_addresses(uint64_t *addresses, const struct walk_native_frame *frames, size_t count)
{
    for (size_t index = 0; index < count; index++)
        addresses[index] = frames[index].address;
}

static void keep_example(const uint64_t *ours, size_t our_count, const uint64_t *truth, size_t count,
                         size_t at)
{
    uint64_t example = __atomic_fetch_add(&example_count, 1, __ATOMIC_RELAXED);
    if (example >= EXAMPLES_MAX)
        return;
    describe("ours", examples[example], 512, ours, our_count, at);
    size_t used = strlen(examples[example]);
    describe(" truth", examples[example] + used, sizeof examples[0] - used, truth, count, at);
}

/* Counts a difference, and keeps the first few as text. */
static void compare(const struct walk_native_stack *stack, const uint64_t *truth, size_t count)
{
    static __thread uint64_t ours[FRAMES_MAX] __attribute__((tls_model("initial-exec")));
    size_t at = 0;
    list_addresses(ours, stack->frames, stack->count);
    while (at < count && at < stack->count && truth[at] == ours[at])
        at++;
    add(&counts.compared, 1);
    if (at == count && at == stack->count)
        return;
    add(&counts.different, 1);
    add(&counts.different_exact, !is_guessed(stack));
    keep_example(ours, stack->count, truth, count, at);
}

/* ------------------------------------------------------------------------------------------- sleepers */

/* Walks once more from a caller on with what is known of a sleeping thread. */
static void compare_as_sleeper(const struct walk_native_stack *whole)
{
    static __thread struct walk_native_frame frames[FRAMES_MAX] __attribute__((tls_model("initial-exec")));
    if (whole->end != WALK_NATIVE_ROOT || is_guessed(whole) || whole->count < 2)
        return;
    size_t from = 1 + __atomic_load_n(&counts.walks, __ATOMIC_RELAXED) % (whole->count - 1);
    const struct walk_native_frame *first = &whole->frames[from];
    if (!(first->flags & WALK_NATIVE_RETURN) || first->flags & WALK_NATIVE_SIGNAL)
        return;
    struct walk_native_registers registers = {.known = 1u << 7 | 1u << 16};
    registers.value[7] = first->stack_pointer;
    registers.value[16] = first->address - 1;
    struct walk_native_range range = {first->stack_pointer, stack_high,
                                      (const uint8_t *)(uintptr_t)first->stack_pointer};
    struct walk_native_memory memory = {.ranges = &range, .range_count = 1, .load = load_self};
    struct walk_native_stack stack = {.frames = frames, .capacity = FRAMES_MAX};
    walk_native(&stack, &registers, modules, &memory, &cache);
    size_t left = whole->count - from, at = 1;
    frames[0].address++;
    while (at < left && at < stack.count && frames[at].address == first[at].address)
        at++;
    add(&counts.asleep, 1);
    add(&counts.asleep_root, stack.end == WALK_NATIVE_ROOT);
    if (at == left && at == stack.count)
        return;
    static __thread uint64_t ours[FRAMES_MAX] __attribute__((tls_model("initial-exec")));
    static __thread uint64_t truth[FRAMES_MAX] __attribute__((tls_model("initial-exec")));
    add(&counts.asleep_different, 1);
    list_addresses(ours, frames, stack.count);
    list_addresses(truth, first, left);
    keep_example(ours, stack.count, truth, left, at);
}

/* ------------------------------------------------------------------------------------------- sampling */

static bool in_loader(const struct walk_native_stack *stack)
{
    for (size_t index = 0; index < stack->count; index++)
        if (stack->frames[index].address >= loader_start && stack->frames[index].address < loader_end)
            return true;
    return false;
}

static void compare_with_libunwind(const struct walk_native_stack *stack, const ucontext_t *context)
{
    static __thread void *addresses[FRAMES_MAX] __attribute__((tls_model("initial-exec")));
    uint64_t start = clock_monotonic_ns();
    int count = unw_backtrace(addresses, FRAMES_MAX), at = 0;
    add(&counts.other_ns, clock_monotonic_ns() - start);
    while (at < count && (greg_t)(uintptr_t)addresses[at] != context->uc_mcontext.gregs[REG_RIP])
        at++;
    /* It may give a last address of 0. */
    while (count > at && !addresses[count - 1])
        count--;
    compare(stack, (const uint64_t *)(const void *)&addresses[at], (size_t)(count - at));
}

static void on_sample(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    static __thread struct walk_native_frame frames[FRAMES_MAX] __attribute__((tls_model("initial-exec")));
    int saved = errno;
    struct walk_native_stack stack = {.frames = frames, .capacity = FRAMES_MAX};
    walk(&stack, context);
    compare_as_sleeper(&stack);
    /* libunwind takes the loader's lock: inside the loader it would wait for itself. */
    if (in_loader(&stack))
        add(&counts.skipped, 1);
    else
        compare_with_libunwind(&stack, context);
    errno = saved;
}

static size_t list_tasks(pid_t *tasks)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder && (entry = readdir(folder)) && count < TASKS_MAX;) {
        pid_t task = (pid_t)atoi(entry->d_name);
        if (task && task != (pid_t)syscall(SYS_gettid))
            tasks[count++] = task;
    }
    if (folder)
        closedir(folder);
    return count;
}

static int count_changes(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(uint64_t *)context = info->dlpi_adds + info->dlpi_subs;
    return 1;
}

static void *sample(void *argument)
{
    long interval_us = (long)(intptr_t)argument;
    struct timespec pause = {interval_us / 1000000, interval_us % 1000000 * 1000};
    pid_t tasks[TASKS_MAX];
    size_t count = 0;
    uint64_t seen = 0;
    for (uint64_t turn = 0;; turn++) {
        uint64_t changes = 0;
        dl_iterate_phdr(count_changes, &changes);
        if (changes != seen || __atomic_exchange_n(&table_is_old, false, __ATOMIC_RELAXED))
            __atomic_store_n(&modules, loaded_modules(), __ATOMIC_RELEASE);
        seen = changes;
        if (turn % 32 == 0 || !count)
            count = list_tasks(tasks);
        if (count)
            syscall(SYS_tgkill, getpid(), tasks[turn % count], SIGPROF);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void start_sampling(long interval_us)
{
    struct sigaction action = {.sa_sigaction = on_sample, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGPROF, &action, NULL);
    sigset_t all, before;
    sigfillset(&all);
    pthread_t thread;
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_create(&thread, NULL, sample, (void *)(intptr_t)interval_us);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ------------------------------------------------------------------------------------------- stepping */

static struct {
    uint64_t slot;    /* where on the stack */
    uint64_t address; /* returns to */
} shadow[FRAMES_MAX];
static size_t shadow_count;
static uint64_t last_address, last_stack_pointer, steps_max, steps_left;
static bool began;

/* A call is one instruction after which the word below holds the address right behind it. */
static void follow(uint64_t address, uint64_t stack_pointer)
{
    while (shadow_count && shadow[shadow_count - 1].slot < stack_pointer)
        shadow_count--;
    uint64_t pushed = 0;
    if (stack_pointer == last_stack_pointer - 8)
        memcpy(&pushed, (void *)(uintptr_t)stack_pointer, sizeof pushed);
    if (pushed > last_address && pushed <= last_address + CALL_SIZE_MAX && shadow_count < FRAMES_MAX) {
        shadow[shadow_count].slot = stack_pointer;
        shadow[shadow_count++].address = pushed;
    }
    last_address = address;
    last_stack_pointer = stack_pointer;
}

static struct walk_native_frame step_frames[FRAMES_MAX];

static void begin_shadow(const struct walk_native_stack *stack, uint64_t address, uint64_t stack_pointer)
{
    shadow_count = 0;
    for (size_t index = stack->count; index-- > 1;) {
        shadow[shadow_count].slot = stack->frames[index].stack_pointer - 8;
        shadow[shadow_count++].address = stack->frames[index].address;
    }
    last_address = address;
    last_stack_pointer = stack_pointer;
}

/* Whether the walk is the shadow's beyond the frame that catches, which is the second of a throw at its end. */
static bool leads_to_catcher(const struct walk_native_stack *stack)
{
    if (stack->count < 3 || stack->count - 2 > shadow_count)
        return false;
    for (size_t index = 0; index < stack->count - 2; index++)
        if (stack->frames[stack->count - 1 - index].address != shadow[index].address)
            return false;
    return true;
}

static void compare_with_shadow(const struct walk_native_stack *stack, uint64_t address)
{
    static uint64_t truth[FRAMES_MAX + 1];
    truth[0] = address;
    for (size_t index = 0; index < shadow_count; index++) {
        uint64_t now;
        truth[index + 1] = shadow[shadow_count - 1 - index].address;
        memcpy(&now, (void *)(uintptr_t)shadow[shadow_count - 1 - index].slot, sizeof now);
        if (now != truth[index + 1]) { /* a throw in work has put the handler's address there */
            counts.rewritten++;
            counts.rewritten_astray += !is_guessed(stack) && !leads_to_catcher(stack);
            return;
        }
    }
    compare(stack, truth, shadow_count + 1);
}

static void on_step(int number, siginfo_t *info, void *opaque)
{
    (void)number;
    ucontext_t *context = opaque;
    uint64_t address = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    uint64_t stack_pointer = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
    int saved = errno;
    bool asked = info->si_code <= 0, begins = asked && !began;
    struct walk_native_stack stack = {.frames = step_frames, .capacity = FRAMES_MAX};
    if (begins)
        modules = loaded_modules(); /* raised by the program itself: nothing is held */
    if (!begins && !steps_left)
        return; /* the program's second call, when its steps are used up */
    walk(&stack, context);
    if (begins)
        begin_shadow(&stack, address, stack_pointer);
    else
        follow(address, stack_pointer);
    compare_with_shadow(&stack, address);
    counts.steps++;
    began = true;
    steps_left = begins ? steps_max : asked || !steps_left ? 0 : steps_left - 1;
    if (steps_left)
        context->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
    else
        context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    errno = saved;
}

static void prepare_stepping(void)
{
    const char *max = getenv("UNWIND_STEPS_MAX");
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    steps_max = max ? strtoull(max, NULL, 10) : UINT64_MAX;
    sigaction(SIGTRAP, &action, NULL);
    if (getenv("UNWIND_STEP_ALL"))
        raise(SIGTRAP);
}

/* --------------------------------------------------------------------------------------------- report */

static void put_counts(FILE *file)
{
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"walks", counts.walks},
                {"frames", counts.frames},
                {"ns", counts.ns},
                {"root", counts.root},
                {"guessed", counts.guessed},
                {"compared", counts.compared},
                {"different", counts.different},
                {"different_exact", counts.different_exact},
                {"skipped", counts.skipped},
                {"rewritten", counts.rewritten},
                {"rewritten_astray", counts.rewritten_astray},
                {"steps", counts.steps},
                {"asleep", counts.asleep},
                {"asleep_root", counts.asleep_root},
                {"asleep_different", counts.asleep_different},
                {"libunwind_ns", counts.other_ns}};
    for (size_t index = 0; index < sizeof rows / sizeof rows[0]; index++)
        fprintf(file, "%s\"%s\": %llu", index ? ", " : "{", rows[index].name,
                (unsigned long long)rows[index].value);
    fprintf(file, ",\n \"examples\": [");
    for (size_t index = 0; index < example_count && index < EXAMPLES_MAX; index++)
        fprintf(file, "%s\"%s\"", index ? ",\n  " : "", examples[index]);
    fprintf(file, "]}\n");
}

__attribute__((destructor)) static void report(void)
{
    if (steps_left)
        raise(SIGTRAP);
    const char *path = getenv("UNWIND_REPORT");
    FILE *file = path && own_thread == getpid() ? fopen(path, "w") : NULL;
    if (!file)
        return;
    put_counts(file);
    fclose(file);
}

static int find_loader(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size, (void)context;
    if (!strstr(info->dlpi_name, "/ld-"))
        return 0;
    for (unsigned index = 0; index < info->dlpi_phnum; index++)
        if (info->dlpi_phdr[index].p_flags & PF_X && info->dlpi_phdr[index].p_type == PT_LOAD) {
            loader_start = info->dlpi_addr + info->dlpi_phdr[index].p_vaddr;
            loader_end = loader_start + info->dlpi_phdr[index].p_memsz;
        }
    return 1;
}

__attribute__((constructor)) static void start(void)
{
    own_thread = getpid();
    dl_iterate_phdr(find_loader, NULL);
    modules = loaded_modules();
    const char *interval = getenv("UNWIND_SAMPLE_US");
    unsetenv("LD_PRELOAD"); /* not into children */
    if (interval)
        start_sampling(atol(interval));
    prepare_stepping();
}
