/* The row compiler on any bytes as an ELF file: what it makes can be read, and walking by it stays in bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "unwind/row_compiler.h"
#include "unwind/walk_native.h"

#define WORDS 64
#define STACK 0x7ffe00000000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int fact)
{
    if (!fact)
        abort();
}

/* Walks from an address with a stack that is full of addresses of the module itself. */
static void walk_from(const struct rows *rows, const struct modules *modules, uint64_t address)
{
    uint64_t words[WORDS];
    struct walk_native_frame frames[16];
    struct walk_native_range range = {STACK, STACK + sizeof words, (const uint8_t *)words};
    struct walk_native_memory memory = {.ranges = &range, .range_count = 1};
    struct walk_native_stack stack = {.frames = frames, .capacity = 16};
    struct walk_native_registers registers = {.known = (1u << WALK_NATIVE_REGISTERS) - 1};
    for (unsigned index = 0; index < WORDS; index++)
        words[index] = index % 2 ? rows->start + index : STACK + (uint64_t)index * 8;
    for (unsigned index = 0; index < WALK_NATIVE_REGISTERS; index++)
        registers.value[index] = STACK + 8;
    registers.value[WALK_NATIVE_REGISTERS - 1] = address;
    walk_native(&stack, &registers, modules, &memory, NULL);
    require(stack.count >= 1 && stack.count <= 16);
}

static void check_rows(const struct rows *rows)
{
    static struct {
        struct modules head;
        struct modules_entry entry;
    } table;
    require(rows_check(rows, rows->size_bytes));
    uint64_t step = (rows->end - rows->start) / 64 + 1;
    table.head.generation = 1;
    table.head.count = 0;
    if (rows->start < rows->end)
        require(modules_add(&table.head, rows->start, rows->end, 0, rows) == 0);
    for (uint64_t address = rows->start; address < rows->end; address += step)
        walk_from(rows, &table.head, address);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    struct elf_image image;
    if (elf_image_init(&image, data, size, &err) < 0) {
        require(err_is_set(&err));
        return 0;
    }
    require(!image.build_id ||
            (image.build_id >= data && image.build_id + image.build_id_size <= data + size));
    struct row_compiler_counts counts;
    struct rows *rows = row_compiler_new(&image, &counts, &err);
    require(!rows == err_is_set(&err));
    if (rows) {
        require(counts.left_out <= counts.functions);
        check_rows(rows);
    }
    free(rows);
    return 0;
}
