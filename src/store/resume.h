/* resume: a writer that goes on with a file which is there already knows what is in it. */
#ifndef SONDE_STORE_RESUME_H
#define SONDE_STORE_RESUME_H

#include <stdbool.h>

struct recording;
struct writer;

/* What was defined before, without writing it again. False when memory ran out. */
bool resume_definitions(struct writer *writer, const struct recording *from);
/* The index that will stand at the new end lists the old chunks too. */
void resume_index(struct writer *writer, const struct recording *from);

#endif
