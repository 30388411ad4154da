#include "unwind/elf_image.h"

#include <elf.h>
#include <string.h>

#include "base/err.h"

static bool copy_out(const struct elf_image *image, uint64_t offset, void *target, size_t size)
{
    if (offset > image->size || size > image->size - offset)
        return false;
    memcpy(target, image->data + offset, size);
    return true;
}

/* What of the segment the file really holds. */
static void add_segment(struct elf_image *image, const Elf64_Phdr *header)
{
    if (image->segment_count == ELF_IMAGE_SEGMENTS_MAX || header->p_offset >= image->size)
        return;
    uint64_t size = header->p_filesz, held = image->size - header->p_offset;
    if (size > held)
        size = held;
    if (!size || size > UINT64_MAX - header->p_vaddr)
        return;
    image->segments[image->segment_count++] =
        (struct elf_image_segment){.address = header->p_vaddr,
                                   .offset = header->p_offset,
                                   .size_bytes = size,
                                   .executable = (header->p_flags & PF_X) != 0};
}

static size_t padded(uint32_t size)
{
    return ((size_t)size + 3) & ~(size_t)3;
}

static void find_build_id(struct elf_image *image, const Elf64_Phdr *header)
{
    if (header->p_offset > image->size || header->p_filesz > image->size - header->p_offset)
        return;
    struct cursor notes = cursor_on(image->data + header->p_offset, header->p_filesz);
    while (cursor_left(&notes) >= 12 && !image->build_id) {
        uint32_t name_size = cursor_get_u32(&notes);
        uint32_t size = cursor_get_u32(&notes);
        uint32_t type = cursor_get_u32(&notes);
        const uint8_t *name = cursor_get(&notes, padded(name_size));
        const uint8_t *text = cursor_get(&notes, size);
        size_t rest = padded(size) - size;
        cursor_get(&notes, rest < cursor_left(&notes) ? rest : cursor_left(&notes));
        if (notes.failed)
            return;
        if (type == NT_GNU_BUILD_ID && name_size == 4 && memcmp(name, "GNU", 4) == 0 && size) {
            image->build_id = text;
            image->build_id_size = size;
        }
    }
}

static void read_header(struct elf_image *image, const Elf64_Phdr *header)
{
    if (header->p_type == PT_LOAD)
        add_segment(image, header);
    else if (header->p_type == PT_GNU_EH_FRAME)
        image->frame_header = header->p_vaddr;
    else if (header->p_type == PT_NOTE && !image->build_id)
        find_build_id(image, header);
}

