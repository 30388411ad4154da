#include "cli/message.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/options.h"

#define RED    "\033[31;1m"
#define YELLOW "\033[33;1m"
#define DIM    "\033[2m"
#define PLAIN  "\033[0m"

bool message_has_color(FILE *stream)
{
    const char *when = options_common.color ? options_common.color : "auto";
    if (strcmp(when, "auto") != 0)
        return strcmp(when, "always") == 0;
    const char *forbidden = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(fileno(stream)) && !(forbidden && *forbidden) && terminal && strcmp(terminal, "dumb") != 0;
}

unsigned message_columns(FILE *stream)
{
    struct winsize size;
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    long value = columns ? strtol(columns, NULL, 10) : 0;
    return value > 0 && value < 10000 ? (unsigned)value : 80;
}

/* Results printed so far come first when both streams go to one place. A line is one write: several ranks speak into the
 * same pipe. */
static void say(const char *color, const char *label, const char *format, va_list args)
{
    fflush(stdout);
    bool colored = message_has_color(stderr);
    char *text;
    if (vasprintf(&text, format, args) < 0)
        return;
    fprintf(stderr, "sonde: %s%s%s%s\n", colored ? color : "", label, colored ? PLAIN : "", text);
    free(text);
}

static void say_failure(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(RED, "error: ", format, args);
    va_end(args);
}

int message_fail(const struct err *err)
{
    say_failure("%s", err->text[0] ? err->text : "something failed without saying what");
    return MESSAGE_EXIT_MISTAKE;
}

int message_fail_with(const struct err *err, const char *remedy, ...)
{
    message_fail(err);
    va_list args;
    va_start(args, remedy);
    say("", "", remedy, args);
    va_end(args);
    return MESSAGE_EXIT_MISTAKE;
}

void message_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(YELLOW, "warning: ", format, args);
    va_end(args);
}

void message_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!options_common.quiet)
        say("", "", format, args);
    va_end(args);
}

void message_hint(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!options_common.quiet && isatty(STDERR_FILENO))
        say(DIM, "hint: ", format, args);
    va_end(args);
}

void message_detail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (options_common.verbose)
        say(DIM, "", format, args);
    va_end(args);
}
