#include "export/otf2_writer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "export/frames.h"
#include "export/otf2_library.h"
#include "export/otf2_ranks.h"
#include "export/otf2_spans.h"
#include "store/mpi_calls.h"
#include "store/recording.h"

#define EVENT_BYTES      ((uint64_t)1 << 20) /* of the library's buffers: its own defaults */
#define DEFINITION_BYTES ((uint64_t)4 << 20)
#define NS_PER_SECOND    1000000000u

struct location {
    uint32_t thread;
    uint64_t events;
    bool mpi; /* it has messages or collectives */
};

struct archive {
    const struct recording *recording;
    struct otf2_library library;
    struct otf2_spans spans;
    struct otf2_ranks ranks;
    otf2_archive *handle;
    otf2_definitions *definitions;
    struct location *locations;
    uint32_t location_count;
    uint32_t *open; /* spans of the thread that have not ended */
    uint32_t open_capacity;
    uint32_t *region_of; /* by region of the spans: its number in the archive and one more; 0 = none yet */
    uint32_t *regions;   /* those that events name, by that number */
    uint32_t region_count;
    uint64_t first_ns, last_ns;
    uint32_t strings;
    int failed;      /* what the library's functions gave, or'ed */
    char words[256]; /* what the library said first */
};

static uint8_t flush_always(void *data, uint8_t file, uint64_t location, void *caller, bool final)
{
    (void)data, (void)file, (void)location, (void)caller, (void) final;
    return OTF2_FLUSH;
}

static const struct otf2_flushing flushing = {.before = flush_always};

/* The library would print. */
static int hear(void *data, const char *file, uint64_t line, const char *function, int code,
                const char *format, va_list arguments)
{
    struct archive *archive = data;
    (void)file, (void)line, (void)function;
    if (!archive->words[0])
        vsnprintf(archive->words, sizeof archive->words, format, arguments);
    return code;
}

/* ---- events ---- */

static uint8_t operation_of(uint8_t call)
{
    static const struct {
        uint8_t call, later, operation; /* the call that waits and the one that does not */
    } known[] = {
        {MPI_CALL_BARRIER, MPI_CALL_IBARRIER, 0},
        {MPI_CALL_BCAST, MPI_CALL_IBCAST, 1},
        {MPI_CALL_GATHER, MPI_CALL_IGATHER, 2},
        {MPI_CALL_GATHERV, MPI_CALL_IGATHERV, 3},
        {MPI_CALL_SCATTER, MPI_CALL_ISCATTER, 4},
        {MPI_CALL_SCATTERV, MPI_CALL_ISCATTERV, 5},
        {MPI_CALL_ALLGATHER, MPI_CALL_IALLGATHER, 6},
        {MPI_CALL_ALLGATHERV, MPI_CALL_IALLGATHERV, 7},
        {MPI_CALL_ALLTOALL, MPI_CALL_IALLTOALL, 8},
        {MPI_CALL_ALLTOALLV, MPI_CALL_IALLTOALLV, 9},
        {MPI_CALL_ALLTOALLW, MPI_CALL_IALLTOALLW, 10},
        {MPI_CALL_ALLREDUCE, MPI_CALL_IALLREDUCE, 11},
        {MPI_CALL_REDUCE, MPI_CALL_IREDUCE, 12},
        {MPI_CALL_REDUCE_SCATTER, MPI_CALL_IREDUCE_SCATTER, 13},
        {MPI_CALL_SCAN, MPI_CALL_ISCAN, 14},
        {MPI_CALL_EXSCAN, MPI_CALL_IEXSCAN, 15},
        {MPI_CALL_REDUCE_SCATTER_BLOCK, MPI_CALL_IREDUCE_SCATTER_BLOCK, 16},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].call == call || known[i].later == call)
            return known[i].operation;
    return UINT8_MAX;
}

