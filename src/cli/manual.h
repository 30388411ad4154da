/* manual: man pages in roff, made from the option tables. */
#ifndef SONDE_CLI_MANUAL_H
#define SONDE_CLI_MANUAL_H

struct bytes;
struct command;

void manual_overview(struct bytes *out);                               /* sonde(1) */
void manual_command(struct bytes *out, const struct command *command); /* sonde-COMMAND(1) */

#endif
