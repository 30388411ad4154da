/*
 * elf_image: the little of an ELF file that unwinding and naming need, read from its bytes: segments, the
 * place of `.eh_frame_hdr`, the build id. The bytes are not trusted; every pointer that is given out lies inside them. Works on
 * a file's bytes and on an image in memory that keeps the file's layout (the vdso).
 *
 * The image borrows the bytes. Addresses are the file's own (as in its program headers), before loading.
 */
#ifndef SONDE_UNWIND_ELF_IMAGE_H
#define SONDE_UNWIND_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"

struct err;

#define ELF_IMAGE_SEGMENTS_MAX 64

struct elf_image_segment {
    uint64_t address;
    uint64_t offset;
    uint64_t size_bytes; /* in the file */
    bool executable;
};

struct elf_image {
    const uint8_t *data;
    size_t size;
    unsigned machine;
    unsigned segment_count;
    struct elf_image_segment segments[ELF_IMAGE_SEGMENTS_MAX];
    uint64_t frame_header;   /* address of .eh_frame_hdr; 0 = none */
    const uint8_t *build_id; /* NULL when there is none */
    size_t build_id_size;
};

int elf_image_init(struct elf_image *image, const void *data, size_t size, struct err *err);

/* The bytes from this address to the end of its segment; an empty cursor when it is in none. */
struct cursor elf_image_at(const struct elf_image *image, uint64_t address);

/* The executable segment that holds the address, or NULL. */
const struct elf_image_segment *elf_image_code(const struct elf_image *image, uint64_t address);

/* Every symbol that the file defines, from .symtab and .dynsym. False when there is no table at all. */
typedef void elf_image_visit(void *context, const char *name, uint64_t address, uint64_t size);
bool elf_image_each_symbol(const struct elf_image *image, elf_image_visit *visit, void *context);

/* The addresses of symbols that the file defines, by name, from .symtab and .dynsym; 0 = not there. False when there
 * is no table at all. */
bool elf_image_symbols(const struct elf_image *image, const char *const *names, uint64_t *addresses,
                       unsigned count);

/* Whether a section's name begins so. */
bool elf_image_has_section(const struct elf_image *image, const char *prefix);
/* The address of the section with this name (of at most 30 characters); 0 = there is none. */
uint64_t elf_image_section(const struct elf_image *image, const char *name);

#endif
