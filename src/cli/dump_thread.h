/*
 * dump_thread: one thread of a process or a core file → a row of the dump. One that sleeps is read as it is, and
 * believed only if it slept all the while; one that runs is held meanwhile.
 */
#ifndef SONDE_CLI_DUMP_THREAD_H
#define SONDE_CLI_DUMP_THREAD_H

struct dump_reading;
struct dump_roll_row;

void dump_thread_add(struct dump_reading *reading, const struct dump_roll_row *row);

#endif
