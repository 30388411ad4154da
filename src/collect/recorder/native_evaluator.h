/*
 * native_evaluator: which code of a file is CPython's evaluator: by its symbols, and where these are stripped by what
 * the exported main function jumps to. Addresses are the file's own.
 */
#ifndef SONDE_COLLECT_RECORDER_NATIVE_EVALUATOR_H
#define SONDE_COLLECT_RECORDER_NATIVE_EVALUATOR_H

#include <stddef.h>
#include <stdint.h>

#include "collect/recorder/native_merge.h"
#include "unwind/elf_image.h"
#include "unwind/rows.h"

struct native_evaluator_range {
    uint64_t start, end;
    uint8_t kind; /* enum native_merge_kind */
};

/* Owns the ranges, sorted by start. A zeroed one is that of a file without an evaluator. */
struct native_evaluator {
    struct native_evaluator_range *ranges;
    size_t count, capacity;
};

/* `rows` may be NULL. What does not fit into memory is left out. */
void native_evaluator_find(struct native_evaluator *evaluator, const struct elf_image *image,
                           const struct rows *rows);
void native_evaluator_clear(struct native_evaluator *evaluator);

enum native_merge_kind native_evaluator_kind(const struct native_evaluator *evaluator, uint64_t address);

#endif
