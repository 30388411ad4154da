/*
 * dump_reader: fills in a dump from a running process or from a core file.
 *
 * A thread that sleeps is read as it is, and believed only if it slept all the while; one that runs is held for as long
 * as reading its stack takes (with its variables, if they are asked for). Nothing else in the process is touched.
 */
#ifndef SONDE_CLI_DUMP_READER_H
#define SONDE_CLI_DUMP_READER_H

#include <stdbool.h>
#include <stdint.h>

struct dump;
struct err;

struct dump_reader_options {
    bool variables;
    bool detailed;                  /* variables with the attributes of instances */
    bool native;                    /* frames of native functions, and threads without Python */
    bool internals;                 /* also the interpreter's own */
    const char *const *search_dirs; /* as for core_file_open; never NULL */
};

/* What dump_reader_process gives, with err set, for a process that is no Python. */
enum { DUMP_READER_NO_PYTHON = 1 };

int dump_reader_process(uint32_t pid, const struct dump_reader_options *options, struct dump *dump,
                        struct err *err);
int dump_reader_core(const char *path, const struct dump_reader_options *options, struct dump *dump,
                     struct err *err);

#endif
