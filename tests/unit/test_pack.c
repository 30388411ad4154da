/* pack and unpack: what goes in comes out, to the byte; what is no pack, or a hostile one, is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/err.h"
#include "store/chunk.h"
#include "store/compress.h"
#include "store/pack.h"
#include "store/reader.h"
#include "store/recording.h"
#include "store/unpack.h"
#include "store/writer.h"

#define FILES_MAX 4
#define STRIDE    97 /* bytes between places that are tried; every one would take long */

struct taken {
    char names[FILES_MAX][64];
    struct bytes files[FILES_MAX];
    size_t count;
};

static int take(void *context, const char *name, const void *data, size_t size, struct err *err)
{
    (void)err;
    struct taken *taken = context;
    assert_in_range(taken->count, 0, FILES_MAX - 1);
    snprintf(taken->names[taken->count], sizeof taken->names[0], "%s", name);
    bytes_put(&taken->files[taken->count++], data, size);
    return 0;
}

static void taken_clear(struct taken *taken)
{
    for (size_t i = 0; i < taken->count; i++)
        bytes_clear(&taken->files[i]);
    taken->count = 0;
}

/* In pieces of so many bytes. */
static int unpack_all(const struct bytes *bytes, size_t piece, struct taken *taken, uint64_t *other_files,
                      struct err *err)
{
    struct unpack unpack;
    int result = unpack_open(&unpack, "x.sondepack", take, taken, err);
    for (size_t at = 0; at < bytes->size && result == 0; at += piece)
        result =
            unpack_feed(&unpack, bytes->data + at, bytes->size - at < piece ? bytes->size - at : piece, err);
    if (result == 0)
        result = unpack_end(&unpack, err);
    *other_files = unpack.other_files;
    unpack_clear(&unpack);
    return result;
}

/* A recording with many functions, so that its chunks are compressed. */
static void make_recording(struct bytes *out, unsigned rank)
{
    struct writer_options options = {.sink = writer_sink_bytes, .context = out, .compress = compress_zstd};
    struct writer *writer = writer_new(&options, NULL);
    uint32_t process = writer_process(writer, &(struct process){.pid = 100 + rank, .rank = rank});
    uint32_t thread = writer_thread(writer, &(struct thread){.process = process});
    for (unsigned i = 0; i < 400; i++) {
        char name[32];
        int size = snprintf(name, sizeof name, "function_%u", i);
        uint32_t text = writer_string(writer, name, (size_t)size);
        uint32_t code =
            writer_code(writer, &(struct code){.name = text, .qualname = text, .kind = CODE_PYTHON});
        uint32_t node = writer_node(writer, &(struct node){.code = code});
        writer_calls(writer, process, &(struct call_row){thread, node, i + rank, 1000 * i});
    }
    assert_int_equal(writer_close(writer, NULL), 0);
}

static void make_pack(struct bytes *out, struct bytes *files, size_t count)
{
    struct pack pack;
    assert_int_equal(pack_open(&pack, writer_sink_bytes, out, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "rank-%zu.sonde", i);
        assert_int_equal(pack_add(&pack, name, files[i].data, files[i].size, NULL), 0);
    }
    assert_int_equal(pack_end(&pack, NULL), 0);
    pack_clear(&pack);
}

static void files_come_back_to_the_byte(void **state)
{
    (void)state;
    struct bytes files[FILES_MAX] = {0}, pack = {0};
    make_recording(&files[0], 0);
    make_recording(&files[1], 1);
    files[1].data[files[1].size / 2] ^= 1; /* damaged: it is carried as it is */
    bytes_put(&files[2], "{\"no\": \"recording\"}", 19);
    make_pack(&pack, files, FILES_MAX); /* the last is empty */
    for (size_t piece = 1; piece < 4096; piece = piece * 5 + 2) {
        struct taken taken = {0};
        uint64_t other_files;
        assert_int_equal(unpack_all(&pack, piece, &taken, &other_files, NULL), 0);
        assert_int_equal(other_files, 0);
        assert_int_equal(taken.count, FILES_MAX);
        assert_string_equal(taken.names[1], "rank-1.sonde");
        for (size_t i = 0; i < FILES_MAX; i++) {
            assert_int_equal(taken.files[i].size, files[i].size);
            assert_true(files[i].size == 0 || memcmp(taken.files[i].data, files[i].data, files[i].size) == 0);
        }
        taken_clear(&taken);
    }
    for (size_t i = 0; i < FILES_MAX; i++)
        bytes_clear(&files[i]);
    bytes_clear(&pack);
}

