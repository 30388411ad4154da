#include "collect/agent/start.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* As PySys_AddAuditHook keeps it, in every version from 3.8 on. */
struct hook_entry {
    struct hook_entry *next;
    int (*function)(const char *event, void *arguments, void *context);
    void *context;
};

static void (*to_call)(void);
static struct hook_entry **hook_list; /* the word of the runtime that heads the list; NULL = not found */

static int on_audit_event(const char *event, void *arguments, void *context)
{
    (void)arguments;
    (void)context;
    if (!to_call || strncmp(event, "cpython.run_", 12) != 0)
        return 0;
    void (*function)(void) = to_call;
    to_call = NULL;
    /* Only our own entry, and only at the head: anything else stays as it is. */
    if (hook_list && *hook_list && (*hook_list)->function == on_audit_event)
        *hook_list = (*hook_list)->next;
    function();
    return 0;
}

/* The head of the hook list is private to CPython and moves between versions, but it is easy to find: it is
 * the one word of the runtime that adding the hook changed into the address of our own entry. */
static struct hook_entry **find_hook_list(const uint8_t *before, uint8_t *runtime, size_t size)
{
    for (size_t at = 0; at + sizeof(void *) <= size; at += sizeof(void *)) {
        if (memcmp(before + at, runtime + at, sizeof(void *)) == 0)
            continue;
        struct hook_entry *entry;
        memcpy(&entry, runtime + at, sizeof entry);
        if (entry && (uintptr_t)entry % sizeof(void *) == 0 && entry->function == on_audit_event)
            return (struct hook_entry **)(void *)(runtime + at);
    }
    return NULL;
}

static size_t size_of_symbol(void *address)
{
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    if (!dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
        return 0;
    return symbol->st_size;
}

static const char *unsupported(void)
{
    const char *(*version)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "Py_GetVersion");
    if (!version)
        return "it is not CPython; sonde traces CPython 3.9 to 3.15";
    const char *text = version();
    if (strstr(text, "free-threading"))
        return "it is a free-threaded build, which sonde cannot trace yet; use the ordinary build of this "
               "version (python3.13 instead of python3.13t)";
    if (strncmp(text, "3.", 2) != 0 || atoi(text + 2) < 9)
        return "it is older than CPython 3.9; sonde traces 3.9 to 3.15";
    return NULL;
}

const char *start_when_main_runs(void (*function)(void))
{
    const char *why = unsupported();
    int (*add_hook)(int (*)(const char *, void *, void *), void *) =
        (int (*)(int (*)(const char *, void *, void *), void *))dlsym(RTLD_DEFAULT, "PySys_AddAuditHook");
    if (why || !add_hook)
        return why ? why : "this CPython has no audit hooks";
    uint8_t *runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
    size_t size = runtime ? size_of_symbol(runtime) : 0;
    uint8_t *before = size ? malloc(size) : NULL;
    if (before)
        memcpy(before, runtime, size);
    to_call = function;
    if (add_hook(on_audit_event, NULL) != 0)
        to_call = NULL;
    else if (before)
        hook_list = find_hook_list(before, runtime, size);
    free(before);
    return to_call ? NULL : "its audit hook could not be added";
}
