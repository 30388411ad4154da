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

#define SCOPES_MAX  64  /* functions inlined in one another, and scopes that functions are searched in */
#define NESTING_MAX 512 /* blocks and inlined functions */

/* Code of a compilation unit, or of a function, by its place in the debug data. libdw's own table of units (.debug_aranges) is
 * missing in what clang makes, and of functions it has none: it would read the whole unit for each address. */
struct die_range {
    uint64_t start;
    uint64_t end;
    Dwarf_Off die;
};

struct unit_functions {
    Dwarf_Off unit;
    struct bytes ranges; /* struct die_range, by start */
};

struct debug_info {
    Dwfl *session;
    Dwfl_Module *module;
    Dwarf *dwarf;
    Dwarf_Addr bias;        /* address in the debug data + bias = address in the module */
    struct bytes ranges;    /* struct die_range, by start */
    struct bytes functions; /* struct unit_functions, of units that were asked for */
    Dwfl_Callbacks callbacks;
    char *search_path;
};

/* ---- ranges ---- */

static int by_start(const void *left, const void *right)
{
    const struct die_range *one = left, *other = right;
    return (one->start > other->start) - (one->start < other->start);
}

static void add_ranges(struct bytes *ranges, Dwarf_Die *die)
{
    Dwarf_Addr base, start, end;
    for (ptrdiff_t next = 0; (next = dwarf_ranges(die, next, &base, &start, &end)) > 0;) {
        struct die_range range = {start, end, dwarf_dieoffset(die)};
        if (start < end)
            bytes_put(ranges, &range, sizeof range);
    }
}

static void sort_ranges(struct bytes *ranges)
{
    if (ranges->size)
        qsort(ranges->data, ranges->size / sizeof(struct die_range), sizeof(struct die_range), by_start);
}

/* They do not overlap: the one that begins last before the address holds it, or none does. */
static const struct die_range *find_range(const struct bytes *list, uint64_t address)
{
    const struct die_range *ranges = (const struct die_range *)(const void *)list->data;
    size_t low = 0, high = list->size / sizeof *ranges;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address < ranges[low - 1].end ? &ranges[low - 1] : NULL;
}

/* ---- units ---- */

static void list_units(struct debug_info *info)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    while (dwarf_get_units(info->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
        add_ranges(&info->ranges, &die);
    sort_ranges(&info->ranges);
}

static bool find_unit(const struct debug_info *info, uint64_t address, Dwarf_Die *unit)
{
    const struct die_range *range = find_range(&info->ranges, address);
    return range && dwarf_offdie(info->dwarf, range->die, unit);
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
    for (size_t i = 0; i < info->functions.size / sizeof(struct unit_functions); i++)
        bytes_clear(&((struct unit_functions *)(void *)info->functions.data)[i].ranges);
    bytes_clear(&info->functions);
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

/* The linkage name where it holds the scopes (C++, Rust, modules of gfortran); else the name in the source. */
static const char *symbol_of(Dwarf_Die *die)
{
    const char *linkage = text_of(die, DW_AT_linkage_name);
    if (!linkage)
        linkage = text_of(die, DW_AT_MIPS_linkage_name);
    if (linkage &&
        (strncmp(linkage, "_Z", 2) == 0 || strncmp(linkage, "_R", 2) == 0 || strstr(linkage, "_MOD_")))
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

/* ---- functions of a unit ---- */

/* Functions lie in the unit itself, and in what may be nested in it: namespaces, classes, modules, functions. */
static void list_functions(struct bytes *ranges, Dwarf_Die *scope, unsigned depth)
{
    Dwarf_Die child;
    if (depth > SCOPES_MAX || dwarf_child(scope, &child) != 0)
        return;
    do {
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_subprogram)
            add_ranges(ranges, &child);
        if (tag == DW_TAG_subprogram || tag == DW_TAG_namespace || tag == DW_TAG_module ||
            tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_lexical_block)
            list_functions(ranges, &child, depth + 1);
    } while (dwarf_siblingof(&child, &child) == 0);
}

static const struct bytes *functions_of(struct debug_info *info, Dwarf_Die *unit)
{
    struct unit_functions *known = (struct unit_functions *)(void *)info->functions.data;
    size_t count = info->functions.size / sizeof *known;
    for (size_t i = count; i-- > 0;)
        if (known[i].unit == dwarf_dieoffset(unit))
            return &known[i].ranges;
    struct unit_functions added = {.unit = dwarf_dieoffset(unit)};
    list_functions(&added.ranges, unit, 0);
    sort_ranges(&added.ranges);
    bytes_put(&info->functions, &added, sizeof added);
    if (info->functions.failed) {
        bytes_clear(&added.ranges);
        return NULL;
    }
    return &((struct unit_functions *)(void *)info->functions.data)[count].ranges;
}

static bool find_function(struct debug_info *info, Dwarf_Die *unit, uint64_t address, Dwarf_Die *function)
{
    const struct bytes *list = functions_of(info, unit);
    const struct die_range *range = list ? find_range(list, address) : NULL;
    return range && dwarf_offdie(info->dwarf, range->die, function);
}

/* ---- frames ---- */

/* What holds the address inside a function, from the function inwards; false when nothing more does. */
static bool find_inner(Dwarf_Die *scope, uint64_t address, Dwarf_Die *inner)
{
    if (dwarf_child(scope, inner) != 0)
        return false;
    do {
        int tag = dwarf_tag(inner);
        if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
            dwarf_haspc(inner, address) > 0)
            return true;
    } while (dwarf_siblingof(inner, inner) == 0);
    return false;
}

/* The function, and below it what was inlined there; blocks count for nothing. */
static size_t find_scopes(struct debug_info *info, Dwarf_Die *unit, uint64_t address,
                          Dwarf_Die scopes[static SCOPES_MAX])
{
    Dwarf_Die at, inner;
    size_t count = 0;
    if (!find_function(info, unit, address, &at))
        return 0;
    scopes[count++] = at;
    for (unsigned depth = 0; depth < NESTING_MAX && find_inner(&at, address, &inner); depth++) {
        at = inner;
        if (dwarf_tag(&at) == DW_TAG_inlined_subroutine && count < SCOPES_MAX)
            scopes[count++] = at;
    }
    return count;
}

/* From the innermost outwards to the function itself. */
static bool give_scopes(Dwarf_Die *unit, Dwarf_Die *scopes, size_t count, struct debug_info_frame frame,
                        debug_info_sink *sink, void *context)
{
    while (count-- > 0) {
        frame.symbol = symbol_of(&scopes[count]);
        frame.is_inlined = count > 0;
        if (frame.symbol)
            give(&frame, unit, sink, context);
        if (count > 0)
            set_call_site(&frame, unit, &scopes[count]);
    }
    return frame.symbol;
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
        Dwarf_Die scopes[SCOPES_MAX];
        size_t count = find_scopes(info, &unit, address - info->bias, scopes);
        if (count && give_scopes(&unit, scopes, count, frame, sink, context))
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