static void put_message(struct archive *archive, otf2_events *events, const struct message_row *row,
                        uint64_t time_ns)
{
    const struct otf2_library *library = &archive->library;
    uint32_t peer = otf2_ranks_number(&archive->ranks, row->communicator, row->peer);
    if (peer == UINT32_MAX)
        return;
    uint32_t group = archive->ranks.group_of[row->communicator];
    archive->failed |=
        row->received
            ? library->receive(events, NULL, time_ns, peer, group, (uint32_t)row->tag, row->size_bytes)
            : library->send(events, NULL, time_ns, peer, group, (uint32_t)row->tag, row->size_bytes);
}

static void put_collective(struct archive *archive, otf2_events *events, const struct collective_row *row,
                           uint64_t time_ns)
{
    uint8_t operation = operation_of(row->call);
    if (operation == UINT8_MAX || !row->communicator)
        return;
    uint32_t root = row->root == MPI_NOBODY
                        ? OTF2_NOTHING
                        : otf2_ranks_number(&archive->ranks, row->communicator, row->root);
    archive->failed |= archive->library.end_collective(events, NULL, time_ns, operation,
                                                       archive->ranks.group_of[row->communicator], root,
                                                       row->sent_bytes, row->received_bytes);
}

/* The library wants numbers without gaps. */
static uint32_t number_of(struct archive *archive, uint32_t region)
{
    if (!archive->region_of[region]) {
        archive->regions[archive->region_count++] = region;
        archive->region_of[region] = archive->region_count;
    }
    return archive->region_of[region] - 1;
}

static void enter(struct archive *archive, otf2_events *events, const struct otf2_span *span)
{
    const struct otf2_library *library = &archive->library;
    const struct message_row *message = span->message;
    const struct collective_row *collective = span->collective;
    if (!span->again)
        archive->failed |= library->enter(events, NULL, span->begin_ns, number_of(archive, span->region));
    if (message && !message->received)
        put_message(archive, events, message, span->begin_ns);
    if (collective && collective->communicator && operation_of(collective->call) != UINT8_MAX)
        archive->failed |= library->begin_collective(events, NULL, span->begin_ns);
}

static void leave(struct archive *archive, otf2_events *events, const struct otf2_span *span)
{
    const struct message_row *message = span->message;
    if (message && message->received)
        put_message(archive, events, message, span->end_ns);
    if (span->collective)
        put_collective(archive, events, span->collective, span->end_ns);
    if (!span->again)
        archive->failed |=
            archive->library.leave(events, NULL, span->end_ns, number_of(archive, span->region));
    archive->last_ns = span->end_ns > archive->last_ns ? span->end_ns : archive->last_ns;
}

static bool reserve_open(struct archive *archive)
{
    if (archive->spans.count <= archive->open_capacity)
        return true;
    uint32_t *open = realloc(archive->open, archive->spans.count * sizeof *open);
    if (!open)
        return false;
    archive->open = open;
    archive->open_capacity = archive->spans.count;
    return true;
}

static void put_spans(struct archive *archive, otf2_events *events, struct location *location)
{
    const struct otf2_spans *spans = &archive->spans;
    uint32_t depth = 0;
    for (uint32_t i = 0; i < spans->count; i++) {
        const struct otf2_span *span = &spans->rows[i];
        while (depth > span->depth)
            leave(archive, events, &spans->rows[archive->open[--depth]]);
        archive->open[depth++] = i;
        enter(archive, events, span);
        location->mpi |= span->message || span->collective;
    }
    while (depth)
        leave(archive, events, &spans->rows[archive->open[--depth]]);
    if (spans->rows[0].begin_ns < archive->first_ns)
        archive->first_ns = spans->rows[0].begin_ns;
}

