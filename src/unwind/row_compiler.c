#include "unwind/row_compiler.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/map.h"
#include "unwind/cfi.h"
#include "unwind/depth.h"
#include "unwind/eh_frame.h"
#include "unwind/reworked.h"
#include "unwind/throwing.h"

/* Gaps between functions are padding up to this size: no row is spent on them. */
#define PADDING_MAX 16

struct row {
    uint32_t inside; /* bytes from the start */
    uint16_t rule;
};

struct compiler {
    uint64_t start;
    uint64_t limit;      /* rows of the function in work lie below */
    uint64_t function;   /* its start */
    const uint8_t *code; /* of it */
    uint64_t next;       /* where the last function ended */
    struct bytes rows;
    struct bytes rules;
    struct map numbers; /* hash of a rule → its number */
    struct rows_rule last_rule;
    uint32_t last_inside;
    bool has_rows;
    bool is_reworked;
    struct bytes described; /* struct cfi_row: of the function in work, as its description says */
    struct bytes mended;    /* the same, where a description is not to be trusted */
    struct bytes scratch;
};

static const struct rows_rule unknown = {.cfa = ROWS_CFA_UNKNOWN};

static size_t rule_count(const struct compiler *compiler)
{
    return compiler->rules.size / sizeof(struct rows_rule);
}

/* The rule's number, given on first use; 0 ("unknown") when there are too many. */
static uint16_t number_of(struct compiler *compiler, const struct rows_rule *rule)
{
    uint64_t hash = map_hash_bytes(rule, sizeof *rule);
    uint32_t number;
    while ((number = map_get(&compiler->numbers, hash)) != MAP_NONE) {
        if (memcmp(compiler->rules.data + number * sizeof *rule, rule, sizeof *rule) == 0)
            return (uint16_t)number;
        hash++;
    }
    number = (uint32_t)rule_count(compiler);
    if (number >= ROWS_RULES_MAX || !map_set(&compiler->numbers, hash, number))
        return 0;
    bytes_put(&compiler->rules, rule, sizeof *rule);
    return (uint16_t)number;
}

static void put_row(struct compiler *compiler, uint64_t address, const struct rows_rule *rule)
{
    bool same = compiler->has_rows && memcmp(&compiler->last_rule, rule, sizeof *rule) == 0;
    if (same)
        return;
    struct row row = {.inside = (uint32_t)(address - compiler->start), .rule = number_of(compiler, rule)};
    if (compiler->has_rows && compiler->last_inside == row.inside)
        compiler->rows.size -= sizeof row;
    bytes_put(&compiler->rows, &row, sizeof row);
    compiler->last_rule = *rule;
    compiler->last_inside = row.inside;
    compiler->has_rows = true;
}

/* The function in work leaves for a frame that catches: the last part of its code before has rows of its own. */
static void put_throw(struct compiler *compiler, uint64_t leave)
{
    struct rows_rule rule = compiler->last_rule;
    uint64_t last = compiler->start + compiler->last_inside;
    uint64_t begin = compiler->function + throwing_end(compiler->code, leave - compiler->function, &rule);
    if (last >= compiler->function && begin < leave)
        put_row(compiler, begin > last ? begin : last, &rule);
}

static bool emit(void *context, uint64_t address, const struct rows_rule *rule)
{
    struct compiler *compiler = context;
    struct rows_rule plain = *rule;
    plain.saved[ROWS_RETURN].may_throw = 0;
    if (address < compiler->limit && throwing_leaves(rule))
        put_throw(compiler, address);
    if (address < compiler->limit)
        put_row(compiler, address, &plain);
    return !compiler->rows.failed && !compiler->rules.failed;
}

static bool gather(struct compiler *compiler, struct bytes *rows, uint64_t address,
                   const struct rows_rule *rule)
{
    const struct cfi_row row = {.address = address, .rule = *rule};
    if (address < compiler->limit)
        bytes_put(rows, &row, sizeof row);
    return !rows->failed;
}

static bool gather_described(void *context, uint64_t address, const struct rows_rule *rule)
{
    struct compiler *compiler = context;
    return gather(compiler, &compiler->described, address, rule);
}

static bool gather_mended(void *context, uint64_t address, const struct rows_rule *rule)
{
    struct compiler *compiler = context;
    return gather(compiler, &compiler->mended, address, rule);
}

static struct cfi_function function_of(const struct compiler *compiler, const struct bytes *rows)
{
    return (struct cfi_function){
        .code = compiler->code,
        .size = compiler->limit - compiler->function,
        .start = compiler->function,
        .rows = (const struct cfi_row *)(const void *)rows->data,
        .row_count = rows->size / sizeof(struct cfi_row),
    };
}

static bool add_rows(struct compiler *compiler, const struct eh_frame_description *description)
{
    bytes_reset(&compiler->described);
    bytes_reset(&compiler->mended);
    bool whole = cfi_run(description, gather_described, compiler);
    struct cfi_function function = function_of(compiler, &compiler->described);
    if (compiler->is_reworked && function.row_count) {
        whole &= reworked_mend(&function, &compiler->scratch, gather_mended, compiler);
        function = function_of(compiler, &compiler->mended);
    }
    return function.row_count && depth_note(&function, &compiler->scratch, emit, compiler) && whole;
}

