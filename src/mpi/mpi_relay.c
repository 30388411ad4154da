/*
 * mpi_relay: lets sonde use MPI without being linked to it: a child of sonde that does nothing but hand on messages, from
 * the socket it was given (relay_frame.h) to the other ranks' relays and back. One program for each MPI, as their ABIs
 * differ.
 *
 * Who waits sleeps: MPI's own waiting keeps a core busy, which the ranks that still work may need. When sonde is gone
 * without having taken leave, the whole job is ended.
 */
#include <mpi.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "mpi/relay_frame.h"

#define PIECE_BYTES  (16u << 20)
#define UNSENT_MAX   (64u << 20) /* beyond it sonde has to wait */
#define NAP_SHORTEST 20000       /* ns */
#define NAP_LONGEST  1000000
#define EXIT_MISTAKE 2

enum tag { TAG_SIZE, TAG_PIECE };

/* A message on its way. */
struct letter {
    struct letter *next;
    uint8_t *data;
    uint64_t size_bytes;
    MPI_Request *requests;
    int requests_count;
};

struct relay {
    int socket;
    struct letter *unsent;
    uint64_t unsent_bytes;
    uint8_t *piece; /* PIECE_BYTES */
};

static void give_up(void)
{
    MPI_Abort(MPI_COMM_WORLD, EXIT_MISTAKE);
    _exit(EXIT_MISTAKE);
}

static void *allocated(size_t size)
{
    void *memory = malloc(size ? size : 1);
    if (!memory)
        give_up();
    return memory;
}

static void nap(long *nap_ns)
{
    struct timespec time = {0, *nap_ns};
    nanosleep(&time, NULL);
    *nap_ns = *nap_ns * 2 < NAP_LONGEST ? *nap_ns * 2 : NAP_LONGEST;
}

/* ---- the socket ---- */

static void write_all(int socket, const void *data, size_t size)
{
    if (!bytes_write(socket, data, size))
        give_up();
}

static void write_frame(int socket, enum relay_operation operation, int peer, uint64_t size_bytes)
{
    struct relay_frame frame = {operation, (uint32_t)peer, size_bytes};
    write_all(socket, &frame, sizeof frame);
}

/* ---- letters ---- */

static void drop_letter(struct relay *relay, struct letter **place)
{
    struct letter *letter = *place;
    *place = letter->next;
    relay->unsent_bytes -= letter->size_bytes;
    free(letter->data);
    free(letter->requests);
    free(letter);
}

static bool is_sent(struct letter *letter)
{
    int all = 1;
    for (int i = 0; i < letter->requests_count; i++) {
        int one = 0;
        MPI_Test(&letter->requests[i], &one, MPI_STATUS_IGNORE);
        all &= one;
    }
    return all;
}

/* Lets MPI work on what is on its way. */
static void push(struct relay *relay)
{
    for (struct letter **place = &relay->unsent; *place;) {
        if (is_sent(*place))
            drop_letter(relay, place);
        else
            place = &(*place)->next;
    }
}

