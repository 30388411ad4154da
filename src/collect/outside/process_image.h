/*
 * process_image: a running process as a target_image: its mappings, its memory, its files.
 *
 * Files are opened as that process sees them (another root, another mount namespace) and only believed when they
 * are still the ones that are mapped; replaced and deleted ones through /proc/PID/exe and map_files.
 */
#ifndef SONDE_COLLECT_OUTSIDE_PROCESS_IMAGE_H
#define SONDE_COLLECT_OUTSIDE_PROCESS_IMAGE_H

#include "collect/outside/target_python.h"

struct process_image {
    struct target_image image;
    uint32_t pid;
    char *text; /* of /proc/PID/maps; the paths point into it */
};

int process_image_open(struct process_image *process, uint32_t pid, struct err *err);
void process_image_close(struct process_image *process);

#endif
