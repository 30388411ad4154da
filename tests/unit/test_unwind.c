/* Unwind rows and the walker on hand-made descriptions and stacks; real programs are in tests/e2e. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "unwind/row_compiler.h"
#include "unwind/walk_native.h"

enum { RBX = 3, RBP = 6, RSP = 7, R10 = 10, PC = 16 };

/* A file in memory: one executable segment at address 0 that holds everything, code at CODE. */
#define HEADER 0x200
#define FRAMES 0x400
#define CODE   0x1000
#define SIZE   0x2000

struct file {
    uint8_t data[SIZE];
    size_t frame_end; /* bytes of .eh_frame, behind FRAMES */
    uint32_t count;   /* entries in .eh_frame_hdr */
    uint32_t common;  /* address of the CIE */
};

static void put_u32(struct file *file, size_t at, uint32_t value)
{
    memcpy(file->data + at, &value, sizeof value);
}

/* A record of .eh_frame: its size, then the bytes, padded to 4. */
static uint32_t add_record(struct file *file, const uint8_t *bytes, size_t size)
{
    uint32_t at = (uint32_t)(FRAMES + file->frame_end);
    uint32_t padded = (uint32_t)(size + 3) & ~3u;
    put_u32(file, at, padded);
    memcpy(file->data + at + 4, bytes, size);
    file->frame_end += 4 + padded;
    return at;
}

/* The CIE of every x86-64 compiler: CFA = rsp + 8, return address at CFA - 8. */
static void add_common(struct file *file, const char *letters)
{
    uint8_t bytes[32] = {0, 0, 0, 0, 1};
    size_t size = 5 + strlen(strcpy((char *)bytes + 5, letters)) + 1;
    bytes[size++] = 1;    /* code factor */
    bytes[size++] = 0x78; /* data factor -8 */
    bytes[size++] = PC;
    bytes[size++] = 1;
    bytes[size++] = 0x1b; /* pointers: signed 32 bits, relative to their place */
    bytes[size++] = 0x0c, bytes[size++] = RSP, bytes[size++] = 8;
    bytes[size++] = 0x80 | PC, bytes[size++] = 1;
    file->common = add_record(file, bytes, size);
}

static void add_function(struct file *file, uint32_t start, uint32_t size, const uint8_t *program,
                         size_t length)
{
    uint8_t bytes[64] = {0};
    uint32_t at = (uint32_t)(FRAMES + file->frame_end);
    uint32_t head[3] = {at + 4 - file->common, start - (at + 8), size};
    memcpy(bytes, head, sizeof head);
    memcpy(bytes + 13, program, length);
    add_record(file, bytes, 13 + length);
    put_u32(file, HEADER + 12 + 8 * file->count, start - HEADER);
    put_u32(file, HEADER + 16 + 8 * file->count, at - HEADER);
    put_u32(file, HEADER + 8, ++file->count);
}

static struct file *file_new(const char *letters)
{
    struct file *file = calloc(1, sizeof *file);
    assert_non_null(file);
    Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
                       .e_machine = EM_X86_64,
                       .e_phoff = sizeof head,
                       .e_phentsize = sizeof(Elf64_Phdr),
                       .e_phnum = 2};
    Elf64_Phdr segments[2] = {{.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = SIZE, .p_memsz = SIZE},
                              {.p_type = PT_GNU_EH_FRAME, .p_vaddr = HEADER, .p_filesz = FRAMES - HEADER}};
    memcpy(file->data, &head, sizeof head);
    memcpy(file->data + sizeof head, segments, sizeof segments);
    memcpy(file->data + HEADER, (uint8_t[]){1, 0x1b, 0x03, 0x3b}, 4);
    add_common(file, letters);
    return file;
}

static struct rows *compile(struct file *file, size_t size, struct row_compiler_counts *counts)
{
    struct elf_image image;
    struct err err = {0};
    if (elf_image_init(&image, file->data, size, &err) < 0)
        return NULL;
    struct rows *rows = row_compiler_new(&image, counts, &err);
    assert_true(!rows == err_is_set(&err));
    if (rows)
        assert_true(rows_check(rows, rows->size_bytes));
    return rows;
}

