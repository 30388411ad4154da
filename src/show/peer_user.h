/*
 * peer_user: whose process is at the other end of a connection within this machine. The loopback is open to everybody who
 * has an account here; the kernel's table of sockets says who it is.
 */
#ifndef SONDE_SHOW_PEER_USER_H
#define SONDE_SHOW_PEER_USER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* Whether it is our own user, or root; false when that cannot be found out. */
bool peer_user_is_own(int fd);

/* The same for the table's text: the user of the socket with that address whose other end is `other`. */
bool peer_user_find(const char *table, const struct sockaddr *address, const struct sockaddr *other,
                    uint32_t *user);

#endif
