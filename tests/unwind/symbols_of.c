/* symbols_of [-s FOLDER]... FILE < addresses: the frames of each hexadecimal address of FILE (in the file), as
 * one line: FUNCTION@FILE:LINE, innermost first, with tabs between; then what was missing, on standard error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/symbols.h"

int main(int argc, char **argv)
{
    const char *folders[16];
    size_t folder_count = 0;
    int at = 1;
    for (; at + 2 < argc && strcmp(argv[at], "-s") == 0 && folder_count < 16; at += 2)
        folders[folder_count++] = argv[at + 1];
    struct symbols *symbols = symbols_new(folders, folder_count);
    if (!symbols || at + 1 != argc)
        return 2;
    uint32_t module = symbols_module(symbols, argv[at], NULL, 0);
    for (unsigned long long address; scanf("%llx", &address) == 1;) {
        struct symbols_frame frames[SYMBOLS_INLINE_MAX];
        size_t count = symbols_find(symbols, module, address, frames);
        for (size_t index = 0; index < count; index++)
            printf("%s%s@%s:%u", index ? "\t" : "", frames[index].function, frames[index].file,
                   frames[index].line);
        putchar('\n');
    }
    fprintf(stderr, "%s\n", symbols_problem(symbols, module));
    symbols_free(symbols);
    return 0;
}
