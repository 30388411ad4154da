/* counter_json: the counters of a recording and the figures of each, as JSON: the same for a report and for the page. */
#ifndef SONDE_EXPORT_COUNTER_JSON_H
#define SONDE_EXPORT_COUNTER_JSON_H

struct err;
struct json;
struct recording;
struct series;

/* Keys "counters", a list with the figures of each, and "counter_totals": all of a name added up. */
int counter_json_put(struct json *json, const struct recording *recording, struct err *err);
/* Keys and values of an object that is open: points, first, last, least, most, mean, most_ns. */
void counter_json_put_figures(struct json *json, const struct series *series);

#endif
