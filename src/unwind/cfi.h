/*
 * cfi: runs the instructions of a frame description and gives the rules that hold, in order of address. The
 * instructions are not trusted; what has no form in struct rows_rule becomes "unknown" or "lost".
 */
#ifndef SONDE_UNWIND_CFI_H
#define SONDE_UNWIND_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/eh_frame.h"
#include "unwind/rows.h"

/* From this address on the rule holds. False stops the run. */
typedef bool cfi_emit(void *context, uint64_t address, const struct rows_rule *rule);

/* False when the instructions are damaged; what was given out before that stands. */
bool cfi_run(const struct eh_frame_description *description, cfi_emit *emit, void *context);

#endif
