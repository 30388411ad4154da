#include "unwind/walk_native.h"

#include <string.h>

#include "unwind/call_site.h"

enum { REGISTER_RBX = 3, REGISTER_RBP = 6, REGISTER_RSP = 7, REGISTER_PC = 16 };
#define KEPT (1u << REGISTER_RBX | 1u << REGISTER_RBP | 1u << REGISTER_RSP | 1u << REGISTER_PC)

/* Leaf functions use this much below the stack pointer. */
#define RED_ZONE 128
/* Words looked at in search of a return address: for one guess, and for a whole walk. */
#define SEARCH_WORDS     256
#define SEARCH_WORDS_ALL 2048
/* Callers that must follow on a guess. */
#define STEPS_AHEAD 3
/* The ABI aligns the stack to 16 at a call: a frame pointer that was pushed is aligned too. */
#define FRAME_ALIGNMENT 16

struct walk {
    const struct modules *modules;
    const struct walk_native_memory *memory;
    struct walk_native_cache *cache;
    const struct walk_native_range *range; /* that of the last load */
    struct walk_native_registers now;
    const struct rows_rule *rule; /* of the frame in work; &unmapped when its code is not known */
    uint32_t flags;               /* of the frame in work */
    unsigned words_left;
    bool is_asleep; /* nothing but stack pointer and program counter was known of it */
    bool at_root;
    bool met_unmapped;
};

/* Of code without rows, and of addresses outside all modules. */
static const struct rows_rule unknown = {.cfa = ROWS_CFA_UNKNOWN};
static const struct rows_rule unmapped = {.cfa = ROWS_CFA_UNKNOWN};

static inline bool load_from(const struct walk_native_range *range, uint64_t address, uint64_t *value)
{
    if (range->high < sizeof *value || address < range->low || address > range->high - sizeof *value)
        return false;
    memcpy(value, range->bytes + (address - range->low), sizeof *value);
    return true;
}

static bool load_elsewhere(struct walk *walk, uint64_t address, uint64_t *value)
{
    const struct walk_native_memory *memory = walk->memory;
    for (size_t index = 0; index < memory->range_count; index++) {
        if (load_from(&memory->ranges[index], address, value)) {
            walk->range = &memory->ranges[index];
            return true;
        }
    }
    return memory->load && memory->load(memory->context, address, value);
}

static inline bool load(struct walk *walk, uint64_t address, uint64_t *value)
{
    return (walk->range && load_from(walk->range, address, value)) || load_elsewhere(walk, address, value);
}

/* The last stack pointer and all that is above it are on one known stretch of stack. */
static bool same_range(const struct walk *walk, uint64_t one, uint64_t other)
{
    const struct walk_native_range *range = walk->range;
    return range && one >= range->low && one < range->high && other >= range->low && other < range->high;
}

/* The rule for this address; NULL where no code is known. */
static const struct rows_rule *look_up(const struct walk *walk, uint64_t address)
{
    uint32_t module = modules_find(walk->modules, address);
    if (module == MODULES_NONE)
        return NULL;
    const struct modules_entry *entry = &walk->modules->entries[module];
    const struct rows *rows = modules_rows(walk->modules, entry);
    return rows ? rows_rule(rows, rows_find(rows, address - entry->bias)) : &unknown;
}

/* The same through the cache. A key is the address, the rule and the table's generation in one: a torn pair
 * or one of another table matches no address. */
static inline const struct rows_rule *find_rule(const struct walk *walk, uint64_t address)
{
    static const unsigned slot_bits = __builtin_ctz(WALK_NATIVE_CACHE_SLOTS);
    static const uint64_t spread = 0x9e3779b97f4a7c15u;
    if (!walk->cache)
        return look_up(walk, address);
    uint64_t slot = (address * spread) >> (64 - slot_bits), mark = walk->modules->generation * spread;
    uint64_t value = __atomic_load_n(&walk->cache->slots[slot].value, __ATOMIC_RELAXED);
    uint64_t key = __atomic_load_n(&walk->cache->slots[slot].key, __ATOMIC_RELAXED);
    if (((key - mark) ^ value) == address && value)
        return (const struct rows_rule *)(uintptr_t)value;
    const struct rows_rule *rule = look_up(walk, address);
    if (rule) {
        value = (uint64_t)(uintptr_t)rule;
        __atomic_store_n(&walk->cache->slots[slot].value, value, __ATOMIC_RELAXED);
        __atomic_store_n(&walk->cache->slots[slot].key, (address ^ value) + mark, __ATOMIC_RELAXED);
    }
    return rule;
}

