#include "import/speedscope_reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_reader.h"
#include "import/stacks.h"
#include "store/recording.h"

#define SCHEMA      "speedscope.app/file-format-schema.json"
#define TIME_MAX_NS 9e18

/* What a thread did from one value of the profile's unit on. */
struct step {
    double weight;
    uint32_t node;
};

struct profile {
    struct bytes name;
    double start;
    double scale_ns; /* of the unit; 0 = not said yet */
    struct step *steps;
    size_t count, capacity;
    double at;        /* the last event's */
    bool evented;     /* there were events */
    uint32_t *open;   /* nodes of the frames that are open, outermost first */
    uint32_t *frames; /* their frames */
    size_t open_count, open_capacity;
};

struct loading {
    struct stacks stacks;
    struct json_reader json;
    uint32_t *sites; /* by frame */
    uint32_t site_count, site_capacity;
    const char *why; /* what is wrong; NULL = nothing yet */
    bool out_of_memory;
};

static bool refuse(struct loading *loading, const char *why)
{
    loading->why = loading->why ? loading->why : why;
    return false;
}

static bool no_memory(struct loading *loading)
{
    loading->out_of_memory = true;
    return false;
}

static enum json_token next(struct loading *loading)
{
    return json_reader_next(&loading->json);
}

static bool skip(struct loading *loading)
{
    return json_reader_skip(&loading->json) || refuse(loading, "it is not JSON, or is cut off");
}

/* Goes to the next key of the object that was entered; false at its end, and when something is wrong. */
static bool next_key(struct loading *loading)
{
    enum json_token token = next(loading);
    if (token == JSON_KEY)
        return true;
    if (token != JSON_OBJECT_END)
        refuse(loading, "it is not JSON, or is cut off");
    return false;
}

static bool enter(struct loading *loading, enum json_token wanted)
{
    return next(loading) == wanted || refuse(loading, "an object or list is missing where one must be");
}

static bool is_key(const struct loading *loading, const char *key)
{
    return json_reader_is(&loading->json, key);
}

static bool take_number(struct loading *loading, double *number)
{
    if (next(loading) != JSON_NUMBER)
        return refuse(loading, "a number is missing where one must be");
    *number = loading->json.number;
    return true;
}

/* Makes room for one more of `size` bytes. */
static bool grow(struct loading *loading, void **rows, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return true;
    size_t larger = *capacity * 2 + 64;
    void *grown = realloc(*rows, larger * size);
    if (!grown)
        return no_memory(loading);
    *rows = grown;
    *capacity = larger;
    return true;
}

/* ---- frames ---- */

static bool take_text(struct loading *loading, struct bytes *text)
{
    if (next(loading) != JSON_STRING)
        return skip(loading); /* null, mostly */
    bytes_reset(text);
    bytes_put(text, loading->json.text.data, loading->json.text.size);
    return !text->failed || no_memory(loading);
}

static struct stacks_text text_of(const struct bytes *bytes)
{
    return (struct stacks_text){bytes->data ? (const char *)bytes->data : "", bytes->size};
}

static bool read_frame(struct loading *loading, struct bytes *name, struct bytes *file)
{
    double line = 0;
    bytes_reset(name);
    bytes_reset(file);
    while (next_key(loading)) {
        bool good;
        if (is_key(loading, "name"))
            good = take_text(loading, name);
        else if (is_key(loading, "file"))
            good = take_text(loading, file);
        else if (is_key(loading, "line") && next(loading) == JSON_NUMBER)
            good = (line = loading->json.number, true);
        else
            good = skip(loading);
        if (!good)
            return false;
    }
    size_t capacity = loading->site_capacity;
    if (loading->why ||
        !grow(loading, (void **)&loading->sites, loading->site_count, &capacity, sizeof(uint32_t)))
        return false;
    loading->site_capacity = (uint32_t)capacity;
    uint32_t shown = line > 0 && line < INT32_MAX ? (uint32_t)line : 0;
    loading->sites[loading->site_count++] =
        stacks_site(&loading->stacks, text_of(name), text_of(file), shown);
    return !loading->stacks.failed || no_memory(loading);
}

static bool read_frames(struct loading *loading)
{
    struct bytes name = {0}, file = {0};
    enum json_token token = JSON_WRONG;
    bool good = enter(loading, JSON_ARRAY);
    while (good && (token = next(loading)) == JSON_OBJECT)
        good = read_frame(loading, &name, &file);
    if (good && token != JSON_ARRAY_END)
        good = refuse(loading, "its list of frames is damaged");
    bytes_clear(&name);
    bytes_clear(&file);
    return good;
}

static bool read_shared(struct loading *loading)
{
    bool good = enter(loading, JSON_OBJECT);
    while (good && next_key(loading))
        good = is_key(loading, "frames") ? read_frames(loading) : skip(loading);
    return good && !loading->why;
}

/* ---- profiles ---- */

static bool take_site(struct loading *loading, uint32_t *site)
{
    double number = loading->json.number;
    if (loading->json.last != JSON_NUMBER || number < 0 || number >= loading->site_count ||
        number != (double)(uint32_t)number)
        return refuse(loading, "a stack names a frame that does not exist");
    *site = loading->sites[(uint32_t)number];
    return true;
}

