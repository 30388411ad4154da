/*
 * labels: what a function, its file and its module are called in tables and sentences.
 *
 * Each function appends to `out`; nothing is kept.
 */
#ifndef SONDE_ANALYSE_LABELS_H
#define SONDE_ANALYSE_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes;
struct code;
struct recording;

enum label_paths {
    LABEL_SHORT, /* from the package on; else the last two parts of the path */
    LABEL_BASE,  /* the file's name alone, as pstats' strip_dirs */
    LABEL_FULL,
};

/* The part of the path to show; points into `path`. */
const char *labels_path(const char *path, enum label_paths style);
/* "/usr/lib/python3.11/json/x.py" → "json/x.py"; NULL for files that lie elsewhere. */
const char *labels_library_path(const char *path);
/* The qualified name, without "<locals>" steps; for C functions what pstats prints: {built-in method x}. */
void labels_name(const struct recording *recording, uint32_t code, struct bytes *out);
/* pstats' "file:line(name)"; for C functions the name alone. */
void labels_standard(const struct recording *recording, uint32_t code, enum label_paths style,
                     struct bytes *out);
/* For sentences: "JSONDecoder.decode (json/decoder.py:332)", "time.sleep (C)". */
void labels_words(const struct recording *recording, uint32_t code, struct bytes *out);
/* The same of a node: with the line that it was in, where that is known, for the function's first. */
void labels_place(const struct recording *recording, uint32_t node, struct bytes *out);
/* A C function's "{method 'read' of 'x.Y' objects}" as "{x.Y.read}", for narrow lines. */
void labels_compact(const char *label, struct bytes *out);
/* As labels_words without the place. */
void labels_brief(const struct recording *recording, uint32_t code, struct bytes *out);
/* Dotted module: as recorded, else told from the path or the C function's name. */
void labels_module(const struct recording *recording, uint32_t code, struct bytes *out);
bool labels_is_c(const struct code *code);
/* Of a native function the library, "" when the name says it already (libm.so.6+0x1200) or it is no native one. */
const char *labels_library(const struct recording *recording, const struct code *code);

#endif
