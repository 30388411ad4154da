#include "export/tau_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "export/tau_text.h"
#include "export/thread_profiles.h"
#include "export/xml_text.h"

static void put_attribute(const char *name, const char *value, void *context)
{
    struct bytes *out = context;
    bytes_put_text(out, "<attribute><name>");
    xml_text_put(out, name, strlen(name));
    bytes_put_text(out, "</name><value>");
    xml_text_put(out, value, strlen(value));
    bytes_put_text(out, "</value></attribute>");
}

static void put_microseconds(uint64_t time_ns, struct bytes *out)
{
    bytes_putf(out, time_ns % 1000 ? " %" PRIu64 ".%03u" : " %" PRIu64, time_ns / 1000,
               (unsigned)(time_ns % 1000));
}

static void put_root(const struct thread_path *root, struct bytes *out)
{
    bytes_putf(out, "\"" TAU_TEXT_ROOT "\" 1 %" PRIu64 " %" PRIu64 " %" PRIu64 " 0 GROUP=\"TAU_DEFAULT\" \n",
               root->child_calls, (root->self_ns + 500) / 1000, (root->total_ns + 500) / 1000);
}

static void put_values(const uint64_t counts[2], const uint64_t times_ns[2], struct bytes *out)
{
    bytes_putf(out, "\" %" PRIu64 " %" PRIu64, counts[0], counts[1]);
    put_microseconds(times_ns[0], out);
    put_microseconds(times_ns[1], out);
}

static void put_functions(const struct tau_text *text, const struct thread_profile *profile,
                          struct bytes *out)
{
    for (uint32_t i = 0; i < profile->function_count; i++) {
        const struct thread_function *row = &profile->functions[i];
        bytes_put_u8(out, '"');
        tau_text_function(text, row->code, out);
        put_values((uint64_t[]){row->calls, row->child_calls}, (uint64_t[]){row->self_ns, row->total_ns},
                   out);
        bytes_putf(out, " 0 GROUP=\"%s\" \n", tau_text_groups[tau_text_group(text, row->code)]);
    }
}

static void put_paths(const struct tau_text *text, const struct thread_profile *profile, struct bytes *out)
{
    for (uint32_t i = 1; i < profile->count; i++) {
        const struct thread_path *row = &profile->paths[i];
        bytes_put_u8(out, '"');
        tau_text_path(text, row->node, out);
        put_values((uint64_t[]){row->calls, row->child_calls}, (uint64_t[]){row->self_ns, row->total_ns},
                   out);
        bytes_putf(out, " 0 GROUP=\"TAU_CALLPATH|%s\" \n", tau_text_groups[tau_text_group(text, row->code)]);
    }
}

struct events {
    struct bytes rows;
    uint32_t count;
};

static void put_event(const char *name, const struct tau_event *event, void *context)
{
    struct events *events = context;
    bytes_putf(&events->rows, "\"%s\" %" PRIu64 " %.17g %.17g %.17g %.17g\n", name, event->count, event->max,
               event->min, event->mean, event->sum_of_squares);
    events->count++;
}

static void put_events(const struct tau_text *text, const struct thread_place *place, struct bytes *out)
{
    struct events events = {0};
    tau_text_events(text, place, put_event, &events);
    bytes_putf(out, "0 aggregates\n%u userevents\n", events.count);
    if (events.count)
        bytes_put_text(out, "# eventname numevents max min mean sumsqr\n");
    bytes_put(out, events.rows.data, events.rows.size);
    out->failed |= events.rows.failed;
    bytes_clear(&events.rows);
}

static void put_profile(const struct tau_text *text, const struct thread_place *place,
                        const struct thread_profile *profile, struct bytes *out)
{
    bytes_putf(out,
               "%u templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl ProfileCalls # <metadata>",
               profile->count + profile->function_count);
    tau_text_metadata(text, place, put_attribute, out);
    bytes_put_text(out, "</metadata>\n");
    put_root(&profile->paths[0], out);
    put_functions(text, profile, out);
    put_paths(text, profile, out);
    put_events(text, place, out);
}

static int write_thread(struct thread_profiles *profiles, const struct tau_text *text,
                        const struct thread_place *place, tau_writer_file *put, void *context,
                        struct err *err)
{
    struct thread_profile profile = {0};
    struct bytes out = {0};
    char name[64];
    int result = thread_profiles_read(profiles, place, &profile, err);
    snprintf(name, sizeof name, "profile.%u.0.%u", place->rank, place->number);
    if (result == 0)
        put_profile(text, place, &profile, &out);
    if (result == 0)
        result = out.failed ? err_set(err, "not enough memory for %s", name) : put(context, name, &out, err);
    bytes_clear(&out);
    thread_profiles_release(&profile);
    return result;
}

int tau_writer_write(const struct recording *recording, const struct selection *selection,
                     tau_writer_file *put, void *context, struct err *err)
{
    struct thread_profiles profiles;
    struct tau_text text = {0};
    if (thread_profiles_init(recording, selection, &profiles, err) < 0)
        return -1;
    int result = tau_text_init(&text, &profiles, err);
    for (uint32_t i = 0; i < profiles.count && result == 0; i++)
        result = write_thread(&profiles, &text, &profiles.places[i], put, context, err);
    tau_text_clear(&text);
    thread_profiles_clear(&profiles);
    return result;
}
