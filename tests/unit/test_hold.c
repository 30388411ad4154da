/* hold: how long a thread stood still is counted from when it was asked to, not from when we looked. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "collect/outside/hold.h"

static void pause_ms(long milliseconds)
{
    const struct timespec time = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static char state_of(pid_t pid)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *stat = fopen(path, "re");
    size_t size = stat ? fread(text, 1, sizeof text - 1, stat) : 0;
    if (stat)
        fclose(stat);
    const char *name_end = size ? strrchr(text, ')') : NULL;
    return name_end ? name_end[2] : 0;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void counted_from_the_asking(void **state)
{
    (void)state;
    struct hold hold;
    pid_t pid = fork();
    while (pid == 0)
        continue;
    hold_init();
    uint64_t before_ns = clock_monotonic_ns();
    assert_int_equal(hold_take(&hold, (uint32_t)pid), HOLD_TAKEN);
    assert_true(hold.since_ns >= before_ns && hold.since_ns <= clock_monotonic_ns());
    uint64_t taken_ns = clock_monotonic_ns();
    pause_ms(5);
    uint64_t until_ns = clock_monotonic_ns();
    assert_true(hold_release(&hold) >= until_ns - taken_ns);
    assert_int_equal(hold.tid, 0);
    hold_clear();
    end(pid);
}

/* A process that has called vfork does not answer until its child is gone. */
static _Noreturn void wait_for_child(int gate)
{
    char byte;
    if (vfork() == 0) {
        while (read(gate, &byte, 1) < 0)
            continue;
        _exit(0);
    }
    for (;;)
        pause();
}

static void one_that_answers_late(void **state)
{
    (void)state;
    int gate[2];
    struct hold hold;
    assert_int_equal(pipe(gate), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(gate[1]);
        wait_for_child(gate[0]);
    }
    while (state_of(pid) != 'D')
        pause_ms(1);
    hold_init();
    assert_int_equal(hold_take(&hold, (uint32_t)pid), HOLD_PENDING);
    pause_ms(30);
    uint64_t looked_ns = clock_monotonic_ns();
    assert_int_equal(hold_again(&hold), HOLD_PENDING);
    assert_true(hold.since_ns >= looked_ns); /* it ran, or slept, for itself until then */
    assert_int_equal(write(gate[1], "x", 1), 1);
    while (state_of(pid) != 't')
        pause_ms(1);
    uint64_t stood_ns = clock_monotonic_ns();
    pause_ms(30); /* it stands there, and nobody has looked yet */
    uint64_t until_ns = clock_monotonic_ns();
    assert_int_equal(hold_again(&hold), HOLD_TAKEN);
    assert_true(hold_release(&hold) >= until_ns - stood_ns);
    hold_clear();
    end(pid);
    close(gate[0]);
    close(gate[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counted_from_the_asking),
        cmocka_unit_test(one_that_answers_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
