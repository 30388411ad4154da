/*
 * node_table: finds a recording's node by its parent, code and line, and adds it when it is new. A zeroed
 * struct knows no nodes; it belongs to one recording, all of whose nodes come through it. It owns its maps.
 */
#ifndef SONDE_ANALYSE_NODE_TABLE_H
#define SONDE_ANALYSE_NODE_TABLE_H

#include <stdint.h>

#include "base/map.h"

struct node;
struct recording;

struct node_table {
    struct map sites; /* (code, line) → number */
    uint32_t sites_count;
    struct map nodes; /* (parent, site) → node */
};

/* 0 when memory ran out. */
uint32_t node_table_find(struct node_table *table, struct recording *recording, const struct node *node);
void node_table_clear(struct node_table *table);

#endif
