/*
 * relocations: points the calls of named functions that all loaded objects make at functions of ours, and back, in a
 * process that was not started with us in front.
 *
 * An object calls another one's function through a word of its own that the loader has filled in. Such words are
 * exchanged one by one, each by a single store, so that threads may run meanwhile: they call the one function or the
 * other. Pages that the loader has closed for writing are opened for that moment.
 *
 * A word is exchanged only where it holds the function that our own calls (`original`), or nothing yet because it is
 * bound at the first call: an object that has another allocator of its own would be handed blocks of the wrong one. If
 * any of its words is of that kind, the whole object is left alone and counted. Left alone, too, are the loader itself,
 * an allocator that stands before the C library's, and the objects of sonde. Objects that are loaded later are seen to when somebody asks for their functions: dlsym
 * comes before any of these is called, and is therefore redirected as well; asked for one of the functions, it gives ours.
 *
 * There is one set of redirections in a process. The functions that were put in must stay loaded for ever, and pass
 * calls on when they have nothing else to do: the program may have kept their addresses.
 */
#ifndef SONDE_COLLECT_AGENT_RELOCATIONS_H
#define SONDE_COLLECT_AGENT_RELOCATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redirection {
    const char *name;
    void *replacement;
    void **
        original; /* set before anything is exchanged: what the program's calls reach; NULL = it has none such */
    bool
        is_known; /* it is set already, by the caller; words with another function do not make their object foreign */
};

struct relocations_counts {
    uint32_t objects; /* that have words which were exchanged */
    uint32_t words;   /* exchanged in all */
    uint32_t ours;    /* that led to us already, as in the child of a fork */
    uint32_t foreign; /* objects left alone because they have functions of their own by these names */
    uint32_t closed;  /* words that the system does not let us write */
};

/* Redirects every object; `rows` are borrowed until relocations_restore. `own` are addresses within objects that are
 * to be left alone; the one that holds this code is in any case. */
void relocations_redirect(const struct redirection *rows, size_t count, const void *const *own,
                          size_t own_count);
/* The same in objects that have been loaded since; next to nothing when there are none. */
void relocations_renew(void);
/* From now on `loaded` is called first then; it may redirect anew, with other rows. */
void relocations_call_at_loads(void (*loaded)(void));
/* Puts everything back. */
void relocations_restore(void);
/* Since relocations_redirect. */
struct relocations_counts relocations_counts(void);

#endif
