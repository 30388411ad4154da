/* rows_of FILE...: what the unwind rows of each file cost, one JSON object a line. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "unwind/elf_file.h"
#include "unwind/row_compiler.h"

static int print_rows(const char *path)
{
    struct elf_file file;
    struct err err = {0};
    struct row_compiler_counts counts = {0};
    struct rows *rows = NULL;
    if (elf_file_open(&file, path, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    uint64_t start = clock_monotonic_ns();
    rows = row_compiler_new(&file.image, &counts, &err);
    double elapsed_ms = (double)(clock_monotonic_ns() - start) / 1e6;
    bool valid = rows && rows_check(rows, rows->size_bytes);
    if (rows)
        printf("{\"file\": \"%s\", \"functions\": %zu, \"left_out\": %zu, \"rows\": %u, \"rules\": %u, "
               "\"bytes\": "
               "%llu, \"ms\": %.2f, \"reworked\": %s, \"valid\": %s}\n",
               path, counts.functions, counts.left_out, rows->row_count, rows->rule_count,
               (unsigned long long)rows->size_bytes, elapsed_ms, rows->is_reworked ? "true" : "false",
               valid ? "true" : "false");
    else
        fprintf(stderr, "%s: %s\n", path, err.text);
    free(rows);
    elf_file_close(&file);
    return valid ? 0 : 1;
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int index = 1; index < argc; index++)
        failed |= print_rows(argv[index]);
    return failed;
}
