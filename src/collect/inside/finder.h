/*
 * finder: makes `import sonde` work in a launched program whose interpreter does not have sonde installed, and
 * leaves no trace in one that never asks for it.
 *
 * importlib's own _find_spec is watched: when it starts to look for "sonde", a finder for that one name is put at
 * the end of sys.meta_path, where it is asked last. When lines are timed it is put there at once, since nothing is
 * watched then; and it has a stand-in for line_profiler, too, and for
 * memory_profiler while memory is measured.
 */
#ifndef SONDE_COLLECT_INSIDE_FINDER_H
#define SONDE_COLLECT_INSIDE_FINDER_H

#include <stdbool.h>
#include <stdint.h>

/* The key of the function to watch; 0 = none. Calls of it must come to finder_look. */
extern uint64_t finder_watched_key;

/* `package`: the folder of the package. */
void finder_init(const char *package);
/* Puts the finder into its place now, with the stand-ins. Never leaves an exception. */
void finder_install_for_lines(bool of_memory);
/* Looks at a function met for the first time. */
void finder_notice(uint64_t key, const char *file, const char *name);
/* The watched function is starting. */
void finder_look(void);

#endif
