/* Variables of modules and libraries. Initial values are not read: variables begin as zeros. */
#pragma once
#include "sim/sim.h"

struct sim_variable {
    struct sim_variable *next;
    const char *name; /* of the image */
    uint64_t address;
};

/* Frees a list of variables with their memory. */
void sim_variables_end(struct sim_variable *list);
