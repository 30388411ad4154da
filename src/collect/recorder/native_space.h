/*
 * native_space: the code of one recorded process, as its memory map tells: which file lies where. Gives the process
 * the table that its threads walk by (native_area.h), and turns the addresses that they write down into codes of the
 * recording.
 *
 * The map is read when the process asks (new libraries, unknown code). Code that is gone is remembered: samples of it
 * may still come.
 */
#ifndef SONDE_COLLECT_RECORDER_NATIVE_SPACE_H
#define SONDE_COLLECT_RECORDER_NATIVE_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/agent/native_area.h"
#include "collect/recorder/native_files.h"

struct native_space;

struct native_code {
    uint32_t code;
    enum native_merge_kind kind;
};

/* `pid` as we see it, `process` its id in the recording. `parent` is the space of the process that forked it, whose
 * code it has to begin with; NULL = none. The area stays the caller's and must outlive the space. NULL when memory
 * ran out. */
struct native_space *native_space_new(struct native_files *files, struct native_area *area, uint32_t pid,
                                      uint32_t process, const struct native_space *parent);
void native_space_free(struct native_space *space);

/* Answers the process if it has asked. True while it asks so often that it should be looked after soon. */
bool native_space_step(struct native_space *space);

/* The stack that a thread left in a cell of the area, which is free afterwards: its addresses as native_head
 * describes them, outermost first. Gives how many; the flags go to `flags`. */
uint32_t native_space_walk(struct native_space *space, uint32_t cell, uint64_t addresses[NATIVE_AREA_DEPTH],
                           uint16_t *flags);

/* The code at an address, as native_head describes addresses. */
struct native_code native_space_find(struct native_space *space, uint64_t address);

/* Why there is no map of the process; NULL when there is. */
const char *native_space_problem(const struct native_space *space);

#endif
