/*
 * value_text: text of a bounded size, written as Python's repr writes numbers and characters.
 *
 * Writes into the caller's bytes and never beyond `limit`; what does not fit is left off at the end of a
 * character, `cut` says so, and later puts do nothing. No zero byte is added.
 */
#ifndef SONDE_PYTHON_VALUE_TEXT_H
#define SONDE_PYTHON_VALUE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct value_text {
    char *out;
    size_t limit;
    size_t size;
    bool cut;
};

/* Whole or not at all. */
void value_text_put(struct value_text *text, const char *words);
void value_text_put_bytes(struct value_text *text, const char *bytes, size_t size);
void value_text_putf(struct value_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A character within quotes, escaped as repr does; `byte` = within b'' or bytearray(b''). */
void value_text_put_character(struct value_text *text, uint32_t character, char quote, bool byte);
/* repr of a float; `whole_dot`: "1.0", not "1". */
void value_text_put_float(struct value_text *text, double number, bool whole_dot);
void value_text_put_complex(struct value_text *text, double real, double imaginary);
/* An int of `count` digits to the base 2 to the 30, the lowest first; they are used up. False when it has more
 * digits than VALUE_TEXT_DIGITS. */
enum { VALUE_TEXT_DIGITS = 2048 };
bool value_text_put_int(struct value_text *text, uint32_t *digits, size_t count, bool negative);

#endif
