/*
 * asyncio_table: finds the table that _asyncio publishes in this process, in the file that it was loaded from: a module
 * of its own, libpython or the program. Looks at the loader's list without its lock, as native_watch does; nothing is
 * allocated.
 */
#ifndef SONDE_COLLECT_AGENT_ASYNCIO_TABLE_H
#define SONDE_COLLECT_AGENT_ASYNCIO_TABLE_H

#include <stdint.h>

/* Its address; 0 = asyncio is not loaded, or is none that publishes it. */
uint64_t asyncio_table_find(void);

#endif
