#include "analyse/native_stacks.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/heap_move.h"
#include "analyse/labels.h"
#include "analyse/native_names.h"
#include "analyse/node_table.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/map.h"
#include "store/natives.h"
#include "store/recording.h"

#define INLINE_MAX 32

/* One function at an address: the address itself, or one that others were inlined in. */
struct native_frame {
    uint32_t code; /* of the function */
    uint32_t line;
    bool is_internal, is_root, is_wrapper, is_body;
};

/* The frames of one code: frames[first] to [first + count), outermost first. */
struct expansion {
    uint32_t first, count;
};

struct naming {
    struct recording *recording;
    struct natives natives;
    bool internals;
    struct expansion *expansions; /* by code; count 0 = not made yet */
    struct bytes frames;          /* struct native_frame */
    struct map functions;         /* hash of (name, file, module, flags) → code */
    uint32_t *of_node;            /* old node → new */
    struct node_table nodes;
    struct map wrappers; /* nodes that are Cython's wrappers */
    struct bytes text;   /* for names being made */
    bool failed;
};

static uint32_t intern(struct naming *naming, const char *text, size_t size)
{
    uint32_t id = strings_intern(&naming->recording->strings, text, size);
    naming->failed |= id == UINT32_MAX;
    return naming->failed ? 0 : id;
}

static bool is_same_function(const struct code *a, const struct code *b)
{
    return a->name == b->name && a->file == b->file && a->module == b->module && a->flags == b->flags;
}

/* One code for all addresses of a function. */
static uint32_t function_code(struct naming *naming, const struct code *function)
{
    const uint32_t words[] = {function->name, function->file, function->module, function->flags};
    uint64_t key = map_hash_bytes(words, sizeof words);
    uint32_t id;
    while ((id = map_get(&naming->functions, key)) != MAP_NONE &&
           !is_same_function(&naming->recording->codes[id], function))
        key++;
    if (id != MAP_NONE)
        return id;
    id = recording_add_code(naming->recording, function);
    naming->failed |= !id || !map_set(&naming->functions, key, id);
    return id;
}

static const char *module_path(const struct naming *naming, const struct code_address *address)
{
    return address ? recording_text(naming->recording, naming->recording->modules[address->module].path) : "";
}

static bool is_interpreter(const struct naming *naming, const struct code_address *address)
{
    return address && (naming->recording->modules[address->module].flags & MODULE_INTERPRETER ||
                       native_names_is_interpreter(module_path(naming, address)));
}

static bool is_library(const char *path)
{
    return labels_library_path(path) || strncmp(path, "/usr/", 5) == 0 || strncmp(path, "/lib", 4) == 0;
}

/* What there is to say without a name; the interned text of the recording may move while new ones come. Code without a
 * file ([anonymous], a JIT's) is one function: its addresses mean nothing in another run. */
static uint32_t offset_name(struct naming *naming, const struct code_address *address)
{
    const char *module = labels_path(module_path(naming, address), LABEL_BASE);
    bytes_reset(&naming->text);
    bytes_put_text(&naming->text, *module ? module : "[anonymous]");
    if (*module && *module != '[')
        bytes_putf(&naming->text, "+0x%" PRIx64, address ? address->offset : 0);
    naming->failed |= naming->text.failed;
    return naming->failed ? 0 : intern(naming, (const char *)naming->text.data, naming->text.size);
}

static uint32_t readable_name(struct naming *naming, const struct code_address *address, uint32_t symbol)
{
    bytes_reset(&naming->text);
    native_names_put(recording_text(naming->recording, symbol), module_path(naming, address), &naming->text);
    naming->failed |= naming->text.failed;
    return naming->failed ? 0 : intern(naming, (const char *)naming->text.data, naming->text.size);
}

static uint32_t module_name(struct naming *naming, const struct code_address *address)
{
    bytes_reset(&naming->text);
    bytes_put_text(&naming->text, labels_path(module_path(naming, address), LABEL_BASE));
    naming->failed |= naming->text.failed;
    return naming->failed ? 0 : intern(naming, (const char *)naming->text.data, naming->text.size);
}

/* One frame of the code at `address`; `symbol` is NULL when nothing is known of it. `flags` are those told of the
 * address when it was recorded. */
static struct native_frame make_frame(struct naming *naming, const struct code_address *address,
                                      const struct symbol *symbol, uint8_t flags)
{
    const char *raw = symbol ? recording_text(naming->recording, symbol->name) : "";
    struct native_frame frame = {
        .line = symbol ? symbol->line : 0,
        .is_internal =
            flags & CODE_INTERNAL || (is_interpreter(naming, address) && !native_names_is_builtin(raw)),
        .is_root = native_names_is_root(raw) || native_names_may_be_root(raw, module_path(naming, address)),
        .is_wrapper = native_names_is_cython_wrapper(raw),
        .is_body = native_names_is_cython_body(raw)};
    struct code function = {.kind = CODE_NATIVE,
                            .file = symbol ? symbol->file : 0,
                            .flags = frame.is_internal ? CODE_INTERNAL : 0};
    function.flags |= is_library(module_path(naming, address)) ? CODE_LIBRARY : 0;
    function.module = module_name(naming, address);
    function.name =
        symbol && symbol->name ? readable_name(naming, address, symbol->name) : offset_name(naming, address);
    frame.code = naming->failed ? 0 : function_code(naming, &function);
    return frame;
}

