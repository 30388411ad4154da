#include "base/quantity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct quantity quantity_duration(double ns)
{
    static const struct {
        double size_ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}};
    struct quantity out;
    if (ns >= 120e9) {
        uint64_t seconds = (uint64_t)(ns / 1e9 + 0.5);
        snprintf(out.text, sizeof out.text, "%" PRIu64 " min %u s", seconds / 60, (unsigned)(seconds % 60));
        return out;
    }
    int unit = 0;
    while (unit < 3 && ns < 0.9995 * units[unit].size_ns)
        unit++;
    double value = ns / units[unit].size_ns;
    int decimals = unit == 3 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(out.text, sizeof out.text, "%.*f %s", decimals, value, units[unit].unit);
    return out;
}

struct quantity quantity_count(uint64_t count)
{
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%" PRIu64, count);
    struct quantity out;
    char *at = out.text;
    for (int i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0)
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
    return out;
}

struct quantity quantity_share(double share)
{
    struct quantity out;
    double percent = share * 100;
    snprintf(out.text, sizeof out.text, percent < 9.95 ? "%.1f%%" : "%.0f%%", percent);
    return out;
}

struct quantity quantity_bytes(double size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double magnitude = size < 0 ? -size : size;
    int unit = 0;
    for (; unit < 4 && magnitude >= 999.5; unit++)
        magnitude /= 1024;
    int decimals = unit == 0 || magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2;
    struct quantity out;
    snprintf(out.text, sizeof out.text, "%s%.*f %s", size < 0 ? "-" : "", decimals, magnitude, units[unit]);
    return out;
}
