#include "collect/agent/mpi_abi.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

static const struct mpi_abi rows[] = {
    {
        .name = "mpi5",
        .mark = "MPI_Abi_get_version",
        .handle_bytes = 8,
        .status_bytes = 32,
        .status_source = 0,
        .status_tag = 4,
        .proc_null = -3,
        .any_source = -1,
        .root = -4,
        .in_place = 1,
        .world = 0x101,
        .self = 0x102,
        .no_communicator = 0x100,
        .no_request = 0x180,
        .byte = 0x247,
    },
    {
        .name = "openmpi",
        .mark = "ompi_mpi_comm_self",
        .handle_bytes = 8,
        .status_bytes = 24,
        .status_source = 0,
        .status_tag = 4,
        .proc_null = -2,
        .any_source = -1,
        .root = -4,
        .in_place = 1,
        .world_symbol = "ompi_mpi_comm_world",
        .self_symbol = "ompi_mpi_comm_self",
        .no_communicator_symbol = "ompi_mpi_comm_null",
        .no_request_symbol = "ompi_request_null",
        .byte_symbol = "ompi_mpi_byte",
    },
    {
        .name = "mpich",
        .handle_bytes = 4,
        .status_bytes = 20,
        .status_source = 8,
        .status_tag = 12,
        .proc_null = -1,
        .any_source = -2,
        .root = -3,
        .in_place = (mpi_word)-1,
        .no_status = 1,
        .world = 0x44000000,
        .self = 0x44000001,
        .no_communicator = 0x04000000,
        .no_request = 0x2c000000,
        .byte = 0x4c00010d,
    },
};
enum { ROWS = sizeof rows / sizeof *rows };

struct mpi_binding mpi_binding;

const struct mpi_abi *mpi_abi_find(const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

/* A variable of the library's. An executable that names it has a copy of its own, which the library then uses, too. */
static void *find_data(void *library, const char *symbol)
{
    void *found = dlsym(RTLD_DEFAULT, symbol);
    return found ? found : dlsym(library, symbol);
}

static bool fill_handles(struct mpi_abi *abi, void *library)
{
    const struct {
        const char *symbol;
        mpi_word *handle;
    } handles[] = {
        {abi->world_symbol, &abi->world},
        {abi->self_symbol, &abi->self},
        {abi->no_communicator_symbol, &abi->no_communicator},
        {abi->no_request_symbol, &abi->no_request},
        {abi->byte_symbol, &abi->byte},
    };
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++) {
        if (handles[i].symbol)
            *handles[i].handle = (mpi_word)find_data(library, handles[i].symbol);
        if (!*handles[i].handle)
            return false;
    }
    return true;
}

static bool fill_functions(struct mpi_binding *binding)
{
    const struct {
        const char *name;
        mpi_function **function;
    } functions[] = {
#define MPI_ABI_ROW(name) {"PMPI_" #name, &binding->name},
        MPI_ABI_FUNCTIONS(MPI_ABI_ROW)
#undef MPI_ABI_ROW
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        *(void **)functions[i].function = dlsym(binding->library, functions[i].name);
        if (!*functions[i].function)
            return false;
    }
    return true;
}

static void fill_fortran(struct mpi_binding *binding)
{
    *(void **)&binding->communicator_of = dlsym(binding->library, "PMPI_Comm_f2c");
    *(void **)&binding->type_of = dlsym(binding->library, "PMPI_Type_f2c");
    *(void **)&binding->request_of = dlsym(binding->library, "PMPI_Request_f2c");
    *(void **)&binding->message_of = dlsym(binding->library, "PMPI_Message_f2c");
    binding->status_ignored = find_data(binding->library, "MPI_F_STATUS_IGNORE");
    binding->statuses_ignored = find_data(binding->library, "MPI_F_STATUSES_IGNORE");
    binding->in_place_itself = find_data(binding->library, "mpi_fortran_in_place_");
}

/* Whether an object defines the function itself, rather than one that it needs. */
static bool defines(const struct link_map *object, void *library, const char *function)
{
    Dl_info info;
    void *found = dlsym(library, function);
    return found && dladdr(found, &info) && info.dli_fbase == (void *)object->l_addr;
}

static bool bind_library(const struct link_map *object, void *library)
{
    struct mpi_binding binding = {.library = library};
    if (!defines(object, library, "PMPI_Init"))
        return false;
    for (size_t i = 0; i < ROWS && !binding.abi.name; i++)
        if (!rows[i].mark || dlsym(library, rows[i].mark))
            binding.abi = rows[i];
    if (!fill_handles(&binding.abi, library) || !fill_functions(&binding))
        return false;
    fill_fortran(&binding);
    binding.base = dlsym(library, "PMPI_Init");
    binding.is_bound = true;
    mpi_binding = binding;
    return true;
}

/* The handle stays open for good: the library is called. */
static bool look_at(const struct link_map *object)
{
    void *library = dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return false;
    if (!mpi_binding.is_bound && bind_library(object, library))
        return true;
    if (mpi_binding.is_bound && !mpi_binding.fortran && defines(object, library, "mpi_init_")) {
        mpi_binding.fortran = library;
        mpi_binding.in_place = find_data(library, "MPIR_F_MPI_IN_PLACE");
        return true;
    }
    dlclose(library);
    return false;
}

bool mpi_abi_bind(void)
{
    bool more = false;
    struct link_map *object = NULL;
    void *program = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
    if (program)
        dlinfo(program, RTLD_DI_LINKMAP, &object);
    for (; object; object = object->l_next) {
        const char *slash = strrchr(object->l_name, '/');
        if (strncmp(slash ? slash + 1 : object->l_name, "libmpi", 6) == 0)
            more |= look_at(object);
    }
    if (program)
        dlclose(program);
    return more;
}
