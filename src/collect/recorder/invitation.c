#include "collect/recorder/invitation.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "collect/outside/remote_script.h"
#include "collect/outside/thread_states.h"

#define PATIENCE_NS      30000000000u /* with a program whose threads all wait in C */
#define ONE_NS           50000000u    /* for the thread that is asked first */
#define LINGER_NS        100000000    /* threads that have taken the path may yet have to open the file */
#define LEAVING_NS       2000000000u
#define LEAVING_PAUSE_NS 5000000

/* The extension is loaded without the package, and leaves no trace among the program's modules. */
static const char script[] = "def sonde(path, answer, call, *arguments):\n"
                             "    try:\n"
                             "        import sys\n"
                             "        from importlib.machinery import ExtensionFileLoader\n"
                             "        from importlib.util import module_from_spec, spec_from_file_location\n"
                             "        name = 'sonde._inside'\n"
                             "        before = sys.modules.get(name)\n"
                             "        loader = ExtensionFileLoader(name, path)\n"
                             "        spec = spec_from_file_location(name, path, loader=loader)\n"
                             "        module = module_from_spec(spec)\n"
                             "        loader.exec_module(module)\n"
                             "        sys.modules.pop(name, None)\n"
                             "        if before is not None:\n"
                             "            sys.modules[name] = before\n"
                             "        words = getattr(module, call)(*arguments) or 'done'\n"
                             "    except BaseException as error:\n"
                             "        words = f'{type(error).__name__}: {error}'\n"
                             "    try:\n"
                             "        with open(answer, 'w') as stream:\n"
                             "            stream.write(words)\n"
                             "    except OSError:\n"
                             "        pass\n"; /* nobody waits for it any more */

/* As Python writes it; every byte that might mean something is escaped. */
static void put_literal(struct bytes *out, const char *text)
{
    bytes_putf(out, "b'");
    for (; *text; text++)
        bytes_putf(out, isalnum((unsigned char)*text) ? "%c" : "\\x%02x", (unsigned char)*text);
    bytes_putf(out, "'.decode('utf-8', 'surrogateescape')");
}

/* Of the script that was sent last, or without a suffix of the answer to it. */
static void path_of(const struct invitation *invitation, const char *suffix, char *path)
{
    snprintf(path, INVITATION_PATH_BYTES + 16, "%s/%s%s", invitation->folder, invitation->asked, suffix);
}

/* What is in the folder belongs to the program's user, who alone may read it. */
static int write_file(const struct invitation *invitation, const char *suffix, const struct bytes *text,
                      struct err *err)
{
    char path[INVITATION_PATH_BYTES + 16];
    path_of(invitation, suffix, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && invitation->user != getuid() &&
        (fchown(fd, invitation->user, (gid_t)-1) != 0 ||
         chown(invitation->folder, invitation->user, (gid_t)-1) != 0))
        err_set_errno(err, "cannot give %s to the user of process %" PRIu32, path, invitation->pid);
    else if (fd < 0 || write(fd, text->data, text->size) != (ssize_t)text->size)
        err_set_errno(err, "cannot write %s", path);
    if (fd >= 0)
        close(fd);
    return err->text[0] ? -1 : 0;
}

static int ask(struct invitation *invitation, const char *name, const char *call, const char *settings,
               struct err *err)
{
    struct bytes text = {0}, nothing = {0};
    char path[INVITATION_PATH_BYTES + 16], answer[INVITATION_PATH_BYTES + 16];
    invitation->asked = name;
    path_of(invitation, ".py", path);
    path_of(invitation, "", answer);
    bytes_putf(&text, "# sonde asks process %" PRIu32 " to run this\n%ssonde(", invitation->pid, script);
    put_literal(&text, invitation->inside);
    bytes_putf(&text, ", ");
    put_literal(&text, answer);
    bytes_putf(&text, ", '%s'", call);
    if (settings) {
        bytes_putf(&text, ", ");
        put_literal(&text, settings);
    }
    bytes_putf(&text, ")\n");
    int result = text.failed ? err_set(err, "out of memory") : write_file(invitation, "", &nothing, err);
    if (result == 0)
        result = write_file(invitation, ".py", &text, err);
    bytes_clear(&text);
    invitation->everybody = false;
    if (result == 0)
        result = remote_script_ask(invitation->pid, path, &invitation->everybody, err);
    invitation->pending = result == 0;
    invitation->sent_ns = clock_monotonic_ns();
    return result;
}

