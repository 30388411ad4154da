#include "symbols/module_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"

static bool is_wanted(const struct elf_file *file, const struct module_file_wanted *wanted)
{
    if (!wanted->build_id_size)
        return !wanted->size_bytes || file->size == wanted->size_bytes;
    return file->image.build_id_size == wanted->build_id_size &&
           memcmp(file->image.build_id, wanted->build_id, wanted->build_id_size) == 0;
}

/* Takes the path over; gives it back when the file is the one wanted. */
static char *try_path(struct elf_file *file, const struct module_file_wanted *wanted, char *path,
                      struct err *err)
{
    if (path && elf_file_open(file, path, err) == 0) {
        if (is_wanted(file, wanted))
            return path;
        err_set(err, "%s: the file is another build than the one that ran (its build id or size differs)",
                path);
        elf_file_close(file);
    }
    free(path);
    return NULL;
}

static char *joined(const char *folder, const char *rest)
{
    char *path;
    return asprintf(&path, "%s/%s", folder, rest) < 0 ? NULL : path;
}

/* FOLDER/.build-id/ab/cdef… with this suffix; NULL when there is no build id. */
static char *by_build_id(const struct module_file_wanted *wanted, const char *folder, const char *suffix)
{
    struct bytes path = {0};
    if (wanted->build_id_size < 2)
        return NULL;
    bytes_putf(&path, "%s/.build-id/%02x/", folder, wanted->build_id[0]);
    for (size_t index = 1; index < wanted->build_id_size; index++)
        bytes_putf(&path, "%02x", wanted->build_id[index]);
    bytes_put_text(&path, suffix);
    bytes_put_u8(&path, '\0');
    if (path.failed)
        bytes_clear(&path);
    return (char *)bytes_take(&path, NULL);
}

static char *try_folder(struct elf_file *file, const struct module_file_wanted *wanted, const char *folder)
{
    const char *slash = strrchr(wanted->path, '/');
    char *found = try_path(file, wanted, by_build_id(wanted, folder, ""), NULL);
    if (!found)
        found = try_path(file, wanted, joined(folder, wanted->path), NULL);
    if (!found)
        found = try_path(file, wanted, joined(folder, slash ? slash + 1 : wanted->path), NULL);
    if (!found) /* its debug data alone name its functions, too */
        found = try_path(file, wanted, by_build_id(wanted, folder, ".debug"), NULL);
    return found;
}

char *module_file_open(struct elf_file *file, const struct module_file_wanted *wanted, struct err *err)
{
    char *found = try_path(file, wanted, strdup(wanted->path), err);
    for (size_t index = 0; index < wanted->folder_count && !found; index++)
        found = try_folder(file, wanted, wanted->folders[index]);
    return found;
}
