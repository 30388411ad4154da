/* picture: dot text → a picture, by graphviz's program `dot`, fed through pipes and without a shell. */
#ifndef SONDE_CLI_PICTURE_H
#define SONDE_CLI_PICTURE_H

#include <stdbool.h>

struct bytes;
struct err;

/* Whether graphviz is asked for this format ("svg", "png", "pdf"). */
bool picture_is_format(const char *format);

/* Appends the picture. What `dot` says on standard error becomes the error, or a warning when it succeeds. */
int picture_draw(const struct bytes *dot, const char *format, struct bytes *picture, struct err *err);

#endif
