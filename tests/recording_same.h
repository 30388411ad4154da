/* recording_same: whether two recordings say the same, field by field, the damage included. */
#ifndef SONDE_TESTS_RECORDING_SAME_H
#define SONDE_TESTS_RECORDING_SAME_H

#include <stdbool.h>
#include <string.h>

#include "store/recording.h"

static inline bool same_definitions(const struct recording *a, const struct recording *b)
{
    bool same = a->strings.count == b->strings.count && a->codes_count == b->codes_count &&
                a->nodes_count == b->nodes_count && a->processes_count == b->processes_count &&
                a->threads_count == b->threads_count;
    for (uint32_t i = 0; same && i < a->strings.count; i++)
        same = strings_size(&a->strings, i) == strings_size(&b->strings, i) &&
               memcmp(strings_text(&a->strings, i), strings_text(&b->strings, i),
                      strings_size(&a->strings, i)) == 0;
    for (uint32_t i = 0; same && i < a->codes_count; i++)
        same = a->codes[i].name == b->codes[i].name && a->codes[i].file == b->codes[i].file &&
               a->codes[i].line == b->codes[i].line && a->codes[i].flags == b->codes[i].flags;
    for (uint32_t i = 0; same && i < a->nodes_count; i++)
        same = a->nodes[i].parent == b->nodes[i].parent && a->nodes[i].code == b->nodes[i].code &&
               a->nodes[i].line == b->nodes[i].line;
    for (uint32_t i = 0; same && i < a->processes_count; i++)
        same = a->processes[i].pid == b->processes[i].pid &&
               a->processes[i].parent == b->processes[i].parent &&
               a->processes[i].exit_code == b->processes[i].exit_code;
    for (uint32_t i = 0; same && i < a->threads_count; i++)
        same = a->threads[i].tid == b->threads[i].tid && a->threads[i].name == b->threads[i].name &&
               a->threads[i].process == b->threads[i].process;
    return same;
}

static inline bool same_rows(const struct recording *a, const struct recording *b)
{
    bool same = a->calls_count == b->calls_count && a->samples_count == b->samples_count &&
                a->functions_count == b->functions_count && a->edges_count == b->edges_count &&
                a->notes_count == b->notes_count && a->metas_count == b->metas_count &&
                a->chunks_count == b->chunks_count;
    for (uint32_t i = 0; same && i < a->calls_count; i++)
        same = a->calls[i].thread == b->calls[i].thread && a->calls[i].node == b->calls[i].node &&
               a->calls[i].calls == b->calls[i].calls && a->calls[i].self_ns == b->calls[i].self_ns;
    for (uint32_t i = 0; same && i < a->samples_count; i++)
        same = a->samples[i].thread == b->samples[i].thread && a->samples[i].node == b->samples[i].node &&
               a->samples[i].time_ns == b->samples[i].time_ns &&
               a->samples[i].weight_ns == b->samples[i].weight_ns &&
               a->samples[i].state == b->samples[i].state;
    same = same && a->sources_count == b->sources_count && a->source_texts.size == b->source_texts.size &&
           (a->source_texts.size == 0 ||
            memcmp(a->source_texts.data, b->source_texts.data, a->source_texts.size) == 0);
    for (uint32_t i = 0; same && i < a->sources_count; i++)
        same =
            a->sources[i].file == b->sources[i].file && a->sources[i].size_bytes == b->sources[i].size_bytes;
    for (uint32_t i = 0; same && i < a->chunks_count; i++)
        same = a->chunks[i].offset == b->chunks[i].offset && a->chunks[i].state == b->chunks[i].state;
    return same;
}

static inline bool same_damage(const struct damage *a, const struct damage *b)
{
    return a->damaged_chunks == b->damaged_chunks && a->orphaned_chunks == b->orphaned_chunks &&
           a->orphaned_rows == b->orphaned_rows && a->unknown_chunks == b->unknown_chunks &&
           a->unknown_records == b->unknown_records && a->skipped_bytes == b->skipped_bytes &&
           a->truncated == b->truncated && a->complete == b->complete;
}

static inline bool recording_same(const struct recording *a, const struct recording *b)
{
    return same_definitions(a, b) && same_rows(a, b) && same_damage(&a->damage, &b->damage);
}

#endif
