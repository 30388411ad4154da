/* Walking frames in made-up memory: what is believed, what is rejected, and that damage only ever rejects. */
#include "python/walk.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { BASE = 0x100000, IMAGE_BYTES = 8192 };
/* Where things lie in the image. */
enum {
    STATE = 0,
    CODE_TYPE = 256,
    SMALL = 512,
    LARGE = 768,
    MACHINERY = 1024,
    CHUNK = 2048,
    OLD_CHUNK = 4096
};
enum { SHIM = 6144, OLD_SHIM = 6272, GENERATOR = 6400 };
enum { SMALL_BYTES = 80 + 8 * 4, LARGE_BYTES = 80 + 8 * 20, CHUNK_BYTES = 2048 };

static const struct layout layout = {
    .version = 0x030e00f0,
    .chain = LAYOUT_CURRENT_FRAME,
    .thread_frame = 72,
    .thread_stack_chunk = 80,
    .thread_stack_top = 88,
    .frame_code = 0,
    .frame_previous = 8,
    .frame_instruction = 56,
    .frame_owner = 74,
    .frame_locals = 80,
    .frame_entry = LAYOUT_ABSENT,
    .frame_return_offset = LAYOUT_ABSENT,
    .object_type = 8,
    .object_size = 16,
    .code_stack_size = 64,
    .code_locals_count = 72,
    .code_first_traceable = 192,
    .code_instructions = 208,
};

struct image {
    unsigned char bytes[IMAGE_BYTES];
    struct code_cache codes;
    struct walk_process process;
    struct walk_frame frames[16];
};

static bool read_image(void *context, uint64_t address, void *out, size_t size)
{
    struct image *image = context;
    if (address < BASE || size > IMAGE_BYTES || address - BASE > IMAGE_BYTES - size)
        return false;
    memcpy(out, image->bytes + (address - BASE), size);
    return true;
}

static void put_word(struct image *image, size_t offset, uint64_t word)
{
    memcpy(image->bytes + offset, &word, sizeof word);
}

static void put_int(struct image *image, size_t offset, int32_t number)
{
    memcpy(image->bytes + offset, &number, sizeof number);
}

static void put_code(struct image *image, size_t offset, int slots, int instructions, int traceable)
{
    put_word(image, offset + layout.object_type, BASE + CODE_TYPE);
    put_word(image, offset + layout.object_size, instructions);
    put_int(image, offset + layout.code_stack_size, slots / 2);
    put_int(image, offset + layout.code_locals_count, slots - slots / 2);
    put_int(image, offset + layout.code_first_traceable, traceable);
}

/* A frame at its third instruction. */
static void put_frame(struct image *image, size_t offset, size_t previous, size_t code, char owner)
{
    put_word(image, offset + layout.frame_code, BASE + code);
    put_word(image, offset + layout.frame_previous, previous ? BASE + previous : 0);
    put_word(image, offset + layout.frame_instruction, BASE + code + layout.code_instructions + 4);
    image->bytes[offset + layout.frame_owner] = owner;
}

static void put_chunk(struct image *image, size_t offset, size_t previous, size_t used_bytes)
{
    put_word(image, offset + LAYOUT_CHUNK_PREVIOUS, previous ? BASE + previous : 0);
    put_word(image, offset + LAYOUT_CHUNK_SIZE, CHUNK_BYTES);
    put_word(image, offset + LAYOUT_CHUNK_TOP, used_bytes / 8);
}

static void put_thread(struct image *image, size_t frame, size_t chunk, size_t top)
{
    put_word(image, STATE + layout.thread_frame, frame ? BASE + frame : 0);
    put_word(image, STATE + layout.thread_stack_chunk, chunk ? BASE + chunk : 0);
    put_word(image, STATE + layout.thread_stack_top, top ? BASE + top : 0);
}

enum {
    ROOT = OLD_CHUNK + LAYOUT_CHUNK_DATA + 8,
    SECOND = ROOT + SMALL_BYTES,
    UPPER = CHUNK + LAYOUT_CHUNK_DATA
};
enum { LEAF = UPPER + LARGE_BYTES, TOP = LEAF + SMALL_BYTES };

