/* info_json: what is inside a recording, for programs: nothing left out that info_text shortens. */
#ifndef SONDE_SHOW_INFO_JSON_H
#define SONDE_SHOW_INFO_JSON_H

#include <stdbool.h>

struct json;
struct recording;

/* One object. With `each_chunk` it lists every chunk. */
void info_json_put(const struct recording *recording, const char *name, bool each_chunk, struct json *json);

#endif
