#include "export/heat.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

const struct heat_theme heat_themes[] = {
    {"color", {2.0 / 3, 0.55, 0.36}, {0, 0.85, 0.44}, true, 10, 13, 0.6, 4},
    {"pink", {0, 1, 0.94}, {0, 0.85, 0.44}, true, 10, 13, 0.6, 4},
    {"gray", {0, 0, 0.9}, {0, 0, 0.1}, true, 10, 13, 0.6, 4},
    {"bw", {0, 0, 0}, {0, 0, 0}, true, 8, 24, 0.1, 8},
    {"print", {0, 0, 0}, {0, 0, 0}, false, 18, 30, 0.1, 8},
    {NULL},
};

const struct heat_theme *heat_find(const char *name)
{
    for (const struct heat_theme *theme = heat_themes; theme->name; theme++)
        if (strcmp(theme->name, name) == 0)
            return theme;
    return NULL;
}

static double clamp(double value)
{
    return value < 0 ? 0 : value > 1 ? 1 : value;
}

/* One channel of an HSL colour; `turn` is 0 for red, 8 for green, 4 for blue. */
static double channel(struct heat_hsl color, double turn)
{
    double chroma = color.saturation * fmin(color.lightness, 1 - color.lightness);
    double place = fmod(turn + color.hue * 12, 12);

    return color.lightness - chroma * fmax(-1, fmin(fmin(place - 3, 9 - place), 1));
}

static uint32_t to_byte(double value)
{
    return (uint32_t)(255 * clamp(value) + 0.5);
}

uint32_t heat_color(const struct heat_theme *theme, double skew, double weight)
{
    double at = clamp(weight);
    const struct heat_hsl *cold = &theme->cold, *hot = &theme->hot;

    if (skew > 0 && skew != 1)
        at = (pow(skew, at) - 1) / (skew - 1);
    struct heat_hsl color = {
        cold->hue + at * (hot->hue - cold->hue),
        cold->saturation + at * (hot->saturation - cold->saturation),
        cold->lightness + at * (hot->lightness - cold->lightness),
    };
    return to_byte(channel(color, 0)) << 16 | to_byte(channel(color, 8)) << 8 | to_byte(channel(color, 4));
}

/* Relative luminance as WCAG 2 defines it, and from it the contrast of a colour with white and with black. */
static double linear(uint32_t byte)
{
    double value = byte / 255.0;

    return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
}

static double luminance(uint32_t color)
{
    return 0.2126 * linear(color >> 16 & 255) + 0.7152 * linear(color >> 8 & 255) +
           0.0722 * linear(color & 255);
}

static double contrast_with_white(uint32_t color)
{
    return 1.05 / (luminance(color) + 0.05);
}

static double contrast_with_black(uint32_t color)
{
    return (luminance(color) + 0.05) / 0.05;
}

uint32_t heat_text_on(uint32_t background)
{
    return contrast_with_white(background) >= contrast_with_black(background) ? 0xffffff : 0x000000;
}

uint32_t heat_text_like(uint32_t color)
{
    static const double readable = 4.5;

    while (contrast_with_white(color) < readable) {
        uint32_t red = color >> 16 & 255, green = color >> 8 & 255, blue = color & 255;
        color = red * 15 / 16 << 16 | green * 15 / 16 << 8 | blue * 15 / 16;
    }
    return color;
}

double heat_points(const struct heat_theme *theme, double weight)
{
    return theme->small_points + clamp(weight) * clamp(weight) * (theme->large_points - theme->small_points);
}

double heat_pen(const struct heat_theme *theme, double weight)
{
    return fmax(clamp(weight) * theme->thick_pen, theme->thin_pen);
}