static int put_thread(struct archive *archive, uint32_t thread, struct err *err)
{
    const struct otf2_library *library = &archive->library;
    if (otf2_spans_read(&archive->spans, thread, err) < 0)
        return -1;
    if (!archive->spans.count)
        return 0;
    if (!reserve_open(archive))
        return err_set(err, "not enough memory for the calls of a thread");
    struct location *location = &archive->locations[archive->location_count];
    otf2_events *events = library->events_of(archive->handle, archive->location_count);
    if (!events)
        return archive->failed = -1;
    location->thread = thread;
    put_spans(archive, events, location);
    archive->failed |= library->count(events, &location->events);
    archive->failed |= library->close_events_of(archive->handle, events);
    archive->location_count++;
    return 0;
}

static int put_events(struct archive *archive, struct err *err)
{
    int result = 0;
    archive->failed |= archive->library.open_events(archive->handle);
    for (uint32_t thread = 0; thread < archive->recording->threads_count && result == 0 && !archive->failed;
         thread++)
        result = put_thread(archive, thread, err);
    archive->failed |= archive->library.close_events(archive->handle);
    return result;
}

/* ---- definitions ---- */

static uint32_t put_string(struct archive *archive, const char *text)
{
    archive->failed |= archive->library.put_string(archive->definitions, archive->strings, text);
    return archive->strings++;
}

static void put_region(struct archive *archive, uint32_t id, const char *name, enum otf2_role role,
                       enum otf2_paradigm paradigm, const struct code *code)
{
    const char *file = code ? recording_text(archive->recording, code->file) : "";
    uint32_t text = put_string(archive, name);
    uint32_t source = file[0] && strcmp(file, "~") != 0 ? put_string(archive, file) : OTF2_NOTHING;
    uint32_t line = code ? code->line : 0;
    archive->failed |= archive->library.put_region(archive->definitions, id, text, text, 0, (uint8_t)role,
                                                   (uint8_t)paradigm, 0, source, line, line);
}

static enum otf2_role role_of(unsigned call)
{
    switch (mpi_call_shape(call)) {
    case MPI_SHAPE_SEND:
    case MPI_SHAPE_RECEIVE:
    case MPI_SHAPE_EXCHANGE:
    case MPI_SHAPE_WAIT:
        return OTF2_POINT_TO_POINT;
    default:
        return call == MPI_CALL_BARRIER ? OTF2_BARRIER : OTF2_COLLECTIVE;
    }
}

static int put_function(struct archive *archive, uint32_t id, uint32_t code, struct err *err)
{
    const struct recording *recording = archive->recording;
    const struct frame_style style = {.function = true};
    struct bytes name = {0};
    frames_put_name(recording, &style, code, &name);
    bytes_put_u8(&name, '\0');
    bool failed = name.failed;
    if (!failed)
        put_region(archive, id, (const char *)name.data, OTF2_FUNCTION, OTF2_COMPILER,
                   &recording->codes[code]);
    bytes_clear(&name);
    return failed ? err_set(err, "not enough memory for the names of functions") : 0;
}

static int put_regions(struct archive *archive, struct err *err)
{
    const struct recording *recording = archive->recording;
    uint32_t first_region = otf2_spans_region(recording, 0), first_call = otf2_spans_mpi(recording, 0);
    int result = 0;
    for (uint32_t id = 0; id < archive->region_count && result == 0; id++) {
        uint32_t region = archive->regions[id];
        if (region >= first_call)
            put_region(archive, id, mpi_call_name(region - first_call), role_of(region - first_call),
                       OTF2_MPI, NULL);
        else if (region >= first_region)
            put_region(archive, id, recording_text(recording, recording->regions[region - first_region].name),
                       OTF2_FUNCTION, OTF2_USER, NULL);
        else
            result = put_function(archive, id, region, err);
    }
    return result;
}

static void put_process(struct archive *archive, uint32_t id, const struct process *process, uint32_t machine)
{
    char name[64];
    if (process->rank != UINT32_MAX)
        snprintf(name, sizeof name, "MPI Rank %u", process->rank);
    else
        snprintf(name, sizeof name, "Process %" PRIu64, process->pid);
    archive->failed |= archive->library.put_process(archive->definitions, id, put_string(archive, name),
                                                    OTF2_PROCESS, machine, OTF2_NOTHING);
}

