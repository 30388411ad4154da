#include "cli/mem_lines.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/closing.h"
#include "cli/line_targets_option.h"
#include "cli/message.h"
#include "cli/run.h"
#include "show/memory_lines_text.h"
#include "store/recording.h"

#define MEMORY_BYTES ((int64_t)256 << 20)
#define STOP_MAX_MB  1e12

struct closing_lines {
    const struct mem_lines *lines;
    const struct part *part;
};

static int check(const struct mem_lines *lines, const struct target_request *target, struct err *err)
{
    if (target->pid)
        return err_set(err, "lines are measured from a program's beginning on: --lines cannot go with -p");
    if (!(lines->stop_at_mb >= 0 && lines->stop_at_mb <= STOP_MAX_MB))
        return err_set(err, "--pdb-at must be a number of MiB above 0");
    if (line_targets_option_check(&lines->functions, err) < 0)
        return -1;
    return memory_lines_text_check_precision(lines->precision, err);
}

static void put_settings(const struct mem_lines *lines, struct bytes *out)
{
    bytes_putf(out,
               "lines=1\nline_memory=1\nheap=1\nheap_totals=1\nheap_python=1\nper_thread=%d\n"
               "memory_bytes=%" PRId64 "\n",
               lines->threads, MEMORY_BYTES);
    if (lines->stop_at_mb > 0)
        bytes_putf(out, "stop_at_bytes=%" PRIu64 "\n", (uint64_t)(lines->stop_at_mb * (1 << 20)));
    line_targets_option_put_settings(&lines->functions, out);
    bytes_put_u8(out, 0);
}

static void tell(const struct run *run, const struct recording *recording, const void *values)
{
    (void)values;
    uint64_t hits = 0;
    for (uint32_t i = 0; i < recording->line_memory_count; i++)
        hits += recording->line_memory[i].hits;
    message_hint("memory of %" PRIu64 " line hits in %.3f s: %s", hits, (double)run->elapsed_ns / 1e9,
                 run->path);
}

static int close_lines(const struct run *run, const void *raw)
{
    const struct closing_lines *closing = raw;
    if (!run->counted)
        part_options_tell_empty(closing->part);
    const struct report_options report = {
        .precision = closing->lines->precision ? closing->lines->precision : -1,
        .no_findings = true,
    };
    return closing_tell_run(run, tell, raw, closing->lines->view, report);
}

int mem_lines_run(const struct mem_lines *lines, const struct run_request *request,
                  const struct target_request *target)
{
    const struct closing_lines closing = {lines, &request->part};
    struct err err = {0};
    struct bytes settings = {0}, targets = {0};
    if (check(lines, target, &err) < 0)
        return message_fail(&err);
    put_settings(lines, &settings);
    line_targets_option_put_words(&lines->functions, &targets);
    const struct run_options run = {
        .mode = "line-memory",
        .request = request,
        .target = *target,
        .settings = (char *)settings.data,
        .line_targets = (char *)targets.data,
        .line_functions = &lines->functions,
        .heap = true,
    };
    int code = run_command(&run, close_lines, &closing);
    bytes_clear(&settings);
    bytes_clear(&targets);
    return code;
}
