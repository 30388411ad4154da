#include "analyse/findings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/heap_suspects.h"
#include "analyse/mpi_suspects.h"
#include "analyse/suspects.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/quantity.h"
#include "store/recording.h"

#define FINDINGS_MAX_NOTES 4
#define FEW_SAMPLES        20

void findings_clear(struct findings *findings)
{
    for (uint32_t i = 0; i < findings->count; i++)
        free(findings->rows[i].text);
    free(findings->rows);
    *findings = (struct findings){0};
}

int findings_add(struct findings *findings, const char *topic, uint32_t code, double share,
                 struct bytes *text)
{
    bytes_put_u8(text, '\0');
    struct finding *rows = realloc(findings->rows, (findings->count + 1) * sizeof *rows);
    if (rows)
        findings->rows = rows;
    if (!rows || text->failed) {
        bytes_clear(text);
        return -1;
    }
    size_t size;
    rows[findings->count++] = (struct finding){
        .topic = topic, .code = code, .share = share, .text = (char *)bytes_take(text, &size)};
    return 0;
}

/* What is about the run as a whole comes before what is about one detail of it. */
static int rank(const struct finding *finding)
{
    static const char *const first[] = {"late-rank", "hot-function", "hot-line", "flat",
                                        "hot-path",  "peak",         "leak",     NULL};
    bool special = strcmp(finding->topic, "imports") == 0 || strcmp(finding->topic, "waiting") == 0;
    if (special && finding->share >= 0.5)
        return -1;
    for (int i = 0; first[i]; i++)
        if (strcmp(first[i], finding->topic) == 0)
            return i;
    return 100;
}

static int compare(const void *a, const void *b)
{
    const struct finding *left = a, *right = b;
    if (rank(left) != rank(right))
        return rank(left) - rank(right);
    if (left->share != right->share)
        return left->share > right->share ? -1 : 1;
    return strcmp(left->topic, right->topic);
}

static void cut(struct findings *findings, uint32_t limit)
{
    while (findings->count > limit)
        free(findings->rows[--findings->count].text);
}

/* Nothing is said when the share is 0. */
static int add_found(struct findings *findings, const char *topic, uint32_t code, double share,
                     struct bytes *text)
{
    if (share > 0)
        return findings_add(findings, topic, code, share, text);
    bytes_clear(text);
    return 0;
}

static void put_first(struct findings *findings)
{
    if (findings->count)
        qsort(findings->rows, findings->count, sizeof *findings->rows, compare);
    cut(findings, FINDINGS_MAX);
}

static int add_mpi(struct findings *findings, const struct mpi_suspects *suspects)
{
    for (int i = 0; mpi_suspects_list[i].topic; i++) {
        struct bytes text = {0};
        uint32_t code = 0;
        double share = mpi_suspects_list[i].look(suspects, &text, &code);
        if (add_found(findings, mpi_suspects_list[i].topic, code, share, &text) < 0)
            return -1;
    }
    return 0;
}

static int add_measured(struct findings *findings, const struct suspects *suspects)
{
    for (int i = 0; suspects_list[i].topic; i++) {
        struct bytes text = {0};
        uint32_t code = 0;
        double share = suspects_list[i].look(suspects, &text, &code);
        if (add_found(findings, suspects_list[i].topic, code, share, &text) < 0)
            return -1;
    }
    put_first(findings);
    return 0;
}

static int add_memory(struct findings *findings, const struct heap_suspects *suspects)
{
    for (int i = 0; heap_suspects_list[i].topic; i++) {
        struct bytes text = {0};
        uint32_t code = 0;
        double share = heap_suspects_list[i].look(suspects, &text, &code);
        if (add_found(findings, heap_suspects_list[i].topic, code, share, &text) < 0)
            return -1;
    }
    put_first(findings);
    return 0;
}

static const char *note_topic(uint8_t kind)
{
    switch (kind) {
    case NOTE_LOSS:
        return "loss";
    case NOTE_REFUSED:
        return "refused";
    case NOTE_THROTTLED:
        return "throttled";
    case NOTE_CLOCK:
        return "clock";
    case NOTE_END:
        return "end";
    default:
        return "warning";
    }
}

static void put_note(const struct recording *recording, const struct note *note, struct bytes *text)
{
    const char *words = recording_text(recording, note->text);
    if (note->kind == NOTE_LOSS && note->count)
        bytes_putf(text, "Lost: %s %s.", quantity_count(note->count).text, words[0] ? words : "events");
    else
        bytes_putf(text, "%s%s", words, words[0] && words[strlen(words) - 1] == '.' ? "" : ".");
}

static int add_notes(struct findings *findings, const struct recording *recording)
{
    uint32_t said = recording->notes_count < FINDINGS_MAX_NOTES ? recording->notes_count : FINDINGS_MAX_NOTES;
    for (uint32_t i = 0; i < said; i++) {
        struct bytes text = {0};
        put_note(recording, &recording->notes[i], &text);
        if (findings_add(findings, note_topic(recording->notes[i].kind), 0, 0, &text) < 0)
            return -1;
    }
    if (said == recording->notes_count)
        return 0;
    struct bytes text = {0};
    bytes_putf(&text, "There are %u more notes: see `sonde info`.", recording->notes_count - said);
    return findings_add(findings, "warning", 0, 0, &text);
}

