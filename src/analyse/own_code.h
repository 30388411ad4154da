/*
 * own_code: which code is the user's own, and which lies in a library: in a file of the standard library or of
 * site-packages, or in a frozen module.
 */
#ifndef SONDE_ANALYSE_OWN_CODE_H
#define SONDE_ANALYSE_OWN_CODE_H

#include <stdbool.h>

struct code;
struct recording;

/* Whether the code lies in a library, by its flag or by its path (the sampler does not ask where a file lies). */
bool own_code_is_library(const struct recording *recording, const struct code *code);

#endif