/* The rule of an interrupted frame: its address is that of the next instruction itself. */
static const struct rows_rule *first_rule(const struct walk *walk)
{
    const struct rows_rule *rule = find_rule(walk, walk->now.value[REGISTER_PC]);
    return rule ? rule : &unmapped;
}

static inline bool knows(const struct walk *walk, unsigned number)
{
    return walk->now.known >> number & 1;
}

static inline bool find_cfa(struct walk *walk, uint64_t *cfa)
{
    const struct rows_rule *rule = walk->rule;
    if (!knows(walk, rule->cfa_register))
        return false;
    uint64_t address = walk->now.value[rule->cfa_register] + (uint64_t)(int64_t)rule->cfa_offset;
    uint64_t stack_pointer = walk->now.value[REGISTER_RSP];
    *cfa = address;
    if (rule->cfa == ROWS_CFA_PLT && (walk->now.value[REGISTER_PC] & 15) >= (unsigned)rule->cfa_addend)
        *cfa += 8;
    if (rule->cfa == ROWS_CFA_LOADED) {
        if (address < stack_pointer - RED_ZONE || !load(walk, address, cfa))
            return false;
        *cfa += (uint64_t)(int64_t)rule->cfa_addend;
    }
    /* Callers lie above, unless the code changed to another stack. */
    return *cfa > stack_pointer || !same_range(walk, *cfa, stack_pointer);
}

/* Descriptions are late in epilogues: a slot that the stack pointer has passed was popped already, and a frame
 * register that no longer points into the frame is the caller's. But where the frame is counted from the frame
 * register, that register is not popped yet, wherever the stack pointer is. */
static inline bool is_popped(const struct walk *walk, unsigned number, const struct rows_saved *saved,
                             uint64_t slot, uint64_t cfa)
{
    const struct rows_rule *rule = walk->rule;
    uint64_t stack_pointer = walk->now.value[REGISTER_RSP];
    if (saved->place == ROWS_AT_FRAME)
        return slot < stack_pointer || slot >= cfa;
    bool counted_from = rule->cfa == ROWS_CFA_REGISTER && rule->cfa_register == number;
    return slot < (counted_from ? stack_pointer - RED_ZONE : stack_pointer);
}

static inline uint64_t base_of(const struct walk *walk, const struct rows_saved *saved, uint64_t cfa)
{
    if (saved->place == ROWS_AT_CFA)
        return cfa;
    return walk->now.value[saved->place == ROWS_AT_STACK ? REGISTER_RSP : REGISTER_RBP];
}

/* What of the caller's registers is followed. */
struct caller {
    uint64_t frame;
    uint64_t base;
    uint32_t known;
};

static inline struct caller caller_of(const struct walk *walk)
{
    return (struct caller){.frame = walk->now.value[REGISTER_RBP],
                           .base = walk->now.value[REGISTER_RBX],
                           .known = walk->now.known & KEPT};
}

/* The caller's value of a register. */
static inline void recover(struct walk *walk, struct caller *caller, unsigned number, uint64_t *value,
                           const struct rows_saved *saved, uint64_t cfa)
{
    if (saved->place == ROWS_SAME)
        return;
    uint64_t slot = base_of(walk, saved, cfa) + (uint64_t)(int64_t)saved->offset;
    bool on_stack = saved->place != ROWS_LOST && saved->place != ROWS_IN;
    if (on_stack && is_popped(walk, number, saved, slot, cfa))
        return;
    if (on_stack && load(walk, slot, value))
        caller->known |= 1u << number;
    else
        caller->known &= ~(1u << number);
}