static int add_damage(struct findings *findings, const struct recording *recording)
{
    const struct damage *damage = &recording->damage;
    struct bytes text = {0};
    if (damage->damaged_chunks || damage->orphaned_chunks)
        bytes_putf(&text,
                   "The file is damaged: %" PRIu64
                   " of its chunks could not be read and are missing from these numbers.",
                   damage->damaged_chunks + damage->orphaned_chunks);
    else if (damage->truncated)
        bytes_put_text(&text, "The file is cut off: what came after the last whole chunk is missing.");
    else if (recording->chunks_count && !damage->complete)
        bytes_put_text(&text,
                       "The recording was not closed: what came after the last checkpoint is missing.");
    if (text.size && findings_add(findings, "damage", 0, 0, &text) < 0)
        return -1;
    if (!damage->unknown_chunks)
        return 0;
    bytes_putf(&text, "%" PRIu64 " chunks were written by a newer sonde and are not shown.",
               damage->unknown_chunks);
    return findings_add(findings, "damage", 0, 0, &text);
}

static int out_of_memory(struct err *err)
{
    return err_set(err, "not enough memory for the findings");
}

/* Shares of few samples are chance. Where the rate is not known they may be another's counts, not looks at a clock. */
static bool are_few(const struct recording *recording, const struct functions *functions)
{
    return functions->sampled && functions->total_samples < FEW_SAMPLES &&
           recording_meta(recording, "rate_hz");
}

static int add_few(struct findings *findings, const struct recording *recording,
                   const struct functions *functions)
{
    struct bytes text = {0};
    if (!functions->total_samples && recording->samples_count)
        return 0; /* all of them sleep, or are elsewhere */
    if (!functions->total_samples)
        bytes_put_text(&text, "No sample was taken: the program was too short for this rate (-r), or the "
                              "machine too busy to look at it.");
    else
        bytes_putf(&text,
                   "There %s only %u sample%s, too few to say what takes the time: run it longer, or sample "
                   "more often (-r).",
                   functions->total_samples == 1 ? "is" : "are", (unsigned)functions->total_samples,
                   functions->total_samples == 1 ? "" : "s");
    return findings_add(findings, "few-samples", 0, 0, &text);
}

static int look_at_time(const struct recording *recording, const struct selection *selection,
                        const struct functions *functions, const struct tree *tree, struct findings *findings,
                        struct err *err)
{
    struct suspects suspects;
    if (are_few(recording, functions))
        return add_few(findings, recording, functions) < 0 ? out_of_memory(err) : 0;
    int result = suspects_init(&suspects, recording, selection, functions, tree, err);
    if (result == 0 && add_measured(findings, &suspects) < 0)
        result = out_of_memory(err);
    suspects_clear(&suspects);
    return result;
}

int findings_add_mpi(struct findings *findings, const struct recording *recording, struct err *err)
{
    struct mpi_suspects suspects;
    if (!mpi_suspects_has(recording))
        return 0;
    if (mpi_suspects_init(&suspects, recording, err) < 0)
        return -1;
    int result = add_mpi(findings, &suspects) < 0 ? out_of_memory(err) : 0;
    mpi_suspects_clear(&suspects);
    return result;
}

static int look_at_memory(const struct recording *recording, const struct selection *selection,
                          struct findings *findings, struct err *err)
{
    struct heap_suspects suspects;
    int result = heap_suspects_init(&suspects, recording, selection, err);
    if (result == 0 && add_memory(findings, &suspects) < 0)
        result = out_of_memory(err);
    heap_suspects_clear(&suspects);
    return result;
}

/* What else was recorded in the same run: memory beside time, or time beside memory. */
static int look_at_the_other(const struct recording *recording, const struct selection *selection,
                             enum measure shown, struct findings *findings, struct err *err)
{
    enum measure other = measure_is_memory(shown) ? MEASURE_TIME : MEASURE_PEAK;
    struct selection chosen = selection ? *selection : (struct selection){0};
    struct functions functions;
    chosen.measure = other;
    if (!measure_is_offered(recording, other))
        return 0;
    if (other == MEASURE_PEAK)
        return look_at_memory(recording, &chosen, findings, err);
    if (functions_build(recording, &chosen, &functions, err) < 0)
        return -1;
    int result = look_at_time(recording, &chosen, &functions, NULL, findings, err);
    functions_clear(&functions);
    return result;
}

int findings_build_from(const struct recording *recording, const struct selection *selection,
                        const struct functions *functions, const struct tree *tree, struct findings *findings,
                        struct err *err)
{
    *findings = (struct findings){0};
    int result = findings_add_mpi(findings, recording, err);
    if (result == 0)
        result = measure_is_memory(functions->measure)
                     ? look_at_memory(recording, selection, findings, err)
                     : look_at_time(recording, selection, functions, tree, findings, err);
    if (result == 0)
        result = look_at_the_other(recording, selection, functions->measure, findings, err);
    if (result == 0 && (add_notes(findings, recording) < 0 || add_damage(findings, recording) < 0))
        result = out_of_memory(err);
    if (result < 0)
        findings_clear(findings);
    return result;
}

int findings_build(const struct recording *recording, const struct selection *selection,
                   struct findings *findings, struct err *err)
{
    struct functions functions;
    *findings = (struct findings){0};
    if (functions_build(recording, selection, &functions, err) < 0)
        return -1;
    int result = findings_build_from(recording, selection, &functions, NULL, findings, err);
    functions_clear(&functions);
    return result;
}
