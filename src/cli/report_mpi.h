/* report_mpi: `sonde report --mpi`: what the ranks of a run did with one another. */
#ifndef SONDE_CLI_REPORT_MPI_H
#define SONDE_CLI_REPORT_MPI_H

#include <stdbool.h>
#include <stdint.h>

struct bytes;
struct err;
struct recording;
struct terminal;

extern const char *const report_mpi_tables[]; /* "all", "calls", ...; ends with NULL */

struct report_mpi {
    const char *table;               /* one of these */
    const struct terminal *terminal; /* for people; not with csv or json */
    bool csv, json;
    int64_t limit; /* rows of a table; 0 = as many as fit a page, negative = all */
};

/* The files are those of all ranks, or one that they were merged into. */
int report_mpi_put(const struct report_mpi *report, int argc, char **argv, struct bytes *out,
                   struct err *err);
/* Everything but what ranks did with one another, and where, is left behind: a run of many ranks may not fit otherwise. */
void report_mpi_strip(struct recording *recording);

#endif
