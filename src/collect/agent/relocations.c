#include "collect/agent/relocations.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define OWN_MAX  8
#define ROWS_MAX 1024
#define PLACES   4096 /* of rows, by a hash of their names */

#if defined(__x86_64__)
enum { CALLED = R_X86_64_JUMP_SLOT, TAKEN = R_X86_64_GLOB_DAT, STORED = R_X86_64_64 };
#elif defined(__aarch64__)
enum { CALLED = R_AARCH64_JUMP_SLOT, TAKEN = R_AARCH64_GLOB_DAT, STORED = R_AARCH64_ABS64 };
#else
#error "which relocations hold the addresses of functions on this machine?"
#endif

/* One loaded object, as its headers describe it. */
struct object {
    uintptr_t base;
    const ElfW(Phdr) * headers;
    size_t header_count;
    const ElfW(Sym) * symbols;
    const char *strings;
    struct {
        const char *at;
        size_t bytes, stride;
    } tables[3];                        /* of relocations */
    uintptr_t closed_start, closed_end; /* what the loader has closed for writing */
    bool open;                          /* we have opened that */
    bool symbolic;                      /* its own functions come before everybody else's */
    bool foreign;                       /* it calls other functions by one of the names */
};

/* A word of an object that holds, or shall hold, the address of a function of ours. */
struct word {
    _Atomic uintptr_t *at;
    unsigned type;
    size_t row;
};

/* `shown` is what an address that was taken is: in an executable at a fixed place that takes it itself, an entry of its
 * own, through which it is called. */
static struct {
    struct redirection rows[ROWS_MAX];
    uintptr_t shown[ROWS_MAX];
    size_t count;
    uintptr_t own[OWN_MAX];
    size_t own_count;
    uint16_t places[PLACES];       /* row + 1; 0 = none */
    uint64_t initials;             /* bit of each letter that a name begins with */
    bool in_force, unbound;        /* unbound: a word was exchanged that had not been bound */
    unsigned long long adds, subs; /* objects loaded and unloaded so far, when all were last seen to */
    size_t at, seen; /* in the loader's list: where a look is; those before need no other look */
    struct relocations_counts counts;
} state;
static void (*call_at_loads)(void);
static atomic_flag busy = ATOMIC_FLAG_INIT;

static void *relocations_dlsym(void *handle, const char *name);
static void *(*original_dlsym)(void *, const char *);
static const struct redirection dlsym_row = {"dlsym", (void *)relocations_dlsym, (void **)&original_dlsym};

/* ---- what the program's own calls reach ---- */

/* An executable's entry through which it calls the function, not the function itself. */
static bool is_entry(void *address)
{
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    return dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
           symbol->st_shndx == SHN_UNDEF;
}

/* The one that a library at hand from the start reaches; preloaded ones come first there. */
static void *find_behind(const char *name)
{
    struct link_map *map = NULL;
    void *program = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD), *found = NULL;
    if (program)
        dlinfo(program, RTLD_DI_LINKMAP, &map);
    for (map = map ? map->l_next : NULL; map && !found; map = map->l_next) {
        void *library = map->l_name[0] ? dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
        found = library ? dlsym(library, name) : NULL;
        if (library)
            dlclose(library);
    }
    if (program)
        dlclose(program);
    return found && !is_entry(found) ? found : NULL;
}

static void *find_one(const struct redirection *row, uintptr_t *shown)
{
    void *found = dlsym(RTLD_DEFAULT, row->name);
    if (found == row->replacement) /* nobody but us has it */
        found = NULL;
    *shown = (uintptr_t)found;
    return found && is_entry(found) ? find_behind(row->name) : found;
}

/* ---- an object's words ---- */

/* glibc writes addresses over the offsets in most objects, but not in the kernel's own. */
static uintptr_t address_of(const struct object *object, uintptr_t value)
{
    return value < object->base ? object->base + value : value;
}

