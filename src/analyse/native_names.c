#include "analyse/native_names.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_listed(const char *text, const char *const *words)
{
    while (*words && strcmp(*words, text) != 0)
        words++;
    return *words;
}

static bool begins_as_listed(const char *text, const char *const *prefixes)
{
    while (*prefixes && !begins(text, *prefixes))
        prefixes++;
    return *prefixes;
}

/* ---- Cython ---- */

bool native_names_is_cython_wrapper(const char *symbol)
{
    return begins(symbol, "__pyx_pw_") || begins(symbol, "__pyx_fuse_");
}

bool native_names_is_cython_body(const char *symbol)
{
    return begins(symbol, "__pyx_pf_") || begins(symbol, "__pyx_gb_");
}

/* A scope is its length and its name, and is followed by an underscore and what lies in it: 5mymod_1func. NULL when
 * there is none here. */
static const char *end_of_scope(const char *at)
{
    char *name;
    size_t size = isdigit((unsigned char)*at) ? strtoul(at, &name, 10) : 0;
    if (size == 0 || size > 256 || strnlen(name, size + 2) < size + 2)
        return NULL;
    return name[size] == '_' ? name + size : NULL;
}

static const char *name_of_scope(const char *at)
{
    return at + strspn(at, "0123456789");
}

/* Behind the scope that is the file's own module (of /x/mesh.cpython-312.so: mesh), which packages may precede; or
 * behind the first, when none is. */
static const char *end_of_module(const char *at, const char *path)
{
    const char *slash = strrchr(path, '/'), *stem = slash ? slash + 1 : path;
    size_t size = strcspn(stem, ".");
    const char *first = end_of_scope(at);
    for (const char *end; (end = end_of_scope(at)); at = end + 1) {
        const char *name = name_of_scope(at);
        if ((size_t)(end - name) == size && strncmp(name, stem, size) == 0)
            return end;
    }
    return first;
}

/* Whether 4Grid_ in 4mesh_4Grid___init__ is a scope, not the fourth function of mesh, Grid___init__: what lies in a
 * scope is mostly numbered, and classes begin with a capital letter. */
static bool is_scope(const char *at, const char *end)
{
    return isdigit((unsigned char)end[1]) || isupper((unsigned char)*name_of_scope(at));
}

/* What follows __pyx_KIND_ in the symbol; NULL when it is not one of a function. `numbered` tells whether functions of that
 * kind have numbers that tell them apart in their scope (though the first has none). */
static const char *after_kind(const char *symbol, bool *numbered)
{
    static const char *const kinds[] = {"__pyx_pw_", "__pyx_pf_", "__pyx_gb_", "__pyx_f_", NULL};
    const char *at = strstr(symbol, "__pyx_");
    if (at && begins(at, "__pyx_fuse_"))
        at = strstr(at + 1, "__pyx_");
    for (size_t kind = 0; at && kinds[kind]; kind++)
        if (begins(at, kinds[kind])) {
            *numbered = strcmp(kinds[kind], "__pyx_f_") != 0;
            return at + strlen(kinds[kind]);
        }
    return NULL;
}

/* __pyx_KIND_ SCOPE_ ... [number]name */
static bool put_cython(const char *symbol, const char *path, struct bytes *out)
{
    bool numbered = false;
    const char *at = after_kind(symbol, &numbered), *first = at;
    const char *module_end = at ? end_of_module(at, path) : NULL;
    if (!module_end)
        return false;
    for (const char *end; (end = end_of_scope(at)) && (at < module_end || !numbered || is_scope(at, end));) {
        const char *name = name_of_scope(at);
        bytes_putf(out, "%.*s.", (int)(end - name), name);
        at = end + 1;
    }
    const char *name = numbered ? name_of_scope(at) : at;
    bytes_put(out, name, strcspn(name, "(")); /* compiled as C++, it has its arguments there */
    return at > first;
}

/* ---- Fortran ---- */

/* gfortran writes __MODULE_MOD_NAME, Intel's compilers MODULE_mp_NAME_. */
static bool put_fortran(const char *symbol, struct bytes *out)
{
    bool gnu = begins(symbol, "__");
    const char *module = gnu ? symbol + 2 : symbol;
    const char *between = strstr(module, gnu ? "_MOD_" : "_mp_");
    if (!between || between == module || strpbrk(symbol, "(:<. "))
        return false;
    const char *name = between + (gnu ? 5 : 4);
    size_t size = strlen(name);
    if (!gnu && (size < 2 || name[size - 1] != '_'))
        return false;
    bytes_putf(out, "%.*s::%.*s", (int)(between - module), module, (int)(gnu ? size : size - 1), name);
    return true;
}

void native_names_put(const char *symbol, const char *path, struct bytes *out)
{
    size_t before = out->size;
    if (put_cython(symbol, path, out) || put_fortran(symbol, out) || out->failed)
        return;
    out->size = before;
    bytes_put_text(out, symbol);
}

/* ---- machinery ---- */

bool native_names_is_root(const char *symbol)
{
    static const char *const roots[] = {"_start",
                                        "__libc_start_main",
                                        "__libc_start_main_impl",
                                        "__libc_start_call_main",
                                        "__clone",
                                        "__clone3",
                                        "__GI___clone",
                                        "__GI___clone3",
                                        "clone",
                                        "clone3",
                                        "start_thread",
                                        "pthread_create",
                                        NULL};
    return is_listed(symbol, roots);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool native_names_may_be_root(const char *symbol, const char *path)
{
    static const char *const prefixes[] = {"libc.so.",      "libc-2.",  "libpthread.so.",
                                           "libpthread-2.", "ld-musl-", NULL};
    const char *name = base_name(path);
    size_t size = strlen(name);
    bool is_nameless = !*symbol || (strncmp(symbol, name, size) == 0 && begins(symbol + size, "+0x"));
    return is_nameless && begins_as_listed(name, prefixes);
}

bool native_names_is_interpreter(const char *path)
{
    const char *name = base_name(path);
    if (begins(name, "libpython"))
        return strstr(name, ".so");
    if (!begins(name, "python"))
        return false;
    name += strlen("python") + strspn(name + strlen("python"), "0123456789.");
    return !*name || strcmp(name, "d") == 0 || strcmp(name, "t") == 0 || strcmp(name, "-dbg") == 0;
}

bool native_names_is_builtin(const char *symbol)
{
    static const char *const prefixes[] = {
        "PyGILState_", "PyThread_",   "_PyThread_", "_io_",      "array_array_", "bufferedio_",
        "builtin_",    "collect_gen", "deque_",     "file_",     "gc_",          "itertools_",
        "list_sort",   "lock_",       "marshal_",   "math_",     "os_",          "posix_",
        "select_",     "sock_",       "sre_",       "stringio_", "sys_",         "textiowrapper_",
        "thread_",     "time_",       "unicode_",   "zlib_",     "pysleep",      NULL};
    return begins_as_listed(symbol, prefixes);
}
