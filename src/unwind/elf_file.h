/*
 * elf_file: an ELF file mapped for reading. The image borrows the mapping until elf_file_close. A zeroed
 * struct is a closed file.
 */
#ifndef SONDE_UNWIND_ELF_FILE_H
#define SONDE_UNWIND_ELF_FILE_H

#include "unwind/elf_image.h"

struct elf_file {
    void *data;
    size_t size;
    struct elf_image image;
};

int elf_file_open(struct elf_file *file, const char *path, struct err *err);
void elf_file_close(struct elf_file *file);

#endif
