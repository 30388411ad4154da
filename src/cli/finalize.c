#include "cli/finalize.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/message.h"
#include "cli/native_symbols.h"
#include "cli/progress.h"
#include "store/chunk.h"
#include "store/compress.h"
#include "store/natives.h"
#include "store/reader.h"
#include "store/recording.h"
#include "store/writer.h"
#include "store/writer_native.h"

#define PROGRESS_AFTER_NS UINT64_C(1000000000)

struct finalizing {
    const char *path;
    int fd;
    struct recording recording;
    struct natives natives;
    struct native_symbols names;
    struct writer *writer;
    struct finalize *result;
    uint64_t start_ns, told_ns;
    bool out_of_memory;
};

static int append(void *context, const void *data, size_t size, struct err *err)
{
    const struct finalizing *at = context;
    return bytes_write(at->fd, data, size) ? 0 : err_set_errno(err, "cannot write %s", at->path);
}

static uint32_t text(struct finalizing *at, const char *string)
{
    return writer_string(at->writer, string, strlen(string));
}

/* Whether the recording says the same of the code already. */
static bool is_known(const struct finalizing *at, const struct symbol *symbol)
{
    const struct symbol *old = natives_symbol(&at->natives, symbol->code);
    return old && old->name == symbol->name && old->file == symbol->file && old->line == symbol->line &&
           old->inlined_in == symbol->inlined_in;
}

/* From the outermost function to the innermost, which is what the address is called. */
static void name_code(struct finalizing *at, uint32_t code, const struct symbols_frame *frames, size_t count)
{
    struct symbol symbol = {0};
    while (count-- > 0) {
        symbol = (struct symbol){.code = code,
                                 .name = text(at, frames[count].function),
                                 .file = text(at, frames[count].file),
                                 .line = frames[count].line,
                                 .inlined_in = symbol.code};
        if (count > 0)
            symbol.code = writer_native_inlining(at->writer, &symbol);
    }
    if (is_known(at, &symbol))
        return;
    writer_native_symbol(at->writer, &symbol);
    at->result->written++;
}

/* On a terminal, when it takes long enough for someone to wonder. */
static void tell_progress(struct finalizing *at, uint32_t done)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t since_ns = at->told_ns ? at->told_ns : at->start_ns;
    if (now_ns - since_ns < PROGRESS_AFTER_NS)
        return;
    at->told_ns = now_ns;
    if (progress_is_wanted())
        progress_show_part("naming native functions", done, at->recording.addresses_count);
}

static void name_address(struct finalizing *at, const struct code_address *address)
{
    struct symbols_frame frames[SYMBOLS_INLINE_MAX];
    struct finalize_module *module = &at->result->modules[address->module];
    size_t count = native_symbols_find(&at->names, address, frames);
    if (count == 0) {
        at->out_of_memory = true;
        return;
    }
    uint32_t number = native_symbols_module(&at->names, address->module);
    bool named = !frames[0].is_offset;
    module->addresses++;
    module->named += named;
    module->with_lines += frames[0].line > 0;
    /* A name that was found elsewhere is better than none here. */
    if (named ||
        (symbols_is_found(at->names.symbols, number) && !natives_symbol(&at->natives, address->code)))
        name_code(at, address->code, frames, count);
}

static void name_all(struct finalizing *at)
{
    for (uint32_t i = 0; i < at->recording.addresses_count; i++) {
        const struct code_address *address = &at->recording.addresses[i];
        if (natives_address(&at->natives, address->code) == address)
            name_address(at, address);
        tell_progress(at, i);
    }
    if (at->told_ns && progress_is_wanted())
        progress_wipe();
}

static char *problem_new(const struct finalizing *at, uint32_t number)
{
    const char *problem = symbols_problem(at->names.symbols, number);
    bool elsewhere = *problem && !symbols_is_found(at->names.symbols, number);
    struct bytes text = {0};
    bytes_putf(&text, "%s%s", problem,
               elsewhere ? "; name a folder that holds the right one with --search-dir" : "");
    bytes_put_u8(&text, '\0');
    return (char *)bytes_take(&text, NULL);
}

/* Only modules that addresses lie in are worth a word. */
static int sum_up(struct finalizing *at, struct err *err)
{
    struct finalize *result = at->result;
    if (at->out_of_memory)
        return err_set(err, "out of memory");
    for (uint32_t i = 0; i < at->recording.modules_count; i++) {
        struct finalize_module module = result->modules[i];
        if (module.addresses == 0)
            continue;
        module.path = strdup(recording_text(&at->recording, at->recording.modules[i].path));
        module.problem = problem_new(at, native_symbols_module(&at->names, i));
        result->modules[result->module_count++] = module;
        result->addresses += module.addresses;
        result->named += module.named;
        result->with_lines += module.with_lines;
        if (!module.path || !module.problem)
            return err_set(err, "out of memory");
    }
    return 0;
}

