/* What the code of a function tells of its frames: instructions, depths, mended rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "unwind/call_site.h"
#include "unwind/depth.h"
#include "unwind/instruction.h"
#include "unwind/reworked.h"
#include "unwind/throwing.h"

enum { RBP = 6, RSP = 7 };

/* Lengths and kinds; a cut instruction is none. */
static void test_instructions(void **state)
{
    (void)state;
    const struct {
        const char *bytes;
        size_t length;
        enum instruction_kind kind;
        int64_t target;
    } cases[] = {
        {"\x55", 1, INSTRUCTION_PUSH_FRAME, 0},
        {"\x41\x55", 2, INSTRUCTION_STACK, 0}, /* push r13 */
        {"\x5d", 1, INSTRUCTION_POP_FRAME, 0},
        {"\x48\x89\xe5", 3, INSTRUCTION_SET_FRAME, 0},
        {"\x89\xe5", 2, INSTRUCTION_OTHER, 0}, /* mov esp, ebp */
        {"\x48\x83\xec\x20", 4, INSTRUCTION_STACK, 0},
        {"\x48\x83\xfc\x20", 4, INSTRUCTION_OTHER, 0}, /* cmp $32, rsp */
        {"\x48\x8d\x65\xf0", 4, INSTRUCTION_STACK, 0}, /* lea -16(rbp), rsp */
        {"\x75\xfe", 2, INSTRUCTION_BRANCH, 0},
        {"\x0f\x84\x10\x00\x00\x00", 6, INSTRUCTION_BRANCH, 22},
        {"\xe9\xfb\xff\xff\xff", 5, INSTRUCTION_JUMP, 0},
        {"\xff\x24\xc5\x60\x68\xfc\x00", 7, INSTRUCTION_END, 0}, /* jmp *table(,rax,8) */
        {"\xff\x14\xc5\x60\x68\xfc\x00", 7, INSTRUCTION_CALL, 0},
        {"\xc3", 1, INSTRUCTION_END, 0},
        {"\x66\x81\xc1\x34\x12", 5, INSTRUCTION_OTHER, 0}, /* add $0x1234, cx */
        {"\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08", 10, INSTRUCTION_OTHER, 0},
        {"\x48\x81\x3c\xc5\x60\x68\xfc\x00\x8a\x19\xa0\x01", 12, INSTRUCTION_OTHER, 0},
        {"\xf6\x05\x01\x02\x03\x04\x05", 7, INSTRUCTION_OTHER, 0},              /* test $5, x(rip) */
        {"\xf7\xd8", 2, INSTRUCTION_OTHER, 0},                                  /* neg eax */
        {"\xc5\xf8\x77", 3, INSTRUCTION_OTHER, 0},                              /* vzeroupper */
        {"\xc4\xe3\x7d\x19\xc1\x01", 6, INSTRUCTION_OTHER, 0},                  /* vextractf128 $1 */
        {"\x62\xf3\x6d\x48\x25\xd9\x55", 7, INSTRUCTION_OTHER, 0},              /* vpternlogd $0x55 */
        {"\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", 10, INSTRUCTION_OTHER, 0}, /* nop */
    };
    for (size_t index = 0; index < sizeof cases / sizeof cases[0]; index++) {
        uint8_t code[32] = {0};
        struct instruction instruction;
        memcpy(code, cases[index].bytes, cases[index].length);
        assert_true(instruction_decode(&instruction, code, sizeof code));
        assert_int_equal(instruction.length, cases[index].length);
        assert_int_equal(instruction.kind, cases[index].kind);
        assert_int_equal(instruction.target, cases[index].target);
        for (size_t size = 0; size < cases[index].length; size++)
            assert_false(instruction_decode(&instruction, code, size));
    }
}

