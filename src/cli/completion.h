/* completion: scripts that let a shell complete commands, options and their values, made from the option
 * tables. */
#ifndef SONDE_CLI_COMPLETION_H
#define SONDE_CLI_COMPLETION_H

struct bytes;

void completion_bash(struct bytes *out);
void completion_zsh(struct bytes *out);
void completion_fish(struct bytes *out);

#endif