static void what_ranks_share_is_kept_once(void **state)
{
    (void)state;
    struct bytes files[FILES_MAX] = {0}, one = {0}, all = {0};
    for (unsigned rank = 0; rank < FILES_MAX; rank++)
        make_recording(&files[rank], rank);
    make_pack(&one, files, 1);
    make_pack(&all, files, FILES_MAX);
    assert_true(all.size < files[0].size * FILES_MAX / 2 && one.size < files[0].size * 3 / 2);
    for (size_t i = 0; i < FILES_MAX; i++)
        bytes_clear(&files[i]);
    bytes_clear(&one);
    bytes_clear(&all);
}

/* All places at both ends, and some between. */
static size_t next_place(size_t place, size_t size)
{
    size_t tail = size - 16;
    if (place < 16 || place >= tail)
        return place + 1;
    return place + STRIDE < tail ? place + STRIDE : tail;
}

static void every_cut_is_noticed(void **state)
{
    (void)state;
    struct bytes file = {0}, pack = {0};
    make_recording(&file, 0);
    make_pack(&pack, &file, 1);
    for (size_t size = 0; size < pack.size; size = next_place(size, pack.size)) {
        struct bytes cut = {.data = pack.data, .size = size};
        struct taken taken = {0};
        struct err err = {0};
        uint64_t other_files;
        assert_int_equal(unpack_all(&cut, 1024, &taken, &other_files, &err), -1);
        assert_non_null(strstr(err.text, "x.sondepack"));
        taken_clear(&taken);
    }
    bytes_clear(&file);
    bytes_clear(&pack);
}

static void rot_is_noticed(void **state)
{
    (void)state;
    struct bytes file = {0}, pack = {0};
    make_recording(&file, 0);
    make_pack(&pack, &file, 1);
    for (size_t at = 0; at < pack.size; at = next_place(at, pack.size)) {
        struct taken taken = {0};
        struct err err = {0};
        uint64_t other_files;
        pack.data[at] ^= 0x10;
        if (unpack_all(&pack, 4096, &taken, &other_files, &err) == 0) {
            assert_int_equal(taken.files[0].size, file.size);
            assert_memory_equal(taken.files[0].data, file.data, file.size);
        }
        pack.data[at] ^= 0x10;
        taken_clear(&taken);
    }
    bytes_clear(&file);
    bytes_clear(&pack);
}

/* ---- packs that pack.c would not make ---- */

static void put_record(struct bytes *out, enum pack_tag tag, const struct bytes *body)
{
    bytes_put_varint(out, tag);
    bytes_put_counted(out, body->data, body->size);
}

static void put_file(struct bytes *out, const char *name, uint64_t size)
{
    struct bytes body = {0};
    bytes_put_u64(&body, size);
    bytes_put_u32(&body, checksum_crc32c(0, "", 0));
    bytes_put_text(&body, name);
    put_record(out, PACK_FILE, &body);
    bytes_clear(&body);
}

static void put_end(struct bytes *out, uint64_t count)
{
    struct bytes body = {0};
    bytes_put_u64(&body, count);
    put_record(out, PACK_END, &body);
    bytes_clear(&body);
}

/* Header and frame around the records, which are cleared. */
static void wrap(struct bytes *records, struct bytes *out)
{
    bytes_put(out, PACK_MAGIC, 8);
    bytes_put_u32(out, PACK_VERSION);
    assert_true(bytes_reserve(out, ZSTD_compressBound(records->size)));
    size_t size = ZSTD_compress(out->data + out->size, ZSTD_compressBound(records->size), records->data,
                                records->size, 1);
    out->size += size;
    bytes_clear(records);
}

static void assert_refused(struct bytes *records)
{
    struct bytes pack = {0};
    struct taken taken = {0};
    struct err err = {0};
    uint64_t other_files;
    wrap(records, &pack);
    assert_int_equal(unpack_all(&pack, 4096, &taken, &other_files, &err), -1);
    assert_non_null(strstr(err.text, "x.sondepack"));
    taken_clear(&taken);
    bytes_clear(&pack);
}

