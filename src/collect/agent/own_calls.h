/*
 * own_calls: files by the kernel's own calls. The sampler's process shares the program's memory, and has a copy of one
 * thread's storage: what takes memory there ruins the program's. A library that stands before the C library's functions
 * for files (a launcher that follows processes, a recorder of input and output) does.
 */
#ifndef SONDE_COLLECT_AGENT_OWN_CALLS_H
#define SONDE_COLLECT_AGENT_OWN_CALLS_H

#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static inline int own_calls_open(const char *path, int flags)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
}

static inline void own_calls_close(int fd)
{
    syscall(SYS_close, fd);
}

static inline ssize_t own_calls_read(int fd, void *to, size_t bytes)
{
    return syscall(SYS_read, fd, to, bytes);
}

static inline ssize_t own_calls_pread(int fd, void *to, size_t bytes)
{
    return syscall(SYS_pread64, fd, to, bytes, 0L);
}

static inline void own_calls_rewind(int fd)
{
    syscall(SYS_lseek, fd, 0L, SEEK_SET);
}

#endif
