#include "export/frames.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/labels.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/map.h"
#include "store/recording.h"

static bool has_file(const char *file)
{
    return file[0] && strcmp(file, "~") != 0;
}

/* The line to show for a code that is at `line` (0 = not known). */
static uint32_t shown_line(const struct recording *recording, const struct frame_style *style, uint32_t code,
                           uint32_t line)
{
    if (style->no_lines)
        return 0;
    return style->function || !line ? recording->codes[code].line : line;
}

void frames_put_name(const struct recording *recording, const struct frame_style *style, uint32_t code,
                     struct bytes *out)
{
    const struct code *named = &recording->codes[code];
    if (style->exact_names)
        bytes_put_text(out, recording_text(recording, named->qualname ? named->qualname : named->name));
    else
        labels_brief(recording, code, out);
}

/* As many parts of the path as the module's name has, and one more for a package's __init__.py. */
static const char *path_of_module(const char *path, const char *module)
{
    const char *base = labels_path(path, LABEL_BASE), *at = base;
    int more = strncmp(base, "__init__.", 9) == 0;
    for (; *module; module++)
        more += *module == '.';
    while (more && at > path + 1) {
        at--;
        while (at > path && at[-1] != '/')
            at--;
        more--;
    }
    return at;
}

const char *frames_file(const struct recording *recording, const struct frame_style *style, uint32_t code)
{
    const char *path = recording_text(recording, recording->codes[code].file);
    const char *module = recording_text(recording, recording->codes[code].module);
    bool is_native = recording->codes[code].kind == CODE_NATIVE;
    if (!has_file(path))
        return labels_library(recording, &recording->codes[code]);
    if (is_native)
        return style->full_filenames ? path : labels_path(path, LABEL_BASE);
    if (style->full_filenames || path[0] != '/')
        return path;
    if (module[0] && strcmp(module, "__main__") != 0)
        return path_of_module(path, module);
    const char *inside = labels_library_path(path);
    return inside ? inside : labels_path(path, LABEL_BASE);
}

void frames_put_text(const struct recording *recording, const struct frame_style *style, uint32_t code,
                     uint32_t line, struct bytes *out)
{
    const char *file = frames_file(recording, style, code);
    uint32_t shown = shown_line(recording, style, code, line);
    frames_put_name(recording, style, code, out);
    if (file[0] && shown)
        bytes_putf(out, " (%s:%u)", file, shown);
    else if (file[0])
        bytes_putf(out, " (%s)", file);
}

void frames_clear(struct frames *frames)
{
    free(frames->rows);
    free(frames->of_node);
    free(frames->stack_of);
    *frames = (struct frames){0};
}

/* The number of the frame, made when new; MAP_NONE when memory ran out. */
static uint32_t frame_of(struct frames *frames, struct map *seen, struct frame frame)
{
    uint64_t key = map_pair(frame.code, frame.line);
    uint32_t found = map_get(seen, key);
    if (found != MAP_NONE)
        return found;
    if (!map_set(seen, key, frames->count))
        return MAP_NONE;
    frames->rows[frames->count] = frame;
    return frames->count++;
}

static uint32_t stack_of(struct frames *frames, struct map *seen, uint32_t node, uint32_t parent)
{
    uint64_t key = map_pair(frames->stack_of[parent], frames->of_node[node]);
    uint32_t found = map_get(seen, key);
    if (found != MAP_NONE)
        return found;
    return map_set(seen, key, node) ? node : MAP_NONE;
}

static int fill(const struct recording *recording, const struct frame_style *style, struct frames *frames,
                struct map *seen_frames, struct map *seen_stacks)
{
    for (uint32_t i = 1; i < recording->nodes_count; i++) {
        const struct node *node = &recording->nodes[i];
        struct frame frame = {node->code, shown_line(recording, style, node->code, node->line)};
        frames->of_node[i] = frame_of(frames, seen_frames, frame);
        if (frames->of_node[i] == MAP_NONE)
            return -1;
        frames->stack_of[i] = stack_of(frames, seen_stacks, i, node->parent);
        if (frames->stack_of[i] == MAP_NONE)
            return -1;
    }
    return 0;
}

int frames_build(const struct recording *recording, const struct frame_style *style, struct frames *frames,
                 struct err *err)
{
    size_t count = (size_t)recording->nodes_count + 1;
    struct map seen_frames = {0}, seen_stacks = {0};
    *frames = (struct frames){.rows = malloc(count * sizeof *frames->rows),
                              .of_node = calloc(count, sizeof *frames->of_node),
                              .stack_of = calloc(count, sizeof *frames->stack_of),
                              .node_count = recording->nodes_count};
    int result = frames->rows && frames->of_node && frames->stack_of
                     ? fill(recording, style, frames, &seen_frames, &seen_stacks)
                     : -1;
    map_clear(&seen_frames);
    map_clear(&seen_stacks);
    if (result == 0)
        return 0;
    frames_clear(frames);
    return err_set(err, "not enough memory for the frames of %u stacks", recording->nodes_count);
}
