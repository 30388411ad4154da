#include "collect/agent/nvtx_out.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collect/agent/event_area.h"
#include "collect/agent/nvtx_abi.h"
#include "collect/agent/own_memory.h"
#include "collect/agent/session.h"
#include <sonde/zones.h>

#define DOMAIN       "sonde"
#define OPEN_MAX     1024 /* ranges within each other in a thread; deeper ones are not told */
#define TEXT_BYTES   1024 /* of a name or mark */
#define MODULE_SLOTS 16   /* no module has more functions */

extern struct sonde_zones sonde_zones; /* zones.c */

static const struct session *session;
static struct sonde_zones plain; /* as they were */

/* The functions that the tool has written, by module and number. */
static nvtx_abi_function *functions[NVTX_ABI_MODULES][MODULE_SLOTS];
static nvtx_abi_function **places[NVTX_ABI_MODULES][MODULE_SLOTS + 1];
static const uint32_t function_counts[NVTX_ABI_MODULES] = {0, 16, 9, 15, 7, 16, 7};

static struct {
    void *domain; /* NULL = there is no tool */
    nvtx_abi_domain_push *push;
    nvtx_abi_domain_pop *pop;
    nvtx_abi_domain_mark *mark;
    nvtx_abi_register_string *register_string;
} tool;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *registered[EVENT_AREA_NAMES]; /* by name: what the tool gave for it */

/* The regions that a thread is in, the innermost last. */
struct open_ranges {
    uint32_t count, untold; /* untold: those beyond */
    uint32_t regions[OPEN_MAX];
};
static __thread struct open_ranges *open __attribute__((tls_model("initial-exec")));
static pthread_key_t at_thread_end;

/* ---- meeting the tool ---- */

static int get_module(uint32_t module, nvtx_abi_function ****found, uint32_t *count)
{
    if (module == 0 || module >= NVTX_ABI_MODULES)
        return 0;
    for (uint32_t i = 1; i < function_counts[module]; i++)
        places[module][i] = &functions[module][i];
    if (found)
        *found = places[module];
    if (count)
        *count = function_counts[module];
    return 1;
}

static void take_version(uint32_t version)
{
    (void)version;
}

static const void *get_table(uint32_t table)
{
    static const struct nvtx_abi_callbacks callbacks = {sizeof callbacks, get_module};
    static const struct nvtx_abi_version_info version = {
        .struct_bytes = sizeof version, .version = NVTX_ABI_VERSION, .set_tool_version = take_version};
    if (table == NVTX_ABI_CALLBACKS)
        return &callbacks;
    return table == NVTX_ABI_VERSION_INFO ? &version : NULL;
}

/* The agent is a tool as well (nvtx_in.h), but has these regions already. */
static bool load_tool(void)
{
    const char *path = getenv(NVTX_ABI_VARIABLE);
    if (!path || !*path || strcmp(path, session->agent) == 0)
        return false;
    void *library = dlopen(path, RTLD_LAZY);
    nvtx_abi_initialize *initialize = library ? (nvtx_abi_initialize *)dlsym(library, NVTX_ABI_ENTRY) : NULL;
    return initialize && initialize(get_table) != 0;
}

static void put_back(void)
{
    sonde_zones.name = plain.name;
    sonde_zones.begin = plain.begin;
    sonde_zones.end = plain.end;
    sonde_zones.begin_for = plain.begin_for;
    sonde_zones.end_for = plain.end_for;
    sonde_zones.mark = plain.mark;
}

static void meet_tool(void)
{
    bool is_there = load_tool();
    nvtx_abi_function **written = functions[NVTX_ABI_DOMAINS];
    nvtx_abi_create_domain *create = (nvtx_abi_create_domain *)written[NVTX_ABI_CREATE_DOMAIN];
    tool.push = (nvtx_abi_domain_push *)written[NVTX_ABI_DOMAIN_PUSH];
    tool.pop = (nvtx_abi_domain_pop *)written[NVTX_ABI_DOMAIN_POP];
    tool.mark = (nvtx_abi_domain_mark *)written[NVTX_ABI_DOMAIN_MARK];
    tool.register_string = (nvtx_abi_register_string *)written[NVTX_ABI_REGISTER_STRING];
    if (is_there && create && tool.push && tool.pop && tool.register_string)
        tool.domain = create(DOMAIN);
    if (!tool.domain)
        put_back();
}

