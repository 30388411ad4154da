#include "export/letters.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "export/sheet.h"

#define BOX       0xfffd
#define DOTLESS_I 0x131

/*
 * M x y: a stroke begins. L x y: a line. C x y x y x y: a curve with two control points. A x y rx ry from to: an arc
 * around (x, y), angles in degrees, counter-clockwise when they grow; a: the same as a stroke of its own.
 * Coordinates are those of the middle of the pen.
 */
struct letter {
    uint16_t character;
    uint16_t advance;
    const char *strokes;
};

/* clang-format off */
static const struct letter letters[] = { /* by character */
    {' ', 278, ""},
    {'!', 278, "M 139 676 L 139 230 M 139 42 L 139 52"},
    {'"', 355, "M 110 676 L 110 480 M 245 676 L 245 480"},
    {'#', 556, "M 210 676 L 140 42 M 425 676 L 355 42 M 60 455 L 525 455 M 40 250 L 505 250"},
    {'$', 556, "M 455 500 C 445 590 380 640 275 640 C 165 640 90 585 90 500 C 90 405 170 385 278 360 "
               "C 395 333 475 305 475 205 C 475 115 395 65 285 65 C 160 65 80 125 72 225 M 278 740 L 278 -40"},
    {'%', 889, "a 200 515 130 160 0 360 a 689 190 130 160 0 360 M 650 690 L 240 10"},
    {'&', 667, "M 610 42 L 225 470 C 170 535 165 600 215 645 C 260 690 345 685 385 640 C 425 590 405 520 340 470 "
               "L 200 375 C 90 300 60 200 105 115 C 160 10 340 0 455 115 C 520 180 560 265 565 340"},
    {'\'', 191, "M 95 676 L 95 480"},
    {'(', 333, "M 260 720 C 70 500 70 30 260 -165"},
    {')', 333, "M 73 720 C 263 500 263 30 73 -165"},
    {'*', 389, "M 195 676 L 195 440 M 90 618 L 300 498 M 300 618 L 90 498"},
    {'+', 584, "M 292 480 L 292 70 M 85 275 L 499 275"},
    {',', 278, "M 139 52 L 139 42 C 139 0 125 -55 100 -85"},
    {'-', 333, "M 80 275 L 253 275"},
    {'.', 278, "M 139 42 L 139 52"},
    {'/', 278, "M 250 690 L 28 28"},
    {'0', 556, "a 278 352 200 324 0 360"},
    {'1', 556, "M 110 540 C 210 550 270 595 290 676 L 290 42"},
    {'2', 556, "M 80 470 C 80 600 160 676 280 676 C 400 676 470 600 470 495 C 470 400 400 340 300 270 "
               "C 190 195 90 140 75 42 L 480 42"},
    {'3', 556, "M 75 500 C 80 610 150 676 265 676 C 385 676 455 610 455 520 C 455 430 390 375 290 370 L 235 370 "
               "M 290 370 C 410 365 480 300 480 205 C 480 95 395 28 270 28 C 140 28 70 100 65 215"},
    {'4', 556, "M 385 42 L 385 676 L 55 215 L 500 215"},
    {'5', 556, "M 455 676 L 150 676 L 105 345 C 150 395 210 420 275 420 C 400 420 480 340 480 225 "
               "C 480 105 395 28 265 28 C 150 28 75 95 68 195"},
    {'6', 556, "M 460 540 C 440 630 380 676 295 676 C 150 676 78 540 78 240 a 278 232 200 204 0 360"},
    {'7', 556, "M 70 676 L 485 676 C 340 510 230 300 205 42"},
    {'8', 556, "a 278 522 170 154 0 360 a 278 198 202 170 0 360"},
    {'9', 556, "M 96 164 C 116 74 176 28 261 28 C 406 28 478 164 478 464 a 278 472 200 204 0 360"},
    {':', 278, "M 139 42 L 139 52 M 139 435 L 139 445"},
    {';', 278, "M 139 52 L 139 42 C 139 0 125 -55 100 -85 M 139 435 L 139 445"},
    {'<', 584, "M 490 480 L 95 275 L 490 70"},
    {'=', 584, "M 85 370 L 499 370 M 85 180 L 499 180"},
    {'>', 584, "M 95 480 L 490 275 L 95 70"},
    {'?', 556, "M 85 510 C 90 620 165 690 285 690 C 400 690 470 625 470 530 C 470 400 295 390 285 225 M 285 42 L 285 52"},
    {'@', 1015, "M 680 500 L 640 230 C 630 150 700 130 770 190 C 840 255 870 340 860 420 C 840 590 700 690 520 690 "
                "C 280 690 100 520 100 290 C 100 70 250 -90 490 -90 C 600 -90 690 -60 760 -10 a 500 330 160 185 0 360"},
    {'A', 667, "M 50 42 L 333 676 L 617 42 M 141 245 L 526 245"},
    {'B', 667, "M 118 42 L 118 676 L 345 676 A 345 525 165 151 90 -90 L 118 374 M 345 374 L 375 374 "
               "A 375 208 190 166 90 -90 L 118 42"},
    {'C', 722, "a 378 359 290 331 38 322"},
    {'D', 722, "M 124 42 L 124 676 L 315 676 A 315 359 320 317 90 -90 L 124 42"},
    {'E', 667, "M 580 676 L 124 676 L 124 42 L 590 42 M 124 370 L 545 370"},
    {'F', 611, "M 555 676 L 124 676 L 124 42 M 124 360 L 505 360"},
    {'G', 778, "a 388 359 300 331 40 325 L 660 195 L 660 340 L 412 340"},
    {'H', 722, "M 120 42 L 120 676 M 602 42 L 602 676 M 120 370 L 602 370"},
    {'I', 278, "M 139 42 L 139 676"},
    {'J', 500, "M 382 676 L 382 210 A 222 210 160 182 0 -180 L 62 250"},
    {'K', 667, "M 122 42 L 122 676 M 585 676 L 122 275 M 270 403 L 610 42"},
    {'L', 556, "M 118 676 L 118 42 L 500 42"},
    {'M', 833, "M 116 42 L 116 676 L 416 75 L 717 676 L 717 42"},
    {'N', 722, "M 118 42 L 118 676 L 604 42 L 604 676"},
    {'O', 778, "a 389 359 308 331 0 360"},
    {'P', 667, "M 122 42 L 122 676 L 390 676 A 390 510 195 166 90 -90 L 122 344"},
    {'Q', 778, "a 389 359 308 331 0 360 M 455 185 L 640 20"},
    {'R', 722, "M 124 42 L 124 676 L 415 676 A 415 517 195 159 90 -90 L 124 358 M 420 358 L 630 42"},
    {'S', 667, "M 565 505 C 555 620 470 690 330 690 C 190 690 105 615 105 515 C 105 400 200 380 330 350 "
               "C 470 318 580 290 580 185 C 580 85 480 28 340 28 C 190 28 95 100 88 225"},
    {'T', 611, "M 50 676 L 561 676 M 305 676 L 305 42"},
    {'U', 722, "M 118 676 L 118 260 A 361 260 243 232 180 360 L 604 676"},
    {'V', 667, "M 50 676 L 333 42 L 617 676"},
    {'W', 944, "M 45 676 L 240 42 L 472 650 L 704 42 L 899 676"},
    {'X', 667, "M 65 676 L 602 42 M 602 676 L 65 42"},
    {'Y', 667, "M 50 676 L 333 320 L 617 676 M 333 320 L 333 42"},
    {'Z', 611, "M 75 676 L 540 676 L 65 42 L 550 42"},
    {'[', 278, "M 235 720 L 105 720 L 105 -165 L 235 -165"},
    {'\\', 278, "M 28 690 L 250 28"},
    {']', 278, "M 43 720 L 173 720 L 173 -165 L 43 -165"},
    {'^', 469, "M 90 400 L 234 660 L 378 400"},
    {'_', 556, "M 0 -120 L 556 -120"},
    {'`', 333, "M 110 700 L 200 590"},
    {'a', 556, "M 80 370 C 90 450 160 496 265 496 C 380 496 440 445 440 355 L 440 130 C 440 75 460 50 510 55 "
               "M 440 300 C 400 265 70 320 70 155 C 70 75 130 28 220 28 C 340 28 440 100 440 210"},
    {'b', 556, "M 100 42 L 100 676 a 288 262 188 234 0 360"},
    {'c', 500, "a 268 262 200 234 45 315"},
    {'d', 556, "M 456 42 L 456 676 a 268 262 188 234 0 360"},
    {'e', 556, "M 78 272 L 476 272 A 277 262 199 234 2 318"},
    {'f', 278, "M 262 668 C 180 690 135 650 135 560 L 135 42 M 25 481 L 245 481"},
    {'g', 556, "a 262 262 185 234 0 360 M 447 481 L 447 20 C 447 -110 380 -178 260 -178 C 160 -178 95 -135 85 -60"},
    {'h', 556, "M 106 42 L 106 676 M 106 300 C 106 410 180 496 290 496 C 400 496 450 430 450 320 L 450 42"},
    {'i', 222, "M 111 42 L 111 481 M 111 655 L 111 672"},
    {'j', 222, "M 111 481 L 111 -80 C 111 -150 75 -172 10 -165 M 111 655 L 111 672"},
    {'k', 500, "M 104 42 L 104 676 M 440 481 L 104 185 M 218 285 L 460 42"},
    {'l', 222, "M 111 42 L 111 676"},
    {'m', 833, "M 106 42 L 106 481 M 106 320 C 106 420 165 496 265 496 C 365 496 416 440 416 330 L 416 42 "
               "M 416 320 C 416 420 480 496 575 496 C 675 496 727 440 727 330 L 727 42"},
    {'n', 556, "M 106 42 L 106 481 M 106 300 C 106 410 180 496 290 496 C 400 496 450 430 450 320 L 450 42"},
    {'o', 556, "a 278 262 203 234 0 360"},
    {'p', 556, "M 100 481 L 100 -165 a 288 262 188 234 0 360"},
    {'q', 556, "M 456 481 L 456 -165 a 268 262 188 234 0 360"},
    {'r', 333, "M 110 42 L 110 481 M 110 290 C 110 400 180 490 310 478"},
    {'s', 500, "M 425 370 C 415 450 350 496 250 496 C 150 496 85 450 85 375 C 85 300 150 285 250 262 "
               "C 360 238 435 215 435 140 C 435 70 365 28 255 28 C 140 28 75 80 68 165"},
    {'t', 278, "M 140 620 L 140 140 C 140 65 170 40 250 52 M 25 481 L 245 481"},
    {'u', 556, "M 106 481 L 106 205 C 106 90 160 28 262 28 C 370 28 450 110 450 225 M 450 481 L 450 42"},
    {'v', 500, "M 45 481 L 250 42 L 455 481"},
    {'w', 722, "M 45 481 L 195 42 L 361 470 L 527 42 L 677 481"},
    {'x', 500, "M 55 481 L 445 42 M 445 481 L 55 42"},
    {'y', 500, "M 45 481 L 262 50 M 455 481 L 240 -60 C 205 -145 160 -175 80 -160"},
    {'z', 500, "M 60 481 L 435 481 L 55 42 L 445 42"},
    {'{', 334, "M 285 720 C 150 720 190 580 185 420 C 182 330 150 290 60 278 C 150 266 182 226 185 136 "
               "C 190 -24 150 -165 285 -165"},
    {'|', 260, "M 130 720 L 130 -165"},
    {'}', 334, "M 49 720 C 184 720 144 580 149 420 C 152 330 184 290 274 278 C 184 266 152 226 149 136 "
               "C 144 -24 184 -165 49 -165"},
    {'~', 584, "M 85 235 C 130 340 210 330 292 275 C 374 220 454 210 499 315"},
    {0xb0, 400, "a 200 560 100 100 0 360"},
    {0xb1, 584, "M 292 520 L 292 150 M 85 335 L 499 335 M 85 60 L 499 60"},
    {0xb5, 556, "M 106 481 L 106 -165 M 106 205 C 106 90 160 28 262 28 C 370 28 450 110 450 225 M 450 481 L 450 42"},
    {0xb7, 278, "M 139 275 L 139 285"},
    {0xd7, 584, "M 130 440 L 454 110 M 454 440 L 130 110"},
    {0xd8, 778, "a 389 359 308 331 0 360 M 130 42 L 648 676"},
    {0xdf, 611, "M 106 42 L 106 480 C 106 620 180 690 300 690 C 410 690 480 630 480 535 C 480 450 420 400 330 380 "
                "C 460 375 535 310 535 200 C 535 90 450 28 310 35"},
    {0xe6, 889, "M 80 370 C 90 450 160 496 255 496 C 370 496 430 445 430 355 L 430 262 M 430 300 C 390 265 70 320 70 155 "
                "C 70 75 130 28 215 28 C 340 28 430 120 430 262 L 814 272 A 622 262 192 234 2 318"},
    {0xf8, 611, "a 305 262 220 234 0 360 M 90 10 L 520 514"},
    {DOTLESS_I, 222, "M 111 42 L 111 481"},
    {0x2013, 556, "M 30 275 L 526 275"},
    {0x2014, 1000, "M 30 275 L 970 275"},
    {0x2019, 222, "M 125 676 C 125 610 115 570 90 530"},
    {0x2026, 1000, "M 167 42 L 167 52 M 500 42 L 500 52 M 833 42 L 833 52"},
    {BOX, 556, "M 80 42 L 80 640 L 476 640 L 476 42 L 80 42"},
};
/* clang-format on */

