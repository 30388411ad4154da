#include "export/ppk_writer.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/err.h"
#include "base/strings.h"
#include "export/stream.h"
#include "export/tau_text.h"
#include "export/thread_profiles.h"
#include "store/recording.h"

#define PIECE_BYTES ((size_t)1 << 20)
#define GZIP_WINDOW (15 + 16) /* the largest, and gzip's header */
#define MEMORY      8         /* zlib's own default */

/* Functions are numbered: the root, those that occur, call paths. */
struct ppk {
    struct thread_profiles profiles;
    struct tau_text text;
    struct stream *stream;
    z_stream deflate;
    struct bytes out;      /* not yet compressed */
    uint32_t *function_of; /* by code: its number; 0 = it does not occur */
    uint32_t functions;    /* how many, with the root */
    uint32_t *nodes;       /* the call paths, by number less `functions` */
    uint32_t *path_of;     /* by node */
    uint32_t paths;
    struct strings events; /* names; numbers are one less */
    struct bytes rows;     /* of the thread's user events */
    uint32_t row_count;
    bool failed, too_long;
};

/* ---- numbers and texts, as Java writes them ---- */

static void put_u32(struct bytes *out, uint32_t value)
{
    bytes_put_u32(out, __builtin_bswap32(value));
}

static void put_real(struct bytes *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bytes_put_u64(out, __builtin_bswap64(bits));
}

static void put_text(struct ppk *ppk, struct bytes *out, const void *text, size_t size)
{
    if (size > UINT16_MAX) {
        ppk->too_long = true;
        return;
    }
    bytes_put_u16(out, __builtin_bswap16((uint16_t)size));
    bytes_put(out, text, size);
}

/* ---- compressing ---- */

/* All that is in `out`, with Z_FINISH to the end. */
static void compress_out(struct ppk *ppk, int flush)
{
    int result = Z_OK;
    ppk->failed |= ppk->out.failed;
    ppk->deflate.next_in = ppk->out.data;
    ppk->deflate.avail_in = (uInt)ppk->out.size;
    while (!ppk->failed && (ppk->deflate.avail_in || (flush == Z_FINISH && result != Z_STREAM_END))) {
        struct bytes *to = &ppk->stream->out;
        if (!bytes_reserve(to, PIECE_BYTES)) {
            ppk->failed = true;
            return;
        }
        ppk->deflate.next_out = to->data + to->size;
        ppk->deflate.avail_out = (uInt)PIECE_BYTES;
        result = deflate(&ppk->deflate, flush);
        to->size += PIECE_BYTES - ppk->deflate.avail_out;
        ppk->failed |= result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR;
        stream_drain(ppk->stream);
    }
    bytes_reset(&ppk->out);
}

/* One piece fits into zlib's counters. */
static void drain(struct ppk *ppk)
{
    if (ppk->out.size >= PIECE_BYTES)
        compress_out(ppk, Z_NO_FLUSH);
}

/* ---- the tables ---- */

struct attributes {
    struct ppk *ppk;
    struct bytes rows;
    uint32_t count;
};

static void add_attribute(const char *name, const char *value, void *context)
{
    struct attributes *attributes = context;
    size_t size = strlen(value);
    put_text(attributes->ppk, &attributes->rows, name, strlen(name));
    put_text(attributes->ppk, &attributes->rows, value, size < UINT16_MAX ? size : UINT16_MAX);
    attributes->count++;
}

static void put_metadata(struct ppk *ppk, const struct thread_place *place, struct bytes *out)
{
    struct attributes attributes = {.ppk = ppk};
    tau_text_metadata(&ppk->text, place, add_attribute, &attributes);
    put_u32(out, place->rank);
    put_u32(out, 0);
    put_u32(out, place->number);
    put_u32(out, attributes.count);
    bytes_put(out, attributes.rows.data, attributes.rows.size);
    ppk->failed |= attributes.rows.failed;
    bytes_clear(&attributes.rows);
}

