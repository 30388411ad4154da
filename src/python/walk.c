#include "python/walk.h"

/* The most that is believed. */
enum { MOST_FRAMES = 1 << 17, MOST_CHUNKS = 1 << 14, MOST_UNLINKED = 64, MOST_INSTRUCTIONS = 1 << 26 };
enum { MOST_CHUNK_BYTES = 1 << 30, MOST_SLOTS = 1 << 23 };

/* The data stack, as far as it is not accounted for: [first slot, cursor) in this chunk, and older chunks. */
struct data_stack {
    uint64_t chunk;
    uint64_t previous; /* chunk */
    uint64_t cursor;
};

struct walking {
    const struct walk_process *process;
    const struct walk_thread *thread;
    const struct layout *layout;
    struct walk_frame *frames;
    uint32_t capacity;
    struct walk result;

    struct data_stack stack;
    /* C code ran between the last frame and the one below: it may have pushed frames that are not linked. */
    bool boundary;
    bool in_doubt;           /* the innermost frame may not be linked to its caller */
    bool trusted;            /* what the chain names from here on is mapped */
    bool outside;            /* the last frame met was where C called */
    bool at_top;             /* no frame on the data stack has been met */
    bool unproved;           /* no evaluator's record has confirmed the innermost frames yet: 3.11, 3.12 */
    bool full;               /* it ended because there was no more room */
    uint64_t calling_cframe; /* of the evaluator that called the one that we are in: 3.11, 3.12 */
};

/* One frame as it was read. */
struct found {
    uint64_t address;
    uint64_t previous;
    uint64_t code;
    uint64_t instruction;
    unsigned char owner;
    bool entry;
    uint16_t return_offset;
};

static bool reject(struct walking *w, enum walk_reason reason)
{
    w->result.status = WALK_REJECTED;
    w->result.reason = reason;
    return false;
}

static bool give(struct walking *w, uint64_t frame, uint64_t code, int64_t offset, uint32_t flags)
{
    struct walk *result = &w->result;
    if (result->depth >= MOST_FRAMES)
        return reject(w, WALK_TOO_DEEP);
    if (result->depth < w->capacity)
        w->frames[result->count++] = (struct walk_frame){code, frame, (int32_t)offset, flags};
    else
        w->full = w->thread->stop_when_full && !w->unproved;
    result->depth++;
    return !w->full;
}

static bool on_c_stack(const struct walking *w, uint64_t address, size_t size)
{
    const struct walk_thread *thread = w->thread;
    return address >= thread->stack_low && address < thread->stack_high &&
           size <= thread->stack_high - address;
}

static bool in_thread_state(const struct walking *w, uint64_t address)
{
    return address >= w->thread->state && address - w->thread->state < LAYOUT_THREAD_LIMIT;
}

/* ---- code objects ---- */

static bool read_shape(const struct walk_process *process, uint64_t code, struct code_shape *shape)
{
    const struct layout *layout = process->layout;
    unsigned char bytes[LAYOUT_CODE_LIMIT];
    if (code % 8 || !memory_read(&process->memory, code, bytes, layout->code_instructions) ||
        memory_word(bytes + layout->object_type) != process->code_type)
        return false;
    uint64_t instructions = memory_word(bytes + layout->object_size);
    uint32_t slots = (uint32_t)memory_int(bytes + layout->code_locals_count);
    uint32_t stack = (uint32_t)memory_int(bytes + layout->code_stack_size);
    uint32_t traceable = (uint32_t)memory_int(bytes + layout->code_first_traceable);
    if (!instructions || instructions > MOST_INSTRUCTIONS || slots > MOST_SLOTS || stack > MOST_SLOTS ||
        traceable > MOST_INSTRUCTIONS)
        return false;
    if (instructions < traceable)
        instructions = traceable; /* the machinery's own code counts wrongly */
    *shape = (struct code_shape){.frame_bytes = layout->frame_locals + 8 * (slots + stack),
                                 .instructions_bytes = 2 * (uint32_t)instructions,
                                 .first_traceable_bytes = 2 * traceable};
    return true;
}

static bool shape_of(const struct walk_process *process, uint64_t code, struct code_shape *shape)
{
    if (code_cache_find(process->codes, code, shape))
        return true;
    if (!read_shape(process, code, shape))
        return false;
    code_cache_put(process->codes, code, shape);
    return true;
}

