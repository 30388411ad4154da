/*
 * writing: one value being written: the text so far, the containers around, and the reads that are left.
 *
 * Shared by values and the files that write one family of types each. All text goes through `text`, all reads
 * through `memory`, which counts them: both bound whatever the memory of the target holds.
 */
#ifndef SONDE_PYTHON_WRITING_H
#define SONDE_PYTHON_WRITING_H

#include "python/value_text.h"
#include "python/values.h"

enum { WRITING_MOST_DEPTH = 6, WRITING_MOST_NESTING = 24, WRITING_NAME_BYTES = 192 };

/* Flags of a type (Include/object.h). */
enum { WRITING_HEAP_TYPE = 1 << 9, WRITING_OF_INT = 1 << 24, WRITING_OF_LIST = 1 << 25 };
enum { WRITING_OF_TUPLE = 1 << 26, WRITING_OF_BYTES = 1 << 27, WRITING_OF_TEXT = 1 << 28 };
enum { WRITING_OF_DICT = 1 << 29, WRITING_OF_EXCEPTION = 1 << 30 };
#define WRITING_OF_TYPE ((uint64_t)1 << 31)

struct writing {
    const struct values *values;
    const struct layout *layout;
    struct memory memory; /* of the values, counted */
    unsigned reads_left;
    struct value_text text;
    unsigned nesting; /* of values in values of any kind */
    unsigned depth;   /* of containers */
    unsigned most_depth;
    unsigned most_items;
    size_t item_bytes;                 /* the most for one item of a container */
    uint64_t path[WRITING_MOST_DEPTH]; /* the containers that this value lies in */
    bool within_instance;              /* its attributes are being written: no others in them */
};

struct writing_type {
    uint64_t address;
    uint64_t flags;
    char name[WRITING_NAME_BYTES]; /* as tp_name says: a class statement's without its module */
};

/* Writes the value of one type. */
typedef void writing_function(struct writing *w, uint64_t object);
struct writing_row {
    const char *name; /* of the type; NULL ends the table */
    writing_function *put;
};

/* In value_builtins.c and value_objects.c: types by their names, for those that are no class statement's. */
extern const struct writing_row value_builtins_table[];
extern const struct writing_row value_objects_table[];
extern writing_function value_builtins_put_int, value_builtins_put_text, value_builtins_put_bytes;
extern writing_function value_builtins_put_list, value_builtins_put_tuple, value_builtins_put_dict;

/* Any object; in values.c. */
writing_function values_put_object;

bool writing_read_word(struct writing *w, uint64_t address, uint64_t *out);
bool writing_read_type_at(struct writing *w, uint64_t address, struct writing_type *type);
bool writing_read_type(struct writing *w, uint64_t object, struct writing_type *type);
/* A C string, as much of it as fits. */
bool writing_read_string(struct writing *w, uint64_t address, char *out, size_t capacity);

void writing_put(struct writing *w, const char *words);
void writing_put_unreadable(struct writing *w, uint64_t address);
/* A str as it is, without quotes; the second: the one that the word at the address points to. */
void writing_put_name(struct writing *w, uint64_t text);
void writing_put_name_at(struct writing *w, uint64_t address);
/* An item, in its share of the text; what it leaves off does not end what it lies in. */
void writing_put_item(struct writing *w, uint64_t object);
/* The objects that `count` words point to, with commas between. */
void writing_put_items(struct writing *w, uint64_t words, uint64_t count);

/* Enters a container; false, with `shortly` written, where it lies in itself or too deep. */
bool writing_enter(struct writing *w, uint64_t object, const char *shortly);
void writing_leave(struct writing *w);
/* Before the item number `index`; false where no more shall be shown. */
bool writing_separate(struct writing *w, uint64_t index);

#endif
