/* info: what `sonde info` says of a recording, whole and damaged, as text and as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "show/info_json.h"
#include "show/info_text.h"
#include "show/info_totals.h"
#include "store/chunk.h"
#include "store/reader.h"
#include "tests/store_sample.h"

static struct recording read_file(struct bytes *file)
{
    struct recording recording = {0};
    assert_int_equal(reader_read(file->data, file->size, "sample", &recording, NULL), 0);
    bytes_clear(file);
    return recording;
}

static void assert_has(const struct bytes *out, const char *text)
{
    if (!memmem(out->data, out->size, text, strlen(text)))
        fail_msg("\"%s\" is missing in:\n%.*s", text, (int)out->size, (const char *)out->data);
}

static void text_of_a_whole_file(void **state)
{
    (void)state;
    struct bytes file = sample_file(NULL), out = {0};
    struct recording recording = read_file(&file);
    info_text_put(&recording, "a.sonde", false, &out);
    assert_has(&out, "a.sonde: closed by the recorder\n  mode         trace\n");
    assert_has(&out, "\n      4711        -     -   signal 9      0.000 s  -  python a.py --grid 100");
    assert_has(&out, "\n      4712     4711     3 ");
    assert_has(&out, "\n      4713     4712            -  pool\n");
    assert_has(&out, "  18 calls in 3 rows (thread, call path)\n");
    assert_has(&out, "  loss       pid 4712: rows lost (9)\n");
    assert_has(&out, "\nDamage: none\n");
    assert_null(memmem(out.data, out.size, "offset", 6));
    recording_clear(&recording);
    bytes_clear(&out);
}

static void text_of_a_damaged_file(void **state)
{
    (void)state;
    struct bytes file = sample_file(NULL), out = {0};
    file.data[CHUNK_FILE_BYTES + CHUNK_HEADER_BYTES] ^= 1;
    file.size -= 10;
    struct recording recording = read_file(&file);
    info_text_put(&recording, "a\033[31m.sonde", true, &out);
    assert_null(memchr(out.data, '\033', out.size)); /* no file steers the terminal */
    assert_has(&out, "not closed");
    assert_has(&out, "the file ends in the middle of a chunk\n");
    assert_has(&out, "  damaged or missing chunks: 1\n");
    assert_has(&out, "was in a damaged chunk: 47\n");
    assert_has(&out, "\n            16 DEFS ");
    assert_has(&out, " damaged ");
    assert_has(&out, " orphaned ");
    recording_clear(&recording);
    bytes_clear(&out);
}

static void json_of_a_whole_file(void **state)
{
    (void)state;
    struct bytes file = sample_file(NULL), out = {0};
    struct recording recording = read_file(&file);
    info_json_put(&recording, "a.sonde", true, &(struct json){.out = &out});
    assert_has(&out, "\"meta\":{\"mode\":\"trace\"}");
    assert_has(&out, "{\"pid\":4711,\"parent\":null,\"rank\":null,\"exit_code\":-9,\"host\":\"node1\"");
    assert_has(&out, "{\"pid\":4712,\"parent\":4711,\"rank\":3,\"exit_code\":0,");
    assert_has(&out, "\"kind\":\"CALLS\",\"chunks\":3,");
    assert_has(&out, "{\"offset\":16,\"kind\":\"DEFS\",\"state\":\"good\"");
    assert_has(&out, "{\"kind\":\"loss\",\"pid\":4712,\"count\":9,\"text\":\"rows lost\"}");
    assert_has(&out, "\"complete\":true,\"truncated\":false,\"damaged_chunks\":0");
    recording_clear(&recording);
    bytes_clear(&out);
}

/* All rows of the file are accounted for, those of the index included. */
static void totals_add_up(void **state)
{
    (void)state;
    struct bytes file = sample_file(NULL);
    size_t size = file.size;
    struct recording recording = read_file(&file);
    struct info_totals totals = info_totals_of(&recording);
    uint64_t chunks = 0;
    for (uint32_t i = 0; i < totals.count; i++)
        chunks += totals.kinds[i].chunks;
    assert_int_equal(totals.count, 12);
    assert_int_equal(chunks, recording.chunks_count);
    assert_int_equal(totals.all.chunks, chunks);
    assert_int_equal(CHUNK_FILE_BYTES + chunks * CHUNK_HEADER_BYTES + totals.all.stored_bytes, size);
    recording_clear(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_of_a_whole_file),
        cmocka_unit_test(text_of_a_damaged_file),
        cmocka_unit_test(json_of_a_whole_file),
        cmocka_unit_test(totals_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
