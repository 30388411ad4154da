/* What filters of system calls would do to ours. */
#include "collect/agent/seccomp_filter.c"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define NUMBER               BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)
#define MACHINE              BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4)
#define ARGUMENT             BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16)
#define GIVE(answer)         BPF_STMT(BPF_RET | BPF_K, answer)
#define UNLESS(value, steps) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, steps)
#define FILTER(name, ...)                                                                                    \
    struct sock_filter name##_steps[] = {__VA_ARGS__};                                                       \
    const struct sock_fprog name = {.len = sizeof name##_steps / sizeof *name##_steps, .filter = name##_steps}

static void test_lists(void **state)
{
    (void)state;
    FILTER(black, NUMBER, UNLESS(SYS_process_vm_readv, 1), GIVE(SECCOMP_RET_KILL_PROCESS),
           GIVE(SECCOMP_RET_ALLOW));
    FILTER(mild, NUMBER, UNLESS(SYS_process_vm_readv, 1), GIVE(SECCOMP_RET_ERRNO | 1),
           GIVE(SECCOMP_RET_ALLOW));
    FILTER(trap, NUMBER, UNLESS(SYS_gettid, 1), GIVE(SECCOMP_RET_TRAP), GIVE(SECCOMP_RET_ALLOW));
    FILTER(other, NUMBER, UNLESS(SYS_mount, 1), GIVE(SECCOMP_RET_KILL_THREAD), GIVE(SECCOMP_RET_ALLOW));
    FILTER(white, NUMBER, UNLESS(SYS_read, 1), GIVE(SECCOMP_RET_ALLOW), GIVE(SECCOMP_RET_KILL_THREAD));
    FILTER(refusing, NUMBER, UNLESS(SYS_read, 1), GIVE(SECCOMP_RET_ALLOW), GIVE(SECCOMP_RET_ERRNO | 38));
    assert_int_equal(seccomp_filter_answer(&black, SYS_process_vm_readv), SECCOMP_RET_KILL_PROCESS);
    assert_int_equal(seccomp_filter_answer(&black, SYS_read), SECCOMP_RET_ALLOW);
    assert_int_equal(seccomp_filter_answer(&mild, SYS_process_vm_readv), SECCOMP_RET_ERRNO | 1);
    assert_true(seccomp_filter_is_deadly(&black));
    assert_true(seccomp_filter_is_deadly(&trap));
    assert_true(seccomp_filter_is_deadly(&white));
    assert_true(seccomp_filter_is_deadly(&refusing)); /* rt_sigreturn must not be refused */
    assert_false(seccomp_filter_is_deadly(&mild));
    assert_false(seccomp_filter_is_deadly(&other));
}

/* Every kind of step, by an answer that depends on it. */
static void test_steps(void **state)
{
    (void)state;
    FILTER(machine, MACHINE, UNLESS(ARCHITECTURE, 1), GIVE(1), GIVE(2));
    assert_int_equal(seccomp_filter_answer(&machine, 0), 1);
    FILTER(arguments, ARGUMENT, UNLESS(0, 1), GIVE(1), GIVE(2));
    assert_int_equal(seccomp_filter_answer(&arguments, 0), 1);
    FILTER(numbers, NUMBER, BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 10), BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 6),
           BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, 4), BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 4),
           BPF_STMT(BPF_MISC | BPF_TAX, 0), BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 4),
           BPF_STMT(BPF_ALU | BPF_OR | BPF_X, 0), BPF_STMT(BPF_ALU | BPF_XOR | BPF_K, 1),
           BPF_STMT(BPF_RET | BPF_A, 0));
    assert_int_equal(seccomp_filter_answer(&numbers, 2), ((12 * 6 - 4) / 4 << 4 | 17) ^ 1);
    FILTER(memory, NUMBER, BPF_STMT(BPF_ST, 3), BPF_STMT(BPF_LD | BPF_IMM, 9), BPF_STMT(BPF_LDX | BPF_MEM, 3),
           BPF_STMT(BPF_STX, 4), BPF_STMT(BPF_LD | BPF_MEM, 4), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff),
           BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 1), BPF_STMT(BPF_RET | BPF_A, 0));
    assert_int_equal(seccomp_filter_answer(&memory, 0x142), 0x21);
    FILTER(jumps, NUMBER, BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 100, 0, 2),
           BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 100, 0, 2), GIVE(1), BPF_STMT(BPF_JMP | BPF_JA, 1), GIVE(2),
           BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 4, 0, 1), GIVE(3), GIVE(4));
    assert_int_equal(seccomp_filter_answer(&jumps, 101), 1);
    assert_int_equal(seccomp_filter_answer(&jumps, 100), 2);
    assert_int_equal(seccomp_filter_answer(&jumps, 5), 3);
    assert_int_equal(seccomp_filter_answer(&jumps, 3), 4);
}

static void test_nonsense(void **state)
{
    (void)state;
    FILTER(endless, NUMBER, BPF_STMT(BPF_JMP | BPF_JA, 0xffffffffu));
    FILTER(outside, BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64), GIVE(SECCOMP_RET_ALLOW));
    FILTER(far, BPF_STMT(BPF_ST, BPF_MEMWORDS), GIVE(SECCOMP_RET_ALLOW));
    FILTER(division, BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0), GIVE(SECCOMP_RET_ALLOW));
    const struct sock_fprog *filters[] = {&endless, &outside, &far, &division};
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        assert_int_equal(seccomp_filter_answer(filters[i], 0), SECCOMP_RET_KILL_PROCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
