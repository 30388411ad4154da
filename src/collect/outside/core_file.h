/*
 * core_file: what a process left when it died, as a target_image: its memory, its mappings, its threads.
 *
 * The kernel leaves out what files hold as well: such memory is read from the files that were mapped, if they
 * can be found and begin with the same bytes as the core file says they did. The bytes are not trusted: every
 * size and place is held against the file, the numbers of segments, files and threads against limits. A core
 * file that was cut short is used as far as it goes.
 */
#ifndef SONDE_COLLECT_OUTSIDE_CORE_FILE_H
#define SONDE_COLLECT_OUTSIDE_CORE_FILE_H

#include "collect/outside/target_python.h"

/* Registers as the kernel orders them (struct user_regs_struct). */
enum { CORE_FILE_REGISTERS = 34 };

struct core_file_thread {
    uint32_t tid;
    unsigned register_count;
    uint64_t registers[CORE_FILE_REGISTERS];
};

/* A piece of memory that the file holds, by address. */
struct core_file_segment {
    uint64_t start, end; /* in memory */
    uint64_t offset;     /* in the core file */
    uint64_t held_bytes; /* of it, less than end - start where the rest is left out or cut off */
    bool executable, writable;
};

/* A file that was mapped, looked for when it is first needed. */
struct core_file_backing {
    const char *path; /* as the process named it */
    char *found;      /* where it is now; NULL = not looked for, or not there */
    const unsigned char *data;
    size_t size;
    bool tried;
};

struct core_file {
    struct target_image image;
    uint32_t pid;
    int signal;                       /* that it died of; 0 = it did not */
    char command[81];                 /* cut to that by the kernel */
    bool cut;                         /* memory that should be there is not */
    struct core_file_thread *threads; /* the one that died first */
    size_t thread_count;

    const unsigned char *data;
    size_t size;
    bool mapped; /* data is ours to unmap */
    struct core_file_segment *segments;
    size_t segment_count;
    struct core_file_backing *backings;
    size_t backing_count;
    const char *const *search_dirs; /* NULL-ended; see core_file_open */
};

/* Files are looked for in each folder of `search_dirs` (NULL, or NULL-ended; borrowed), by their whole path and by
 * their name, then where the process had them. */
int core_file_open(struct core_file *core, const char *path, const char *const *search_dirs, struct err *err);
/* The same on bytes, which are borrowed. */
int core_file_init(struct core_file *core, const void *data, size_t size, const char *const *search_dirs,
                   struct err *err);
void core_file_close(struct core_file *core);

/* The first file with code that was mapped and is not to be found as it was; NULL = none was missed. */
const char *core_file_missing(const struct core_file *core);

#endif
