// Takes and gives back memory as C++ does: every form of new and delete, and a new that fails.
#include <cstdint>
#include <new>

struct alignas(64) Wide {
    char bytes[640];
};

static char *volatile arrays[100];
static Wide *volatile wide;

extern "C" void take(int size, int count)
{
    for (int i = 0; i < count; i++)
        arrays[i] = new char[size];
}

extern "C" void give(int count)
{
    for (int i = 0; i < count; i++)
        delete[] arrays[i];
}

extern "C" void take_wide()
{
    wide = new Wide;
}

extern "C" void pass_wide()
{
    delete wide;
}

// 1 when the exception has come through.
extern "C" int fail()
{
    try {
        arrays[0] = new char[(std::size_t)PTRDIFF_MAX / 2];
    } catch (const std::bad_alloc &) {
        return 1;
    }
    return 0;
}
