#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/options.h"

#define QUIET_NS 1000000000u /* short programs are done before anybody asks */

static bool shown, terminal_is_shared;

bool progress_is_wanted(void)
{
    return !options_common.quiet && !terminal_is_shared && isatty(STDERR_FILENO);
}

void progress_share(bool shared)
{
    terminal_is_shared = shared;
}

/* The cursor goes back to the start of the line, so that whatever comes next writes over it. */
void progress_show(uint64_t elapsed_ns, uint64_t samples, uint64_t errors)
{
    if (elapsed_ns < QUIET_NS)
        return;
    fprintf(stderr, "\r\033[Ksonde: %.1f s, %" PRIu64 " samples, %" PRIu64 " errors; Ctrl-C ends it\r",
            (double)elapsed_ns / 1e9, samples, errors);
    fflush(stderr);
    shown = true;
}

void progress_show_part(const char *what, uint64_t done, uint64_t all)
{
    fprintf(stderr, "\r\033[Ksonde: %s: %" PRIu64 " of %" PRIu64 "\r", what, done, all);
    fflush(stderr);
    shown = true;
}

void progress_wipe(void)
{
    if (!shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    shown = false;
}
