/*
 * rank_findings: what a person should know first of a run with many ranks, in words: that they do not know one another; which functions the ranks share
 * badly (analyse/rank_stories.h), by the time that could be saved; or that they share the work well; then which ranks are
 * missing or damaged, or ended badly.
 */
#ifndef SONDE_ANALYSE_RANK_FINDINGS_H
#define SONDE_ANALYSE_RANK_FINDINGS_H

#include "analyse/findings.h"
#include "analyse/rank_efficiency.h"

/* `code` of a finding is one of the table's names; `share` is the part of the busiest rank's time that could be saved. */
int rank_findings_build(const struct rank_table *table, const struct rank_efficiency *efficiency,
                        struct findings *findings, struct err *err);

#endif
