/*
 * report_json: everything a report can show, as one JSON document: run, processes, threads, functions, edges,
 * tree, findings, notes, damage, memory. Times are integer nanoseconds; names of fields end in the unit of the measure
 * that was asked for (self_ns, self_bytes). Functions are named by their index in
 * "functions"; the tree is a list of rows [parent, function, calls, self, total] in which a parent comes
 * before its children and row 0 is the root (its function is -1).
 */
#ifndef SONDE_EXPORT_REPORT_JSON_H
#define SONDE_EXPORT_REPORT_JSON_H

struct bytes;
struct err;
struct recording;
struct selection;

int report_json_put(const struct recording *recording, const struct selection *selection, struct bytes *out,
                    struct err *err);

#endif
