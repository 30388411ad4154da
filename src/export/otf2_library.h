/*
 * otf2_library: libopen-trace-format2, found when an archive is asked for: nothing needs it to build or to start, and without it
 * only that format is missing. What is declared here is what its version 3 (soname 10) offers, as far as we need it.
 *
 * One library for the process; it stays loaded.
 */
#ifndef SONDE_EXPORT_OTF2_LIBRARY_H
#define SONDE_EXPORT_OTF2_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

struct err;

#define OTF2_NOTHING UINT32_MAX /* in place of a reference or a rank */
enum { OTF2_WRITE = 0, OTF2_POSIX = 1, OTF2_UNCOMPRESSED = 1, OTF2_FLUSH = 1 };
enum { OTF2_PROCESS = 1, OTF2_CPU_THREAD = 1 };
enum otf2_role { OTF2_FUNCTION = 1, OTF2_BARRIER = 15, OTF2_COLLECTIVE = 26, OTF2_POINT_TO_POINT = 28 };
enum otf2_paradigm { OTF2_USER = 1, OTF2_COMPILER = 2, OTF2_MPI = 4 };
enum { OTF2_GROUP_LOCATIONS = 4, OTF2_GROUP_MEMBERS = 5 };

typedef struct otf2_archive otf2_archive;
typedef struct otf2_events otf2_events;           /* of one location */
typedef struct otf2_local otf2_local;             /* definitions of one location */
typedef struct otf2_definitions otf2_definitions; /* of all */

struct otf2_flushing {
    uint8_t (*before)(void *data, uint8_t file, uint64_t location, void *caller, bool final);
    uint64_t (*after)(void *data, uint8_t file, uint64_t location);
};

/* name in the library, result, name here, arguments. Functions with an int give 0 when all is well. */
#define OTF2_FUNCTIONS(X)                                                                                    \
    X(Archive_Open, otf2_archive *, open,                                                                    \
      (const char *path, const char *name, uint8_t mode, uint64_t event_bytes, uint64_t definition_bytes,    \
       uint8_t substrate, uint8_t compression))                                                              \
    X(Archive_SetFlushCallbacks, int, set_flushing,                                                          \
      (otf2_archive *, const struct otf2_flushing *, void *data))                                            \
    X(Archive_SetSerialCollectiveCallbacks, int, set_serial, (otf2_archive *))                               \
    X(Archive_OpenEvtFiles, int, open_events, (otf2_archive *))                                              \
    X(Archive_GetEvtWriter, otf2_events *, events_of, (otf2_archive *, uint64_t location))                   \
    X(Archive_CloseEvtWriter, int, close_events_of, (otf2_archive *, otf2_events *))                         \
    X(Archive_CloseEvtFiles, int, close_events, (otf2_archive *))                                            \
    X(Archive_OpenDefFiles, int, open_locals, (otf2_archive *))                                              \
    X(Archive_GetDefWriter, otf2_local *, local_of, (otf2_archive *, uint64_t location))                     \
    X(Archive_CloseDefWriter, int, close_local, (otf2_archive *, otf2_local *))                              \
    X(Archive_CloseDefFiles, int, close_locals, (otf2_archive *))                                            \
    X(Archive_GetGlobalDefWriter, otf2_definitions *, definitions, (otf2_archive *))                         \
    X(Archive_CloseGlobalDefWriter, int, close_definitions, (otf2_archive *, otf2_definitions *))            \
    X(Archive_Close, int, close, (otf2_archive *))                                                           \
    X(EvtWriter_GetNumberOfEvents, int, count, (otf2_events *, uint64_t * count))                            \
    X(EvtWriter_Enter, int, enter, (otf2_events *, void *attributes, uint64_t time, uint32_t region))        \
    X(EvtWriter_Leave, int, leave, (otf2_events *, void *attributes, uint64_t time, uint32_t region))        \
    X(EvtWriter_MpiSend, int, send,                                                                          \
      (otf2_events *, void *attributes, uint64_t time, uint32_t receiver, uint32_t communicator,             \
       uint32_t tag, uint64_t size))                                                                         \
    X(EvtWriter_MpiRecv, int, receive,                                                                       \
      (otf2_events *, void *attributes, uint64_t time, uint32_t sender, uint32_t communicator, uint32_t tag, \
       uint64_t size))                                                                                       \
    X(EvtWriter_MpiCollectiveBegin, int, begin_collective, (otf2_events *, void *attributes, uint64_t time)) \
    X(EvtWriter_MpiCollectiveEnd, int, end_collective,                                                       \
      (otf2_events *, void *attributes, uint64_t time, uint8_t operation, uint32_t communicator,             \
       uint32_t root, uint64_t sent, uint64_t received))                                                     \
    X(GlobalDefWriter_WriteClockProperties, int, put_clock,                                                  \
      (otf2_definitions *, uint64_t resolution, uint64_t offset, uint64_t length, uint64_t real_time))       \
    X(GlobalDefWriter_WriteString, int, put_string, (otf2_definitions *, uint32_t self, const char *text))   \
    X(GlobalDefWriter_WriteRegion, int, put_region,                                                          \
      (otf2_definitions *, uint32_t self, uint32_t name, uint32_t canonical_name, uint32_t description,      \
       uint8_t role, uint8_t paradigm, uint32_t flags, uint32_t file, uint32_t begin_line,                   \
       uint32_t end_line))                                                                                   \
    X(GlobalDefWriter_WriteSystemTreeNode, int, put_machine,                                                 \
      (otf2_definitions *, uint32_t self, uint32_t name, uint32_t class_name, uint32_t parent))              \
    X(GlobalDefWriter_WriteLocationGroup, int, put_process,                                                  \
      (otf2_definitions *, uint32_t self, uint32_t name, uint8_t type, uint32_t machine, uint32_t creator))  \
    X(GlobalDefWriter_WriteLocation, int, put_location,                                                      \
      (otf2_definitions *, uint64_t self, uint32_t name, uint8_t type, uint64_t events, uint32_t process))   \
    X(GlobalDefWriter_WriteGroup, int, put_group,                                                            \
      (otf2_definitions *, uint32_t self, uint32_t name, uint8_t type, uint8_t paradigm, uint32_t flags,     \
       uint32_t count, const uint64_t *members))                                                             \
    X(GlobalDefWriter_WriteComm, int, put_communicator,                                                      \
      (otf2_definitions *, uint32_t self, uint32_t name, uint32_t group, uint32_t parent, uint32_t flags))   \
    X(Error_RegisterCallback, void *, on_error, (void *callback, void *data))

struct otf2_library {
#define OTF2_FUNCTION(symbol, result, name, arguments) result(*name) arguments;
    OTF2_FUNCTIONS(OTF2_FUNCTION)
#undef OTF2_FUNCTION
};

/* -1 with words when there is none on this machine, or one of another version. */
int otf2_library_load(struct otf2_library *library, struct err *err);

#endif
