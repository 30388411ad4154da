/* own_library: which of the loaded objects is the one that this code is in. */
#ifndef SONDE_COLLECT_AGENT_OWN_LIBRARY_H
#define SONDE_COLLECT_AGENT_OWN_LIBRARY_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* Where an object's segment with that address lies: [low, high). False when none of it holds the address. For
 * dl_iterate_phdr. */
static inline bool own_library_find(const struct dl_phdr_info *info, uint64_t address, uint64_t *low,
                                    uint64_t *high)
{
    for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        *low = info->dlpi_addr + segment->p_vaddr;
        *high = *low + segment->p_memsz;
        if (segment->p_type == PT_LOAD && address >= *low && address < *high)
            return true;
    }
    return false;
}

#endif