/* What becomes of the stack pointer. */
static void test_moves(void **state)
{
    (void)state;
    const struct {
        const char bytes[9];
        enum instruction_move move;
        int32_t distance;
    } cases[] = {
        {"\x55", INSTRUCTION_LOWERS, 8},
        {"\x41\x5f", INSTRUCTION_LOWERS, -8},                         /* pop r15 */
        {"\x68\x01\x02\x03\x04", INSTRUCTION_LOWERS, 8},              /* push $… */
        {"\xff\x75\x10", INSTRUCTION_LOWERS, 8},                      /* push 16(rbp) */
        {"\x48\x83\xec\x20", INSTRUCTION_LOWERS, 32},                 /* sub $32, rsp */
        {"\x48\x81\xec\x00\x01\x00\x00", INSTRUCTION_LOWERS, 256},    /* sub $256, rsp */
        {"\x48\x83\xc4\x10", INSTRUCTION_LOWERS, -16},                /* add $16, rsp */
        {"\x48\x83\xc4\x80", INSTRUCTION_LOWERS, 128},                /* add $-128, rsp */
        {"\x48\x8d\x64\x24\xf8", INSTRUCTION_LOWERS, 8},              /* lea -8(rsp), rsp */
        {"\x48\x8d\x65\xd8", INSTRUCTION_TO_FRAME, -40},              /* lea -40(rbp), rsp */
        {"\x48\x8d\xa5\x00\xff\xff\xff", INSTRUCTION_TO_FRAME, -256}, /* lea -256(rbp), rsp */
        {"\x48\x89\xec", INSTRUCTION_TO_FRAME, 0},                    /* mov rbp, rsp */
        {"\xc9", INSTRUCTION_TO_FRAME, 8},                            /* leave */
        {"\x48\x83\xe4\xe0", INSTRUCTION_ASTRAY, 0},                  /* and $-32, rsp */
        {"\x48\x29\xc4", INSTRUCTION_ASTRAY, 0},                      /* sub rax, rsp */
        {"\x48\x8b\x24\x24", INSTRUCTION_ASTRAY, 0},                  /* mov (rsp), rsp */
        {"\x5c", INSTRUCTION_ASTRAY, 0},                              /* pop rsp */
        {"\x66\x50", INSTRUCTION_ASTRAY, 0},                          /* push ax */
        {"\x49\x83\xec\x20", INSTRUCTION_STAYS, 0},                   /* sub $32, r12 */
        {"\xe8\x00\x00\x00\x00", INSTRUCTION_STAYS, 0},               /* call */
        {"\x0f\x05", INSTRUCTION_STAYS, 0},                           /* syscall */
    };
    for (size_t index = 0; index < sizeof cases / sizeof cases[0]; index++) {
        uint8_t code[16] = {0};
        struct instruction instruction;
        memcpy(code, cases[index].bytes, 8);
        assert_true(instruction_decode(&instruction, code, sizeof code));
        assert_int_equal(instruction.move, cases[index].move);
        if (instruction.move != INSTRUCTION_ASTRAY)
            assert_int_equal(instruction.distance, cases[index].distance);
    }
}

static void test_call_sites(void **state)
{
    (void)state;
    const struct {
        const char *bytes;
        bool is_call;
    } cases[] = {
        {"\x90\x90\x90\xe8\x01\x02\x03\x04", true},  /* call near */
        {"\x90\x90\x90\x90\x90\x90\xff\xd0", true},  /* call *rax */
        {"\x90\x90\x90\x90\x90\x41\xff\xd7", true},  /* call *r15 */
        {"\x90\x90\x90\x90\x90\xff\x50\x18", true},  /* call *24(rax) */
        {"\x90\x90\x90\x90\xff\x54\x24\x08", true},  /* call *8(rsp) */
        {"\x90\x90\xff\x15\x01\x02\x03\x04", true},  /* call *x(rip) */
        {"\x90\xff\x14\xc5\x60\x68\xfc\x00", true},  /* call *table(,rax,8) */
        {"\x90\x90\x90\x90\x90\x90\xff\xe0", false}, /* jmp *rax */
        {"\x90\x90\x90\x90\x90\xff\x50\x90", true},
        {"\x90\x90\x90\x90\x90\x90\xff\x50", false}, /* a call that goes on */
        {"\x90\x90\x90\x90\x48\x89\xc7\x90", false},
    };
    for (size_t index = 0; index < sizeof cases / sizeof cases[0]; index++) {
        uint64_t before;
        memcpy(&before, cases[index].bytes, sizeof before);
        assert_int_equal(call_site_ends(before), cases[index].is_call);
    }
}

static const struct rows_rule at_start = {.cfa = ROWS_CFA_REGISTER,
                                          .cfa_register = RSP,
                                          .cfa_offset = 8,
                                          .saved = {[ROWS_RETURN] = {ROWS_AT_CFA, 0, -8}}};
static const struct rows_rule in_frame = {.cfa = ROWS_CFA_REGISTER,
                                          .cfa_register = RBP,
                                          .cfa_offset = 16,
                                          .saved = {{ROWS_AT_CFA, 0, -16}, {0}, {ROWS_AT_CFA, 0, -8}}};

struct depths {
    uint64_t address[16];
    uint32_t depth[16];
    size_t count;
};

