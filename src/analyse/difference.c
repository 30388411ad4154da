#include "analyse/difference.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/labels.h"
#include "analyse/tree_maker.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/strings.h"
#include "store/recording.h"

struct laying {
    struct difference *difference;
    struct strings names; /* name and file → number from 1: the code of the common tree */
    uint32_t *numbers[2]; /* by side and code */
    uint32_t *places[2];  /* by side and node: in the common tree */
    struct tree_maker maker;
    bool failed;
};

static uint32_t number_of(struct laying *laying, const struct recording *recording, uint32_t code,
                          struct bytes *text)
{
    bytes_reset(text);
    labels_name(recording, code, text);
    bytes_put_u8(text, 0);
    bytes_put_text(text, recording_text(recording, recording->codes[code].file));
    uint32_t number =
        text->failed ? UINT32_MAX : strings_intern(&laying->names, (const char *)text->data, text->size);
    laying->failed |= number == UINT32_MAX;
    return laying->failed ? 0 : number;
}

static void number_codes(struct laying *laying, const struct recording *recording, int side)
{
    struct bytes text = {0};
    uint32_t *numbers = calloc((size_t)recording->codes_count + 1, sizeof *numbers);
    laying->failed |= !numbers;
    for (uint32_t code = 1; !laying->failed && code < recording->codes_count; code++)
        numbers[code] = number_of(laying, recording, code, &text);
    laying->numbers[side] = numbers;
    bytes_clear(&text);
}

static void place_nodes(struct laying *laying, const struct tree *tree, int side)
{
    uint32_t *places = calloc((size_t)tree->count + 1, sizeof *places);
    laying->failed |= !places;
    for (uint32_t i = 1; !laying->failed && i < tree->count; i++) {
        const struct tree_node *node = &tree->nodes[i];
        places[i] = tree_maker_child(&laying->maker, places[node->parent], laying->numbers[side][node->code]);
        laying->failed |= laying->maker.failed;
    }
    laying->places[side] = places;
}

static void add_to(struct difference_row *row, int side, uint32_t code, uint64_t self, uint64_t total,
                   uint64_t calls)
{
    *(side ? &row->after_code : &row->before_code) = code;
    *(side ? &row->after_self : &row->before_self) += self;
    *(side ? &row->after_total : &row->before_total) += total;
    *(side ? &row->after_calls : &row->before_calls) += calls;
}

static void add_side(struct laying *laying, const struct difference_side *given, int side)
{
    struct difference *difference = laying->difference;
    for (uint32_t i = 0; i < given->tree->count; i++) {
        const struct tree_node *node = &given->tree->nodes[i];
        add_to(&difference->nodes[laying->places[side][i]], side, node->code, node->self, node->total,
               node->calls + node->total_samples);
    }
    for (uint32_t i = 0; i < given->functions->row_count; i++) {
        const struct function_row *row = &given->functions->rows[i];
        uint32_t number = laying->numbers[side][row->code];
        if (number)
            add_to(&difference->functions[number - 1], side, row->code, row->self, row->total,
                   row->calls + row->total_samples);
    }
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Widths of the common picture: own times are the larger of both sides, totals follow from them. */
static void set_widths(struct laying *laying)
{
    struct tree *tree = &laying->maker.tree;
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct difference_row *row = &laying->difference->nodes[i];
        tree->nodes[i].self = larger(row->before_self, row->after_self);
        tree->nodes[i].calls = larger(row->before_calls, row->after_calls);
    }
}

static int lay(struct laying *laying, const struct difference_side *sides, struct err *err)
{
    struct difference *difference = laying->difference;
    tree_maker_begin(&laying->maker);
    laying->failed |= laying->maker.failed;
    for (int side = 0; side < 2 && !laying->failed; side++) {
        number_codes(laying, sides[side].recording, side);
        if (!laying->failed)
            place_nodes(laying, sides[side].tree, side);
    }
    if (!laying->failed) {
        difference->function_count = laying->names.count ? laying->names.count - 1 : 0;
        difference->nodes = calloc(laying->maker.tree.count, sizeof *difference->nodes);
        difference->functions = calloc((size_t)difference->function_count + 1, sizeof *difference->functions);
        laying->failed = !difference->nodes || !difference->functions;
    }
    for (int side = 0; side < 2 && !laying->failed; side++)
        add_side(laying, &sides[side], side);
    if (!laying->failed)
        set_widths(laying);
    laying->maker.failed |= laying->failed;
    return tree_maker_finish(&laying->maker, difference->function_count + 1, &difference->tree, err);
}

int difference_build(const struct difference_side *before, const struct difference_side *after,
                     struct difference *difference, struct err *err)
{
    *difference = (struct difference){0};
    struct laying laying = {.difference = difference};
    const struct difference_side sides[] = {*before, *after};
    int result = lay(&laying, sides, err);
    for (int side = 0; side < 2; side++) {
        free(laying.numbers[side]);
        free(laying.places[side]);
    }
    strings_clear(&laying.names);
    if (result < 0)
        difference_clear(difference);
    return result;
}

void difference_clear(struct difference *difference)
{
    tree_clear(&difference->tree);
    free(difference->nodes);
    free(difference->functions);
    *difference = (struct difference){0};
}
