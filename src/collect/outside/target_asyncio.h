/*
 * target_asyncio: finds the table that _asyncio publishes in another process or in a core file: in the file of the
 * module, of libpython or of the program.
 */
#ifndef SONDE_COLLECT_OUTSIDE_TARGET_ASYNCIO_H
#define SONDE_COLLECT_OUTSIDE_TARGET_ASYNCIO_H

#include "collect/outside/target_python.h"

/* Its address, for asyncio_read; 0 = asyncio is not loaded, or is none that publishes it. */
uint64_t target_asyncio_find(const struct target_image *image);

#endif
