/* damage_note: what is made of a damaged recording must not look more complete than what it was made of. */
#ifndef SONDE_CLI_DAMAGE_NOTE_H
#define SONDE_CLI_DAMAGE_NOTE_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct recording;

#define DAMAGE_NOTE_BYTES 512

/* Warns, with the words of a note about it in `text`; false when the recording is whole. `name` is for people. */
bool damage_note_tell(const struct recording *recording, const char *name, char *text, size_t size);
/* The same, and adds the note to the recording. */
int damage_note_add(struct recording *recording, const char *name, struct err *err);

#endif
