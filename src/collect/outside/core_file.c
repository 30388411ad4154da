#include "collect/outside/core_file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/err.h"
#include "unwind/elf_file.h"

/* More than any process has by default. */
enum { MOST_SEGMENTS = 1 << 18, MOST_FILES = 1 << 15, MOST_THREADS = 1 << 16 };
enum { COMPARED_BYTES = 4096, PATH_BYTES = 4096 };

/* Places in struct elf_prstatus and struct elf_prpsinfo of 64-bit machines. */
enum { STATUS_SIGNAL = 12, STATUS_PID = 32, STATUS_REGISTERS = 112 };
enum { INFO_PID = 24, INFO_ARGUMENTS = 56, INFO_ARGUMENTS_BYTES = 80 };

/* ---- the headers ---- */

static bool copy_out(const struct core_file *core, uint64_t offset, void *out, size_t size)
{
    if (offset > core->size || size > core->size - offset)
        return false;
    memcpy(out, core->data + offset, size);
    return true;
}

/* A core file with very many segments counts them in its first section header. */
static uint32_t count_headers(const struct core_file *core, const Elf64_Ehdr *header)
{
    Elf64_Shdr section;
    if (header->e_phnum != PN_XNUM)
        return header->e_phnum;
    return copy_out(core, header->e_shoff, &section, sizeof section) ? section.sh_info : 0;
}

static void add_segment(struct core_file *core, const Elf64_Phdr *header)
{
    uint64_t held = header->p_filesz < header->p_memsz ? header->p_filesz : header->p_memsz;
    if (!header->p_memsz || header->p_memsz > UINT64_MAX - header->p_vaddr)
        return;
    uint64_t there = header->p_offset < core->size ? core->size - header->p_offset : 0;
    core->cut |= held > there;
    core->segments[core->segment_count++] = (struct core_file_segment){
        .start = header->p_vaddr,
        .end = header->p_vaddr + header->p_memsz,
        .offset = header->p_offset,
        .held_bytes = held < there ? held : there,
        .executable = header->p_flags & PF_X,
        .writable = header->p_flags & PF_W,
    };
}

static int compare_segments(const void *left, const void *right)
{
    const struct core_file_segment *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* Overlaps, which no kernel writes, would let a search by address miss. */
static void sort_segments(struct core_file *core)
{
    size_t kept = 0;
    qsort(core->segments, core->segment_count, sizeof *core->segments, compare_segments);
    for (size_t i = 0; i < core->segment_count; i++)
        if (!kept || core->segments[i].start >= core->segments[kept - 1].end)
            core->segments[kept++] = core->segments[i];
    core->segment_count = kept;
}

static const struct core_file_segment *segment_at(const struct core_file *core, uint64_t address)
{
    size_t low = 0, high = core->segment_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct core_file_segment *segment = &core->segments[middle];
        if (address < segment->start)
            high = middle;
        else if (address >= segment->end)
            low = middle + 1;
        else
            return segment;
    }
    return NULL;
}

/* ---- the notes ---- */

static void read_status(struct core_file *core, const uint8_t *note, size_t size)
{
    if (size < STATUS_REGISTERS || core->thread_count == MOST_THREADS)
        return;
    size_t more = (core->thread_count + 1) * sizeof *core->threads;
    struct core_file_thread *threads = realloc(core->threads, more);
    if (!threads)
        return;
    core->threads = threads;
    struct core_file_thread *thread = &threads[core->thread_count++];
    *thread = (struct core_file_thread){0};
    memcpy(&thread->tid, note + STATUS_PID, sizeof thread->tid);
    /* A word that says whether floating point is there follows the registers. */
    size_t words = (size - STATUS_REGISTERS) / 8;
    thread->register_count = words > CORE_FILE_REGISTERS ? CORE_FILE_REGISTERS : (unsigned)words;
    memcpy(thread->registers, note + STATUS_REGISTERS, 8 * (size_t)thread->register_count);
    if (core->thread_count == 1) {
        int16_t number;
        memcpy(&number, note + STATUS_SIGNAL, sizeof number);
        core->signal = number;
    }
}

static void read_info(struct core_file *core, const uint8_t *note, size_t size)
{
    if (size < INFO_ARGUMENTS + INFO_ARGUMENTS_BYTES)
        return;
    memcpy(&core->pid, note + INFO_PID, sizeof core->pid);
    memcpy(core->command, note + INFO_ARGUMENTS, INFO_ARGUMENTS_BYTES);
    for (size_t end = strlen(core->command); end && core->command[end - 1] == ' ';)
        core->command[--end] = 0;
}

