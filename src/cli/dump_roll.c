#include "cli/dump_roll.h"

#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "base/bytes.h"
#include "base/err.h"
#include "collect/agent/task_list.h"
#include "collect/outside/core_file.h"
#include "collect/outside/thread_states.h"

enum { TRIES = 50, CALL_BYTES = 4096, GIL_BYTES = 208 };

/* What a thread has asked the kernel for. */
struct kernel_call {
    int64_t number; /* below 0 = nothing */
    uint64_t first, second;
};

void dump_roll_clear(struct dump_roll *roll)
{
    free(roll->threads);
    free(roll->rows);
    free(roll->listed);
    *roll = (struct dump_roll){0};
}

/* ---- the kernel's threads ---- */

static bool add_thread(struct dump_roll *roll, uint32_t tid, uint32_t own_tid)
{
    if (roll->thread_count == roll->thread_capacity) {
        size_t capacity = roll->thread_capacity * 2 + 64;
        struct dump_roll_thread *grown = realloc(roll->threads, capacity * sizeof *grown);
        if (!grown)
            return false;
        roll->threads = grown;
        roll->thread_capacity = capacity;
    }
    roll->threads[roll->thread_count++] = (struct dump_roll_thread){tid, own_tid};
    return true;
}

static bool list_process(struct dump_roll *roll)
{
    struct task_folder folder;
    uint32_t tid;
    bool listed = true;
    if (!task_list_open_folder(&folder, roll->pid))
        return true;
    while (listed && (tid = task_list_next(&folder)) != 0)
        listed = add_thread(roll, tid, thread_states_own_tid(roll->pid, tid));
    task_list_close_folder(&folder);
    return listed;
}

static bool list_core(struct dump_roll *roll)
{
    bool listed = true;
    for (size_t i = 0; listed && i < roll->core->thread_count; i++)
        listed = add_thread(roll, roll->core->threads[i].tid, roll->core->threads[i].tid);
    return listed;
}

static int by_own_tid(const void *left, const void *right)
{
    const struct dump_roll_thread *a = left, *b = right;
    return (a->own_tid > b->own_tid) - (a->own_tid < b->own_tid);
}

int dump_roll_list(struct dump_roll *roll, struct err *err)
{
    if (!(roll->core ? list_core(roll) : list_process(roll)))
        return err_set(err, "out of memory");
    if (roll->thread_count)
        qsort(roll->threads, roll->thread_count, sizeof *roll->threads, by_own_tid);
    return 0;
}

const struct dump_roll_thread *dump_roll_find(const struct dump_roll *roll, uint32_t own_tid)
{
    const struct dump_roll_thread wanted = {.own_tid = own_tid};
    const struct dump_roll_thread *found =
        roll->thread_count ? bsearch(&wanted, roll->threads, roll->thread_count, sizeof wanted, by_own_tid)
                           : NULL;
    /* After a fork some versions keep the parent's number. */
    return found || roll->thread_count != 1 ? found : &roll->threads[0];
}

const struct core_file_thread *dump_roll_find_dead(const struct dump_roll *roll, uint32_t tid)
{
    for (size_t i = 0; i < roll->core->thread_count; i++)
        if (roll->core->threads[i].tid == tid)
            return &roll->core->threads[i];
    return NULL;
}

/* ---- states ---- */

static uint64_t gil_address(const struct dump_roll *roll, const struct threads_row *row)
{
    const struct layout *layout = &roll->python->layout;
    uint64_t gil = roll->python->runtime + layout->runtime_gil;
    if (layout->runtime_gil == LAYOUT_ABSENT &&
        !memory_read_word(roll->memory, row->interpreter + layout->interpreter_gil, &gil))
        return 0;
    return gil;
}

/* A thread that waits for the GIL sleeps on a condition within it. */
static enum dump_state state_in_call(const struct dump_roll *roll, const struct threads_row *row,
                                     const struct kernel_call *call)
{
    uint64_t gil = row->state ? gil_address(roll, row) : 0;
    if (call->number < 0)
        return DUMP_ACTIVE;
    uint64_t operation = call->second & FUTEX_CMD_MASK;
    if (call->number == SYS_futex && (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET) && gil &&
        call->first >= gil && call->first - gil < GIL_BYTES && !row->holds_gil)
        return DUMP_WAITS_FOR_GIL;
    return DUMP_IDLE;
}

/* Where the kernel does not tell what a thread has called. */
static enum dump_state coarse_state(const struct dump_roll *roll, const struct dump_roll_thread *thread)
{
    struct task task = {0};
    if (!task_list_open(&task, roll->pid, thread->tid))
        return DUMP_UNKNOWN;
    char state = task_list_state(&task);
    task_list_close(&task);
    return state == 'R' ? DUMP_ACTIVE : state ? DUMP_IDLE : DUMP_UNKNOWN;
}