static void put_machine(struct archive *archive, uint32_t id, const char *host)
{
    uint32_t name = put_string(archive, host), kind = put_string(archive, "node");
    archive->failed |= archive->library.put_machine(archive->definitions, id, name, kind, OTF2_NOTHING);
}

/* The number of the process; it and its machine are defined when they are new. */
static uint32_t define_process(struct archive *archive, uint32_t id, struct map *processes,
                               struct map *machines)
{
    const struct process *process = &archive->recording->processes[id];
    uint32_t found = map_get(processes, id), machine = map_get(machines, process->host);
    if (found != MAP_NONE)
        return found;
    if (machine == MAP_NONE) {
        machine = (uint32_t)machines->count;
        put_machine(archive, machine, recording_text(archive->recording, process->host));
        archive->failed |= !map_set(machines, process->host, machine);
    }
    found = (uint32_t)processes->count;
    put_process(archive, found, process, machine);
    archive->failed |= !map_set(processes, id, found);
    return found;
}

static void put_locations(struct archive *archive)
{
    struct map processes = {0}, machines = {0};
    const struct recording *recording = archive->recording;
    for (uint32_t i = 0; i < archive->location_count; i++) {
        const struct location *location = &archive->locations[i];
        const struct thread *thread = &recording->threads[location->thread];
        const char *known = recording_text(recording, thread->name);
        uint32_t process = define_process(archive, thread->process, &processes, &machines);
        char name[64];
        snprintf(name, sizeof name, "Thread %" PRIu64, thread->tid);
        archive->failed |= archive->library.put_location(archive->definitions, i,
                                                         put_string(archive, known[0] ? known : name),
                                                         OTF2_CPU_THREAD, location->events, process);
    }
    map_clear(&processes);
    map_clear(&machines);
}

/* The location that speaks for each rank: the one with messages, else the first. Returns how many ranks there are; `members` gets the
 * locations and `place_of` the places of ranks among them. */
static uint32_t choose_locations(const struct archive *archive, uint64_t *members, struct map *place_of)
{
    uint32_t count = 0;
    for (int mpi = 1; mpi >= 0; mpi--)
        for (uint32_t i = 0; i < archive->location_count; i++) {
            uint32_t rank = mpi_groups_rank(archive->recording, archive->locations[i].thread);
            if (archive->locations[i].mpi != (mpi == 1) || rank == UINT32_MAX ||
                map_get(place_of, rank) != MAP_NONE || !map_set(place_of, rank, count))
                continue;
            members[count++] = i;
        }
    return count;
}

static void put_communicator(struct archive *archive, uint32_t group, const uint64_t *members, uint32_t count)
{
    const char *known = recording_text(archive->recording, archive->ranks.names[group]);
    char name[32];
    snprintf(name, sizeof name, "communicator %u", group);
    uint32_t text = put_string(archive, known[0] ? known : name);
    archive->failed |= archive->library.put_group(archive->definitions, group + 1, text, OTF2_GROUP_MEMBERS,
                                                  OTF2_MPI, 0, count, members);
    archive->failed |=
        archive->library.put_communicator(archive->definitions, group, text, group + 1, OTF2_NOTHING, 0);
}

static int put_communicators(struct archive *archive, struct err *err)
{
    const struct otf2_ranks *ranks = &archive->ranks;
    struct map place_of = {0};
    uint64_t *members = calloc((size_t)archive->location_count + ranks->count + 1, sizeof *members);
    if (!members)
        return err_set(err, "not enough memory for the communicators");
    uint32_t count = choose_locations(archive, members, &place_of);
    archive->failed |= archive->library.put_group(archive->definitions, 0, put_string(archive, "ranks"),
                                                  OTF2_GROUP_LOCATIONS, OTF2_MPI, 0, count, members);
    for (uint32_t i = 0; i < ranks->count;) {
        uint32_t group = ranks->members[i].group, size = 0;
        for (; i < ranks->count && ranks->members[i].group == group; i++) {
            uint32_t place = map_get(&place_of, ranks->members[i].rank);
            members[size++] = place == MAP_NONE ? 0 : place;
        }
        put_communicator(archive, group, members, size);
    }
    map_clear(&place_of);
    free(members);
    return 0;
}

