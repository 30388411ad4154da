#include "cli/host_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

#define SCHEME   "http://"
#define LETTERS  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS   "0123456789"
#define IN_NAME  LETTERS DIGITS "-._"
#define IN_SIX   "abcdefABCDEF" DIGITS ":."
#define IN_TOKEN LETTERS DIGITS "-_"

uint16_t host_address_port(const char *text)
{
    size_t size = strspn(text, DIGITS);
    unsigned long port = size && size < 6 && !text[size] ? strtoul(text, NULL, 10) : 0;
    return port <= UINT16_MAX ? (uint16_t)port : 0;
}

/* Copies so many characters, if they fit; what is behind them. */
static const char *take(const char *text, size_t size, char *out, size_t room)
{
    if (size >= room)
        return NULL;
    memcpy(out, text, size);
    out[size] = '\0';
    return text + size;
}

/* "/TOKEN/", "/" or nothing. */
static bool take_token(const char *text, struct host_address *address)
{
    text += *text == '/';
    text = take(text, strspn(text, IN_TOKEN), address->token, sizeof address->token);
    return text && (!*text || strcmp(text, "/") == 0);
}

bool host_address_read(const char *text, struct host_address *address)
{
    char digits[8];
    *address = (struct host_address){0};
    bool whole = strncmp(text, SCHEME, strlen(SCHEME)) == 0;
    text += whole ? strlen(SCHEME) : 0;
    if (*text == '[') {
        text = take(text + 1, strspn(text + 1, IN_SIX), address->host, sizeof address->host);
        if (!text || *text++ != ']')
            return false;
    } else {
        text = take(text, strspn(text, IN_NAME), address->host, sizeof address->host);
    }
    if (!text || *text++ != ':')
        return false;
    text = take(text, strspn(text, DIGITS), digits, sizeof digits);
    address->port = text ? host_address_port(digits) : 0;
    if (!address->host[0])
        strcpy(address->host, "127.0.0.1");
    return address->port && (whole ? take_token(text, address) : !*text);
}

/* ---- names ---- */

static bool is_number(const char *host)
{
    struct in6_addr place;
    return inet_pton(AF_INET, host, &place) == 1 || inet_pton(AF_INET6, host, &place) == 1;
}

/* The beginning of what `getent ahosts NAME` prints; its exit status, or -1. */
static int ask_system(const char *name, char *text, size_t size)
{
    extern char **environ;
    char *const argv[] = {"getent", "ahosts", (char *)name, NULL};
    int ends[2], status = 0;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    ssize_t got = failed ? 0 : read(ends[0], text, size - 1);
    text[got > 0 ? got : 0] = '\0';
    close(ends[0]);
    while (!failed && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return failed ? -1 : 0;
}

int host_address_find(const char *host, char number[HOST_ADDRESS_NUMBER_SIZE], struct err *err)
{
    char text[256];
    if (strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    if (is_number(host)) {
        snprintf(number, HOST_ADDRESS_NUMBER_SIZE, "%s", host);
        return 0;
    }
    if (*host == '-' || ask_system(host, text, sizeof text) < 0)
        return err_set(err, "the name %s cannot be looked up here (there is no getent): give its address",
                       host);
    text[strcspn(text, " \t\n")] = '\0';
    if (!is_number(text))
        return err_set(err, "no machine is called %s", host);
    snprintf(number, HOST_ADDRESS_NUMBER_SIZE, "%.*s", HOST_ADDRESS_NUMBER_SIZE - 1, text);
    return 0;
}
