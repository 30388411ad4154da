/* recorder_sums: what the recordings of single processes add up to, for the closing lines. */
#ifndef SONDE_COLLECT_RECORDER_RECORDER_SUMS_H
#define SONDE_COLLECT_RECORDER_RECORDER_SUMS_H

struct followed;
struct recorder_result;

/* Once for each, when it has ended and its memory was emptied for the last time. */
void recorder_sums_add(struct recorder_result *result, const struct followed *followed);

#endif