static void put_header(struct ppk *ppk)
{
    struct bytes header = {0};
    put_u32(&header, 0);
    put_u32(&header, 0);
    put_u32(&header, ppk->profiles.count);
    for (uint32_t i = 0; i < ppk->profiles.count; i++)
        put_metadata(ppk, &ppk->profiles.places[i], &header);
    bytes_put(&ppk->out, "\0P\0P\0K", 6);
    put_u32(&ppk->out, 2); /* the version, and the oldest reader's */
    put_u32(&ppk->out, 1);
    put_u32(&ppk->out, (uint32_t)header.size);
    ppk->failed |= header.failed || header.size > INT_MAX;
    bytes_put(&ppk->out, header.data, header.size);
    bytes_clear(&header);
    put_u32(&ppk->out, 1);
    put_text(ppk, &ppk->out, "TIME", 4);
    put_u32(&ppk->out, TAU_GROUPS);
    for (int i = 0; i < TAU_GROUPS; i++)
        put_text(ppk, &ppk->out, tau_text_groups[i], strlen(tau_text_groups[i]));
}

static void put_root(struct ppk *ppk)
{
    put_text(ppk, &ppk->out, TAU_TEXT_ROOT, strlen(TAU_TEXT_ROOT));
    put_u32(&ppk->out, 1);
    put_u32(&ppk->out, TAU_DEFAULT);
}

static void put_function(struct ppk *ppk, uint32_t code, struct bytes *name)
{
    bytes_reset(name);
    tau_text_function(&ppk->text, code, name);
    put_text(ppk, &ppk->out, name->data, name->size);
    put_u32(&ppk->out, 1);
    put_u32(&ppk->out, tau_text_group(&ppk->text, code));
}

static void put_path(struct ppk *ppk, uint32_t node, struct bytes *name)
{
    bytes_reset(name);
    tau_text_path(&ppk->text, node, name);
    put_text(ppk, &ppk->out, name->data, name->size);
    put_u32(&ppk->out, 2);
    put_u32(&ppk->out, TAU_CALLPATH);
    put_u32(&ppk->out, tau_text_group(&ppk->text, ppk->profiles.recording->nodes[node].code));
    drain(ppk);
}

static void put_functions(struct ppk *ppk)
{
    struct bytes name = {0};
    const struct recording *recording = ppk->profiles.recording;
    put_u32(&ppk->out, ppk->functions + ppk->paths);
    put_root(ppk);
    for (uint32_t code = 1; code < recording->codes_count; code++)
        if (ppk->function_of[code])
            put_function(ppk, code, &name);
    for (uint32_t i = 0; i < ppk->paths; i++)
        put_path(ppk, ppk->nodes[i], &name);
    ppk->failed |= name.failed;
    bytes_clear(&name);
}

static void name_event(const char *name, const struct tau_event *event, void *context)
{
    struct ppk *ppk = context;
    (void)event;
    ppk->failed |= strings_intern_text(&ppk->events, name) == UINT32_MAX;
}

static void put_events(struct ppk *ppk)
{
    for (uint32_t i = 0; i < ppk->profiles.count; i++)
        tau_text_events(&ppk->text, &ppk->profiles.places[i], name_event, ppk);
    put_u32(&ppk->out, ppk->events.count ? ppk->events.count - 1 : 0);
    for (uint32_t id = 1; id < ppk->events.count; id++)
        put_text(ppk, &ppk->out, strings_text(&ppk->events, id), strings_size(&ppk->events, id));
}

/* ---- threads ---- */

static void put_values(struct ppk *ppk, uint32_t id, const uint64_t counts[2], const uint64_t times_ns[2])
{
    put_u32(&ppk->out, id);
    put_real(&ppk->out, (double)counts[0]);
    put_real(&ppk->out, (double)counts[1]);
    put_real(&ppk->out, (double)times_ns[0] / 1e3);
    put_real(&ppk->out, (double)times_ns[1] / 1e3);
    drain(ppk);
}

static void add_event(const char *name, const struct tau_event *event, void *context)
{
    struct ppk *ppk = context;
    put_u32(&ppk->rows, strings_intern_text(&ppk->events, name) - 1);
    put_u32(&ppk->rows, event->count < INT32_MAX ? (uint32_t)event->count : INT32_MAX);
    put_real(&ppk->rows, event->min);
    put_real(&ppk->rows, event->max);
    put_real(&ppk->rows, event->mean);
    put_real(&ppk->rows, event->sum_of_squares);
    ppk->row_count++;
}

