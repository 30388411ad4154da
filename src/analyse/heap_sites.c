#include "analyse/heap_sites.h"

#include <stdlib.h>

#include "analyse/labels.h"
#include "analyse/own_code.h"
#include "analyse/weights.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/map.h"
#include "base/sort.h"
#include "store/recording.h"

/* How well a frame tells where memory goes. */
enum tells { TELLS_NOTHING, TELLS_PYTHON, TELLS_OWN };

struct summing {
    const struct recording *recording;
    struct heap_sites *sites;
    uint32_t *teller;  /* by node: the node of its stack that tells best */
    uint8_t *tells;    /* by node: how well that one does */
    struct map places; /* (code, line) → row */
    uint32_t capacity;
    enum measure measure;
    bool failed;
};

static enum tells tells(const struct recording *recording, const struct code *code)
{
    if (code->kind != CODE_PYTHON)
        return TELLS_NOTHING;
    return own_code_is_library(recording, code) ? TELLS_PYTHON : TELLS_OWN;
}

static int find_tellers(struct summing *summing)
{
    const struct recording *recording = summing->recording;
    size_t count = (size_t)recording->nodes_count + 1;
    uint8_t *of_code = calloc((size_t)recording->codes_count + 1, sizeof *of_code);
    summing->teller = calloc(count, sizeof *summing->teller);
    summing->tells = calloc(count, sizeof *summing->tells);
    if (!summing->teller || !summing->tells || !of_code) {
        free(of_code);
        return -1;
    }
    for (uint32_t i = 1; i < recording->codes_count; i++)
        of_code[i] = tells(recording, &recording->codes[i]);
    for (uint32_t i = 1; i < recording->nodes_count; i++) {
        const struct node *node = &recording->nodes[i];
        uint8_t own = of_code[node->code], above = summing->tells[node->parent];
        summing->teller[i] = own >= above ? i : summing->teller[node->parent];
        summing->tells[i] = own >= above ? own : above;
    }
    free(of_code);
    return 0;
}

static bool grow(struct summing *summing)
{
    uint32_t capacity = summing->capacity * 2 + 64;
    struct heap_site *rows = realloc(summing->sites->rows, capacity * sizeof *rows);
    if (!rows)
        return false;
    summing->sites->rows = rows;
    summing->capacity = capacity;
    return true;
}

/* NULL when memory ran out. */
static struct heap_site *site_of(struct summing *summing, uint32_t at)
{
    const struct node *node = &summing->recording->nodes[summing->teller[at]];
    uint64_t key = map_pair(node->code, node->line);
    uint32_t place = map_get(&summing->places, key);
    if (place != MAP_NONE)
        return &summing->sites->rows[place];
    place = summing->sites->count;
    if ((place == summing->capacity && !grow(summing)) || !map_set(&summing->places, key, place))
        return NULL;
    summing->sites->rows[place] = (struct heap_site){.code = node->code, .line = node->line};
    summing->sites->count++;
    return &summing->sites->rows[place];
}

static void add_weight(const struct weight *weight, void *context)
{
    struct summing *summing = context;
    struct heap_site *site = weight->node ? site_of(summing, weight->node) : NULL;
    summing->failed |= weight->node && !site;
    if (!site)
        return;
    site->of[summing->measure].bytes += weight->amount;
    site->of[summing->measure].count += weight->samples;
}

static int sum(struct summing *summing, const struct selection *selection, struct err *err)
{
    struct selection chosen = selection ? *selection : (struct selection){0};
    for (enum measure measure = MEASURE_PEAK; measure <= MEASURE_TEMPORARY; measure++) {
        summing->measure = chosen.measure = measure;
        if (weights_each(summing->recording, &chosen, add_weight, summing, err) < 0)
            return -1;
    }
    return summing->failed ? -1 : 0;
}

int heap_sites_build(const struct recording *recording, const struct selection *selection,
                     struct heap_sites *sites, struct err *err)
{
    *sites = (struct heap_sites){0};
    struct summing summing = {.recording = recording, .sites = sites};
    int result = find_tellers(&summing) == 0 ? sum(&summing, selection, err) : -1;
    free(summing.teller);
    free(summing.tells);
    map_clear(&summing.places);
    if (result == 0)
        return 0;
    heap_sites_clear(sites);
    return err_set(err, "not enough memory to tell where memory was allocated");
}

void heap_sites_clear(struct heap_sites *sites)
{
    free(sites->rows);
    *sites = (struct heap_sites){0};
}

static uint64_t amount_of(const struct heap_site *site, enum measure measure)
{
    return measure >= MEASURE_PEAK_COUNT ? site->of[measure - MEASURE_PEAK_COUNT + MEASURE_PEAK].count
                                         : site->of[measure].bytes;
}

static int compare(const void *left, const void *right, void *context)
{
    const enum measure *measure = context;
    uint64_t a = amount_of(left, *measure), b = amount_of(right, *measure);
    return a > b ? -1 : a < b;
}

int heap_sites_sort(struct heap_sites *sites, enum measure measure, struct err *err)
{
    enum measure by = measure_is_memory(measure) ? measure : MEASURE_PEAK;
    return sort_rows(sites->rows, sites->count, sizeof *sites->rows, compare, &by, err);
}

const struct heap_site *heap_sites_most(const struct heap_sites *sites, enum measure measure)
{
    const struct heap_site *most = NULL;
    for (uint32_t i = 0; i < sites->count; i++)
        if (sites->rows[i].of[measure].bytes > (most ? most->of[measure].bytes : 0))
            most = &sites->rows[i];
    return most;
}

void heap_sites_put(const struct recording *recording, const struct heap_site *site, struct bytes *out)
{
    const struct code *code = &recording->codes[site->code];
    const char *file = labels_path(recording_text(recording, code->file), LABEL_SHORT);
    uint32_t line = site->line ? site->line : code->line;
    labels_brief(recording, site->code, out);
    if (code->kind == CODE_PYTHON)
        bytes_putf(out, recording_text(recording, code->name)[0] == '<' ? " at %s:%u" : "() at %s:%u", file,
                   line);
}
