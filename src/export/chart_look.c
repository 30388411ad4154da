#include "export/chart_look.h"

#include "analyse/chart.h"

static const struct chart_look looks[] = {
    {0xffffff,
     0x17191b,
     0x5b6470,
     0xe6e9ed,
     0xb3261e,
     {0x0b57c4, 0xe66e20, 0x049886, 0x9c365d, 0xb872e0, 0x1a372c}},
    {0x17191c,
     0xeef0f2,
     0xa3adb9,
     0x2c3137,
     0xff9a94,
     {0x7db4ff, 0xbe5f26, 0x95b000, 0xfca0ab, 0x894ed6, 0x328092}},
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
