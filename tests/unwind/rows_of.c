/* rows_of FILE...: what the unwind rows of each file cost, one JSON object a line. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "unwind/row_compiler.h"

static int print_rows(const char *path)
{
    struct bytes file = {0};
    struct err err = {0};
    struct elf_image image;
    struct row_compiler_counts counts = {0};
    struct rows *rows = NULL;
    if (bytes_read_file(&file, path, (size_t)1 << 32, &err) < 0 ||
        elf_image_init(&image, file.data, file.size, &err) < 0) {
        fprintf(stderr, "%s: %s\n", path, err.text);
        return 1;
    }
    uint64_t start = clock_monotonic_ns();
    rows = row_compiler_new(&image, &counts, &err);
    double elapsed_ms = (double)(clock_monotonic_ns() - start) / 1e6;
    bool valid = rows && rows_check(rows, rows->size_bytes);
    if (rows)
        printf("{\"file\": \"%s\", \"functions\": %zu, \"left_out\": %zu, \"rows\": %u, \"rules\": %u, "
               "\"bytes\": "
               "%llu, \"ms\": %.2f, \"valid\": %s}\n",
               path, counts.functions, counts.left_out, rows->row_count, rows->rule_count,
               (unsigned long long)rows->size_bytes, elapsed_ms, valid ? "true" : "false");
    else
        fprintf(stderr, "%s: %s\n", path, err.text);
    free(rows);
    bytes_clear(&file);
    return valid ? 0 : 1;
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int index = 1; index < argc; index++)
        failed |= print_rows(argv[index]);
    return failed;
}