static bool keep_depth(void *context, uint64_t address, const struct rows_rule *rule)
{
    struct depths *depths = context;
    if (depths->count && depths->depth[depths->count - 1] == rule->depth)
        return true;
    assert_true(depths->count < 16);
    depths->address[depths->count] = address;
    depths->depth[depths->count++] = rule->depth;
    return true;
}

/* The frame begins at `framed_from`, behind `push rbp` and `mov rsp, rbp`; 0: before the first instruction. */
static void expect_depths(const uint8_t *code, size_t size, size_t framed_from, const struct depths *wanted)
{
    struct cfi_row rows[] = {{0x1000, at_start}, {0x1001, at_start}, {0x1000 + framed_from, in_frame}};
    rows[1].rule.cfa_offset = 16;
    size_t first = framed_from ? 0 : 2;
    const struct cfi_function function = {
        .code = code, .size = size, .start = 0x1000, .rows = &rows[first], .row_count = 3 - first};
    struct depths depths = {.count = 0};
    struct bytes scratch = {0};
    assert_true(depth_note(&function, &scratch, keep_depth, &depths));
    bytes_clear(&scratch);
    assert_int_equal(depths.count, wanted->count);
    for (size_t index = 0; index < wanted->count; index++) {
        assert_int_equal(depths.address[index], wanted->address[index]);
        assert_int_equal(depths.depth[index], wanted->depth[index]);
    }
}

/* How far the stack pointer is from the frame address at calls: pushed registers and arguments, what is left early by
 * a jump, code behind an end, a system call. */
static void test_depths(void **state)
{
    (void)state;
    static const uint8_t code[] = {
        0x55,                      /*  0: push rbp */
        0x48, 0x89, 0xe5,          /*  1: mov rsp, rbp */
        0x74, 0x22,                /*  4: je 40 */
        0x41, 0x57,                /*  6: push r15 */
        0x48, 0x83, 0xec, 0x18,    /*  8: sub $24, rsp */
        0xe8, 0,    0,    0,    0, /* 12: call            48 */
        0x6a, 0x01,                /* 17: push $1 */
        0xff, 0x10,                /* 19: call *(rax)     56 */
        0x48, 0x83, 0xc4, 0x08,    /* 21: add $8, rsp */
        0xff, 0xd0,                /* 25: call *rax       48 */
        0xff, 0xe0,                /* 27: jmp *rax */
        0xe8, 0,    0,    0,    0, /* 29: call            48: a table leads here */
        0xeb, 0xd9,                /* 34: jmp 27 */
        0x90, 0x90, 0x90, 0x90,    /* 36 */
        0xe8, 0,    0,    0,    0, /* 40: call            16: from 4 */
        0x0f, 0x05,                /* 45: syscall         16 */
        0x50,                      /* 47: push rax */
        0xff, 0xd0,                /* 48: call *rax       24 */
        0x90,                      /* 50 */
    };
    const struct depths wanted = {.address = {0x1000, 0x1004, 0x1011, 0x1015, 0x1022, 0x1030},
                                  .depth = {0, 48, 56, 48, 16, 24},
                                  .count = 6};
    expect_depths(code, sizeof code, 4, &wanted);
    /* alloca: no number until the frame register gives one back. */
    static const uint8_t moving[] = {
        0x48, 0x83, 0xec, 0x10, /*  0: sub $16, rsp */
        0x48, 0x29, 0xc4,       /*  4: sub rax, rsp */
        0xff, 0xd0,             /*  7: call *rax */
        0x48, 0x8d, 0x65, 0xf0, /*  9: lea -16(rbp), rsp */
        0xff, 0xd0,             /* 13: call *rax       32 */
    };
    const struct depths moved = {.address = {0x1000, 0x1009}, .depth = {0, 32}, .count = 2};
    expect_depths(moving, sizeof moving, 0, &moved);
}

struct mended {
    uint64_t address[16];
    unsigned cfa_register[16];
    int cfa_offset[16];
    size_t count;
};

static bool keep(void *context, uint64_t address, const struct rows_rule *rule)
{
    struct mended *mended = context;
    assert_true(mended->count < 16);
    mended->address[mended->count] = address;
    mended->cfa_register[mended->count] = rule->cfa_register;
    mended->cfa_offset[mended->count++] = rule->cfa_offset;
    return true;
}

/* What an optimizer made of two handlers that end in a jump: the second behind the first one's `pop rbp`, and a
 * jump backwards into the end. All of it is described as a frame at rbp. */
