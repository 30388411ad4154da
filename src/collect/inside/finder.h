/*
 * finder: makes `import sonde` work in a launched program whose interpreter does not have sonde installed, and
 * leaves no trace in one that never asks for it.
 *
 * importlib's own _find_spec is watched: when it starts to look for "sonde", a finder for that name is put at
 * the end of sys.meta_path, where it is asked last. It is put there at once when lines are timed, or a part of the
 * program is recorded, since nothing is watched then. It has a stand-in for tracy, too; when lines are timed for
 * line_profiler, and for memory_profiler while memory is measured. And it tells pytest of the package's plugin.
 */
#ifndef SONDE_COLLECT_INSIDE_FINDER_H
#define SONDE_COLLECT_INSIDE_FINDER_H

#include <stdbool.h>
#include <stdint.h>

/* The key of the function to watch; 0 = none. Calls of it must come to finder_look. */
extern uint64_t finder_watched_key;

/* `package`: the folder of the package. */
void finder_init(const char *package);
/* Puts the finder into its place now. Never leaves an exception. */
void finder_install(void);
/* The same, with the stand-ins of what measures lines. */
void finder_install_for_lines(bool of_memory);
/* The same for a program whose memory is looked at from outside: with a stand-in for memory_profiler. */
void finder_install_for_marks(void);
/* Looks at a function met for the first time. */
void finder_notice(uint64_t key, const char *file, const char *name);
/* The watched function is starting. */
void finder_look(void);

#endif
