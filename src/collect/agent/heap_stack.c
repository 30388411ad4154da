#include "collect/agent/heap_stack.h"

#include "collect/agent/code_rows.h"
#include "collect/agent/heap_area.h"
#include "collect/agent/stack_sample.h"

#define LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* f_trace_lines as a call sets it, and marked: the interpreter only asks whether it is 0. */
#define UNMARKED 1u
#define MARKED   3u
#define BROKEN   UINT32_MAX
/* The innermost frames, whose calls are short: to compare them costs less than to mark them again and again. */
#define FLEETING 2u

/* How far before f_lasti it lies. */
static uint32_t mark_distance(const struct layout *layout)
{
    return layout_minor(layout) == 9 ? 16 : 12;
}

void heap_stack_reader_init(struct heap_stack_reader *reader, const struct stack_reader *interpreter,
                            struct heap_tree *tree)
{
    const struct layout *layout = &interpreter->layout;
    bool objects = layout->chain == LAYOUT_FRAME_OBJECTS;
    *reader = (struct heap_stack_reader){
        .interpreter = interpreter,
        .tree = tree,
        .thread_frame = layout->thread_frame,
        .cframe_frame = layout->cframe_frame,
        .previous = layout->frame_previous,
        .instruction = layout->frame_instruction,
        .code = layout->frame_code,
        .owner = objects ? 0 : layout->frame_owner,
        .code_mask = layout_minor(layout) >= 14 ? ~(uint64_t)7 : UINT64_MAX,
        .code_instructions = objects ? 0 : layout->code_instructions,
        .scale = layout_minor(layout) == 9 ? 1 : 2,
        .cframes = layout->chain == LAYOUT_CFRAMES,
        .entry = layout->frame_entry == LAYOUT_ABSENT ? 0 : layout->frame_entry,
        .always_from_c = objects,
        .mark = objects ? layout->frame_instruction - mark_distance(layout) : 0,
        .generator = objects ? layout->frame_instruction - 8 : 0,
        .first_foreign_owner = layout_minor(layout) >= 12 ? LAYOUT_OWNED_BY_C : UINT8_MAX,
    };
}

static inline uint64_t word_at(uint64_t address)
{
    return *(const uint64_t *)(uintptr_t)address;
}

/* Of an int no more is loaded: what has just been stored can be had at once only as it was stored. */
static inline uint32_t int_at(uint64_t address)
{
    return *(const uint32_t *)(uintptr_t)address;
}

static inline uint64_t instruction_of(const struct heap_stack_reader *reader, uint64_t frame)
{
    return reader->mark ? int_at(frame + reader->instruction) : word_at(frame + reader->instruction);
}

static inline uint64_t innermost(const struct heap_stack_reader *reader, uint64_t state)
{
    uint64_t frame = word_at(state + reader->thread_frame);
    return reader->cframes && frame ? word_at(frame + reader->cframe_frame) : frame;
}

static inline uint16_t *place_of(struct heap_stack *stack, uint64_t frame)
{
    return &stack->places[(frame >> 4 ^ frame >> 14) % HEAP_STACK_PLACES];
}

static int32_t offset_of(const struct heap_stack_reader *reader, const struct heap_stack_frame *frame)
{
    if (reader->code_instructions)
        return (int32_t)(frame->instruction - frame->code - reader->code_instructions);
    int32_t offset = (int32_t)frame->instruction * reader->scale;
    return offset < 0 ? -2 : offset;
}

static inline uint8_t byte_at(uint64_t address)
{
    return *(const uint8_t *)(uintptr_t)address;
}

static bool is_called_from_c(const struct heap_stack *stack, const struct heap_stack_reader *reader,
                             uint32_t place)
{
    if (reader->entry)
        return byte_at(stack->frames[place].frame + reader->entry);
    return reader->always_from_c || (place && stack->frames[place - 1].is_foreign);
}

/* What is called by the frame below it, which is done already. */
static void name_frame(struct heap_stack *stack, const struct heap_stack_reader *reader, uint32_t place,
                       uint32_t root)
{
    struct heap_stack_frame *frame = &stack->frames[place];
    uint32_t parent = place ? stack->frames[place - 1].node : root;
    uint64_t code = word_at(frame->frame + reader->code) & reader->code_mask;
    frame->is_foreign = reader->owner && byte_at(frame->frame + reader->owner) >= reader->first_foreign_owner;
    frame->code = code;
    frame->node = parent;
    *place_of(stack, frame->frame) = (uint16_t)place;
    if (frame->is_foreign)
        return;
    frame->row = code_rows_find(&reader->tree->area->codes, &reader->interpreter->process, code);
    frame->node = heap_tree_python(reader->tree, parent, frame->row, offset_of(reader, frame),
                                   is_called_from_c(stack, reader, place));
}

/* ---- the last walk ---- */

/* The outermost of the frames up to `top` that is not where it was; `top` + 1 when all are. BROKEN when they are not one
 * another's callers any more. */
static inline uint32_t find_change(const struct heap_stack *stack, const struct heap_stack_reader *reader,
                                   uint32_t top)
{
    uint32_t changed = top + 1;
    for (uint32_t i = top;; i--) {
        const struct heap_stack_frame *frame = &stack->frames[i];
        if (word_at(frame->frame + reader->instruction) != frame->instruction)
            changed = i;
        uint64_t caller = i ? frame[-1].frame : 0;
        if (word_at(frame->frame + reader->previous) != caller)
            return BROKEN;
        if (!i)
            return changed;
    }
}

static inline uint8_t *mark_of(const struct heap_stack_reader *reader, uint64_t frame)
{
    return (uint8_t *)(uintptr_t)(frame + reader->mark);
}

