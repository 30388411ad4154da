#include "export/flamegraph_writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/labels.h"
#include "analyse/tree.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/map.h"
#include "base/quantity.h"
#include "export/dot_text.h"
#include "export/flamegraph_page.h"
#include "export/frames.h"
#include "export/stream.h"
#include "export/xml_text.h"
#include "store/recording.h"

#define WIDTH      1200
#define MARGIN     10
#define ROW        18
#define TOP        84
#define BOTTOM     40
#define CHARACTER  7.25 /* pixels */
#define FRAMES_MAX 20000
#define DEPTH_MAX  1000
#define LABEL_MAX  400 /* characters */
#define SHARE_MIN  2e-5
#define SHADES     6

struct picture {
    const struct recording *recording;
    const struct tree *tree;
    const struct frame_style *style;
    const struct flamegraph_options *options;
    struct stream *stream;
    struct bytes label; /* of the frame being drawn, not escaped */
    uint64_t *starts;   /* by node: where it begins */
    uint64_t cutoff;    /* narrower frames are left out */
    uint32_t depth;     /* rows, the root's included */
    bool by_samples;    /* times are not known */
};

/* ---- text ---- */

/* Bytes of the first characters of `text`, which is UTF-8. */
static size_t bytes_of(const struct bytes *text, size_t characters)
{
    size_t at = 0;
    while (at < text->size && characters) {
        at++;
        while (at < text->size && (text->data[at] & 0xc0) == 0x80)
            at++;
        characters--;
    }
    return at;
}

static void put_visible(struct bytes *out, const char *text, size_t max_characters)
{
    struct bytes visible = {0};
    dot_text_put_visible(&visible, text, max_characters);
    xml_text_put(out, (const char *)visible.data, visible.size);
    out->failed |= visible.failed;
    bytes_clear(&visible);
}

/* What the frame is called, whole. */
static void make_label(struct picture *picture, uint32_t at)
{
    const struct tree_node *node = &picture->tree->nodes[at];
    struct bytes text = {0};
    bytes_reset(&picture->label);
    if (node->code)
        frames_put_text(picture->recording, picture->style, node->code, node->line, &text);
    else
        bytes_put_text(&text, "all");
    bytes_put_u8(&text, '\0');
    if (!text.failed)
        dot_text_put_visible(&picture->label, (const char *)text.data, LABEL_MAX);
    picture->label.failed |= text.failed;
    bytes_clear(&text);
}

/* ---- layout ---- */

static uint64_t value_of(const struct picture *picture, uint32_t at)
{
    const struct tree_node *node = &picture->tree->nodes[at];
    return picture->by_samples ? node->total_samples : node->total;
}

static bool is_drawn(const struct picture *picture, uint32_t at)
{
    uint64_t value = value_of(picture, at);
    return value && value >= picture->cutoff && picture->tree->nodes[at].depth < DEPTH_MAX;
}

static uint32_t count_drawn(const struct picture *picture)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < picture->tree->count; i++)
        count += is_drawn(picture, i);
    return count;
}

static void choose_cutoff(struct picture *picture)
{
    picture->cutoff = (uint64_t)((double)value_of(picture, 0) * SHARE_MIN);
    while (count_drawn(picture) > FRAMES_MAX)
        picture->cutoff += picture->cutoff / 2 + 1;
}

/* Children lie side by side from where their parent begins; parents come first. */
static int place(struct picture *picture)
{
    const struct tree *tree = picture->tree;
    picture->starts = calloc((size_t)tree->count + 1, sizeof *picture->starts);
    if (!picture->starts)
        return -1;
    for (uint32_t i = 0; i < tree->count; i++) {
        uint64_t start = picture->starts[i];
        for (uint32_t child = tree->nodes[i].first_child; child; child = tree->nodes[child].next_sibling) {
            picture->starts[child] = start;
            start += value_of(picture, child);
        }
        if (is_drawn(picture, i) && tree->nodes[i].depth >= picture->depth)
            picture->depth = tree->nodes[i].depth + 1;
    }
    return 0;
}

/* ---- frames ---- */

/* Own code is warm, libraries are cool, compiled code is green, what is no code grey. */
static char colour_of(const struct picture *picture, uint32_t id)
{
    const struct code *code = &picture->recording->codes[id];
    const char *file = recording_text(picture->recording, code->file);
    if (!id || code->kind == CODE_OTHER)
        return 'o';
    if (labels_is_c(code))
        return 'c';
    bool library = code->flags & CODE_LIBRARY || file[0] == '<' || labels_library_path(file);
    return library ? 'l' : 'p';
}

