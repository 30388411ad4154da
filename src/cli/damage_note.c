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

bool damage_note_tell(const struct recording *recording, const char *name, char *text, size_t size)
{
    const char *words = words_for(recording);
    if (!words)
        return false;
    snprintf(text, size, "%.400s %s: only what is whole is here", name, words);
    message_warn("%s", text);
    return true;
}

int damage_note_add(struct recording *recording, const char *name, struct err *err)
{
    char text[DAMAGE_NOTE_BYTES];
    if (!damage_note_tell(recording, name, text, sizeof text))
        return 0;
    /* Nobody knows how much was lost: it is not counted. */
    struct note note = {.kind = NOTE_LOSS, .text = strings_intern_text(&recording->strings, text)};
    bool noted = note.text != UINT32_MAX && recording_add_note(recording, &note) != UINT32_MAX;
    return noted ? 0 : err_set(err, "out of memory");
}
