#include "cli/damage_note.h"

#include <stdio.h>

#include "base/err.h"
#include "cli/message.h"
#include "store/recording.h"

/* NULL when nothing is missing. */
static const char *words_for(const struct recording *recording)
{
    const struct damage *damage = &recording->damage;
    if (damage->damaged_chunks || damage->orphaned_chunks)
        return damage->truncated ? "is damaged and cut off" : "is damaged";
    if (damage->truncated)
        return "is cut off";
    return recording->chunks_count && !damage->complete ? "was not closed" : NULL;
}

int damage_note_add(struct recording *recording, const char *name, struct err *err)
{
    const char *words = words_for(recording);
    char text[512];
    if (!words)
        return 0;
    snprintf(text, sizeof text, "%.400s %s: only what is whole is here", name, words);
    message_warn("%s", text);
    /* Nobody knows how much was lost: it is not counted. */
    struct note note = {.kind = NOTE_LOSS, .text = strings_intern_text(&recording->strings, text)};
    bool noted = note.text != UINT32_MAX && recording_add_note(recording, &note) != UINT32_MAX;
    return noted ? 0 : err_set(err, "out of memory");
}
