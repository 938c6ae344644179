/*
 * A program with everything that it needs to run elsewhere: its loader, and the shared libraries
 * that the dynamic linker would find for it (ld.so(8)). Finding them runs no program.
 *
 * The search follows the linker: DT_RPATH of the needing object and of the objects that need it,
 * DT_RUNPATH, the cache (without a cache, as in a root made of packages, the configuration's
 * folders), the built-in folders. LD_LIBRARY_PATH is ignored, because the result must not depend on
 * the packer's environment. If a library exists in several variants, the one for every processor is
 * taken.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/root.h"
#include "config/schema.h"

struct ath_closure_file {
    char *name; /* as requested: "libnettle.so.8", or a path; of the program: its file name */
    char *path; /* of the program as given, otherwise from the root: "/lib/x86_64-linux-gnu/..." */
    char *needer; /* name of the first file that needs it; NULL for the program */
    int64_t size_bytes;
};

struct ath_closure {
    uint16_t machine;
    bool is_big;
    struct ath_closure_file *items; /* the program, its loader, libraries in the order found */
    size_t count;
    bool has_loader;            /* items[1]; false: the program is static and the only item */
    struct ath_texts from_host; /* needed libraries of a GPU's driver, which are left out */
};

/* A library opened by name while the program runs, beyond those that its notes declare (elf.h). */
struct ath_closure_late {
    const char *name;
    bool is_required;
};

/*
 * program    a file, not searched in root
 * root       in which libraries are searched
 * lates      late_count of them; ignored for a static program
 * Returns 0, or a negative errno with err: "not-found" (the program), "binary-invalid",
 * "library-missing" (the message names the library and the file that needs it). *out is released
 * with ath_closure_free().
 */
int ath_closure_find(const char *program, const struct ath_root *root,
                     const struct ath_closure_late *lates, size_t late_count,
                     struct ath_closure *out, struct ath_err *err);
void ath_closure_free(struct ath_closure *closure);

/* Returns true for a library of a GPU's driver. Its version must match the kernel module, so it
 * comes from the host that runs the container and is never packed. */
bool ath_closure_is_from_host(const char *name);
