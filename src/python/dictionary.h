/*
 * dictionary: the items of a dict, or of the attributes of an instance, read from memory in their order.
 *
 * Every way in which a version keeps them is known: entries with and without hashes, names shared by the
 * instances of a class with values apart, beside or within the instance. The memory may change or be
 * damaged while it is read: every read may fail, which ends the items. Nothing is allocated.
 */
#ifndef SONDE_PYTHON_DICTIONARY_H
#define SONDE_PYTHON_DICTIONARY_H

#include "python/layouts.h"

/* A place between two items; borrows the layout and the memory. A zeroed one has no items. */
struct dictionary {
    const struct layout *layout;
    const struct memory *memory;
    uint64_t entries; /* address of the first */
    uint64_t values;  /* address of the first where they lie apart; else 0 */
    uint64_t order;   /* address of the first byte that says which value comes next; 0 = as they lie */
    int order_step;   /* from one such byte to the next: 1 or -1 */
    uint32_t entry_bytes;
    uint64_t count;
    uint64_t at;
};

/* Of a dict or of an instance of a subclass of it. False where it cannot be read. */
bool dictionary_init(struct dictionary *dictionary, const struct layout *layout, const struct memory *memory,
                     uint64_t dict);
/* Of the attributes of an instance, whose type lies at `type`. False where it has none or they cannot be read. */
bool dictionary_init_attributes(struct dictionary *dictionary, const struct layout *layout,
                                const struct memory *memory, uint64_t instance, uint64_t type);
/* The next item; false at the end. */
bool dictionary_next(struct dictionary *dictionary, uint64_t *key, uint64_t *value);
/* The value of a name (ASCII, at most 63 characters); 0 = it is not there. */
uint64_t dictionary_find(struct dictionary dictionary, const char *name);

#endif
