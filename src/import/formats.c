#include "import/formats.h"

#include <stdio.h>

#include "base/err.h"
#include "import/collapsed_reader.h"
#include "import/lprof_reader.h"
#include "import/mprof_reader.h"
#include "import/ppk_reader.h"
#include "import/pstats_reader.h"
#include "import/speedscope_reader.h"
#include "import/tau_reader.h"
#include "store/pack.h"
#include "store/reader.h"

const struct format formats[] = {
    {"sonde", "a sonde recording", reader_recognises, reader_read, true},
    {"pstats", "a cProfile file", pstats_reader_recognises, pstats_reader_read, true},
    {"lprof", "a line_profiler file", lprof_reader_recognises, lprof_reader_read, true},
    {"mprof", "an mprof file", mprof_reader_recognises, mprof_reader_read, true},
    {"ppk", "a packed TAU profile", ppk_reader_recognises, ppk_reader_read, true},
    {"tau", "a TAU profile", tau_reader_recognises, tau_reader_read, false},
    {"speedscope", "a speedscope file", speedscope_reader_recognises, speedscope_reader_read, false},
    {"collapsed", "collapsed stacks", collapsed_reader_recognises, collapsed_reader_read, false},
    {0},
};

const struct format *formats_find(const void *data, size_t size)
{
    for (const struct format *format = formats; format->name; format++)
        if (format->recognises(data, size))
            return format;
    return NULL;
}

static int refuse(const char *name, size_t size, struct err *err)
{
    char known[768] = "";
    size_t used = 0;
    for (const struct format *format = formats; format->name && used < sizeof known; format++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s (%s)",
                                 format == formats ? "" : ", ", format->words, format->name);
    if (size == 0)
        return err_set(err, "%s is empty; sonde reads %s", name, known);
    return err_set(err, "%s is of no format that sonde knows; sonde reads %s", name, known);
}

int formats_read(const void *data, size_t size, const char *name, struct recording *recording,
                 struct err *err)
{
    const struct format *format = formats_find(data, size);
    if (pack_recognises(data, size))
        return err_set(err, "%s is a packed run; unpack it first: sonde unpack %s", name, name);
    return format ? format->read(data, size, name, recording, err) : refuse(name, size, err);
}
