/*
 * finder: makes `import sonde` work in a launched program whose interpreter does not have sonde installed, and
 * nothing else: a meta path finder of last resort that knows the one name.
 */
#ifndef SONDE_COLLECT_INSIDE_FINDER_H
#define SONDE_COLLECT_INSIDE_FINDER_H

/* `package`: the folder of the package itself. Without it `import sonde` fails as it would have anyway. */
void finder_install(const char *package);

#endif