/* All of them or none. What may lie behind was a chunk that is cut off. */
static int close_names(struct finalizing *at, uint64_t size_bytes, struct err *err)
{
    int result = writer_close(at->writer, err);
    off_t end = result == 0 ? lseek(at->fd, 0, SEEK_CUR) : (off_t)size_bytes;
    if (end >= 0 && ftruncate(at->fd, end) == 0)
        return result;
    return err_set_errno(err, "cannot write %s", at->path);
}

static int name_recording(struct finalizing *at, const struct finalize_options *options, uint64_t size_bytes,
                          struct err *err)
{
    const struct writer_options sink = {.sink = append, .context = at, .compress = compress_zstd};
    size_t count = (size_t)at->recording.modules_count + 1;
    if (native_symbols_init(&at->names, &at->recording, options->folders, options->folder_count, err) < 0)
        return -1;
    at->result->modules = calloc(count, sizeof *at->result->modules);
    if (!at->result->modules)
        return err_set(err, "out of memory");
    struct err why = {0};
    at->writer = writer_continue(&sink, &at->recording, size_bytes, &why);
    if (!at->writer)
        return err_set(err, "%s: %s; make a whole file of it with: sonde export -f sonde -o NEW %s", at->path,
                       why.text, at->path);
    if (lseek(at->fd, (off_t)size_bytes, SEEK_SET) < 0) {
        writer_abandon(at->writer);
        return err_set_errno(err, "cannot write %s", at->path);
    }
    at->start_ns = clock_monotonic_ns();
    name_all(at);
    int result = sum_up(at, err);
    if (at->result->written && result == 0)
        return close_names(at, size_bytes, err);
    writer_abandon(at->writer);
    return result;
}

/* Where to go on: behind the last chunk. One that is cut off would be taken to reach into what follows it. */
static uint64_t whole_bytes(const struct recording *recording, uint64_t size_bytes)
{
    if (!recording->damage.truncated)
        return size_bytes;
    uint64_t end = CHUNK_FILE_BYTES;
    for (uint32_t i = 0; i < recording->chunks_count; i++)
        end = recording->chunks[i].offset + CHUNK_HEADER_BYTES + recording->chunks[i].stored_bytes;
    return end;
}

int finalize_open_file(int fd, const char *path, const struct finalize_options *options,
                       struct finalize *result, struct err *err)
{
    struct finalizing at = {.path = path, .fd = fd, .result = result};
    struct bytes bytes = {0};
    *result = (struct finalize){0};
    if (options->local)
        unsetenv("DEBUGINFOD_URLS");
    int outcome = bytes_read_file(&bytes, path, BYTES_MAX_DEFAULT, err);
    if (outcome == 0)
        outcome = reader_read(bytes.data, bytes.size, path, &at.recording, err);
    if (outcome == 0)
        outcome = natives_init(&at.natives, &at.recording, err);
    if (outcome == 0 && at.recording.addresses_count)
        outcome = name_recording(&at, options, whole_bytes(&at.recording, bytes.size), err);
    native_symbols_clear(&at.names);
    natives_clear(&at.natives);
    recording_clear(&at.recording);
    bytes_clear(&bytes);
    return outcome;
}

int finalize_file(const char *path, const struct finalize_options *options, struct finalize *result,
                  struct err *err)
{
    *result = (struct finalize){0};
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, "cannot write %s", path);
    int outcome = -1;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        err_set(err, "%s is still being recorded", path);
    else
        outcome = finalize_open_file(fd, path, options, result, err);
    close(fd);
    return outcome;
}

void finalize_tell(const struct finalize *result)
{
    uint32_t nameless = result->addresses - result->named;
    if (result->addresses && symbols_unavailable())
        message_warn("%s", symbols_unavailable());
    else if (nameless)
        message_hint("%u of %u native addresses have no name; sonde finalize tells why", nameless,
                     result->addresses);
    for (size_t i = 0; i < result->module_count; i++)
        if (result->modules[i].problem[0])
            message_detail("%s", result->modules[i].problem);
}

void finalize_clear(struct finalize *result)
{
    for (size_t i = 0; i < result->module_count; i++) {
        free(result->modules[i].path);
        free(result->modules[i].problem);
    }
    free(result->modules);
    *result = (struct finalize){0};
}