static void put_frame(struct naming *naming, struct native_frame frame)
{
    bytes_put(&naming->frames, &frame, sizeof frame);
    naming->failed |= naming->frames.failed;
}

/* The chain goes from the address outwards; frames are kept from the outermost inwards. */
static struct expansion expand(struct naming *naming, uint32_t code)
{
    const struct code_address *address = natives_address(&naming->natives, code);
    const struct symbol *chain[INLINE_MAX];
    uint8_t flags = naming->recording->codes[code].flags;
    struct expansion expansion = {.first = (uint32_t)(naming->frames.size / sizeof(struct native_frame))};
    const struct symbol *symbol = natives_symbol(&naming->natives, code);
    uint32_t count = 0;
    for (; symbol && count < INLINE_MAX; symbol = natives_symbol(&naming->natives, symbol->inlined_in))
        chain[count++] = symbol;
    if (count == 0)
        put_frame(naming, make_frame(naming, address, NULL, flags));
    expansion.count = count ? count : 1;
    while (count-- > 0)
        put_frame(naming, make_frame(naming, address, chain[count], flags));
    return expansion;
}

/* ---- nodes ---- */

static uint32_t find_node(struct naming *naming, struct node node)
{
    uint32_t id = node_table_find(&naming->nodes, naming->recording, &node);
    naming->failed |= !id;
    return id;
}

/* Whether nothing of the program is above; a made-up frame (garbage collection) is not. */
static bool is_top(const struct naming *naming, uint32_t node)
{
    const struct node *nodes = naming->recording->nodes;
    return node == 0 ||
           (nodes[node].parent == 0 && naming->recording->codes[nodes[node].code].kind == CODE_OTHER);
}

static uint32_t add_frame(struct naming *naming, uint32_t parent, const struct native_frame *frame)
{
    if (!naming->internals && (frame->is_internal || (frame->is_root && is_top(naming, parent))))
        return parent;
    const struct node *above = &naming->recording->nodes[parent];
    if (frame->is_body && above->code == frame->code && map_get(&naming->wrappers, parent) != MAP_NONE)
        parent = above->parent; /* the body stands for its wrapper */
    uint32_t node = find_node(naming, (struct node){parent, frame->code, frame->line});
    if (frame->is_wrapper)
        naming->failed |= !map_set(&naming->wrappers, node, 1);
    return node;
}

static bool is_nameless(const struct code *code)
{
    return code->kind == CODE_NATIVE && code->name == 0;
}

static uint32_t add_node(struct naming *naming, const struct node *old)
{
    uint32_t parent = naming->of_node[old->parent];
    const struct code *code = &naming->recording->codes[old->code];
    if (!is_nameless(code)) {
        bool hidden = code->flags & CODE_INTERNAL && !naming->internals;
        return hidden ? parent : find_node(naming, (struct node){parent, old->code, old->line});
    }
    struct expansion *expansion = &naming->expansions[old->code];
    if (expansion->count == 0)
        *expansion = expand(naming, old->code);
    for (uint32_t i = 0; i < expansion->count && !naming->failed; i++) {
        const struct native_frame *frames = (const struct native_frame *)(const void *)naming->frames.data;
        parent = add_frame(naming, parent, &frames[expansion->first + i]);
    }
    return parent;
}

/* In place of the old ones. */
static void replace_nodes(struct naming *naming)
{
    struct recording *recording = naming->recording;
    struct node *old_nodes = recording->nodes;
    uint32_t count = recording->nodes_count;
    recording->nodes = NULL;
    recording->nodes_count = recording->nodes_capacity = 0;
    naming->failed |= recording_init(recording, NULL) < 0;
    for (uint32_t i = 1; i < count && !naming->failed; i++)
        naming->of_node[i] = add_node(naming, &old_nodes[i]);
    free(old_nodes);
}

static void move_samples(const struct naming *naming)
{
    struct recording *recording = naming->recording;
    for (uint32_t i = 0; i < recording->samples_count; i++)
        recording->samples[i].node = naming->of_node[recording->samples[i].node];
}

static void move_calls(const struct naming *naming)
{
    struct recording *recording = naming->recording;
    for (uint32_t i = 0; i < recording->calls_count; i++)
        recording->calls[i].node = naming->of_node[recording->calls[i].node];
}