/* leaf, a hidden one, upper | C | generator, second | root, on two chunks; | is where C called. */
static void draw(struct image *image)
{
    memset(image, 0, sizeof *image);
    image->process = (struct walk_process){.layout = &layout,
                                           .memory = {.read = read_image, .context = image},
                                           .code_type = BASE + CODE_TYPE,
                                           .codes = &image->codes};
    put_code(image, SMALL, 4, 20, 1);
    put_code(image, LARGE, 20, 10, 1);
    put_code(image, MACHINERY, 4, 3, 4);
    put_chunk(image, OLD_CHUNK, 0, 8 + 2 * SMALL_BYTES);
    put_chunk(image, CHUNK, OLD_CHUNK, 0);
    put_frame(image, ROOT, OLD_SHIM, SMALL, LAYOUT_OWNED_BY_THREAD);
    put_frame(image, SECOND, ROOT, SMALL, LAYOUT_OWNED_BY_THREAD);
    put_frame(image, GENERATOR, SECOND, LARGE, LAYOUT_OWNED_BY_GENERATOR);
    put_frame(image, UPPER, SHIM, LARGE, LAYOUT_OWNED_BY_THREAD);
    put_frame(image, LEAF, UPPER, SMALL, LAYOUT_OWNED_BY_THREAD);
    put_frame(image, SHIM, GENERATOR, SMALL, LAYOUT_OWNED_BY_C);
    put_frame(image, OLD_SHIM, 0, SMALL, LAYOUT_OWNED_BY_C);
    put_thread(image, LEAF, CHUNK, TOP);
}

static struct walk walk(struct image *image, uint32_t capacity)
{
    struct walk_thread thread = {.state = BASE + STATE};
    return walk_frames(&image->process, &thread, image->frames, capacity);
}

#define assert_rejected(image, expected)                                                                     \
    do {                                                                                                     \
        struct walk rejected_ = walk(image, 16);                                                             \
        assert_int_equal(rejected_.status, WALK_REJECTED);                                                   \
        assert_string_equal(walk_reason_text(rejected_.reason), walk_reason_text(expected));                 \
    } while (0)

static void test_whole(void **state)
{
    (void)state;
    static struct image image;
    draw(&image);
    struct walk result = walk(&image, 16);
    const uint64_t expected[] = {LEAF, UPPER, GENERATOR, SECOND, ROOT};
    const uint32_t flags[] = {0, WALK_ENTRY, WALK_GENERATOR, 0, WALK_ENTRY};
    assert_int_equal(result.status, WALK_OK);
    assert_int_equal(result.count, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(image.frames[i].frame, BASE + expected[i]);
        assert_int_equal(image.frames[i].flags, flags[i]);
        assert_int_equal(image.frames[i].offset, 4);
    }
}

static void test_small_array(void **state)
{
    (void)state;
    static struct image image;
    draw(&image);
    struct walk result = walk(&image, 2);
    assert_int_equal(result.status, WALK_OK);
    assert_int_equal(result.count, 2);
    assert_int_equal(result.depth, 5);
}

/* The frame that finds no room is the last that is looked at, and has to be where it belongs. */
static void test_stop_when_full(void **state)
{
    (void)state;
    static struct image image;
    const struct walk_thread thread = {.state = BASE + STATE, .stop_when_full = true};
    draw(&image);
    put_word(&image, SECOND + layout.frame_previous, 16); /* nobody gets there */
    struct walk result = walk_frames(&image.process, &thread, image.frames, 3);
    assert_int_equal(result.status, WALK_OK);
    assert_int_equal(result.count, 3);
    assert_int_equal(result.depth, 4);
    assert_int_equal(image.frames[1].flags, WALK_ENTRY);
    assert_int_equal(walk_frames(&image.process, &thread, image.frames, 5).status, WALK_REJECTED);
    draw(&image);
    put_word(&image, LEAF + layout.frame_previous, BASE + GENERATOR);
    result = walk_frames(&image.process, &thread, image.frames, 2);
    assert_int_equal(result.reason, WALK_MISPLACED);
    draw(&image);
    put_word(&image, GENERATOR + layout.frame_previous, BASE + SHIM); /* in a circle */
    result = walk_frames(&image.process, &thread, image.frames, 16);
    assert_int_equal(result.reason, WALK_TOO_DEEP);
}

