#include "analyse/node_table.h"

#include "store/recording.h"

uint32_t node_table_find(struct node_table *table, struct recording *recording, const struct node *node)
{
    uint64_t site_key = map_pair(node->code, node->line);
    uint32_t site = map_get(&table->sites, site_key);
    if (site == MAP_NONE) {
        site = table->sites_count++;
        if (!map_set(&table->sites, site_key, site))
            return 0;
    }
    uint64_t key = map_pair(node->parent, site);
    uint32_t id = map_get(&table->nodes, key);
    if (id != MAP_NONE)
        return id;
    id = recording_add_node(recording, node);
    return id && map_set(&table->nodes, key, id) ? id : 0;
}

void node_table_clear(struct node_table *table)
{
    map_clear(&table->sites);
    map_clear(&table->nodes);
    *table = (struct node_table){0};
}