/* One shade for each function, the same in every picture. */
static unsigned shade_of(const struct picture *picture, uint32_t id)
{
    const struct code *code = &picture->recording->codes[id];
    const char *name = recording_text(picture->recording, code->name);
    return (unsigned)(map_hash_bytes(name, strlen(name)) % SHADES);
}

static void put_figures(struct picture *picture, const struct tree_node *node)
{
    struct bytes *out = &picture->stream->out;
    const struct tree_node *root = &picture->tree->nodes[0];
    double whole = picture->by_samples ? (double)root->total_samples : (double)root->total;
    double total = picture->by_samples ? (double)node->total_samples : (double)node->total;
    double own = picture->by_samples ? (double)node->samples : (double)node->self;
    bytes_putf(out, "\n%.2f%%", total / whole * 100);
    if (!picture->by_samples && measure_unit(picture->tree->measure) != MEASURE_BLOCKS)
        bytes_putf(out, ", %s", measure_quantity(picture->tree->measure, node->total).text);
    if (root->total_samples)
        bytes_putf(out, ", %s %s%s", quantity_count(node->total_samples).text,
                   measure_is_memory(picture->tree->measure) ? "block" : "sample",
                   node->total_samples == 1 ? "" : "s");
    if (node->calls)
        bytes_putf(out, ", %s call%s", quantity_count(node->calls).text, node->calls == 1 ? "" : "s");
    bytes_putf(out, "\nitself %.2f%%", own / whole * 100);
}

static double x_of(const struct picture *picture, uint64_t value)
{
    return (double)value / (double)value_of(picture, 0) * (WIDTH - 2 * MARGIN);
}

static void put_label(struct picture *picture, double width)
{
    struct bytes *out = &picture->stream->out;
    size_t room = width < 3 * CHARACTER + 8 ? 0 : (size_t)((width - 8) / CHARACTER);
    size_t shown = bytes_of(&picture->label, room);
    if (shown < picture->label.size && room)
        shown = bytes_of(&picture->label, room - 1);
    xml_text_put(out, (const char *)picture->label.data, shown);
    if (shown < picture->label.size && room)
        bytes_put_text(out, "\xe2\x80\xa6");
}

static void put_frame(const struct tree *tree, uint32_t at, void *context)
{
    struct picture *picture = context;
    const struct tree_node *node = &tree->nodes[at];
    if (!is_drawn(picture, at))
        return;
    struct bytes *out = &picture->stream->out;
    double x = MARGIN + x_of(picture, picture->starts[at]), width = x_of(picture, value_of(picture, at));
    uint32_t row = picture->options->upward ? picture->depth - 1 - node->depth : node->depth;
    unsigned y = TOP + row * ROW;
    make_label(picture, at);
    bytes_putf(out, "<g data-at=\"%" PRIu64 ",%" PRIu64 ",%u\"><title>", picture->starts[at],
               value_of(picture, at), node->depth);
    xml_text_put(out, (const char *)picture->label.data, picture->label.size);
    put_figures(picture, node);
    bytes_putf(out, "</title><rect class=\"%c%u\" x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\"/>",
               colour_of(picture, node->code), shade_of(picture, node->code), x, y,
               width > 1 ? width - 0.6 : width, ROW - 1);
    bytes_putf(out, "<text x=\"%.2f\" y=\"%u\">", x + 4, y + 13);
    put_label(picture, width);
    bytes_put_text(out, "</text></g>\n");
    stream_drain(picture->stream);
}

/* ---- around them ---- */

static void put_colours(struct bytes *out)
{
    static const struct {
        char letter;
        int hue, step, saturation, lightness;
    } families[] = {{'p', 14, 7, 92, 70}, {'l', 212, 6, 58, 76}, {'c', 128, 7, 38, 72}, {'o', 240, 0, 6, 82}};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        for (int shade = 0; shade < SHADES; shade++)
            bytes_putf(out, ".%c%d { fill: hsl(%d, %d%%, %d%%); }\n", families[i].letter, shade,
                       families[i].hue + shade * families[i].step, families[i].saturation,
                       families[i].lightness + shade % 3 * 2);
}

