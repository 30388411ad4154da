#include "cli/run_identity.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/rank.h"
#include "cli/launcher.h"

#define READABLE_MAX 24 /* longer ids are shortened to a checksum */

static bool is_safe(char letter)
{
    return isalnum((unsigned char)letter) || strchr("._-", letter);
}

/* "Open MPI" → "openmpi", "MPICH, Intel MPI or PMI" → "mpich". */
static void put_word(struct bytes *out, const char *name)
{
    for (; *name && *name != ','; name++) {
        if (isalnum((unsigned char)*name))
            bytes_put_u8(out, (uint8_t)tolower((unsigned char)*name));
    }
}

static void put_safe(struct bytes *out, const char *text)
{
    for (; *text; text++)
        bytes_put_u8(out, is_safe(*text) ? (uint8_t)*text : '-');
}

static bool is_readable(const char *value)
{
    size_t size = strlen(value);
    if (size > READABLE_MAX)
        return false;
    for (; *value; value++) {
        if (!is_safe(*value))
            return false;
    }
    return true;
}

/* A job that was put back into the queue, or workers that torchrun started anew, are another run. */
static void put_restart(struct bytes *id, const char *variable)
{
    int64_t count = rank_number_of(rank_own_environment, NULL, variable);
    if (count > 0)
        bytes_putf(id, ".r%" PRId64, count);
}

static void put_boot(struct bytes *key)
{
    struct bytes text = {0};
    if (bytes_read_file(&text, "/proc/sys/kernel/random/boot_id", 64, NULL) == 0 && text.size)
        bytes_put(key, text.data, text.size - 1); /* without the end of the line */
    bytes_clear(&text);
}

static void put_launcher(const struct launcher *launcher, const char *host, bool with_host, struct bytes *id,
                         struct bytes *key)
{
    char date[32];
    struct tm local;
    strftime(date, sizeof date, "%Y%m%d-%H%M%S", localtime_r(&(time_t){launcher->start_s}, &local));
    bytes_putf(id, "%s-%" PRIu32 "%s", date, launcher->pid, with_host ? "-" : "");
    put_safe(id, with_host ? host : "");
    put_restart(id, "TORCHELASTIC_RESTART_COUNT");
    bytes_putf(key, "host %s ", host);
    put_boot(key);
    bytes_putf(key, " process %" PRIu32 " of %" PRIu64, launcher->pid, launcher->start_ticks);
}

static bool put_slurm(const struct rank *rank, const struct launcher *launcher, struct bytes *id,
                      struct bytes *key)
{
    char step[96];
    const char *cluster = getenv("SLURM_CLUSTER_NAME"), *start = getenv("SLURM_JOB_START_TIME");
    if (launcher->port[0] || !rank_slurm_step(rank, step, sizeof step))
        return false;
    bytes_put_text(id, "slurm-");
    put_safe(id, step);
    put_restart(id, "SLURM_RESTART_COUNT");
    bytes_putf(key, "slurm %s %s", cluster ? cluster : "", start ? start : "");
    return true;
}

/* What the launcher tells all its ranks. */
static bool put_shared(const struct rank *rank, const struct launcher *launcher, struct bytes *id,
                       struct bytes *key)
{
    const char *first = NULL;
    for (size_t i = 0; i < sizeof rank->launcher->run / sizeof *rank->launcher->run; i++) {
        const char *name = rank->launcher->run[i], *value = name ? getenv(name) : NULL;
        if (!value || !*value)
            continue;
        bytes_putf(key, "%s=%s ", name, value);
        first = first ? first : value;
    }
    if (launcher->port[0])
        bytes_putf(key, "port %s ", launcher->port);
    if (!key->size || key->failed)
        return false;
    put_word(id, rank->launcher->name);
    if (first && is_readable(first) && !launcher->port[0])
        bytes_putf(id, "-%s", first);
    else
        bytes_putf(id, "-%08" PRIx32, checksum_crc32c(0, key->data, key->size));
    put_restart(id, "TORCHELASTIC_RESTART_COUNT");
    return true;
}

static bool put_user(struct bytes *id)
{
    const char *given = getenv("SONDE_RUN_ID");
    if (given && *given)
        put_safe(id, given);
    return id->size > 0;
}

static const char *find_source(const struct rank *rank, const char *host, const struct launcher *launcher,
                               struct bytes *id, struct bytes *key, bool *is_lasting)
{
    *is_lasting = true;
    if (put_user(id))
        return *is_lasting = false, "SONDE_RUN_ID";
    if (put_slurm(rank, launcher, id, key))
        return "the step of Slurm";
    if (rank->size && rank->local_size == rank->size && launcher->pid) {
        put_launcher(launcher, host, false, id, key);
        return "the process that started all ranks";
    }
    if (put_shared(rank, launcher, id, key))
        return *is_lasting = false, "what the launcher tells all ranks";
    put_launcher(launcher, host, true, id, key);
    return "the process that started the ranks of this host";
}

void run_identity_find(const struct rank *rank, const char *host, struct run_identity *identity)
{
    struct launcher launcher;
    struct bytes id = {.max = sizeof identity->id * 8}, key = {.max = sizeof identity->key * 8};
    launcher_find(rank, &launcher);
    *identity = (struct run_identity){.started_s = launcher.start_s};
    identity->source = find_source(rank, host, &launcher, &id, &key, &identity->is_lasting);
    snprintf(identity->id, sizeof identity->id, "%.*s", (int)id.size, id.data ? (char *)id.data : "");
    snprintf(identity->key, sizeof identity->key, "%s of %" PRIu32 " %.*s", identity->id, rank->size,
             (int)key.size, key.data ? (char *)key.data : "");
    bytes_clear(&id);
    bytes_clear(&key);
}
