// A C++ extension that calls back into Python: through templates, std::function and exceptions, and with threads that
// never run Python (OpenMP's where there is one, else std::thread). Of the stable ABI: one build for every Python.
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#include <cmath>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

struct PythonFailed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

long call(PyObject *function, long number)
{
    PyObject *result = PyObject_CallFunction(function, "l", number);
    if (!result)
        throw PythonFailed("the callback failed");
    long value = PyLong_AsLong(result);
    Py_DECREF(result);
    return value;
}

template <int depth> __attribute__((noinline)) long descend(const std::function<long(long)> &function, long number)
{
    volatile long own = number + depth;
    long inner = descend<depth - 1>(function, number);
    return inner + own - number - depth;
}

template <> __attribute__((noinline)) long descend<0>(const std::function<long(long)> &function, long number)
{
    return function(number);
}

PyObject *apply_to(PyObject *, PyObject *arguments)
{
    PyObject *function;
    long number;
    if (!PyArg_ParseTuple(arguments, "Ol", &function, &number))
        return nullptr;
    try {
        return PyLong_FromLong(descend<5>([&](long value) { return call(function, value); }, number));
    } catch (const PythonFailed &) {
        PyErr_Clear();
        return PyLong_FromLong(-1);
    }
}

__attribute__((noinline)) double spin_for(long turns)
{
    double sum = 0;
    for (long turn = 1; turn < turns; turn++)
        sum += std::sin(sum + 1.0 / static_cast<double>(turn));
    return sum;
}

PyObject *spin_in_threads(PyObject *, PyObject *arguments)
{
    long turns;
    if (!PyArg_ParseTuple(arguments, "l", &turns))
        return nullptr;
    double sum = 0;
    Py_BEGIN_ALLOW_THREADS
#ifdef _OPENMP
#pragma omp parallel for reduction(+ : sum) num_threads(3)
    for (int part = 0; part < 3; part++)
        sum += spin_for(turns);
#else
    std::vector<std::thread> threads;
    std::vector<double> sums(3);
    for (int part = 0; part < 3; part++)
        threads.emplace_back([&sums, part, turns] { sums[part] = spin_for(turns); });
    for (int part = 0; part < 3; part++) {
        threads[part].join();
        sum += sums[part];
    }
#endif
    Py_END_ALLOW_THREADS
    return PyFloat_FromDouble(sum);
}

PyMethodDef methods[] = {{"apply_to", apply_to, METH_VARARGS, nullptr},
                         {"spin_in_threads", spin_in_threads, METH_VARARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "called_back", nullptr, -1, methods, nullptr, nullptr, nullptr,
                          nullptr};

} // namespace

PyMODINIT_FUNC PyInit_called_back(void)
{
    return PyModule_Create(&definition);
}
