/*
 * series_text: counters over time in words: the peaks of processes as `mprof peak` prints them, what all had together,
 * how it grew, and the functions that an mprof file brackets.
 */
#ifndef SONDE_SHOW_SERIES_TEXT_H
#define SONDE_SHOW_SERIES_TEXT_H

struct bytes;
struct err;
struct recording;
struct report_options;

/* Lines "NAME TAB X MiB" of the program and "  Child PID TAB TAB TAB X MiB" of each process below it. */
void series_text_put_peaks(const struct recording *recording, const char *name, struct bytes *out);
/* What follows the heading of a recording that holds nothing else. */
int series_text_put(const struct recording *recording, const struct report_options *options,
                    struct bytes *out, struct err *err);
/* ", at most 165 MiB resident, 0.24 CPUs in use": for the heading of any recording; nothing where it has no counters. */
int series_text_put_short(const struct recording *recording, struct bytes *line, struct err *err);

#endif