static struct core_file_backing *backing_of(struct core_file *core, const char *path)
{
    /* The ranges of a file lie together. */
    for (size_t i = core->backing_count; i > 0 && i + 8 > core->backing_count; i--)
        if (strcmp(core->backings[i - 1].path, path) == 0)
            return &core->backings[i - 1];
    struct core_file_backing *backing = &core->backings[core->backing_count++];
    *backing = (struct core_file_backing){.path = path};
    return backing;
}

/* NT_FILE: how many, the unit of offsets, then start, end and offset of each, then their paths. */
static int read_files(struct core_file *core, const uint8_t *note, size_t size, struct err *err)
{
    struct cursor cursor = cursor_on(note, size);
    uint64_t count = cursor_get_u64(&cursor), unit = cursor_get_u64(&cursor);
    if (core->image.mappings || cursor.failed || count > MOST_FILES || count > cursor_left(&cursor) / 24)
        return 0;
    const uint8_t *ranges = cursor_get(&cursor, 24 * count);
    core->image.mappings = calloc(count + core->segment_count, sizeof *core->image.mappings);
    core->backings = calloc(count, sizeof *core->backings);
    if (count && (!core->image.mappings || !core->backings))
        return err_set(err, "out of memory");
    for (uint64_t i = 0; i < count; i++) {
        const char *path = (const char *)cursor.at;
        const uint8_t *end = memchr(cursor.at, 0, cursor_left(&cursor));
        uint64_t words[3];
        memcpy(words, ranges + 24 * i, sizeof words);
        if (!end)
            break;
        cursor.at = end + 1;
        if (words[0] >= words[1])
            continue;
        /* Which file it was is not told; a number that is the same for its mappings will do. */
        uint64_t number = (uint64_t)(backing_of(core, path) - core->backings) + 1;
        core->image.mappings[core->image.count++] = (struct target_mapping){
            .start = words[0], .end = words[1], .offset = words[2] * unit, .inode = number, .path = path};
    }
    return 0;
}

