/* Writes the first inputs of the reader's corpus: whole files, and the kinds of damage that it must see. */
#include <stdio.h>

#include "store/chunk.h"
#include "store/compress.h"
#include "tests/store_sample.h"

static int save(const char *folder, const char *name, const void *data, size_t size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(data, 1, size, file) == size;
    if (file && fclose(file) != 0)
        good = false;
    if (!good)
        perror(path);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : ".";
    struct bytes raw = sample_file(NULL), packed = sample_file(compress_zstd);
    if (!raw.size || !packed.size)
        return 1;
    int bad = save(folder, "raw", raw.data, raw.size) + save(folder, "zstd", packed.data, packed.size) +
              save(folder, "cut_header", raw.data, CHUNK_FILE_BYTES + 20) +
              save(folder, "cut_payload", raw.data, raw.size - 20) + save(folder, "magic_only", raw.data, 8) +
              save(folder, "empty", raw.data, 0);
    raw.data[CHUNK_FILE_BYTES + CHUNK_HEADER_BYTES + 3] ^= 1;
    bad += save(folder, "flipped_payload", raw.data, raw.size);
    raw.data[CHUNK_FILE_BYTES + 20] ^= 1;
    bad += save(folder, "flipped_header", raw.data, raw.size);
    raw.data[8] = 2;
    bad += save(folder, "flipped_version", raw.data, raw.size);
    bytes_clear(&raw);
    bytes_clear(&packed);
    return bad ? 1 : 0;
}
