#include "collect/recorder/open_regions.h"

#include <stdlib.h>
#include <string.h>

#define OPEN_MAX (1u << 20)
/* So many of the innermost are looked at: as far as readers of the file do. */
#define REACH 4096

void open_regions_clear(struct open_regions *regions)
{
    free(regions->rows);
    *regions = (struct open_regions){0};
}

bool open_regions_add(struct open_regions *regions, const struct open_region *region)
{
    if (regions->count == regions->capacity) {
        uint32_t capacity = regions->capacity * 2 + 16;
        struct open_region *grown =
            regions->count < OPEN_MAX ? realloc(regions->rows, capacity * sizeof *grown) : NULL;
        if (!grown)
            return false;
        regions->rows = grown;
        regions->capacity = capacity;
    }
    regions->rows[regions->count++] = *region;
    return true;
}

uint32_t open_regions_find(const struct open_regions *regions, uint32_t region, uint64_t owner,
                           uint64_t before_ticks)
{
    uint32_t last = regions->count > REACH ? regions->count - REACH : 0;
    for (uint32_t place = regions->count; place-- > last;) {
        const struct open_region *row = &regions->rows[place];
        if (row->region == region && row->owner == owner && row->ticks < before_ticks)
            return place;
    }
    return OPEN_REGIONS_NONE;
}

uint32_t open_regions_back(const struct open_regions *regions, uint32_t place, uint64_t ticks)
{
    uint32_t back = 0;
    for (uint32_t i = place + 1; i < regions->count; i++)
        back += regions->rows[i].region == regions->rows[place].region && regions->rows[i].ticks <= ticks;
    return back;
}

void open_regions_remove(struct open_regions *regions, uint32_t place)
{
    regions->count--;
    memmove(regions->rows + place, regions->rows + place + 1,
            (regions->count - place) * sizeof *regions->rows);
}
