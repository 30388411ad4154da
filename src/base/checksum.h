/* checksum: CRC-32C (Castagnoli), as iSCSI and ext4 use it. Start with 0; feed in pieces. */
#ifndef SONDE_BASE_CHECKSUM_H
#define SONDE_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint32_t checksum_crc32c(uint32_t crc, const void *data, size_t size);

#endif