static void names_stay_in_the_folder(void **state)
{
    (void)state;
    const char *names[] = {"../evil", "/etc/passwd", "a/b", "..", ".", "", ".profile", "-rf", "a\nb", "a\\b"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct bytes records = {0};
        put_file(&records, names[i], 0);
        put_end(&records, 1);
        assert_refused(&records);
    }
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    struct bytes records = {0}, body = {0};
    put_end(&records, 7); /* files that are not there */
    assert_refused(&records);
    bytes_put(&body, "abc", 3);
    put_record(&records, PACK_BYTES, &body); /* of no file */
    assert_refused(&records);
    put_file(&records, "x", 2);
    put_record(&records, PACK_BYTES, &body); /* more than it has */
    put_end(&records, 1);
    assert_refused(&records);
    put_file(&records, "x", 300);
    put_record(&records, PACK_CHUNK, &body); /* no chunk */
    put_end(&records, 1);
    assert_refused(&records);
    put_end(&records, 0); /* more after the end */
    put_end(&records, 0);
    assert_refused(&records);
    bytes_put_varint(&records, PACK_BYTES);
    bytes_put_varint(&records, UINT64_MAX);
    assert_refused(&records);
    bytes_clear(&body);
}

/* The pack of a sonde whose zstd compresses otherwise: each compressed chunk pretends to have been a byte longer. */
static void repack_with_other_sizes(const struct bytes *file, struct bytes *pack)
{
    struct bytes records = {0};
    put_file(&records, "rank-0.sonde", file->size + 9);
    struct bytes begin = {.data = file->data, .size = CHUNK_FILE_BYTES};
    put_record(&records, PACK_BYTES, &begin);
    for (size_t at = CHUNK_FILE_BYTES; at < file->size;) {
        struct chunk chunk;
        struct bytes body = {0};
        assert_true(chunk_get(file->data + at, &chunk));
        const uint8_t *stored = file->data + at + CHUNK_HEADER_BYTES;
        at += CHUNK_HEADER_BYTES + chunk.stored_bytes;
        if (chunk.compression == CHUNK_ZSTD) {
            uint32_t stored_bytes = chunk.stored_bytes++;
            chunk_put(&body, &chunk);
            assert_true(bytes_reserve(&body, chunk.raw_bytes + 1));
            assert_int_equal(compress_expand(stored, stored_bytes, body.data + body.size, chunk.raw_bytes),
                             0);
            body.size += chunk.raw_bytes;
            put_record(&records, PACK_CHUNK, &body);
        } else {
            bytes_put(&body, stored - CHUNK_HEADER_BYTES, CHUNK_HEADER_BYTES + chunk.stored_bytes);
            put_record(&records, PACK_BYTES, &body);
        }
        bytes_clear(&body);
    }
    put_end(&records, 1);
    wrap(&records, pack);
}

static void another_zstd_makes_the_same_recording(void **state)
{
    (void)state;
    struct bytes file = {0}, pack = {0};
    struct taken taken = {0};
    struct recording recording = {0};
    uint64_t other_files;
    make_recording(&file, 0);
    repack_with_other_sizes(&file, &pack);
    assert_int_equal(unpack_all(&pack, 4096, &taken, &other_files, NULL), 0);
    assert_int_equal(other_files, 1);
    assert_int_equal(reader_read(taken.files[0].data, taken.files[0].size, "x", &recording, NULL), 0);
    assert_int_equal(recording.calls_count, 400);
    assert_true(recording.damage.complete && !recording.damage.damaged_chunks);
    assert_int_equal(recording.damage.skipped_bytes, 0);
    recording_clear(&recording);
    taken_clear(&taken);
    bytes_clear(&file);
    bytes_clear(&pack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_come_back_to_the_byte),
        cmocka_unit_test(what_ranks_share_is_kept_once),
        cmocka_unit_test(every_cut_is_noticed),
        cmocka_unit_test(rot_is_noticed),
        cmocka_unit_test(names_stay_in_the_folder),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(another_zstd_makes_the_same_recording),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
