/* memory_region_type: memory_region as the class sonde._inside.MemoryRegion, which begins when it is made. */
#ifndef SONDE_COLLECT_INSIDE_MEMORY_REGION_TYPE_H
#define SONDE_COLLECT_INSIDE_MEMORY_REGION_TYPE_H

#include "collect/inside/interpreter.h"

int memory_region_type_add(PyObject *module);

#endif
