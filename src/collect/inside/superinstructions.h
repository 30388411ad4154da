/*
 * superinstructions: 3.12 joins some pairs of instructions into one when code is made, takes them apart when it puts
 * events into the code, and leaves them so when the events are gone: a function that was looked at once would be slower
 * for good, by up to a fifth. Here they are joined again. Later versions have none that are taken apart.
 *
 * Which pairs there are, and what stands for them, is learnt from code that has just been made.
 */
#ifndef SONDE_COLLECT_INSIDE_SUPERINSTRUCTIONS_H
#define SONDE_COLLECT_INSIDE_SUPERINSTRUCTIONS_H

#include "collect/inside/interpreter.h"

/* Once per process, before any code has events. */
void superinstructions_learn(void);
/* Joins them again in this code, soon: when it has got rid of the event that is being told of. */
void superinstructions_restore_soon(PyObject *code);

#endif
