#include "analyse/source_block.h"

#include <string.h>

#define TAB_COLUMNS 8

enum statement_kind {
    STATEMENT_END,
    STATEMENT_COMMENT,
    STATEMENT_DECORATOR,
    STATEMENT_HEADER,
    STATEMENT_OTHER
};

/* A statement, or the part of one before its block: a logical line. */
struct statement {
    enum statement_kind kind;
    uint32_t indent;   /* in columns */
    uint32_t last_row; /* from 1 on, as the scanner counts */
};

struct scanner {
    const char *at, *end;
    uint32_t row;
};

bool source_block_next(struct source_lines *lines, const char **line, size_t *size)
{
    if (lines->at == lines->end)
        return false;
    *line = lines->at;
    while (lines->at < lines->end && *lines->at != '\n' && *lines->at != '\r')
        lines->at++;
    *size = (size_t)(lines->at - *line);
    if (lines->at < lines->end)
        lines->at += lines->at[0] == '\r' && lines->end - lines->at > 1 && lines->at[1] == '\n' ? 2 : 1;
    return true;
}

struct source_lines source_block_seek(const char *text, size_t size, uint32_t first_line)
{
    struct source_lines lines = {text, text + size};
    const char *line;
    size_t line_size;
    for (uint32_t i = 1; i < first_line && source_block_next(&lines, &line, &line_size); i++)
        continue;
    return lines;
}

static bool is_newline(const struct scanner *scanner)
{
    return *scanner->at == '\n' || *scanner->at == '\r';
}

/* Over the end of a line. */
static void step_row(struct scanner *scanner)
{
    bool both = scanner->at[0] == '\r' && scanner->end - scanner->at > 1 && scanner->at[1] == '\n';
    scanner->at += both ? 2 : 1;
    scanner->row++;
}

static void skip_to_newline(struct scanner *scanner)
{
    while (scanner->at < scanner->end && !is_newline(scanner))
        scanner->at++;
}

static bool starts_with(const struct scanner *scanner, const char *text, size_t size)
{
    return (size_t)(scanner->end - scanner->at) >= size && memcmp(scanner->at, text, size) == 0;
}

/* Over a string, from its first quote on. One that is not closed ends with its line, or if it has three quotes with
 * the text. */
static void skip_string(struct scanner *scanner)
{
    const char quotes[3] = {*scanner->at, *scanner->at, *scanner->at};
    size_t size = starts_with(scanner, quotes, 3) ? 3 : 1;
    scanner->at += size;
    while (scanner->at < scanner->end) {
        if (starts_with(scanner, quotes, size)) {
            scanner->at += size;
            return;
        }
        if (*scanner->at == '\\' && scanner->end - scanner->at > 1)
            scanner->at++;
        else if (size == 1 && is_newline(scanner))
            return;
        if (is_newline(scanner))
            step_row(scanner);
        else
            scanner->at++;
    }
}

/* To the end of the statement's last line; it goes on while a bracket is open or a line ends with a backslash. A
 * bracket that closes what was opened before the statement ends it. */
static void skip_statement(struct scanner *scanner, struct statement *statement)
{
    unsigned open = 0;
    while (scanner->at < scanner->end) {
        char byte = *scanner->at;
        statement->last_row = scanner->row;
        if (is_newline(scanner)) {
            step_row(scanner);
            if (!open)
                return;
        } else if (byte == '"' || byte == '\'') {
            skip_string(scanner);
        } else if (byte == '#') {
            skip_to_newline(scanner);
        } else if (byte == '\\' && scanner->end - scanner->at > 1) {
            scanner->at++;
            if (is_newline(scanner))
                step_row(scanner);
        } else {
            open += byte == '(' || byte == '[' || byte == '{';
            bool closing = byte == ')' || byte == ']' || byte == '}';
            if (closing && !open)
                return;
            open -= closing;
            scanner->at++;
        }
    }
}

static bool is_name_byte(char byte)
{
    return byte == '_' || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
           (byte >= 'A' && byte <= 'Z') || (unsigned char)byte >= 0x80;
}

/* Cython's words are as good as Python's. */
static enum statement_kind kind_here(const struct scanner *scanner)
{
    static const char *const headers[] = {"def", "class", "async", "cdef", "cpdef", "property"};
    if (*scanner->at == '@')
        return STATEMENT_DECORATOR;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        size_t size = strlen(headers[i]);
        if (starts_with(scanner, headers[i], size) && scanner->end - scanner->at > (ptrdiff_t)size &&
            !is_name_byte(scanner->at[size]))
            return STATEMENT_HEADER;
    }
    return STATEMENT_OTHER;
}

static uint32_t skip_indent(struct scanner *scanner)
{
    uint32_t columns = 0;
    for (; scanner->at < scanner->end; scanner->at++) {
        if (*scanner->at == ' ')
            columns++;
        else if (*scanner->at == '\t')
            columns = (columns / TAB_COLUMNS + 1) * TAB_COLUMNS;
        else if (*scanner->at == '\f')
            columns = 0;
        else
            break;
    }
    return columns;
}

static struct statement next_statement(struct scanner *scanner)
{
    uint32_t indent = skip_indent(scanner);
    while (scanner->at < scanner->end && is_newline(scanner)) {
        step_row(scanner);
        indent = skip_indent(scanner);
    }
    struct statement statement = {.indent = indent, .last_row = scanner->row};
    if (scanner->at == scanner->end)
        return statement;
    if (*scanner->at == '#') {
        statement.kind = STATEMENT_COMMENT;
        skip_to_newline(scanner);
        return statement;
    }
    statement.kind = kind_here(scanner);
    skip_statement(scanner, &statement);
    return statement;
}

/* What is indented below the header, which is the last row so far. */
static uint32_t last_row_of_body(struct scanner *scanner, struct statement header)
{
    uint32_t last_row = header.last_row, body_indent = 0; /* 0 = no body yet */
    for (;;) {
        struct statement statement = next_statement(scanner);
        bool comment = statement.kind == STATEMENT_COMMENT;
        if (statement.kind == STATEMENT_END || (!comment && statement.indent <= header.indent))
            return last_row;
        if (!comment && !body_indent)
            body_indent = statement.indent;
        if (!comment || (body_indent && statement.indent >= body_indent))
            last_row = statement.last_row;
    }
}

uint32_t source_block_lines(const char *text, size_t size, uint32_t first_line)
{
    struct source_lines lines = source_block_seek(text, size, first_line);
    struct scanner scanner = {lines.at, lines.end, 1};
    if (lines.at == lines.end)
        return 0;
    struct statement statement = next_statement(&scanner);
    while (statement.kind == STATEMENT_COMMENT || statement.kind == STATEMENT_DECORATOR)
        statement = next_statement(&scanner);
    return statement.kind == STATEMENT_HEADER ? last_row_of_body(&scanner, statement) : statement.last_row;
}
