#include "collect/inside/memory_attach.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/agent/announcement.h"
#include "collect/agent/heap_area.h"
#include "collect/agent/own_memory.h"
#include "collect/inside/heap_access.h"

#define WHY_BYTES 400

static struct {
    struct heap_area *area; /* NULL = nobody has asked */
    uint64_t area_bytes;
    char *text; /* the session's strings */
    struct session session;
    pid_t pid;
} attached;

static int fail(char *why, const char *words)
{
    snprintf(why, WHY_BYTES, "%s", words);
    return -1;
}

/* The children of a fork are not asked for anything, and have lost their parent's area. */
static void forget_parents(void)
{
    if (attached.pid == getpid())
        return;
    free(attached.text);
    memset(&attached, 0, sizeof attached);
    attached.pid = getpid();
}

static void end(void)
{
    forget_parents();
    if (!attached.area)
        return;
    heap_access_end();
    own_memory_unmap(attached.area, attached.area_bytes);
    attached.area = NULL;
}

static struct heap_area *open_area(int *fd)
{
    struct heap_area_limits limits;
    const struct session *session = &attached.session;
    uint64_t most_bytes = announcement_allowed_bytes(session->memory_bytes);
    if (!heap_area_limits_within(most_bytes, session->heap_log, session->native, &limits))
        return NULL;
    attached.area_bytes = heap_area_bytes(&limits);
    struct heap_area *area = announcement_map(attached.area_bytes, fd);
    if (area)
        heap_area_format(area, &limits, (uint64_t)getpid(), interpreter.version);
    return area;
}

static int count_into(struct heap_area *area, char *why)
{
    const struct session *session = &attached.session;
    const struct heap_settings settings = {.sample_bytes = session->heap_sample_bytes,
                                           .stacks = true,
                                           .log = session->heap_log,
                                           .python_allocators = session->heap_python};
    return heap_access_begin(area, &settings, why, WHY_BYTES);
}

static int begin(const struct heap *heap, char *why)
{
    struct session_hello hello;
    int fd = -1;
    struct heap_area *area = open_area(&fd);
    if (!area)
        return fail(why,
                    "no shared memory could be had for the recording (the limits of ulimit -f and -v count)");
    int result = count_into(area, why);
    if (result == 0) {
        attached.area = area;
        announcement_init(&hello, SESSION_HEAP);
        hello.arena_bytes = attached.area_bytes;
        result = announcement_tell(&attached.session, fd, &hello);
        if (result == 0)
            heap->python_runs();
        else
            end();
        return result == 0 ? 0
                           : fail(why, "the recorder does not answer: is it in another network namespace?");
    }
    own_memory_unmap(area, attached.area_bytes);
    close(fd);
    return result;
}

static int take_session(const char *settings, char *why)
{
    free(attached.text);
    attached.text = strdup(settings);
    if (attached.text && session_parse(attached.text, &attached.session) == 0)
        return 0;
    return fail(why, "the program and the recorder are of different versions of sonde");
}

/* A message without a meaning is heard and passed over. */
static bool recorder_listens(void)
{
    struct session_hello hello;
    announcement_init(&hello, 0);
    return !attached.area->stop && session_send(&attached.session, &hello, -1) == 0;
}

static int attach(const char *settings, char *why)
{
    const struct heap *heap = heap_access_open(why, WHY_BYTES);
    if (!heap || interpreter_init(why, WHY_BYTES) < 0)
        return -1;
    forget_parents();
    if (attached.area && strstr(settings, attached.session.socket))
        return 0; /* another thread has brought the same invitation */
    if (attached.area && recorder_listens())
        return fail(why, "another sonde counts its allocations already");
    end(); /* what a recorder that has gone has left */
    return take_session(settings, why) < 0 ? -1 : begin(heap, why);
}

PyObject *memory_attach_begin(PyObject *module, PyObject *settings)
{
    (void)module;
    char why[WHY_BYTES] = "";
    PyObject *text = interpreter_utf8(settings);
    if (!text)
        return PyErr_Format(PyExc_TypeError, "attach_memory takes a str");
    int result = attach(PyBytes_AsString(text), why);
    Py_DECREF(text);
    if (result < 0)
        return PyErr_Format(PyExc_RuntimeError, "%s", why);
    Py_RETURN_NONE;
}

PyObject *memory_attach_end(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    end();
    Py_RETURN_NONE;
}
