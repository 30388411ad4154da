#include "unwind/loaded.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "unwind/elf_file.h"
#include "unwind/row_compiler.h"

#define FILES_MAX 512

static struct file {
    char name[512];
    uint64_t bias;
    const struct rows *rows;
} files[FILES_MAX];
static size_t file_count;
static uint32_t generation;

static const struct rows *compile(const void *data, size_t size)
{
    struct elf_image image;
    return elf_image_init(&image, data, size, NULL) == 0 ? row_compiler_new(&image, NULL, NULL) : NULL;
}

static const struct rows *compile_file(const char *path)
{
    struct elf_file file;
    if (elf_file_open(&file, path, NULL) < 0)
        return NULL;
    const struct rows *rows = row_compiler_new(&file.image, NULL, NULL);
    elf_file_close(&file);
    return rows;
}

static const struct rows *rows_of(struct dl_phdr_info *info)
{
    const char *name = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
    for (size_t index = 0; index < file_count; index++)
        if (files[index].bias == info->dlpi_addr && strcmp(files[index].name, name) == 0)
            return files[index].rows;
    const struct rows *rows;
    if (info->dlpi_addr == getauxval(AT_SYSINFO_EHDR))
        rows = compile((const void *)info->dlpi_addr, 2 * 4096);
    else
        rows = compile_file(name);
    if (file_count < FILES_MAX) {
        struct file *file = &files[file_count++];
        *file = (struct file){.bias = info->dlpi_addr, .rows = rows};
        snprintf(file->name, sizeof file->name, "%s", name);
    }
    return rows;
}

static int add(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct modules *modules = context;
    for (unsigned index = 0; index < info->dlpi_phnum; index++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[index];
        uint64_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && header->p_flags & PF_X && modules->count < FILES_MAX)
            modules_add(modules, start, start + header->p_memsz, info->dlpi_addr, rows_of(info));
    }
    return 0;
}

/* Code made at run time. */
static void add_anonymous(struct modules *modules)
{
    char line[1024], access[5];
    unsigned long start, end, node;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %4s %*s %*s %lu", &start, &end, access, &node) == 4 && access[2] == 'x' &&
            !node && modules->count < FILES_MAX)
            modules_add(modules, start, end, 0, NULL);
    if (maps)
        fclose(maps);
}

const struct modules *loaded_modules(void)
{
    struct modules *modules = calloc(1, sizeof *modules + FILES_MAX * sizeof modules->entries[0]);
    if (!modules)
        abort();
    modules->generation = ++generation;
    dl_iterate_phdr(add, modules);
    add_anonymous(modules);
    return modules;
}

void loaded_name(const struct modules *modules, uint64_t address, char *text, size_t size)
{
    uint32_t index = modules_find(modules, address);
    uint64_t bias = index == MODULES_NONE ? 0 : modules->entries[index].bias;
    const char *name = "code";
    for (size_t file = 0; file < file_count && index != MODULES_NONE; file++)
        if (files[file].bias == bias)
            name = strrchr(files[file].name, '/') ? strrchr(files[file].name, '/') + 1 : files[file].name;
    snprintf(text, size, "%s+0x%llx", name, (unsigned long long)(address - bias));
}