/* One function's rows, cut at the next function's start; afterwards "unknown" where a real gap follows. */
static bool add_function(struct compiler *compiler, const struct elf_image *image,
                         const struct eh_frame_entry *entry, uint64_t next_start)
{
    struct eh_frame_description description;
    const struct elf_image_segment *segment = elf_image_code(image, entry->start);
    if (!segment || !eh_frame_describe(&description, image, entry))
        return false;
    uint64_t segment_left = segment->address + segment->size_bytes - entry->start;
    uint64_t end =
        description.end - entry->start > segment_left ? entry->start + segment_left : description.end;
    if (end > next_start)
        end = next_start;
    if (end - compiler->start > ROWS_SPAN_MAX)
        return false;
    if (compiler->has_rows && entry->start - compiler->next >= PADDING_MAX)
        put_row(compiler, compiler->next, &unknown);
    compiler->limit = end;
    compiler->function = entry->start;
    compiler->code = elf_image_at(image, entry->start).at;
    bool whole = add_rows(compiler, &description);
    compiler->next = end;
    return whole;
}

static void add_functions(struct compiler *compiler, const struct elf_image *image,
                          const struct eh_frame_list *list, struct row_compiler_counts *counts)
{
    for (size_t index = 0; index < list->count; index++) {
        uint64_t next_start = index + 1 < list->count ? list->entries[index + 1].start : UINT64_MAX;
        if (!compiler->has_rows)
            compiler->start = compiler->next = list->entries[index].start;
        counts->functions++;
        if (!add_function(compiler, image, &list->entries[index], next_start))
            counts->left_out++;
    }
}

static uint64_t place_array(uint64_t *size, size_t width, uint64_t count)
{
    uint64_t at = (*size + 7) & ~(uint64_t)7;
    *size = at + width * count;
    return at;
}

static struct rows head_of(const struct compiler *compiler, const struct elf_image *image)
{
    struct rows head = {.magic = ROWS_MAGIC, .machine = image->machine};
    head.is_reworked = compiler->is_reworked;
    head.row_count = (uint32_t)(compiler->rows.size / sizeof(struct row));
    head.rule_count = (uint32_t)rule_count(compiler);
    head.start = head.row_count ? compiler->start : 0;
    head.end = head.row_count ? compiler->next : 0;
    head.bucket_count =
        (uint32_t)((head.end - head.start + (1u << ROWS_BUCKET_SHIFT) - 1) >> ROWS_BUCKET_SHIFT);
    uint64_t size = sizeof head;
    head.buckets_at = place_array(&size, sizeof(uint32_t), (uint64_t)head.bucket_count + 1);
    head.rules_at = place_array(&size, sizeof(struct rows_rule), head.rule_count);
    head.row_rules_at = place_array(&size, sizeof(uint16_t), head.row_count);
    head.row_bytes_at = place_array(&size, 1, head.row_count);
    head.size_bytes = size;
    return head;
}

static void fill(struct rows *rows, const struct compiler *compiler)
{
    char *image = (char *)rows;
    uint32_t *buckets = (uint32_t *)(void *)(image + rows->buckets_at);
    uint16_t *row_rules = (uint16_t *)(void *)(image + rows->row_rules_at);
    uint8_t *row_bytes = (uint8_t *)image + rows->row_bytes_at;
    const struct row *source = (const struct row *)(const void *)compiler->rows.data;
    uint32_t bucket = 0;
    for (uint32_t index = 0; index < rows->row_count; index++) {
        while (bucket <= source[index].inside >> ROWS_BUCKET_SHIFT)
            buckets[bucket++] = index;
        row_rules[index] = source[index].rule;
        row_bytes[index] = (uint8_t)source[index].inside;
    }
    while (bucket <= rows->bucket_count)
        buckets[bucket++] = rows->row_count;
    memcpy(image + rows->rules_at, compiler->rules.data, compiler->rules.size);
}

static struct rows *build(const struct compiler *compiler, const struct elf_image *image, struct err *err)
{
    struct rows head = head_of(compiler, image);
    struct rows *rows = compiler->rows.failed || compiler->rules.failed ? NULL : calloc(1, head.size_bytes);
    if (!rows) {
        err_set(err, "no memory for %u unwind rows", head.row_count);
        return NULL;
    }
    *rows = head;
    fill(rows, compiler);
    return rows;
}

struct rows *row_compiler_new(const struct elf_image *image, struct row_compiler_counts *counts,
                              struct err *err)
{
    struct eh_frame_list list = {0};
    struct compiler compiler = {0};
    struct row_compiler_counts ignored;
    counts = counts ? counts : &ignored;
    *counts = (struct row_compiler_counts){0};
    if (image->machine != EM_X86_64) {
        err_set(err, "unwinding is not supported on this machine type (ELF machine %u); x86-64 is",
                image->machine);
        return NULL;
    }
    if (eh_frame_list(&list, image, err) < 0)
        return NULL;
    bytes_put(&compiler.rules, &unknown, sizeof unknown);
    map_set(&compiler.numbers, map_hash_bytes(&unknown, sizeof unknown), 0);
    compiler.is_reworked =
        elf_image_has_section(image, ".bolt.") || elf_image_has_section(image, ".note.bolt");
    add_functions(&compiler, image, &list, counts);
    struct rows *rows = build(&compiler, image, err);
    eh_frame_clear(&list);
    bytes_clear(&compiler.rows);
    bytes_clear(&compiler.rules);
    bytes_clear(&compiler.described);
    bytes_clear(&compiler.mended);
    bytes_clear(&compiler.scratch);
    map_clear(&compiler.numbers);
    return rows;
}
