#include "collect/agent/nvtx_in.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "collect/agent/nvtx_abi.h"
#include "collect/agent/own_memory.h"
#include "collect/agent/session.h"
#include <sonde/zones.h>

#define EXPORT      __attribute__((visibility("default")))
#define NAME_BYTES  512
#define CHUNK_BYTES 65536
#define PUSHED_MAX  1024 /* ranges within each other in a thread; deeper ones are left out */
#define REGION_BITS 24   /* of the number of a range that was started: what is below is its region */

extern struct sonde_zones sonde_zones; /* zones.c */

/* A domain of somebody's; NULL = that without a name. */
struct domain {
    char name[64];
};

/* A text that was registered: the names that it is in the event area, as region and as mark; 0 = not asked for yet. */
struct registered {
    uint32_t region, mark;
    const struct domain *domain;
    char text[];
};

/* What a thread has pushed, the innermost last. */
struct pushed {
    uint32_t count, beyond;
    struct {
        const void *domain;
        uint32_t region;
    } ranges[PUSHED_MAX];
};

static const char *agent_path; /* NULL = libraries find nothing */
static __thread struct pushed *pushed __attribute__((tls_model("initial-exec")));
static pthread_key_t at_thread_end;
static uint64_t started; /* ranges, so far */

/* ---- being found ---- */

static char *find(const char *name)
{
    size_t size = strlen(name);
    for (char **entry = environ; entry && *entry; entry++)
        if (strncmp(*entry, name, size) == 0 && (*entry)[size] == '=')
            return *entry + size + 1;
    return NULL;
}

/* Stands before that of the C library, which does the same but for the one name. */
EXPORT char *getenv(const char *name)
{
    char *value = find(name);
    if (value || !agent_path || strcmp(name, NVTX_ABI_VARIABLE) != 0)
        return value;
    return (char *)(size_t)agent_path;
}

/* ---- memory that stays ---- */

static void *keep(size_t bytes)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char *chunk;
    static size_t used;
    bytes = (bytes + 15) & ~(size_t)15;
    pthread_mutex_lock(&lock);
    if (!chunk || used + bytes > CHUNK_BYTES) {
        chunk = own_memory_map(CHUNK_BYTES);
        used = 0;
    }
    void *memory = chunk ? chunk + used : NULL;
    used += bytes;
    pthread_mutex_unlock(&lock);
    return memory;
}

/* ---- names ---- */

static uint32_t name_of(uint32_t kind, const struct domain *domain, const char *text)
{
    char whole[NAME_BYTES];
    bool named = domain && domain->name[0];
    int size = snprintf(whole, sizeof whole, "%s%s%s", named ? domain->name : "", named ? ":" : "",
                        text ? text : "?");
    return sonde_zones.name(kind, whole, size < NAME_BYTES ? (size_t)size : NAME_BYTES - 1);
}

/* Characters that ASCII does not have are not kept. */
static uint32_t name_of_wide(uint32_t kind, const struct domain *domain, const wchar_t *wide)
{
    char text[NAME_BYTES];
    size_t size = 0;
    for (; wide && *wide && size < sizeof text - 1; wide++)
        text[size++] = *wide > 0 && *wide < 128 ? (char)*wide : '?';
    text[size] = '\0';
    return name_of(kind, domain, text);
}

static uint32_t name_of_registered(uint32_t kind, struct registered *string)
{
    uint32_t *id = kind == SONDE_REGION ? &string->region : &string->mark;
    uint32_t known = __atomic_load_n(id, __ATOMIC_RELAXED);
    if (!known) {
        known = name_of(kind, string->domain, string->text);
        __atomic_store_n(id, known, __ATOMIC_RELAXED);
    }
    return known;
}

static uint32_t name_in(uint32_t kind, const struct domain *domain, const struct nvtx_abi_attributes *given)
{
    switch (given ? given->message_kind : NVTX_ABI_NO_MESSAGE) {
    case NVTX_ABI_TEXT:
        return name_of(kind, domain, given->message.text);
    case NVTX_ABI_WIDE_TEXT:
        return name_of_wide(kind, domain, given->message.registered);
    case NVTX_ABI_REGISTERED:
        if (given->message.registered)
            return name_of_registered(kind, (struct registered *)(size_t)given->message.registered);
    }
    return name_of(kind, domain, NULL);
}

/* ---- ranges ---- */

static void free_pushed(void *ranges)
{
    own_memory_unmap(ranges, sizeof(struct pushed));
    pushed = NULL;
}

/* How deep it lies. */
static int push(const void *domain, uint32_t region)
{
    if (!pushed) {
        pushed = own_memory_map(sizeof *pushed);
        if (!pushed)
            return -2; /* "not possible" */
        pthread_setspecific(at_thread_end, pushed);
    }
    if (pushed->count == PUSHED_MAX) {
        pushed->beyond++;
        return PUSHED_MAX;
    }
    pushed->ranges[pushed->count].domain = domain;
    pushed->ranges[pushed->count].region = region;
    sonde_zones.begin(region);
    return (int)pushed->count++;
}

static int pop(const void *domain)
{
    if (pushed && pushed->beyond) {
        pushed->beyond--;
        return PUSHED_MAX;
    }
    uint32_t place = pushed ? pushed->count : 0;
    while (place && pushed->ranges[place - 1].domain != domain)
        place--;
    if (!place)
        return -2;
    sonde_zones.end(pushed->ranges[place - 1].region);
    pushed->count--;
    memmove(&pushed->ranges[place - 1], &pushed->ranges[place],
            (pushed->count - (place - 1)) * sizeof *pushed->ranges);
    return (int)place - 1;
}

