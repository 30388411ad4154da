#include "collect/recorder/native_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "store/writer.h"
#include "store/writer_native.h"
#include "unwind/elf_file.h"
#include "unwind/row_compiler.h"

#define PAGE_BYTES   4096u
#define VDSO_NAME    "[vdso]"
#define NO_FILE_NAME "[anonymous]"
#define BUILD_ID_MAX 64

static void file_free(struct native_file *file)
{
    if (!file)
        return;
    native_evaluator_clear(&file->evaluator);
    free(file->rows);
    free(file->path);
    free(file);
}

void native_files_clear(struct native_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        file_free(files->files[i]);
    free(files->files);
    *files = (struct native_files){0};
}

static uint32_t define_module(struct native_files *files, const struct native_file *file,
                              const struct elf_image *image)
{
    if (!files->writer)
        return 0;
    char build_id[2 * BUILD_ID_MAX + 1] = "";
    size_t size = image && image->build_id_size < BUILD_ID_MAX ? image->build_id_size : 0;
    for (size_t i = 0; i < size; i++) {
        static const char digits[] = "0123456789abcdef";
        build_id[2 * i] = digits[image->build_id[i] >> 4];
        build_id[2 * i + 1] = digits[image->build_id[i] & 15];
    }
    const struct module module = {
        .path = writer_string(files->writer, file->path, strlen(file->path)),
        .build_id = size ? writer_string(files->writer, build_id, 2 * size) : 0,
        .size_bytes = image ? image->size : 0,
        .flags = file->evaluator.count ? MODULE_INTERPRETER : 0,
    };
    return writer_native_module(files->writer, &module);
}

static void read_image(struct native_files *files, struct native_file *file, const struct elf_image *image)
{
    file->rows = row_compiler_new(image, NULL, NULL);
    file->segment_count = image->segment_count;
    memcpy(file->segments, image->segments, sizeof file->segments);
    native_evaluator_find(&file->evaluator, image, file->rows);
    file->module = define_module(files, file, image);
}

static void read_file(struct native_files *files, struct native_file *file,
                      const struct target_image *process, const struct target_mapping *mapping)
{
    struct elf_file elf = {0};
    struct elf_image image;
    const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
    if (strcmp(file->path, VDSO_NAME) == 0 && vdso && /* the kernel's own: the same for all processes */
        elf_image_init(&image, vdso, mapping->end - mapping->start, NULL) == 0) {
        read_image(files, file, &image);
    } else if (mapping->inode && process->open(process->context, mapping, &elf, NULL) == 0) {
        read_image(files, file, &elf.image);
        elf_file_close(&elf);
    } else {
        file->module = define_module(files, file, NULL);
    }
}

static struct native_file *add(struct native_files *files, const char *path,
                               const struct target_mapping *mapping)
{
    if (files->count == files->capacity) {
        size_t capacity = files->capacity * 2 + 64;
        void *grown = realloc(files->files, capacity * sizeof *files->files);
        if (!grown)
            return NULL;
        files->files = grown;
        files->capacity = capacity;
    }
    struct native_file *file = calloc(1, sizeof *file);
    if (file)
        file->path = strdup(path);
    if (!file || !file->path) {
        file_free(file);
        return NULL;
    }
    file->device = mapping->device;
    file->inode = mapping->inode;
    return files->files[files->count++] = file;
}

const struct native_file *native_files_get(struct native_files *files, const struct target_image *image,
                                           const struct target_mapping *mapping)
{
    const char *path = mapping->path[0] ? mapping->path : NO_FILE_NAME;
    for (size_t i = 0; i < files->count; i++)
        if (files->files[i]->inode == mapping->inode && files->files[i]->device == mapping->device &&
            strcmp(files->files[i]->path, path) == 0)
            return files->files[i];
    struct native_file *file = add(files, path, mapping);
    if (file)
        read_file(files, file, image, mapping);
    return file;
}

uint64_t native_files_bias(const struct native_file *file, const struct target_mapping *mapping)
{
    for (unsigned i = 0; i < file->segment_count; i++) {
        const struct elf_image_segment *segment = &file->segments[i];
        uint64_t first = segment->offset & ~(uint64_t)(PAGE_BYTES - 1);
        if (segment->executable && mapping->offset >= first &&
            mapping->offset < segment->offset + segment->size_bytes)
            return mapping->start - mapping->offset + segment->offset - segment->address;
    }
    return 0;
}
