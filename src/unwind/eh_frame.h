/*
 * eh_frame: reads `.eh_frame_hdr` and `.eh_frame` of an ELF image. The bytes are not trusted: what does not
 * parse is left out, nothing is read outside the image.
 *
 * The list of functions comes from the header's table, not from the section in order: a post-link optimizer
 * leaves thousands of stale entries in the section.
 */
#ifndef SONDE_UNWIND_EH_FRAME_H
#define SONDE_UNWIND_EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "unwind/elf_image.h"

/* One function: where its code begins, where its frame description (FDE) is. */
struct eh_frame_entry {
    uint64_t start;
    uint64_t description;
};

/* Sorted by start, starts distinct. Owns its entries; a zeroed struct is an empty list. */
struct eh_frame_list {
    struct eh_frame_entry *entries;
    size_t count;
};

/* A frame description with what its CIE says. The cursors lie inside the image. */
struct eh_frame_description {
    uint64_t start;
    uint64_t end;
    uint64_t code_factor;
    int64_t data_factor;
    unsigned return_register;
    uint8_t pointer_encoding;
    bool is_signal_frame;
    bool has_data;         /* the FDE holds counted bytes of the language before its instructions */
    struct cursor initial; /* the CIE's instructions */
    struct cursor program; /* the FDE's */
    uint64_t program_address;
};

struct err;

/* An image without the header gives an empty list: no failure. */
int eh_frame_list(struct eh_frame_list *list, const struct elf_image *image, struct err *err);
void eh_frame_clear(struct eh_frame_list *list);
/* The last entry that starts at or before the address, or NULL. */
const struct eh_frame_entry *eh_frame_find(const struct eh_frame_list *list, uint64_t address);

/* False when the description cannot be read. */
bool eh_frame_describe(struct eh_frame_description *description, const struct elf_image *image,
                       const struct eh_frame_entry *entry);

/* A pointer in one of the DW_EH_PE encodings; `address` is where the cursor stands, `data` the base for the
 * encodings relative to it. Indirect pointers are not followed: a failure of the cursor. */
uint64_t eh_frame_get_pointer(struct cursor *cursor, uint8_t encoding, uint64_t address, uint64_t data);
int64_t eh_frame_get_sleb(struct cursor *cursor);

#endif
