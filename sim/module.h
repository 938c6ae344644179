/*
 * Modules: code in a context.
 *
 * A module belongs to its context or, if it has a library, to the library; both end it.
 */
#pragma once
#include "sim/image.h"
#include "sim/sim.h"

struct sim_function;
struct sim_library;
struct sim_variable;

struct sim_module {
    struct sim_object object;
    struct sim_library *library; /* NULL: loaded without a library */
    struct sim_module *next;     /* of the library */
    struct sim_image image;      /* empty for a module of a library */
    struct sim_function *functions;
    struct sim_variable *variables;
    size_t charged_bytes; /* of the device's memory, for the module itself */
};

void sim_module_end(struct sim_module *module);
/* Finds a module for a call that needs the driver. Returns an error if its context has a fault. */
CUresult sim_module_find(CUmodule handle, struct sim_module **out);
/* Returns the image of a module or of its library. */
struct sim_image *sim_module_image(struct sim_module *module);
/* Takes device memory for the module itself. */
CUresult sim_module_charge(struct sim_module *module);
