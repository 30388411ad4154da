#include "export/chart_look.h"

#include "analyse/chart.h"

static const struct chart_look looks[] = {
    {0xffffff,
     0x17191b,
     0x5b6470,
     0xe6e9ed,
     0xb3261e,
     {0x0b57c4, 0xd55e00, 0x00846a, 0xa3459c, 0x8a6a00, 0x4d5662}},
    {0x17191c,
     0xeef0f2,
     0xa3adb9,
     0x2c3137,
     0xff9a94,
     {0x7db4ff, 0xff9a4d, 0x4fd1a5, 0xe39bdc, 0xe0c04f, 0xb3bcc7}},
};

const struct chart_look *chart_look_find(bool dark)
{
    return &looks[dark];
}

double chart_look_x(const struct chart_frame *frame, double time_s)
{
    return frame->left + axis_share(&frame->chart->time, time_s) * (frame->right - frame->left);
}

double chart_look_y(const struct chart_panel_box *box, double value)
{
    return box->bottom - axis_share(&box->panel->axis, value) * (box->bottom - box->top);
}