/* From 3.14 on the low bits of the pointer are marks. */
static uint64_t code_address(const struct layout *layout, uint64_t word)
{
    return layout->version >= 0x030e0000 ? word & ~(uint64_t)7 : word;
}

/* ---- the data stack ---- */

static uint64_t first_slot(const struct walking *w)
{
    return w->stack.chunk + LAYOUT_CHUNK_DATA + (w->stack.previous ? 0 : 8);
}

/* Enters a chunk. `top`: the first free address, 0 = as the chunk itself says. */
static bool enter_chunk(struct walking *w, uint64_t chunk, uint64_t top)
{
    unsigned char copy[LAYOUT_CHUNK_DATA];
    const unsigned char *head = memory_view(&w->process->memory, true, chunk, copy, sizeof copy);
    if (!head)
        return reject(w, WALK_UNREADABLE);
    uint64_t size = memory_word(head + LAYOUT_CHUNK_SIZE);
    uint64_t slots = memory_word(head + LAYOUT_CHUNK_TOP);
    if (size > MOST_CHUNK_BYTES || size < LAYOUT_CHUNK_DATA || (!top && slots > size / 8))
        return reject(w, WALK_STACK_BROKEN);
    w->stack.chunk = chunk;
    w->stack.previous = memory_word(head + LAYOUT_CHUNK_PREVIOUS);
    w->stack.cursor = top ? top : chunk + LAYOUT_CHUNK_DATA + 8 * slots;
    if (w->stack.cursor < first_slot(w) || w->stack.cursor > chunk + size)
        return reject(w, WALK_STACK_BROKEN);
    return true;
}

/* Whether [low, high) holds frames that are whole but not linked. */
static bool holds_unlinked(struct walking *w, uint64_t low, uint64_t high)
{
    for (int i = 0; low < high && i < MOST_UNLINKED; i++) {
        unsigned char copy[8];
        struct code_shape shape;
        if (high - low < w->layout->frame_locals)
            return false;
        const unsigned char *word =
            memory_view(&w->process->memory, true, low + w->layout->frame_code, copy, sizeof copy);
        if (!word || !shape_of(w->process, code_address(w->layout, memory_word(word)), &shape))
            return false;
        low += shape.frame_bytes;
    }
    return low == high;
}

/* Above the innermost frame lies what is being made or cleared, in any state; below it frames are whole. */
static bool gap_is_sound(struct walking *w, uint64_t low)
{
    return low == w->stack.cursor ||
           (low < w->stack.cursor && (w->at_top || (w->boundary && holds_unlinked(w, low, w->stack.cursor))));
}

static bool enter_older_chunk(struct walking *w)
{
    if (!gap_is_sound(w, first_slot(w)) || !w->stack.previous)
        return reject(w, WALK_MISPLACED);
    return enter_chunk(w, w->stack.previous, 0);
}

/* A frame of the thread must end where the newer one began. */
static bool place(struct walking *w, uint64_t frame, uint64_t size)
{
    for (int i = 0; i < MOST_CHUNKS; i++) {
        if (frame >= first_slot(w) && frame < w->stack.cursor) {
            if (size > w->stack.cursor - frame || !gap_is_sound(w, frame + size))
                return reject(w, WALK_MISPLACED);
            w->stack.cursor = frame;
            w->at_top = false;
            return true;
        }
        if (!enter_older_chunk(w))
            return false;
    }
    return reject(w, WALK_STACK_BROKEN);
}

/* Nothing may be left below the outermost frame, and C called it. */
static bool reach_bottom(struct walking *w)
{
    w->at_top = false;
    if (!w->outside)
        return reject(w, WALK_UNLINKED);
    for (int i = 0; w->stack.chunk && w->stack.previous; i++) {
        if (i == MOST_CHUNKS)
            return reject(w, WALK_STACK_BROKEN);
        if (!enter_older_chunk(w))
            return false;
    }
    return !w->stack.chunk || gap_is_sound(w, first_slot(w)) || reject(w, WALK_MISPLACED);
}

/* ---- frames from 3.11 on ---- */

