#include "analyse/function_order.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/functions.h"
#include "analyse/labels.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/sort.h"
#include "store/recording.h"

typedef void put_text(const struct recording *recording, uint32_t code, struct bytes *out);

static void put_file(const struct recording *recording, uint32_t code, struct bytes *out)
{
    const char *file = recording_text(recording, recording->codes[code].file);
    bytes_put_text(out, strcmp(file, "~") == 0 ? "" : file); /* pstats' name for no file */
}

/* A column is a number of the row, or a text. */
static const struct {
    const char *name;
    size_t offset;
    put_text *put;
} columns[] = {
    {"self", offsetof(struct function_row, self), NULL},
    {"total", offsetof(struct function_row, total), NULL},
    {"calls", offsetof(struct function_row, calls), NULL},
    {"primitive", offsetof(struct function_row, primitive_calls), NULL},
    {"samples", offsetof(struct function_row, samples), NULL},
    {"seen", offsetof(struct function_row, total_samples), NULL},
    {"name", 0, labels_brief},
    {"place", 0, put_file},
    {"module", 0, labels_module},
};

int function_order_find(const char *column, struct err *err)
{
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strcmp(columns[i].name, column) == 0)
            return (int)i;
    return err_set(err, "functions have no column \"%s\"", column);
}

/* What a row is compared by: the text, then the number. */
struct entry {
    size_t text; /* where it begins */
    uint64_t number;
    uint32_t code;
};

struct order {
    const char *texts; /* each ends with a zero; NULL = there are none */
    bool falling;
};

static int compare(const void *one, const void *other, void *context)
{
    const struct entry *a = one, *b = other;
    const struct order *order = context;
    int result = order->texts ? strcmp(order->texts + a->text, order->texts + b->text) : 0;
    if (result == 0)
        result = (a->number > b->number) - (a->number < b->number);
    return order->falling ? -result : result;
}

static void fill(const struct recording *recording, const struct function_row *row, int column,
                 struct entry *entry, struct bytes *texts)
{
    *entry = (struct entry){.code = row->code, .text = texts->size};
    if (columns[column].put == NULL) {
        memcpy(&entry->number, (const char *)row + columns[column].offset, sizeof entry->number);
        return;
    }
    columns[column].put(recording, row->code, texts);
    bytes_put_u8(texts, 0);
    if (columns[column].put == put_file)
        entry->number = recording->codes[row->code].line;
}

int function_order_sort(const struct recording *recording, const struct functions *functions, int column,
                        bool falling, uint32_t *codes, struct err *err)
{
    uint32_t count = functions->row_count;
    struct bytes texts = {0};
    struct entry *entries = malloc(((size_t)count + 1) * sizeof *entries);
    for (uint32_t i = 0; entries && i < count; i++)
        fill(recording, &functions->rows[i], column, &entries[i], &texts);
    struct order order = {.texts = (const char *)texts.data, .falling = falling};
    int result = !entries || texts.failed ? err_set(err, "not enough memory to sort %u functions", count)
                                          : sort_rows(entries, count, sizeof *entries, compare, &order, err);
    for (uint32_t i = 0; result == 0 && i < count; i++)
        codes[i] = entries[i].code;
    free(entries);
    bytes_clear(&texts);
    return result;
}
