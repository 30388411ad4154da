/*
 * nvtx_out: regions and marks of this process, of Python and of C, told to NVTX as ranges of the domain "sonde", for a tool that
 * listens (nsys, ncu). Names are registered strings: tools can be told to wait for those. Needs neither CUDA nor NVTX; without
 * a tool in the environment when the first name is asked for, nothing is loaded, and events cost what they always cost.
 *
 * Ranges of NVTX lie within each other in each thread, which regions need not (tasks of an event loop, greenlets): one that
 * ends before one that began later has both ended, and the later one begun again.
 */
#ifndef SONDE_COLLECT_AGENT_NVTX_OUT_H
#define SONDE_COLLECT_AGENT_NVTX_OUT_H

struct session;

/* If the session wants it. After zones_begin. */
void nvtx_out_start(const struct session *session);

#endif
