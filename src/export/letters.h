/*
 * letters: an alphabet of our own for pictures made of pixels, drawn as strokes of a round pen, and the widths that all
 * pictures reckon with.
 *
 * The shapes were drawn for sonde and belong to it (Apache License 2.0, as all of it); they come from no font. Each is as
 * wide as the same letter in Helvetica, so that a text takes the same room in every format. There are ASCII, the
 * letters of Western European languages with their accents, and a few signs; every other character is a box.
 */
#ifndef SONDE_EXPORT_LETTERS_H
#define SONDE_EXPORT_LETTERS_H

#include <stdint.h>

#define LETTERS_EM   1000 /* units in the size of the font; letters stand on 0, capitals reach 718 */
#define LETTERS_PEN  84   /* the width of the strokes; bold ones have LETTERS_BOLD */
#define LETTERS_BOLD 116

#define LETTERS_POINTS_MAX 160 /* of one stroke */

/* The next character of a text that is UTF-8, as a sheet's are, and not at its end. */
uint32_t letters_next(const char **text);
double letters_advance(uint32_t character);
double letters_width(const char *text, double size);

struct sheet_point;
typedef void letters_stroke(void *context, const struct sheet_point *points, uint32_t count);
/* Calls `stroke` for each stroke of the letter; y grows upwards. */
void letters_draw(uint32_t character, letters_stroke *stroke, void *context);

#endif