static void read_dynamic(struct object *object, const ElfW(Dyn) * entry)
{
    bool rel = false;
    for (; entry->d_tag != DT_NULL; entry++) {
        const char *pointer = (const char *)address_of(object, entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB:
            object->symbols = (const void *)pointer;
            break;
        case DT_STRTAB:
            object->strings = pointer;
            break;
        case DT_RELA:
            object->tables[0].at = pointer;
            break;
        case DT_RELASZ:
            object->tables[0].bytes = entry->d_un.d_val;
            break;
        case DT_REL:
            object->tables[1].at = pointer;
            break;
        case DT_RELSZ:
            object->tables[1].bytes = entry->d_un.d_val;
            break;
        case DT_JMPREL:
            object->tables[2].at = pointer;
            break;
        case DT_PLTRELSZ:
            object->tables[2].bytes = entry->d_un.d_val;
            break;
        case DT_PLTREL:
            rel = entry->d_un.d_val == DT_REL;
            break;
        case DT_SYMBOLIC:
            object->symbolic = true;
            break;
        case DT_FLAGS:
            object->symbolic |= (entry->d_un.d_val & DF_SYMBOLIC) != 0;
            break;
        }
    }
    object->tables[0].stride = sizeof(ElfW(Rela));
    object->tables[1].stride = sizeof(ElfW(Rel));
    object->tables[2].stride = rel ? sizeof(ElfW(Rel)) : sizeof(ElfW(Rela));
}

static bool read_object(struct object *object, const struct dl_phdr_info *info)
{
    *object = (struct object){
        .base = info->dlpi_addr, .headers = info->dlpi_phdr, .header_count = info->dlpi_phnum};
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const ElfW(Dyn) *dynamic = NULL;
    for (size_t i = 0; i < object->header_count; i++) {
        const ElfW(Phdr) *header = &object->headers[i];
        if (header->p_type == PT_DYNAMIC)
            dynamic = (const void *)(object->base + header->p_vaddr);
        if (header->p_type != PT_GNU_RELRO)
            continue;
        object->closed_start = (object->base + header->p_vaddr) & ~(page - 1);
        object->closed_end = (object->base + header->p_vaddr + header->p_memsz) & ~(page - 1);
    }
    if (dynamic)
        read_dynamic(object, dynamic);
    return object->symbols && object->strings;
}

/* Whether the address lies in a segment with these rights. */
static bool has(const struct object *object, uintptr_t address, unsigned rights)
{
    for (size_t i = 0; i < object->header_count; i++) {
        const ElfW(Phdr) *header = &object->headers[i];
        if (header->p_type == PT_LOAD && (header->p_flags & rights) == rights &&
            address - object->base - header->p_vaddr < header->p_memsz)
            return true;
    }
    return false;
}

static uint64_t initial(const char *name)
{
    return UINT64_C(1) << (name[0] & 63);
}

/* Where a row of that name is entered, or would be. */
static uint16_t *place_of(const char *name)
{
    uint32_t hash = 2166136261u;
    for (const char *at = name; *at; at++)
        hash = (hash ^ (uint8_t)*at) * 16777619u;
    uint16_t *place = &state.places[hash % PLACES];
    while (*place && strcmp(name, state.rows[*place - 1].name) != 0)
        place = place == &state.places[PLACES - 1] ? state.places : place + 1;
    return place;
}

static bool find_row(const char *name, size_t *row)
{
    if (!(state.initials & initial(name)))
        return false;
    uint16_t found = *place_of(name);
    *row = found - 1u;
    return found && *state.rows[*row].original != NULL;
}

/* Both kinds of relocations begin alike. */
static bool read_word(const struct object *object, const ElfW(Rel) * relocation, struct word *word)
{
    word->type = (unsigned)ELF64_R_TYPE(relocation->r_info);
    if (word->type != CALLED && word->type != TAKEN && word->type != STORED)
        return false;
    const ElfW(Sym) *symbol = &object->symbols[ELF64_R_SYM(relocation->r_info)];
    word->at = (_Atomic uintptr_t *)(object->base + relocation->r_offset);
    return find_row(object->strings + symbol->st_name, &word->row) &&
           (uintptr_t)word->at % sizeof(uintptr_t) == 0 && has(object, (uintptr_t)word->at, PF_R | PF_W);
}

typedef void word_action(struct object *object, const struct word *word);

