/*
 * Writes a recording with native frames to standard output, from lines on standard input:
 *
 *     module PATH BUILD_ID SIZE FLAGS      modules are numbered from 1; "-" = no build id
 *     stack COUNT FRAME FRAME ...          from the root; FRAME is a Python function's name, or MODULE+OFFSET (0x...)
 *
 * Each stack was seen COUNT times, a millisecond each.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/compress.h"
#include "store/recording.h"
#include "store/writer.h"
#include "store/writer_native.h"

static int put_to_stdout(void *context, const void *data, size_t size, struct err *err)
{
    (void)context;
    return fwrite(data, 1, size, stdout) == size ? 0 : err_set_errno(err, "standard output");
}

static uint32_t text(struct writer *writer, const char *words)
{
    return writer_string(writer, words, strlen(words));
}

static void put_module(struct writer *writer, char **rest)
{
    const char *path = strtok_r(NULL, " ", rest), *build_id = strtok_r(NULL, " ", rest);
    const char *size = strtok_r(NULL, " ", rest), *flags = strtok_r(NULL, " ", rest);
    struct module module = {.path = text(writer, path),
                            .build_id = strcmp(build_id, "-") ? text(writer, build_id) : 0,
                            .size_bytes = strtoull(size, NULL, 10),
                            .flags = (uint8_t)atoi(flags)};
    writer_native_module(writer, &module);
}

static uint32_t code_of(struct writer *writer, const char *frame)
{
    char *plus;
    unsigned long module = strtoul(frame, &plus, 10);
    if (plus > frame && *plus == '+')
        return writer_native_code(writer, (uint32_t)module, strtoull(plus + 1, NULL, 16));
    struct code code = {.name = text(writer, frame),
                        .qualname = text(writer, frame),
                        .file = text(writer, "/home/me/app.py"),
                        .module = text(writer, "__main__"),
                        .line = 3,
                        .kind = CODE_PYTHON};
    return writer_code(writer, &code);
}

static void put_stack(struct writer *writer, uint32_t thread, uint64_t *time_ns, char **rest)
{
    uint32_t count = (uint32_t)atoi(strtok_r(NULL, " ", rest)), node = 0;
    for (const char *frame; (frame = strtok_r(NULL, " ", rest));)
        node = writer_node(writer, &(struct node){.parent = node, .code = code_of(writer, frame)});
    struct sample_row sample = {.time_ns = *time_ns,
                                .weight_ns = count * UINT64_C(1000000),
                                .thread = thread,
                                .node = node,
                                .count = count,
                                .state = SAMPLE_RUNNING};
    writer_sample(writer, &sample);
    *time_ns += sample.weight_ns;
}

int main(void)
{
    const struct writer_options options = {.sink = put_to_stdout, .compress = compress_zstd};
    struct writer *writer = writer_new(&options, NULL);
    char line[4096];
    uint64_t time_ns = 1000;
    if (!writer)
        return 1;
    uint32_t process = writer_process(writer, &(struct process){.pid = 100, .rank = UINT32_MAX});
    uint32_t thread = writer_thread(writer, &(struct thread){.process = process, .tid = 100});
    writer_meta(writer, "mode", "record");
    while (fgets(line, sizeof line, stdin)) {
        char *rest;
        line[strcspn(line, "\n")] = '\0';
        const char *word = strtok_r(line, " ", &rest);
        if (word && strcmp(word, "module") == 0)
            put_module(writer, &rest);
        else if (word)
            put_stack(writer, thread, &time_ns, &rest);
    }
    return writer_close(writer, NULL) < 0;
}
