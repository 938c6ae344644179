/*
 * The kernels of an image that the simulated device can run: it knows them (programs.h), and the
 * image contains them or cannot be read.
 */
#pragma once
#include "sim/sim.h"

struct sim_image;
struct sim_program;
struct sim_symbol;

/* Returns the kernel or variable of this name, or NULL. */
const struct sim_symbol *sim_image_symbol(const struct sim_image *image, const char *name,
                                          bool is_kernel);

/*
 * Finds the simulated kernel of this name. Prints a line if the image has the kernel and the
 * simulated GPU cannot run it: with the error code alone the user would search in the program. A
 * server passes the line on to the program and to its own log, so it has only letters of
 * identifiers (PTX ISA, "Identifiers").
 */
const struct sim_program *sim_image_program(const struct sim_image *image, const char *name);

/* Returns the name of the n-th kernel, or NULL. An unreadable image has all kernels of the
 * device. */
const char *sim_image_kernel(const struct sim_image *image, size_t number);
unsigned int sim_image_count_kernels(const struct sim_image *image);