static void put_thread(struct ppk *ppk, const struct thread_place *place,
                       const struct thread_profile *profile)
{
    const struct thread_path *root = &profile->paths[0];
    put_u32(&ppk->out, place->rank);
    put_u32(&ppk->out, 0);
    put_u32(&ppk->out, place->number);
    put_u32(&ppk->out, profile->count + profile->function_count);
    put_values(ppk, 0, (uint64_t[]){1, root->child_calls}, (uint64_t[]){root->self_ns, root->total_ns});
    for (uint32_t i = 0; i < profile->function_count; i++) {
        const struct thread_function *row = &profile->functions[i];
        put_values(ppk, ppk->function_of[row->code], (uint64_t[]){row->calls, row->child_calls},
                   (uint64_t[]){row->self_ns, row->total_ns});
    }
    for (uint32_t i = 1; i < profile->count; i++) {
        const struct thread_path *row = &profile->paths[i];
        put_values(ppk, ppk->functions + ppk->path_of[row->node], (uint64_t[]){row->calls, row->child_calls},
                   (uint64_t[]){row->self_ns, row->total_ns});
    }
    bytes_reset(&ppk->rows);
    ppk->row_count = 0;
    tau_text_events(&ppk->text, place, add_event, ppk);
    put_u32(&ppk->out, ppk->row_count);
    bytes_put(&ppk->out, ppk->rows.data, ppk->rows.size);
    ppk->failed |= ppk->rows.failed;
}

static int put_threads(struct ppk *ppk, struct err *err)
{
    struct thread_profile profile = {0};
    int result = 0;
    put_u32(&ppk->out, ppk->profiles.count);
    for (uint32_t i = 0; i < ppk->profiles.count && result == 0 && !ppk->failed; i++) {
        result = thread_profiles_read(&ppk->profiles, &ppk->profiles.places[i], &profile, err);
        if (result == 0)
            put_thread(ppk, &ppk->profiles.places[i], &profile);
    }
    thread_profiles_release(&profile);
    return result;
}

/* ---- */

static int number_functions(struct ppk *ppk, struct err *err)
{
    const struct recording *recording = ppk->profiles.recording;
    ppk->function_of = calloc((size_t)recording->codes_count + 1, sizeof *ppk->function_of);
    ppk->nodes = calloc((size_t)recording->nodes_count + 1, sizeof *ppk->nodes);
    ppk->path_of = calloc((size_t)recording->nodes_count + 1, sizeof *ppk->path_of);
    if (!ppk->function_of || !ppk->nodes || !ppk->path_of)
        return err_set(err, "not enough memory for %u call paths", recording->nodes_count);
    ppk->paths = thread_profiles_number(&ppk->profiles, ppk->nodes, ppk->path_of);
    for (uint32_t i = 0; i < ppk->paths; i++)
        ppk->function_of[recording->nodes[ppk->nodes[i]].code] = 1;
    ppk->functions = 1;
    for (uint32_t code = 1; code < recording->codes_count; code++)
        if (ppk->function_of[code])
            ppk->function_of[code] = ppk->functions++;
    return 0;
}

static int put_all(struct ppk *ppk, struct err *err)
{
    if (tau_text_init(&ppk->text, &ppk->profiles, err) < 0 || number_functions(ppk, err) < 0)
        return -1;
    put_header(ppk);
    put_functions(ppk);
    put_events(ppk);
    if (put_threads(ppk, err) < 0)
        return -1;
    compress_out(ppk, Z_FINISH);
    if (ppk->too_long)
        return err_set(
            err, "a call path has a longer name than .ppk files can hold (65535 bytes); --format tau can");
    return ppk->failed ? err_set(err, "not enough memory to pack the profile") : 0;
}

int ppk_writer_write(const struct recording *recording, const struct selection *selection,
                     struct stream *stream, struct err *err)
{
    struct ppk ppk = {.stream = stream};
    if (deflateInit2(&ppk.deflate, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return err_set(err, "not enough memory to pack the profile");
    int result = thread_profiles_init(recording, selection, &ppk.profiles, err);
    if (result == 0)
        result = put_all(&ppk, err);
    deflateEnd(&ppk.deflate);
    tau_text_clear(&ppk.text);
    thread_profiles_clear(&ppk.profiles);
    bytes_clear(&ppk.out);
    bytes_clear(&ppk.rows);
    strings_clear(&ppk.events);
    free(ppk.function_of);
    free(ppk.nodes);
    free(ppk.path_of);
    return result;
}