static bool in_chunk(const struct walking *w, uint64_t address)
{
    return w->stack.chunk && address >= first_slot(w) && address < w->stack.cursor &&
           w->stack.cursor - address >= w->layout->frame_locals;
}

static bool read_frame(struct walking *w, uint64_t address, struct found *found)
{
    const struct layout *layout = w->layout;
    unsigned char copy[LAYOUT_FRAME_LIMIT];
    bool proved = w->trusted || in_chunk(w, address) || on_c_stack(w, address, layout->frame_locals);
    const unsigned char *bytes =
        memory_view(&w->process->memory, proved, address, copy, layout->frame_locals);
    if (!bytes)
        return reject(w, WALK_UNREADABLE);
    *found = (struct found){
        .address = address,
        .previous = memory_word(bytes + layout->frame_previous),
        .code = code_address(layout, memory_word(bytes + layout->frame_code)),
        .instruction = memory_word(bytes + layout->frame_instruction),
        .owner = bytes[layout->frame_owner],
        .entry = layout->frame_entry != LAYOUT_ABSENT && bytes[layout->frame_entry],
    };
    if (layout->frame_return_offset != LAYOUT_ABSENT)
        memcpy(&found->return_offset, bytes + layout->frame_return_offset, sizeof found->return_offset);
    return true;
}

/* 3.11 and 3.12: each evaluator keeps on the C stack the frame that it runs and a pointer to its caller's. */
static bool read_cframe(struct walking *w, uint64_t cframe, uint64_t *frame)
{
    const struct layout *layout = w->layout;
    unsigned char copy[64];
    size_t last =
        layout->cframe_frame > layout->cframe_previous ? layout->cframe_frame : layout->cframe_previous;
    bool proved = on_c_stack(w, cframe, last + 8) || in_thread_state(w, cframe);
    const unsigned char *bytes = memory_view(&w->process->memory, proved, cframe, copy, last + 8);
    if (!bytes)
        return reject(w, WALK_UNREADABLE);
    *frame = memory_word(bytes + layout->cframe_frame);
    w->calling_cframe = memory_word(bytes + layout->cframe_previous);
    return true;
}

/* 3.11: an exception thrown through a generator puts the generator's frame on top without an evaluator; that
 * it was an entry once is still written in it. Then the evaluator is left by a frame below. */
static bool is_passed_through(const struct walking *w, const struct found *found)
{
    return w->layout->frame_entry != LAYOUT_ABSENT && found->owner == LAYOUT_OWNED_BY_GENERATOR &&
           found->previous;
}

static bool leave_evaluator(struct walking *w, const struct found *found)
{
    uint64_t frame, calling = w->calling_cframe;
    w->boundary = w->outside = true;
    w->in_doubt = false;
    if (w->layout->chain != LAYOUT_CFRAMES)
        return true;
    if (!read_cframe(w, calling, &frame))
        return false;
    if (frame == found->previous) {
        w->unproved = false;
        return true;
    }
    w->calling_cframe = calling;
    return is_passed_through(w, found) || reject(w, WALK_BAD_ENTRY);
}

/* 3.12 may publish the frame of a call that needs no new evaluator before it links it: until that frame
 * begins, the link may be one of an earlier call, and leave out a generator. The frame that it names then
 * runs that generator, which its return offset tells. */
static bool is_half_linked(struct walking *w, const struct found *found, int64_t offset)
{
    bool doubtful = w->in_doubt && found->return_offset;
    w->in_doubt = !w->result.depth && found->owner == LAYOUT_OWNED_BY_THREAD && offset < 0;
    return doubtful;
}

static int64_t offset_of(const struct walking *w, const struct found *found)
{
    return (int64_t)(found->instruction - found->code - w->layout->code_instructions);
}

static bool settle(struct walking *w, const struct found *found, const struct code_shape *shape)
{
    int64_t offset = offset_of(w, found);
    if (offset < -2 || offset >= shape->instructions_bytes)
        return reject(w, WALK_BAD_INSTRUCTION);
    return found->owner == LAYOUT_OWNED_BY_GENERATOR || place(w, found->address, shape->frame_bytes);
}