/* Accents over (or under) the middle of a small letter, around x = 0. */
static const char *const accents[] = {
    "M -70 690 L 40 590",                                         /* ` */
    "M 70 690 L -40 590",                                         /* ´ */
    "M -100 590 L 0 690 L 100 590",                               /* ^ */
    "M -120 605 C -80 700 -30 660 0 645 C 30 630 80 590 120 685", /* ~ */
    "M -95 650 L -95 660 M 95 650 L 95 660",                      /* ¨ */
    "a 0 665 70 70 0 360",                                        /* ° */
    "M 20 28 C 70 -60 60 -150 -70 -150",                          /* ¸ */
};
#define CAPITAL_RISE 190
#define CEDILLA      6

/* The letters from U+00C0 to U+00FF: what each is without its accent, and which accent; a space = it is none. */
static const char bare[] = "AAAAAA CEEEEIIII NOOOOO  UUUUY  aaaaaa ceeeeiiii nooooo  uuuuy y";
static const char marks[] = "012345 601240124 301234  01241  012345 601240124 301234  01241 4";

/* ---- characters ---- */

uint32_t letters_next(const char **text)
{
    unsigned char first = (unsigned char)*(*text)++;
    unsigned extra = first < 0xc0 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    uint32_t character = extra ? first & (0x3fu >> extra) : first;
    for (; extra && **text; extra--)
        character = character << 6 | ((unsigned char)*(*text)++ & 0x3f);
    return character;
}