static bool add_step(struct loading *loading, struct profile *profile, uint32_t node, double weight)
{
    if (!grow(loading, (void **)&profile->steps, profile->count, &profile->capacity, sizeof *profile->steps))
        return false;
    profile->steps[profile->count++] = (struct step){weight, node};
    return true;
}

static bool read_stack(struct loading *loading, struct profile *profile)
{
    uint32_t node = 0, site;
    for (enum json_token token; (token = next(loading)) != JSON_ARRAY_END;) {
        if (!take_site(loading, &site))
            return false;
        node = stacks_node(&loading->stacks, node, site);
        if (loading->stacks.failed)
            return no_memory(loading);
    }
    return add_step(loading, profile, node, 0);
}

static bool read_samples(struct loading *loading, struct profile *profile)
{
    enum json_token token = JSON_WRONG;
    bool good = enter(loading, JSON_ARRAY);
    profile->count = 0;
    while (good && (token = next(loading)) == JSON_ARRAY)
        good = read_stack(loading, profile);
    return good && (token == JSON_ARRAY_END || refuse(loading, "its samples are damaged"));
}

/* They may stand before the samples. */
static bool read_weights(struct loading *loading, struct json_reader *place)
{
    *place = loading->json;
    place->text = (struct bytes){0};
    return skip(loading);
}

static bool set_weights(struct loading *loading, struct profile *profile, struct json_reader *place)
{
    enum json_token token = JSON_WRONG;
    size_t at = 0;
    bool good = json_reader_next(place) == JSON_ARRAY;
    while (good && (token = json_reader_next(place)) == JSON_NUMBER) {
        good = at < profile->count && place->number >= 0;
        if (good)
            profile->steps[at++].weight = place->number;
    }
    bytes_clear(&place->text);
    good = good && token == JSON_ARRAY_END && at == profile->count;
    return good || refuse(loading, "a profile's weights do not fit its samples");
}

static bool open_frame(struct loading *loading, struct profile *profile, uint32_t site)
{
    size_t capacity = profile->open_capacity;
    if (!grow(loading, (void **)&profile->frames, profile->open_count, &capacity, sizeof(uint32_t)) ||
        !grow(loading, (void **)&profile->open, profile->open_count, &profile->open_capacity,
              sizeof(uint32_t)))
        return false;
    uint32_t parent = profile->open_count ? profile->open[profile->open_count - 1] : 0;
    profile->open[profile->open_count] = stacks_node(&loading->stacks, parent, site);
    profile->frames[profile->open_count++] = site;
    return !loading->stacks.failed || no_memory(loading);
}

static bool close_frame(struct loading *loading, struct profile *profile, uint32_t site)
{
    if (!profile->open_count || profile->frames[profile->open_count - 1] != site)
        return refuse(loading, "a frame is closed that is not the innermost open one");
    profile->open_count--;
    return true;
}

static bool read_event(struct loading *loading, struct profile *profile)
{
    double at = 0;
    char type = 0;
    uint32_t site = UINT32_MAX;
    while (next_key(loading)) {
        bool good;
        if (is_key(loading, "at"))
            good = take_number(loading, &at);
        else if (is_key(loading, "frame"))
            good = (next(loading), take_site(loading, &site));
        else if (is_key(loading, "type") && next(loading) == JSON_STRING)
            good = (type = is_key(loading, "O") ? 'O' : is_key(loading, "C") ? 'C' : 0, true);
        else
            good = skip(loading);
        if (!good)
            return false;
    }
    if (loading->why || !type || site == UINT32_MAX || (profile->evented && at < profile->at))
        return refuse(loading, "an event is damaged, or earlier than the one before it");
    uint32_t node = profile->open_count ? profile->open[profile->open_count - 1] : 0;
    if (profile->evented && at > profile->at && !add_step(loading, profile, node, at - profile->at))
        return false;
    profile->start = profile->evented ? profile->start : at;
    profile->at = at;
    profile->evented = true;
    return type == 'O' ? open_frame(loading, profile, site) : close_frame(loading, profile, site);
}

static bool read_events(struct loading *loading, struct profile *profile)
{
    enum json_token token = JSON_WRONG;
    bool good = enter(loading, JSON_ARRAY);
    while (good && (token = next(loading)) == JSON_OBJECT)
        good = read_event(loading, profile);
    return good && (token == JSON_ARRAY_END || refuse(loading, "its events are damaged"));
}

static bool read_unit(struct loading *loading, struct profile *profile)
{
    static const struct {
        const char *name;
        double scale_ns;
    } units[] = {
        {"nanoseconds", 1}, {"microseconds", 1e3}, {"milliseconds", 1e6}, {"seconds", 1e9}, {"none", 1e6}};
    if (next(loading) != JSON_STRING)
        return refuse(loading, "a profile's unit is damaged");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (is_key(loading, units[i].name))
            profile->scale_ns = units[i].scale_ns;
    return profile->scale_ns > 0 ||
           refuse(loading, "it holds a profile of memory, not of time, which sonde cannot show");
}

