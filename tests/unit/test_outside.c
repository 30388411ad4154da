/* Other processes: why one may not be read, what is fetched ahead, how CPython is recognised in made-up memory. */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "collect/outside/process_access.h"
#include "collect/outside/read_ahead.h"
#include "collect/outside/runtime_search.h"
#include "unwind/elf_image.h"

/* ---- why a process may not be read ---- */

static const struct process_access usual = {
    .pid = 100, .leader = 100, .state = 'S', .parent = 1, .owner = 1000, .user = 1000};

static void expect_words(const struct process_access *access, const char *words)
{
    struct err err = {0};
    assert_int_equal(process_access_explain(access, &err), words ? -1 : 0);
    if (words && !strstr(err.text, words))
        fail_msg("\"%s\" is not in \"%s\"", words, err.text);
}

static void each_obstacle_has_its_remedy(void **state)
{
    (void)state;
    struct process_access access = usual;
    expect_words(&access, NULL);
    access.tracer = 7;
    strcpy(access.tracer_name, "gdb");
    expect_words(&access, "by process 7 (gdb)");
    access = usual, access.is_kernel_thread = true;
    expect_words(&access, "thread of the kernel");
    access = usual, access.leader = 90;
    expect_words(&access, "use -p 90");
    access = usual, access.state = 'Z', access.parent = 80;
    expect_words(&access, "its parent, process 80,");
    access = usual, access.is_32_bit = true;
    expect_words(&access, "32-bit");
}

