/* Core files, made up here: what is found in them, and that damage gives words, not harm. */
#include "collect/outside/core_file.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/err.h"

enum { DATA = 0x7f0000001000, CODE = 0x7f0000000000, PAGE = 4096, STATUS_BYTES = 336, INFO_BYTES = 136 };

static void put_note(struct bytes *out, uint32_t type, const void *note, uint32_t size)
{
    static const char name[8] = "CORE";
    bytes_put_u32(out, 5);
    bytes_put_u32(out, size);
    bytes_put_u32(out, type);
    bytes_put(out, name, sizeof name);
    bytes_put(out, note, size);
    while (out->size % 4)
        bytes_put_u8(out, 0);
}

static void put_threads(struct bytes *notes)
{
    for (uint32_t tid = 41; tid <= 42; tid++) {
        unsigned char status[STATUS_BYTES] = {[12] = 6};
        uint64_t counter = 0x1000 + tid;
        memcpy(status + 32, &tid, sizeof tid);
        memcpy(status + 112 + 8 * 16, &counter, sizeof counter);
        put_note(notes, NT_PRSTATUS, status, sizeof status);
    }
    unsigned char info[INFO_BYTES] = {[24] = 41};
    memcpy(info + 56, "python x.py ", 12);
    put_note(notes, NT_PRPSINFO, info, sizeof info);
}

static void put_files(struct bytes *notes)
{
    struct bytes files = {0};
    const uint64_t words[] = {2, PAGE, CODE, CODE + PAGE, 0, DATA, DATA + PAGE, 1};
    bytes_put(&files, words, sizeof words);
    bytes_put(&files, "/no/such/file\0/no/such/file", 28);
    put_note(notes, NT_FILE, files.data, (uint32_t)files.size);
    bytes_clear(&files);
}

/* Notes, code that is left out but for nothing, data that is there, and memory without a file. */
static void make_core(struct bytes *out)
{
    struct bytes notes = {0};
    put_threads(&notes);
    put_files(&notes);
    uint64_t begin = sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Phdr);
    Elf64_Ehdr header = {.e_type = ET_CORE, .e_machine = EM_X86_64, .e_phoff = sizeof header};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 4;
    const Elf64_Phdr programs[] = {
        {.p_type = PT_NOTE, .p_offset = begin, .p_filesz = notes.size},
        {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = CODE, .p_memsz = PAGE},
        {.p_type = PT_LOAD,
         .p_flags = PF_R | PF_W,
         .p_vaddr = DATA,
         .p_memsz = PAGE,
         .p_filesz = PAGE,
         .p_offset = begin + notes.size},
        {.p_type = PT_LOAD,
         .p_flags = PF_R | PF_W,
         .p_vaddr = DATA + PAGE,
         .p_memsz = 2 * PAGE,
         .p_filesz = PAGE,
         .p_offset = begin + notes.size + PAGE},
    };
    bytes_put(out, &header, sizeof header);
    bytes_put(out, programs, sizeof programs);
    bytes_put(out, notes.data, notes.size);
    for (int i = 0; i < 2 * PAGE / 8; i++)
        bytes_put_u64(out, 1000 + (uint64_t)i);
    bytes_clear(&notes);
}

static void test_whole(void **state)
{
    (void)state;
    struct bytes bytes = {0};
    struct core_file core;
    struct err err = {{0}};
    make_core(&bytes);
    assert_int_equal(core_file_init(&core, bytes.data, bytes.size, NULL, &err), 0);
    assert_int_equal(core.pid, 41);
    assert_int_equal(core.signal, 6);
    assert_string_equal(core.command, "python x.py");
    assert_false(core.cut);
    assert_int_equal(core.thread_count, 2);
    assert_int_equal(core.threads[1].tid, 42);
    assert_int_equal(core.threads[1].registers[16], 0x1000 + 42);
    assert_int_equal(core.image.count, 3);
    assert_string_equal(core.image.mappings[1].path, "/no/such/file");
    assert_int_equal(core.image.mappings[1].offset, PAGE);
    assert_true(core.image.mappings[0].executable);
    assert_true(core.image.mappings[2].writable);
    assert_string_equal(core.image.mappings[2].path, "");
    assert_string_equal(core_file_missing(&core), "/no/such/file");
    core_file_close(&core);
    bytes_clear(&bytes);
}

static void test_memory(void **state)
{
    (void)state;
    struct bytes bytes = {0};
    struct core_file core;
    struct err err = {{0}};
    uint64_t words[2];
    make_core(&bytes);
    assert_int_equal(core_file_init(&core, bytes.data, bytes.size, NULL, &err), 0);
    const struct memory *memory = &core.image.memory;
    assert_true(memory_read(memory, DATA + PAGE - 8, words, sizeof words)); /* over two segments */
    assert_int_equal(words[0], 1000 + 511);
    assert_int_equal(words[1], 1000 + 512);
    assert_false(memory_read(memory, DATA - 8, words, sizeof words)); /* from memory that is left out */
    assert_false(memory_read(memory, DATA + 2 * PAGE - 8, words, sizeof words)); /* into such */
    assert_false(memory_read(memory, 0, words, sizeof words));
    assert_false(memory_read(memory, UINT64_MAX - 3, words, sizeof words));
    core_file_close(&core);
    bytes_clear(&bytes);
}

/* Cut at every byte, and every byte of the head made wrong: an answer, or words. */
static void test_damaged(void **state)
{
    (void)state;
    struct bytes bytes = {0};
    make_core(&bytes);
    size_t head = bytes.size - 2 * PAGE;
    unsigned refused = 0, cut = 0;
    for (size_t size = 0; size < bytes.size; size += size < head ? 1 : 97) {
        unsigned char *copy = malloc(size ? size : 1); /* of that size, so that ASan sees a read behind it */
        memcpy(copy, bytes.data, size);
        struct core_file core;
        struct err err = {{0}};
        int result = core_file_init(&core, copy, size, NULL, &err);
        assert_true((result < 0) == err_is_set(&err));
        refused += result < 0;
        cut += result == 0 && core.cut;
        if (result == 0)
            core_file_close(&core);
        free(copy);
    }
    assert_int_equal(refused, head);
    assert_true(cut > 50);
    for (size_t place = 0; place < head; place++) {
        for (int bit = 0; bit < 8; bit++) {
            struct core_file core;
            struct err err = {{0}};
            uint64_t word;
            bytes.data[place] ^= (uint8_t)(1 << bit);
            if (core_file_init(&core, bytes.data, bytes.size, NULL, &err) == 0) {
                memory_read_word(&core.image.memory, DATA, &word);
                memory_read_word(&core.image.memory, CODE, &word);
                core_file_close(&core);
            } else
                assert_true(err_is_set(&err));
            bytes.data[place] ^= (uint8_t)(1 << bit);
        }
    }
    bytes_clear(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