/* Where a frame does not fit, the shape may be that of a code object that lay at this address before. */
static bool settle_in_doubt(struct walking *w, const struct found *found, struct code_shape *shape)
{
    struct data_stack stack = w->stack;
    struct code_shape fresh;
    if (settle(w, found, shape))
        return true;
    if (!read_shape(w->process, found->code, &fresh) || !memcmp(&fresh, shape, sizeof fresh))
        return false;
    code_cache_put(w->process->codes, found->code, &fresh);
    *shape = fresh;
    w->stack = stack;
    w->result.status = WALK_EMPTY;
    w->result.reason = WALK_NO_REASON;
    return settle(w, found, shape);
}

static bool take_python_frame(struct walking *w, const struct found *found)
{
    struct code_shape shape;
    if (!shape_of(w->process, found->code, &shape))
        return reject(w, WALK_NO_CODE);
    int64_t offset = offset_of(w, found);
    if (is_half_linked(w, found, offset))
        return reject(w, WALK_HALF_LINKED);
    if (!settle_in_doubt(w, found, &shape))
        return false;
    bool generator = found->owner == LAYOUT_OWNED_BY_GENERATOR;
    w->unproved &= w->result.depth || offset < 0; /* a frame that has begun is linked */
    w->outside = false;
    w->boundary = (generator && w->boundary) || found->entry;
    if (shape.first_traceable_bytes >= shape.instructions_bytes)
        return true; /* machinery: no instruction of it is ever shown */
    uint32_t flags = generator ? WALK_GENERATOR : 0;
    if (!generator && offset < shape.first_traceable_bytes)
        flags |= WALK_STARTING;
    /* The frame that is being linked may be garbage and lead to garbage; callers of two good ones are not. A
     * generator's link is right or none: it is cleared whenever the generator stops. */
    w->trusted = generator || w->result.depth;
    return give(w, found->address, found->code, offset, flags);
}

static void mark_entry(struct walking *w)
{
    if (w->result.depth && w->result.depth == w->result.count)
        w->frames[w->result.count - 1].flags |= WALK_ENTRY;
}

static bool take_frame(struct walking *w, const struct found *found)
{
    if (found->owner >= LAYOUT_OWNED_BY_C && w->layout->version >= 0x030c0000) {
        mark_entry(w);
        return leave_evaluator(w, found);
    }
    if (found->owner > LAYOUT_OWNED_BY_GENERATOR)
        return reject(w, WALK_BAD_OWNER);
    if (!take_python_frame(w, found))
        return false;
    if (!found->entry)
        return true;
    mark_entry(w);
    return leave_evaluator(w, found);
}

/* The frames on the data stack descend, so that only garbage taken for generators can lead in a circle. It comes by
 * the frame that was met when so many had been met as a power of two. */
static bool follow_frames(struct walking *w, uint64_t frame)
{
    uint64_t met = 0;
    for (uint32_t visited = 0; frame; visited++) {
        struct found found;
        if (!read_frame(w, frame, &found) || !take_frame(w, &found))
            return false;
        if (visited > 2 * MOST_FRAMES || frame == met)
            return reject(w, WALK_TOO_DEEP);
        if ((visited & (visited - 1)) == 0)
            met = frame;
        frame = found.previous;
    }
    return reach_bottom(w);
}

static bool begin_stack(struct walking *w, uint64_t *frame)
{
    const struct layout *layout = w->layout;
    unsigned char copy[LAYOUT_THREAD_LIMIT];
    size_t size = layout->thread_stack_top + 8;
    const unsigned char *state = memory_view(&w->process->memory, true, w->thread->state, copy, size);
    if (!state)
        return reject(w, WALK_UNREADABLE);
    *frame = memory_word(state + layout->thread_frame);
    uint64_t chunk = memory_word(state + layout->thread_stack_chunk);
    uint64_t top = memory_word(state + layout->thread_stack_top);
    if (chunk && !enter_chunk(w, chunk, top))
        return false;
    return layout->chain != LAYOUT_CFRAMES || read_cframe(w, *frame, frame);
}

/* What the outermost frame proves is that the chain did not end too early. One that fills the array has not ended;
 * that each of its frames is where it says is proved by the frame below, the last one's by the first that has no room:
 * it was placed on the data stack, too. Wrong links are those of the innermost frame while it is being pushed; on 3.11
 * and 3.12 they may leave out generators, which are not on the data stack. The record of the evaluator that runs it tells
 * (leave_evaluator), so a walk from a frame that has not begun goes on until then, room or not. */
