/*
 * restrict: pstats' restrictions, applied to a table in the order given.
 *
 * A whole number keeps that many rows, a number with a point that fraction of the rows left so far, anything
 * else is a regular expression searched in the standard name ("file:line(function)"). Expressions are POSIX
 * extended ones, with \d \w \s \b as in Python.
 */
#ifndef SONDE_ANALYSE_RESTRICT_H
#define SONDE_ANALYSE_RESTRICT_H

#include <regex.h>
#include <stddef.h>

struct ranking;
struct err;

int restrict_apply(struct ranking *ranking, const char *const *restrictions, size_t count, struct err *err);

/* Compiles one expression; regfree it. */
int restrict_compile(regex_t *regex, const char *pattern, struct err *err);

#endif
