/*
 * dump_json: dumps for programs: a list with one object for each thread of each process. The keys that py-spy's has too mean the
 * same: pid, thread_id, thread_name, os_thread_id, active, owns_gil, frames (name, filename, module, short_filename, line,
 * is_entry, locals: name, addr, arg, repr), process_info.
 */
#ifndef SONDE_SHOW_DUMP_JSON_H
#define SONDE_SHOW_DUMP_JSON_H

#include <stddef.h>

struct dump;
struct json;

void dump_json_put(const struct dump *dumps, size_t count, struct json *json);

#endif
