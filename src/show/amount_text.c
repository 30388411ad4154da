#include "show/amount_text.h"

#include "base/bytes.h"

void amount_text_put(enum measure measure, double amount, struct bytes *out)
{
    switch (measure_unit(measure)) {
    case MEASURE_BYTES:
        bytes_putf(out, "%*s", AMOUNT_TEXT_WIDTH, quantity_bytes(amount).text);
        break;
    case MEASURE_BLOCKS:
        bytes_putf(out, "%*.0f", AMOUNT_TEXT_WIDTH, amount);
        break;
    default:
        bytes_putf(out, "%*.3f", AMOUNT_TEXT_WIDTH, amount / 1e9);
    }
}
