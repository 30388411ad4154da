/*
 * Any bytes as the source of a function whose lines were timed: the end of the function is found within them, and the
 * report shows every timed line and no control character.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/source_block.h"
#include "base/bytes.h"
#include "show/report_text.h"
#include "store/recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact)
{
    if (!fact)
        abort();
}

static void make(struct recording *recording, const void *source, size_t size, uint32_t first, uint32_t timed)
{
    require(recording_init(recording, NULL) == 0);
    uint32_t name = strings_intern_text(&recording->strings, "f");
    struct code code = {.name = name, .qualname = name, .file = name, .line = first, .kind = CODE_PYTHON};
    recording_add_code(recording, &code);
    recording_add_line(recording, &(struct line_row){0, 1, timed, 3, 30, 20, 5, 9});
    recording_add_source(recording, name, source, size);
}

static void check_report(const struct recording *recording, uint32_t timed)
{
    struct bytes out = {0};
    const struct report_options options = {.extremes = true, .summarize = true};
    char row[32];
    require(report_text_put(recording, &options, &out, NULL) == 0);
    for (size_t i = 0; i < out.size; i++)
        require(out.data[i] >= 0x20 || out.data[i] == '\n' || out.data[i] == '\t');
    int row_size = snprintf(row, sizeof row, "\n%6u         3 ", timed);
    require(memmem(out.data, out.size, row, (size_t)row_size));
    bytes_clear(&out);
}

/* The first two bytes say where the function begins and which line was timed. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct recording recording = {0};
    if (size < 3)
        return 0;
    uint32_t first = 1 + data[0] % 8, timed = 1 + data[1] % 32;
    make(&recording, data + 2, size - 2, first, timed);
    const char *source = recording_source_text(&recording, recording.sources);
    require(source_block_lines(source, size - 2, first) <= size);
    check_report(&recording, timed);
    recording_clear(&recording);
    return 0;
}
