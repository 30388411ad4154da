#include "cli/line_targets_option.h"

#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/options.h"

int line_targets_option_check(const struct option_list *functions, struct err *err)
{
    for (size_t i = 0; i < functions->count; i++)
        if (!functions->items[i][0] || strchr(functions->items[i], '\n'))
            return err_set(err, "--function must name a function, class, module, file or file:line");
    return 0;
}

void line_targets_option_put_settings(const struct option_list *functions, struct bytes *out)
{
    for (size_t i = 0; i < functions->count; i++)
        bytes_putf(out, "line_target=%s\n", functions->items[i]);
}

void line_targets_option_put_words(const struct option_list *functions, struct bytes *out)
{
    for (size_t i = 0; i < functions->count; i++)
        bytes_putf(out, "%s%s", i ? ", " : "", functions->items[i]);
    bytes_put_u8(out, 0);
}

void line_targets_option_put_missing(const struct option_list *functions, uint64_t found, struct bytes *out)
{
    for (size_t i = 0; i < functions->count; i++)
        if (!(found >> (i < 63 ? i : 63) & 1))
            bytes_putf(out, "%s%s", out->size ? ", " : "", functions->items[i]);
}