static void put_subtitle(struct picture *picture)
{
    struct bytes *out = &picture->stream->out;
    const struct tree_node *root = &picture->tree->nodes[0];
    const char *rate = recording_meta(picture->recording, "rate_hz");
    enum measure measure = picture->tree->measure;
    bytes_put_text(out, measure_quantity(measure, root->total).text);
    if (measure_is_memory(measure)) {
        bytes_putf(out, " %s", measure_words(measure));
        if (measure_unit(measure) == MEASURE_BYTES)
            bytes_putf(out, " in %s blocks", quantity_count(root->total_samples).text);
    } else if (root->total_samples) {
        bytes_putf(out, " in %s samples", quantity_count(root->total_samples).text);
        if (rate) {
            bytes_put_text(out, " at ");
            put_visible(out, rate, 32);
            bytes_put_text(out, " Hz");
        }
    } else {
        bytes_put_text(out, picture->tree->estimated ? " in calls; paths are estimated" : " in calls");
    }
    uint32_t drawn = count_drawn(picture);
    if (drawn < picture->tree->count)
        bytes_putf(out, "; %s frames below %.2g%% of it are left out",
                   quantity_count(picture->tree->count - drawn).text,
                   (double)picture->cutoff / (double)value_of(picture, 0) * 100);
}

static void put_head(struct picture *picture, unsigned height)
{
    struct bytes *out = &picture->stream->out;
    bytes_putf(out,
               "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
               "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" height=\"%u\" "
               "viewBox=\"0 0 %d %u\">\n<style>\n",
               WIDTH, height, WIDTH, height);
    put_colours(out);
    xml_text_put(out, flamegraph_page_css, sizeof flamegraph_page_css - 1);
    bytes_put_text(out, "</style>\n<text class=\"title\" x=\"10\" y=\"28\">");
    put_visible(out, picture->options->title ? picture->options->title : "flame graph", 100);
    bytes_put_text(out, "</text>\n<text class=\"subtitle\" x=\"10\" y=\"48\">");
    put_subtitle(picture);
    bytes_put_text(out, "</text>\n<text class=\"details\" x=\"10\" y=\"72\"> </text>\n"
                        "<g id=\"tools\" class=\"hidden\"><foreignObject width=\"250\" height=\"30\">"
                        "<input xmlns=\"http://www.w3.org/1999/xhtml\" type=\"search\" spellcheck=\"false\" "
                        "placeholder=\"Search (/), regular expression\"/></foreignObject>"
                        "<text id=\"matched\" class=\"subtitle\" x=\"0\" y=\"40\"></text>"
                        "<text id=\"reset\" class=\"button hidden\" x=\"250\" y=\"40\" text-anchor=\"end\">"
                        "Reset zoom (Esc)</text></g>\n<g id=\"frames\">\n");
}

static void put_legend(struct picture *picture, unsigned height)
{
    static const struct {
        const char *class, *words;
        int x;
    } entries[] = {{"p2", "your code", 10}, {"l2", "libraries", 110}, {"c2", "C and native code", 205}};
    struct bytes *out = &picture->stream->out;
    bytes_put_text(out, "</g>\n<g class=\"legend\">");
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        bytes_putf(out,
                   "<rect class=\"%s\" x=\"%d\" y=\"%u\" width=\"12\" height=\"12\"/>"
                   "<text x=\"%d\" y=\"%u\">%s</text>",
                   entries[i].class, entries[i].x, height - 22, entries[i].x + 18, height - 12,
                   entries[i].words);
    bytes_put_text(out, "</g>\n");
}

static void put_picture(struct picture *picture)
{
    struct bytes *out = &picture->stream->out;
    unsigned height = TOP + picture->depth * ROW + BOTTOM;
    put_head(picture, height);
    tree_walk(picture->tree, put_frame, NULL, picture);
    put_legend(picture, height);
    bytes_put_text(out, "<script><![CDATA[\n");
    bytes_put_text(out, flamegraph_page_js);
    bytes_put_text(out, "]]></script>\n</svg>\n");
}

int flamegraph_writer_write(const struct recording *recording, const struct tree *tree,
                            const struct frame_style *style, const struct flamegraph_options *options,
                            struct stream *stream, struct err *err)
{
    struct picture picture = {.recording = recording,
                              .tree = tree,
                              .style = style,
                              .options = options,
                              .stream = stream,
                              .by_samples = tree->nodes[0].total == 0};
    if (value_of(&picture, 0) == 0)
        return err_set(err, "there is nothing to draw: no %s was recorded here%s",
                       measure_is_memory(tree->measure) ? "memory of this measure" : "time",
                       recording->samples_count ? " in which a thread ran (--idle takes idle ones, too)"
                                                : "");
    choose_cutoff(&picture);
    bool failed = place(&picture) < 0;
    if (!failed)
        put_picture(&picture);
    failed |= picture.label.failed;
    free(picture.starts);
    bytes_clear(&picture.label);
    return failed ? err_set(err, "not enough memory for the flame graph") : 0;
}
