#include "analyse/axis.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct unit {
    double scale;
    const char *suffix;
};

static const struct unit bytes_units[] = {
    {0x1p60, " EiB"}, {0x1p50, " PiB"}, {0x1p40, " TiB"}, {0x1p30, " GiB"},
    {0x1p20, " MiB"}, {0x1p10, " KiB"}, {1, " B"},
};
static const struct unit number_units[] = {
    {1e18, " E"}, {1e15, " P"}, {1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}, {1, ""},
};
static const struct unit seconds_units[] = {
    {86400, " d"}, {3600, " h"}, {60, " min"}, {1, " s"}, {1e-3, " ms"}, {1e-6, " µs"}, {1e-9, " ns"},
};
#define UNITS 7 /* of each kind, largest first */

static const struct unit *units_of(enum axis_kind kind)
{
    return kind == AXIS_BYTES ? bytes_units : kind == AXIS_SECONDS ? seconds_units : number_units;
}

/* The largest unit of which `size` is at least one; the smallest, if it is less than any. */
static const struct unit *unit_for(enum axis_kind kind, double size)
{
    const struct unit *units = units_of(kind);
    for (size_t i = 0; i + 1 < UNITS; i++)
        if (size >= units[i].scale)
            return &units[i];
    return &units[UNITS - 1];
}

/* ---- steps ---- */

/* 1, 2 or 5 times a power of ten, at least `size`. */
static double round_step(double size)
{
    double power = pow(10, floor(log10(size)));
    static const double factors[] = {1, 2, 5};
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        if (factors[i] * power >= size * (1 - 1e-9))
            return factors[i] * power;
    return 10 * power;
}

/* Minutes and hours are not divided by ten. */
static double seconds_step(double size)
{
    static const double steps[] = {60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400};
    if (size <= 50)
        return fmax(round_step(size), 1e-9);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i] >= size * (1 - 1e-9))
            return steps[i];
    return 86400 * round_step(size / 86400);
}

static double step_for(enum axis_kind kind, double size, double largest)
{
    if (kind == AXIS_SECONDS)
        return seconds_step(size);
    double scale = unit_for(kind, largest)->scale;
    double step = scale * round_step(size / scale);
    return kind == AXIS_BYTES ? fmax(step, 1) : step;
}

/* Minutes and hours only where every mark is a whole number of them. */
static const struct unit *shown_unit(enum axis_kind kind, double step, double largest)
{
    const struct unit *unit = unit_for(kind, largest);
    bool divided = kind == AXIS_SECONDS && unit->scale >= 60 && step < unit->scale;
    return divided ? unit_for(kind, fmax(step, 1)) : unit;
}

/* A step below this would vanish beside the values themselves. */
static double smallest_step(double largest)
{
    return fmax(largest * 1e-12, DBL_MIN * 1e16);
}

void axis_make(struct axis *axis, enum axis_kind kind, double low, double high, unsigned marks)
{
    if (!(high > low))
        high = low + (low == 0 ? 1 : fabs(low) / 2);
    double largest = fmax(fabs(low), fabs(high));
    double size = fmax((high - low) / (marks ? marks : 1), smallest_step(largest));
    double step = step_for(kind, size, largest);
    const struct unit *unit = shown_unit(kind, step, largest);
    int decimals = (int)-floor(log10(step / unit->scale) + 1e-9);
    *axis = (struct axis){
        .low = low,
        .high = high,
        .step = step,
        .kind = kind,
        .suffix = unit->suffix,
        .scale = unit->scale,
        .decimals = decimals < 0   ? 0
                    : decimals > 9 ? 9
                                   : decimals,
    };
}

void axis_make_wide(struct axis *axis, enum axis_kind kind, double low, double high, unsigned marks)
{
    axis_make(axis, kind, low, high, marks);
    axis->low = floor(axis->low / axis->step + 1e-9) * axis->step;
    axis->high = fmax(ceil(axis->high / axis->step - 1e-9) * axis->step, axis->low + axis->step);
}

/* ---- marks ---- */

double axis_first(const struct axis *axis)
{
    return ceil(axis->low / axis->step - 1e-9) * axis->step + 0.0; /* never minus zero */
}

unsigned axis_count(const struct axis *axis)
{
    double count = floor((axis->high - axis_first(axis)) / axis->step + 1e-9) + 1;
    return count < 1 ? 0 : (unsigned)count;
}

struct quantity axis_text(const struct axis *axis, double value)
{
    struct quantity out;
    if (value == 0) /* "0", not "0.0" */
        snprintf(out.text, sizeof out.text, "0%s", axis->suffix);
    else
        snprintf(out.text, sizeof out.text, "%.*f%s", axis->decimals, value / axis->scale, axis->suffix);
    return out;
}

double axis_share(const struct axis *axis, double value)
{
    return (value - axis->low) / (axis->high - axis->low);
}

/* As quantity.h writes sizes and durations. */
static struct quantity number_text(double value)
{
    struct quantity out;
    const struct unit *unit = unit_for(AXIS_NUMBER, fabs(value) * 1.0005);
    double shown = value / unit->scale, size = fabs(shown);
    int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
    snprintf(out.text, sizeof out.text, size > 0 && size < 0.1 ? "%.*g%s" : "%.*f%s", decimals, shown,
             unit->suffix);
    return out;
}

struct quantity axis_value_text(enum axis_kind kind, double value)
{
    if (kind == AXIS_BYTES)
        return quantity_bytes(value);
    if (kind == AXIS_SECONDS && value == 0)
        return (struct quantity){"0 s"};
    return kind == AXIS_SECONDS && value >= 0 ? quantity_duration(value * 1e9) : number_text(value);
}