static uint64_t start(uint32_t region)
{
    uint64_t range = __atomic_add_fetch(&started, 1, __ATOMIC_RELAXED) << REGION_BITS | region;
    sonde_zones.begin_for(region, range);
    return range;
}

static void end(uint64_t range)
{
    sonde_zones.end_for((uint32_t)(range & ((1u << REGION_BITS) - 1)), range);
}

/* ---- the functions of NVTX ---- */

static void *create_domain(const char *name)
{
    struct domain *domain = keep(sizeof *domain);
    if (domain)
        snprintf(domain->name, sizeof domain->name, "%s", name ? name : "");
    return domain;
}

static void *register_string(void *domain, const char *text)
{
    size_t bytes = text ? strnlen(text, NAME_BYTES - 1) : 0;
    struct registered *string = keep(sizeof *string + bytes + 1);
    if (!string)
        return NULL;
    string->domain = domain;
    memcpy(string->text, text ? text : "", bytes);
    return string;
}

static int domain_push(void *domain, const struct nvtx_abi_attributes *attributes)
{
    return push(domain, name_in(SONDE_REGION, domain, attributes));
}

static int domain_pop(void *domain)
{
    return pop(domain);
}

static void domain_mark(void *domain, const struct nvtx_abi_attributes *attributes)
{
    sonde_zones.mark(name_in(SONDE_MARK, domain, attributes), NULL, 0);
}

static uint64_t domain_start(void *domain, const struct nvtx_abi_attributes *attributes)
{
    return start(name_in(SONDE_REGION, domain, attributes));
}

static void domain_end(void *domain, uint64_t range)
{
    (void)domain;
    end(range);
}

static int push_ex(const struct nvtx_abi_attributes *attributes)
{
    return domain_push(NULL, attributes);
}

static int push_text(const char *text)
{
    return push(NULL, name_of(SONDE_REGION, NULL, text));
}

static int pop_plain(void)
{
    return pop(NULL);
}

static void mark_ex(const struct nvtx_abi_attributes *attributes)
{
    domain_mark(NULL, attributes);
}

static void mark_text(const char *text)
{
    sonde_zones.mark(name_of(SONDE_MARK, NULL, text), NULL, 0);
}

static uint64_t start_ex(const struct nvtx_abi_attributes *attributes)
{
    return domain_start(NULL, attributes);
}

static uint64_t start_text(const char *text)
{
    return start(name_of(SONDE_REGION, NULL, text));
}

/* ---- meeting a library ---- */

static const struct {
    uint32_t module, number;
    nvtx_abi_function *function;
} offered[] = {
    {NVTX_ABI_CORE, NVTX_ABI_MARK_EX, (nvtx_abi_function *)mark_ex},
    {NVTX_ABI_CORE, NVTX_ABI_MARK, (nvtx_abi_function *)mark_text},
    {NVTX_ABI_CORE, NVTX_ABI_START_EX, (nvtx_abi_function *)start_ex},
    {NVTX_ABI_CORE, NVTX_ABI_START, (nvtx_abi_function *)start_text},
    {NVTX_ABI_CORE, NVTX_ABI_RANGE_END, (nvtx_abi_function *)end},
    {NVTX_ABI_CORE, NVTX_ABI_PUSH_EX, (nvtx_abi_function *)push_ex},
    {NVTX_ABI_CORE, NVTX_ABI_PUSH, (nvtx_abi_function *)push_text},
    {NVTX_ABI_CORE, NVTX_ABI_POP, (nvtx_abi_function *)pop_plain},
    {NVTX_ABI_DOMAINS, NVTX_ABI_DOMAIN_MARK, (nvtx_abi_function *)domain_mark},
    {NVTX_ABI_DOMAINS, NVTX_ABI_DOMAIN_START, (nvtx_abi_function *)domain_start},
    {NVTX_ABI_DOMAINS, NVTX_ABI_DOMAIN_END, (nvtx_abi_function *)domain_end},
    {NVTX_ABI_DOMAINS, NVTX_ABI_DOMAIN_PUSH, (nvtx_abi_function *)domain_push},
    {NVTX_ABI_DOMAINS, NVTX_ABI_DOMAIN_POP, (nvtx_abi_function *)domain_pop},
    {NVTX_ABI_DOMAINS, NVTX_ABI_REGISTER_STRING, (nvtx_abi_function *)register_string},
    {NVTX_ABI_DOMAINS, NVTX_ABI_CREATE_DOMAIN, (nvtx_abi_function *)create_domain},
};

EXPORT nvtx_abi_initialize InitializeInjectionNvtx2;

int InitializeInjectionNvtx2(nvtx_abi_get_table *get_table)
{
    const struct nvtx_abi_callbacks *callbacks = get_table(NVTX_ABI_CALLBACKS);
    if (!agent_path || !callbacks || callbacks->struct_bytes < sizeof *callbacks)
        return 0;
    for (size_t i = 0; i < sizeof offered / sizeof *offered; i++) {
        nvtx_abi_function ***places;
        uint32_t count;
        if (callbacks->get_module(offered[i].module, &places, &count) && offered[i].number < count &&
            places[offered[i].number])
            *places[offered[i].number] = offered[i].function;
    }
    return 1;
}

void nvtx_in_start(const struct session *session)
{
    if (session->nvtx_in && pthread_key_create(&at_thread_end, free_pushed) == 0)
        agent_path = session->agent;
}
