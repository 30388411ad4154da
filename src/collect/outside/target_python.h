/*
 * target_python: finds CPython in the memory of another process, or in what a dead one left in a core file.
 *
 * It may be the executable itself or a shared library, stripped or not, under any name and even without its
 * file: where the file's symbols do not tell, the data in memory are searched for what only CPython has. The
 * bytes are not trusted: every address found is held against the memory before it is believed.
 *
 * A version that sonde cannot read (2.7, 3.8, a pre-release, a free-threaded build, one with --with-trace-refs) is
 * refused in words.
 */
#ifndef SONDE_COLLECT_OUTSIDE_TARGET_PYTHON_H
#define SONDE_COLLECT_OUTSIDE_TARGET_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "python/walk.h"

struct elf_file;
struct elf_image;
struct err;

/* One mapping, as /proc/PID/maps and the notes of a core file tell. */
struct target_mapping {
    uint64_t start, end;
    uint64_t offset;        /* in the file */
    uint64_t device, inode; /* of the file; 0 = not known */
    const char *path;       /* as the process itself names it; "" = no file */
    bool executable, writable;
};

/* What can be looked at. Made by process_image.h or core_file.h, which own everything in it. */
struct target_image {
    struct memory memory;
    struct target_mapping *mappings; /* by address */
    size_t count;
    /* Opens the file of a mapping; -1 where it cannot be had, which is no failure of the search. */
    int (*open)(void *context, const struct target_mapping *mapping, struct elf_file *file, struct err *err);
    void *context;
};

/* A zeroed one is empty. Nothing in it is to be freed. */
struct target_python {
    struct layout layout;
    uint64_t runtime;    /* address of _PyRuntime */
    uint64_t code_type;  /* of PyCode_Type */
    uint64_t frame_type; /* of PyFrame_Type; 0 where it is not needed (3.11+) and not exported */
    uint64_t start, end; /* where the file that holds it is mapped */
    uint64_t bias;       /* address in memory - address in the file */
    char path[512];      /* of that file, as the process names it */
    bool is_starting;    /* of one that is refused: it has not begun yet, as far as can be told */
};

/* -1 where there is none, and then *python is zeroed; or where there is one that is refused: `path` says which. */
int target_python_find(const struct target_image *image, struct target_python *python, struct err *err);

/* The same of a process, with patience (2 s) for one that is just starting: its version is not written yet, its types
 * are not made. */
int target_python_await(const struct target_image *image, struct target_python *python, struct err *err);

/* Where the file's addresses lie in memory: a mapping shows the part of a segment that begins at its offset. False when
 * it shows none of this file. */
bool target_python_bias(const struct elf_image *elf, const struct target_mapping *mapping, uint64_t *bias);

/* What walk_frames needs. `codes` and `python` are borrowed. */
struct walk_process target_python_walk(const struct target_python *python, const struct memory *memory,
                                       struct code_cache *codes);

/* Where the kernel's number of a thread lies behind its pthread_t: 3.9 and 3.10 keep no other (threads_row's
 * native_id is 0 there). Told by the threads themselves: `tids` are those of the process, as it numbers them
 * itself. 0 = cannot be told. */
uint32_t target_python_tid_offset(const struct target_python *python, const struct memory *memory,
                                  const uint32_t *tids, size_t count);

#endif