static void test_reworked_code(void **state)
{
    (void)state;
    static const uint8_t code[] = {
        0xeb, 0x07,                   /*  0: jmp 9 */
        0xff, 0x24, 0xc5, 0, 0, 0, 0, /*  2: jmp *(,rax,8)     popped, from 14 */
        0x85, 0xc0,                   /*  9: test eax, eax     described */
        0x5d,                         /* 11: pop rbp */
        0x85, 0xc0,                   /* 12: test eax, eax     popped */
        0x75, 0xf2,                   /* 14: jne 2 */
        0x55,                         /* 16: push rbp */
        0x48, 0x89, 0xe5,             /* 17: mov rsp, rbp      pushed */
        0x90,                         /* 20: nop               described */
    };
    const struct cfi_row row = {.address = 0x1000,
                                .rule = {.cfa = ROWS_CFA_REGISTER,
                                         .cfa_register = RBP,
                                         .cfa_offset = 16,
                                         .saved = {{ROWS_AT_CFA, 0, -16}}}};
    struct cfi_function function = {
        .code = code, .size = sizeof code, .start = 0x1000, .rows = &row, .row_count = 1};
    struct mended mended = {.count = 0};
    struct bytes states = {0};
    assert_true(reworked_mend(&function, &states, keep, &mended));
    const struct mended wanted = {.address = {0x1000, 0x1002, 0x1009, 0x100c, 0x1011, 0x1014},
                                  .cfa_register = {RBP, RSP, RBP, RSP, RSP, RBP},
                                  .cfa_offset = {16, 8, 16, 8, 16, 16},
                                  .count = 6};
    assert_int_equal(mended.count, wanted.count);
    for (size_t index = 0; index < wanted.count; index++) {
        assert_int_equal(mended.address[index], wanted.address[index]);
        assert_int_equal(mended.cfa_register[index], wanted.cfa_register[index]);
        assert_int_equal(mended.cfa_offset[index], wanted.cfa_offset[index]);
    }
    bytes_clear(&states);
}

/* The end of libgcc's _Unwind_RaiseException, shortened. */
static void test_end_of_a_throw(void **state)
{
    (void)state;
    static const uint8_t code[] = {
        0xe8, 0,    0,    0,    0,                /* 0: call, something before */
        0xe8, 0,    0,    0,    0,                /* 5: call, copies */
        0x48, 0x8b, 0xbd, 0xe0, 0xfd, 0xff, 0xff, /* 10: mov -0x220(%rbp), %rdi */
        0xe8, 0,    0,    0,    0,                /* 17: call, tells */
        0x48, 0x8d, 0x4c, 0x0d, 0x08,             /* 22: lea 8(%rbp, %rcx), %rcx */
    };
    const struct rows_rule in_body = {.cfa = ROWS_CFA_REGISTER,
                                      .cfa_register = 6,
                                      .cfa_offset = 16,
                                      .saved = {{.place = ROWS_AT_CFA, .offset = -16},
                                                {.place = ROWS_AT_CFA, .offset = -56},
                                                {.place = ROWS_AT_CFA, .offset = -8}}};
    struct rows_rule rule = in_body, leave = in_body;
    assert_int_equal(throwing_end(code, sizeof code, &rule), 5);
    assert_int_equal(rule.cfa, ROWS_CFA_LOADED);
    assert_int_equal(rule.cfa_offset, -0x220);
    assert_int_equal(rule.saved[ROWS_FRAME].place, ROWS_AT_FRAME);
    assert_int_equal(rule.saved[ROWS_FRAME].offset, 0);
    assert_int_equal(rule.saved[ROWS_BASE].offset, -40);
    assert_int_equal(rule.saved[ROWS_RETURN].place, ROWS_AT_CFA);
    assert_true(rule.saved[ROWS_RETURN].may_throw);
    rule = in_body;
    assert_int_equal(throwing_end(code, 10, &rule),
                     0); /* what the last call gets is not loaded from the frame */
    assert_int_equal(rule.cfa, ROWS_CFA_REGISTER);
    rule = (struct rows_rule){.cfa = ROWS_CFA_REGISTER, .cfa_register = 7, .cfa_offset = 16};
    assert_int_equal(throwing_end(code, sizeof code, &rule), sizeof code);
    leave.cfa_register = 2;
    leave.saved[ROWS_RETURN].may_throw = 1;
    assert_true(throwing_leaves(&leave));
    assert_false(throwing_leaves(&in_body));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instructions),  cmocka_unit_test(test_moves),
        cmocka_unit_test(test_call_sites),    cmocka_unit_test(test_depths),
        cmocka_unit_test(test_reworked_code), cmocka_unit_test(test_end_of_a_throw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
