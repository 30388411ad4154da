#include "cli/closing.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/run.h"
#include "export/sources.h"
#include "store/recording.h"

static int print(const struct run *run, struct recording *recording, struct report_options *report,
                 struct err *err)
{
    if (sources_load(recording, NULL) < 0)
        return err_set(err, "not enough memory for the sources");
    report->name = run->path;
    report->terminal = (struct terminal){.width = isatty(STDOUT_FILENO) ? message_columns(stdout) : 0,
                                         .color = message_has_color(stdout)};
    return report_text_print(recording, report, stdout, err);
}

/* Remarks on the whole run were told when they were made. */
static void tell_note(const struct recording *recording, const struct note *note)
{
    const char *text = recording_text(recording, note->text);
    if (note->kind == NOTE_LOSS && note->count)
        message_warn("%" PRIu64 " %s", note->count, text);
    else if (note->kind == NOTE_LOSS || note->kind == NOTE_WARNING || note->kind == NOTE_CLOCK)
        message_warn("%s", text);
    else if (note->kind == NOTE_THROTTLED || (note->kind == NOTE_REMARK && note->process))
        message_hint("%s", text);
}

static void tell_notes(const struct recording *recording)
{
    for (uint32_t i = 0; i < recording->notes_count; i++)
        tell_note(recording, &recording->notes[i]);
}

int closing_tell_run(const struct run *run, closing_tell *tell, const void *values, bool wanted,
                     struct report_options report)
{
    struct recording recording = {0};
    struct err err = {0};
    if (!run->can_be_read)
        return 0;
    int result = input_read(run->source ? run->source : run->path, &recording, &err);
    if (result == 0) {
        tell_notes(&recording);
        tell(run, &recording, values);
        if (wanted)
            result = print(run, &recording, &report, &err);
        else
            message_hint("look at it with: sonde report %s", run->path);
    }
    recording_clear(&recording);
    return result == 0 ? 0 : message_fail(&err);
}
