/* commands: what main.c lists: one declaration for each cmd_*.c. */
#ifndef SONDE_CLI_COMMANDS_H
#define SONDE_CLI_COMMANDS_H

#include "cli/options.h"

extern const struct command command_dump;
extern const struct command command_env;
extern const struct command command_export;
extern const struct command command_finalize;
extern const struct command command_graph;
extern const struct command command_help;
extern const struct command command_info;
extern const struct command command_line;
extern const struct command command_list;
extern const struct command command_mem;
extern const struct command command_merge;
extern const struct command command_pack;
extern const struct command command_page;
extern const struct command command_plot;
extern const struct command command_record;
extern const struct command command_report;
extern const struct command command_top;
extern const struct command command_trace;
extern const struct command command_unpack;
extern const struct command command_view;

#endif
