#include "show/amount_text.h"

#include "base/bytes.h"

void amount_text_put(enum measure measure, double amount, struct bytes *out)
{
    if (measure_unit(measure) == MEASURE_NS)
        bytes_putf(out, "%*.3f", AMOUNT_TEXT_WIDTH, amount / 1e9);
    else
        bytes_putf(out, "%*s", AMOUNT_TEXT_WIDTH, measure_quantity(measure, (uint64_t)amount).text);
}
