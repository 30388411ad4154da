/*
 * toml: reads the part of TOML that settings are written in: strings, booleans, numbers and arrays of them.
 * What other tools keep in the same file (dates, inline tables, arrays of tables, multi-line strings) is
 * stepped over, not judged: only what cannot be stepped over safely is an error.
 *
 * The text is untrusted: sizes, nesting and counts are limited. Texts handed to the visitor live until it
 * returns.
 */
#ifndef SONDE_CLI_TOML_H
#define SONDE_CLI_TOML_H

#include <stddef.h>

struct err;

#define TOML_DEPTH_MAX 8         /* parts of a path; deeper items are not visited */
#define TOML_BYTES_MAX (1 << 20) /* of the file */

enum toml_kind {
    TOML_STRING,
    TOML_BOOLEAN, /* "true" or "false" */
    TOML_NUMBER,  /* as written, without underscores */
    TOML_ARRAY,   /* of strings, booleans and numbers */
    TOML_OTHER,   /* stepped over */
};

struct toml_item {
    const char *const *path; /* table and key: {"tool", "sonde", "trace", "depth"} */
    size_t depth;            /* parts of the path */
    unsigned line;
    unsigned table_line; /* of the [table] or [[table]] that it is in; 0 = none */
    enum toml_kind kind;
    const char *const *values; /* one, or an array's; none for TOML_OTHER */
    size_t count;
};

/* Returns 0 to go on, -1 with err to stop. */
typedef int toml_visit(void *context, const struct toml_item *item, struct err *err);

/* `name` is for messages: "NAME:LINE: ...". */
int toml_read(const char *text, size_t size, const char *name, toml_visit *visit, void *context,
              struct err *err);

#endif
