#include "analyse/restrict.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/ranking.h"
#include "base/bytes.h"
#include "base/err.h"

/* glibc knows \w \s \b but not \d; an escaped backslash must not start a new escape. */
static void translate(const char *pattern, struct bytes *out)
{
    for (; *pattern; pattern++) {
        if (pattern[0] != '\\' || !pattern[1]) {
            bytes_put_u8(out, (uint8_t)*pattern);
            continue;
        }
        pattern++;
        if (*pattern == 'd')
            bytes_put_text(out, "[0-9]");
        else if (*pattern == 'D')
            bytes_put_text(out, "[^0-9]");
        else
            bytes_putf(out, "\\%c", *pattern);
    }
    bytes_put_u8(out, '\0');
}

int restrict_compile(regex_t *regex, const char *pattern, struct err *err)
{
    struct bytes text = {0};
    translate(pattern, &text);
    if (text.failed) {
        bytes_clear(&text);
        return err_set(err, "not enough memory for the expression '%s'", pattern);
    }
    int code = regcomp(regex, (const char *)text.data, REG_EXTENDED | REG_NOSUB);
    bytes_clear(&text);
    if (!code)
        return 0;
    char why[128];
    regerror(code, regex, why, sizeof why);
    return err_set(err,
                   "'%s' is not a regular expression: %s; put \\ before ( [ { * + ? to mean the character",
                   pattern, why);
}

static int keep_matching(struct ranking *ranking, const char *pattern, struct err *err)
{
    regex_t regex;
    if (restrict_compile(&regex, pattern, err) < 0)
        return -1;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < ranking->count; i++)
        if (regexec(&regex, ranking->rows[i].label, 0, NULL, 0) == 0)
            ranking->rows[kept++] = ranking->rows[i];
    ranking->count = kept;
    regfree(&regex);
    return 0;
}

static void keep_first(struct ranking *ranking, double count)
{
    if (count >= 0 && count < ranking->count)
        ranking->count = (uint32_t)count;
}

/* Digits with at most one point; false for anything else, which is then an expression. */
static bool is_number(const char *text, bool *fraction)
{
    size_t digits = 0, points = 0;
    for (; *text; text++) {
        digits += isdigit((unsigned char)*text) != 0;
        points += *text == '.';
        if (!isdigit((unsigned char)*text) && *text != '.')
            return false;
    }
    *fraction = points == 1;
    return digits && points <= 1;
}

int restrict_apply(struct ranking *ranking, const char *const *restrictions, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        bool fraction;
        if (!is_number(restrictions[i], &fraction)) {
            if (keep_matching(ranking, restrictions[i], err) < 0)
                return -1;
            continue;
        }
        double number = strtod(restrictions[i], NULL);
        keep_first(ranking,
                   fraction ? (double)(uint32_t)(ranking->count * (number < 1 ? number : 1) + 0.5) : number);
    }
    return 0;
}
