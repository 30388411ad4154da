/*
 * module_file: the file that a module of a recording was loaded from, or one with the same build id: at its
 * path, else in the folders given (the path below the folder, the name in it, by build id).
 */
#ifndef SONDE_SYMBOLS_MODULE_FILE_H
#define SONDE_SYMBOLS_MODULE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/elf_file.h"

struct module_file_wanted {
    const char *path;
    const uint8_t *build_id; /* NULL = any */
    size_t build_id_size;
    uint64_t size_bytes; /* counts where there is no build id; 0 = any */
    const char *const *folders;
    size_t folder_count;
};

/* Opens it and gives its path (to be freed by the caller). NULL, with the reason, when there is none. */
char *module_file_open(struct elf_file *file, const struct module_file_wanted *wanted, struct err *err);

#endif