static void put_locals(struct archive *archive)
{
    archive->failed |= archive->library.open_locals(archive->handle);
    for (uint32_t i = 0; i < archive->location_count && !archive->failed; i++) {
        otf2_local *local = archive->library.local_of(archive->handle, i);
        archive->failed |= local ? archive->library.close_local(archive->handle, local) : -1;
    }
    archive->failed |= archive->library.close_locals(archive->handle);
}

static int put_definitions(struct archive *archive, struct err *err)
{
    const char *epoch = recording_meta(archive->recording, "epoch_ns");
    uint64_t real_ns = epoch ? strtoull(epoch, NULL, 10) + archive->first_ns : 0;
    put_locals(archive);
    archive->definitions = archive->library.definitions(archive->handle);
    if (!archive->definitions)
        return archive->failed = -1;
    archive->failed |= archive->library.put_clock(archive->definitions, NS_PER_SECOND, archive->first_ns,
                                                  archive->last_ns - archive->first_ns + 1, real_ns);
    put_string(archive, "");
    put_locations(archive);
    int result = put_regions(archive, err);
    if (result == 0 && archive->ranks.groups)
        result = put_communicators(archive, err);
    archive->failed |= archive->library.close_definitions(archive->handle, archive->definitions);
    return result;
}

/* ---- */

static int put_archive(struct archive *archive, const char *folder, struct err *err)
{
    const struct otf2_library *library = &archive->library;
    library->on_error((void *)hear, archive);
    archive->handle = library->open(folder, "traces", OTF2_WRITE, EVENT_BYTES, DEFINITION_BYTES, OTF2_POSIX,
                                    OTF2_UNCOMPRESSED);
    if (!archive->handle)
        return archive->failed = -1;
    archive->failed |= library->set_flushing(archive->handle, &flushing, NULL);
    archive->failed |= library->set_serial(archive->handle);
    int result = archive->failed ? 0 : put_events(archive, err);
    if (result == 0 && !archive->failed)
        result = put_definitions(archive, err);
    archive->failed |= library->close(archive->handle);
    return result;
}

static int prepare(struct archive *archive, struct err *err)
{
    const struct recording *recording = archive->recording;
    size_t regions = (size_t)otf2_spans_mpi(recording, UINT8_MAX) + 1;
    if (otf2_library_load(&archive->library, err) < 0 ||
        otf2_spans_init(&archive->spans, recording, err) < 0 ||
        otf2_ranks_init(&archive->ranks, recording, err) < 0)
        return -1;
    archive->locations = calloc((size_t)recording->threads_count + 1, sizeof *archive->locations);
    archive->region_of = calloc(regions, sizeof *archive->region_of);
    archive->regions = calloc(regions, sizeof *archive->regions);
    return archive->locations && archive->region_of && archive->regions
               ? 0
               : err_set(err, "not enough memory for an OTF2 archive");
}

int otf2_writer_write(const struct recording *recording, const char *folder, struct err *err)
{
    struct archive archive = {.recording = recording, .first_ns = UINT64_MAX};
    int result = prepare(&archive, err);
    if (result == 0)
        result = put_archive(&archive, folder, err);
    if (archive.failed)
        result = err_set(err, "the OTF2 library could not write the archive: %s",
                         archive.words[0] ? archive.words : "it does not say why");
    otf2_spans_clear(&archive.spans);
    otf2_ranks_clear(&archive.ranks);
    free(archive.locations);
    free(archive.open);
    free(archive.region_of);
    free(archive.regions);
    return result;
}
