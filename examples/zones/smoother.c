/* A library with zones, which Python calls (smooth.py): its zones lie inside those of Python on one time line. */
#include <sonde/zones.h>

static double sweep(double *cells, int count)
{
    SONDE_ZONE("sweep");
    double change = 0;
    for (int i = 1; i + 1 < count; i++) {
        double smooth = (cells[i - 1] + 2 * cells[i] + cells[i + 1]) / 4;
        change += (smooth - cells[i]) * (smooth - cells[i]);
        cells[i] = smooth;
    }
    return change;
}

int smooth(double *cells, int count, double enough)
{
    SONDE_ZONE("smooth");
    int sweeps = 0;
    double change = enough + 1;
    while (change > enough && sweeps < 1000) {
        change = sweep(cells, count);
        SONDE_COUNTER("change", change);
        sweeps++;
    }
    SONDE_MESSAGE("smooth enough", NULL);
    return sweeps;
}
