#include "collect/inside/filter.h"

#include <stdio.h>
#include <string.h>

static int compile(regex_t *regex, const char *text, bool *has, char *why, size_t why_bytes)
{
    *has = false;
    if (!text)
        return 0;
    int code = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
    if (code != 0) {
        char reason[128];
        regerror(code, regex, reason, sizeof reason);
        snprintf(why, why_bytes, "the expression '%s' is not valid: %s", text, reason);
        return -1;
    }
    *has = true;
    return 0;
}

int filter_init(struct filter *filter, const char *include, const char *exclude, bool exclude_library,
                char *why, size_t why_bytes)
{
    *filter = (struct filter){.exclude_library = exclude_library};
    if (compile(&filter->include, include, &filter->has_include, why, why_bytes) < 0 ||
        compile(&filter->exclude, exclude, &filter->has_exclude, why, why_bytes) < 0) {
        filter_clear(filter);
        return -1;
    }
    return 0;
}

void filter_clear(struct filter *filter)
{
    if (filter->has_include)
        regfree(&filter->include);
    if (filter->has_exclude)
        regfree(&filter->exclude);
    *filter = (struct filter){0};
}

static bool lies_in(const char *folder, const char *file)
{
    return *folder && strncmp(file, folder, strlen(folder)) == 0;
}

bool filter_is_library(const struct filter *filter, const char *file)
{
    return strncmp(file, "<frozen ", 8) == 0 || strstr(file, "/site-packages/") ||
           strstr(file, "/dist-packages/") || lies_in(filter->library, file) ||
           lies_in(filter->package, file);
}

static bool matches(const regex_t *regex, const char *first, char separator, const char *second)
{
    char text[8192];
    snprintf(text, sizeof text, "%s%c%s", first, separator, second);
    return regexec(regex, text, 0, NULL, 0) == 0;
}

static bool matches_either(const regex_t *regex, const char *file, const char *module, const char *qualname)
{
    return matches(regex, module, '.', qualname) || matches(regex, file, ':', qualname);
}

bool filter_takes(const struct filter *filter, const char *home, const char *file, const char *module,
                  const char *qualname)
{
    if (filter->exclude_library && filter_is_library(filter, home))
        return false;
    if (filter->has_exclude && matches_either(&filter->exclude, file, module, qualname))
        return false;
    return !filter->has_include || matches_either(&filter->include, file, module, qualname);
}
