/* rewrite: a whole recording through a writer (converting, merging); ids become the writer's. */
#ifndef SONDE_STORE_REWRITE_H
#define SONDE_STORE_REWRITE_H

struct err;
struct recording;
struct writer;

/* Behind what the writer has already; several recordings may follow one another. */
int rewrite_recording(struct writer *writer, const struct recording *recording, struct err *err);
/* Only what gives ids: a writer that has these is in the state of one that has the whole recording behind it. Of sources it
 * is only said that they are there. */
int rewrite_definitions(struct writer *writer, const struct recording *recording, struct err *err);

#endif
