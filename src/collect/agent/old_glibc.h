/*
 * old_glibc: binds functions that newer glibcs moved from libdl and libpthread into libc under a new version to the
 * version that they have had always, so that what is built on today's machine loads on yesterday's (glibc 2.28).
 * Included before every file of the agent and of the extension (collect/meson.build), which also makes them ask for
 * libdl and libpthread by name: there the functions are on an old machine. tools/check_symbols tells what is missing here.
 */
#ifndef SONDE_COLLECT_AGENT_OLD_GLIBC_H
#define SONDE_COLLECT_AGENT_OLD_GLIBC_H

#include <features.h>

#if defined(__GLIBC__) && defined(__x86_64__)
#define OLD_GLIBC(function, x86_64_version)                                                                  \
    __asm__(".symver " #function "," #function "@GLIBC_" x86_64_version)
#elif defined(__GLIBC__) && defined(__aarch64__)
#define OLD_GLIBC(function, x86_64_version) __asm__(".symver " #function "," #function "@GLIBC_2.17")
#endif

#ifdef OLD_GLIBC
OLD_GLIBC(dladdr, "2.2.5");
OLD_GLIBC(dladdr1, "2.3.3");
OLD_GLIBC(dlclose, "2.2.5");
OLD_GLIBC(dlerror, "2.2.5");
OLD_GLIBC(dlinfo, "2.3.3");
OLD_GLIBC(dlopen, "2.2.5");
OLD_GLIBC(dlsym, "2.2.5");
OLD_GLIBC(log, "2.2.5");
OLD_GLIBC(pthread_attr_getstack, "2.2.5");
OLD_GLIBC(pthread_getattr_np, "2.2.5");
OLD_GLIBC(pthread_key_create, "2.2.5");
OLD_GLIBC(pthread_once, "2.2.5");
OLD_GLIBC(pthread_setspecific, "2.2.5");
#endif

#endif
