/*
 * dot_writer: a call graph, or two compared, as text in graphviz's dot language.
 *
 * Nodes are numbered, hottest first. A node's label is its name, the chosen measures and the calls; an edge's
 * is its share of the time and its calls. The calls that close a recursive cycle are dashed.
 */
#ifndef SONDE_EXPORT_DOT_WRITER_H
#define SONDE_EXPORT_DOT_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes;
struct callgraph;
struct err;
struct heat_theme;

enum dot_writer_measure {
    DOT_WRITER_SELF_TIME,
    DOT_WRITER_SELF_SHARE,
    DOT_WRITER_TOTAL_TIME,
    DOT_WRITER_TOTAL_SHARE,
};

struct dot_writer_style {
    const struct heat_theme *theme;
    double skew;             /* 1 = none */
    const char *time_format; /* for printf with one double: seconds; checked by dot_writer_check_format */
    const enum dot_writer_measure *measures;
    size_t measure_count;
    bool wrap, strip;
    size_t name_length; /* longer names are cut; 0 = only where graphviz could not read them */
    const char *title;  /* NULL = none; lines separated by '\n' */
    /* For a comparison. Differences are in percent of the run, below the tolerance they are none. */
    double tolerance;
    bool only_slower, only_faster;
    bool color_by_difference;
};

/* A printf format is safe when it has exactly one conversion, for a double. */
int dot_writer_check_format(const char *format, struct err *err);

/* `after` NULL = no comparison. */
int dot_writer_write(const struct callgraph *before, const struct callgraph *after,
                     const struct dot_writer_style *style, struct bytes *out, struct err *err);

#endif
