#include "collect/agent/heap_python.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#include "collect/agent/heap_counting.h"
#include "collect/agent/heap_tracker.h"
#include "collect/agent/python_method.h"
#include "collect/agent/stack_sample.h"

/* ---- frames ---- */

static void interpreter_is_gone(void)
{
    heap_counting_read_python(NULL);
}

const char *heap_python_read(struct stack_reader *interpreter)
{
    int (*at_exit)(void (*)(void)) = (int (*)(void (*)(void)))dlsym(RTLD_DEFAULT, "Py_AtExit");
    const char *why = stack_sample_init(interpreter);
    if (why)
        return why;
    interpreter->process.memory = memory_own_alive(); /* a thread reads its own frames, which live */
    heap_counting_read_python(interpreter);
    if (at_exit)
        at_exit(interpreter_is_gone);
    return NULL;
}

/* ---- the end of the program ---- */

static void (*increase_reference)(struct python_object *);
static struct python_object *none;

static struct python_object *program_ends(struct python_object *self, struct python_object *arguments)
{
    (void)self, (void)arguments;
    heap_counting_program_ends();
    increase_reference(none);
    return none;
}

void heap_python_call_at_end(void)
{
    static struct python_method method = {"sonde_program_ends", program_ends, PYTHON_METHOD_NONE, NULL};
    struct python_object *(*import)(const char *),
        *(*call)(struct python_object *, const char *, const char *, ...);
    struct python_object *(*new_function)(struct python_method *, struct python_object *,
                                          struct python_object *);
    void (*decrease_reference)(struct python_object *), (*clear_error)(void);
    *(void **)&import = dlsym(RTLD_DEFAULT, "PyImport_ImportModule");
    *(void **)&call = dlsym(RTLD_DEFAULT, "PyObject_CallMethod");
    *(void **)&new_function = dlsym(RTLD_DEFAULT, "PyCFunction_NewEx");
    *(void **)&decrease_reference = dlsym(RTLD_DEFAULT, "Py_DecRef");
    *(void **)&increase_reference = dlsym(RTLD_DEFAULT, "Py_IncRef");
    *(void **)&clear_error = dlsym(RTLD_DEFAULT, "PyErr_Clear");
    none = dlsym(RTLD_DEFAULT, "_Py_NoneStruct");
    if (!import || !call || !new_function || !decrease_reference || !increase_reference || !none)
        return;
    struct python_object *module = import("atexit"), *function = new_function(&method, NULL, NULL);
    struct python_object *result = module && function ? call(module, "register", "O", function) : NULL;
    struct python_object *const made[] = {module, function, result};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (made[i])
            decrease_reference(made[i]);
    if (!result && clear_error)
        clear_error();
}

/* ---- its allocators ---- */

/* As CPython has them. */
struct python_allocator {
    void *context;
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *);
};

struct domain {
    int number;
    enum heap_allocator allocator;
    struct python_allocator real;
    bool followed; /* ours stands before the real one */
};
static struct domain domains[] = {{0, HEAP_PYTHON_RAW}, {1, HEAP_PYTHON_MEM}, {2, HEAP_PYTHON_OBJECT}};

/* What the real one takes from others is not counted, nor does it bring the next sample nearer. */
static int64_t begin_inner(void)
{
    heap_tracker_nested++;
    return heap_tracker_countdown;
}

static void *end_inner(int64_t countdown, void *block)
{
    heap_tracker_nested--;
    heap_tracker_countdown = countdown;
    return block;
}

static void *note(const struct domain *domain, void *block, size_t bytes)
{
    if (block && (heap_tracker_countdown -= (int64_t)bytes) < 0)
        heap_tracker_allocated(block, bytes, domain->allocator);
    return block;
}

static void *python_malloc(void *context, size_t bytes)
{
    const struct domain *domain = context;
    int64_t countdown = begin_inner();
    return note(domain, end_inner(countdown, domain->real.malloc(domain->real.context, bytes)), bytes);
}

static void *python_calloc(void *context, size_t count, size_t size)
{
    const struct domain *domain = context;
    int64_t countdown = begin_inner();
    return note(domain, end_inner(countdown, domain->real.calloc(domain->real.context, count, size)),
                count * size);
}

static void *python_realloc(void *context, void *block, size_t bytes)
{
    const struct domain *domain = context;
    uint64_t entry = block && heap_tracker_remembers(block) ? heap_tracker_take(block) : 0;
    int64_t countdown = begin_inner();
    void *moved = end_inner(countdown, domain->real.realloc(domain->real.context, block, bytes));
    if (!moved) {
        heap_tracker_put_back(block, entry);
        return NULL;
    }
    if (entry)
        heap_tracker_free_moved(block, entry);
    return note(domain, moved, bytes);
}

static void python_free(void *context, void *block)
{
    const struct domain *domain = context;
    if (block && heap_tracker_remembers(block))
        heap_tracker_freed(block);
    int64_t countdown = begin_inner();
    domain->real.free(domain->real.context, block);
    end_inner(countdown, NULL);
}

/* Somebody else may have come to stand before us: then we stay, and pass on. */
static bool stands_first(const struct domain *domain, const struct python_allocator *first)
{
    return first->context == domain && first->malloc == python_malloc;
}

typedef void allocator_access(int, struct python_allocator *);

static void exchange_allocators(bool follow)
{
    allocator_access *get = (allocator_access *)dlsym(RTLD_DEFAULT, "PyMem_GetAllocator");
    allocator_access *set = (allocator_access *)dlsym(RTLD_DEFAULT, "PyMem_SetAllocator");
    for (size_t i = 0; get && set && i < sizeof domains / sizeof *domains; i++) {
        struct domain *domain = &domains[i];
        struct python_allocator ours = {domain, python_malloc, python_calloc, python_realloc, python_free};
        struct python_allocator first;
        get(domain->number, &first);
        if (follow && !domain->followed) {
            domain->real = first;
            set(domain->number, &ours);
            domain->followed = true;
        } else if (!follow && domain->followed && stands_first(domain, &first)) {
            set(domain->number, &domain->real);
            domain->followed = false;
        }
    }
}

void heap_python_follow_allocators(void)
{
    exchange_allocators(true);
}

void heap_python_leave_allocators(void)
{
    exchange_allocators(false);
}
