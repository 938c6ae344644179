/* Images of code: their symbols. */
#pragma once
#include "sim/sim.h"

struct sim_symbol {
    char *name;
    bool is_kernel;
    bool is_managed; /* a variable that the host can use too */
    size_t bytes;    /* of a variable; its initial values are zeros */
};

/* The contents of a fatbin, an ELF file or PTX; the symbols of compressed parts are unknown. */
struct sim_image {
    struct sim_symbol *symbols;
    size_t count;
    bool is_opaque; /* has symbols that are not listed */
    bool is_runnable,
        is_linking; /* scratch: some part is for this device; relocatable code counts */
};
CUresult sim_image_read(const void *image, struct sim_image *out);
/* Reads an input of the linker: relocatable code counts. */
CUresult sim_image_read_input(const void *image, struct sim_image *out);
/* Adds a copy of a symbol, unless the image has one of this name. */
CUresult sim_image_add(struct sim_image *image, const struct sim_symbol *symbol);
/* Adds a variable that the image hides. */
CUresult sim_image_add_variable(struct sim_image *image, const char *name, size_t bytes);
void sim_image_free(struct sim_image *image);

/* Returns the file with NUL bytes at its end, or NULL if it cannot be read. The caller frees it.
 * Takes no lock. */
char *sim_read_file(const char *path, size_t *out_size);
