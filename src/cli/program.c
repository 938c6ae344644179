/* Reading from a program's file how its libraries are found. */
#include "config.h"

#include "cli/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "container/linker/elf.h"

#define CUDA "libcuda.so.1"
#define ORIGIN "$ORIGIN"

struct program {
    const char *word;
    char *path;
    int fd;
    struct stat stat;
    unsigned char ident[EI_NIDENT];
    struct ath_elf elf; /* only for 64-bit files */
};

static void program_free(struct program *program)
{
    ath_elf_free(&program->elf);
    free(program->path);
    if (program->fd >= 0)
        close(program->fd);
}

/* ---- finding the file ---- */

static bool is_program(const char *path)
{
    struct stat stat_of;
    return !access(path, X_OK) && !stat(path, &stat_of) && S_ISREG(stat_of.st_mode);
}

/* Returns the path of the program, or NULL. The caller frees it. */
static char *find(const char *word)
{
    const char *folders = getenv("PATH");
    if (strchr(word, '/'))
        return is_program(word) ? ath_xstrdup(word) : NULL;
    ath_auto_free char *copy = ath_xstrdup(folders ? folders : "/bin:/usr/bin");
    char *rest = copy, *folder;
    while ((folder = strsep(&rest, ":"))) {
        ath_auto_free char *path = ath_xasprintf("%s/%s", *folder ? folder : ".", word);
        if (is_program(path))
            return ath_steal(&path);
    }
    return NULL;
}

static bool open_program(const char *word, struct program *out)
{
    out->word = word;
    out->path = find(word);
    out->fd = out->path ? open(out->path, O_RDONLY | O_CLOEXEC) : -1;
    if (out->fd < 0 || fstat(out->fd, &out->stat) ||
        pread(out->fd, out->ident, sizeof out->ident, 0) != (ssize_t)sizeof out->ident ||
        memcmp(out->ident, ELFMAG, SELFMAG) != 0)
        return false;
    return out->ident[EI_CLASS] == ELFCLASS32 || !ath_elf_read(out->fd, word, &out->elf, NULL);
}

/* ---- reasons for doubt ---- */

static bool is_of_32_bits(const struct program *program)
{
    return program->ident[EI_CLASS] == ELFCLASS32;
}

static bool is_static(const struct program *program)
{
    return !program->elf.loader && !program->elf.needed.count;
}

/* The kernel then tells the loader to ignore environment variables (AT_SECURE). A user who has the
 * privileges already gains none. */
static bool gets_other_rights(const struct program *program)
{
    const struct stat *stat_of = &program->stat;
    return (stat_of->st_mode & S_ISUID && stat_of->st_uid != getuid()) ||
           (stat_of->st_mode & S_ISGID && stat_of->st_mode & S_IXGRP &&
            stat_of->st_gid != getgid()) ||
           (geteuid() && fgetxattr(program->fd, "security.capability", NULL, 0) > 0);
}

/* Returns a folder of the program's RPATH that has a CUDA library, or NULL. The caller frees it. */
static char *own_cuda(const struct program *program)
{
    ath_auto_free char *real = realpath(program->path, NULL);
    if (!real || !program->elf.rpath || program->elf.runpath)
        return NULL;
    const char *origin = dirname(real);
    ath_auto_free char *copy = ath_xstrdup(program->elf.rpath);
    char *rest = copy, *folder;
    while ((folder = strsep(&rest, ":"))) {
        bool is_relative = ath_starts_with(folder, ORIGIN);
        ath_auto_free char *whole = ath_xasprintf("%s%s", is_relative ? origin : "",
                                                  is_relative ? folder + strlen(ORIGIN) : folder);
        ath_auto_free char *library = ath_xasprintf("%s/%s", whole, CUDA);
        if (*whole && !access(library, F_OK))
            return ath_steal(&whole);
    }
    return NULL;
}

/* An RPATH is searched before LD_LIBRARY_PATH; the newer RUNPATH after it (ld.so(8)). */
static bool has_own_cuda(const struct program *program)
{
    ath_auto_free char *folder = own_cuda(program);
    return folder != NULL;
}

static const struct {
    bool (*is_so)(const struct program *program);
    const char *message, *hint;
} doubts[] = {
    { is_of_32_bits,
      N_("'%s' is a 32-bit program; neither CUDA nor aitherion has a library for it"),
      N_("run its 64-bit build") },
    { is_static,
      N_("'%s' is linked statically: it loads no CUDA library, so it cannot use these GPUs itself"),
      N_("link it dynamically; a static CUDA runtime (nvcc's default) is fine") },
    { gets_other_rights,
      N_("'%s' gains privileges when it starts (setuid, setgid or capabilities), so the loader "
         "ignores LD_LIBRARY_PATH"),
      N_("run aitherion with these privileges: sudo aitherion run -- PROGRAM") },
    { has_own_cuda,
      N_("'%s' names a folder with its own libcuda.so.1 (RPATH), which is found before "
         "aitherion's"),
      N_("patchelf --remove-rpath PROGRAM, or link it with -Wl,--enable-new-dtags") },
};

bool ath_program_doubt(const char *word, struct ath_err *out)
{
    ATH_AUTO(program) program = { .fd = -1 };
    if (!open_program(word, &program))
        return false;
    for (size_t i = 0; i < ATH_COUNT(doubts); i++) {
        if (!doubts[i].is_so(&program))
            continue;
        ath_err_set(out, -ENOEXEC, ATH_E_BINARY, _(doubts[i].message), word);
        ath_err_hint(out, -ENOEXEC, "%s", _(doubts[i].hint));
        return true;
    }
    return false;
}

/* ---- why it could not be run ---- */

static bool is_file(const char *path)
{
    struct stat stat_of;
    return !stat(path, &stat_of) && S_ISREG(stat_of.st_mode);
}

bool ath_program_refused(const char *word, int error, struct ath_err *out)
{
    ath_auto_free char *path = find(word);
    bool is_path = strchr(word, '/') != NULL;
    bool is_missing = error == ENOENT || error == ENOTDIR;

    ath_err_system(out, -error, _("cannot run '%s'"), word);
    if (is_missing && path)
        ath_err_hint(out, -error,
                     _("the file exists, but the interpreter or loader that it names does not"));
    else if (is_file(word) && access(word, X_OK))
        ath_err_hint(out, -error,
                     _("it is not executable: put its interpreter in front (python3 %s), or use "
                       "chmod +x"),
                     word);
    else if (is_missing && !is_path && is_file(word))
        ath_err_hint(out, -error, _("to run the file in this folder: ./%s"), word);
    return !is_missing || path;
}
