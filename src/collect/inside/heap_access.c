#include "collect/inside/heap_access.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "collect/agent/agent.h"
#include "collect/agent/relocations.h"

#define WRAPPERS_MAX 48

static const struct heap *library;
static bool is_preloaded;

/* Beside this extension, in the package. */
static const struct heap *load(char *why, size_t why_bytes)
{
    char path[PATH_MAX];
    Dl_info info;
    const char *slash = dladdr((void *)load, &info) && info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    snprintf(path, sizeof path, "%.*s/_bin/libsonde_heap.so", slash ? (int)(slash - info.dli_fname) : 1,
             slash ? info.dli_fname : ".");
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const struct heap *found = handle ? dlsym(handle, HEAP_SYMBOL) : NULL;
    const char *error = found ? NULL : dlerror();
    if (!found)
        snprintf(why, why_bytes, "the library that counts allocations cannot be loaded: %s",
                 error ? error : path);
    return found;
}

const struct heap *heap_access_open(char *why, size_t why_bytes)
{
    if (library)
        return library;
    const struct heap *found = dlsym(RTLD_DEFAULT, HEAP_SYMBOL);
    is_preloaded = found != NULL;
    if (!found)
        found = load(why, why_bytes);
    if (found && found->version != HEAP_VERSION) {
        snprintf(why, why_bytes, "the library that counts allocations is of another version of sonde");
        return NULL;
    }
    library = found;
    return found;
}

static void redirect(void)
{
    static struct redirection rows[WRAPPERS_MAX];
    static void *unused[WRAPPERS_MAX]; /* some call another one of the list, not the next of their name */
    size_t count = 0;
    for (const struct heap_wrapper *wrapper = library->wrappers; wrapper->name && count < WRAPPERS_MAX;
         wrapper++) {
        rows[count] = (struct redirection){wrapper->name, wrapper->function,
                                           wrapper->next ? wrapper->next : &unused[count]};
        count++;
    }
    const void *agent =
        dlsym(RTLD_DEFAULT, AGENT_SYMBOL); /* its sampler has no thread of its own to count in */
    const void *own[] = {(const void *)library, agent};
    relocations_redirect(rows, count, own, agent ? 2 : 1);
}

int heap_access_begin(struct heap_area *area, const struct heap_settings *settings, char *why,
                      size_t why_bytes)
{
    if (library->start(area, settings) < 0) {
        snprintf(why, why_bytes, "the allocations of this process are counted already");
        return -1;
    }
    if (is_preloaded)
        return 0;
    redirect();
    struct relocations_counts counts = relocations_counts();
    if (counts.words || counts.ours)
        return 0;
    heap_access_end();
    snprintf(why, why_bytes, "the program's calls of malloc cannot be followed: %s",
             counts.foreign ? "another tool or an allocator of its own stands before them"
                            : "it is linked statically");
    return -1;
}

void heap_access_end(void)
{
    if (!is_preloaded)
        relocations_restore();
    library->stop();
}
