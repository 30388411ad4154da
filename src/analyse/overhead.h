/* overhead: what recording is estimated to have cost the program. */
#ifndef SONDE_ANALYSE_OVERHEAD_H
#define SONDE_ANALYSE_OVERHEAD_H

struct functions;
struct recording;

/* 0 = not known. */
struct overhead {
    double ns;
    double
        share; /* of the run for samples; of all threads' time for calls, each of which costs its own thread */
};

struct overhead overhead_of(const struct recording *recording, const struct functions *functions);

#endif
