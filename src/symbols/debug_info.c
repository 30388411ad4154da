#include "symbols/debug_info.h"

#include <stddef.h>

#include "base/err.h"

#ifdef HAVE_LIBDW

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

/* Code of one compilation unit. libdw's own table (.debug_aranges) is missing in what clang makes. */
struct unit_range {
    uint64_t start;
    uint64_t end;
    Dwarf_Off unit;
};

struct debug_info {
    Dwfl *session;
    Dwfl_Module *module;
    Dwarf *dwarf;
    Dwarf_Addr bias; /* address in the debug data + bias = address in the module */
    struct bytes ranges;
    Dwfl_Callbacks callbacks;
    char *search_path;
};

static int by_start(const void *left, const void *right)
{
    const struct unit_range *one = left, *other = right;
    return (one->start > other->start) - (one->start < other->start);
}

static void add_unit(struct debug_info *info, Dwarf_Die *unit)
{
    Dwarf_Addr base, start, end;
    for (ptrdiff_t next = 0; (next = dwarf_ranges(unit, next, &base, &start, &end)) > 0;) {
        struct unit_range range = {.start = start, .end = end, .unit = dwarf_dieoffset(unit)};
        if (start < end)
            bytes_put(&info->ranges, &range, sizeof range);
    }
}

static void list_units(struct debug_info *info)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    while (dwarf_get_units(info->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
        add_unit(info, &die);
    if (info->ranges.size)
        qsort(info->ranges.data, info->ranges.size / sizeof(struct unit_range), sizeof(struct unit_range),
              by_start);
}

static bool find_unit(const struct debug_info *info, uint64_t address, Dwarf_Die *unit)
{
    const struct unit_range *ranges = (const struct unit_range *)(const void *)info->ranges.data;
    size_t low = 0, high = info->ranges.size / sizeof *ranges;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address < ranges[low - 1].end && dwarf_offdie(info->dwarf, ranges[low - 1].unit, unit);
}

static int open_module(struct debug_info *info, const char *path, struct err *err)
{
    info->callbacks = (Dwfl_Callbacks){.find_elf = dwfl_build_id_find_elf,
                                       .find_debuginfo = dwfl_standard_find_debuginfo,
                                       .section_address = dwfl_offline_section_address,
                                       .debuginfo_path = &info->search_path};
    info->session = dwfl_begin(&info->callbacks);
    if (!info->session)
        return err_set(err, "%s: %s", path, dwfl_errmsg(-1));
    dwfl_report_begin(info->session);
    /* At base 0 with the segments' own addresses: addresses are the file's. */
    info->module = dwfl_report_elf(info->session, path, path, -1, 0, true);
    dwfl_report_end(info->session, NULL, NULL);
    if (!info->module)
        return err_set(err, "%s: %s", path, dwfl_errmsg(-1));
    info->dwarf = dwfl_module_getdwarf(info->module, &info->bias);
    if (info->dwarf)
        list_units(info);
    return 0;
}

struct debug_info *debug_info_open(const char *path, const char *folders, struct err *err)
{
    struct debug_info *info = calloc(1, sizeof *info);
    /* "+": a file named by a debug link must have the right checksum. "": beside the module. */
    if (info && asprintf(&info->search_path, "+:.debug:/usr/lib/debug%s%s", *folders ? ":" : "", folders) < 0)
        info->search_path = NULL;
    if (!info || !info->search_path) {
        err_set(err, "%s: no memory to read it", path);
        free(info);
        return NULL;
    }
    if (open_module(info, path, err) == 0)
        return info;
    debug_info_close(info);
    return NULL;
}

void debug_info_close(struct debug_info *info)
{
    if (!info)
        return;
    if (info->session)
        dwfl_end(info->session);
    bytes_clear(&info->ranges);
    free(info->search_path);
    free(info);
}

bool debug_info_has_lines(const struct debug_info *info)
{
    return info->ranges.size > 0;
}

static const char *text_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

/* The linkage name where it is one of C++ or Rust (it holds the scopes); else the name in the source. */
static const char *symbol_of(Dwarf_Die *die)
{
    const char *linkage = text_of(die, DW_AT_linkage_name);
    if (!linkage)
        linkage = text_of(die, DW_AT_MIPS_linkage_name);
    if (linkage && (strncmp(linkage, "_Z", 2) == 0 || strncmp(linkage, "_R", 2) == 0))
        return linkage;
    const char *name = text_of(die, DW_AT_name);
    return name ? name : linkage;
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0 || value > UINT32_MAX)
        return 0;
    return (uint32_t)value;
}

