/*
 * row_compiler: makes the rows image (unwind/rows.h) of a module from its ELF bytes. Runs in the parent; the
 * bytes are not trusted. x86-64 only: another machine's file is refused with a message.
 */
#ifndef SONDE_UNWIND_ROW_COMPILER_H
#define SONDE_UNWIND_ROW_COMPILER_H

#include <stddef.h>

#include "unwind/elf_image.h"
#include "unwind/rows.h"

struct err;

/* Descriptions that were read and those left out because they are damaged or outside the code. */
struct row_compiler_counts {
    size_t functions;
    size_t left_out;
};

/* The image, to be freed by the caller; NULL on failure. A module without frame descriptions gives an image
 * without rows. */
struct rows *row_compiler_new(const struct elf_image *image, struct row_compiler_counts *counts,
                              struct err *err);

#endif
