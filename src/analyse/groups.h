/*
 * groups: the table by module, file, line, thread or process instead of by function.
 *
 * For modules, files and lines the numbers mean what they mean for functions, with the group in the function's
 * place: total is the time with any of its functions on the stack, counted once; a call is primitive when
 * the group was not on the stack before it (it was entered from outside). For threads and processes total and
 * self are the same. Flat profiles know no stacks: there a group's total is what came in over its borders.
 */
#ifndef SONDE_ANALYSE_GROUPS_H
#define SONDE_ANALYSE_GROUPS_H

#include "analyse/ranking.h"

/* Lines are known of samples and allocations; the lines of a row are those that ran or called. */
enum group_by { GROUP_FUNCTION, GROUP_MODULE, GROUP_FILE, GROUP_THREAD, GROUP_PROCESS, GROUP_LINE };

/* Not for GROUP_FUNCTION: that is ranking_build. */
int groups_build(const struct recording *recording, const struct selection *selection, enum group_by by,
                 enum label_paths paths, struct ranking *ranking, struct err *err);

#endif
