#include "unwind/call_site.h"

#include <string.h>

#define NEAR_CALL        0xe8
#define NEAR_CALL_LENGTH 5

/* Whether `call *operand` stands here, with so many bytes. */
static bool is_indirect(const uint8_t *code, unsigned length)
{
    unsigned mode = code[1] >> 6, base = code[1] & 7, bytes = 2;
    if (code[0] != 0xff || (code[1] & 0x38) != 0x10)
        return false;
    if (mode != 3 && base == 4) {
        bytes++;
        base = length > 2 ? code[2] & 7 : 0;
    }
    bytes += mode == 1 ? 1 : mode == 2 || (mode == 0 && base == 5) ? 4 : 0;
    return bytes == length;
}

bool call_site_ends(uint64_t before)
{
    uint8_t code[sizeof before];
    memcpy(code, &before, sizeof before);
    bool found = code[sizeof code - NEAR_CALL_LENGTH] == NEAR_CALL;
    for (unsigned length = 2; length < sizeof code && !found; length++)
        found = is_indirect(&code[sizeof code - length], length);
    return found;
}