int elf_image_init(struct elf_image *image, const void *data, size_t size, struct err *err)
{
    *image = (struct elf_image){.data = data, .size = size};
    Elf64_Ehdr header;
    if (!copy_out(image, 0, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return err_set(err, "not an ELF file");
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
        return err_set(err, "not a 64-bit little-endian ELF file");
    if (header.e_phnum && header.e_phentsize != sizeof(Elf64_Phdr))
        return err_set(err, "a damaged ELF file: program headers of %u bytes", header.e_phentsize);
    image->machine = header.e_machine;
    for (unsigned index = 0; index < header.e_phnum; index++) {
        Elf64_Phdr segment;
        if (header.e_phoff > image->size ||
            !copy_out(image, header.e_phoff + index * sizeof segment, &segment, sizeof segment))
            return err_set(err, "a damaged ELF file: it ends within its program headers");
        read_header(image, &segment);
    }
    return 0;
}

static const struct elf_image_segment *segment_of(const struct elf_image *image, uint64_t address)
{
    for (unsigned index = 0; index < image->segment_count; index++) {
        const struct elf_image_segment *segment = &image->segments[index];
        if (address >= segment->address && address - segment->address < segment->size_bytes)
            return segment;
    }
    return NULL;
}

struct cursor elf_image_at(const struct elf_image *image, uint64_t address)
{
    const struct elf_image_segment *segment = segment_of(image, address);
    if (!segment)
        return (struct cursor){.failed = true};
    uint64_t inside = address - segment->address;
    return cursor_on(image->data + segment->offset + inside, segment->size_bytes - inside);
}

const struct elf_image_segment *elf_image_code(const struct elf_image *image, uint64_t address)
{
    const struct elf_image_segment *segment = segment_of(image, address);
    return segment && segment->executable ? segment : NULL;
}

static bool read_section(const struct elf_image *image, const Elf64_Ehdr *header, unsigned index,
                         Elf64_Shdr *section)
{
    return header->e_shentsize == sizeof *section && header->e_shoff <= image->size &&
           copy_out(image, header->e_shoff + index * sizeof *section, section, sizeof *section);
}

/* The first section whose name begins with these `size` bytes, at most 31. */
static bool find_section(const struct elf_image *image, const char *begin, size_t size, Elf64_Shdr *section)
{
    Elf64_Ehdr header;
    Elf64_Shdr names;
    char name[32];
    if (!copy_out(image, 0, &header, sizeof header) ||
        !read_section(image, &header, header.e_shstrndx, &names) || size > sizeof name)
        return false;
    for (unsigned index = 0; index < header.e_shnum; index++)
        if (read_section(image, &header, index, section) && names.sh_offset <= image->size &&
            copy_out(image, names.sh_offset + section->sh_name, name, size) && memcmp(name, begin, size) == 0)
            return true;
    return false;
}

bool elf_image_has_section(const struct elf_image *image, const char *prefix)
{
    Elf64_Shdr section;
    return find_section(image, prefix, strlen(prefix), &section);
}

uint64_t elf_image_section(const struct elf_image *image, const char *name)
{
    Elf64_Shdr section;
    return find_section(image, name, strlen(name) + 1, &section) ? section.sh_addr : 0;
}

/* ---- symbols ---- */

/* The text at this place of a string table; NULL when it does not end there. */
static const char *name_at(const struct elf_image *image, const Elf64_Shdr *texts, uint32_t at)
{
    if (texts->sh_offset >= image->size || at >= texts->sh_size || at >= image->size - texts->sh_offset)
        return NULL;
    uint64_t left = texts->sh_size - at, held = image->size - texts->sh_offset - at;
    const char *name = (const char *)image->data + texts->sh_offset + at;
    return memchr(name, '\0', left < held ? left : held) ? name : NULL;
}

static void visit_table(const struct elf_image *image, const Elf64_Shdr *table, const Elf64_Shdr *texts,
                        elf_image_visit *visit, void *context)
{
    Elf64_Sym symbol;
    for (uint64_t at = 0; table->sh_size - at >= sizeof symbol; at += sizeof symbol) {
        if (!copy_out(image, table->sh_offset + at, &symbol, sizeof symbol))
            return;
        const char *name = symbol.st_shndx == SHN_UNDEF ? NULL : name_at(image, texts, symbol.st_name);
        if (name)
            visit(context, name, symbol.st_value, symbol.st_size);
    }
}

bool elf_image_each_symbol(const struct elf_image *image, elf_image_visit *visit, void *context)
{
    Elf64_Ehdr header;
    Elf64_Shdr section, texts;
    bool any = false;
    if (!copy_out(image, 0, &header, sizeof header))
        return false;
    for (unsigned index = 0; index < header.e_shnum; index++) {
        if (!read_section(image, &header, index, &section) ||
            (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_SYMTAB) ||
            !read_section(image, &header, section.sh_link, &texts))
            continue;
        visit_table(image, &section, &texts, visit, context);
        any = true;
    }
    return any;
}

struct wanted_symbols {
    const char *const *names;
    uint64_t *addresses;
    unsigned count;
};

static void take_if_wanted(void *context, const char *name, uint64_t address, uint64_t size)
{
    (void)size;
    const struct wanted_symbols *wanted = context;
    for (unsigned i = 0; i < wanted->count; i++)
        if (!wanted->addresses[i] && strcmp(name, wanted->names[i]) == 0)
            wanted->addresses[i] = address;
}

bool elf_image_symbols(const struct elf_image *image, const char *const *names, uint64_t *addresses,
                       unsigned count)
{
    struct wanted_symbols wanted = {names, addresses, count};
    memset(addresses, 0, count * sizeof *addresses);
    return elf_image_each_symbol(image, take_if_wanted, &wanted);
}
