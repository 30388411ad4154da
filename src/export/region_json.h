/* region_json: the regions of a recording added up, and its marks, as fields of a report. */
#ifndef SONDE_EXPORT_REGION_JSON_H
#define SONDE_EXPORT_REGION_JSON_H

struct err;
struct json;
struct recording;
struct selection;

int region_json_put(struct json *json, const struct recording *recording, const struct selection *selection,
                    struct err *err);

#endif
