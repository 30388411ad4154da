#include "cli/installation.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

/* From the program's folder: in a wheel and in the build folder; installed; in the build folder again, for the
 * program as it was linked. */
static const char *const places[] = {"..", "../lib/sonde/python/sonde", "../../python/sonde"};

static int program_folder(char *folder, struct err *err)
{
    ssize_t size = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (size <= 0)
        return err_set_errno(err, "cannot find out where sonde is installed (is /proc mounted?)");
    folder[size] = '\0';
    *strrchr(folder, '/') = '\0';
    return 0;
}

/* The file below the folder, when it can be read; a new string or NULL. */
static char *file_in(const char *folder, const char *name)
{
    char path[2 * PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return NULL;
    return access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;
}

static bool take(struct installation *installation, const char *package)
{
    installation->inside = file_in(package, "_inside.abi3.so");
    installation->agent = file_in(package, "_bin/libsonde_agent.so");
    installation->heap = file_in(package, "_bin/libsonde_heap.so");
    installation->mpi = file_in(package, "_bin/libsonde_mpi.so");
    installation->package = file_in(package, ".");
    if (installation->inside && installation->agent && installation->heap && installation->mpi &&
        installation->package)
        return true;
    installation_clear(installation);
    return false;
}

/* The dynamic loader splits LD_PRELOAD at these, and has no way to quote them. */
static int check_path(const char *path, struct err *err)
{
    if (!strpbrk(path, ": \n"))
        return 0;
    return err_set(
        err,
        "sonde lies in a folder with a blank or a colon in its name (%s), which the dynamic loader "
        "cannot preload from; install it somewhere else",
        path);
}

int installation_find(struct installation *installation, struct err *err)
{
    *installation = (struct installation){0};
    bool is_forbidden = false;
    char folder[PATH_MAX], package[2 * PATH_MAX];
    if (program_folder(folder, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(package, sizeof package, "%s/%s", folder, places[i]);
        if (take(installation, package))
            return check_path(installation->agent, err);
        is_forbidden |= errno == EACCES;
    }
    if (is_forbidden)
        return err_set(
            err, "the parts of sonde that go into the program lie beside %s, which this user must not read",
            folder);
    return err_set(err, "the parts of sonde that go into the program are missing beside %s: install it again",
                   folder);
}

void installation_clear(struct installation *installation)
{
    free(installation->package);
    free(installation->agent);
    free(installation->heap);
    free(installation->mpi);
    free(installation->inside);
    *installation = (struct installation){0};
}