static inline bool find_return(struct walk *walk, uint64_t cfa, uint64_t *address)
{
    const struct rows_saved *saved = &walk->rule->saved[ROWS_RETURN];
    if (saved->place == ROWS_IN) {
        *address = walk->now.value[(uint8_t)saved->offset % WALK_NATIVE_REGISTERS];
        return knows(walk, (uint8_t)saved->offset % WALK_NATIVE_REGISTERS);
    }
    return load(walk, base_of(walk, saved, cfa) + (uint64_t)(int64_t)saved->offset, address);
}

/* Whether this may be where a call returns to; leaves its rule in the walk. */
static inline bool is_return_address(struct walk *walk, uint64_t address)
{
    const struct rows_rule *rule = find_rule(walk, address - 1);
    if (rule)
        walk->rule = rule;
    return rule;
}

/* The caller becomes the frame in work. Its other registers are not known. */
static inline void enter_return(struct walk *walk, const struct caller *caller, uint64_t address,
                                uint64_t stack_pointer, uint32_t flags)
{
    walk->now.value[REGISTER_RBP] = caller->frame;
    walk->now.value[REGISTER_RBX] = caller->base;
    walk->now.value[REGISTER_PC] = address;
    walk->now.value[REGISTER_RSP] = stack_pointer;
    walk->now.known = caller->known;
    walk->flags = (walk->flags & WALK_NATIVE_GUESSED) | WALK_NATIVE_RETURN | flags;
}

/* A post-link optimizer that inlines a function keeps the caller's description: the frame pointer that the
 * inlined code pushed is not in it. */
static bool guess_pushed_frame(struct walk *walk, uint64_t cfa)
{
    struct caller caller = caller_of(walk);
    uint64_t address, frame;
    if (!load(walk, cfa, &address) || !load(walk, cfa - 8, &frame) || !is_return_address(walk, address))
        return false;
    if (!same_range(walk, frame, cfa))
        return false;
    caller.frame = frame;
    caller.known |= 1u << REGISTER_RBP;
    enter_return(walk, &caller, address, cfa + 8, WALK_NATIVE_GUESSED);
    return true;
}

/* Code made at run time calls its like: there the chain itself is trusted. */
static bool guess_frame_chain(struct walk *walk)
{
    struct caller caller = caller_of(walk);
    uint64_t frame = walk->now.value[REGISTER_RBP], address, outer;
    if (!knows(walk, REGISTER_RBP) || frame < walk->now.value[REGISTER_RSP] || frame % FRAME_ALIGNMENT)
        return false;
    if (!load(walk, frame, &outer) || !load(walk, frame + 8, &address) || (outer && outer <= frame))
        return false;
    bool from_made_code = walk->rule == &unmapped;
    if (!is_return_address(walk, address)) {
        if (!from_made_code || same_range(walk, address, frame) || address < 4096)
            return false;
        walk->rule = &unmapped;
    }
    caller.frame = outer;
    enter_return(walk, &caller, address, frame + 16, WALK_NATIVE_GUESSED);
    return true;
}

static bool is_from_stack(const struct rows_rule *rule)
{
    return rule->cfa == ROWS_CFA_REGISTER && rule->cfa_register == REGISTER_RSP;
}

/* Code that cannot be read is believed. */
static bool follows_call(struct walk *walk, uint64_t address)
{
    uint64_t before;
    return !load(walk, address - sizeof before, &before) || call_site_ends(before);
}

/* The rule of the call that may return to this address; NULL when nothing with a description does. Stacks hold
 * addresses of functions and of labels, too: there a frame begins, or no call stands before. And at a call the stack is
 * aligned. */
static const struct rows_rule *call_before(struct walk *walk, uint64_t address)
{
    const struct rows_rule *call = find_rule(walk, address - 1), *next = find_rule(walk, address);
    bool aligned = call && !(is_from_stack(call) && call->cfa_offset % FRAME_ALIGNMENT);
    bool begins = next && is_from_stack(next) && next->cfa_offset == sizeof address;
    return aligned && !begins && call->cfa != ROWS_CFA_UNKNOWN && follows_call(walk, address) ? call : NULL;
}

/* How far above the stack pointer the caller's is, while this code waits for a call; 0 when it is not known. */
static uint64_t waiting_depth(const struct rows_rule *rule)
{
    return is_from_stack(rule) ? (uint64_t)(int64_t)rule->cfa_offset : rule->depth;
}