static void test_hidden_and_starting(void **state)
{
    (void)state;
    static struct image image;
    draw(&image);
    put_frame(&image, LEAF, UPPER, MACHINERY, LAYOUT_OWNED_BY_THREAD);
    put_frame(&image, TOP, LEAF, SMALL, LAYOUT_OWNED_BY_THREAD);
    put_word(&image, TOP + layout.frame_instruction, BASE + SMALL + layout.code_instructions);
    put_thread(&image, TOP, CHUNK, TOP + SMALL_BYTES);
    struct walk result = walk(&image, 16);
    assert_int_equal(result.status, WALK_OK);
    assert_int_equal(result.count, 5);
    assert_int_equal(image.frames[0].frame, BASE + TOP);
    assert_int_equal(image.frames[0].flags, WALK_STARTING);
    assert_int_equal(image.frames[1].frame, BASE + UPPER);
}

static void test_empty(void **state)
{
    (void)state;
    static struct image image;
    draw(&image);
    put_thread(&image, 0, 0, 0);
    assert_int_equal(walk(&image, 16).status, WALK_EMPTY);
    put_thread(&image, 0, OLD_CHUNK, ROOT);
    assert_int_equal(walk(&image, 16).status, WALK_EMPTY);
    put_thread(&image, 0, CHUNK, TOP);
    assert_int_equal(walk(&image, 16).status, WALK_REJECTED);
    put_thread(&image, 0, OLD_CHUNK, SECOND);
    assert_rejected(&image, WALK_UNLINKED);
}

/* A frame that C code has pushed but not linked: only where C called, and only if it is a frame. */
static void test_unlinked(void **state)
{
    (void)state;
    static struct image image;
    draw(&image);
    put_word(&image, UPPER + layout.frame_previous, BASE + GENERATOR);
    put_word(&image, LEAF + layout.frame_previous, BASE + SHIM);
    assert_int_equal(walk(&image, 16).status, WALK_OK);
    assert_int_equal(walk(&image, 16).count, 4);
    put_word(&image, UPPER + layout.frame_code, 0);
    assert_rejected(&image, WALK_MISPLACED);
    draw(&image);
    put_word(&image, LEAF + layout.frame_previous, BASE + GENERATOR);
    assert_rejected(&image, WALK_MISPLACED);
    draw(&image);
    put_thread(&image, LEAF, CHUNK, TOP + 40); /* above the innermost one anything may be in the making */
    assert_int_equal(walk(&image, 16).status, WALK_OK);
}

static void test_rejections(void **state)
{
    (void)state;
    static struct image image;
    draw(&image);
    put_thread(&image, LEAF, CHUNK, LEAF);
    assert_rejected(&image, WALK_MISPLACED);
    draw(&image);
    put_thread(&image, LEAF, CHUNK, OLD_CHUNK + 8);
    assert_rejected(&image, WALK_STACK_BROKEN);
    draw(&image);
    put_word(&image, CHUNK + LAYOUT_CHUNK_SIZE, UINT64_MAX);
    assert_rejected(&image, WALK_STACK_BROKEN);
    draw(&image);
    put_word(&image, SECOND + layout.frame_previous, BASE + SECOND);
    assert_rejected(&image, WALK_MISPLACED);
    draw(&image);
    put_word(&image, GENERATOR + layout.frame_previous, BASE + GENERATOR);
    assert_rejected(&image, WALK_TOO_DEEP);
    draw(&image);
    put_word(&image, LEAF + layout.frame_code, BASE + CODE_TYPE);
    assert_rejected(&image, WALK_NO_CODE);
    draw(&image);
    put_word(&image, LEAF + layout.frame_instruction, BASE + LARGE);
    assert_rejected(&image, WALK_BAD_INSTRUCTION);
    draw(&image);
    image.bytes[LEAF + layout.frame_owner] = LAYOUT_OWNED_BY_FRAME_OBJECT;
    assert_rejected(&image, WALK_BAD_OWNER);
    draw(&image);
    put_word(&image, UPPER + layout.frame_previous, 16);
    assert_rejected(&image, WALK_UNREADABLE);
    draw(&image);
    put_word(&image, SECOND + layout.frame_previous, 0);
    assert_rejected(&image, WALK_UNLINKED);
}

