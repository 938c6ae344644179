/*
 * What an ELF file says that it needs to run: its loader, its libraries, where to look for them.
 *
 * 64-bit files of both byte orders (System V ABI; glibc, elf/dl-load.c, for what is made of it).
 * Only headers, the dynamic section and notes are read, and every offset and count in them is
 * checked against the file: a hostile file costs an error and little time.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "config/schema.h"

/* What is opened by name while it runs, as the file itself declares it (UAPI group, "ELF Dlopen
 * Metadata": notes of the owner "FDO"; base/late.h writes them). */
struct ath_elf_late {
    struct ath_texts names; /* any one of them will do, the first is the best */
    bool is_required;
};

struct ath_elf {
    uint16_t machine;        /* EM_X86_64... */
    bool is_big;             /* byte order */
    bool is_shared;          /* ET_DYN: a library, or a program that can lie anywhere */
    char *loader;            /* PT_INTERP; NULL for libraries and static programs */
    char *rpath, *runpath;   /* folders parted by colons, as they stand there; NULL */
    bool has_own_paths_only; /* DF_1_NODEFLIB */
    struct ath_texts needed;
    struct ath_elf_late *lates;
    size_t late_count;
};

/*
 * Reads an open regular file; its position stays as it is. name is for messages. Returns 0, or
 * -ENOEXEC with err "binary-invalid" (no ELF file, of 32 bits, broken), or -EIO. *out is released
 * with ath_elf_free().
 */
int ath_elf_read(int fd, const char *name, struct ath_elf *out, struct ath_err *err);
void ath_elf_free(struct ath_elf *elf);

/* Docker's word for a machine ("amd64", "arm64", "ppc64le"), and the folder that Debian has for its
 * libraries ("x86_64-linux-gnu"); NULL for one that we do not know. */
const char *ath_elf_architecture(uint16_t machine, bool is_big);
const char *ath_elf_triplet(uint16_t machine, bool is_big);
