#include "cli/redact.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"

static const char redacted[] = "[redacted]";

/* Words that make a name suspicious where they stand whole between separators: "auth" but not "author". */
static const char *const secret_parts[] = {
    "password",  "passwd",    "passphrase", "pass",          "pwd",        "pw",          "secret", "secrets",
    "token",     "apikey",    "auth",       "bearer",        "credential", "credentials", "cookie", "jwt",
    "accesskey", "secretkey", "privatekey", "authorization", "signature",  "webhook",     NULL,
};

/* "key" alone is a sort key as often as not: it counts beside one of these. */
static const char *const key_parts[] = {"api",    "access",  "secret",  "private", "encryption", "auth",
                                        "master", "storage", "signing", "account", "license",    NULL};

/* How tokens of well-known services begin, and how long they are at least. */
static const struct token {
    const char *prefix;
    size_t size_min;
} tokens[] = {
    {"ghp_", 20},        {"gho_", 20},     {"ghu_", 20},      {"ghs_", 20},     {"ghr_", 20},
    {"github_pat_", 20}, {"glpat-", 16},   {"sk-", 20},       {"sk_live_", 16}, {"sk_test_", 16},
    {"rk_live_", 16},    {"pk_live_", 16}, {"AKIA", 20},      {"ASIA", 20},     {"xoxb-", 16},
    {"xoxp-", 16},       {"xoxa-", 16},    {"hf_", 20},       {"AIza", 30},     {"ya29.", 20},
    {"npm_", 20},        {"pypi-", 20},    {"dckr_pat_", 20}, {"SG.", 30},      {"eyJ", 40},
    {"-----BEGIN", 10},  {NULL, 0},
};

static bool is_in(const char *const *list, const char *word, size_t size)
{
    for (; *list; list++)
        if (strlen(*list) == size && strncasecmp(*list, word, size) == 0)
            return true;
    return false;
}

/* Names that run words together: PGPASSWORD, mysecret. */
static bool ends_in_secret(const char *part, size_t size)
{
    static const char *const endings[] = {"password", "passwd", "passphrase", "secret", "apikey", NULL};
    for (const char *const *ending = endings; *ending; ending++) {
        size_t ending_size = strlen(*ending);
        if (size > ending_size && strncasecmp(part + size - ending_size, *ending, ending_size) == 0)
            return true;
    }
    return false;
}

/* The next part of a name: letters up to a separator, a digit, or a capital after a small letter (apiKey). */
static size_t part_size(const char *name, size_t size)
{
    size_t end = 0;
    while (end < size && isalpha((unsigned char)name[end]) &&
           !(end > 0 && isupper((unsigned char)name[end]) && islower((unsigned char)name[end - 1])))
        end++;
    return end;
}

static bool is_secret_name(const char *name, size_t size)
{
    bool key = false, key_of = false;
    for (size_t at = 0; at < size;) {
        size_t part = part_size(name + at, size - at);
        if (is_in(secret_parts, name + at, part) || ends_in_secret(name + at, part))
            return true;
        key = key || (part == 3 && strncasecmp(name + at, "key", 3) == 0);
        key_of = key_of || is_in(key_parts, name + at, part);
        at += part ? part : 1;
    }
    return key && key_of;
}

static bool is_token_letter(char letter)
{
    return isalnum((unsigned char)letter) || strchr("_-.+/=", letter);
}

static bool is_token(const char *value, size_t size)
{
    for (const struct token *token = tokens; token->prefix; token++) {
        size_t prefix = strlen(token->prefix);
        if (size < token->size_min || strncmp(value, token->prefix, prefix) != 0)
            continue;
        size_t at = prefix;
        bool digit = false; /* "sk-learn-pipeline-example" has none */
        for (; at < size && is_token_letter(value[at]); at++)
            digit = digit || isdigit((unsigned char)value[at]);
        if ((at >= token->size_min && digit) || value[0] == '-')
            return true;
    }
    return false;
}

/* Values that cannot be secrets whatever the name: empty ones, switches, numbers of a few digits, and paths
 * that say where a secret lies without being one. */
static bool is_harmless(const char *value)
{
    static const char *const switches[] = {"true", "false", "yes",  "no",   "on",  "off",
                                           "none", "null",  "auto", "file", "env", NULL};
    size_t size = strlen(value);
    if (size == 0 || is_in(switches, value, size))
        return true;
    if (size <= 3 && strspn(value, "0123456789") == size)
        return true;
    return value[0] == '/' || strncmp(value, "./", 2) == 0 || strncmp(value, "~/", 2) == 0;
}

