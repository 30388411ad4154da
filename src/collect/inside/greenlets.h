/*
 * greenlets: stacks that change without a call or a return. Once the greenlet package has been imported, every
 * event is checked against the interpreter's own frames, and the current node is found anew when they differ.
 * That is slow, and only programs that use greenlets pay for it.
 */
#ifndef SONDE_COLLECT_INSIDE_GREENLETS_H
#define SONDE_COLLECT_INSIDE_GREENLETS_H

#include "collect/inside/tracer.h"

/* Looks at the file of a function met for the first time. */
void greenlets_notice(const char *file);

/* Makes the current node agree with the frames; without the topmost one, if that is just starting or ending. */
void greenlets_resynchronise(struct context *context, bool without_top, uint64_t now);

#endif
