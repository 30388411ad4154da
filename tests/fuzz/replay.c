/*
 * Feeds every file of a folder to a fuzz target, without a fuzzer: the corpus as a test. The folder is
 * argv[1], or CORPUS when built with one. A crash or abort of the target is the failure; the name of the file
 * in work is printed first when it happens (standard error is unbuffered).
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifndef CORPUS
#define CORPUS "."
#endif

/* 0, or -1 when the file cannot be read. */
static int replay(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    struct bytes input = {0};
    struct err err = {0};
    int result = bytes_read_file(&input, path, (size_t)1 << 30, &err);
    fprintf(stderr, "%s\n", result < 0 ? err.text : path);
    if (result == 0) {
        uint8_t *exact = malloc(input.size ? input.size : 1); /* so that a sanitizer sees one byte too far */
        if (exact && input.size)
            memcpy(exact, input.data, input.size);
        if (exact)
            LLVMFuzzerTestOneInput(exact, input.size);
        free(exact);
    }
    bytes_clear(&input);
    return result;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : CORPUS;
    DIR *entries = opendir(folder);
    unsigned passed = 0, failed = 0;
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        if (entry->d_name[0] == '.')
            continue;
        if (replay(folder, entry->d_name) == 0)
            passed++;
        else
            failed++;
    }
    if (!entries)
        perror(folder);
    else
        closedir(entries);
    printf("%u passed, %u failed\n", passed, failed);
    return passed && !failed ? 0 : 1;
}
