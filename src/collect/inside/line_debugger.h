/*
 * line_debugger: stops in pdb, in the program's own terminal, at a line of a chosen function, once the limit of memory
 * is passed (line_memory.h).
 */
#ifndef SONDE_COLLECT_INSIDE_LINE_DEBUGGER_H
#define SONDE_COLLECT_INSIDE_LINE_DEBUGGER_H

/* At a line that is about to run, in its frame. 0, or -1 with the debugger's exception. */
int line_debugger_stop(void);

#endif
