/*
 * values: objects of a CPython read from its memory and written as its repr would write them, without running
 * anything in it.
 *
 * Numbers, text, bytes, containers, functions, modules, classes and exceptions come out as repr gives them;
 * other instances as `<module.Class object at 0x…>`, in detail with their attributes. Bounded in bytes, items,
 * depth and reads, so that any memory, cyclic or hostile, comes to an end; what was left off is shown as
 * "...". Nothing is allocated.
 */
#ifndef SONDE_PYTHON_VALUES_H
#define SONDE_PYTHON_VALUES_H

#include "python/layouts.h"

/* Borrows the layout. */
struct values {
    const struct layout *layout;
    struct memory memory;
    uint64_t code_type; /* address of PyCode_Type */
    bool detailed;      /* longer, and with the attributes of instances */
};

/* As many bytes as any value takes; one in detail or not. */
enum { VALUES_DETAILED_BYTES = 4096, VALUES_BRIEF_BYTES = 256 };

/* Writes the object at `address`, or what a local variable's slot holds (from 3.14 on it is marked in its low
 * bits). Gives the number of bytes, no zero byte is added; `out` holds VALUES_DETAILED_BYTES. */
size_t values_put(const struct values *values, uint64_t address, char *out);

#endif
