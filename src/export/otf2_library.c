#include "export/otf2_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"

/* Debian's name, and its authors'. */
static const char *const names[] = {"libopen-trace-format2.so.10", "libotf2.so.10"};

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
#define OTF2_FUNCTION(symbol, result, name, arguments) {"OTF2_" #symbol, offsetof(struct otf2_library, name)},
    OTF2_FUNCTIONS(OTF2_FUNCTION)
#undef OTF2_FUNCTION
};

int otf2_library_load(struct otf2_library *library, struct err *err)
{
    void *handle = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !handle; i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return err_set(
            err,
            "an OTF2 archive needs libopen-trace-format2 3.x, which is not there; Debian, Ubuntu: apt "
            "install "
            "libopen-trace-format2-10; from OTF2's own sources: put its folder lib into LD_LIBRARY_PATH");
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address = dlsym(handle, symbols[i].name);
        if (!address)
            return err_set(err, "the OTF2 library of this machine has no %s; install version 3.x of it",
                           symbols[i].name);
        memcpy((char *)library + symbols[i].offset, &address, sizeof address);
    }
    return 0;
}
