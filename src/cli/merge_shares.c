#include "cli/merge_shares.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/timeless.h"
#include "base/bytes.h"
#include "base/cursor.h"
#include "base/err.h"
#include "cli/crew.h"
#include "cli/input.h"
#include "cli/merge_job.h"
#include "cli/spill.h"
#include "cli/staged.h"
#include "import/formats.h"
#include "store/chunk.h"
#include "store/compress.h"
#include "store/reader.h"
#include "store/rewrite.h"

#define PIECE_BYTES (4u << 20)

enum part { PART_TAKEN, PART_WANTED }; /* what the first process says of a part when it knows where it is */

struct shares {
    struct crew *crew;
    struct merge_job *job;
    const struct input_paths *inputs;
    uint32_t share; /* the own */
    struct spill spill;
    struct staged *file;  /* of the first process */
    bool direct;          /* chunks go to the file, else to the spill */
    bool dropping;        /* chunks go nowhere: they are another's */
    struct bytes headers; /* of all chunks in the file */
    uint32_t sequence;
};

static uint32_t process_of(const struct shares *shares, uint32_t share)
{
    return (share + 1) % shares->crew->size;
}

static size_t begin_of(const struct shares *shares, uint32_t share)
{
    return shares->inputs->count * share / shares->crew->size;
}

static int put_chunks(void *context, const void *data, size_t size, struct err *err)
{
    struct shares *shares = context;
    if (shares->dropping)
        return 0;
    return shares->direct ? staged_append(shares->file, data, size, err)
                          : spill_append(&shares->spill, data, size, err);
}

/* ---- definitions ---- */

/* A file that is not whole is looked into as merging will do it: rows that are lost may define a name in their place. */
static bool is_whole(const struct damage *damage)
{
    return !damage->damaged_chunks && !damage->orphaned_chunks && !damage->orphaned_rows &&
           !damage->unknown_chunks && !damage->unknown_records && !damage->truncated && !damage->renumbered;
}

static int read_definitions(const char *path, struct recording *recording, struct err *err)
{
    struct bytes bytes = {0};
    int result = bytes_read_file(&bytes, path, BYTES_MAX_DEFAULT, err);
    bool is_ours = result == 0 && reader_recognises(bytes.data, bytes.size);
    if (is_ours)
        result = reader_read_definitions(bytes.data, bytes.size, path, recording, err);
    if (result == 0 && (!is_ours || !is_whole(&recording->damage))) {
        recording_clear(recording);
        result = formats_read(bytes.data, bytes.size, path, recording, err);
    }
    bytes_clear(&bytes);
    return result;
}

static int add_definitions_of(struct writer *writer, const char *path, const struct merge_job *job,
                              struct err *err)
{
    struct recording recording = {0};
    struct err unreadable = {0};
    int result = read_definitions(path, &recording, &unreadable);
    if (result != 0)
        result = job->keep_going ? 0 : err_set(err, "%s", unreadable.text);
    else if (!job->totals || timeless_reduce(&recording, err) == 0)
        result = rewrite_definitions(writer, &recording, err);
    else
        result = -1;
    recording_clear(&recording);
    return result;
}

static struct writer *open_definitions(struct bytes *out, struct err *err)
{
    struct writer_options options = {.sink = writer_sink_bytes, .context = out, .compress = compress_zstd};
    return writer_new(&options, err);
}

static int close_definitions(struct writer *writer, int result, struct err *err)
{
    if (result == 0)
        return writer_close(writer, err);
    writer_abandon(writer);
    return -1;
}

/* Those of the own share, as a .sonde file in memory. */
static int collect(const struct shares *shares, struct bytes *own, struct err *err)
{
    struct writer *writer = open_definitions(own, err);
    int result = writer ? 0 : -1;
    size_t end = begin_of(shares, shares->share + 1);
    for (size_t i = begin_of(shares, shares->share); i < end && result == 0; i++)
        result = add_definitions_of(writer, shares->inputs->items[i], shares->job, err);
    return close_definitions(writer, result, err);
}

static int add_definitions(struct writer *writer, struct cursor bytes, struct err *err)
{
    struct recording recording = {0};
    if (cursor_left(&bytes) == 0)
        return 0;
    int result = reader_read_definitions(bytes.at, cursor_left(&bytes), "the definitions of another process",
                                         &recording, err);
    if (result == 0)
        result = rewrite_definitions(writer, &recording, err);
    recording_clear(&recording);
    return result;
}