static const struct rows_rule *rule_at(const struct rows *rows, uint64_t address)
{
    return rows_rule(rows, rows_find(rows, address));
}

/* push rbp; mov rsp,rbp; ...; pop rbp; ret: as every compiler with frame pointers describes it. */
static const uint8_t framed[] = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, RBP, 0x02, 0x30, 0x0c, RSP, 8};

static void test_rows(void **state)
{
    (void)state;
    struct file *file = file_new("zR");
    add_function(file, CODE, 0x40, framed, sizeof framed);
    add_function(file, CODE + 0x100, 0x40, (uint8_t[]){0x07, PC}, 2);
    struct row_compiler_counts counts;
    struct rows *rows = compile(file, SIZE, &counts);
    assert_non_null(rows);
    assert_int_equal(counts.functions, 2);
    assert_int_equal(counts.left_out, 0);
    assert_int_equal(rule_at(rows, CODE - 1)->cfa, ROWS_CFA_UNKNOWN);
    assert_int_equal(rule_at(rows, CODE)->cfa_offset, 8);
    assert_int_equal(rule_at(rows, CODE + 1)->cfa_offset, 16);
    assert_int_equal(rule_at(rows, CODE + 1)->saved[ROWS_FRAME].offset, -16);
    assert_int_equal(rule_at(rows, CODE + 3)->cfa_register, RSP);
    assert_int_equal(rule_at(rows, CODE + 4)->cfa_register, RBP);
    assert_int_equal(rule_at(rows, CODE + 0x33)->cfa_register, RBP);
    assert_int_equal(rule_at(rows, CODE + 0x34)->cfa_register, RSP);
    assert_int_equal(rule_at(rows, CODE + 0x40)->cfa, ROWS_CFA_UNKNOWN); /* the gap */
    assert_int_equal(rule_at(rows, CODE + 0x100)->cfa, ROWS_CFA_END);
    assert_int_equal(rule_at(rows, CODE + 0x13f)->cfa, ROWS_CFA_END);
    assert_int_equal(rule_at(rows, CODE + 0x140)->cfa, ROWS_CFA_UNKNOWN);
    free(rows);
    free(file);
}

