#include "import/tau_reader.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "import/tau_profile.h"
#include "store/recording.h"

#define WORD_BYTES 64 /* of a number */

/* A file on its way. */
struct reading {
    struct tau_profile *profile;
    const char *name; /* for messages */
    const char *at, *end;
    unsigned long line;
    struct err *err;
};

static bool is_number(char letter)
{
    return letter >= '0' && letter <= '9';
}

/* "profile." and three numbers with dots between them. */
static bool read_place(const char *name, uint32_t place[3])
{
    const char *at = strrchr(name, '/');
    at = at ? at + 1 : name;
    if (strncmp(at, "profile", 7) != 0)
        return false;
    at += 7;
    for (int i = 0; i < 3; i++) {
        if (*at++ != '.' || !is_number(*at))
            return false;
        for (place[i] = 0; is_number(*at); at++) {
            place[i] = place[i] * 10 + (uint32_t)(*at - '0');
            if (place[i] > TAU_PROFILE_PLACE_MAX)
                return false;
        }
    }
    return !*at;
}

bool tau_reader_names(const char *name)
{
    uint32_t place[3];
    return read_place(name, place);
}

static bool contains(const char *text, size_t size, const char *word)
{
    for (size_t at = 0; at + strlen(word) <= size; at++)
        if (strncasecmp(text + at, word, strlen(word)) == 0)
            return true;
    return false;
}

bool tau_reader_is_time(const char *metric, size_t size)
{
    return contains(metric, size, "TIME") || contains(metric, size, "WALL");
}

/* ---- lines and words ---- */

static bool next_line(struct reading *reading, struct tau_span *line)
{
    if (reading->at >= reading->end)
        return false;
    size_t left = (size_t)(reading->end - reading->at);
    const char *stop = memchr(reading->at, '\n', left);
    *line = (struct tau_span){reading->at, stop ? (size_t)(stop - reading->at) : left};
    reading->at = stop ? stop + 1 : reading->end;
    reading->line++;
    return true;
}

static struct tau_span next_word(struct tau_span *line)
{
    *line = tau_names_trim(*line);
    struct tau_span word = {line->at, 0};
    while (word.size < line->size && !isspace((unsigned char)line->at[word.size]))
        word.size++;
    line->at += word.size;
    line->size -= word.size;
    return word;
}

static bool real_of(struct tau_span word, double *value)
{
    char text[WORD_BYTES], *end;
    if (!word.size || word.size >= sizeof text)
        return false;
    memcpy(text, word.at, word.size);
    text[word.size] = '\0';
    *value = strtod(text, &end);
    return *end == '\0';
}

/* "12 templated_functions": the number before the word. */
static bool count_of(struct tau_span line, const char *what, uint64_t *count, struct tau_span *rest)
{
    struct tau_span word = next_word(&line);
    *count = 0;
    for (size_t i = 0; i < word.size; i++) {
        if (!is_number(word.at[i]) || *count > INT32_MAX)
            return false;
        *count = *count * 10 + (uint64_t)(word.at[i] - '0');
    }
    struct tau_span said = next_word(&line);
    size_t size = strlen(what);
    if (!word.size || said.size < size || memcmp(said.at, what, size) != 0)
        return false;
    *rest = (struct tau_span){said.at + size, said.size - size};
    return true;
}

static int refuse(struct reading *reading, const char *what)
{
    return err_set(reading->err,
                   "%s, line %lu: %s; TAU writes the file when the program ends: copy it again, or run again",
                   reading->name, reading->line, what);
}

/* ---- metadata ---- */

/* What stands between two tags, from *at on, which then lies behind it. */
static bool between(const char **at, const char *end, const char *open, const char *close,
                    struct tau_span *span)
{
    const char *begin = memmem(*at, (size_t)(end - *at), open, strlen(open));
    if (!begin)
        return false;
    begin += strlen(open);
    const char *stop = memmem(begin, (size_t)(end - begin), close, strlen(close));
    if (!stop)
        return false;
    *span = (struct tau_span){begin, (size_t)(stop - begin)};
    *at = stop + strlen(close);
    return true;
}

