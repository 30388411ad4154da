/* The functions that stand before those of MPI: each hands its arguments, as words, to mpi_call. */
#include "collect/agent/mpi_call.h"
#include "collect/agent/mpi_functions.h"
#include "store/mpi_calls.h"

#define PARAMETERS_1  mpi_word a
#define PARAMETERS_2  PARAMETERS_1, mpi_word b
#define PARAMETERS_3  PARAMETERS_2, mpi_word c
#define PARAMETERS_4  PARAMETERS_3, mpi_word d
#define PARAMETERS_5  PARAMETERS_4, mpi_word e
#define PARAMETERS_6  PARAMETERS_5, mpi_word f
#define PARAMETERS_7  PARAMETERS_6, mpi_word g
#define PARAMETERS_8  PARAMETERS_7, mpi_word h
#define PARAMETERS_9  PARAMETERS_8, mpi_word i
#define PARAMETERS_10 PARAMETERS_9, mpi_word j
#define PARAMETERS_11 PARAMETERS_10, mpi_word k
#define PARAMETERS_12 PARAMETERS_11, mpi_word l
#define PARAMETERS_13 PARAMETERS_12, mpi_word m
#define PARAMETERS_14 PARAMETERS_13, mpi_word n
#define PARAMETERS_15 PARAMETERS_14, mpi_word o
#define PARAMETERS_16 PARAMETERS_15, mpi_word p
#define WORDS_1       a
#define WORDS_2       WORDS_1, b
#define WORDS_3       WORDS_2, c
#define WORDS_4       WORDS_3, d
#define WORDS_5       WORDS_4, e
#define WORDS_6       WORDS_5, f
#define WORDS_7       WORDS_6, g
#define WORDS_8       WORDS_7, h
#define WORDS_9       WORDS_8, i
#define WORDS_10      WORDS_9, j
#define WORDS_11      WORDS_10, k
#define WORDS_12      WORDS_11, l
#define WORDS_13      WORDS_12, m
#define WORDS_14      WORDS_13, n
#define WORDS_15      WORDS_14, o
#define WORDS_16      WORDS_15, p

/* In Fortran there is one more for the error, and behind it maybe the length of a text. */

#define FORTRAN_1  3
#define FORTRAN_2  4
#define FORTRAN_3  5
#define FORTRAN_4  6
#define FORTRAN_5  7
#define FORTRAN_6  8
#define FORTRAN_7  9
#define FORTRAN_8  10
#define FORTRAN_9  11
#define FORTRAN_10 12
#define FORTRAN_11 13
#define FORTRAN_12 14
#define FORTRAN_13 15

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

#define PLACE(name, call, form, arguments, from, at) AT_##name,
enum { MPI_FUNCTIONS(PLACE) };
#undef PLACE

#define WRAPPER(function, language, count)                                                                   \
    (JOIN(PARAMETERS_, count))                                                                               \
    {                                                                                                        \
        const mpi_word words[MPI_ABI_ARGUMENTS + 2] = {JOIN(WORDS_, count)};                                 \
        return mpi_call(&mpi_wrappers[AT_##function], language, words);                                      \
    }
#define WRAPPERS(name, call, form, arguments, from, at)                                                      \
    static int c_##name WRAPPER(name, MPI_LANGUAGE_C, arguments) static int large_##name WRAPPER(            \
        name, MPI_LANGUAGE_C_LARGE, arguments) static int fortran_##name                                     \
    WRAPPER(name, MPI_LANGUAGE_FORTRAN, FORTRAN_##arguments)

MPI_FUNCTIONS(WRAPPERS)

#define ROW(name, call, form, arguments, from, at)                                                           \
    {#name,                                                                                                  \
     MPI_CALL_##call,                                                                                        \
     MPI_FORM_##form,                                                                                        \
     arguments,                                                                                              \
     from,                                                                                                   \
     at,                                                                                                     \
     {(void *)c_##name, (void *)large_##name, (void *)fortran_##name},                                       \
     {0}},

struct mpi_function_row mpi_wrappers[] = {MPI_FUNCTIONS(ROW){0}};
