/*
 * session: what the recorder tells the processes that it follows, and how they announce themselves.
 *
 * The recorder puts SONDE_SESSION (lines "key=value") and LD_PRELOAD into the environment of the target. The
 * agent takes both out again before main() runs and puts them back only into what the target execs, so that
 * the program sees its own environment. A process that records sends one `struct session_hello` with the
 * descriptor of its arena over the recorder's socket and closes it: no descriptor stays open in the target.
 */
#ifndef SONDE_COLLECT_AGENT_SESSION_H
#define SONDE_COLLECT_AGENT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SESSION_VARIABLE "SONDE_SESSION"
#define SESSION_VERSION  1u

enum session_message {
    SESSION_HELLO = 1,   /* I record calls; the arena's descriptor comes with this */
    SESSION_SAMPLES = 3, /* I am sampled; the sample area's descriptor comes with this */
    SESSION_LINES = 4,   /* I record lines; the arena's descriptor comes with this */
    SESSION_HEAP = 5,    /* my allocations are counted; the heap area's descriptor comes with this */
    SESSION_EVENTS = 6,  /* I have events; the event area's descriptor comes with this */
    SESSION_MPI = 7,     /* my calls of MPI are counted; the MPI area's descriptor comes with this */
    SESSION_REFUSED = 2, /* I am a Python that cannot be recorded */
    SESSION_FLUSH = 8,   /* write what I have told so far, then a byte to the socket that comes with this */
};

struct session_hello {
    uint32_t version;
    uint32_t message;         /* enum session_message */
    uint64_t pid, parent_pid; /* as the process itself sees them */
    uint64_t sender_pid;      /* the same, or that of its sampler, which is a child of it */
    uint64_t start_ns;        /* since when it is the program that it is; 0 = now */
    uint64_t arena_bytes;
    uint32_t text_bytes;
    char text[4000]; /* hello: the command line as in /proc/PID/cmdline; refused: why */
    char executable[1024];
};

#define SESSION_LINE_TARGETS  256
#define SESSION_MARKS         512
#define SESSION_MARKS_SCRIPTS 8

/* The settings of a session. Strings point into memory that lives as long as the process. */
struct session {
    const char *socket;       /* name in the abstract namespace */
    const char *inside;       /* path of the extension */
    const char *package;      /* folder of the Python package */
    const char *agent;        /* path of the agent, as in LD_PRELOAD */
    const char *heap_library; /* path of what counts allocations, likewise; NULL = they are not counted */
    const char *mpi_library;  /* path of what counts calls of MPI; NULL = they are not counted */
    const char *include, *exclude; /* regular expressions; NULL = none */
    uint64_t memory_bytes;
    uint32_t depth;            /* 0 = no limit */
    uint64_t sample_period_ns; /* 0 = no sampling */
    uint64_t main_pid;         /* the process that the recorder started; 0 until known */
    bool cpu_clock;            /* samples stand for CPU time, not wall time */
    bool tasks;                /* samples show the tasks of asyncio */
    bool trace, c_calls, exclude_library, throttle, follow, native;
    bool timeline;           /* calls are logged one by one, */
    bool timeline_ring;      /* of which the last are kept, else the first: */
    uint64_t timeline_bytes; /* so many bytes of them in the recording */
    bool lines;              /* times of lines, of these functions and of those that the program names: */
    const char *line_targets[SESSION_LINE_TARGETS];
    uint32_t line_target_count;
    bool all_lines;         /* and of every function that include and exclude leave */
    bool library_lines;     /* those of libraries among them */
    bool per_thread;        /* apart for each thread */
    uint32_t hot;           /* without any: of so many functions that samples find; 0 = of none */
    const char *setup;      /* a Python file to run first; NULL = none */
    bool line_memory;       /* memory of lines, not times */
    uint64_t stop_at_bytes; /* then the debugger is to stop when so much is resident; 0 = never */
    bool heap;              /* allocations are counted, as struct heap_settings has it: */
    bool heap_log, heap_python;
    bool heap_totals; /* without stacks */
    uint64_t heap_sample_bytes;
    bool partial; /* recorded is only where the program has enabled a profiler */
    const char *start_at,
        *stop_at;          /* and only between these passes, "NAME#N"; NULL = from the start, to the end */
    uint64_t skip_first;   /* so many times it is not, though it should */
    bool resident_regions; /* regions are all there is, and say what is resident then */
    const char *
        marks[SESSION_MARKS]; /* whose calls are named regions: mark_template.h; and Python files with more */
    uint32_t mark_count;
    const char *marks_scripts[SESSION_MARKS_SCRIPTS];
    uint32_t marks_script_count;
    bool nvtx;    /* regions are told to NVTX, too */
    bool nvtx_in; /* what others tell NVTX are regions, unless another tool listens */
};

/* Whether nothing is to be recorded until the program has come to the part that is. */
static inline bool session_begins_at_rest(const struct session *session)
{
    return session->partial || session->start_at;
}

/* Parses the variable's text, which is cut up in place. 0, or -1 when it is not for this version. */
int session_parse(char *text, struct session *session);

/* Sends one message, with a descriptor unless fd is -1. 0 or -1; async-signal-safe. */
int session_send(const struct session *session, const struct session_hello *hello, int fd);

#endif
