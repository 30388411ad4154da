#include "show/peer_user.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"

#define TABLE_BYTES_MAX ((size_t)64 << 20) /* 400,000 sockets */
#define PLACE_MAX       48

/* As the table writes it: words of the address as the machine reads them, and the port. */
static bool put_place(const struct sockaddr *address, char place[PLACE_MAX])
{
    uint32_t words[4] = {0};
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *four = (const void *)address;
        snprintf(place, PLACE_MAX, "%08" PRIX32 ":%04X", (uint32_t)four->sin_addr.s_addr,
                 ntohs(four->sin_port));
        return true;
    }
    const struct sockaddr_in6 *six = (const void *)address;
    memcpy(words, &six->sin6_addr, sizeof words);
    snprintf(place, PLACE_MAX, "%08" PRIX32 "%08" PRIX32 "%08" PRIX32 "%08" PRIX32 ":%04X", words[0],
             words[1], words[2], words[3], ntohs(six->sin6_port));
    return address->sa_family == AF_INET6;
}

/* "  0: 0100007F:1F96 0100007F:A1B2 01 00000000:00000000 00:00000000 00000000  1000 …" */
static bool read_row(const char *row, const char *wanted, uint32_t *user)
{
    int begin = 0;
    size_t size = strlen(wanted);
    sscanf(row, " %*u: %n", &begin);
    return begin && strncmp(row + begin, wanted, size) == 0 &&
           sscanf(row + begin + size, " %*x:%*x %*x:%*x %*x %" SCNu32, user) == 1;
}

bool peer_user_find(const char *table, const struct sockaddr *address, const struct sockaddr *other,
                    uint32_t *user)
{
    char place[PLACE_MAX], far[PLACE_MAX], wanted[2 * PLACE_MAX + 8];
    if (!put_place(address, place) || !put_place(other, far))
        return false;
    snprintf(wanted, sizeof wanted, "%s %s 01 ", place, far); /* one that is closed has no user any more */
    for (const char *row = table; row; row = strchr(row, '\n')) {
        row += *row == '\n';
        if (read_row(row, wanted, user))
            return true;
    }
    return false;
}

bool peer_user_is_own(int fd)
{
    struct sockaddr_storage near = {0}, far = {0};
    socklen_t near_size = sizeof near, far_size = sizeof far;
    if (getsockname(fd, (struct sockaddr *)&near, &near_size) != 0 ||
        getpeername(fd, (struct sockaddr *)&far, &far_size) != 0)
        return false;
    struct bytes table = {0};
    uint32_t user = 0;
    const char *path = far.ss_family == AF_INET6 ? "/proc/self/net/tcp6" : "/proc/self/net/tcp";
    bool found = bytes_read_file(&table, path, TABLE_BYTES_MAX, NULL) == 0;
    bytes_put_u8(&table, 0);
    found = found && !table.failed &&
            peer_user_find((char *)table.data, (struct sockaddr *)&far, (struct sockaddr *)&near, &user);
    bytes_clear(&table);
    return found && (user == getuid() || user == 0);
}
