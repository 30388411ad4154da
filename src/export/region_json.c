#include "export/region_json.h"

#include "analyse/regions.h"
#include "analyse/tree.h"
#include "base/json.h"
#include "store/recording.h"

static void put_string(struct json *json, const char *key, const struct recording *recording, uint32_t string)
{
    json_key(json, key);
    json_text(json, recording_text(recording, string), strings_size(&recording->strings, string));
}

static void put_processes(struct json *json, const struct regions_row *row)
{
    json_put_unsigned(json, "processes", row->processes);
    json_put_unsigned(json, "least_process", row->least_process);
    json_put_unsigned(json, "least_process_ns", row->least_process_ns);
    json_put_unsigned(json, "most_process", row->most_process);
    json_put_unsigned(json, "most_process_ns", row->most_process_ns);
}

static void put_row(struct json *json, const struct recording *recording, const struct regions_row *row)
{
    json_begin_row(json);
    put_string(json, "name", recording, recording->regions[row->region].name);
    json_put_unsigned(json, "calls", row->count);
    json_put_unsigned(json, "not_ended", row->open);
    json_put_unsigned(json, "total_ns", row->total_ns);
    json_put_unsigned(json, "self_ns", row->self_ns);
    json_put_unsigned(json, "min_ns", row->least_ns);
    json_put_unsigned(json, "max_ns", row->most_ns);
    if (row->processes)
        put_processes(json, row);
    json_end_object(json);
}

static void put_marks(struct json *json, const struct recording *recording, const struct selection *selection)
{
    json_begin_list(json, "marks");
    for (uint32_t i = 0; i < recording->marks_count; i++) {
        const struct mark_row *row = &recording->marks[i];
        if (!tree_selection_has(selection, recording, row->thread))
            continue;
        json_begin_row(json);
        json_put_unsigned(json, "time_ns", row->time_ns);
        json_put_unsigned(json, "thread", row->thread);
        put_string(json, "name", recording, row->name);
        put_string(json, "text", recording, row->text);
        json_end_object(json);
    }
    json_end_array(json);
}

int region_json_put(struct json *json, const struct recording *recording, const struct selection *selection,
                    struct err *err)
{
    struct regions regions;
    if (recording->marks_count)
        put_marks(json, recording, selection);
    if (!recording->region_events_count)
        return 0;
    if (regions_build(recording, selection, &regions, err) < 0)
        return -1;
    json_begin_list(json, "regions");
    for (uint32_t i = 0; i < regions.count; i++)
        put_row(json, recording, &regions.rows[i]);
    json_end_array(json);
    regions_clear(&regions);
    return 0;
}
