#include "collect/outside/process_image.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/bytes.h"
#include "base/err.h"
#include "unwind/elf_file.h"

enum { MAPS_BYTES_MAX = 64 << 20 };

static int read_maps(uint32_t pid, struct bytes *text, struct err *err)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%u/maps", pid);
    if (bytes_read_file(text, path, MAPS_BYTES_MAX, err) < 0)
        return -1;
    bytes_put_u8(text, 0);
    return text->failed ? err_set(err, "out of memory") : 0;
}

/* "START-END rwxp OFFSET MAJOR:MINOR INODE   PATH". */
static bool parse_line(char *line, struct target_mapping *mapping)
{
    unsigned device_major, device_minor;
    char rights[8];
    int used = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n", &mapping->start,
               &mapping->end, rights, &mapping->offset, &device_major, &device_minor, &mapping->inode,
               &used) != 7)
        return false;
    mapping->device = makedev(device_major, device_minor);
    mapping->writable = rights[1] == 'w';
    mapping->executable = rights[2] == 'x';
    mapping->path = line + used;
    return mapping->start < mapping->end;
}

static int parse_maps(struct process_image *process, struct err *err)
{
    size_t lines = 1;
    for (const char *at = process->text; *at; at++)
        lines += *at == '\n';
    struct target_image *image = &process->image;
    image->mappings = calloc(lines, sizeof *image->mappings);
    if (!image->mappings)
        return err_set(err, "out of memory");
    for (char *line = process->text, *end; *line; line = end) {
        end = strchrnul(line, '\n');
        if (*end)
            *end++ = '\0';
        image->count += parse_line(line, &image->mappings[image->count]);
    }
    return 0;
}

/* Whether what is at a path is still what is mapped. Some file systems show other devices in maps than in stat, so
 * only the inode counts. */
static bool is_mapped_file(const char *path, const struct target_mapping *mapping)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == mapping->inode;
}

static bool open_path(const char *path, const struct target_mapping *mapping, struct elf_file *file)
{
    return is_mapped_file(path, mapping) && elf_file_open(file, path, NULL) == 0;
}

static int open_mapped(void *context, const struct target_mapping *mapping, struct elf_file *file,
                       struct err *err)
{
    const struct process_image *process = context;
    char path[4200];
    if (mapping->path[0] != '/')
        return err_set(err, "%s is no file", mapping->path);
    snprintf(path, sizeof path, "/proc/%u/exe", process->pid);
    if (open_path(path, mapping, file) || open_path(mapping->path, mapping, file))
        return 0;
    snprintf(path, sizeof path, "/proc/%u/root%s", process->pid, mapping->path);
    if (open_path(path, mapping, file))
        return 0;
    snprintf(path, sizeof path, "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, process->pid, mapping->start,
             mapping->end);
    return elf_file_open(file, path, err);
}

int process_image_open(struct process_image *process, uint32_t pid, struct err *err)
{
    struct bytes text = {0};
    *process = (struct process_image){.pid = pid};
    int result = read_maps(pid, &text, err);
    process->text = (char *)text.data;
    process->image.memory = memory_of_process((int)pid);
    process->image.open = open_mapped;
    process->image.context = process;
    if (result == 0)
        result = parse_maps(process, err);
    if (result < 0)
        process_image_close(process);
    return result;
}

void process_image_close(struct process_image *process)
{
    free(process->image.mappings);
    free(process->text);
    *process = (struct process_image){0};
}