/* ---- rows ---- */

static bool add_samples(struct loading *loading, const struct profile *profile, uint32_t thread)
{
    double scale_ns = profile->scale_ns > 0 ? profile->scale_ns : 1e6, at_ns = profile->start * scale_ns;
    for (size_t i = 0; i < profile->count; i++) {
        const struct step *step = &profile->steps[i];
        double weight_ns = step->weight * scale_ns;
        if (!(at_ns >= 0) || !(at_ns + weight_ns < TIME_MAX_NS))
            return refuse(loading, "its times are negative or too large");
        struct sample_row row = {.time_ns = (uint64_t)(at_ns + 0.5),
                                 .weight_ns = (uint64_t)(at_ns + weight_ns + 0.5) - (uint64_t)(at_ns + 0.5),
                                 .thread = thread,
                                 .node = step->node,
                                 .count = 1,
                                 .state = step->node ? SAMPLE_RUNNING : 0};
        if (recording_add_sample(loading->stacks.recording, &row) == UINT32_MAX)
            return no_memory(loading);
        at_ns += weight_ns;
    }
    return true;
}

static bool finish_profile(struct loading *loading, const struct profile *profile)
{
    struct recording *recording = loading->stacks.recording;
    struct stacks_text name = text_of(&profile->name);
    struct thread thread = {.process = 1,
                            .name = strings_intern(&recording->strings, name.at, name.size),
                            .tid = recording->threads_count};
    uint32_t id = thread.name == UINT32_MAX ? 0 : recording_add_thread(recording, &thread);
    return id ? add_samples(loading, profile, id) : no_memory(loading);
}

static bool read_member(struct loading *loading, struct profile *profile, struct json_reader *weights)
{
    if (is_key(loading, "name"))
        return take_text(loading, &profile->name);
    if (is_key(loading, "unit"))
        return read_unit(loading, profile);
    if (is_key(loading, "startValue") && !profile->evented)
        return take_number(loading, &profile->start);
    if (is_key(loading, "samples"))
        return read_samples(loading, profile);
    if (is_key(loading, "weights"))
        return read_weights(loading, weights);
    return is_key(loading, "events") ? read_events(loading, profile) : skip(loading);
}

static bool read_profile(struct loading *loading)
{
    struct profile profile = {0};
    struct json_reader weights = {0};
    bool good = true;
    while (good && next_key(loading))
        good = read_member(loading, &profile, &weights);
    good = good && !loading->why && (!weights.at || set_weights(loading, &profile, &weights));
    good = good && finish_profile(loading, &profile);
    bytes_clear(&profile.name);
    free(profile.steps);
    free(profile.open);
    free(profile.frames);
    return good;
}

static bool read_profiles(struct loading *loading)
{
    enum json_token token = JSON_WRONG;
    bool good = enter(loading, JSON_ARRAY);
    while (good && (token = next(loading)) == JSON_OBJECT)
        good = read_profile(loading);
    return good && (token == JSON_ARRAY_END || refuse(loading, "its list of profiles is damaged"));
}

/* ---- the file ---- */

bool speedscope_reader_recognises(const void *data, size_t size)
{
    const char *at = data, *end = at + size;
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at < end && *at == '{' && memmem(at, (size_t)(end - at), SCHEMA, strlen(SCHEMA));
}

/* One pass over the document: the member `key` is given to `take`. */
static bool read_part(struct loading *loading, const void *data, size_t size, const char *key,
                      bool (*take)(struct loading *loading))
{
    json_reader_clear(&loading->json);
    loading->json.at = data;
    loading->json.end = loading->json.at + size;
    bool good = enter(loading, JSON_OBJECT);
    while (good && next_key(loading))
        good = is_key(loading, key) ? take(loading) : skip(loading);
    return good && !loading->why &&
           (next(loading) == JSON_END || refuse(loading, "something follows its end"));
}

/* Frames are named by their numbers, and may stand after the profiles: two passes. */
static int load(struct loading *loading, const void *data, size_t size, const char *name, struct err *err)
{
    if (read_part(loading, data, size, "shared", read_shared) &&
        read_part(loading, data, size, "profiles", read_profiles))
        return recording_order_samples(loading->stacks.recording, err);
    if (loading->out_of_memory || loading->stacks.failed || !loading->why)
        return err_set(err, "out of memory while reading %s", name);
    return err_set(err, "%s is no speedscope file that can be read: %s", name, loading->why);
}

int speedscope_reader_read(const void *data, size_t size, const char *name, struct recording *recording,
                           struct err *err)
{
    struct loading loading = {.stacks = {.recording = recording}};
    struct process process = {.rank = UINT32_MAX, .exit_code = INT32_MIN};
    if (recording_init(recording, err) < 0)
        return -1;
    if (!recording_add_process(recording, &process) ||
        recording_set_meta(recording, "mode", "speedscope file") < 0)
        return err_set(err, "out of memory while reading %s", name);
    int result = load(&loading, data, size, name, err);
    stacks_clear(&loading.stacks);
    json_reader_clear(&loading.json);
    free(loading.sites);
    return result;
}
