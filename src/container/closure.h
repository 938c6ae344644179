/*
 * A program with all that it needs to run elsewhere: its loader, and the shared libraries that the
 * dynamic linker would find for it (ld.so(8)), without running anything.
 *
 * Looked for as the linker does: DT_RPATH of whoever needs it and of those who need them,
 * DT_RUNPATH, the cache (the configuration's folders where there is no cache, as in a root made of
 * packages), the folders built in. Not LD_LIBRARY_PATH: what is packed must not depend on who packs
 * it. Of libraries in several makes the one for every processor is taken.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/root.h"
#include "config/schema.h"

struct ath_closure_file {
    char *name;   /* as it is asked for: "libnettle.so.8", or a path; of the program: its file's */
    char *path;   /* of the program as given, else from the root: "/lib/x86_64-linux-gnu/..." */
    char *needer; /* the name of the first who needs it; NULL for the program */
    int64_t size_bytes;
};

struct ath_closure {
    uint16_t machine;
    bool is_big;
    struct ath_closure_file *items; /* the program, its loader, libraries in the order found */
    size_t count;
    bool has_loader;            /* items[1]; else the program is static and all there is */
    struct ath_texts from_host; /* needed, and left out: libraries of a GPU's driver */
};

/* What is opened by name while the program runs, beside what its own notes declare (elf.h). */
struct ath_closure_late {
    const char *name;
    bool is_required;
};

/*
 * program    a file, not looked up in root
 * root       where libraries are looked for
 * lates      late_count of them; passed over for a static program
 * Returns 0, or a negative errno with err: "not-found" (the program), "binary-invalid",
 * "library-missing" (the message names the library and who needs it). *out is released with
 * ath_closure_free().
 */
int ath_closure_find(const char *program, const struct ath_root *root,
                     const struct ath_closure_late *lates, size_t late_count,
                     struct ath_closure *out, struct ath_err *err);
void ath_closure_free(struct ath_closure *closure);

/* Whether a library belongs to a GPU's driver: it must be of the kernel module's version, so it
 * comes from the host that runs the container and is never packed. */
bool ath_closure_is_from_host(const char *name);