static void for_each_word(struct object *object, word_action *action)
{
    struct word word;
    for (size_t table = 0; table < sizeof object->tables / sizeof *object->tables; table++) {
        const char *at = object->tables[table].at;
        size_t stride = object->tables[table].stride;
        for (size_t i = 0; at && i < object->tables[table].bytes / stride; i++)
            if (read_word(object, (const void *)(at + i * stride), &word))
                action(object, &word);
    }
}

/* What the loader would put there. */
static uintptr_t usual(const struct word *word)
{
    return word->type == CALLED ? (uintptr_t)*state.rows[word->row].original : state.shown[word->row];
}

/* Bound at its first call: until then it leads back into the object's own code. */
static bool is_unbound(const struct object *object, const struct word *word, uintptr_t value)
{
    return word->type == CALLED && !object->symbolic && has(object, value, PF_X);
}

/* ---- exchanging ---- */

static void put(struct object *object, const struct word *word, uintptr_t value)
{
    uintptr_t address = (uintptr_t)word->at;
    bool closed = address >= object->closed_start && address < object->closed_end;
    if (closed && !object->open)
        object->open = mprotect((void *)object->closed_start, object->closed_end - object->closed_start,
                                PROT_READ | PROT_WRITE) == 0;
    if (closed && !object->open) {
        state.counts.closed++;
        return;
    }
    atomic_store_explicit(word->at, value, memory_order_release);
    state.counts.words++;
}

static void close_again(struct object *object)
{
    if (object->open)
        mprotect((void *)object->closed_start, object->closed_end - object->closed_start, PROT_READ);
}

/* Calls through it reach what ours would call, or will when it is bound. */
static bool is_original(const struct object *object, const struct word *word, uintptr_t value)
{
    return value == usual(word) || value == (uintptr_t)*state.rows[word->row].original ||
           is_unbound(object, word, value);
}

/* There is nothing to do about a word that is not filled in yet or is exchanged already. */
static bool is_settled(const struct word *word, uintptr_t value)
{
    return !value || value == (uintptr_t)state.rows[word->row].replacement;
}

/* A place in data may have been given another function since: that says nothing about the object. */
static void look_for_foreign(struct object *object, const struct word *word)
{
    uintptr_t value = atomic_load_explicit(word->at, memory_order_acquire);
    bool matters = word->type != STORED && !state.rows[word->row].is_known;
    if (!is_settled(word, value) && matters && !is_original(object, word, value))
        object->foreign = true;
}

static void redirect_word(struct object *object, const struct word *word)
{
    uintptr_t value = atomic_load_explicit(word->at, memory_order_acquire);
    state.counts.ours += value == (uintptr_t)state.rows[word->row].replacement;
    if (is_settled(word, value) || !is_original(object, word, value))
        return;
    state.unbound |= is_unbound(object, word, value);
    put(object, word, (uintptr_t)state.rows[word->row].replacement);
}

static void restore_word(struct object *object, const struct word *word)
{
    uintptr_t value = atomic_load_explicit(word->at, memory_order_acquire);
    if (value == (uintptr_t)state.rows[word->row].replacement)
        put(object, word, usual(word));
}

static void redirect_object(struct object *object)
{
    for_each_word(object, look_for_foreign);
    state.counts.foreign += object->foreign;
    if (object->foreign)
        return;
    uint32_t before = state.counts.words;
    for_each_word(object, redirect_word);
    state.counts.objects += state.counts.words != before;
}

/* One that has some of the functions, but not all as the C library has: an allocator, which has its memory from elsewhere
 * and does so for what is counted already. */
static bool is_allocator(const struct object *object)
{
    size_t has_some = 0, found = 0;
    for (size_t i = 0; i < state.count - 1; i++) { /* the last one is dlsym */
        uintptr_t original = (uintptr_t)*state.rows[i].original;
        found += original != 0;
        has_some += original && has(object, original, PF_X);
    }
    return has_some && has_some < found;
}

