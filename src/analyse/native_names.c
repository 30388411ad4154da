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

/* Whether 4Grid_ in 4mesh_4Grid___init__ is a scope, not the fourth function of mesh, Grid___init__. The file's own module
 * comes first, what lies in a scope is mostly numbered, and classes begin with a capital letter. */
static bool is_scope(const char *at, const char *end, bool is_first)
{
    const char *name = at + strspn(at, "0123456789");
    return is_first || isdigit((unsigned char)end[1]) || isupper((unsigned char)*name);
}

/* __pyx_KIND_ SCOPE_ ... [number]name. The number tells functions of one scope apart, but the first and those of kind f
 * have none. */
static bool put_cython(const char *symbol, struct bytes *out)
{
    static const char *const kinds[] = {"__pyx_pw_", "__pyx_pf_", "__pyx_gb_", "__pyx_f_", NULL};
    const char *at = strstr(symbol, "__pyx_");
    if (at && begins(at, "__pyx_fuse_"))
        at = strstr(at + 1, "__pyx_");
    size_t kind = 0;
    while (at && kinds[kind] && !begins(at, kinds[kind]))
        kind++;
    if (!at || !kinds[kind])
        return false;
    bool numbered = strcmp(kinds[kind], "__pyx_f_") != 0;
    at += strlen(kinds[kind]);
    const char *first = at;
    for (const char *end; (end = end_of_scope(at)) && (!numbered || is_scope(at, end, at == first));) {
        at += strspn(at, "0123456789");
        bytes_put(out, at, (size_t)(end - at));
        bytes_put_u8(out, '.');
        at = end + 1;
    }
    const char *name = at + (numbered ? strspn(at, "0123456789") : 0);
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

void native_names_put(const char *symbol, struct bytes *out)
{
    size_t before = out->size;
    if (put_cython(symbol, out) || put_fortran(symbol, out) || out->failed)
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

bool native_names_is_interpreter(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
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
