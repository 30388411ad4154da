#include "collect/recorder/call_keep.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/cursor.h"
#include "store/writer.h"

#define BLOCK_BYTES (64u << 10)
#define PART        8 /* of the whole is a block at most */

/* Rows of one thread as a record has them (docs/format.md), the first against zero. */
struct call_keep_block {
    struct call_keep_block *next;
    struct bytes rows;
    struct call_event_row before;
    uint64_t calls, lines;
};

static void free_block(struct call_keep_block *block)
{
    bytes_clear(&block->rows);
    free(block);
}

static void forget_first(struct call_keep *keep)
{
    struct call_keep_block *block = keep->first;
    keep->first = block->next;
    keep->used_bytes -= block->rows.size + sizeof *block;
    keep->gone_calls += block->calls;
    keep->gone_lines += block->lines;
    free_block(block);
}

static struct call_keep_block *new_block(struct call_keep *keep)
{
    struct call_keep_block *block = calloc(1, sizeof *block);
    if (!block)
        return NULL;
    while (keep->used_bytes > keep->size_bytes && keep->first != keep->last)
        forget_first(keep);
    if (keep->last)
        keep->last->next = block;
    else
        keep->first = block;
    keep->last = block;
    keep->used_bytes += sizeof *block;
    return block;
}

bool call_keep_add(struct call_keep *keep, const struct call_event_row *row)
{
    struct call_keep_block *block = keep->last;
    uint64_t most = keep->size_bytes / PART < BLOCK_BYTES ? keep->size_bytes / PART : BLOCK_BYTES;
    if (!block || block->rows.size >= most || block->before.thread != row->thread)
        block = new_block(keep);
    if (!block)
        return false;
    size_t before = block->rows.size;
    bytes_put_signed(&block->rows, (int64_t)(row->end_ns - block->before.end_ns));
    bytes_put_varint(&block->rows, row->end_ns - row->start_ns);
    bytes_put_signed(&block->rows, (int64_t)row->node - (int64_t)block->before.node);
    bytes_put_varint(&block->rows, row->line);
    keep->used_bytes += block->rows.size - before;
    block->before = *row;
    block->calls += !row->line;
    block->lines += row->line != 0;
    return !block->rows.failed;
}

static void write_block(const struct call_keep_block *block, struct writer *writer)
{
    struct cursor cursor = cursor_on(block->rows.data, block->rows.size);
    struct call_event_row row = {.thread = block->before.thread};
    while (cursor_left(&cursor)) {
        row.end_ns += (uint64_t)cursor_get_signed(&cursor);
        row.start_ns = row.end_ns - cursor_get_varint(&cursor);
        row.node += (uint32_t)cursor_get_signed(&cursor);
        row.line = (uint32_t)cursor_get_varint(&cursor);
        writer_call_event(writer, &row);
    }
}

uint64_t call_keep_write(struct call_keep *keep, struct writer *writer)
{
    uint64_t count = 0;
    for (const struct call_keep_block *block = keep->first; block; block = block->next) {
        write_block(block, writer);
        count += block->calls + block->lines;
    }
    call_keep_clear(keep);
    return count;
}

void call_keep_clear(struct call_keep *keep)
{
    while (keep->first) {
        struct call_keep_block *block = keep->first;
        keep->first = block->next;
        free_block(block);
    }
    keep->last = NULL;
    keep->used_bytes = 0;
}
