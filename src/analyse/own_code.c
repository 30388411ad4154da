#include "analyse/own_code.h"

#include <string.h>

#include "analyse/labels.h"
#include "store/recording.h"

bool own_code_is_library(const struct recording *recording, const struct code *code)
{
    const char *file = recording_text(recording, code->file);
    return (code->flags & CODE_LIBRARY) || labels_library_path(file) || strncmp(file, "<frozen ", 8) == 0;
}