static char entity(struct tau_span *from)
{
    static const struct {
        const char *name;
        char letter;
    } known[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    char letter = from->at[0];
    size_t size = 1;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (from->size >= strlen(known[i].name) &&
            memcmp(from->at, known[i].name, strlen(known[i].name)) == 0) {
            letter = known[i].letter;
            size = strlen(known[i].name);
        }
    from->at += size;
    from->size -= size;
    return letter;
}

/* Entities become shorter: the text fits into `buffer`, which has room for it as it stands in the file. */
static struct tau_span plain(struct tau_span span, char *buffer)
{
    struct tau_span text = {buffer, 0};
    while (span.size)
        buffer[text.size++] = entity(&span);
    return text;
}

static int read_metadata(struct reading *reading, struct tau_span line)
{
    const char *at = line.at, *end = line.at + line.size;
    struct tau_span name, value;
    char *names = malloc(line.size + 1), *values = malloc(line.size + 1);
    bool whole = names && values;
    while (whole && between(&at, end, "<name>", "</name>", &name) &&
           between(&at, end, "<value>", "</value>", &value))
        tau_profile_attribute(reading->profile, plain(name, names), plain(value, values));
    free(names);
    free(values);
    return whole ? 0 : err_set(reading->err, "out of memory while reading %s", reading->name);
}

/* ---- rows ---- */

/* Takes "name" off the line; TAU does not escape quotation marks, so the last one before the numbers ends it. */
static bool split_name(struct tau_span line, const char *last, struct tau_span *name, struct tau_span *rest)
{
    if (line.size < 2 || line.at[0] != '"' || !last || last == line.at)
        return false;
    *name = (struct tau_span){line.at + 1, (size_t)(last - line.at - 1)};
    *rest = (struct tau_span){last + 1, (size_t)(line.at + line.size - last - 1)};
    return true;
}

static int read_function(struct reading *reading, struct tau_span line)
{
    static const char group[] = "GROUP=\"";
    struct tau_span name, rest, groups = {line.at, 0};
    line = tau_names_trim(line);
    const char *tail = memmem(line.at, line.size, group, strlen(group));
    if (tail) {
        groups = (struct tau_span){tail, (size_t)(line.at + line.size - tail)};
        line.size = (size_t)(tail - line.at);
    }
    if (!line.size || !split_name(line, memrchr(line.at, '"', line.size), &name, &rest))
        return refuse(reading, "not a function's row");
    double values[5];
    for (int i = 0; i < 5; i++)
        if (!real_of(next_word(&rest), &values[i]))
            return refuse(reading, "a function has not five numbers");
    struct tau_values row = {.calls = values[0], .self_us = values[2], .total_us = values[3]};
    bool is_parameter = groups.size && memmem(groups.at, groups.size, "TAU_PARAM", 9);
    tau_profile_row(reading->profile, name, is_parameter, &row);
    return 0;
}

static int read_event(struct reading *reading, struct tau_span line)
{
    struct tau_span name, rest;
    double values[5]; /* count, max, min, mean, sum of squares */
    line = tau_names_trim(line);
    if (!line.size || !split_name(line, memrchr(line.at, '"', line.size), &name, &rest))
        return refuse(reading, "not a user event's row");
    for (int i = 0; i < 5; i++)
        if (!real_of(next_word(&rest), &values[i]))
            return refuse(reading, "a user event has not five numbers");
    struct tau_sum sum = {.count = values[0] > 0 && values[0] < 1e15 ? (uint64_t)values[0] : 0,
                          .min = values[2],
                          .max = values[1],
                          .total = values[0] * values[3]};
    tau_profile_event(reading->profile, name, &sum);
    return 0;
}

static int read_rows(struct reading *reading, uint64_t count, int (*take)(struct reading *, struct tau_span))
{
    struct tau_span line;
    for (uint64_t i = 0; i < count; i++) {
        if (!next_line(reading, &line))
            return refuse(reading, "the file ends in the middle");
        if (take(reading, line) < 0)
            return -1;
    }
    return 0;
}

/* ---- the file ---- */

static int read_head(struct reading *reading, uint64_t *functions)
{
    struct tau_span line, metric;
    if (!next_line(reading, &line) || !count_of(line, "templated_functions", functions, &metric))
        return refuse(reading, "it does not begin with a number of functions");
    if (metric.size > 7 && !tau_reader_is_time(metric.at, metric.size))
        return err_set(reading->err,
                       "%s counts %.*s, and sonde reads only times of TAU profiles (MULTI__TIME)",
                       reading->name, (int)(metric.size < 100 ? metric.size - 7 : 100), metric.at + 7);
    if (!next_line(reading, &line) || !line.size || line.at[0] != '#')
        return refuse(reading, "the line with the names of columns is missing");
    return read_metadata(reading, line);
}

/* Aggregates were of TAU's very first versions: their rows are passed over. Older files end without user events. */
static int read_tail(struct reading *reading)
{
    struct tau_span line, rest;
    uint64_t count;
    if (!next_line(reading, &line))
        return 0;
    if (!count_of(line, "aggregates", &count, &rest))
        return refuse(reading, "the line with the number of aggregates is missing");
    for (; count && next_line(reading, &line); count--)
        ;
    if (!next_line(reading, &line) || !tau_names_trim(line).size)
        return 0;
    if (!count_of(line, "userevents", &count, &rest))
        return refuse(reading, "the line with the number of user events is missing");
    if (!count)
        return 0;
    if (!next_line(reading, &line) || !line.size || line.at[0] != '#')
        return refuse(reading, "the line with the names of columns is missing");
    return read_rows(reading, count, read_event);
}

int tau_reader_add(struct tau_profile *profile, const void *data, size_t size, const char *name,
                   struct err *err)
{
    struct reading reading = {
        .profile = profile, .name = name, .at = data, .end = (const char *)data + size, .err = err};
    uint32_t place[3] = {0};
    uint64_t functions;
    if (!read_place(name, place))
        place[0] = place[1] = place[2] = 0;
    tau_profile_thread(profile, place[0], place[1], place[2]);
    if (!profile->failed && (read_head(&reading, &functions) < 0 ||
                             read_rows(&reading, functions, read_function) < 0 || read_tail(&reading) < 0))
        return -1;
    tau_profile_end_thread(profile);
    return profile->failed ? err_set(err, "out of memory while reading %s", name) : 0;
}

bool tau_reader_recognises(const void *data, size_t size)
{
    struct reading reading = {.at = data, .end = (const char *)data + size};
    struct tau_span line, rest;
    uint64_t count;
    return next_line(&reading, &line) && count_of(line, "templated_functions", &count, &rest);
}

int tau_reader_read(const void *data, size_t size, const char *name, struct recording *recording,
                    struct err *err)
{
    struct tau_profile profile = {.recording = recording, .alone = true};
    if (recording_init(recording, err) < 0)
        return -1;
    int result = tau_reader_add(&profile, data, size, name, err);
    if (result == 0 && tau_profile_finish(&profile) < 0)
        result = err_set(err, "out of memory while reading %s", name);
    tau_profile_clear(&profile);
    if (result < 0)
        recording_clear(recording);
    return result;
}
