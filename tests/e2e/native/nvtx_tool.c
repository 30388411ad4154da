/*
 * nvtx_tool: a tool that listens to NVTX, as nsys and ncu do, and writes down what it is told: a line for each call, to the
 * file that NVTX_TOOL_LOG names. Loaded by NVTX_INJECTION64_PATH.
 *
 *     THREAD push DOMAIN [registered] TEXT        THREAD pop DOMAIN        THREAD mark DOMAIN TEXT
 *
 * Threads have numbers in the order in which they come; domains their names.
 */
#include "collect/agent/nvtx_abi.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char bytes[256];
};

static FILE *file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int threads;
static __thread int thread;

static void say(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    pthread_mutex_lock(&lock);
    if (!thread)
        thread = ++threads;
    fprintf(file, "%d ", thread);
    vfprintf(file, format, values);
    fputc('\n', file);
    fflush(file);
    pthread_mutex_unlock(&lock);
    va_end(values);
}

static void *keep(const char *bytes)
{
    struct text *text = calloc(1, sizeof *text);
    snprintf(text->bytes, sizeof text->bytes, "%s", bytes);
    return text;
}

static const char *name_of(const void *kept)
{
    return kept ? ((const struct text *)kept)->bytes : "?";
}

static void *create_domain(const char *name)
{
    say("domain %s", name);
    return keep(name);
}

static void *register_string(void *domain, const char *text)
{
    (void)domain;
    return keep(text);
}

static void say_event(const char *what, void *domain, const struct nvtx_abi_attributes *attributes)
{
    bool registered = attributes->message_kind == NVTX_ABI_REGISTERED;
    if (attributes->version != NVTX_ABI_VERSION || attributes->struct_bytes != sizeof *attributes)
        say("wrong attributes");
    say("%s %s %s%s", what, name_of(domain), registered ? "registered " : "",
        registered ? name_of(attributes->message.registered) : attributes->message.text);
}

static int push(void *domain, const struct nvtx_abi_attributes *attributes)
{
    say_event("push", domain, attributes);
    return 0;
}

static int pop(void *domain)
{
    say("pop %s", name_of(domain));
    return 0;
}

static void mark(void *domain, const struct nvtx_abi_attributes *attributes)
{
    say_event("mark", domain, attributes);
}

static void write_function(nvtx_abi_function ***places, uint32_t count, uint32_t place, void *function)
{
    if (place < count && places[place])
        *places[place] = (nvtx_abi_function *)function;
}

__attribute__((visibility("default"))) nvtx_abi_initialize InitializeInjectionNvtx2;

int InitializeInjectionNvtx2(nvtx_abi_get_table *get_table)
{
    const struct nvtx_abi_callbacks *callbacks = get_table(NVTX_ABI_CALLBACKS);
    const char *path = getenv("NVTX_TOOL_LOG");
    nvtx_abi_function ***places;
    uint32_t count;
    if (!file && path)
        file = fopen(path, "a");
    if (!file || !callbacks || !callbacks->get_module(NVTX_ABI_DOMAINS, &places, &count))
        return 0;
    write_function(places, count, NVTX_ABI_CREATE_DOMAIN, (void *)create_domain);
    write_function(places, count, NVTX_ABI_REGISTER_STRING, (void *)register_string);
    write_function(places, count, NVTX_ABI_DOMAIN_PUSH, (void *)push);
    write_function(places, count, NVTX_ABI_DOMAIN_POP, (void *)pop);
    write_function(places, count, NVTX_ABI_DOMAIN_MARK, (void *)mark);
    return 1;
}
