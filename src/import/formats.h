/*
 * formats: the table of what sonde can read, recognised by content, never by name. One row and one file for
 * each foreign format; the .sonde reader is the first row. Bytes in, recording out; no files, no globals.
 */
#ifndef SONDE_IMPORT_FORMATS_H
#define SONDE_IMPORT_FORMATS_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct recording;

struct format {
    const char *name;  /* "sonde", "pstats" */
    const char *words; /* "a sonde recording", "a cProfile file" */
    bool (*recognises)(const void *data, size_t size);
    /* `name` is for messages; `recording` is empty. */
    int (*read)(const void *data, size_t size, const char *name, struct recording *recording,
                struct err *err);
    bool listed; /* a folder is searched for it; other formats must be named */
};

/* NULL-name-ended. */
extern const struct format formats[];

/* The format of the bytes, or NULL. */
const struct format *formats_find(const void *data, size_t size);

/* Recognises and reads; an unknown format is an error that names the file and lists what can be read. */
int formats_read(const void *data, size_t size, const char *name, struct recording *recording,
                 struct err *err);

#endif
