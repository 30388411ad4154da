/*
 * The operators new and delete of C++. The C++ library's own come down to malloc and free, and are left to count there; those
 * of other allocators (jemalloc, tcmalloc) do not, and are counted here.
 *
 * All forms take a size or a block first and at most two words more, which are passed on as they are. An exception of the
 * next function passes through: nothing here has to be undone.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/agent/heap_tracker.h"

#define EXPORT __attribute__((visibility("default")))

/* Smaller blocks of other allocators may lie closer together than the table of blocks can tell apart, and must not be made
 * larger: a sized delete would say another size. They are not counted. */
#define SMALLEST_COUNTED 16u

typedef void *new_function(size_t, uintptr_t, uintptr_t);
typedef void delete_function(void *, uintptr_t, uintptr_t);

/* One form of an operator. A zeroed one has not been looked for. */
struct cxx_operator {
    const char *name;
    void *next;
    bool counts;
};

static void *find_in_library(const char *name)
{
    void *library = dlopen("libstdc++.so.6", RTLD_NOLOAD | RTLD_LAZY);
    return library ? dlsym(library, name) : NULL;
}

/* A C++ library that an extension has brought along is not in sight of the whole program. What the loader allocates for
 * us is not the program's. */
static void find(struct cxx_operator *form)
{
    Dl_info info;
    heap_tracker_nested++;
    void *next = dlsym(RTLD_NEXT, form->name);
    next = next ? next : find_in_library(form->name);
    form->counts = next && dladdr(next, &info) && info.dli_fname && !strstr(info.dli_fname, "libstdc++") &&
                   !strstr(info.dli_fname, "libc++");
    heap_tracker_nested--;
    form->next = next;
}

static void *allocate(struct cxx_operator *form, size_t bytes, uintptr_t second, uintptr_t third)
{
    if (!form->next)
        find(form);
    new_function *next = (new_function *)form->next;
    void *block = next ? next(bytes, second, third) : malloc(bytes ? bytes : 1);
    if (!block && !next)
        abort(); /* there is nobody who could throw */
    if (form->counts && block && bytes >= SMALLEST_COUNTED && (heap_tracker_countdown -= (int64_t)bytes) < 0)
        heap_tracker_allocated(block, bytes, HEAP_NEW);
    return block;
}

static void give_back(struct cxx_operator *form, void *block, uintptr_t second, uintptr_t third)
{
    if (!form->next)
        find(form);
    if (form->counts && block && heap_tracker_remembers(block))
        heap_tracker_freed(block);
    if (form->next)
        ((delete_function *)form->next)(block, second, third);
    else
        free(block);
}

#define NEW(form, symbol)                                                                                    \
    EXPORT void *new_##form(size_t, uintptr_t, uintptr_t) __asm__(symbol);                                   \
    void *new_##form(size_t bytes, uintptr_t second, uintptr_t third)                                        \
    {                                                                                                        \
        static struct cxx_operator form_of = {.name = symbol};                                               \
        return allocate(&form_of, bytes, second, third);                                                     \
    }
#define DELETE(form, symbol)                                                                                 \
    EXPORT void delete_##form(void *, uintptr_t, uintptr_t) __asm__(symbol);                                 \
    void delete_##form(void *block, uintptr_t second, uintptr_t third)                                       \
    {                                                                                                        \
        static struct cxx_operator form_of = {.name = symbol};                                               \
        give_back(&form_of, block, second, third);                                                           \
    }

NEW(one, "_Znwm")
NEW(many, "_Znam")
NEW(one_or_null, "_ZnwmRKSt9nothrow_t")
NEW(many_or_null, "_ZnamRKSt9nothrow_t")
NEW(aligned, "_ZnwmSt11align_val_t")
NEW(many_aligned, "_ZnamSt11align_val_t")
NEW(aligned_or_null, "_ZnwmSt11align_val_tRKSt9nothrow_t")
NEW(many_aligned_or_null, "_ZnamSt11align_val_tRKSt9nothrow_t")
DELETE(one, "_ZdlPv")
DELETE(many, "_ZdaPv")
DELETE(sized, "_ZdlPvm")
DELETE(many_sized, "_ZdaPvm")
DELETE(one_or_null, "_ZdlPvRKSt9nothrow_t")
DELETE(many_or_null, "_ZdaPvRKSt9nothrow_t")
DELETE(aligned, "_ZdlPvSt11align_val_t")
DELETE(many_aligned, "_ZdaPvSt11align_val_t")
DELETE(sized_aligned, "_ZdlPvmSt11align_val_t")
DELETE(many_sized_aligned, "_ZdaPvmSt11align_val_t")
DELETE(aligned_or_null, "_ZdlPvSt11align_val_tRKSt9nothrow_t")
DELETE(many_aligned_or_null, "_ZdaPvSt11align_val_tRKSt9nothrow_t")