static void send_letter(struct relay *relay, struct letter *letter, int peer)
{
    uint64_t pieces = (letter->size_bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    letter->requests = allocated((size_t)(pieces + 1) * sizeof *letter->requests);
    MPI_Isend(&letter->size_bytes, sizeof letter->size_bytes, MPI_BYTE, peer, TAG_SIZE, MPI_COMM_WORLD,
              &letter->requests[letter->requests_count++]);
    for (uint64_t at = 0; at < letter->size_bytes; at += PIECE_BYTES) {
        uint64_t left = letter->size_bytes - at;
        MPI_Isend(letter->data + at, (int)(left < PIECE_BYTES ? left : PIECE_BYTES), MPI_BYTE, peer,
                  TAG_PIECE, MPI_COMM_WORLD, &letter->requests[letter->requests_count++]);
    }
    letter->next = relay->unsent;
    relay->unsent = letter;
    relay->unsent_bytes += letter->size_bytes;
}

static void take_letter(struct relay *relay, const struct relay_frame *frame)
{
    long nap_ns = NAP_SHORTEST;
    while (relay->unsent_bytes > UNSENT_MAX) {
        push(relay);
        nap(&nap_ns);
    }
    struct letter *letter = allocated(sizeof *letter);
    *letter = (struct letter){.data = allocated((size_t)frame->size_bytes), .size_bytes = frame->size_bytes};
    if (bytes_read(relay->socket, letter->data, (size_t)letter->size_bytes) < letter->size_bytes)
        give_up();
    send_letter(relay, letter, (int)frame->peer);
}

static void receive(struct relay *relay, int peer, enum tag tag, void *data, int size)
{
    long nap_ns = NAP_SHORTEST;
    for (int is_there = 0; !is_there;) {
        MPI_Iprobe(peer, tag, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
        push(relay);
        if (!is_there)
            nap(&nap_ns);
    }
    MPI_Recv(data, size, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void bring_letter(struct relay *relay, int peer)
{
    uint64_t size_bytes;
    receive(relay, peer, TAG_SIZE, &size_bytes, sizeof size_bytes);
    write_frame(relay->socket, RELAY_RECEIVED, peer, size_bytes);
    for (uint64_t at = 0; at < size_bytes; at += PIECE_BYTES) {
        int size = (int)(size_bytes - at < PIECE_BYTES ? size_bytes - at : PIECE_BYTES);
        receive(relay, peer, TAG_PIECE, relay->piece, size);
        write_all(relay->socket, relay->piece, (size_t)size);
    }
}

/* ---- life ---- */

/* While something is on its way, MPI needs a push now and then. */
static bool next_frame(struct relay *relay, struct relay_frame *frame)
{
    struct pollfd waiting = {.fd = relay->socket, .events = POLLIN};
    while (relay->unsent && poll(&waiting, 1, 1) == 0)
        push(relay);
    return bytes_read(relay->socket, frame, sizeof *frame) == sizeof *frame;
}

static void leave(struct relay *relay)
{
    MPI_Request all;
    MPI_Ibarrier(MPI_COMM_WORLD, &all);
    long nap_ns = NAP_SHORTEST;
    for (int left = 0; !left || relay->unsent;) {
        push(relay);
        if (!left)
            MPI_Test(&all, &left, MPI_STATUS_IGNORE);
        nap(&nap_ns);
    }
}

static void serve(struct relay *relay)
{
    struct relay_frame frame;
    while (next_frame(relay, &frame)) {
        if (frame.operation == RELAY_SEND)
            take_letter(relay, &frame);
        else if (frame.operation == RELAY_RECEIVE)
            bring_letter(relay, (int)frame.peer);
        else if (frame.operation == RELAY_LEAVE)
            return;
        else
            give_up();
    }
    give_up();
}

/* Open MPI looks for fast networks for a third of a second: processes that all are on one machine need none. Whoever has
 * chosen what it uses keeps the choice. */
static void look_for_no_network(void)
{
    const char *all = getenv("OMPI_COMM_WORLD_SIZE"), *here = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (!all || !here || strcmp(all, here) != 0)
        return;
    setenv("OMPI_MCA_pml", "ob1", 0);
    setenv("OMPI_MCA_btl", "^ofi,openib,uct,usnic", 0);
}

int main(int argc, char **argv)
{
    struct relay relay = {.socket = argc == 2 ? atoi(argv[1]) : -1};
    int rank, size;
    look_for_no_network();
    if (relay.socket <= 0 || MPI_Init(NULL, NULL) != MPI_SUCCESS)
        return EXIT_MISTAKE;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    relay.piece = allocated(PIECE_BYTES);
    write_frame(relay.socket, RELAY_READY, rank, (uint64_t)size);
    serve(&relay);
    leave(&relay);
    free(relay.piece);
    MPI_Finalize();
    return 0;
}