/* `before` = what another knew of the shares before its own, its own, and what was known already. */
static int precede(struct bytes *before, const struct bytes *message, struct err *err)
{
    struct cursor theirs = cursor_on(message->data, message->size);
    struct cursor before_theirs = cursor_get_counted(&theirs);
    struct bytes sum = {0};
    struct writer *writer = open_definitions(&sum, err);
    int result = writer && !theirs.failed ? 0 : err_set(err, "another process sent what is no message");
    if (result == 0)
        result = add_definitions(writer, before_theirs, err);
    if (result == 0)
        result = add_definitions(writer, theirs, err);
    if (result == 0)
        result = add_definitions(writer, cursor_on(before->data, before->size), err);
    result = close_definitions(writer, result, err);
    bytes_clear(before);
    *before = sum;
    return result;
}

/* Everybody takes part in every step, also after a failure. */
static int learn(const struct shares *shares, const struct bytes *own, struct bytes *before, struct err *err)
{
    struct crew *crew = shares->crew;
    for (uint32_t distance = 1; distance < crew->size; distance *= 2) {
        struct bytes message = {0};
        bytes_put_counted(&message, before->data, before->size);
        bytes_put(&message, own->data, own->size);
        if (shares->share + distance < crew->size)
            crew_send(crew, process_of(shares, shares->share + distance), &message, err);
        bytes_reset(&message);
        if (shares->share >= distance &&
            crew_receive(crew, process_of(shares, shares->share - distance), &message, err) == 0 &&
            !err_is_set(err))
            precede(before, &message, err);
        bytes_clear(&message);
    }
    return err_is_set(err) ? -1 : 0;
}

/* ---- the own share ---- */

/* How many ids of each kind there are. */
static void count_definitions(const struct writer *writer, struct bytes *counts)
{
    const struct recording *known = writer_known(writer);
    const uint32_t numbers[] = {known->strings.count,       known->codes_count,   known->nodes_count,
                                known->processes_count,     known->modules_count, known->addresses_count,
                                known->counters_count,      known->regions_count, known->communicators_count,
                                writer_thread_count(writer)};
    bytes_put(counts, numbers, sizeof numbers);
}

/* The writer as it would be behind the files of all shares before. */
static int prime(struct shares *shares, const struct bytes *before, struct err *err)
{
    struct merge_job *job = shares->job;
    shares->dropping = true;
    if (merge_job_begin(job, "sonde", put_chunks, shares, err) != 0 ||
        add_definitions(job->writer, cursor_on(before->data, before->size), err) != 0 ||
        writer_place(job->writer, &(struct bytes){0}, err) != 0)
        return -1;
    shares->dropping = false;
    return spill_open(&shares->spill, err);
}

static int merge_own(struct shares *shares, struct bytes *expected, struct err *err)
{
    struct bytes own = {0}, before = {0};
    if (!err_is_set(err) && shares->share + 1 < shares->crew->size) /* nobody comes after the last */
        collect(shares, &own, err);
    int result = learn(shares, &own, &before, err);
    if (result == 0)
        result = prime(shares, &before, err);
    bytes_clear(&own);
    bytes_clear(&before);
    if (result != 0)
        return -1;
    count_definitions(shares->job->writer, expected);
    return merge_job_add(shares->job, shares->inputs, begin_of(shares, shares->share),
                         begin_of(shares, shares->share + 1), err);
}

/* The share before must have come to the definitions that this one began with: a file that was still being written would
 * have brought others. */
static int compare_neighbours(const struct shares *shares, const struct bytes *expected, struct err *err)
{
    struct crew *crew = shares->crew;
    struct bytes counts = {0};
    if (!err_is_set(err))
        count_definitions(shares->job->writer, &counts);
    if (shares->share + 1 < crew->size)
        crew_send(crew, process_of(shares, shares->share + 1), &counts, err);
    bytes_reset(&counts);
    if (shares->share > 0 && crew_receive(crew, process_of(shares, shares->share - 1), &counts, err) == 0 &&
        !err_is_set(err) &&
        (counts.size != expected->size || memcmp(counts.data, expected->data, counts.size) != 0))
        err_set(err, "a recording has changed while it was merged; merge when the run is over");
    bytes_clear(&counts);
    return err_is_set(err) ? -1 : 0;
}

/* ---- parts ---- */

/* One chunk behind what `piece` has. 1, 0 at the end, or -1. */
static int read_chunk(struct spill *spill, struct bytes *piece, struct err *err)
{
    struct chunk chunk;
    uint8_t header[CHUNK_HEADER_BYTES];
    int result = spill_read(spill, header, sizeof header, err);
    if (result <= 0)
        return result;
    if (!chunk_get(header, &chunk))
        return err_set(err, "a temporary file has changed while it was used");
    bytes_put(piece, header, sizeof header);
    if (!bytes_reserve(piece, chunk.stored_bytes))
        return err_set(err, "out of memory while merging");
    result = chunk.stored_bytes ? spill_read(spill, piece->data + piece->size, chunk.stored_bytes, err) : 1;
    piece->size += chunk.stored_bytes;
    return result == 1 ? 1 : err_set(err, "a temporary file is cut off");
}

