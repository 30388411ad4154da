#include "symbols/demangle.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBIBERTY
/* From libiberty (libiberty/demangle.h, whose other declarations are not wanted here). It is the demangler of binutils
 * and gdb, limits its own recursion, and is linked statically; __cxa_demangle would bring the C++ runtime. */
char *cplus_demangle(const char *mangled, int options);
enum { DEMANGLE_PARAMETERS = 1 << 0, DEMANGLE_ANSI = 1 << 1, DEMANGLE_AUTO = 1 << 8 };

static char *readable(const char *symbol)
{
    bool mangled = strncmp(symbol, "_Z", 2) == 0 || strncmp(symbol, "_R", 2) == 0;
    return mangled ? cplus_demangle(symbol, DEMANGLE_PARAMETERS | DEMANGLE_ANSI | DEMANGLE_AUTO) : NULL;
}
#else
static char *readable(const char *symbol)
{
    (void)symbol;
    return NULL;
}
#endif

/* Whether a suffix that begins here was appended by a compiler, a linker or a post-link optimizer. */
static bool is_appended(const char *suffix)
{
    static const char *const words[] = {".cold",  ".part.",      ".constprop.", ".isra.", ".lto_priv.",
                                        ".llvm.", ".localalias", ".warm",       ".org.",  ".clone."};
    for (size_t index = 0; index < sizeof words / sizeof words[0]; index++)
        if (strncmp(suffix, words[index], strlen(words[index])) == 0)
            return true;
    return *suffix == '@' || (*suffix == '/' && isdigit((unsigned char)suffix[1]));
}

char *demangle_new(const char *symbol)
{
    size_t length = *symbol != '\0';
    while (symbol[length] && !is_appended(symbol + length))
        length++;
    char *plain = strndup(symbol, length);
    char *better = plain ? readable(plain) : NULL;
    if (!better)
        return plain;
    free(plain);
    return better;
}
