/*
 * nvtx_in: NVTX ranges and marks of the program's libraries (torch, cupy, NCCL, ...) as regions and marks of the recording. The
 * agent is the tool that they look for: it answers when they ask the environment for one and there is none, and its entry is
 * InitializeInjectionNvtx2. The environment itself stays as it is.
 *
 * A range is called as the library calls it, behind the name of its domain ("NCCL:ncclAllReduce"). Category, colour and
 * payload are not kept. What is pushed ends in its thread; what is started may end in another.
 */
#ifndef SONDE_COLLECT_AGENT_NVTX_IN_H
#define SONDE_COLLECT_AGENT_NVTX_IN_H

struct session;

/* From now on libraries find the agent, if the session wants it. */
void nvtx_in_start(const struct session *session);

#endif