/* The thread that was asked may have gone to sleep. */
static void ask_everybody(struct invitation *invitation)
{
    char path[INVITATION_PATH_BYTES + 16];
    if (invitation->everybody || clock_monotonic_ns() - invitation->sent_ns < ONE_NS)
        return;
    invitation->everybody = true;
    path_of(invitation, ".py", path);
    remote_script_ask(invitation->pid, path, &invitation->everybody, NULL);
}

/* What the script has written so far; false when nothing. */
static bool read_answer(const struct invitation *invitation, struct bytes *text)
{
    char path[INVITATION_PATH_BYTES + 16];
    path_of(invitation, "", path);
    bool got = bytes_read_file(text, path, 4096, NULL) == 0 && text->size > 0;
    bytes_put_u8(text, 0);
    return got && !text->failed;
}

static uint32_t owner_of(uint32_t pid)
{
    char path[32];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%" PRIu32, pid);
    return stat(path, &status) == 0 ? status.st_uid : (uint32_t)getuid();
}

int invitation_send(struct invitation *invitation, uint32_t pid, const char *inside, const char *settings,
                    struct err *err)
{
    *invitation = (struct invitation){
        .pid = pid, .user = owner_of(pid), .inside = inside, .folder = "/tmp/sonde-XXXXXX"};
    if (!mkdtemp(invitation->folder)) {
        invitation->folder[0] = '\0';
        return err_set_errno(err, "cannot make a folder in /tmp for the program to read from");
    }
    return ask(invitation, "attach", "attach_memory", settings, err);
}

void invitation_accept(struct invitation *invitation)
{
    if (invitation->pending)
        remote_script_withdraw(invitation->pid);
    invitation->pending = false;
}

int invitation_check(struct invitation *invitation, struct err *err)
{
    struct bytes answer = {0};
    int result = 0;
    if (!invitation->pending)
        return 0;
    ask_everybody(invitation);
    if (!thread_states_is_running(invitation->pid))
        result = err_set(err, "process %" PRIu32 " has ended", invitation->pid);
    else if (read_answer(invitation, &answer) && strcmp((char *)answer.data, "done") != 0)
        result = err_set(err, "the allocations of process %" PRIu32 " cannot be counted: %s", invitation->pid,
                         (char *)answer.data);
    else if (clock_monotonic_ns() - invitation->sent_ns > PATIENCE_NS)
        result =
            err_set(err,
                    "no thread of process %" PRIu32 " has run any Python for %d s, so that no code could be "
                    "run in it: they sleep, wait, or compute in C",
                    invitation->pid, (int)(PATIENCE_NS / 1000000000u));
    bytes_clear(&answer);
    if (result < 0)
        invitation_accept(invitation);
    return result;
}

bool invitation_end(struct invitation *invitation)
{
    const struct timespec pause = {.tv_nsec = LEAVING_PAUSE_NS};
    struct err err = {0};
    bool came = invitation->pid && !invitation->pending, left = false;
    invitation_accept(invitation);
    if (!came || ask(invitation, "detach", "detach_memory", NULL, &err) < 0)
        return true; /* it never came, has ended, or has become another program */
    while (!left && clock_monotonic_ns() - invitation->sent_ns < LEAVING_NS) {
        struct bytes answer = {0};
        nanosleep(&pause, NULL);
        ask_everybody(invitation);
        left = read_answer(invitation, &answer);
        bytes_clear(&answer);
    }
    invitation_accept(invitation);
    return left;
}

void invitation_clear(struct invitation *invitation)
{
    static const char *const names[] = {"attach", "detach"};
    const struct timespec linger = {.tv_nsec = LINGER_NS};
    if (invitation->everybody)
        nanosleep(&linger, NULL);
    char path[INVITATION_PATH_BYTES + 16];
    for (size_t i = 0; invitation->folder[0] && i < 2 * sizeof names / sizeof *names; i++) {
        invitation->asked = names[i / 2];
        path_of(invitation, i % 2 ? ".py" : "", path);
        unlink(path);
    }
    if (invitation->folder[0])
        rmdir(invitation->folder);
    *invitation = (struct invitation){0};
}