static void test_kinds(void **state)
{
    (void)state;
    struct file *file = file_new("zR");
    /* gcc's realigned frame: CFA = *(rbp - 8), rbp at *(rbp). */
    add_function(file, CODE, 0x10,
                 (uint8_t[]){0x0c, R10, 0, 0x42, 0x10, RBP, 2, 0x76, 0, 0x42, 0x0f, 3, 0x76, 0x78, 0x06}, 15);
    /* The linkers' PLT. */
    add_function(file, CODE + 0x10, 0x20,
                 (uint8_t[]){0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, 13);
    /* Return address in rdi (vfork); *(rsp + 16) + 8; an expression that has no form. */
    add_function(file, CODE + 0x30, 0x10, (uint8_t[]){0x09, PC, 5}, 3);
    add_function(file, CODE + 0x40, 0x10, (uint8_t[]){0x0f, 5, 0x77, 16, 0x06, 0x23, 8}, 7);
    add_function(file, CODE + 0x50, 0x10, (uint8_t[]){0x0f, 1, 0x12}, 3);
    struct rows *rows = compile(file, SIZE, NULL);
    assert_non_null(rows);
    assert_int_equal(rule_at(rows, CODE)->cfa_register, R10);
    assert_int_equal(rule_at(rows, CODE + 2)->saved[ROWS_FRAME].place, ROWS_AT_FRAME);
    assert_int_equal(rule_at(rows, CODE + 4)->cfa, ROWS_CFA_LOADED);
    assert_int_equal(rule_at(rows, CODE + 4)->cfa_offset, -8);
    assert_int_equal(rule_at(rows, CODE + 0x10)->cfa, ROWS_CFA_PLT);
    assert_int_equal(rule_at(rows, CODE + 0x10)->cfa_addend, 11);
    assert_int_equal(rule_at(rows, CODE + 0x30)->saved[ROWS_RETURN].place, ROWS_IN);
    assert_int_equal(rule_at(rows, CODE + 0x30)->saved[ROWS_RETURN].offset, 5);
    assert_int_equal(rule_at(rows, CODE + 0x40)->cfa, ROWS_CFA_LOADED);
    assert_int_equal(rule_at(rows, CODE + 0x40)->cfa_addend, 8);
    assert_int_equal(rule_at(rows, CODE + 0x50)->cfa, ROWS_CFA_UNKNOWN);
    free(rows);
    free(file);
    file = file_new("zRS");
    add_function(file, CODE, 0x10, (const uint8_t *)"", 0);
    rows = compile(file, SIZE, NULL);
    assert_int_equal(rule_at(rows, CODE + 9)->cfa, ROWS_CFA_SIGNAL);
    free(rows);
    free(file);
}

/* Every cut and every flipped bit gives an image that can be read, or a message. */
static void test_damage(void **state)
{
    (void)state;
    struct file *file = file_new("zR");
    add_function(file, CODE, 0x40, framed, sizeof framed);
    add_function(file, CODE + 0x40, 0x40, (uint8_t[]){0x0a, 0x41, 0x0b, 0x41, 0x0e, 16}, 6);
    for (size_t size = 0; size < SIZE; size++)
        free(compile(file, size, NULL));
    for (size_t at = 0; at < FRAMES + file->frame_end; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            file->data[at] ^= (uint8_t)(1u << bit);
            free(compile(file, SIZE, NULL));
            file->data[at] ^= (uint8_t)(1u << bit);
        }
    free(file);
}

static void test_refusals(void **state)
{
    (void)state;
    struct file *file = file_new("zR");
    struct elf_image image;
    struct err err = {0};
    assert_int_equal(elf_image_init(&image, "no", 2, &err), -1);
    assert_string_equal(err.text, "not an ELF file");
    ((Elf64_Ehdr *)(void *)file->data)->e_machine = EM_AARCH64;
    err = (struct err){0};
    assert_int_equal(elf_image_init(&image, file->data, SIZE, &err), 0);
    assert_null(row_compiler_new(&image, NULL, &err));
    assert_non_null(strstr(err.text, "not supported on this machine"));
    free(file);
}

/* ------------------------------------------------------------------------------------------- walking */

#define BIAS      0x7f0000000000u
#define STACK     0x7ffe00000000u
#define STACK_END (STACK + sizeof((struct scene *)0)->words)
#define WORDS     64

/* A process with one module: a framed function at CODE, a plain one, the root, and code without a description. */
struct scene {
    struct file *file;
    struct rows *rows;
    struct modules *modules;
    uint64_t words[WORDS];
    struct walk_native_registers registers;
    struct walk_native_cache cache;
    struct walk_native_frame frames[16];
    struct walk_native_stack stack;
};
enum {
    PLAIN = CODE + 0x100,
    ROOT = CODE + 0x200,
    BARE = CODE + 0x300,
    SIGNAL = CODE + 0x400,
    WAITING = CODE + 0x500,
    MOVING = CODE + 0x600
};

/* Frames of 48 bytes, and of any size: the stack is lowered by rax. Both call at their end. */
static const uint8_t waiting[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0xe8, 0, 0, 0, 0, 0x90};
static const uint8_t moving[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x29, 0xc4, 0x90, 0xe8, 0, 0, 0, 0, 0x90};
#define CALLED 13 /* where their calls return to */
static const uint8_t calling[] = {0xe8, 0, 0, 0, 0};

static struct scene *scene_new(void)
{
    struct scene *scene = calloc(1, sizeof *scene);
    assert_non_null(scene);
    scene->file = file_new("zR");
    add_function(scene->file, CODE, 0x100, framed, sizeof framed);
    add_function(scene->file, PLAIN, 0x100, (uint8_t[]){0x44, 0x0e, 32}, 3);
    add_function(scene->file, ROOT, 0x100, (uint8_t[]){0x07, PC}, 2);
    add_function(scene->file, WAITING, 0x100, framed, 8);
    add_function(scene->file, MOVING, 0x100, framed, 8);
    add_common(scene->file, "zRS");
    add_function(scene->file, SIGNAL, 0x10, (const uint8_t *)"", 0);
    memcpy(scene->file->data + WAITING, waiting, sizeof waiting);
    memcpy(scene->file->data + MOVING, moving, sizeof moving);
    memcpy(scene->file->data + ROOT + 4, calling, sizeof calling);
    scene->rows = compile(scene->file, SIZE, NULL);
    scene->modules = calloc(1, sizeof *scene->modules + 4 * sizeof scene->modules->entries[0]);
    scene->modules->generation = 1;
    assert_int_equal(modules_add(scene->modules, BIAS + CODE, BIAS + SIZE, BIAS, scene->rows), 0);
    scene->registers.known = (1u << WALK_NATIVE_REGISTERS) - 1;
    return scene;
}

static void scene_free(struct scene *scene)
{
    free(scene->modules);
    free(scene->rows);
    free(scene->file);
    free(scene);
}

static void walk(struct scene *scene, uint64_t address, unsigned word, uint64_t frame)
{
    scene->registers.value[PC] = BIAS + address;
    scene->registers.value[RSP] = STACK + 8 * word;
    scene->registers.value[RBP] = frame;
    struct walk_native_range range = {STACK, STACK_END, (const uint8_t *)scene->words};
    struct walk_native_memory memory = {.ranges = &range, .range_count = 1};
    scene->stack = (struct walk_native_stack){.frames = scene->frames, .capacity = 16};
    walk_native(&scene->stack, &scene->registers, scene->modules, &memory, &scene->cache);
}

static void expect(const struct scene *scene, size_t count, const uint64_t *addresses,
                   enum walk_native_end end)
{
    assert_int_equal(scene->stack.count, count);
    for (size_t index = 0; index < count; index++)
        assert_int_equal(scene->frames[index].address, BIAS + addresses[index]);
    assert_int_equal(scene->stack.end, end);
}

static void test_walk(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    const uint64_t whole[] = {CODE + 8, PLAIN + 9, ROOT + 9};
    scene->words[12] = STACK + 8 * 40; /* the caller's rbp */
    scene->words[13] = BIAS + PLAIN + 9;
    scene->words[17] = BIAS + ROOT + 9;
    for (int round = 0; round < 2; round++) { /* the second from the cache */
        walk(scene, CODE + 8, 10, STACK + 8 * 12);
        expect(scene, 3, whole, WALK_NATIVE_ROOT);
        assert_int_equal(scene->frames[0].flags, 0);
        assert_int_equal(scene->frames[2].flags, WALK_NATIVE_RETURN);
        assert_int_equal(scene->frames[1].stack_pointer, STACK + 8 * 14);
    }
    /* On the first instruction, after push, and in the epilogue (rbp popped, its slot passed). */
    walk(scene, CODE, 13, 1);
    expect(scene, 3, (uint64_t[]){CODE, PLAIN + 9, ROOT + 9}, WALK_NATIVE_ROOT);
    walk(scene, CODE + 1, 12, 1);
    expect(scene, 3, (uint64_t[]){CODE + 1, PLAIN + 9, ROOT + 9}, WALK_NATIVE_ROOT);
    walk(scene, CODE + 0x34, 13, 1);
    expect(scene, 3, (uint64_t[]){CODE + 0x34, PLAIN + 9, ROOT + 9}, WALK_NATIVE_ROOT);
    scene_free(scene);
}

/* A call as a function's last instruction: the return address belongs to the next function already. */
static void test_call_at_end(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene->words[5] = BIAS + ROOT; /* the call is PLAIN's last instruction */
    scene->words[9] = BIAS + ROOT + 1;
    walk(scene, CODE, 5, 1);
    expect(scene, 3, (uint64_t[]){CODE, ROOT, ROOT + 1}, WALK_NATIVE_ROOT);
    scene_free(scene);
}

static bool load_code(void *context, uint64_t address, uint64_t *value)
{
    const struct scene *scene = context;
    if (address < BIAS || address > BIAS + SIZE - sizeof *value)
        return false;
    memcpy(value, scene->file->data + (address - BIAS), sizeof *value);
    return true;
}

/* As the kernel tells of a thread that sleeps in PLAIN: stack pointer and program counter alone. */
static void walk_asleep(struct scene *scene, unsigned word)
{
    const struct walk_native_registers registers = {
        .value = {[PC] = BIAS + PLAIN + 9, [RSP] = STACK + 8 * word}, .known = 1u << PC | 1u << RSP};
    struct walk_native_range range = {STACK, STACK_END, (const uint8_t *)scene->words};
    struct walk_native_memory memory = {&range, 1, load_code, scene};
    scene->stack = (struct walk_native_stack){.frames = scene->frames, .capacity = 16};
    walk_native(&scene->stack, &registers, scene->modules, &memory, &scene->cache);
}

/* The first function with a frame register is guessed by its depth; what follows it has its register on the stack. */
static void test_sleepers(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene->words[7] = BIAS + WAITING + CALLED; /* PLAIN's frame: words 4 to 7 */
    scene->words[9] = BIAS + ROOT + 9;         /* what a call long over has left */
    scene->words[12] = STACK + 8 * 20;         /* WAITING's: 8 to 13 */
    scene->words[13] = BIAS + WAITING + CALLED;
    scene->words[20] = 0; /* WAITING's again: 14 to 21, by the frame register */
    scene->words[21] = BIAS + ROOT + 9;
    walk_asleep(scene, 4);
    const uint64_t whole[] = {PLAIN + 9, WAITING + CALLED, WAITING + CALLED, ROOT + 9};
    expect(scene, 4, whole, WALK_NATIVE_ROOT);
    assert_int_equal(scene->frames[1].flags, WALK_NATIVE_RETURN);
    assert_int_equal(scene->frames[2].flags, WALK_NATIVE_RETURN | WALK_NATIVE_GUESSED);
    assert_int_equal(scene->frames[3].flags, WALK_NATIVE_RETURN | WALK_NATIVE_GUESSED);
    scene_free(scene);
}

/* Without a depth the frame is searched for: what does not follow a call, or has no caller's register, is none. */
static void test_sleepers_with_moving_stacks(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene->words[7] = BIAS + MOVING + CALLED;
    scene->words[10] = STACK + 8 * 18;
    scene->words[11] = BIAS + PLAIN + 0x40; /* no call before it */
    scene->words[14] = 5;                   /* no frame */
    scene->words[15] = BIAS + WAITING + CALLED;
    scene->words[18] = STACK + 8 * 24;
    scene->words[19] = BIAS + WAITING + CALLED;
    scene->words[25] = BIAS + ROOT + 9;
    walk_asleep(scene, 4);
    const uint64_t whole[] = {PLAIN + 9, MOVING + CALLED, WAITING + CALLED, ROOT + 9};
    expect(scene, 4, whole, WALK_NATIVE_ROOT);
    /* Where there is none, the walk ends and says so. */
    memset(&scene->words[8], 0, sizeof scene->words - 8 * sizeof scene->words[0]);
    walk_asleep(scene, 4);
    expect(scene, 2, whole, WALK_NATIVE_STUCK);
    assert_int_equal(scene->frames[1].flags, WALK_NATIVE_RETURN | WALK_NATIVE_GUESSED);
    scene_free(scene);
}

/* Code without a description that uses the frame register for something else: its caller has it from the stack. What
 * only looks like a return address is passed by: a label, a frame that nobody called. */
static void test_code_made_at_run_time(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene->words[4] = STACK + 8 * 20;       /* the caller's frame register, saved */
    scene->words[5] = BIAS + PLAIN + 0x40;  /* no call before it */
    scene->words[7] = BIAS + ROOT + 9 + 64; /* nor here */
    memcpy(scene->file->data + PLAIN + 0x50, calling, sizeof calling);
    scene->words[8] = BIAS + PLAIN + 0x55; /* of a call long over: nobody called it */
    scene->words[11] = BIAS + MOVING + CALLED;
    scene->words[21] = BIAS + ROOT + 9;
    memset(&scene->registers, 0, sizeof scene->registers);
    scene->registers.known = (1u << WALK_NATIVE_REGISTERS) - 1;
    scene->registers.value[PC] = BIAS + BARE + 20;
    scene->registers.value[RSP] = STACK + 8 * 3;
    scene->registers.value[RBP] = 77;
    struct walk_native_range range = {STACK, STACK_END, (const uint8_t *)scene->words};
    struct walk_native_memory memory = {&range, 1, load_code, scene};
    scene->stack = (struct walk_native_stack){.frames = scene->frames, .capacity = 16};
    walk_native(&scene->stack, &scene->registers, scene->modules, &memory, NULL);
    expect(scene, 3, (uint64_t[]){BARE + 20, MOVING + CALLED, ROOT + 9}, WALK_NATIVE_ROOT);
    assert_int_equal(scene->frames[1].flags, WALK_NATIVE_RETURN | WALK_NATIVE_GUESSED);
    scene_free(scene);
}

static void test_guesses(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    /* Code without a description, interrupted before it used the stack. */
    scene->words[3] = BIAS + ROOT + 9;
    walk(scene, BARE, 3, 1);
    expect(scene, 2, (uint64_t[]){BARE, ROOT + 9}, WALK_NATIVE_ROOT);
    assert_int_equal(scene->frames[1].flags, WALK_NATIVE_RETURN | WALK_NATIVE_GUESSED);
    /* With a frame pointer. */
    scene->words[3] = 7;
    scene->words[8] = STACK + 8 * 20;
    scene->words[9] = BIAS + ROOT + 9;
    walk(scene, BARE + 20, 3, STACK + 8 * 8);
    expect(scene, 2, (uint64_t[]){BARE + 20, ROOT + 9}, WALK_NATIVE_ROOT);
    /* Without: the stack is searched. */
    walk(scene, BARE + 20, 3, 77);
    expect(scene, 2, (uint64_t[]){BARE + 20, ROOT + 9}, WALK_NATIVE_ROOT);
    /* A description that does not know of a pushed frame pointer. */
    scene->words[30] = STACK + 8 * 50;
    scene->words[31] = BIAS + ROOT + 5;
    walk(scene, CODE, 30, 77);
    expect(scene, 2, (uint64_t[]){CODE, ROOT + 5}, WALK_NATIVE_ROOT);
    assert_int_equal(scene->frames[1].flags, WALK_NATIVE_RETURN | WALK_NATIVE_GUESSED);
    scene_free(scene);
}

/* Whatever the registers hold, the walk ends and loads nothing outside (the sanitizers watch). */
static void test_wild_registers(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    const uint64_t values[] = {
        0,    1,         7,          STACK - 8, STACK,          STACK + 4,  STACK_END - 8,
        BIAS, STACK_END, UINT64_MAX, INT64_MAX, UINT64_MAX - 7, BIAS + CODE};
    const size_t count = sizeof values / sizeof values[0];
    for (size_t word = 0; word < WORDS; word++)
        scene->words[word] = values[word % count];
    for (size_t one = 0; one < count; one++)
        for (size_t other = 0; other < count; other++)
            for (uint64_t address = CODE - 1; address < SIGNAL + 0x20; address += 3) {
                scene->registers.value[PC] = BIAS + address;
                scene->registers.value[RSP] = values[one];
                scene->registers.value[RBP] = values[other];
                struct walk_native_range range = {STACK, STACK_END, (const uint8_t *)scene->words};
                struct walk_native_memory memory = {.ranges = &range, .range_count = 1};
                scene->stack = (struct walk_native_stack){.frames = scene->frames, .capacity = 16};
                walk_native(&scene->stack, &scene->registers, scene->modules, &memory, NULL);
                assert_in_range(scene->stack.count, 1, 16);
            }
    scene_free(scene);
}

#if defined(__x86_64__)
static void test_signal_frame(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    ucontext_t context = {0};
    context.uc_mcontext.gregs[REG_RIP] = (greg_t)(BIAS + PLAIN); /* its first byte: looked up as it is */
    context.uc_mcontext.gregs[REG_RSP] = (greg_t)(STACK + 8 * 50);
    scene->words[50] = BIAS + ROOT + 9;
    size_t wanted = offsetof(ucontext_t, uc_mcontext.gregs) + sizeof context.uc_mcontext.gregs;
    assert_true(wanted <= 8 * 40);
    memcpy(&scene->words[6], &context, wanted);
    scene->words[5] = BIAS + SIGNAL + 1;
    walk(scene, CODE, 5, 1);
    expect(scene, 4, (uint64_t[]){CODE, SIGNAL + 1, PLAIN, ROOT + 9}, WALK_NATIVE_ROOT);
    assert_int_equal(scene->frames[1].flags, WALK_NATIVE_RETURN | WALK_NATIVE_SIGNAL);
    assert_int_equal(scene->frames[2].flags, 0);
    scene_free(scene);
}
#endif

/* A table with another generation makes the cache forget. */
static void test_cache_follows_table(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene->words[5] = BIAS + ROOT + 9;
    walk(scene, CODE, 5, 1);
    expect(scene, 2, (uint64_t[]){CODE, ROOT + 9}, WALK_NATIVE_ROOT);
    scene->modules->entries[0].rows_at = 0;
    scene->modules->generation++;
    walk(scene, CODE, 5, 1);
    assert_int_equal(scene->stack.end, WALK_NATIVE_STUCK);
    scene_free(scene);
}

static void test_modules(void **state)
{
    (void)state;
    struct modules *modules = calloc(1, sizeof *modules + 4 * sizeof modules->entries[0]);
    assert_non_null(modules);
    assert_int_equal(modules_find(modules, 5), MODULES_NONE);
    assert_int_equal(modules_add(modules, 100, 200, 0, NULL), 0);
    assert_int_equal(modules_add(modules, 300, 400, 0, NULL), 0);
    assert_int_equal(modules_add(modules, 200, 300, 0, NULL), 0);
    assert_int_equal(modules_add(modules, 199, 201, 0, NULL), -1);
    assert_int_equal(modules_add(modules, 50, 101, 0, NULL), -1);
    assert_int_equal(modules_add(modules, 500, 500, 0, NULL), -1);
    assert_int_equal(modules->count, 3);
    assert_int_equal(modules_find(modules, 99), MODULES_NONE);
    assert_int_equal(modules_find(modules, 100), 0);
    assert_int_equal(modules_find(modules, 299), 1);
    assert_int_equal(modules_find(modules, 399), 2);
    assert_int_equal(modules_find(modules, 400), MODULES_NONE);
    free(modules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_call_at_end),
        cmocka_unit_test(test_sleepers),
        cmocka_unit_test(test_sleepers_with_moving_stacks),
        cmocka_unit_test(test_code_made_at_run_time),
        cmocka_unit_test(test_guesses),
        cmocka_unit_test(test_wild_registers),
#if defined(__x86_64__)
        cmocka_unit_test(test_signal_frame),
#endif
        cmocka_unit_test(test_cache_follows_table),
        cmocka_unit_test(test_modules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
