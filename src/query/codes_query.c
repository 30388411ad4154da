/* codes: every function of a recording by its id, as the page names them; asked for once. */
#include <stdlib.h>

#include "analyse/labels.h"
#include "analyse/own_code.h"
#include "base/err.h"
#include "query/answer.h"
#include "query/opened.h"
#include "query/queries.h"

typedef void put_label(const struct recording *recording, uint32_t code, struct bytes *out);

static void put_file(const struct recording *recording, uint32_t code, struct bytes *out)
{
    bytes_put_text(out, recording_text(recording, recording->codes[code].file));
}

static int put_texts(struct answer *answer, const struct recording *recording, const char *name,
                     put_label *put)
{
    struct bytes text = {0};
    uint32_t *ends = calloc(recording->codes_count + 1, sizeof *ends);
    for (uint32_t code = 0; ends && code < recording->codes_count; code++) {
        if (code)
            put(recording, code, &text);
        ends[code] = (uint32_t)text.size;
    }
    bool failed = !ends || text.failed || text.size > UINT32_MAX;
    if (!failed)
        answer_texts(answer, name, &text, ends, recording->codes_count);
    free(ends);
    bytes_clear(&text);
    return failed ? -1 : 0;
}

static uint8_t flags_of(const struct recording *recording, const struct code *code)
{
    return code->flags | (own_code_is_library(recording, code) ? CODE_LIBRARY : 0);
}

static int put_numbers(struct answer *answer, const struct recording *recording)
{
    uint32_t count = recording->codes_count;
    uint32_t *line = answer_numbers(answer, "line", count);
    for (uint32_t i = 0; line && i < count; i++)
        line[i] = recording->codes[i].line;
    uint32_t *file = answer_numbers(answer, "file_id", count);
    for (uint32_t i = 0; file && i < count; i++)
        file[i] = recording->codes[i].file;
    uint8_t *kind = answer_small(answer, "kind", count);
    for (uint32_t i = 0; kind && i < count; i++)
        kind[i] = recording->codes[i].kind;
    uint8_t *flags = answer_small(answer, "flags", count);
    for (uint32_t i = 0; flags && i < count; i++)
        flags[i] = flags_of(recording, &recording->codes[i]);
    return line && file && kind && flags ? 0 : -1;
}

int codes_query(struct opened *opened, struct opened_recording *row, const struct request *request,
                struct answer *answer, struct err *err)
{
    (void)opened, (void)request;
    const struct recording *recording = &row->recording;
    if (put_texts(answer, recording, "name", labels_brief) < 0 ||
        put_texts(answer, recording, "file", put_file) < 0 ||
        put_texts(answer, recording, "module", labels_module) < 0 || put_numbers(answer, recording) < 0)
        return err_set(err, "not enough memory for the names of %u functions", recording->codes_count);
    return 0;
}
