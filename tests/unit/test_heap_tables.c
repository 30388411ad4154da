/* The tables of blocks and of mapped memory, and the tree of stacks, which otherwise are in other people's processes only. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "collect/agent/heap_area.h"
#include "collect/agent/heap_blocks.h"
#include "collect/agent/heap_ranges.h"
#include "collect/agent/heap_tree.h"

static void expect_block(uint64_t address, uint32_t record, uint64_t size_bytes)
{
    uint64_t entry = heap_blocks_take(address);
    assert_int_equal(heap_blocks_record(entry), record);
    assert_int_equal(heap_blocks_size(entry), size_bytes);
    assert_int_equal(heap_blocks_take(address), 0);
}

static void test_blocks(void **state)
{
    (void)state;
    const uint64_t base = 0x7f0012340000;
    heap_blocks_reset();
    heap_blocks_set_shift(5);
    assert_null(heap_blocks_leaf_of(base));
    for (uint64_t i = 0; i < 1000; i++)
        assert_true(heap_blocks_put(base + 32 * i, heap_blocks_entry((uint32_t)i + 1, i % 32)));
    assert_true(heap_blocks_resident_bytes() >= 1000 * sizeof(uint64_t));
    for (uint32_t i = 0; i < 1000; i++)
        expect_block(base + 32 * i, i + 1, i % 32);
    assert_false(heap_blocks_put((uint64_t)1 << 47, heap_blocks_entry(1, 1)));
    assert_int_equal(heap_blocks_size(heap_blocks_entry(1, UINT64_MAX)), HEAP_BLOCKS_SIZE_MAX);
    heap_blocks_reset();
    assert_null(heap_blocks_leaf_of(base));
}

/* A large block takes 8 bytes for each 512, and shares its place with nobody: not with the small ones beside it, nor with
 * one that comes to lie where it was. */
static void test_large_blocks(void **state)
{
    (void)state;
    const uint64_t base = 0x7f0012340000;
    heap_blocks_reset();
    heap_blocks_set_shift(5);
    for (uint32_t i = 0; i < 4096; i++)
        assert_true(heap_blocks_put(base + 4096 * (uint64_t)i + 16, heap_blocks_entry(i + 1, 4080)));
    assert_true(heap_blocks_resident_bytes() <= 4096 * 4096 / 50);
    assert_true(heap_blocks_put(base + 64, heap_blocks_entry(77, 511)));
    expect_block(base + 16, 1, 4080);
    expect_block(base + 64, 77, 511);
    assert_true(heap_blocks_put(base + 4096 + 16, heap_blocks_entry(78, 100))); /* its end was not seen */
    expect_block(base + 4096 + 16, 78, 100);
    for (uint32_t i = 2; i < 4096; i++)
        expect_block(base + 4096 * (uint64_t)i + 16, i + 1, 4080);
    heap_blocks_reset();
}

struct gone {
    uint64_t bytes;
    uint32_t parts, whole; /* `whole`: ranges that count as gone */
};

static void note(void *context, const struct heap_range *part)
{
    struct gone *gone = context;
    gone->bytes += part->high - part->low;
    gone->parts++;
    gone->whole += part->is_first;
}

static struct gone take_out(uint64_t low, uint64_t high)
{
    struct gone gone = {0};
    heap_ranges_remove(low, high, note, &gone);
    return gone;
}

/* However a range is cut, its bytes come out once, and it counts as gone once. */
static void test_ranges_in_parts(void **state)
{
    (void)state;
    heap_ranges_reset();
    assert_true(heap_ranges_add(0x10000, 0x20000, 1));
    assert_true(heap_ranges_add(0x30000, 0x38000, 2));
    assert_true(heap_ranges_holds(0x10000) && heap_ranges_holds(0x1ffff) && !heap_ranges_holds(0x20000));
    struct gone gone = take_out(0x14000, 0x18000);
    assert_true(gone.bytes == 0x4000 && gone.parts == 1 && gone.whole == 0);
    assert_false(heap_ranges_holds(0x14000));
    gone = take_out(0x10000, 0x14000);
    assert_true(gone.bytes == 0x4000 && gone.parts == 1);
    uint32_t whole = gone.whole;
    gone = take_out(0x18000, 0x34000);
    assert_true(gone.bytes == 0x8000 + 0x4000 && gone.parts == 2);
    whole += gone.whole;
    gone = take_out(0, UINT64_MAX);
    assert_true(gone.bytes == 0x4000 && gone.parts == 1);
    assert_int_equal(whole + gone.whole, 2);
    assert_int_equal(take_out(0, UINT64_MAX).parts, 0);
}

