/*
 * line_entry: chosen functions of 3.11 announce their calls themselves, so that the evaluation hook, which keeps the
 * interpreter from evaluating Python calls without C calls, is needed only while a chosen line runs.
 *
 * The first instructions of the function's code are overwritten, in place, so that every function made of it is meant:
 *
 *     PUSH_NULL; LOAD_CONST announcer; UNARY_POSITIVE; CALL 0
 *
 * The announcer, whose constant lies behind the end of the tuple that the program sees, gives back a little function which
 * has the calling frame changed over to the copy with probes (line_probes.h). When it returns, the interpreter goes on
 * in the copy, in the same frame: it reads what it knows of a frame anew when a call comes back.
 *
 * The bytes that a program can ask for (co_code, dis, marshal) are kept from before. Code is overwritten only when no
 * frame stands in it, and restored at the end.
 */
#ifndef SONDE_COLLECT_INSIDE_LINE_ENTRY_H
#define SONDE_COLLECT_INSIDE_LINE_ENTRY_H

#include "collect/inside/line_codes.h"

/* Whether this interpreter can have it; finds out once. */
bool line_entry_is_possible(void);
/* The function's code announces its calls from now on, if it can: whether it does. Called without an exception. */
bool line_entry_put_in(struct line_code *function);
void line_entry_take_out(struct line_code *function);

#endif
