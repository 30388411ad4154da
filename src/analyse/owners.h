/*
 * owners: hangs every stack below frames that say whose it is, its process and its thread, so that whatever
 * shows a tree of stacks can keep them apart. The frames are codes of kind CODE_OTHER with a name only, worded
 * as py-spy words them.
 */
#ifndef SONDE_ANALYSE_OWNERS_H
#define SONDE_ANALYSE_OWNERS_H

#include <stdbool.h>

struct err;
struct recording;

/* Changes the nodes of calls and samples. Flat profiles have no owners and stay as they are. After a failure
 * (memory ran out) the recording can only be cleared. */
int owners_insert(struct recording *recording, bool processes, bool threads, struct err *err);

#endif
