/* quantity: numbers as people read them: "3.21 s", "1,234,567", "62%", "812 MiB". Texts hold QUANTITY_SIZE bytes. */
#ifndef SONDE_BASE_QUANTITY_H
#define SONDE_BASE_QUANTITY_H

#include <stdint.h>

#define QUANTITY_SIZE 32

struct quantity {
    char text[QUANTITY_SIZE];
};

struct quantity
quantity_duration(double ns); /* three digits and a unit: ns, µs, ms, s; from 2 minutes on "3 min 20 s" */
struct quantity quantity_count(uint64_t count); /* commas between thousands */
struct quantity quantity_share(double share);   /* percent of 1.0; one decimal below 10 */
struct quantity quantity_bytes(double size);    /* three digits and a unit: B, KiB, MiB, ... */

#endif
