/* damage_note: what is made of a damaged recording must not look more complete than what it was made of. */
#ifndef SONDE_CLI_DAMAGE_NOTE_H
#define SONDE_CLI_DAMAGE_NOTE_H

struct err;
struct recording;

/* Warns, and adds a note of the loss to the recording; does nothing when it is whole. `name` is for people. */
int damage_note_add(struct recording *recording, const char *name, struct err *err);

#endif
