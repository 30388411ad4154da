/* loss_notes: what a process lost or must be told of, as a note of the file, if it happened at all. */
#ifndef SONDE_COLLECT_RECORDER_LOSS_NOTES_H
#define SONDE_COLLECT_RECORDER_LOSS_NOTES_H

#include <stdint.h>
#include <string.h>

#include "store/writer.h"

static inline void loss_notes_put(struct writer *writer, uint32_t process, enum note_kind kind,
                                  uint64_t count, const char *text)
{
    const struct note row = {.process = process,
                             .kind = (uint8_t)kind,
                             .count = count,
                             .text = writer_string(writer, text, strlen(text))};
    if (count)
        writer_note(writer, &row);
}

#endif
