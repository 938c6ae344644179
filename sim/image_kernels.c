/* The kernels of an image that the simulated device can run. */
#include "config.h"

#include "sim/image_kernels.h"

#include <stdio.h>
#include <string.h>

#include "sim/image.h"
#include "sim/programs.h"

const struct sim_symbol *sim_image_symbol(const struct sim_image *image, const char *name,
                                          bool is_kernel)
{
    for (size_t i = 0; i < image->count; i++)
        if (image->symbols[i].is_kernel == is_kernel && !strcmp(image->symbols[i].name, name))
            return &image->symbols[i];
    return NULL;
}

const struct sim_program *sim_image_program(const struct sim_image *image, const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%";
    const struct sim_program *program = sim_program_find(name);
    bool is_there = image->is_opaque || sim_image_symbol(image, name, true);

    if (is_there && !program)
        fprintf(stderr,
                "aitherion: this program's GPU is simulated (aitherion start --sim) and has no "
                "kernel '%.*s': it runs only the kernels of aitherion's own examples and tests, by "
                "name\n",
                (int)strspn(name, letters), name);
    return is_there ? program : NULL;
}

const char *sim_image_kernel(const struct sim_image *image, size_t number)
{
    if (image->is_opaque) {
        const struct sim_program *program = sim_program_number(number);
        return program ? program->mangled : NULL;
    }
    for (size_t i = 0; i < image->count; i++)
        if (image->symbols[i].is_kernel && sim_program_find(image->symbols[i].name) && !number--)
            return image->symbols[i].name;
    return NULL;
}

unsigned int sim_image_count_kernels(const struct sim_image *image)
{
    unsigned int count = 0;
    while (sim_image_kernel(image, count))
        count++;
    return count;
}
