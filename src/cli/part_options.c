#include "cli/part_options.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/message.h"

/* What the program takes for a name that ends so, though passes are counted from 1. */
static bool is_zeroth(const char *text)
{
    const char *hash = strrchr(text, '#');
    return hash && hash[1] && strspn(hash + 1, "0") == strlen(hash + 1);
}

static int check_place(const char *option, const char *text, struct err *err)
{
    if (text && (!text[0] || text[0] == '#' || strchr(text, '\n') || is_zeroth(text)))
        return err_set(err, "%s must name a signpost or a region, or its Nth pass, from 1 on: NAME#N",
                       option);
    return 0;
}

int part_options_check(const struct part *part, bool from_outside, struct err *err)
{
    if (from_outside && (part->partial || part->start_at || part->stop_at))
        return err_set(err,
                       "--partial, --start-at and --stop-at need a program that is started to be recorded: "
                       "they cannot go with --pid or --rss");
    if (check_place("--start-at", part->start_at, err) < 0 ||
        check_place("--stop-at", part->stop_at, err) < 0)
        return -1;
    if (part->skip_first < 0)
        return err_set(err, "--skip-first must be a number of times, 0 or more");
    if (part->skip_first && !part->partial && !part->start_at)
        return err_set(err,
                       "--skip-first goes with --partial or --start-at, whose first times it passes over");
    return 0;
}

void part_options_put_settings(const struct part *part, struct bytes *out)
{
    bytes_putf(out, "partial=%d\nskip_first=%" PRId64 "\n", part->partial, part->skip_first);
    if (part->start_at)
        bytes_putf(out, "start_at=%s\n", part->start_at);
    if (part->stop_at)
        bytes_putf(out, "stop_at=%s\n", part->stop_at);
}

bool part_options_are_whole(const struct part *part)
{
    return !part->start_at && !part->partial;
}

void part_options_tell_empty(const struct part *part)
{
    if (part->start_at)
        message_warn("nothing was recorded: the program did not come to --start-at %s%s", part->start_at,
                     part->partial ? ", or enabled no sonde.Profiler from there on" : "");
    else if (part->partial)
        message_warn("nothing was recorded: the program enabled no sonde.Profiler, or not for long%s",
                     part->skip_first ? ", but for the first times, which --skip-first leaves out" : "");
}