/* What the kernel would say to whom, and what helps against it. */
static void each_refusal_has_its_remedy(void **state)
{
    (void)state;
    static const struct {
        uint32_t owner, user;
        bool may_trace_others;
        int scope, memory_error, hold_error;
        const char *words;
    } cases[] = {
        {1000, 1000, false, 0, 0, 0, NULL},
        {1000, 1000, false, 1, 0, 0, NULL}, /* Yama makes exceptions: what is allowed is not argued about */
        {1000, 1000, false, 0, EACCES, 0, "protects itself"},
        {1000, 1000, false, 1, EACCES, 0, "sudo sysctl kernel.yama.ptrace_scope=0"},
        {1000, 1000, false, 1, EPERM, 0, "sonde record -- COMMAND"},
        {1000, 1000, false, 2, EACCES, 0, "(kernel.yama.ptrace_scope is 2); use sudo"},
        {1000, 1000, false, 3, EACCES, 0, "until it is restarted"},
        {0, 1000, false, 0, EACCES, 0,
         "belongs to user root (0); run sonde as that user, or as root with sudo"},
        {0, 1000, false, 1, EACCES, 0, "as root with sudo (kernel.yama.ptrace_scope is 1"},
        {0, 1000, false, 2, EACCES, 0, "as root with sudo (kernel.yama.ptrace_scope is 2"},
        {0, 1000, false, 3, EACCES, 0, "until it is restarted"},
        {0, 0, false, 0, EACCES, 0, "--cap-add=SYS_PTRACE"},
        {1000, 0, false, 1, EACCES, 0, "--cap-add=SYS_PTRACE"},
        {0, 0, true, 0, EACCES, 0, "though this user has SYS_PTRACE"},
        {1000, 0, true, 2, EACCES, 0, "though this user has SYS_PTRACE"}, /* Yama lets it pass */
        {0, 1000, true, 1, EACCES, 0, "though this user has SYS_PTRACE"},
        {1000, 0, true, 3, EACCES, 0, "sonde record -- COMMAND"}, /* but not now */
        {1000, 1000, false, 0, 0, EPERM, "seccomp=unconfined"},
        {0, 0, true, 0, 0, ENOSYS, "seccomp=unconfined"},
        {1000, 1000, false, 0, ENOENT, 0, "has just ended"},
        {1000, 1000, false, 0, 0, ESRCH, "has just ended"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct process_access access = usual;
        access.owner = cases[i].owner;
        access.user = cases[i].user;
        access.may_trace_others = cases[i].may_trace_others;
        access.ptrace_scope = cases[i].scope;
        access.memory_error = cases[i].memory_error;
        access.hold_error = cases[i].hold_error;
        expect_words(&access, cases[i].words);
    }
}

/* ---- what is fetched ahead ---- */

static struct read_ahead ahead;
static struct read_ahead_list list;

static void read_some(unsigned char *from, size_t size, unsigned char first)
{
    struct memory memory = read_ahead_memory(&ahead);
    unsigned char got[64];
    assert_true(size <= sizeof got);
    assert_true(memory_read(&memory, (uint64_t)(uintptr_t)from, got, size));
    assert_int_equal(got[0], first);
    assert_memory_equal(got + 1, from + 1, size - 1);
}

static void what_was_read_is_fetched_next_time(void **state)
{
    (void)state;
    static unsigned char bytes[8192];
    memset(bytes, 5, sizeof bytes);
    memset(&list, 0, sizeof list);
    ahead.pid = getpid();
    read_ahead_begin(&ahead, &list);
    read_some(bytes + 4000, 32, 5);
    read_some(bytes + 16, 8, 5);
    read_some(bytes + 100, 64, 5);
    read_some(bytes + 16, 8, 5);
    read_ahead_end(&ahead);
    assert_int_equal(list.count, 2); /* the two that lie close together are one */
    assert_int_equal(list.ranges[0].size, 148);
    read_ahead_begin(&ahead, &list);
    assert_int_equal(ahead.fetched, 2);
    bytes[16] = bytes[4000] = bytes[6000] = 6; /* what was fetched is what was there then */
    read_some(bytes + 16, 8, 5);
    read_some(bytes + 4000, 32, 5);
    read_some(bytes + 6000, 8, 6);
    read_ahead_end(&ahead);
    assert_int_equal(list.count, 3);
}

static void memory_that_is_gone_is_not_fetched(void **state)
{
    (void)state;
    static unsigned char bytes[16] = {9};
    struct memory memory = read_ahead_memory(&ahead);
    ahead.pid = getpid();
    list.count = 2;
    list.ranges[0] = (struct read_ahead_range){16, 8, 0};
    list.ranges[1] = (struct read_ahead_range){(uint64_t)(uintptr_t)bytes, 16, 8};
    read_ahead_begin(&ahead, &list);
    assert_int_equal(ahead.fetched, 0);
    read_some(bytes, 16, 9);
    assert_false(memory_read(&memory, 16, bytes, 8));
    read_ahead_end(&ahead);
    assert_int_equal(list.count, 1);
}

static void the_list_is_bounded(void **state)
{
    (void)state;
    enum { MANY = READ_AHEAD_RANGES + 500, STEP = 2048 };
    unsigned char *bytes = calloc(MANY, STEP);
    assert_non_null(bytes);
    memset(&list, 0, sizeof list);
    ahead.pid = getpid();
    for (int turn = 0; turn < 2; turn++) {
        read_ahead_begin(&ahead, &list);
        for (size_t i = 0; i < MANY; i++)
            read_some(bytes + i * STEP, 8, 0);
        read_ahead_end(&ahead);
        assert_int_equal(list.count, READ_AHEAD_RANGES);
    }
    free(bytes);
}

/* ---- recognising CPython ---- */

enum { START = 0x100000, DATA_BYTES = 0x30000 };
static unsigned char data[DATA_BYTES];

static bool read_data(void *context, uint64_t address, void *out, size_t size)
{
    (void)context;
    if (address < START || address - START > DATA_BYTES || size > DATA_BYTES - (address - START))
        return false;
    memcpy(out, data + (address - START), size);
    return true;
}

static struct target_mapping mapping = {
    .start = START, .end = START + DATA_BYTES, .path = "/opt/x", .writable = true};
static const struct target_image image = {.memory = {.read = read_data}, .mappings = &mapping, .count = 1};
static const struct runtime_search search = {.image = &image, .count = 1};

static void put(uint64_t at, uint64_t word)
{
    memcpy(data + at, &word, sizeof word);
}

static void versions_are_found(void **state)
{
    (void)state;
    memset(data, 0, sizeof data);
    assert_int_equal(runtime_search_version(&search), 0);
    strcpy((char *)data + 0x10, "9.4.0 (no Python)");
    strcpy((char *)data + 0x48, "3.1 and so on");
    assert_int_equal(runtime_search_version(&search), 0);
    /* across the border of two blocks */
    strcpy((char *)data + 0xfff8, "3.12.1 (main, Dec 19 2023, 20:00:00) [GCC 12.2.0]");
    assert_int_equal(runtime_search_version(&search), 0x030c01f0);
    strcpy((char *)data + 0x100, "2.7.18 (default, Jan 1 2020)");
    assert_int_equal(runtime_search_version(&search) >> 16, 0x0207);
}

/* What lay behind the data has just been unmapped: the list of mappings is older than the memory. */
static void a_mapping_that_has_shrunk(void **state)
{
    (void)state;
    memset(data, 0, sizeof data);
    strcpy((char *)data + DATA_BYTES - 0x1000 + 0x1c0, "3.12.1 (main, Dec 19 2023, 20:00:00) [GCC 12.2.0]");
    for (uint64_t more = 0x1000; more <= 0x40000; more += 0x1000) {
        mapping.end = START + DATA_BYTES + more;
        assert_int_equal(runtime_search_version(&search), 0x030c01f0);
    }
    mapping.end = UINT64_C(1) << 47; /* damaged: and not looked at to its end */
    assert_int_equal(runtime_search_version(&search), 0x030c01f0);
    memset(data, 0, sizeof data);
    assert_int_equal(runtime_search_version(&search), 0);
    mapping.end = START + DATA_BYTES;
}

static void a_published_runtime_is_found(void **state)
{
    (void)state;
    memset(data, 0, sizeof data);
    memcpy(data + 0x200, "xdebugpy", 8); /* a copy of the text, no version behind it */
    assert_int_equal(runtime_search_published(&search), 0);
    memcpy(data + 0x20000, "xdebugpy", 8);
    put(0x20008, 0x030e00f0);
    assert_int_equal(runtime_search_published(&search), START + 0x20000);
    memcpy(data + DATA_BYTES - 8, "xdebugpy", 8); /* nothing behind it */
    put(0x20008, 0);
    assert_int_equal(runtime_search_published(&search), 0);
}

static void a_list_of_interpreters_is_found(void **state)
{
    (void)state;
    const struct layout layout = {
        .runtime_interpreters = 40, .interpreter_id = 24, .interpreter_threads = 16, .thread_interpreter = 8};
    memset(data, 0, sizeof data);
    put(0x1000 + 40, START + 0x2000);
    put(0x1000 + 48, START + 0x2000);
    put(0x1000 + 56, 1);
    put(0x2000 + 16, START + 0x3000);
    assert_int_equal(runtime_search_interpreters(&search, &layout), 0); /* the thread is not its own */
    put(0x3000 + 8, START + 0x2000);
    assert_int_equal(runtime_search_interpreters(&search, &layout), START + 0x1000);
    put(0x2000 + 24, 3); /* then there would be more than one */
    assert_int_equal(runtime_search_interpreters(&search, &layout), 0);
}

static void types_are_found(void **state)
{
    (void)state;
    const struct layout layout = {.object_type = 8, .type_name = 24};
    memset(data, 0, sizeof data);
    strcpy((char *)data + 0x20, "code");
    strcpy((char *)data + 0x30, "codec");
    put(0x500 + 8, START + 0x500); /* type */
    put(0x600 + 8, START + 0x500);
    put(0x600 + 24, START + 0x30);
    put(0x700 + 8, START + 0x600); /* called so, but of no type's type */
    put(0x700 + 24, START + 0x20);
    assert_int_equal(runtime_search_type(&search, &layout, "code"), 0);
    put(0x800 + 8, START + 0x500);
    put(0x800 + 24, START + 0x20);
    assert_int_equal(runtime_search_type(&search, &layout, "code"), START + 0x800);
}

/* ---- symbols of a file ---- */

struct small_file {
    Elf64_Ehdr header;
    Elf64_Shdr sections[3];
    Elf64_Sym symbols[3];
    char texts[32];
};

static struct small_file make_file(void)
{
    struct small_file file = {.texts = "\0found\0elsewhere"};
    memcpy(file.header.e_ident, ELFMAG, SELFMAG);
    file.header.e_ident[EI_CLASS] = ELFCLASS64;
    file.header.e_ident[EI_DATA] = ELFDATA2LSB;
    file.header.e_shoff = offsetof(struct small_file, sections);
    file.header.e_shentsize = sizeof(Elf64_Shdr);
    file.header.e_shnum = 3;
    file.sections[1] = (Elf64_Shdr){.sh_type = SHT_DYNSYM,
                                    .sh_offset = offsetof(struct small_file, symbols),
                                    .sh_size = sizeof file.symbols,
                                    .sh_link = 2};
    file.sections[2] =
        (Elf64_Shdr){.sh_offset = offsetof(struct small_file, texts), .sh_size = sizeof file.texts};
    file.symbols[1] = (Elf64_Sym){.st_name = 1, .st_shndx = 1, .st_value = 0x1234};
    file.symbols[2] = (Elf64_Sym){.st_name = 7, .st_shndx = SHN_UNDEF, .st_value = 0x5678};
    return file;
}

static const char *const names[] = {"found", "elsewhere", "not there"};

static void symbols_are_found(void **state)
{
    (void)state;
    struct small_file file = make_file();
    struct elf_image elf;
    uint64_t addresses[3];
    assert_int_equal(elf_image_init(&elf, &file, sizeof file, NULL), 0);
    assert_true(elf_image_symbols(&elf, names, addresses, 3));
    assert_int_equal(addresses[0], 0x1234);
    assert_int_equal(addresses[1], 0);
    assert_int_equal(addresses[2], 0);
}

/* Every byte changed, every length: it may find nothing, but reads nothing outside (make asan looks on). */
static void damaged_symbols_do_no_harm(void **state)
{
    (void)state;
    struct small_file file = make_file();
    struct elf_image elf;
    uint64_t addresses[3];
    for (size_t at = 0; at < sizeof file; at++) {
        struct small_file damaged = file;
        ((unsigned char *)&damaged)[at] ^= 0xff;
        char *exact = malloc(sizeof damaged);
        assert_non_null(exact);
        memcpy(exact, &damaged, sizeof damaged);
        if (elf_image_init(&elf, exact, sizeof damaged, NULL) == 0)
            elf_image_symbols(&elf, names, addresses, 3);
        if (at && elf_image_init(&elf, exact, at, NULL) == 0)
            elf_image_symbols(&elf, names, addresses, 3);
        free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_obstacle_has_its_remedy),
        cmocka_unit_test(each_refusal_has_its_remedy),
        cmocka_unit_test(what_was_read_is_fetched_next_time),
        cmocka_unit_test(memory_that_is_gone_is_not_fetched),
        cmocka_unit_test(the_list_is_bounded),
        cmocka_unit_test(versions_are_found),
        cmocka_unit_test(a_mapping_that_has_shrunk),
        cmocka_unit_test(a_published_runtime_is_found),
        cmocka_unit_test(a_list_of_interpreters_is_found),
        cmocka_unit_test(types_are_found),
        cmocka_unit_test(symbols_are_found),
        cmocka_unit_test(damaged_symbols_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
