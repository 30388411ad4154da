/*
 * writer_native: the writer's part for native code: the files that were mapped, codes that are known by where they lie in
 * one, and the names that they get later. What writer.h says of definitions and failure holds here.
 */
#ifndef SONDE_STORE_WRITER_NATIVE_H
#define SONDE_STORE_WRITER_NATIVE_H

#include <stdint.h>

#include "store/recording.h"

struct writer;

uint32_t writer_native_module(struct writer *writer,
                              const struct module *module); /* equal path and build id: equal id */
void writer_native_mapping(struct writer *writer, const struct mapping *mapping);
/* The code, without a name, of an address in a module's file (as the file itself counts: what libdw and
 * symbols_find take). Its flags are told by writer_update_code. */
uint32_t writer_native_code(struct writer *writer, uint32_t module, uint64_t offset);
/* Names a code; the last word counts. */
void writer_native_symbol(struct writer *writer, const struct symbol *symbol);
/* The code of a function that others were inlined in; its own `code` is not read. Equal ones give the same. */
uint32_t writer_native_inlining(struct writer *writer, const struct symbol *symbol);

#endif