/* Any word of the image replaced: the walk ends, and what it accepts still lies where frames may lie. */
static void test_damage(void **state)
{
    (void)state;
    static struct image image;
    const uint64_t values[] = {0,           1,           UINT64_MAX,  BASE,
                               BASE + LEAF, BASE + ROOT, BASE + SHIM, BASE + IMAGE_BYTES - 4};
    unsigned rejected = 0;
    for (size_t offset = 0; offset < IMAGE_BYTES; offset += 8) {
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            draw(&image);
            put_word(&image, offset, values[i]);
            struct walk result = walk(&image, 16);
            rejected += result.status == WALK_REJECTED;
            assert_true(result.count <= 16);
            for (uint32_t frame = 0; result.status == WALK_OK && frame < result.count; frame++)
                assert_true(image.frames[frame].frame - BASE < IMAGE_BYTES);
        }
    }
    assert_true(rejected > 100);
}

/* A code object gone, another of another size in its place: found out, and remembered. */
static void test_reused_address(void **state)
{
    (void)state;
    static struct image image;
    const struct code_shape old[] = {{48, 44, 2}, {4096, 44, 2}, {SMALL_BYTES, 2, 2}};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
        struct code_shape now;
        draw(&image);
        code_cache_put(&image.codes, BASE + SMALL, &old[i]);
        assert_int_equal(walk(&image, 16).status, WALK_OK);
        assert_int_equal(walk(&image, 16).count, 5);
        assert_true(code_cache_find(&image.codes, BASE + SMALL, &now));
        assert_int_equal(now.frame_bytes, SMALL_BYTES);
    }
}

/* A shape that is remembered is not read again; another address in the same slot does not get it. */
static void test_cache(void **state)
{
    (void)state;
    static struct code_cache cache;
    struct code_shape shape = {.frame_bytes = 120, .instructions_bytes = 44, .first_traceable_bytes = 6},
                      found;
    unsigned hits = 0;
    for (uint64_t code = 0x7f0000000000; code < 0x7f0000000000 + 4096 * 16; code += 16) {
        assert_false(code_cache_find(&cache, code, &found));
        code_cache_put(&cache, code, &shape);
        assert_true(code_cache_find(&cache, code, &found));
        assert_memory_equal(&found, &shape, sizeof shape);
    }
    for (uint64_t code = 0x7f0000000000; code < 0x7f0000000000 + 4096 * 16; code += 16)
        hits += code_cache_find(&cache, code, &found);
    assert_true(hits <= CODE_CACHE_ENTRIES && hits > CODE_CACHE_ENTRIES / 2);
    shape.first_traceable_bytes = 1 << 20; /* too large to be packed */
    code_cache_put(&cache, 0x1000, &shape);
    assert_false(code_cache_find(&cache, 0x1000, &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),          cmocka_unit_test(test_small_array),
        cmocka_unit_test(test_stop_when_full), cmocka_unit_test(test_hidden_and_starting),
        cmocka_unit_test(test_empty),          cmocka_unit_test(test_unlinked),
        cmocka_unit_test(test_rejections),     cmocka_unit_test(test_damage),
        cmocka_unit_test(test_cache),          cmocka_unit_test(test_reused_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
