/* installation: where this program's other parts lie, found from where the program itself lies. */
#ifndef SONDE_CLI_INSTALLATION_H
#define SONDE_CLI_INSTALLATION_H

struct err;

/* Absolute paths, owned. */
struct installation {
    char *package; /* the folder of the Python package */
    char *agent;   /* libsonde_agent.so */
    char *heap;    /* libsonde_heap.so */
    char *mpi;     /* libsonde_mpi.so */
    char *inside;  /* the extension that is loaded into targets */
};

int installation_find(struct installation *installation, struct err *err);
void installation_clear(struct installation *installation);

#endif
