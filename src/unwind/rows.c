#include "unwind/rows.h"

/* An array lies behind the head, aligned, within the image. */
static bool fits(const struct rows *rows, uint64_t at, uint64_t count, size_t width, size_t alignment)
{
    return at >= sizeof *rows && at % alignment == 0 && at <= rows->size_bytes &&
           count <= (rows->size_bytes - at) / width;
}

static bool check_arrays(const struct rows *rows)
{
    uint64_t buckets = (uint64_t)rows->bucket_count + 1;
    return fits(rows, rows->buckets_at, buckets, sizeof(uint32_t), _Alignof(uint32_t)) &&
           fits(rows, rows->rules_at, rows->rule_count, sizeof(struct rows_rule),
                _Alignof(struct rows_rule)) &&
           fits(rows, rows->row_rules_at, rows->row_count, sizeof(uint16_t), _Alignof(uint16_t)) &&
           fits(rows, rows->row_bytes_at, rows->row_count, 1, 1);
}

static bool check_buckets(const struct rows *rows)
{
    const uint32_t *buckets = (const uint32_t *)((const char *)rows + rows->buckets_at);
    for (uint32_t index = 0; index < rows->bucket_count; index++)
        if (buckets[index] > buckets[index + 1])
            return false;
    return buckets[rows->bucket_count] == rows->row_count;
}

static bool check_rules(const struct rows *rows)
{
    const uint16_t *row_rules = (const uint16_t *)((const char *)rows + rows->row_rules_at);
    for (uint32_t index = 0; index < rows->row_count; index++)
        if (row_rules[index] >= rows->rule_count)
            return false;
    for (uint32_t index = 0; index < rows->rule_count; index++) {
        const struct rows_rule *rule = rows_rule(rows, index);
        if (rule->cfa > ROWS_CFA_END || rule->cfa_register >= 32)
            return false;
        for (unsigned which = 0; which < ROWS_FOLLOWED; which++)
            if (rule->saved[which].place > ROWS_LOST ||
                (rule->saved[which].place == ROWS_IN && (uint16_t)rule->saved[which].offset >= 32))
                return false;
    }
    return rows->rule_count && rows_rule(rows, 0)->cfa == ROWS_CFA_UNKNOWN;
}

bool rows_check(const void *data, size_t size)
{
    const struct rows *rows = data;
    if (size < sizeof *rows || (uintptr_t)data % _Alignof(struct rows) || rows->magic != ROWS_MAGIC)
        return false;
    if (rows->size_bytes > size || rows->start > rows->end || rows->end - rows->start > ROWS_SPAN_MAX)
        return false;
    uint64_t buckets = (rows->end - rows->start + (1u << ROWS_BUCKET_SHIFT) - 1) >> ROWS_BUCKET_SHIFT;
    return rows->bucket_count == buckets && check_arrays(rows) && check_buckets(rows) && check_rules(rows);
}
