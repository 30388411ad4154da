#include "base/checksum.h"

#include <string.h>

#define POLYNOMIAL 0x82f63b78u

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_hardware(uint32_t crc, const uint8_t *at, size_t size)
{
    uint64_t wide = crc;
    for (; size >= 8; at += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (; size; at++, size--)
        crc = __builtin_ia32_crc32qi(crc, *at);
    return crc;
}
#endif

static uint32_t crc_bitwise_table(uint32_t crc, const uint8_t *at, size_t size)
{
    /* Four bits at a time: a table of 16 words is computed on the stack, so no global state is needed. */
    uint32_t table[16];
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 4; bit++)
            value = value & 1 ? value >> 1 ^ POLYNOMIAL : value >> 1;
        table[i] = value;
    }
    for (; size; at++, size--) {
        crc ^= *at;
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return crc;
}

uint32_t checksum_crc32c(uint32_t crc, const void *data, size_t size)
{
    crc = ~crc;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2"))
        return ~crc_hardware(crc, data, size);
#endif
    return ~crc_bitwise_table(crc, data, size);
}
