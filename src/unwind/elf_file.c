#include "unwind/elf_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

static int map(struct elf_file *file, int descriptor, const char *path, struct err *err)
{
    struct stat status;
    if (fstat(descriptor, &status) < 0)
        return err_set_errno(err, "%s", path);
    if (!S_ISREG(status.st_mode) || status.st_size == 0)
        return err_set(err, "%s: not an ELF file", path);
    void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED)
        return err_set_errno(err, "%s", path);
    file->data = data;
    file->size = (size_t)status.st_size;
    return 0;
}

int elf_file_open(struct elf_file *file, const char *path, struct err *err)
{
    struct err inner = {0};
    *file = (struct elf_file){0};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return err_set_errno(err, "%s", path);
    int result = map(file, descriptor, path, err);
    close(descriptor);
    if (result == 0 && elf_image_init(&file->image, file->data, file->size, &inner) < 0) {
        elf_file_close(file);
        return err_set(err, "%s: %s", path, inner.text);
    }
    return result;
}

void elf_file_close(struct elf_file *file)
{
    if (file->data)
        munmap(file->data, file->size);
    *file = (struct elf_file){0};
}