/* Whether callers follow on a frame that waits with this stack pointer, as far as can be told. Frames of calls long over
 * lie on a stack, too, but those above them are mostly written over. */
static bool leads_on(struct walk *walk, const struct rows_rule *rule, uint64_t stack_pointer)
{
    for (unsigned step = 0; step < STEPS_AHEAD && rule->cfa != ROWS_CFA_END && waiting_depth(rule); step++) {
        uint64_t address;
        stack_pointer += waiting_depth(rule);
        if (!load(walk, stack_pointer - sizeof address, &address))
            return false;
        rule = find_rule(walk, address - 1);
        if (rule && rule->cfa == ROWS_CFA_UNKNOWN)
            return follows_call(walk, address);
        if (!call_before(walk, address))
            return false;
    }
    return true;
}

/* ---- a frame register that is not known ---- */

static bool needs_frame(const struct rows_rule *rule)
{
    return (rule->cfa == ROWS_CFA_REGISTER || rule->cfa == ROWS_CFA_LOADED) &&
           rule->cfa_register == REGISTER_RBP;
}

/* Whether a frame register may point here: at its caller's value and a return address. */
static bool may_be_frame(struct walk *walk, uint64_t place)
{
    uint64_t outer, address;
    if (place % FRAME_ALIGNMENT || !load(walk, place, &outer) || !load(walk, place + 8, &address))
        return false;
    const struct rows_rule *rule = call_before(walk, address);
    bool chained = outer > place && outer % FRAME_ALIGNMENT == 0 && same_range(walk, outer, place);
    return rule && (chained || !needs_frame(rule));
}

/* Where the stack pointer is at a fixed distance the frame register follows. */
static bool frame_by_depth(struct walk *walk, const struct rows_rule *rule, uint64_t stack_pointer,
                           uint64_t *frame)
{
    *frame = stack_pointer + rule->depth - (uint64_t)(int64_t)rule->cfa_offset;
    return rule->cfa == ROWS_CFA_REGISTER && rule->depth && may_be_frame(walk, *frame);
}

/* Else it is looked for. */
static bool guess_frame_register(struct walk *walk)
{
    uint64_t stack_pointer = walk->now.value[REGISTER_RSP], frame;
    bool found = frame_by_depth(walk, walk->rule, stack_pointer, &frame);
    if (!found)
        frame = (stack_pointer + FRAME_ALIGNMENT - 1) & ~(uint64_t)(FRAME_ALIGNMENT - 1);
    for (; !found && walk->words_left; walk->words_left--) {
        found = may_be_frame(walk, frame);
        frame += found ? 0 : FRAME_ALIGNMENT;
    }
    walk->now.value[REGISTER_RBP] = frame;
    walk->now.known |= (uint32_t)found << REGISTER_RBP;
    walk->flags |= WALK_NATIVE_GUESSED;
    return found;
}

/* ---- guesses ---- */

/* The frame register of what a call at this place returns to. Code without a description has it still, or has saved it
 * on the stack and may have used it for anything. */
static bool caller_frame(struct walk *walk, const struct rows_rule *rule, uint64_t place, uint64_t *frame)
{
    *frame = walk->now.value[REGISTER_RBP];
    if (knows(walk, REGISTER_RBP) && *frame > place && may_be_frame(walk, *frame))
        return true;
    if (frame_by_depth(walk, rule, place + 8, frame))
        return true;
    for (uint64_t saved = place - 8; saved >= walk->now.value[REGISTER_RSP] && saved < place; saved -= 8)
        if (load(walk, saved, frame) && *frame > place && may_be_frame(walk, *frame))
            return true;
    return false;
}

/* The word at this place as a return address into code with a description. */
static bool guess_return_at(struct walk *walk, uint64_t place)
{
    struct caller caller = caller_of(walk);
    uint64_t address;
    const struct rows_rule *rule = load(walk, place, &address) ? call_before(walk, address) : NULL;
    if (!rule)
        return false;
    if (needs_frame(rule) ? !caller_frame(walk, rule, place, &caller.frame)
                          : !leads_on(walk, rule, place + 8))
        return false;
    caller.known |= (uint32_t)needs_frame(rule) << REGISTER_RBP;
    walk->rule = rule;
    enter_return(walk, &caller, address, place + 8, WALK_NATIVE_GUESSED);
    return true;
}

