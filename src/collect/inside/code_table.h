/*
 * code_table: names of functions. A callee (code object, built-in function, method descriptor) becomes a row of
 * the arena the first time it is met; the same source function compiled again shares the row of the first.
 *
 * The labels of C functions are those of cProfile, so that both profilers' results can be compared and merged.
 */
#ifndef SONDE_COLLECT_INSIDE_CODE_TABLE_H
#define SONDE_COLLECT_INSIDE_CODE_TABLE_H

#include "collect/inside/trace.h"

/* The row of a callee not met before; 0 when the table is full. Never leaves or clears an exception.
 *
 * A code object is kept alive from now on: were it freed, its address could come to mean another function. A program
 * that compiles the same source again and again, or very much, would grow by that: then the row is found, but the
 * key is not remembered, and `lasting` is false. */
uint32_t code_table_add(struct trace *trace, uint64_t key, PyObject *callee, enum callee_kind kind,
                        bool *lasting);

/* A text in the trace's arena, stored once. */
uint32_t code_table_text(struct trace *trace, const char *text, size_t size);

/* Tells the filter where the standard library lies. */
void code_table_find_library(struct trace *trace);

#endif
