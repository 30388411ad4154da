/* answer_columns: arrays of an answer made of one field of each row; `rows` are of any struct that has it. */
#ifndef SONDE_QUERY_ANSWER_COLUMNS_H
#define SONDE_QUERY_ANSWER_COLUMNS_H

#define ANSWER_COLUMNS_PUT_REALS(answer, name, rows, count, field)                                           \
    do {                                                                                                     \
        double *column = answer_reals(answer, name, count);                                                  \
        for (uint32_t i = 0; column && i < (count); i++)                                                     \
            column[i] = (double)(rows)[i].field;                                                             \
    } while (0)

/* Which part of `whole` the field is. */
#define ANSWER_COLUMNS_PUT_SHARES(answer, name, rows, count, field, whole)                                   \
    do {                                                                                                     \
        double *column = answer_reals(answer, name, count);                                                  \
        for (uint32_t i = 0; column && i < (count); i++)                                                     \
            column[i] = answer_share((double)(rows)[i].field, (double)(whole));                              \
    } while (0)

#define ANSWER_COLUMNS_PUT_NUMBERS(answer, name, rows, count, field)                                         \
    do {                                                                                                     \
        uint32_t *column = answer_numbers(answer, name, count);                                              \
        for (uint32_t i = 0; column && i < (count); i++)                                                     \
            column[i] = (rows)[i].field;                                                                     \
    } while (0)

#endif