/* Whole chunks of the own part; empty at its end. */
static int next_piece(struct spill *spill, struct bytes *piece, struct err *err)
{
    int result = 1;
    bytes_reset(piece);
    while (result == 1 && piece->size < PIECE_BYTES)
        result = read_chunk(spill, piece, err);
    return result < 0 ? -1 : 0;
}

/* Numbers the chunks, and writes them behind those that are in the file. */
static int append_piece(struct shares *shares, struct bytes *piece, struct err *err)
{
    for (size_t at = 0; at < piece->size;) {
        struct chunk chunk;
        if (piece->size - at < CHUNK_HEADER_BYTES || !chunk_get(piece->data + at, &chunk))
            return err_set(err, "another process sent what is no chunk");
        chunk.sequence = shares->sequence++;
        chunk_put(&shares->headers, &chunk);
        if (shares->headers.failed)
            return err_set(err, "out of memory while merging");
        memcpy(piece->data + at, shares->headers.data + shares->headers.size - CHUNK_HEADER_BYTES,
               CHUNK_HEADER_BYTES);
        at += CHUNK_HEADER_BYTES + (size_t)chunk.stored_bytes;
    }
    return staged_append(shares->file, piece->data, piece->size, err);
}

static int append_spill(struct shares *shares, struct spill *spill, struct err *err)
{
    struct bytes piece = {0};
    int result = next_piece(spill, &piece, err);
    while (result == 0 && piece.size) {
        result = append_piece(shares, &piece, err);
        if (result == 0)
            result = next_piece(spill, &piece, err);
    }
    bytes_clear(&piece);
    return result;
}

/* What another process says first: how many files it has added, and their sum. */
static int add_sum(struct merge_job *job, const struct bytes *message, struct err *err)
{
    struct cursor cursor = cursor_on(message->data, message->size);
    uint64_t added = cursor_get_varint(&cursor);
    job->added += (size_t)added;
    if (cursor.failed)
        return err_set(err, "another process sent what is no message");
    return added ? merge_job_add_sum(job, cursor.at, cursor_left(&cursor), err) : 0;
}

static void put_sum(struct merge_job *job, struct bytes *message, struct err *err)
{
    bytes_put_varint(message, job->added);
    if (!err_is_set(err))
        merge_job_take_sum(job, message, err);
}

static void receive_pieces(struct shares *shares, uint32_t process, struct err *told, struct err *err)
{
    struct bytes piece = {0};
    do {
        bytes_reset(&piece);
        if (crew_receive(shares->crew, process, &piece, told) != 0)
            break;
        if (!err_is_set(err))
            append_piece(shares, &piece, err);
    } while (piece.size);
    bytes_clear(&piece);
}

/* The part of a process that has said where it is: its temporary file where that can be read from here, else what it sends. */
static void receive_part(struct shares *shares, uint32_t process, const struct bytes *place, struct err *told,
                         struct err *err)
{
    struct spill spill = {0};
    struct bytes wish = {0};
    bool is_here = err_is_set(err) || spill_open_place(&spill, place);
    if (!err_is_set(err) && is_here)
        append_spill(shares, &spill, err);
    bytes_put_u8(&wish, is_here ? PART_TAKEN : PART_WANTED);
    crew_send(shares->crew, process, &wish, err);
    if (!is_here)
        receive_pieces(shares, process, told, err);
    spill_close(&spill);
    bytes_clear(&wish);
}

/* All that the process of a share has, also when it is of no use any more. `told` is its failure. */
static void receive_share(struct shares *shares, uint32_t share, struct err *told, struct err *err)
{
    struct bytes message = {0};
    uint32_t process = process_of(shares, share);
    int result = crew_receive(shares->crew, process, &message, told);
    if (result == 0 && !err_is_set(err))
        add_sum(shares->job, &message, err);
    bytes_reset(&message);
    if (result == 0 && crew_receive(shares->crew, process, &message, told) == 0)
        receive_part(shares, process, &message, told, err);
    bytes_clear(&message);
}

/* Of several failures that of the first share is told, as one process would. */
static int receive_shares(struct shares *shares, struct err *err)
{
    struct err first = {0};
    for (uint32_t share = 0; share + 1 < shares->crew->size; share++) {
        struct err told = {0};
        receive_share(shares, share, &told, err);
        if (err_is_set(&told) && !err_is_set(&first))
            first = told;
    }
    if (err_is_set(&first))
        *err = first;
    return err_is_set(err) ? -1 : 0;
}

