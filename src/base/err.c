#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int err_set_list(struct err *err, const char *format, va_list args)
{
    if (err && !err->text[0])
        vsnprintf(err->text, sizeof err->text, format, args);
    return -1;
}

int err_set(struct err *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err_set_list(err, format, args);
    va_end(args);
    return -1;
}

int err_set_errno(struct err *err, const char *format, ...)
{
    int code = errno;
    if (!err || err->text[0])
        return -1;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    size_t used = strlen(err->text);
    snprintf(err->text + used, sizeof err->text - used, ": %s", strerror(code));
    return -1;
}