/* Where the code of an inlined function was called from. */
static void set_call_site(struct debug_info_frame *frame, Dwarf_Die *unit, Dwarf_Die *inlined)
{
    Dwarf_Files *files;
    size_t count;
    uint32_t number = number_of(inlined, DW_AT_call_file);
    frame->line = number_of(inlined, DW_AT_call_line);
    frame->file = NULL;
    if (dwarf_getsrcfiles(unit, &files, &count) == 0 && number < count)
        frame->file = dwarf_filesrc(files, number, NULL, NULL);
}

static void set_line(struct debug_info_frame *frame, Dwarf_Die *unit, uint64_t address)
{
    int number = 0;
    Dwarf_Line *line = dwarf_getsrc_die(unit, address);
    if (!line || dwarf_lineno(line, &number) != 0)
        return;
    frame->line = number > 0 ? (uint32_t)number : 0;
    frame->file = dwarf_linesrc(line, NULL, NULL);
}

/* A file name as the compiler was given it: relative ones are relative to where it ran. */
static void give(const struct debug_info_frame *frame, Dwarf_Die *unit, debug_info_sink *sink, void *context)
{
    struct debug_info_frame whole = *frame;
    char path[4096];
    const char *folder = text_of(unit, DW_AT_comp_dir);
    if (frame->file && frame->file[0] != '/' && folder && folder[0] == '/') {
        snprintf(path, sizeof path, "%s/%s", folder, frame->file);
        whole.file = path;
    }
    sink(context, &whole);
}

/* From the innermost scope outwards to the function itself. */
static bool give_scopes(Dwarf_Die *unit, Dwarf_Die *scopes, int count, struct debug_info_frame frame,
                        debug_info_sink *sink, void *context)
{
    for (int index = 0; index < count; index++) {
        int tag = dwarf_tag(&scopes[index]);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
            continue;
        frame.symbol = symbol_of(&scopes[index]);
        frame.is_inlined = tag == DW_TAG_inlined_subroutine;
        if (frame.symbol)
            give(&frame, unit, sink, context);
        if (!frame.is_inlined)
            return frame.symbol;
        set_call_site(&frame, unit, &scopes[index]);
    }
    return false;
}

/* dwarf_getscopes ends in the abstract function of an inlined one; the concrete nest begins anew from there. */
static bool find_scopes(Dwarf_Die *unit, uint64_t address, const struct debug_info_frame *frame,
                        debug_info_sink *sink, void *context)
{
    Dwarf_Die *scopes = NULL, *nest = NULL;
    bool found = false;
    if (dwarf_getscopes(unit, address, &scopes) > 0) {
        int count = dwarf_getscopes_die(&scopes[0], &nest);
        found = give_scopes(unit, nest, count, *frame, sink, context);
    }
    free(scopes);
    free(nest);
    return found;
}

static bool find_symbol(struct debug_info *info, uint64_t address, struct debug_info_frame *frame)
{
    GElf_Off offset;
    GElf_Sym symbol;
    frame->symbol = dwfl_module_addrinfo(info->module, address, &offset, &symbol, NULL, NULL, NULL);
    return frame->symbol && frame->symbol[0];
}

bool debug_info_find(struct debug_info *info, uint64_t address, debug_info_sink *sink, void *context)
{
    Dwarf_Die unit;
    struct debug_info_frame frame = {0};
    bool described = info->dwarf && find_unit(info, address - info->bias, &unit);
    if (described) {
        set_line(&frame, &unit, address - info->bias);
        if (find_scopes(&unit, address - info->bias, &frame, sink, context))
            return true;
    }
    if (!find_symbol(info, address, &frame))
        return false;
    if (described)
        give(&frame, &unit, sink, context);
    else
        sink(context, &frame);
    return true;
}

const char *debug_info_unavailable(void)
{
    return NULL;
}

#else

struct debug_info *debug_info_open(const char *path, const char *folders, struct err *err)
{
    (void)folders;
    err_set(err, "%s: %s", path, debug_info_unavailable());
    return NULL;
}

void debug_info_close(struct debug_info *info)
{
    (void)info;
}

bool debug_info_find(struct debug_info *info, uint64_t address, debug_info_sink *sink, void *context)
{
    (void)info, (void)address, (void)sink, (void)context;
    return false;
}

bool debug_info_has_lines(const struct debug_info *info)
{
    (void)info;
    return false;
}

const char *debug_info_unavailable(void)
{
    return "this sonde was built without libdw (elfutils): native functions have names only where the file "
           "itself has a table of them, and no lines; install libdw-dev (Fedora: elfutils-devel) and build "
           "again";
}

#endif