static void walk_data_stack(struct walking *w)
{
    uint64_t frame;
    w->boundary = w->at_top = w->outside = true;
    w->unproved = w->layout->chain == LAYOUT_CFRAMES;
    bool ended = begin_stack(w, &frame) && follow_frames(w, frame);
    if (!ended && !w->full)
        return;
    bool unlinked = w->stack.chunk && w->stack.cursor != first_slot(w);
    if (w->result.depth)
        w->result.status = WALK_OK;
    else if (unlinked)
        reject(w, WALK_UNLINKED);
}

/* ---- 3.9 and 3.10 ---- */

static bool runs(const struct layout *layout, const unsigned char *frame)
{
    return frame[layout->frame_state] == (layout_minor(layout) == 9 ? 1 : 0);
}

/* Throwing into a generator that delegates to another makes its frame current without linking it to the
 * caller. */
static bool is_detached(const struct layout *layout, const unsigned char *frame)
{
    return memory_word(frame + layout->frame_generator) && !runs(layout, frame);
}

static bool follow_frame_objects(struct walking *w, uint64_t frame)
{
    const struct layout *layout = w->layout;
    unsigned char copy[LAYOUT_FRAME_LIMIT];
    /* Counted in bytes in 3.9, then in instructions. */
    int scale = layout_minor(layout) == 9 ? 1 : 2;
    while (frame) {
        const unsigned char *bytes =
            memory_view(&w->process->memory, true, frame, copy, layout->frame_state + 1);
        if (!bytes)
            return reject(w, WALK_UNREADABLE);
        if (memory_word(bytes + layout->object_type) != w->process->frame_type)
            return reject(w, WALK_BAD_OWNER);
        uint64_t previous = memory_word(bytes + layout->frame_previous);
        if (!previous && is_detached(layout, bytes))
            return reject(w, WALK_DETACHED_GENERATOR);
        int64_t offset = (int64_t)memory_int(bytes + layout->frame_instruction) * scale;
        bool generator = memory_word(bytes + layout->frame_generator);
        if (!give(w, frame, memory_word(bytes + layout->frame_code), offset < 0 ? -2 : offset,
                  WALK_ENTRY | (generator ? WALK_GENERATOR : 0)))
            return false;
        frame = previous;
    }
    return true;
}

static void walk_frame_objects(struct walking *w)
{
    unsigned char copy[8];
    const unsigned char *word =
        memory_view(&w->process->memory, true, w->thread->state + w->layout->thread_frame, copy, sizeof copy);
    if (!word)
        reject(w, WALK_UNREADABLE);
    else if (follow_frame_objects(w, memory_word(word)) ? w->result.depth > 0 : w->full)
        w->result.status = WALK_OK;
}

struct walk walk_frames(const struct walk_process *process, const struct walk_thread *thread,
                        struct walk_frame *frames, uint32_t capacity)
{
    struct walking w = {.process = process,
                        .thread = thread,
                        .layout = process->layout,
                        .frames = frames,
                        .capacity = capacity};
    if (w.layout->chain == LAYOUT_FRAME_OBJECTS)
        walk_frame_objects(&w);
    else
        walk_data_stack(&w);
    return w.result;
}

const char *walk_reason_text(enum walk_reason reason)
{
    static const char *const texts[WALK_REASONS] = {
        [WALK_NO_REASON] = "none",
        [WALK_UNREADABLE] = "memory cannot be read",
        [WALK_STACK_BROKEN] = "the data stack makes no sense",
        [WALK_UNLINKED] = "no frame is linked yet",
        [WALK_NO_CODE] = "a frame without code",
        [WALK_BAD_INSTRUCTION] = "an instruction outside its code",
        [WALK_BAD_OWNER] = "a frame of an unknown kind",
        [WALK_MISPLACED] = "frames do not lie end to end",
        [WALK_BAD_ENTRY] = "a caller that is not the evaluator's",
        [WALK_HALF_LINKED] = "a frame that may not be linked yet",
        [WALK_DETACHED_GENERATOR] = "a generator cut off from its callers",
        [WALK_TOO_DEEP] = "too many frames",
    };
    return (unsigned)reason < WALK_REASONS ? texts[reason] : "unknown";
}
