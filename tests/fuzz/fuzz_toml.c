/* The TOML reader and the splitter of SONDE_OPTIONS on any bytes: texts given out are whole, failures say why. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/config.h"
#include "cli/options.h"
#include "cli/toml.h"

const struct command *const sonde_commands[] = {NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int fact)
{
    if (!fact)
        abort();
}

static int visit(void *context, const struct toml_item *item, struct err *err)
{
    (void)err;
    size_t *bytes = context;
    require(item->depth > 0 && item->depth <= TOML_DEPTH_MAX && item->line > 0);
    require(item->kind == TOML_ARRAY || item->count == (item->kind != TOML_OTHER));
    for (size_t index = 0; index < item->depth; index++)
        *bytes += strlen(item->path[index]);
    for (size_t index = 0; index < item->count; index++)
        *bytes += strlen(item->values[index]);
    return 0;
}

static void check_split(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), **words;
    struct config config = {0};
    struct err err = {0};
    size_t count;
    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    if (config_split(&config, text, &words, &count, &err) == 0) {
        require(count <= size && !words[count]);
        free(words);
    } else {
        require(err_is_set(&err));
    }
    config_clear(&config);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    size_t bytes = 0;
    int result = toml_read((const char *)data, size, "fuzz", visit, &bytes, &err);
    require((result == 0) == !err_is_set(&err));
    check_split(data, size);
    return 0;
}
