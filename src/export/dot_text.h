/*
 * dot_text: names and labels for the dot language, whatever bytes they hold.
 *
 * Control characters become visible (\n, \x07), wrong UTF-8 becomes U+FFFD, and what is longer than graphviz
 * can read (its lexer stops at 16,384 bytes for one string) is cut with an ellipsis.
 */
#ifndef SONDE_EXPORT_DOT_TEXT_H
#define SONDE_EXPORT_DOT_TEXT_H

#include <stddef.h>

struct bytes;

#define DOT_TEXT_NAME_MAX 4096 /* characters */

/* Appends the text, safe to show and cut, but not yet quoted: a line break put after it stays one. */
void dot_text_put_visible(struct bytes *out, const char *text, size_t max_characters);

/* Appends C++ parameters, template arguments and a trailing const taken away. */
void dot_text_put_stripped(struct bytes *out, const char *name);

/* Appends the name with line breaks after about 32 characters, at separators. */
void dot_text_put_wrapped(struct bytes *out, const char *name);

/* Appends `"text"`, escaped. Line breaks in it are centred lines. */
void dot_text_put_quoted(struct bytes *out, const char *text, size_t size);

#endif
