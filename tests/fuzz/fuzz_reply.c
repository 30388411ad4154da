/*
 * The head of what answers at an address, on any bytes: its size lies within them, a part of it is not taken for all of it,
 * and what it says is within limits.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/http_get.h"
#include "cli/options.h"

const struct command *const sonde_commands[] = {NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact)
{
    if (!fact)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_get_head head, early;
    const char *text = (const char *)data;
    int found = http_get_read_head(text, size, &head);
    require(found >= -1 && (found < 0 || (size_t)found <= size));
    if (found <= 0)
        return 0;
    require(memcmp(text + found - 4, "\r\n\r\n", 4) == 0);
    require(strlen(head.run) < sizeof head.run && head.body_bytes <= (size_t)16 << 20);
    require(http_get_read_head(text, (size_t)found - 1, &early) == 0);
    require(http_get_read_head(text, (size_t)found, &early) == found && early.status == head.status);
    return 0;
}
