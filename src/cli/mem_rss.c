#include "cli/mem_rss.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/series.h"
#include "base/err.h"
#include "base/quantity.h"
#include "cli/closing.h"
#include "cli/message.h"
#include "cli/run.h"
#include "collect/recorder/observed.h"
#include "store/recording.h"

#define INTERVAL_MIN_S 0.001
#define INTERVAL_MAX_S 3600.0

static int check(const struct mem_rss *values, struct err *err)
{
    if (values->pss && values->uss)
        return err_set(err, "--pss and --uss are different ways to count: give one of them");
    if (values->interval_s && !(values->interval_s >= INTERVAL_MIN_S && values->interval_s <= INTERVAL_MAX_S))
        return err_set(err, "--interval must be between %g and %g seconds", INTERVAL_MIN_S, INTERVAL_MAX_S);
    return 0;
}

static void tell(const struct run *run, const struct recording *recording, const void *values)
{
    (void)values;
    struct series_row *rows = NULL;
    struct series series;
    struct err err = {0};
    const char *memory = series_memory_name(recording);
    if (series_sum(recording, memory ? memory : "", &rows, &series, &err) < 0)
        return;
    struct series_summary summary = series_summarise(&series);
    message_note("%.3f s, %" PRIu32 " process%s, highest %s: %s", (double)run->elapsed_ns / 1e9,
                 run->processes, run->processes == 1 ? "" : "es", quantity_bytes(summary.most).text,
                 run->path);
    free(rows);
}

static int close_memory(const struct run *run, const void *values)
{
    return closing_tell_run(run, tell, values, false, (struct report_options){0});
}

int mem_rss_run(const struct mem_rss *values, const struct run_request *request,
                const struct target_request *target, uint64_t duration_ns)
{
    struct err err = {0};
    struct run_request looking = *request;
    if (check(values, &err) < 0)
        return message_fail(&err);
    const struct observed_options observe = {
        .interval_ns = (uint64_t)((values->interval_s ? values->interval_s : MEM_RSS_INTERVAL_S) * 1e9),
        .memory = values->pss   ? COUNTERS_PSS
                  : values->uss ? COUNTERS_USS
                                : COUNTERS_RSS,
        .children = values->children,
    };
    looking.embed_source = "no";
    looking.target.follow = values->children;
    const struct run_options options = {
        .mode = "mem",
        .request = &looking,
        .target = *target,
        .settings = "resident_regions=1\n",
        .observe = &observe,
        .duration_ns = duration_ns,
    };
    return run_command(&options, close_memory, values);
}
