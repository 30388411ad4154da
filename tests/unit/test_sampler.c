/* A sampler that is killed or stopped at the worst moment: between saying that it sends and having sent. */
#include "collect/agent/sampler.c"
#include "collect/agent/sampler_process.c"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- of the agent, what is not needed here ---- */

int own_signal_take(void (*handler)(int, siginfo_t *, void *), void (*hold)(bool))
{
    (void)handler, (void)hold;
    return 0;
}

int own_signal_number(void)
{
    return 0;
}

void own_signal_before_exec(void)
{
}
void own_signal_exec_failed(void)
{
}

void own_signal_restart_call(void *context)
{
    (void)context;
}

void restarts_note(const void *context)
{
    (void)context;
}

bool seccomp_watch_is_deadly(void)
{
    return false;
}

void seccomp_watch_compare(uint32_t filters)
{
    (void)filters;
}

uint64_t asyncio_table_find(void)
{
    return 0;
}

void native_watch_init(struct native_watch *unused)
{
    (void)unused;
}

bool native_watch_changed(struct native_watch *unused)
{
    (void)unused;
    return false;
}

/* ---- the tests ---- */

static int send_for_ever(void *unused)
{
    (void)unused;
    while (pause() != 0)
        continue;
    return 0;
}

static void start_sending(void)
{
    assert_null(sampler_process_start(send_for_ever, false));
    assert_true(sampler_process_is_there());
    process.pid = (uint64_t)getpid();
    paused = 0;
    sending = 1;
}

static void reap(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, __WALL), pid);
    assert_false(sampler_process_is_there());
}

static void test_killed(void **state)
{
    (void)state;
    start_sending();
    pid_t pid = there;
    kill(pid, SIGKILL);
    assert_true(pause_sampler()); /* it is seen to be gone, not given up */
    assert_int_equal(sending, 0);
    assert_int_equal(paused, 1);
    assert_int_equal(waitpid(pid, NULL, __WALL), pid);
    sampler_hold(false);
    assert_int_equal(paused, 0);
}

static void test_stopped(void **state)
{
    (void)state;
    start_sending();
    pid_t pid = there;
    kill(pid, SIGSTOP);
    assert_false(pause_sampler());
    assert_true(sampler_process_is_there());
    assert_int_equal(sending, 0); /* is not waited for again */
    assert_true(pause_sampler());
    reap(pid);
}

static void test_one_after_the_other(void **state)
{
    (void)state;
    for (int turn = 0; turn < 20; turn++) {
        start_sending();
        reap(there);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_one_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
