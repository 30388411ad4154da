/*
 * tau_folder: a folder of TAU's profile.N.C.T files, which are one run: read into one recording. Where TAU measured several
 * things, and so made a folder MULTI__<METRIC> for each, the one of times is read.
 */
#ifndef SONDE_CLI_TAU_FOLDER_H
#define SONDE_CLI_TAU_FOLDER_H

#include <stdbool.h>

struct err;
struct recording;

/* Whether it is a folder with such files in it. */
bool tau_folder_is(const char *path);
int tau_folder_read(const char *path, struct recording *recording, struct err *err);

#endif
