#include "store/writer_tables.h"

#include <stdarg.h>

#include "base/err.h"

uint32_t writer_tables_fail(struct writer *writer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err_set_list(&writer->gather.err, format, args);
    va_end(args);
    return 0;
}

uint32_t writer_tables_fail_memory(struct writer *writer)
{
    return writer_tables_fail(writer, "out of memory while writing a recording");
}

bool writer_tables_failed(const struct writer *writer)
{
    return gather_failed(&writer->gather);
}

bool writer_tables_knows_strings(struct writer *writer, const uint32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ids[i] >= writer->known.strings.count)
            return writer_tables_fail(writer, "a definition names string %u, which was never defined",
                                      ids[i]);
    }
    return true;
}

bool writer_tables_knows(struct writer *writer, const char *what, uint32_t id, uint32_t count)
{
    return id < count || writer_tables_fail(writer, "%s %u was never defined", what, id);
}

bool writer_tables_knows_thread(struct writer *writer, uint32_t id)
{
    return writer_tables_knows(writer, "thread", id, writer->threads.threads + 1);
}

bool writer_tables_begin_data(struct writer *writer, uint32_t thread, uint32_t node)
{
    if (writer_tables_failed(writer) || !writer_tables_knows_thread(writer, thread) ||
        !writer_tables_knows(writer, "node", node, writer->known.nodes_count))
        return false;
    gather_data_of(&writer->gather, thread_owners_process(&writer->threads, thread));
    return true;
}