static void move_mpi(const struct naming *naming)
{
    struct recording *recording = naming->recording;
    for (uint32_t i = 0; i < recording->messages_count; i++)
        recording->messages[i].node = naming->of_node[recording->messages[i].node];
    for (uint32_t i = 0; i < recording->collectives_count; i++)
        recording->collectives[i].node = naming->of_node[recording->collectives[i].node];
    for (uint32_t i = 0; i < recording->mpi_totals_count; i++)
        recording->mpi_totals[i].node = naming->of_node[recording->mpi_totals[i].node];
}

static void move_memory(struct naming *naming)
{
    struct recording *recording = naming->recording;
    for (uint32_t i = 0; i < recording->allocations_count; i++)
        recording->allocations[i].node = naming->of_node[recording->allocations[i].node];
    naming->failed = heap_move_rows(recording->heap, recording->heap_count, naming->of_node, NULL, NULL) < 0;
}

static bool is_needed(const struct recording *recording)
{
    for (uint32_t i = 1; i < recording->codes_count; i++)
        if (is_nameless(&recording->codes[i]) || recording->codes[i].flags & CODE_INTERNAL)
            return true;
    return false;
}

static void naming_clear(struct naming *naming)
{
    natives_clear(&naming->natives);
    bytes_clear(&naming->frames);
    bytes_clear(&naming->text);
    map_clear(&naming->functions);
    node_table_clear(&naming->nodes);
    map_clear(&naming->wrappers);
    free(naming->expansions);
    free(naming->of_node);
}

int native_stacks_name(struct recording *recording, bool internals, struct err *err)
{
    struct naming naming = {.recording = recording, .internals = internals};
    if (!is_needed(recording))
        return 0;
    naming.of_node = calloc((size_t)recording->nodes_count + 1, sizeof *naming.of_node);
    naming.expansions = calloc((size_t)recording->codes_count + 1, sizeof *naming.expansions);
    naming.failed =
        !naming.of_node || !naming.expansions || natives_init(&naming.natives, recording, NULL) < 0;
    if (!naming.failed)
        replace_nodes(&naming);
    if (!naming.failed) {
        move_samples(&naming);
        move_calls(&naming);
        move_mpi(&naming);
        move_memory(&naming);
    }
    bool failed = naming.failed;
    naming_clear(&naming);
    if (failed)
        return err_set(err, "not enough memory to name the native frames of %u stacks",
                       recording->nodes_count);
    return recording_compact_calls(recording, err);
}

/* ---- a recording that grows ---- */

struct native_stacks {
    struct naming naming;
    uint32_t codes, nodes; /* for which there is room in the tables */
    uint32_t nodes_done;
};

struct native_stacks *native_stacks_new(struct recording *recording, bool internals)
{
    struct native_stacks *stacks = calloc(1, sizeof *stacks);
    if (stacks) {
        stacks->naming.recording = recording;
        stacks->naming.internals = internals;
        stacks->nodes_done = 1;
    }
    return stacks;
}

void native_stacks_free(struct native_stacks *stacks)
{
    if (stacks)
        naming_clear(&stacks->naming);
    free(stacks);
}

/* Room for `wanted` items, zeroed where it is new. */
static bool make_room(void **items, uint32_t *room, uint32_t wanted, size_t item_bytes)
{
    if (wanted <= *room)
        return true;
    uint32_t more = wanted + wanted / 2;
    char *grown = realloc(*items, more * item_bytes);
    if (!grown)
        return false;
    memset(grown + *room * item_bytes, 0, (more - *room) * item_bytes);
    *items = grown;
    *room = more;
    return true;
}

/* Behind the others, which go on to be what later ones hang from in the file. */
static void append_nodes(struct native_stacks *stacks)
{
    struct naming *naming = &stacks->naming;
    uint32_t count = naming->recording->nodes_count;
    for (uint32_t i = stacks->nodes_done; i < count && !naming->failed; i++) {
        struct node old = naming->recording->nodes[i]; /* the array moves when it grows */
        naming->of_node[i] = add_node(naming, &old);
    }
    stacks->nodes_done = naming->recording->nodes_count;
}

int native_stacks_extend(struct native_stacks *stacks, struct err *err)
{
    struct naming *naming = &stacks->naming;
    const struct recording *recording = naming->recording;
    natives_clear(&naming->natives);
    naming->failed = naming->failed ||
                     !make_room((void **)&naming->of_node, &stacks->nodes, recording->nodes_count,
                                sizeof *naming->of_node) ||
                     !make_room((void **)&naming->expansions, &stacks->codes, recording->codes_count,
                                sizeof *naming->expansions) ||
                     natives_init(&naming->natives, recording, NULL) < 0;
    if (!naming->failed)
        append_nodes(stacks);
    if (!naming->failed)
        move_samples(naming);
    return naming->failed ? err_set(err, "not enough memory to name the native frames of %u stacks",
                                    recording->nodes_count)
                          : 0;
}