/* ---- names ---- */

static void register_name(uint32_t id, const char *utf8, size_t bytes)
{
    char text[TEXT_BYTES];
    size_t size = bytes < sizeof text ? bytes : sizeof text - 1;
    memcpy(text, utf8, size);
    text[size] = '\0';
    pthread_mutex_lock(&lock);
    if (!registered[id])
        __atomic_store_n(&registered[id], tool.register_string(tool.domain, text), __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

static uint32_t name(uint32_t kind, const char *utf8, size_t bytes)
{
    uint32_t id = plain.name(kind, utf8, bytes);
    pthread_once(&once, meet_tool);
    bool told = kind == SONDE_REGION || kind == SONDE_MARK;
    if (tool.domain && told && id && id < EVENT_AREA_NAMES &&
        !__atomic_load_n(&registered[id], __ATOMIC_ACQUIRE))
        register_name(id, utf8, bytes);
    return id;
}

static struct nvtx_abi_attributes attributes_of(uint32_t id)
{
    return (struct nvtx_abi_attributes){
        .version = NVTX_ABI_VERSION,
        .struct_bytes = sizeof(struct nvtx_abi_attributes),
        .message_kind = NVTX_ABI_REGISTERED,
        .message.registered =
            id < EVENT_AREA_NAMES ? __atomic_load_n(&registered[id], __ATOMIC_ACQUIRE) : NULL,
    };
}

/* ---- ranges ---- */

static void push(uint32_t region)
{
    struct nvtx_abi_attributes attributes = attributes_of(region);
    tool.push(tool.domain, &attributes);
}

static void free_open(void *ranges)
{
    own_memory_unmap(ranges, sizeof(struct open_ranges));
    open = NULL;
}

static void tell_begin(uint32_t region)
{
    if (!region || !tool.domain)
        return;
    if (!open) {
        open = own_memory_map(sizeof *open);
        if (!open)
            return;
        pthread_setspecific(at_thread_end, open);
    }
    if (open->count == OPEN_MAX) {
        open->untold++;
        return;
    }
    open->regions[open->count++] = region;
    push(region);
}

/* Ends all that began since, and begins that again. */
static void end_at(uint32_t place)
{
    for (uint32_t i = place; i < open->count; i++)
        tool.pop(tool.domain);
    open->count--;
    memmove(&open->regions[place], &open->regions[place + 1], (open->count - place) * sizeof *open->regions);
    for (uint32_t i = place; i < open->count; i++)
        push(open->regions[i]);
}

static void tell_end(uint32_t region)
{
    if (!region || !open)
        return;
    if (open->untold) {
        open->untold--;
        return;
    }
    for (uint32_t place = open->count; place-- > 0;)
        if (open->regions[place] == region) {
            end_at(place);
            return;
        }
}

static void begin(uint32_t region)
{
    plain.begin(region);
    tell_begin(region);
}

static void end(uint32_t region)
{
    tell_end(region);
    plain.end(region);
}

static void begin_for(uint32_t region, uint64_t owner)
{
    plain.begin_for(region, owner);
    tell_begin(region);
}

static void end_for(uint32_t region, uint64_t owner)
{
    tell_end(region);
    plain.end_for(region, owner);
}

/* By its name, or by the text that it has. */
static void mark(uint32_t id, const char *text, size_t bytes)
{
    struct nvtx_abi_attributes attributes = attributes_of(id);
    char message[TEXT_BYTES];
    plain.mark(id, text, bytes);
    if (!tool.domain || !tool.mark)
        return;
    if (text && bytes) {
        size_t size = bytes < sizeof message ? bytes : sizeof message - 1;
        memcpy(message, text, size);
        message[size] = '\0';
        attributes.message_kind = NVTX_ABI_TEXT;
        attributes.message.text = message;
    }
    tool.mark(tool.domain, &attributes);
}

void nvtx_out_start(const struct session *given)
{
    if (!given->nvtx || pthread_key_create(&at_thread_end, free_open) != 0)
        return;
    session = given;
    plain = sonde_zones;
    sonde_zones.name = name;
    sonde_zones.begin = begin;
    sonde_zones.end = end;
    sonde_zones.begin_for = begin_for;
    sonde_zones.end_for = end_for;
    sonde_zones.mark = mark;
}