static size_t padded(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

static int read_note(struct core_file *core, uint32_t type, const uint8_t *note, size_t size, struct err *err)
{
    if (type == NT_PRSTATUS)
        read_status(core, note, size);
    else if (type == NT_PRPSINFO)
        read_info(core, note, size);
    else if (type == NT_FILE)
        return read_files(core, note, size, err);
    return 0;
}

static int read_notes(struct core_file *core, const Elf64_Phdr *header, struct err *err)
{
    if (header->p_offset > core->size || header->p_filesz > core->size - header->p_offset)
        return err_set(err, "it ends within its notes: was it cut short (ulimit -c, a full disk)?");
    struct cursor notes = cursor_on(core->data + header->p_offset, header->p_filesz);
    while (cursor_left(&notes) >= 12) {
        uint32_t name_size = cursor_get_u32(&notes), size = cursor_get_u32(&notes);
        uint32_t type = cursor_get_u32(&notes);
        const uint8_t *name = cursor_get(&notes, padded(name_size));
        const uint8_t *note = cursor_get(&notes, size);
        size_t rest = padded(size) - size;
        cursor_get(&notes, rest < cursor_left(&notes) ? rest : cursor_left(&notes));
        if (notes.failed)
            return err_set(err, "its notes are damaged");
        if (name_size == 5 && memcmp(name, "CORE", 5) == 0 && read_note(core, type, note, size, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- mappings: the files, and the memory without a file between them ---- */

static int compare_mappings(const void *left, const void *right)
{
    const struct target_mapping *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

static bool is_mapped(const struct target_image *image, size_t files, uint64_t address)
{
    size_t low = 0, high = files;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (image->mappings[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < files && image->mappings[low].start <= address;
}

static int add_anonymous(struct core_file *core, struct err *err)
{
    struct target_image *image = &core->image;
    if (!image->mappings)
        image->mappings = calloc(core->segment_count + 1, sizeof *image->mappings);
    if (!image->mappings)
        return err_set(err, "out of memory");
    size_t files = image->count;
    qsort(image->mappings, files, sizeof *image->mappings, compare_mappings);
    for (size_t i = 0; i < files; i++) {
        const struct core_file_segment *segment = segment_at(core, image->mappings[i].start);
        /* What the core file does not even name is code or constants. */
        image->mappings[i].executable = !segment || segment->executable;
        image->mappings[i].writable = segment && segment->writable;
    }
    for (size_t i = 0; i < core->segment_count; i++) {
        const struct core_file_segment *segment = &core->segments[i];
        if (!is_mapped(image, files, segment->start))
            image->mappings[image->count++] = (struct target_mapping){.start = segment->start,
                                                                      .end = segment->end,
                                                                      .path = "",
                                                                      .executable = segment->executable,
                                                                      .writable = segment->writable};
    }
    qsort(image->mappings, image->count, sizeof *image->mappings, compare_mappings);
    return 0;
}

/* ---- files that were mapped ---- */

/* The bytes that the core file itself holds at an address, at most `size`. */
static size_t held_at(const struct core_file *core, uint64_t address, size_t size,
                      const unsigned char **bytes)
{
    const struct core_file_segment *segment = segment_at(core, address);
    if (!segment || address - segment->start >= segment->held_bytes)
        return 0;
    uint64_t inside = address - segment->start, held = segment->held_bytes - inside;
    *bytes = core->data + segment->offset + inside;
    return held < size ? (size_t)held : size;
}

/* The head of an ELF file: its header and what follows it, the program headers. 0 = it is none. */
static size_t head_bytes(const unsigned char *bytes, size_t size)
{
    Elf64_Ehdr header;
    if (size < sizeof header)
        return 0;
    memcpy(&header, bytes, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phoff != sizeof header)
        return 0;
    return sizeof header + (size_t)header.e_phnum * sizeof(Elf64_Phdr);
}

/* The rest of the first page may have been written to: only the heads and the build ids, if they are there, count. */
static bool is_same_file(const unsigned char *held, size_t held_bytes, const unsigned char *data, size_t size)
{
    struct elf_image before, now;
    size_t head = head_bytes(held, held_bytes);
    if (!head || head > held_bytes || head > size || memcmp(held, data, head) != 0)
        return false;
    if (elf_image_init(&before, held, held_bytes, NULL) < 0 || elf_image_init(&now, data, size, NULL) < 0)
        return false;
    return !before.build_id || (now.build_id && before.build_id_size == now.build_id_size &&
                                memcmp(before.build_id, now.build_id, now.build_id_size) == 0);
}

/* Whether a file begins as the one that was mapped did. */
static bool is_same(const struct core_file *core, const char *path, const unsigned char *data, size_t size)
{
    for (size_t i = 0; i < core->image.count; i++) {
        const struct target_mapping *mapping = &core->image.mappings[i];
        const unsigned char *held = NULL;
        if (mapping->offset || strcmp(mapping->path, path) != 0)
            continue;
        size_t there = held_at(core, mapping->start, COMPARED_BYTES, &held);
        return is_same_file(held, there, data, size);
    }
    return false;
}

static bool try_file(const struct core_file *core, struct core_file_backing *backing, const char *path)
{
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return false;
    bool usable = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
    size_t size = usable ? (size_t)status.st_size : 0;
    void *data = usable ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0) : MAP_FAILED;
    close(descriptor);
    if (data == MAP_FAILED)
        return false;
    if (!is_same(core, backing->path, data, size) || !(backing->found = strdup(path))) {
        munmap(data, size);
        return false;
    }
    backing->data = data;
    backing->size = size;
    return true;
}

static void look_for(const struct core_file *core, struct core_file_backing *backing)
{
    char path[PATH_BYTES];
    const char *slash = strrchr(backing->path, '/');
    backing->tried = true;
    if (!slash)
        return;
    for (const char *const *dir = core->search_dirs; dir && *dir; dir++) {
        snprintf(path, sizeof path, "%s%s", *dir, backing->path);
        if (try_file(core, backing, path))
            return;
        snprintf(path, sizeof path, "%s%s", *dir, slash);
        if (try_file(core, backing, path))
            return;
    }
    try_file(core, backing, backing->path);
}

static struct core_file_backing *find_backing(const struct core_file *core, const char *path)
{
    for (size_t i = 0; i < core->backing_count; i++) {
        struct core_file_backing *backing = &core->backings[i];
        if (strcmp(backing->path, path) != 0)
            continue;
        if (!backing->tried)
            look_for(core, backing);
        return backing->data ? backing : NULL;
    }
    return NULL;
}

static int open_mapped(void *context, const struct target_mapping *mapping, struct elf_file *file,
                       struct err *err)
{
    struct core_file_backing *backing = find_backing(context, mapping->path);
    if (!backing)
        return err_set(err, "%s is not there as it was", mapping->path);
    return elf_file_open(file, backing->found, err);
}

const char *core_file_missing(const struct core_file *core)
{
    for (size_t i = 0; i < core->image.count; i++) {
        const struct target_mapping *mapping = &core->image.mappings[i];
        if (mapping->executable && mapping->path[0] == '/' && !find_backing(core, mapping->path))
            return mapping->path;
    }
    return NULL;
}

/* ---- memory ---- */

static const struct target_mapping *file_at(const struct core_file *core, uint64_t address)
{
    size_t low = 0, high = core->image.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (core->image.mappings[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const struct target_mapping *mapping = &core->image.mappings[low];
    return low < core->image.count && mapping->start <= address && mapping->path[0] ? mapping : NULL;
}

static size_t backed_at(const struct core_file *core, uint64_t address, size_t size,
                        const unsigned char **bytes)
{
    const struct target_mapping *mapping = file_at(core, address);
    const struct core_file_backing *backing = mapping ? find_backing(core, mapping->path) : NULL;
    if (!backing)
        return 0;
    uint64_t inside = address - mapping->start, left = mapping->end - address;
    uint64_t offset = mapping->offset + inside;
    if (offset < inside || offset >= backing->size)
        return 0;
    if (left > backing->size - offset)
        left = backing->size - offset;
    *bytes = backing->data + offset;
    return left < size ? (size_t)left : size;
}

static bool read_memory(void *context, uint64_t address, void *out, size_t size)
{
    const struct core_file *core = context;
    unsigned char *to = out;
    while (size) {
        const unsigned char *bytes;
        size_t part = held_at(core, address, size, &bytes);
        if (!part)
            part = backed_at(core, address, size, &bytes);
        if (!part)
            return false;
        memcpy(to, bytes, part);
        to += part;
        address += part;
        size -= part;
    }
    return true;
}

/* ---- */

static int read_program_headers(struct core_file *core, const Elf64_Ehdr *header, uint32_t type,
                                struct err *err)
{
    uint32_t count = count_headers(core, header);
    for (uint32_t i = 0; i < count; i++) {
        Elf64_Phdr program;
        uint64_t offset = header->e_phoff + (uint64_t)i * sizeof program;
        if (offset < header->e_phoff || !copy_out(core, offset, &program, sizeof program))
            return err_set(err, "it ends within its headers: was it cut short (ulimit -c, a full disk)?");
        if (program.p_type != type)
            continue;
        if (type == PT_LOAD)
            add_segment(core, &program);
        else if (read_notes(core, &program, err) < 0)
            return -1;
    }
    return 0;
}

static int read_core(struct core_file *core, struct err *err)
{
    Elf64_Ehdr header;
    if (!copy_out(core, 0, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_type != ET_CORE)
        return err_set(err, "it is no core file");
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
        return err_set(err, "it is no core file of a 64-bit little-endian machine");
    uint32_t count = count_headers(core, &header);
    if (header.e_phentsize != sizeof(Elf64_Phdr) || !count || count > MOST_SEGMENTS)
        return err_set(err, "its headers are damaged");
    core->segments = calloc(count, sizeof *core->segments);
    if (!core->segments)
        return err_set(err, "out of memory");
    if (read_program_headers(core, &header, PT_LOAD, err) < 0)
        return -1;
    sort_segments(core);
    if (read_program_headers(core, &header, PT_NOTE, err) < 0)
        return -1;
    return add_anonymous(core, err);
}

int core_file_init(struct core_file *core, const void *data, size_t size, const char *const *search_dirs,
                   struct err *err)
{
    *core = (struct core_file){.data = data, .size = size, .search_dirs = search_dirs};
    core->image.memory = (struct memory){.read = read_memory, .context = core};
    core->image.open = open_mapped;
    core->image.context = core;
    int result = read_core(core, err);
    if (result < 0)
        core_file_close(core);
    return result;
}

int core_file_open(struct core_file *core, const char *path, const char *const *search_dirs, struct err *err)
{
    struct stat status;
    struct err inner = {{0}};
    *core = (struct core_file){0};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0 || fstat(descriptor, &status) < 0) {
        err_set_errno(err, "%s", path);
        if (descriptor >= 0)
            close(descriptor);
        return -1;
    }
    size_t size = S_ISREG(status.st_mode) ? (size_t)status.st_size : 0;
    void *data = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0) : MAP_FAILED;
    close(descriptor);
    if (data == MAP_FAILED)
        return err_set(err, "%s: it is no core file", path);
    if (core_file_init(core, data, size, search_dirs, &inner) < 0) {
        munmap(data, size);
        return err_set(err, "%s: %s", path, inner.text);
    }
    core->mapped = true;
    return 0;
}

void core_file_close(struct core_file *core)
{
    for (size_t i = 0; i < core->backing_count; i++) {
        if (core->backings[i].data)
            munmap((void *)core->backings[i].data, core->backings[i].size);
        free(core->backings[i].found);
    }
    free(core->backings);
    free(core->segments);
    free(core->threads);
    free(core->image.mappings);
    if (core->mapped)
        munmap((void *)core->data, core->size);
    *core = (struct core_file){0};
}
