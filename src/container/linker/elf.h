/*
 * The needs of an ELF file as its headers declare them: its loader, its libraries, search folders.
 *
 * Reads 64-bit files of both byte orders (System V ABI; glibc, elf/dl-load.c for the meaning). Only
 * headers, the dynamic section and notes are read, and every offset and count is checked against
 * the file: a hostile file causes an error and costs little time.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "config/schema.h"

/* A library that the file opens by name while it runs, as the file declares in notes of the owner
 * "FDO" (UAPI group, "ELF Dlopen Metadata"; base/late.h writes them). */
struct ath_elf_late {
    struct ath_texts names; /* any of them is enough, the first is best */
    bool is_required;
};

struct ath_elf {
    uint16_t machine;        /* EM_X86_64... */
    bool is_big;             /* byte order */
    bool is_shared;          /* ET_DYN: a library, or a position-independent program */
    char *loader;            /* PT_INTERP; NULL for libraries and static programs */
    char *rpath, *runpath;   /* folders with colons between them, unchanged; NULL */
    bool has_own_paths_only; /* DF_1_NODEFLIB */
    struct ath_texts needed;
    struct ath_elf_late *lates;
    size_t late_count;
};

/*
 * Reads an open regular file; its position does not change. name is for messages. Returns 0, or
 * -ENOEXEC with err "binary-invalid" (not ELF, 32 bits, broken), or -EIO. *out is released with
 * ath_elf_free().
 */
int ath_elf_read(int fd, const char *name, struct ath_elf *out, struct ath_err *err);
void ath_elf_free(struct ath_elf *elf);

/* Return Docker's name of an architecture ("amd64", "arm64", "ppc64le"), and Debian's folder for
 * its libraries ("x86_64-linux-gnu"); NULL for an unknown one. */
const char *ath_elf_architecture(uint16_t machine, bool is_big);
const char *ath_elf_triplet(uint16_t machine, bool is_big);
