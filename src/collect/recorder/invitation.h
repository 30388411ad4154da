/*
 * invitation: has a Python that runs already load our extension and take part in a session, and leave it again.
 *
 * Both are scripts that the program runs when it is safe (outside/remote_script.h). They lie in a folder of their own that
 * the program's user may read, with a file into which they write what went wrong, or that they are done.
 */
#ifndef SONDE_COLLECT_RECORDER_INVITATION_H
#define SONDE_COLLECT_RECORDER_INVITATION_H

#include <stdbool.h>
#include <stdint.h>

struct err;

enum { INVITATION_PATH_BYTES = 64 };

/* A zeroed one is empty. */
struct invitation {
    uint32_t pid;  /* 0 = nobody is invited */
    uint32_t user; /* its owner */
    const char *inside;
    char folder[INVITATION_PATH_BYTES];
    const char *asked; /* what for: the name of the script */
    bool pending;      /* not all threads know yet that they need not come any more */
    bool everybody;    /* all were asked, not only the one that ran */
    uint64_t sent_ns;
};

/* Asks the process to load the extension `inside` and to call its attach_memory with these settings. Both are borrowed. */
int invitation_send(struct invitation *invitation, uint32_t pid, const char *inside, const char *settings,
                    struct err *err);
/* It has come: nobody else need. */
void invitation_accept(struct invitation *invitation);
/* -1 with words when it will not come: the script failed, or no thread has come to run it in all this time. */
int invitation_check(struct invitation *invitation, struct err *err);
/* Asks it to leave, and waits a little for that. False when it has not yet. */
bool invitation_end(struct invitation *invitation);
void invitation_clear(struct invitation *invitation);

#endif
