/*
 * host_address: where a server is, as people write it: "HOST:PORT", ":PORT" (this machine), "[::1]:PORT", or the whole
 * "http://HOST:PORT/TOKEN/" that sonde printed.
 */
#ifndef SONDE_CLI_HOST_ADDRESS_H
#define SONDE_CLI_HOST_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

struct err;

#define HOST_ADDRESS_TOKEN_SIZE  65
#define HOST_ADDRESS_NUMBER_SIZE 64

struct host_address {
    char host[256]; /* a name or a number, without brackets */
    uint16_t port;
    char token[HOST_ADDRESS_TOKEN_SIZE]; /* "" = none was said */
};

/* False when the text is nothing of the kind. */
bool host_address_read(const char *text, struct host_address *address);
/* "8086" → 8086; 0 when it is no port. */
uint16_t host_address_port(const char *text);

/* The number that the name stands for: a number is its own. Names are looked up by `getent`, because a program that is
 * linked statically cannot. */
int host_address_find(const char *host, char number[HOST_ADDRESS_NUMBER_SIZE], struct err *err);

#endif
