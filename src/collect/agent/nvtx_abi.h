/*
 * nvtx_abi: how a library that emits NVTX ranges and a tool that listens to them meet (version 3 of NVTX; nothing of it is
 * linked or needed).
 *
 * The emitter finds a tool's library in the environment and calls its function NVTX_ABI_ENTRY with a function that gives
 * tables. The tool asks for the table of callbacks, by it for the table of each module, and writes its functions through the
 * pointers that it finds there. An emitter calls what was written, and nothing where nothing was. Each library in a process
 * that emits does this on its own: a tool is initialised several times.
 */
#ifndef SONDE_COLLECT_AGENT_NVTX_ABI_H
#define SONDE_COLLECT_AGENT_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>

#define NVTX_ABI_VARIABLE "NVTX_INJECTION64_PATH"
#define NVTX_ABI_ENTRY    "InitializeInjectionNvtx2"
#define NVTX_ABI_VERSION  3

typedef void nvtx_abi_function(void);
/* The table with that number (enum nvtx_abi_table); NULL = there is none. */
typedef const void *nvtx_abi_get_table(uint32_t table);
/* The tool's entry. 0 = it wants nothing. */
typedef int nvtx_abi_initialize(nvtx_abi_get_table *get_table);

enum nvtx_abi_table { NVTX_ABI_CALLBACKS = 1, NVTX_ABI_VERSION_INFO = 3 };

struct nvtx_abi_callbacks {
    size_t struct_bytes;
    /* The places of a module's functions, by their numbers, and how many there are. 0 = no such module. */
    int (*get_module)(uint32_t module, nvtx_abi_function ****places, uint32_t *count);
};

struct nvtx_abi_version_info {
    size_t struct_bytes;
    uint32_t version, reserved;
    void (*set_tool_version)(uint32_t version);
};

enum nvtx_abi_module {
    NVTX_ABI_CORE = 1,    /* ranges of the domain without a name */
    NVTX_ABI_DOMAINS = 5, /* of others */
    NVTX_ABI_MODULES = 7, /* 2, 3, 4 and 6 name objects of CUDA, OpenCL, pthreads */
};

enum nvtx_abi_core {
    NVTX_ABI_MARK_EX = 1,
    NVTX_ABI_MARK = 2,
    NVTX_ABI_START_EX = 4,
    NVTX_ABI_START = 5,
    NVTX_ABI_RANGE_END = 7,
    NVTX_ABI_PUSH_EX = 8,
    NVTX_ABI_PUSH = 9,
    NVTX_ABI_POP = 11,
    NVTX_ABI_CORE_FUNCTIONS = 16,
};

enum nvtx_abi_domains {
    NVTX_ABI_DOMAIN_MARK = 1,
    NVTX_ABI_DOMAIN_START = 2,
    NVTX_ABI_DOMAIN_END = 3,
    NVTX_ABI_DOMAIN_PUSH = 4,
    NVTX_ABI_DOMAIN_POP = 5,
    NVTX_ABI_REGISTER_STRING = 10,
    NVTX_ABI_CREATE_DOMAIN = 12,
    NVTX_ABI_DESTROY_DOMAIN = 14,
    NVTX_ABI_DOMAINS_FUNCTIONS = 16,
};

enum nvtx_abi_message_kind {
    NVTX_ABI_NO_MESSAGE,
    NVTX_ABI_TEXT,
    NVTX_ABI_WIDE_TEXT,
    NVTX_ABI_REGISTERED, /* what NVTX_ABI_REGISTER_STRING gave */
};

/* What a range or mark is called; colour, category and payload are not used here. */
struct nvtx_abi_attributes {
    uint16_t version, struct_bytes;
    uint32_t category;
    int32_t color_kind;
    uint32_t color;
    int32_t payload_kind, reserved;
    uint64_t payload;
    int32_t message_kind;
    union {
        const char *text;
        const void *registered;
    } message;
};
_Static_assert(sizeof(struct nvtx_abi_attributes) == 48, "as NVTX has it");

typedef void *nvtx_abi_create_domain(const char *name);
typedef void nvtx_abi_destroy_domain(void *domain);
typedef void *nvtx_abi_register_string(void *domain, const char *text);
typedef int nvtx_abi_domain_push(void *domain, const struct nvtx_abi_attributes *attributes);
typedef int nvtx_abi_domain_pop(void *domain);
typedef void nvtx_abi_domain_mark(void *domain, const struct nvtx_abi_attributes *attributes);
typedef uint64_t nvtx_abi_domain_start(void *domain, const struct nvtx_abi_attributes *attributes);
typedef void nvtx_abi_domain_end(void *domain, uint64_t range);
typedef int nvtx_abi_push_ex(const struct nvtx_abi_attributes *attributes);
typedef int nvtx_abi_push(const char *text);
typedef int nvtx_abi_pop(void);
typedef void nvtx_abi_mark_ex(const struct nvtx_abi_attributes *attributes);
typedef void nvtx_abi_mark(const char *text);
typedef uint64_t nvtx_abi_start_ex(const struct nvtx_abi_attributes *attributes);
typedef uint64_t nvtx_abi_start(const char *text);
typedef void nvtx_abi_end(uint64_t range);

#endif