/* Copies text, hiding the password of every URL in it: scheme://user:password@host. */
static void put_text(struct bytes *out, const char *text)
{
    for (const char *scheme; (scheme = strstr(text, "://"));) {
        const char *start = scheme + 3;
        size_t authority = strcspn(start, "/?# \t\"'");
        const char *at = memrchr(start, '@', authority);
        const char *colon = at ? memchr(start, ':', (size_t)(at - start)) : NULL;
        bytes_put(out, text, (size_t)(start - text));
        text = start;
        if (!at)
            continue;
        if (colon)
            bytes_put(out, start, (size_t)(colon + 1 - start));
        bytes_put_text(out, redacted);
        text = at;
    }
    bytes_put_text(out, text);
}

/* `name` may be empty; a token is one whatever its name. */
static void put_value(struct bytes *out, const char *name, size_t name_size, const char *value)
{
    if ((is_secret_name(name, name_size) && !is_harmless(value)) || is_token(value, strlen(value)))
        bytes_put_text(out, redacted);
    else
        put_text(out, value);
}

/* One "name=value" or plain piece. */
static void put_piece(struct bytes *out, const char *text, size_t size)
{
    size_t name_size = strcspn(text, "=:&;?, ");
    bool named = name_size < size && text[name_size] == '=';
    char *value = named ? strndup(text + name_size + 1, size - name_size - 1) : strndup(text, size);
    if (named)
        bytes_put(out, text, name_size + 1);
    if (value)
        put_value(out, text, named ? name_size : 0, value);
    else
        out->failed = true;
    free(value);
}

/* "--password=..." whole: what looks like a separator may be part of the password. */
static bool put_named_secret(struct bytes *out, const char *text)
{
    size_t name_size = strcspn(text, "=");
    if (text[name_size] != '=' || strcspn(text, ":/&;?, ") < name_size)
        return false;
    if (!is_secret_name(text, name_size) || is_harmless(text + name_size + 1))
        return false;
    bytes_put(out, text, name_size + 1);
    bytes_put_text(out, redacted);
    return true;
}

static bool is_private_key(const char *text)
{
    return strstr(text, "-----BEGIN") && strstr(text, "PRIVATE KEY");
}

/* Text made of "name=value" pieces between separators (a query, a connection string), or of one. */
static void put_pieces(struct bytes *out, const char *text)
{
    static const char separators[] = "&;?, ";
    if (is_private_key(text)) {
        bytes_put_text(out, redacted);
        return;
    }
    if (put_named_secret(out, text))
        return;
    while (*text) {
        size_t size = strcspn(text, separators), between = strspn(text + size, separators);
        put_piece(out, text, size);
        bytes_put(out, text + size, between);
        text += size + between;
    }
}

static char *take_text(struct bytes *out)
{
    bytes_put_u8(out, 0);
    size_t size;
    if (out->failed)
        bytes_clear(out);
    return (char *)bytes_take(out, &size);
}

/* A word that is an option without its value: the value is the next word. */
static bool announces_secret(const char *word)
{
    size_t size = strlen(word);
    return size > 2 && word[0] == '-' && !strchr(word, '=') && is_secret_name(word, size);
}

static void put_header(struct bytes *out, const char *word)
{
    size_t name = strcspn(word, ":");
    bytes_put(out, word, name + 1);
    bytes_putf(out, " %s", redacted);
}

/* "Authorization: Bearer ...", as curl and requests are given it. */
static bool is_secret_header(const char *word)
{
    size_t name = strcspn(word, ": =/");
    return word[name] == ':' && word[name + 1] == ' ' && is_secret_name(word, name);
}

char *redact_words(int argc, char *const *argv)
{
    struct bytes out = {0};
    bool secret_next = false;
    for (int index = 0; index < argc; index++) {
        const char *word = argv[index];
        if (index)
            bytes_put_u8(&out, ' ');
        if (secret_next && word[0] != '-' && !is_harmless(word))
            bytes_put_text(&out, redacted);
        else if (is_secret_header(word))
            put_header(&out, word);
        else
            put_pieces(&out, word);
        secret_next = announces_secret(word);
    }
    return take_text(&out);
}