/* Code without a description that was interrupted before it used the stack. */
static bool guess_leaf(struct walk *walk)
{
    return !(walk->flags & WALK_NATIVE_RETURN) && guess_return_at(walk, walk->now.value[REGISTER_RSP]);
}

/* The first word on the stack that is a return address into code with a description. Of a sleeping thread, the first is
 * often that of a call long over. */
static bool guess_by_search(struct walk *walk)
{
    uint64_t at = (walk->now.value[REGISTER_RSP] + 7) & ~(uint64_t)7, ignored;
    for (unsigned word = 0; word < SEARCH_WORDS && walk->words_left && !walk->is_asleep; word++, at += 8) {
        walk->words_left--;
        if (guess_return_at(walk, at)) {
            if (!needs_frame(walk->rule))
                walk->now.known &= ~(1u << REGISTER_RBP);
            return true;
        }
        if (!load(walk, at, &ignored))
            return false;
    }
    return false;
}

static bool guess(struct walk *walk)
{
    return guess_leaf(walk) || guess_frame_chain(walk) || guess_by_search(walk);
}

/* Whether the code of the frame in work comes from a post-link optimizer. */
static bool is_reworked(const struct walk *walk)
{
    uint64_t address = walk->now.value[REGISTER_PC] - (walk->flags & WALK_NATIVE_RETURN ? 1 : 0);
    uint32_t module = modules_find(walk->modules, address);
    if (module == MODULES_NONE)
        return false;
    const struct rows *rows = modules_rows(walk->modules, &walk->modules->entries[module]);
    return rows && rows->is_reworked;
}

/* A return address outside all modules: of a library that is not in the table yet, or of code made since. */
static bool may_be_new_code(const struct walk *walk, uint64_t address)
{
    return address >= 4096 && address < (uint64_t)1 << 56 &&
           !same_range(walk, address, walk->now.value[REGISTER_RSP]);
}

/* False: no way on. */
static bool step_by_rule(struct walk *walk)
{
    const struct rows_rule *rule = walk->rule;
    uint64_t cfa, address;
    if (needs_frame(rule) && !knows(walk, REGISTER_RBP) && !guess_frame_register(walk))
        return false;
    struct caller caller = caller_of(walk);
    if (!find_cfa(walk, &cfa))
        return guess(walk);
    if (!find_return(walk, cfa, &address))
        return guess(walk);
    recover(walk, &caller, REGISTER_RBP, &caller.frame, &rule->saved[ROWS_FRAME], cfa);
    recover(walk, &caller, REGISTER_RBX, &caller.base, &rule->saved[ROWS_BASE], cfa);
    if (!is_return_address(walk, address)) {
        bool reworked = is_reworked(walk);
        walk->at_root = !address; /* coroutines and hand-made stacks begin with an empty return address */
        if (!address || (reworked && guess_pushed_frame(walk, cfa)))
            return address;
        bool new_code = may_be_new_code(walk, address);
        walk->met_unmapped |= new_code;
        if (reworked || !new_code)
            return guess(walk);
        walk->rule = &unmapped;
    }
    /* The frame that catches: its frame pointer is copied before its return address, when is not to be seen. */
    enter_return(walk, &caller, address, cfa, rule->saved[ROWS_RETURN].may_throw ? WALK_NATIVE_GUESSED : 0);
    return true;
}

