#include "import/collapsed_reader.h"

#include <ctype.h>
#include <string.h>

#include "base/err.h"
#include "import/stacks.h"
#include "store/recording.h"

#define PERIOD_NS      1000000
#define COUNT_MAX      ((uint64_t)1 << 53) /* what other tools can hold; more is damage */
#define LINES_SNIFFED  4
#define BINARY_SNIFFED 4096

struct loading {
    struct stacks stacks;
    uint64_t now_ns;
};

static struct stacks_text next_line(const char **at, const char *end)
{
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    struct stacks_text line = {*at, (size_t)((stop ? stop : end) - *at)};
    *at = stop ? stop + 1 : end;
    while (line.size && isspace((unsigned char)line.at[line.size - 1]))
        line.size--;
    return line;
}

static bool all_digits(const char *at, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!isdigit((unsigned char)at[i]))
            return false;
    return size > 0;
}

static uint64_t number(const char *at, size_t size, uint64_t max)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        value = value * 10 + (uint64_t)(at[i] - '0');
        if (value > max)
            return max + 1;
    }
    return value;
}

/* Splits "stack COUNT". False when it is not that. */
static bool split_line(struct stacks_text line, struct stacks_text *stack, uint64_t *count)
{
    const char *blank = line.size ? memrchr(line.at, ' ', line.size) : NULL;
    if (!blank || blank == line.at)
        return false;
    size_t digits = line.size - (size_t)(blank + 1 - line.at);
    if (!all_digits(blank + 1, digits))
        return false;
    *count = number(blank + 1, digits, COUNT_MAX);
    *stack = (struct stacks_text){line.at, (size_t)(blank - line.at)};
    return *count <= COUNT_MAX;
}

bool collapsed_reader_recognises(const void *data, size_t size)
{
    const char *at = data, *end = at + size;
    bool stacked = false;
    if (memchr(data, '\0', size < BINARY_SNIFFED ? size : BINARY_SNIFFED))
        return false;
    for (int i = 0; i < LINES_SNIFFED && at < end; i++) {
        struct stacks_text line = next_line(&at, end), stack;
        uint64_t count;
        if (line.size && !split_line(line, &stack, &count))
            return false;
        stacked |= line.size && memchr(line.at, ';', line.size);
    }
    return stacked; /* without a single stack it could be any table */
}

/* ---- frames ---- */

/* Takes " (file:line)" or " (file)" off the end of a frame's text. */
static struct stacks_text split_place(struct stacks_text *text, uint32_t *line)
{
    struct stacks_text none = {text->at, 0};
    *line = 0;
    if (text->size < 5 || text->at[text->size - 1] != ')')
        return none;
    const char *open = text->at + text->size - 1;
    while (open > text->at + 1 && !(open[0] == '(' && open[-1] == ' '))
        open--;
    struct stacks_text file = {open + 1, (size_t)(text->at + text->size - 1 - (open + 1))};
    if (open == text->at + 1 || !file.size)
        return none;
    const char *colon = memrchr(file.at, ':', file.size);
    size_t digits = colon ? file.size - (size_t)(colon + 1 - file.at) : 0;
    bool placed =
        digits && all_digits(colon + 1, digits) && number(colon + 1, digits, INT32_MAX) <= INT32_MAX;
    if (placed) {
        *line = (uint32_t)number(colon + 1, digits, INT32_MAX);
        file.size = (size_t)(colon - file.at);
    } else if (!memchr(file.at, '.', file.size) && !memchr(file.at, '/', file.size)) {
        return none; /* "thread (4711)" is a name */
    }
    text->size = (size_t)(open - 1 - text->at);
    return file;
}

static int add_stack(struct loading *loading, struct stacks_text stack, uint64_t count)
{
    const char *at = stack.at, *end = stack.at + stack.size;
    uint32_t node = 0, line;
    while (at <= end) {
        const char *stop = memchr(at, ';', (size_t)(end - at));
        struct stacks_text frame = {at, (size_t)((stop ? stop : end) - at)};
        at = (stop ? stop : end) + 1;
        if (!frame.size)
            continue;
        struct stacks_text file = split_place(&frame, &line);
        uint32_t site = stacks_site(&loading->stacks, frame, file, line);
        node = stacks_node(&loading->stacks, node, site);
    }
    struct sample_row row = {.time_ns = loading->now_ns,
                             .weight_ns = count * PERIOD_NS,
                             .thread = 1,
                             .node = node,
                             .count = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count,
                             .state = SAMPLE_RUNNING};
    loading->now_ns += row.weight_ns;
    if (count && recording_add_sample(loading->stacks.recording, &row) == UINT32_MAX)
        return -1;
    return loading->stacks.failed ? -1 : 0;
}

static int load(struct loading *loading, const char *data, size_t size, const char *name, struct err *err)
{
    const char *at = data, *end = data + size;
    for (unsigned long line_number = 1; at < end; line_number++) {
        struct stacks_text line = next_line(&at, end), stack;
        uint64_t count;
        if (!line.size)
            continue;
        if (!split_line(line, &stack, &count))
            return err_set(err,
                           "%s, line %lu: not a stack with a count; collapsed stacks are \"frame;frame 12\"",
                           name, line_number);
        if (add_stack(loading, stack, count) < 0)
            return err_set(err, "out of memory while reading %s", name);
    }
    return 0;
}

int collapsed_reader_read(const void *data, size_t size, const char *name, struct recording *recording,
                          struct err *err)
{
    struct loading loading = {.stacks = {.recording = recording}};
    struct process process = {.rank = UINT32_MAX, .exit_code = INT32_MIN};
    if (recording_init(recording, err) < 0)
        return -1;
    if (!recording_add_process(recording, &process) ||
        !recording_add_thread(recording, &(struct thread){.process = 1}) ||
        recording_set_meta(recording, "mode", "collapsed stacks") < 0)
        return err_set(err, "out of memory while reading %s", name);
    int result = load(&loading, data, size, name, err);
    stacks_clear(&loading.stacks);
    return result;
}