/* Against a plain list of pages. */
static void test_ranges_at_random(void **state)
{
    enum { PAGES = 256, TURNS = 20000 };
    static uint8_t mapped[PAGES];
    uint32_t random = 12345;
    (void)state;
    heap_ranges_reset();
    memset(mapped, 0, sizeof mapped);
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        random = random * 1664525 + 1013904223;
        uint32_t low = random >> 24, pages = 1 + (random >> 16 & 31), expected = 0;
        uint32_t high = low + pages < PAGES ? low + pages : PAGES;
        for (uint32_t page = low; page < high; page++)
            expected += mapped[page];
        assert_int_equal(take_out((uint64_t)low << 12, (uint64_t)high << 12).bytes, (uint64_t)expected << 12);
        memset(mapped + low, random >> 8 & 1, high - low);
        if (random >> 8 & 1)
            assert_true(heap_ranges_add((uint64_t)low << 12, (uint64_t)high << 12, 1));
        assert_int_equal(heap_ranges_holds((uint64_t)low << 12), mapped[low]);
    }
}

static struct heap_area *new_area(const struct heap_area_limits *limits)
{
    struct heap_area *area = mmap(NULL, heap_area_bytes(limits), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(area, MAP_FAILED);
    heap_area_format(area, limits, 1, 0x030c01f0);
    return area;
}

static void test_tree(void **state)
{
    (void)state;
    const struct heap_area_limits limits = {.nodes = 100, .records = 3};
    struct heap_area *area = new_area(&limits);
    struct heap_tree tree;
    assert_true(heap_tree_open(&tree, area));
    uint32_t root = heap_tree_root(&tree, 1), other = heap_tree_root(&tree, 2);
    uint32_t child = heap_tree_python(&tree, root, 5, 10, false);
    assert_int_equal(heap_tree_python(&tree, root, 5, 10, false), child);
    assert_int_not_equal(heap_tree_python(&tree, root, 5, 12, false), child);
    assert_int_not_equal(heap_tree_python(&tree, root, 5, 10, true), child);
    assert_int_not_equal(heap_tree_python(&tree, other, 5, 10, false), child);
    assert_int_not_equal(heap_tree_native(&tree, root, (uint64_t)5 << 32 | 10), child);
    assert_int_equal(heap_area_nodes(area)[child].thread, 1);
    /* Where there is no room, a stack is its caller's, and that is counted. */
    for (int32_t i = 0; i < 200; i++)
        heap_tree_python(&tree, child, 6, i, false);
    assert_int_equal(heap_tree_python(&tree, child, 6, 199, false), child);
    assert_true(area->lost_nodes > 0 && area->node_count == 100);
    uint32_t record = heap_tree_record(&tree, child, 1);
    assert_int_equal(heap_tree_record(&tree, child, 1), record);
    assert_int_not_equal(heap_tree_record(&tree, child, 2), record);
    assert_int_equal(heap_tree_record(&tree, root, 1), 0);
    heap_tree_close(&tree);
    munmap(area, heap_area_bytes(&limits));
}

/* What the program may have overwritten is not believed. */
static void test_look(void **state)
{
    (void)state;
    struct heap_area_limits limits;
    struct heap_area_view view;
    assert_false(heap_area_limits_within(1 << 20, false, false, &limits));
    assert_true(heap_area_limits_within(128 << 20, true, false, &limits));
    uint64_t bytes = heap_area_bytes(&limits);
    assert_true(bytes <= 128 << 20);
    struct heap_area *area = new_area(&limits);
    assert_true(heap_area_look(&view, area, bytes));
    assert_false(heap_area_look(&view, area, bytes - 1));
    area->limits.nodes++;
    assert_false(heap_area_look(&view, area, bytes));
    area->limits.nodes = UINT32_MAX;
    assert_false(heap_area_look(&view, area, bytes));
    area->limits = limits;
    area->magic++;
    assert_false(heap_area_look(&view, area, bytes));
    munmap(area, bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_large_blocks),
        cmocka_unit_test(test_ranges_in_parts),
        cmocka_unit_test(test_ranges_at_random),
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
