/*
 * err: what went wrong, in words for the user.
 *
 * A function that can fail returns 0 or -1 and takes `struct err *err` last. The first failure is kept: a
 * later err_set on the same struct changes nothing, so cleaning up cannot hide the cause. `err` may be NULL
 * where the caller does not want the words. A message says what failed, on what, and what to try.
 */
#ifndef SONDE_BASE_ERR_H
#define SONDE_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>

struct err {
    char text[1024]; /* "" = no failure */
};

/* Remembers the message; always returns -1, so that `return err_set(err, ...)` reads well. */
int err_set(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
int err_set_list(struct err *err, const char *format, va_list args);

/* As err_set, and appends ": " and the text of the current errno. */
int err_set_errno(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline bool err_is_set(const struct err *err)
{
    return err && err->text[0];
}

#endif
