// Does what makes stacks hard to walk, for some rounds: callbacks through the C library, alloca,
// realigned frames, exceptions, lazily bound calls, handlers within handlers on another stack, threads.
//   unwind_victim ROUNDS [step]
// With `step` on one thread, and the checker is asked to step through it.
#include <algorithm>
#include <alloca.h>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <vector>

#define SEPARATE __attribute__((noinline, noclone))

static volatile double sink;

SEPARATE static int compare(const void *left, const void *right)
{
    int one = *static_cast<const int *>(left), other = *static_cast<const int *>(right);
    return (one > other) - (one < other);
}

SEPARATE static void call_back(unsigned seed)
{
    int numbers[200];
    for (int &number : numbers)
        number = static_cast<int>(seed = seed * 1103515245 + 12345);
    std::qsort(numbers, 200, sizeof numbers[0], compare);
    sink = sink + numbers[17];
}

SEPARATE static void use_alloca(size_t size)
{
    char *bytes = static_cast<char *>(alloca(size));
    std::memset(bytes, static_cast<int>(size), size);
    sink = sink + bytes[size / 2];
}

typedef double wide __attribute__((vector_size(32)));

// Its frame is aligned to 32 bytes: the caller's frame is found through a saved pointer.
__attribute__((noinline, noclone, target("avx2"))) static void use_wide(double value)
{
    volatile wide numbers[8];
    for (int index = 0; index < 8; index++)
        numbers[index] = wide{value, value + 1, value + 2, value + 3};
    use_alloca(static_cast<size_t>(64 + static_cast<int>(value) % 100));
    wide sum = numbers[3] + numbers[5];
    sink = sink + sum[1];
}

SEPARATE static void fall(int depth)
{
    std::string guard(static_cast<size_t>(40 + depth), 'x');
    if (depth == 0)
        throw std::runtime_error(guard);
    fall(depth - 1);
    sink = sink + static_cast<double>(guard.size());
}

SEPARATE static void catch_it(int depth)
{
    try {
        fall(depth);
    } catch (const std::exception &error) {
        sink = sink + static_cast<double>(std::strlen(error.what()));
    }
}

SEPARATE static double recurse(int depth, double value)
{
    return depth == 0 ? std::sin(value) : recurse(depth - 1, value + 1) + std::sqrt(value);
}

SEPARATE static void inner_handler(int)
{
    call_back(7);
}

SEPARATE static void outer_handler(int)
{
    raise(SIGUSR2);
    call_back(3);
}

SEPARATE static void handle_signals()
{
    raise(SIGUSR1);
}

// Each of these is bound at its first call.
SEPARATE static void call_lazily()
{
    char text[64];
    std::snprintf(text, sizeof text, "%d %g", 42, 0.5);
    sink = sink + std::strtod(text, nullptr) + std::atoi(text) + std::cbrt(2.0) + std::erf(0.3);
    struct tm parts;
    time_t now = 86400;
    gmtime_r(&now, &parts);
    sink = sink + static_cast<double>(std::strtoul("12", nullptr, 10));
}

SEPARATE static void sort_strings(unsigned seed)
{
    std::vector<std::string> texts;
    for (int index = 0; index < 100; index++)
        texts.push_back(std::to_string(seed = seed * 1103515245 + 12345));
    std::sort(texts.begin(), texts.end(), [](const std::string &one, const std::string &other) { return other < one; });
    sink = sink + static_cast<double>(texts[3].size());
}

SEPARATE static void round_of_work(unsigned number, bool with_wide)
{
    call_lazily();
    call_back(number);
    use_alloca(100 + number % 400);
    if (with_wide)
        use_wide(number % 50);
    catch_it(static_cast<int>(number % 7));
    sink = sink + recurse(static_cast<int>(number % 60), 1.5);
    sort_strings(number);
    handle_signals();
}

static unsigned rounds;

static void *work(void *)
{
    bool with_wide = __builtin_cpu_supports("avx2");
    for (unsigned number = 0; number < rounds; number++)
        round_of_work(number, with_wide);
    return nullptr;
}

int main(int count, char **arguments)
{
    rounds = count > 1 ? static_cast<unsigned>(std::atoi(arguments[1])) : 1000;
    static char other_stack[1 << 16];
    stack_t stack = {};
    stack.ss_sp = other_stack;
    stack.ss_size = sizeof other_stack;
    sigaltstack(&stack, nullptr);
    struct sigaction action = {};
    action.sa_handler = outer_handler;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    action.sa_handler = inner_handler;
    sigaction(SIGUSR2, &action, nullptr);
    if (count > 2) {
        raise(SIGTRAP);
        work(nullptr);
        raise(SIGTRAP);
        return 0;
    }
    pthread_t thread;
    pthread_create(&thread, nullptr, work, nullptr);
    work(nullptr);
    pthread_join(thread, nullptr);
    return 0;
}
