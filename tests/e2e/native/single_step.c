/*
 * single_step MOST PYTHON ARGUMENT...: runs a program that uses self_walk.c and, between its two marks, lets
 * it go one instruction at a time and walks its stopped thread from outside, as attaching does. Prints what
 * was counted.
 */
#include "step_rule.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child writes here what self_mark says. */
enum { ADDRESSES_FD = 100, ADDRESSES = 5 };

static struct step_rule rule = {.capacity = STEP_RULE_FRAMES};
static struct code_cache codes;

static int fail(const char *what)
{
    perror(what);
    return 2;
}

static void start_child(char **arguments, int pipe_end)
{
    dup2(pipe_end, ADDRESSES_FD);
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    execvp(arguments[0], arguments);
    _exit(127);
}

/* Runs it, with signals passed on, to its next mark (SIGSTOP). False when it ended. */
static bool run_to_mark(pid_t child)
{
    int status, signal_number = 0;
    while (!ptrace(PTRACE_CONT, child, NULL, signal_number) && waitpid(child, &status, 0) == child &&
           WIFSTOPPED(status)) {
        signal_number = WSTOPSIG(status);
        if (signal_number == SIGSTOP)
            return true;
        if (signal_number == SIGTRAP)
            signal_number = 0;
    }
    return false;
}

/* 0 at the end mark or after the most steps. */
static int step(pid_t child, const struct walk_process *process, const struct walk_thread *thread,
                uint64_t most)
{
    int status;
    while (rule.steps < most) {
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, 0) || waitpid(child, &status, 0) != child ||
            !WIFSTOPPED(status))
            return fail("the program ended while it was stepped");
        if (WSTOPSIG(status) == SIGSTOP)
            break;
        struct walk walk = walk_frames(process, thread, step_rule_space(&rule), STEP_RULE_FRAMES);
        step_rule_take(&rule, &walk);
    }
    return 0;
}

static int step_child(pid_t child, const uint64_t addresses[ADDRESSES], uint64_t most)
{
    struct err err = {{0}};
    struct layout layout;
    char text[1 << 14];
    struct walk_process process = {
        .layout = &layout, .memory = memory_of_process(child), .code_type = addresses[2], .codes = &codes};
    process.frame_type = addresses[3];
    struct walk_thread thread = {.state = addresses[1]};
    if (layouts_read(&process.memory, addresses[0], (uint32_t)addresses[4], &layout, &err) ||
        layouts_check(&layout, &process.memory, process.code_type, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    int failed = step(child, &process, &thread, most);
    step_rule_text(&rule, text, sizeof text);
    puts(text);
    return failed;
}

int main(int count, char **arguments)
{
    int ends[2], status;
    uint64_t addresses[ADDRESSES];
    if (count < 3 || pipe(ends))
        return fail("usage: single_step MOST PROGRAM ARGUMENT...");
    pid_t child = fork();
    if (!child)
        start_child(arguments + 2, ends[1]);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status) || !run_to_mark(child) ||
        read(ends[0], addresses, sizeof addresses) != sizeof addresses)
        return fail("the program did not reach its mark");
    int failed = step_child(child, addresses, strtoull(arguments[1], NULL, 10));
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return failed;
}
