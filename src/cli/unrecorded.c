#include "cli/unrecorded.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/bytes.h"
#include "cli/target.h"

enum { SEGMENTS_MAX = 256 };

/* Where programs that start others start them. */
enum place { ANOTHER_ROOT, ANOTHER_MACHINE, ANOTHER_USER, SAME_PLACE };

static const struct starter {
    const char *name;
    enum place place;
} starters[] = {
    {"chroot", ANOTHER_ROOT},      {"unshare", ANOTHER_ROOT},        {"nsenter", ANOTHER_ROOT},
    {"bwrap", ANOTHER_ROOT},       {"docker", ANOTHER_ROOT},         {"podman", ANOTHER_ROOT},
    {"nerdctl", ANOTHER_ROOT},     {"lxc-attach", ANOTHER_ROOT},     {"apptainer", ANOTHER_ROOT},
    {"singularity", ANOTHER_ROOT}, {"shifter", ANOTHER_ROOT},        {"ch-run", ANOTHER_ROOT},
    {"enroot", ANOTHER_ROOT},      {"flatpak", ANOTHER_ROOT},        {"systemd-nspawn", ANOTHER_ROOT},
    {"ssh", ANOTHER_MACHINE},      {"srun", ANOTHER_MACHINE},        {"kubectl", ANOTHER_MACHINE},
    {"qrsh", ANOTHER_MACHINE},     {"bsub", ANOTHER_MACHINE},        {"jsrun", ANOTHER_MACHINE},
    {"aprun", ANOTHER_MACHINE},    {"systemd-run", ANOTHER_MACHINE}, {"sudo", ANOTHER_USER},
    {"su", ANOTHER_USER},          {"doas", ANOTHER_USER},           {"pkexec", ANOTHER_USER},
    {"runuser", ANOTHER_USER},
};

static enum place place_of(const char *command)
{
    const char *slash = strrchr(command, '/'), *name = slash ? slash + 1 : command;
    for (size_t i = 0; i < sizeof starters / sizeof *starters; i++)
        if (strcmp(starters[i].name, name) == 0)
            return starters[i].place;
    return SAME_PLACE;
}

/* A program that names no loader: nobody loads what LD_PRELOAD names. */
static bool is_static(const char *path)
{
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool program = fd >= 0 && read(fd, &header, sizeof header) == (ssize_t)sizeof header &&
                   memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
                   header.e_phentsize == sizeof segment && header.e_phnum < SEGMENTS_MAX;
    bool loader = false;
    for (unsigned i = 0; program && i < header.e_phnum; i++) {
        off_t at = (off_t)(header.e_phoff + i * sizeof segment);
        loader |=
            pread(fd, &segment, sizeof segment, at) == (ssize_t)sizeof segment && segment.p_type == PT_INTERP;
    }
    if (fd >= 0)
        close(fd);
    return program && !loader;
}

/* In a program that gains rights by being started the loader heeds no LD_PRELOAD. */
static bool gains_rights(const char *path)
{
    struct stat status;
    char rights[64];
    if (stat(path, &status) != 0)
        return false;
    return (status.st_mode & S_ISUID && status.st_uid != getuid()) ||
           (status.st_mode & S_ISGID && status.st_gid != getgid()) ||
           (getuid() != 0 && getxattr(path, "security.capability", rights, sizeof rights) > 0);
}

#define REMEDY "while it runs, it can be sampled with: sonde record -p PID"

void unrecorded_explain(const char *command, const char *agent, struct bytes *out)
{
    char *path = strchr(command, '/') ? strdup(command) : target_find_program(command);
    enum place place = place_of(command);
    if (place == ANOTHER_ROOT)
        bytes_putf(
            out,
            "%s runs its command in another root or container, where sonde's agent (%s) is not to be seen; "
            "start sonde in there, or " REMEDY,
            command, agent);
    else if (place == ANOTHER_MACHINE)
        bytes_putf(out,
                   "%s has its command started by somebody else, to whom sonde's agent does not come along; "
                   "put sonde behind it, as in: %s ... sonde record -- COMMAND",
                   command, command);
    else if (place == ANOTHER_USER)
        bytes_putf(
            out,
            "%s runs its command as another user and clears its environment; put sonde behind it, as in: "
            "%s ... sonde record -- COMMAND",
            command, command);
    else if (path && is_static(path))
        bytes_putf(out,
                   "%s is a static program, into which no library is loaded, so sonde's agent is not "
                   "either; " REMEDY,
                   command);
    else if (path && gains_rights(path))
        bytes_putf(
            out,
            "%s gains rights by being started (setuid, setgid or capabilities), so that the system keeps "
            "sonde's agent out of it; " REMEDY " (as root)",
            command);
    else
        bytes_putf(
            out,
            "%s started no Python that sonde's agent came into. One in another root, in a container or in a "
            "static or setuid program, is not seen this way; " REMEDY,
            command);
    free(path);
}