static bool is_left_alone(const struct object *object)
{
    if (object->base == getauxval(AT_BASE) || is_allocator(object)) /* the loader, an allocator */
        return true;
    for (size_t i = 0; i < state.own_count; i++)
        if (has(object, state.own[i], PF_R))
            return true;
    return false;
}

/* The loader's list does not change while this runs. */
static int visit(struct dl_phdr_info *info, size_t size, void *restoring)
{
    struct object object;
    (void)size;
    state.adds = info->dlpi_adds;
    if (state.subs != info->dlpi_subs || restoring)
        state.seen = 0;
    state.subs = info->dlpi_subs;
    if (state.at++ < state.seen || !read_object(&object, info) || is_left_alone(&object))
        return 0;
    if (restoring)
        for_each_word(&object, restore_word);
    else
        redirect_object(&object);
    close_again(&object);
    return 0;
}

/* A thread that was just binding a word may have written over what we put there: a second look finds it. */
static void redirect_all(void)
{
    for (int looks = 0; looks < 2; looks++) {
        state.unbound = false;
        state.at = 0;
        if (!state.seen)
            state.counts.foreign = state.counts.ours = 0;
        dl_iterate_phdr(visit, NULL);
        if (!state.unbound)
            break;
    }
    state.seen = state.at;
}

static int read_adds(struct dl_phdr_info *info, size_t size, void *adds)
{
    (void)size;
    *(unsigned long long *)adds = info->dlpi_adds;
    return 1;
}

/* ---- one at a time ---- */

static void forked(void)
{
    atomic_flag_clear(&busy);
}

static void enter(void)
{
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
        sched_yield();
}

static void leave(void)
{
    atomic_flag_clear_explicit(&busy, memory_order_release);
}

static void add_row(const struct redirection *row)
{
    if (state.count == ROWS_MAX)
        return;
    state.rows[state.count] = *row;
    state.shown[state.count] = (uintptr_t)*row->original;
    if (!row->is_known)
        *row->original = find_one(row, &state.shown[state.count]);
    state.initials |= initial(row->name);
    *place_of(row->name) = (uint16_t)++state.count;
}

void relocations_redirect(const struct redirection *rows, size_t count, const void *const *own,
                          size_t own_count)
{
    static atomic_bool registered;
    if (!atomic_exchange(&registered, true))
        pthread_atfork(NULL, NULL, forked);
    enter();
    memset(&state, 0, sizeof state);
    for (size_t i = 0; i < count; i++)
        add_row(&rows[i]);
    add_row(&dlsym_row);
    state.own[state.own_count++] = (uintptr_t)visit;
    for (size_t i = 0; i < own_count && state.own_count < OWN_MAX; i++)
        state.own[state.own_count++] = (uintptr_t)own[i];
    state.in_force = true;
    redirect_all();
    leave();
}

void relocations_renew(void)
{
    unsigned long long adds = 0;
    if (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
        return; /* somebody else sees to it */
    if (state.in_force)
        dl_iterate_phdr(read_adds, &adds);
    bool more = state.in_force && adds != state.adds;
    if (more && call_at_loads) {
        leave();
        call_at_loads();
        enter();
    }
    if (more && state.in_force)
        redirect_all();
    leave();
}

void relocations_call_at_loads(void (*loaded)(void))
{
    call_at_loads = loaded;
}

void relocations_restore(void)
{
    enter();
    if (state.in_force)
        dl_iterate_phdr(visit, &state);
    state.in_force = false;
    leave();
}

struct relocations_counts relocations_counts(void)
{
    return state.counts;
}

/* A function that is looked up by name is redirected like one that is called by it. */
static void *redirected(void *function, const char *name)
{
    size_t row;
    bool ours = function && state.in_force && find_row(name, &row) && function == *state.rows[row].original;
    return ours ? state.rows[row].replacement : function;
}

/* Who asks decides what RTLD_NEXT and RTLD_DEFAULT mean, and is known by the return address: there the last call must be
 * a jump. */
static void *relocations_dlsym(void *handle, const char *name)
{
    relocations_renew();
    if (handle == RTLD_NEXT || handle == RTLD_DEFAULT)
        return original_dlsym(handle, name);
    return redirected(original_dlsym(handle, name), name);
}
