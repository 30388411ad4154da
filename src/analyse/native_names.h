/*
 * native_names: what compilers made of names, as their authors wrote them: Cython's C functions and Fortran's
 * modules (C++ and Rust are demangled when addresses are resolved); and which functions are how a process or
 * an interpreter works rather than what the program does.
 */
#ifndef SONDE_ANALYSE_NATIVE_NAMES_H
#define SONDE_ANALYSE_NATIVE_NAMES_H

#include <stdbool.h>

struct bytes;

/* The readable name: __pyx_pw_3pkg_3mod_1func → pkg.mod.func, __mesh_MOD_refine → mesh::refine; others as they
 * are. `path` is that of the library. */
void native_names_put(const char *symbol, const char *path, struct bytes *out);

/* Cython compiles a function into a wrapper that takes Python arguments and calls the body. */
bool native_names_is_cython_wrapper(const char *symbol);
bool native_names_is_cython_body(const char *symbol);

/* What every stack of a thread begins with, above the program's own: _start, start_thread. */
bool native_names_is_root(const char *symbol);
/* Whether it may be one: without debug data those of the C library have no name, or libc.so.6+0x271d0. */
bool native_names_may_be_root(const char *symbol, const char *path);

/* Whether the file is CPython itself: libpython3.12.so.1.0, or an executable called python3. */
bool native_names_is_interpreter(const char *path);
/* Of the interpreter's functions, those that a program asks for: the built-in modules and what waits. */
bool native_names_is_builtin(const char *symbol);

#endif