/* The whole file but for its end. */
static int gather_shares(struct shares *shares, struct err *err)
{
    struct bytes own_sum = {0}, header = {0};
    put_sum(shares->job, &own_sum, err);
    shares->job->added = 0;
    chunk_put_file_header(&header);
    if (!err_is_set(err))
        staged_append(shares->file, header.data, header.size, err);
    if (receive_shares(shares, err) == 0 && add_sum(shares->job, &own_sum, err) == 0 &&
        append_spill(shares, &shares->spill, err) == 0)
        writer_place(shares->job->writer, &shares->headers, err);
    bytes_clear(&own_sum);
    bytes_clear(&header);
    return err_is_set(err) ? -1 : 0;
}

static void send_pieces(struct shares *shares, struct err *err)
{
    struct bytes piece = {0};
    do {
        next_piece(&shares->spill, &piece, err);
        crew_send(shares->crew, 0, &piece, err);
    } while (!err_is_set(err) && piece.size);
    bytes_clear(&piece);
}

static void hand_over(struct shares *shares, struct err *err)
{
    struct bytes message = {0};
    put_sum(shares->job, &message, err);
    crew_send(shares->crew, 0, &message, err);
    bytes_reset(&message);
    if (!err_is_set(err)) {
        spill_put_place(&shares->spill, &message);
        crew_send(shares->crew, 0, &message, err);
        bytes_reset(&message);
        if (crew_receive(shares->crew, 0, &message, err) == 0 && message.size == 1 &&
            message.data[0] == PART_WANTED)
            send_pieces(shares, err);
    }
    bytes_clear(&message);
}

static void shares_init(struct shares *shares, struct crew *crew, const struct input_paths *inputs,
                        struct merge_job *job)
{
    *shares = (struct shares){.crew = crew, .job = job, .inputs = inputs};
    shares->share = (crew->rank + crew->size - 1) % crew->size;
}

static void shares_clear(struct shares *shares)
{
    spill_close(&shares->spill);
    bytes_clear(&shares->headers);
}

/* ---- the parts that processes play ---- */

void merge_shares_invite(struct crew *crew, const struct input_paths *inputs, const struct err *err)
{
    struct bytes list = {0};
    for (size_t i = 0; inputs && i < inputs->count; i++)
        bytes_put(&list, inputs->items[i], strlen(inputs->items[i]) + 1);
    for (uint32_t process = 1; process < crew->size; process++)
        crew_send(crew, process, &list, err);
    bytes_clear(&list);
}

int merge_shares_lead(struct crew *crew, const struct input_paths *inputs, struct merge_job *job,
                      struct staged *file, struct err *err)
{
    struct shares shares;
    struct bytes expected = {0};
    shares_init(&shares, crew, inputs, job);
    shares.file = file;
    merge_own(&shares, &expected, err);
    compare_neighbours(&shares, &expected, err);
    int result = gather_shares(&shares, err);
    shares.direct = true;
    if (result == 0)
        result = merge_job_finish(job, staged_append, file, err);
    shares_clear(&shares);
    bytes_clear(&expected);
    return result;
}

/* The paths in the list, which is kept. */
static int read_list(const struct bytes *list, struct input_paths *inputs, struct err *err)
{
    for (size_t at = 0; at < list->size; at += strlen((const char *)list->data + at) + 1)
        inputs->count++;
    inputs->items = calloc(inputs->count + 1, sizeof *inputs->items);
    if (!inputs->items || list->data[list->size - 1] != '\0')
        return err_set(err, "out of memory");
    char *path = (char *)list->data;
    for (size_t i = 0; i < inputs->count; i++, path += strlen(path) + 1)
        inputs->items[i] = path;
    return 0;
}

void merge_shares_help(struct crew *crew, struct merge_job *job)
{
    struct bytes list = {0}, expected = {0};
    struct err err = {0};
    struct input_paths inputs = {0};
    if (crew_receive(crew, 0, &list, &err) != 0 || list.size == 0) {
        bytes_clear(&list);
        return;
    }
    struct shares shares;
    shares_init(&shares, crew, &inputs, job);
    read_list(&list, &inputs, &err);
    merge_own(&shares, &expected, &err);
    compare_neighbours(&shares, &expected, &err);
    hand_over(&shares, &err);
    shares_clear(&shares);
    bytes_clear(&expected);
    bytes_clear(&list);
    free(inputs.items);
}