/* Whether it is the call that was there at the last look. */
static inline bool is_marked(const struct heap_stack_reader *reader, uint64_t frame)
{
    return !reader->is_shared && *mark_of(reader, frame) == MARKED && !word_at(frame + reader->generator);
}

/* The frames from `place` on inwards have been looked at. */
static inline void mark_from(const struct heap_stack *stack, const struct heap_stack_reader *reader,
                             uint32_t place)
{
    for (uint32_t i = place, depth = reader->is_shared ? 0 : stack->depth; i + FLEETING < depth; i++) {
        uint8_t *mark = mark_of(reader, stack->frames[i].frame);
        if (*mark == UNMARKED)
            *mark = MARKED;
    }
}

/* An offset alone does not tell a function from another whose frame lay at the same place. */
static inline bool has_moved(const struct heap_stack_reader *reader, const struct heap_stack_frame *frame)
{
    return ((int_at(frame->frame + reader->instruction) ^ frame->instruction) |
            (word_at(frame->frame + reader->code) ^ frame->code)) != 0;
}

/* The same where frames are marked. `known`: so many of the frames, from the root on, are known by that. */
static inline uint32_t find_marked_change(const struct heap_stack *stack,
                                          const struct heap_stack_reader *reader, uint32_t top,
                                          uint32_t *known)
{
    uint32_t changed = top + 1;
    for (uint32_t i = top;; i--) {
        const struct heap_stack_frame *frame = &stack->frames[i];
        changed = has_moved(reader, frame) ? i : changed;
        *known = i + 1;
        if (top - i >= FLEETING && is_marked(reader, frame->frame))
            return changed;
        uint64_t caller = i ? frame[-1].frame : 0;
        *known = i;
        if (word_at(frame->frame + reader->previous) != caller)
            return BROKEN;
        if (!i)
            return changed;
    }
}

/* Follows the frames until one that was there before, and whose callers were. Gives how many frames of the list stay; those
 * that are `known` are marked, if any are. */
static uint32_t follow(struct heap_stack *stack, const struct heap_stack_reader *reader, uint64_t frame,
                       uint32_t *walked, uint32_t *known)
{
    bool hopeless = false;
    for (*walked = 0; frame && *walked < HEAP_STACK_DEPTH; frame = word_at(frame + reader->previous)) {
        uint32_t place = *place_of(stack, frame);
        if (!hopeless && place < stack->depth && stack->frames[place].frame == frame) {
            uint32_t changed = reader->mark ? find_marked_change(stack, reader, place, known)
                                            : find_change(stack, reader, place);
            hopeless = changed == BROKEN;
            for (uint32_t i = changed; i <= place && !hopeless; i++)
                stack->frames[i].instruction = instruction_of(reader, stack->frames[i].frame);
            if (!hopeless) {
                stack->depth = place + 1;
                return changed;
            }
        }
        stack->walked[(*walked)++] =
            (struct heap_stack_frame){.frame = frame, .instruction = instruction_of(reader, frame)};
    }
    if (frame)
        *walked = HEAP_STACK_SHOWN;
    return *known = stack->depth = 0;
}

static __attribute__((noinline)) uint32_t
walk(struct heap_stack *stack, const struct heap_stack_reader *reader, uint64_t frame, uint32_t root)
{
    uint32_t walked, known = 0, same = follow(stack, reader, frame, &walked, &known);
    if (stack->depth + walked > HEAP_STACK_DEPTH) {
        walked = walked < HEAP_STACK_SHOWN ? walked : HEAP_STACK_SHOWN;
        stack->depth = same = known = 0;
    }
    while (walked)
        stack->frames[stack->depth++] = stack->walked[--walked];
    for (uint32_t place = same; place < stack->depth; place++)
        name_frame(stack, reader, place, root);
    if (reader->mark)
        mark_from(stack, reader, known);
    return stack->frames[stack->depth - 1].node;
}

/* The stack is that of the last walk, given that its innermost frame is: as find_marked_change, but over at the first
 * difference. */
static inline bool is_last_marked(const struct heap_stack *stack, const struct heap_stack_reader *reader,
                                  uint32_t depth)
{
    uint32_t place = depth - 1;
    for (const struct heap_stack_frame *frame = &stack->frames[place];; frame--, place--) {
        if (UNLIKELY(has_moved(reader, frame)))
            return false;
        if (place + FLEETING < depth && LIKELY(is_marked(reader, frame->frame))) {
            mark_from(stack, reader, place + 1);
            return true;
        }
        if (UNLIKELY(word_at(frame->frame + reader->previous) != (place ? frame[-1].frame : 0)))
            return false;
        if (!place)
            break;
    }
    mark_from(stack, reader, 0);
    return true;
}

static inline bool is_last(const struct heap_stack *stack, const struct heap_stack_reader *reader,
                           uint32_t depth)
{
    return reader->mark ? is_last_marked(stack, reader, depth)
                        : find_change(stack, reader, depth - 1) == depth;
}

uint32_t heap_stack_node(struct heap_stack *stack, const struct heap_stack_reader *reader, uint32_t root)
{
    uint64_t state = reader->interpreter ? stack_sample_own_state(reader->interpreter) : 0;
    uint64_t frame = state ? innermost(reader, state) : 0;
    if (!frame)
        return root;
    uint32_t depth = stack->depth;
    if (LIKELY(depth && stack->frames[depth - 1].frame == frame) && LIKELY(is_last(stack, reader, depth)))
        return stack->frames[depth - 1].node;
    return walk(stack, reader, frame, root);
}
