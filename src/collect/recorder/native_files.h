/*
 * native_files: the files with code that the processes of a recording have mapped, each read once: its rows, its
 * evaluator, its module in the recording. Owned by the recorder, used by every process's native_space.
 */
#ifndef SONDE_COLLECT_RECORDER_NATIVE_FILES_H
#define SONDE_COLLECT_RECORDER_NATIVE_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "collect/outside/target_python.h"
#include "collect/recorder/native_evaluator.h"
#include "unwind/elf_image.h"

struct writer;

struct native_file {
    char *path;
    uint64_t device, inode;
    uint32_t module;   /* in the recording */
    struct rows *rows; /* NULL = the file has no code that could be read */
    struct native_evaluator evaluator;
    unsigned segment_count;
    struct elf_image_segment segments[ELF_IMAGE_SEGMENTS_MAX];
};

/* A zeroed one is valid and empty; without a writer modules have no numbers. */
struct native_files {
    struct writer *writer;
    struct native_file **files;
    size_t count, capacity;
    uint32_t generation; /* of the last table made for any process */
};

void native_files_clear(struct native_files *files);

/* That of a mapping, read when it is new. Code without a file has one that stands for all such. NULL when memory ran
 * out. */
const struct native_file *native_files_get(struct native_files *files, const struct target_image *image,
                                           const struct target_mapping *mapping);

/* Address in memory less address in the file, for a mapping of it. 0 when the file does not tell. */
uint64_t native_files_bias(const struct native_file *file, const struct target_mapping *mapping);

#endif
