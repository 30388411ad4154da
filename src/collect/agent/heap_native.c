#include "collect/agent/heap_native.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/agent/heap_area.h"
#include "collect/agent/own_library.h"

#define WAITS_MAX   100 /* for the recorder to have read new code: so often */
#define WAIT_NS     300000
#define WAITED_MOST 20 /* times that a process does so */

static uint64_t library_low, library_high;

static int find_library(struct dl_phdr_info *info, size_t size, void *here)
{
    (void)size;
    return own_library_find(info, (uint64_t)here, &library_low, &library_high);
}

void heap_native_init(void)
{
    dl_iterate_phdr(find_library, (void *)heap_native_init);
}

static bool is_unchanged(const struct heap_native *native)
{
    for (uint32_t i = native->depth; i-- > 0;)
        if (*(const uint64_t *)(uintptr_t)native->frames[i].place != native->frames[i].address)
            return false;
    return true;
}

/* The registers that a function keeps for its caller, here and now. */
static inline __attribute__((always_inline)) void read_registers(struct walk_native_registers *registers)
{
#if defined(__x86_64__)
    uint64_t *value = registers->value;
    __asm__ volatile("lea 0(%%rip), %%rax\n\t"
                     "mov %%rax, 128(%0)\n\t"
                     "mov %%rbx, 24(%0)\n\t"
                     "mov %%rbp, 48(%0)\n\t"
                     "mov %%rsp, 56(%0)\n\t"
                     "mov %%r12, 96(%0)\n\t"
                     "mov %%r13, 104(%0)\n\t"
                     "mov %%r14, 112(%0)\n\t"
                     "mov %%r15, 120(%0)"
                     :
                     : "r"(value)
                     : "rax", "memory");
    registers->known = 1u << 3 | 1u << 6 | 1u << 7 | 0xfu << 12 | 1u << 16;
#else
    (void)registers;
#endif
}

static void walk(struct heap_native *native, struct native_walker *walker,
                 const struct walk_native_registers *registers, struct walk_native_stack *stack)
{
    const struct timespec wait = {.tv_nsec = WAIT_NS};
    static uint32_t waited;
    native_stack_walk(walker, &native->stack, registers, stack);
    if (!stack->met_unmapped || walker->area->hopeless || waited >= WAITED_MOST)
        return;
    waited++;
    uint64_t table = __atomic_load_n(&walker->area->table_at, __ATOMIC_ACQUIRE);
    native_stack_ask(walker);
    for (int i = 0; i < WAITS_MAX && __atomic_load_n(&walker->area->table_at, __ATOMIC_ACQUIRE) == table; i++)
        syscall(SYS_nanosleep, &wait, NULL);
    native_stack_walk(walker, &native->stack, registers, stack);
}

/* Whether what lies on the stack tells that a later walk would find the same. */
static bool can_be_kept(const struct heap_native *native, const struct walk_native_stack *stack)
{
    if (stack->end != WALK_NATIVE_ROOT || stack->met_unmapped)
        return false;
    for (size_t i = 0; i < stack->count; i++)
        if (stack->frames[i].flags & (WALK_NATIVE_GUESSED | WALK_NATIVE_SIGNAL) ||
            stack->frames[i].stack_pointer < native->stack.low ||
            stack->frames[i].stack_pointer > native->stack.high)
            return false;
    return true;
}

static bool is_own(uint64_t address)
{
    return address >= library_low && address < library_high;
}

/* From the root inwards; frames that the last walk had have their nodes still. */
static uint32_t name_frames(struct heap_native *native, struct heap_tree *tree, uint32_t root,
                            const struct walk_native_stack *stack)
{
    uint32_t node = root, same = 0, count = stack->count ? (uint32_t)stack->count - 1 : 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct walk_native_frame *walked = &stack->frames[count - i];
        struct heap_native_frame *frame = &native->frames[i];
        uint64_t place = walked->stack_pointer - sizeof(uint64_t);
        bool is_known =
            i == same && i < native->depth && frame->place == place && frame->address == walked->address;
        same += is_known;
        if (!is_known && !is_own(walked->address))
            node =
                heap_tree_native(tree, node, walked->address - (walked->flags & WALK_NATIVE_RETURN ? 1 : 0));
        else if (is_known)
            node = frame->node;
        *frame = (struct heap_native_frame){place, walked->address, node};
    }
    native->depth = count;
    return node;
}

__attribute__((noinline)) uint32_t heap_native_node(struct heap_native *native, struct native_walker *walker,
                                                    struct heap_tree *tree, uint32_t root)
{
    uint64_t start = (uint64_t)__builtin_frame_address(0);
    if (native->is_sure && native->start == start && is_unchanged(native))
        return native->node;
    struct walk_native_registers registers = {0};
    struct walk_native_stack stack = {.frames = native->walked, .capacity = HEAP_NATIVE_DEPTH};
    read_registers(&registers);
    walk(native, walker, &registers, &stack);
    native->node = name_frames(native, tree, root, &stack);
    native->start = start;
    native->is_sure = can_be_kept(native, &stack);
    return native->node;
}