#if defined(__x86_64__)
/* greg_t of ucontext in the order of the DWARF numbers. */
static const uint8_t context_order[WALK_NATIVE_REGISTERS] = {
    REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
    REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

/* The kernel's frame: the stack pointer is at the context that it saved. */
static bool step_over_signal(struct walk *walk)
{
    struct walk_native_registers caller = {.known = (1u << WALK_NATIVE_REGISTERS) - 1};
    uint64_t saved = walk->now.value[REGISTER_RSP] + offsetof(ucontext_t, uc_mcontext.gregs);
    for (unsigned number = 0; number < WALK_NATIVE_REGISTERS; number++)
        if (!load(walk, saved + context_order[number] * sizeof(uint64_t), &caller.value[number]))
            return false;
    walk->now = caller;
    walk->flags &= WALK_NATIVE_GUESSED;
    walk->rule = first_rule(walk);
    return true;
}

void walk_native_from_context(struct walk_native_registers *registers, const ucontext_t *context)
{
    for (unsigned number = 0; number < WALK_NATIVE_REGISTERS; number++)
        registers->value[number] = (uint64_t)context->uc_mcontext.gregs[context_order[number]];
    registers->known = (1u << WALK_NATIVE_REGISTERS) - 1;
}

void walk_native_from_ptrace(struct walk_native_registers *registers, const struct user_regs_struct *user)
{
    *registers = (struct walk_native_registers){.value = {user->rax, user->rdx, user->rcx, user->rbx,
                                                          user->rsi, user->rdi, user->rbp, user->rsp,
                                                          user->r8, user->r9, user->r10, user->r11, user->r12,
                                                          user->r13, user->r14, user->r15, user->rip},
                                                .known = (1u << WALK_NATIVE_REGISTERS) - 1};
}
#else
static bool step_over_signal(struct walk *walk)
{
    (void)walk;
    return false;
}

void walk_native_from_context(struct walk_native_registers *registers, const ucontext_t *context)
{
    (void)context;
    *registers = (struct walk_native_registers){0};
}

void walk_native_from_ptrace(struct walk_native_registers *registers, const struct user_regs_struct *user)
{
    (void)user;
    *registers = (struct walk_native_registers){0};
}
#endif

/* On to the caller; false when the walk is over. */
static bool step(struct walk *walk)
{
    switch (walk->rule->cfa) {
    case ROWS_CFA_END:
        walk->at_root = true;
        return false;
    case ROWS_CFA_SIGNAL:
        return step_over_signal(walk);
    case ROWS_CFA_UNKNOWN:
        /* The ABI asks start-up code to clear the frame register: with no description it is the root. But code that
         * is not in the table may have any value there. */
        walk->at_root = walk->rule != &unmapped && walk->flags & WALK_NATIVE_RETURN &&
                        knows(walk, REGISTER_RBP) && !walk->now.value[REGISTER_RBP];
        return !walk->at_root && guess(walk);
    }
    return step_by_rule(walk);
}

static void put_frame(struct walk_native_stack *stack, const struct walk *walk)
{
    uint32_t signal = walk->rule->cfa == ROWS_CFA_SIGNAL ? WALK_NATIVE_SIGNAL : 0;
    stack->frames[stack->count++] = (struct walk_native_frame){.address = walk->now.value[REGISTER_PC],
                                                               .stack_pointer = walk->now.value[REGISTER_RSP],
                                                               .flags = walk->flags | signal};
}

void walk_native(struct walk_native_stack *stack, const struct walk_native_registers *registers,
                 const struct modules *modules, const struct walk_native_memory *memory,
                 struct walk_native_cache *cache)
{
    struct walk walk = {.modules = modules, .memory = memory, .cache = cache, .now = *registers};
    walk.words_left = SEARCH_WORDS_ALL;
    walk.is_asleep = !knows(&walk, REGISTER_RBP);
    stack->count = 0;
    stack->end = WALK_NATIVE_STUCK;
    stack->met_unmapped = false;
    if (!knows(&walk, REGISTER_PC) || !knows(&walk, REGISTER_RSP))
        return;
    walk.range = memory->range_count ? &memory->ranges[0] : NULL;
    walk.rule = first_rule(&walk);
    do {
        if (stack->count == stack->capacity) {
            stack->end = WALK_NATIVE_FULL;
            return;
        }
        put_frame(stack, &walk);
        walk.met_unmapped |= walk.rule == &unmapped;
    } while (step(&walk));
    stack->end = walk.at_root ? WALK_NATIVE_ROOT : WALK_NATIVE_STUCK;
    stack->met_unmapped = walk.met_unmapped;
    if (!walk.at_root) /* what is missing may be described in a table to come */
        stack->frames[stack->count - 1].flags |= WALK_NATIVE_GUESSED;
}
