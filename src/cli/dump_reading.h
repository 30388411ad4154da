/*
 * dump_reading: what the parts of the dump's reader (dump_stack, dump_thread) share while one process or core file is
 * read. dump_reader makes it and owns it; the image, the options and the dump are borrowed.
 */
#ifndef SONDE_CLI_DUMP_READING_H
#define SONDE_CLI_DUMP_READING_H

#include "cli/dump_native.h"
#include "cli/dump_reader.h"
#include "cli/dump_roll.h"
#include "cli/dump_tasks.h"
#include "python/locals.h"
#include "python/thread_names.h"

enum { DUMP_READING_FRAMES = 1 << 12, DUMP_READING_VARIABLES = 256, DUMP_READING_LINES_BYTES = 1 << 20 };

struct dump_reading {
    struct dump *dump;
    const struct dump_reader_options *options;
    const struct target_image *image;
    struct target_python python;
    struct code_cache codes;
    struct walk_process walk;
    struct thread_names names;
    struct dump_roll roll;
    struct dump_native native;
    /* of the thread at hand */
    struct dump_tasks tasks;
    bool native_taken;
    enum dump_state state_now; /* when it stood still */
    struct walk_frame frames[DUMP_READING_FRAMES];
    struct locals_row variables[DUMP_READING_VARIABLES];
    uint8_t lines[DUMP_READING_LINES_BYTES];
};

#endif
