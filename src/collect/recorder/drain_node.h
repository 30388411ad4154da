/* drain_node: what the recorder knows of a node of an arena, and has written of it so far. Private to the drains. */
#ifndef SONDE_COLLECT_RECORDER_DRAIN_NODE_H
#define SONDE_COLLECT_RECORDER_DRAIN_NODE_H

#include <stdint.h>

#define DRAIN_NODE_SENSELESS UINT32_MAX

struct drain_node {
    uint32_t id;     /* the file's, 0 = a thread's root; DRAIN_NODE_SENSELESS = makes no sense */
    uint32_t parent; /* row in the arena, smaller than its own */
    uint64_t calls, self_ns;
};

#endif