static const struct letter *find(uint32_t character)
{
    size_t low = 0, high = sizeof letters / sizeof *letters;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (letters[middle].character == character)
            return &letters[middle];
        if (letters[middle].character < character)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* The letter to draw, and the accent to draw over it. */
static const struct letter *resolve(uint32_t character, int *accent)
{
    const struct letter *letter = find(character);
    *accent = -1;
    if (!letter && character >= 0xc0 && character <= 0xff && bare[character - 0xc0] != ' ') {
        *accent = marks[character - 0xc0] - '0';
        letter = find(bare[character - 0xc0] == 'i' ? DOTLESS_I : (unsigned char)bare[character - 0xc0]);
    }
    return letter ? letter : &letters[sizeof letters / sizeof *letters - 1];
}

double letters_advance(uint32_t character)
{
    int accent;
    return resolve(character, &accent)->advance;
}

double letters_width(const char *text, double size)
{
    double width = 0;
    while (*text)
        width += letters_advance(letters_next(&text));
    return width * size / LETTERS_EM;
}

/* ---- strokes ---- */

struct path {
    struct sheet_point points[LETTERS_POINTS_MAX];
    uint32_t count;
    double shift_x, shift_y;
    letters_stroke *stroke;
    void *context;
};

static void end_stroke(struct path *path)
{
    if (path->count)
        path->stroke(path->context, path->points, path->count);
    path->count = 0;
}

static void go_to(struct path *path, double x, double y)
{
    if (path->count < LETTERS_POINTS_MAX)
        path->points[path->count++] = (struct sheet_point){x + path->shift_x, y + path->shift_y};
}

static void draw_arc(struct path *path, const double *numbers)
{
    double from = numbers[4] * M_PI / 180, to = numbers[5] * M_PI / 180;
    int steps = 4 + (int)(fabs(numbers[5] - numbers[4]) / 8);
    for (int i = 0; i <= steps; i++) {
        double angle = from + (to - from) * i / steps;
        go_to(path, numbers[0] + numbers[2] * cos(angle), numbers[1] + numbers[3] * sin(angle));
    }
}

static void draw_curve(struct path *path, const double *numbers)
{
    if (!path->count)
        return;
    struct sheet_point start = path->points[path->count - 1];
    start.x -= path->shift_x;
    start.y -= path->shift_y;
    for (int i = 1; i <= 10; i++) {
        double t = i / 10.0, u = 1 - t;
        double a = u * u * u, b = 3 * u * u * t, c = 3 * u * t * t, d = t * t * t;
        go_to(path, a * start.x + b * numbers[0] + c * numbers[2] + d * numbers[4],
              a * start.y + b * numbers[1] + c * numbers[3] + d * numbers[5]);
    }
}

static const char *draw_command(struct path *path, const char *at)
{
    char command = *at++;
    double numbers[6] = {0};
    int count = command == 'M' || command == 'L' ? 2 : 6;
    for (int i = 0; i < count; i++) {
        char *end;
        numbers[i] = (double)strtol(at, &end, 10);
        at = end;
    }
    if (command == 'M' || command == 'a')
        end_stroke(path);
    if (command == 'C')
        draw_curve(path, numbers);
    else if (command == 'A' || command == 'a')
        draw_arc(path, numbers);
    else
        go_to(path, numbers[0], numbers[1]);
    return at;
}

static void draw(struct path *path, const char *strokes)
{
    for (const char *at = strokes; *at;)
        at = *at == ' ' ? at + 1 : draw_command(path, at);
    end_stroke(path);
}

void letters_draw(uint32_t character, letters_stroke *stroke, void *context)
{
    struct path path = {.stroke = stroke, .context = context};
    int accent;
    const struct letter *letter = resolve(character, &accent);
    draw(&path, letter->strokes);
    if (accent < 0)
        return;
    path.shift_x = letter->advance / 2.0;
    path.shift_y = letter->character < 'a' && accent != CEDILLA ? CAPITAL_RISE : 0;
    draw(&path, accents[accent]);
}
