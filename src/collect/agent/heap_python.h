/*
 * heap_python: what the counting of allocations needs of the interpreter: its frames, the moment when the program has
 * ended, and its own allocators. Everything is found at run time; called with the interpreter lock held.
 */
#ifndef SONDE_COLLECT_AGENT_HEAP_PYTHON_H
#define SONDE_COLLECT_AGENT_HEAP_PYTHON_H

struct stack_reader;

/* From now on stacks have Python frames. NULL, or why they cannot be read. The reader must stay. */
const char *heap_python_read(struct stack_reader *interpreter);
/* Has atexit call when all of the program's own functions of that kind have been called. */
void heap_python_call_at_end(void);
/* Stands before Python's own allocators; and no more. */
void heap_python_follow_allocators(void);
void heap_python_leave_allocators(void);

#endif