static enum dump_state process_state(const struct dump_roll *roll, const struct threads_row *row,
                                     const struct dump_roll_thread *thread)
{
    char path[64];
    struct bytes text = {0};
    struct kernel_call call = {.number = -1};
    snprintf(path, sizeof path, "/proc/%u/task/%u/syscall", roll->pid, thread->tid);
    enum dump_state state;
    if (bytes_read_file(&text, path, CALL_BYTES, NULL) == 0 && text.size) {
        bytes_put_u8(&text, 0); /* "running", or the number of the call and its arguments */
        if (sscanf((char *)text.data, "%" SCNd64 " %" SCNx64 " %" SCNx64, &call.number, &call.first,
                   &call.second) < 1)
            call.number = -1;
        state = state_in_call(roll, row, &call);
    } else
        state = coarse_state(roll, thread);
    bytes_clear(&text);
    return state;
}

static enum dump_state core_state(const struct dump_roll *roll, const struct threads_row *row, uint32_t tid)
{
#if defined(__x86_64__)
    enum { RSI = 13, RDI = 14, ORIGINAL_RAX = 15 };
    const struct core_file_thread *thread = dump_roll_find_dead(roll, tid);
    if (thread && thread->register_count > ORIGINAL_RAX) {
        const struct kernel_call call = {(int64_t)thread->registers[ORIGINAL_RAX], thread->registers[RDI],
                                         thread->registers[RSI]};
        return state_in_call(roll, row, &call);
    }
#else
    (void)roll;
    (void)row;
    (void)tid;
#endif
    return DUMP_UNKNOWN;
}

enum dump_state dump_roll_state(const struct dump_roll *roll, const struct threads_row *row,
                                const struct dump_roll_thread *thread)
{
    if (!thread)
        return DUMP_UNKNOWN;
    return roll->core ? core_state(roll, row, thread->tid) : process_state(roll, row, thread);
}

/* ---- Python's threads ---- */

uint32_t dump_roll_own_tid(const struct dump_roll *roll, const struct threads_row *row)
{
    uint32_t tid = 0;
    if (row->native_id || !roll->tid_offset)
        return (uint32_t)row->native_id;
    memory_read(roll->memory, row->thread_id + roll->tid_offset, &tid, sizeof tid);
    return tid;
}

/* How many there are, in `listed`; -1 where the list cannot be read or there is no memory. */
static ssize_t list_rows(struct dump_roll *roll)
{
    for (;;) {
        ssize_t count = threads_list(&roll->python->layout, roll->memory, roll->python->runtime, roll->listed,
                                     roll->listed_capacity);
        if (count < 0 || (size_t)count <= roll->listed_capacity)
            return count;
        size_t capacity = (size_t)count + (size_t)count / 2; /* more may be born meanwhile */
        struct threads_row *listed = realloc(roll->listed, capacity * sizeof *listed);
        struct dump_roll_row *rows = listed ? realloc(roll->rows, capacity * sizeof *rows) : NULL;
        roll->listed = listed ? listed : roll->listed;
        roll->rows = rows ? rows : roll->rows;
        if (!rows)
            return -1;
        roll->listed_capacity = capacity;
    }
}

static bool holds_what_it_held(const struct dump_roll *roll, ssize_t count)
{
    bool same = (size_t)count == roll->row_count;
    for (size_t i = 0; same && i < roll->row_count; i++)
        same = roll->listed[i].state == roll->rows[i].row.state &&
               roll->listed[i].holds_gil == roll->rows[i].row.holds_gil;
    return same;
}

/* Of one instant: nobody came, went or handed the GIL over in between. */
static bool call_once(struct dump_roll *roll, ssize_t *count)
{
    *count = list_rows(roll);
    roll->row_count = *count > 0 ? (size_t)*count : 0;
    for (size_t i = 0; i < roll->row_count; i++) {
        const struct threads_row *row = &roll->listed[i];
        const struct dump_roll_thread *thread = dump_roll_find(roll, dump_roll_own_tid(roll, row));
        roll->rows[i] = (struct dump_roll_row){*row, dump_roll_state(roll, row, thread)};
    }
    if (*count < 0)
        return false;
    ssize_t later = list_rows(roll);
    return later >= 0 && holds_what_it_held(roll, later);
}

static void find_tid_offset(struct dump_roll *roll)
{
    uint32_t *tids = calloc(roll->thread_count + 1, sizeof *tids);
    for (size_t i = 0; tids && i < roll->thread_count; i++)
        tids[i] = roll->threads[i].own_tid;
    if (tids)
        roll->tid_offset = target_python_tid_offset(roll->python, roll->memory, tids, roll->thread_count);
    free(tids);
}

int dump_roll_call(struct dump_roll *roll, struct err *err)
{
    ssize_t count = -1;
    if (roll->python->layout.thread_native_id == LAYOUT_ABSENT)
        find_tid_offset(roll);
    for (int i = 0; i < TRIES && !call_once(roll, &count); i++)
        continue; /* in a busy program the last one must do */
    return count < 0 ? err_set(err, "its list of threads cannot be read; has Python ended there?") : 0;
}
