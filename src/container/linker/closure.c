/* Finds the libraries of a program, and their libraries. */
#include "config.h"

#include "container/linker/closure.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "container/linker/elf.h"
#include "container/linker/ld_cache.h"

enum { FILES_MAX = 512, NO_ONE = -1 };

/* Private facts about the item of the same index. */
struct object {
    struct ath_elf elf;
    char *folder; /* $ORIGIN */
    int needer;   /* index; NO_ONE */
};

struct walk {
    const struct ath_root *root;
    struct ath_closure closure;
    struct object *objects;
    size_t object_count;
    struct ath_ld_cache cache;
    struct ath_texts folders; /* of the configuration, then the built-in ones */
    size_t configured;        /* number of the configuration's folders */
};

static void walk_free(struct walk *walk)
{
    ath_closure_free(&walk->closure);
    for (size_t i = 0; i < walk->object_count; i++) {
        ath_elf_free(&walk->objects[i].elf);
        free(walk->objects[i].folder);
    }
    free(walk->objects);
    ath_ld_cache_free(&walk->cache);
    ath_texts_free(&walk->folders);
}

void ath_closure_free(struct ath_closure *closure)
{
    if (!closure)
        return;
    for (size_t i = 0; i < closure->count; i++) {
        free(closure->items[i].name);
        free(closure->items[i].path);
        free(closure->items[i].needer);
    }
    free(closure->items);
    ath_texts_free(&closure->from_host);
    *closure = (struct ath_closure){ 0 };
}

/* Recognises NVIDIA's driver: libcuda.so.1, libnvidia-ml.so.1, libcudadebugger.so.1. The toolkit's
 * libraries (libcudart, libcublas) are packed. */
bool ath_closure_is_from_host(const char *name)
{
    static const char *const starts[] = { "libcuda.so", "libcudadebugger.so", "libnvidia-",
                                          "libnvcuvid.so", "libnvoptix.so" };
    for (size_t i = 0; i < ATH_COUNT(starts); i++)
        if (ath_starts_with(name, starts[i]))
            return true;
    return false;
}

/* ---- found files ---- */

/* Adds a file. Takes elf over. */
static void add(struct walk *walk, const char *name, const char *path, int needer, int fd,
                struct ath_elf *elf)
{
    struct stat facts = { 0 };
    ath_auto_free char *copy = ath_xstrdup(path);
    struct ath_closure_file *file =
        ath_push(&walk->closure.items, &walk->closure.count, sizeof *file);
    struct object *object = ath_push(&walk->objects, &walk->object_count, sizeof *object);

    fstat(fd, &facts);
    file->name = ath_xstrdup(name);
    file->path = ath_xstrdup(path);
    file->needer = needer == NO_ONE ? NULL : ath_xstrdup(walk->closure.items[needer].name);
    file->size_bytes = facts.st_size;
    object->elf = *elf;
    *elf = (struct ath_elf){ 0 };
    object->folder = ath_xstrdup(dirname(copy));
    object->needer = needer;
}

/* Libraries refer to the loader by its file name: "ld-linux-x86-64.so.2". */
static bool has(const struct walk *walk, const char *name)
{
    for (size_t i = 1; i < walk->closure.count; i++) {
        const char *known = walk->closure.items[i].name, *slash = strrchr(known, '/');
        if (!strcmp(known, name) ||
            (i == 1 && walk->closure.has_loader && slash && !strcmp(slash + 1, name)))
            return true;
    }
    return false;
}

/* ---- looking for one library ---- */

/* Adds path and returns true if it is a library for the program's machine. Like the linker, skips
 * libraries of the same name for other machines. */
static bool try_path(struct walk *walk, const char *path, const char *name, int needer)
{
    ATH_AUTO(ath_elf) elf = { 0 };
    ath_auto_close int fd = path[0] == '/' ? ath_root_open_file(walk->root, path + 1) : -1;

    if (fd < 0 || ath_elf_read(fd, path, &elf, NULL) || !elf.is_shared ||
        elf.machine != walk->closure.machine || elf.is_big != walk->closure.is_big)
        return false;
    add(walk, name, path, needer, fd, &elf);
    return true;
}

static bool try_folder(struct walk *walk, const char *folder, const char *name, int needer)
{
    ath_auto_free char *path = ath_xasprintf("%s/%s", folder, name);
    return try_path(walk, path, name, needer);
}

/* Expands "$ORIGIN/../lib" for an object in origin. Returns NULL for a folder with $LIB or
 * $PLATFORM, whose meaning is built into the linker. The caller frees the text. */
static char *expand(const char *folder, const char *origin)
{
    struct ath_text out = { 0 };

    while (*folder) {
        size_t plain = strcspn(folder, "$");
        ath_text_add_bytes(&out, folder, plain);
        folder += plain;
        if (!*folder)
            break;
        size_t length = ath_starts_with(folder, "$ORIGIN")     ? strlen("$ORIGIN")
                        : ath_starts_with(folder, "${ORIGIN}") ? strlen("${ORIGIN}")
                                                               : 0;
        if (!length) {
            ath_text_free(&out);
            return NULL;
        }
        ath_text_add(&out, "%s", origin);
        folder += length;
    }
    return ath_text_take(&out);
}

/* Tries a list of folders with colons between them; NULL: none. */
static bool try_list(struct walk *walk, const char *list, const char *origin, const char *name,
                     int needer)
{
    ath_auto_free char *copy = ath_xstrdup(list);
    char *rest = copy, *part;
    bool is_found = false;

    while (!is_found && (part = strsep(&rest, ":"))) {
        ath_auto_free char *folder = expand(part, origin);
        is_found = folder && try_folder(walk, folder, name, needer);
    }
    return is_found;
}

/* DT_RUNPATH counts only for the object itself. DT_RPATH also counts for the libraries further
 * down, but only in an object without DT_RUNPATH. */
static bool try_own_paths(struct walk *walk, const char *name, int needer)
{
    bool is_found = false;

    if (!walk->objects[needer].elf.runpath)
        for (int i = needer; i != NO_ONE && !is_found; i = walk->objects[i].needer) {
            const struct object *object = &walk->objects[i];
            if (object->elf.rpath && !object->elf.runpath)
                is_found = try_list(walk, object->elf.rpath, object->folder, name, needer);
        }
    const struct object *object = &walk->objects[needer];
    return is_found || (object->elf.runpath &&
                        try_list(walk, object->elf.runpath, object->folder, name, needer));
}

static bool try_cache(struct walk *walk, const char *name, int needer)
{
    struct ath_ld_entry entry;
    size_t place = 0;

    while (ath_ld_cache_next(&walk->cache, &place, &entry))
        if (!entry.is_for_a_few && !strcmp(entry.name, name) &&
            try_path(walk, entry.path, name, needer))
            return true;
    return false;
}

static bool try_folders(struct walk *walk, const char *name, int needer)
{
    size_t first = walk->cache.count ? walk->configured : 0;
    for (size_t i = first; i < walk->folders.count; i++)
        if (try_folder(walk, walk->folders.items[i], name, needer))
            return true;
    return false;
}

static bool look_for(struct walk *walk, const char *name, int needer)
{
    if (strchr(name, '/'))
        return try_path(walk, name, name, needer);
    return try_own_paths(walk, name, needer) || try_cache(walk, name, needer) ||
           (!walk->objects[needer].elf.has_own_paths_only && try_folders(walk, name, needer));
}

/* ---- the walk ---- */

/* The name becomes a file's name in an archive, and is printed to terminals. */
static bool is_plain(const char *name)
{
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return false;
    return *name && strcmp(name, ".") && strcmp(name, "..") && !strstr(name, "/../") &&
           strlen(name) < PATH_MAX && name[strlen(name) - 1] != '/';
}

static int missing(const struct walk *walk, const char *name, int needer, struct ath_err *err)
{
    ath_err_set(err, -ENOENT, ATH_E_LIBRARY,
                _("the dynamic linker does not find the library '%s', which '%s' needs"), name,
                walk->closure.items[needer].name);
    return ath_err_hint(err, -ENOENT,
                        _("install the package with this library, or add its folder to "
                          "/etc/ld.so.conf.d and run ldconfig"));
}

/* Finds one library, unless it was found before. Returns 0, or a negative errno with err. */
static int need(struct walk *walk, const char *name, int needer, struct ath_err *err)
{
    if (!is_plain(name))
        return ath_err_set(err, -ENOEXEC, ATH_E_BINARY,
                           _("'%s' needs a library with an impossible name"),
                           walk->closure.items[needer].name);
    if (ath_closure_is_from_host(name)) {
        if (!ath_texts_has(&walk->closure.from_host, name))
            ath_texts_add(&walk->closure.from_host, name);
        return 0;
    }
    if (has(walk, name))
        return 0;
    if (walk->closure.count == FILES_MAX)
        return ath_err_set(err, -ENOEXEC, ATH_E_BINARY, _("'%s' needs more than %d libraries"),
                           walk->closure.items[0].name, FILES_MAX);
    return look_for(walk, name, needer) ? 0 : missing(walk, name, needer, err);
}

/* Finds the first existing library of the list. Finding none is an error only if one is
 * required. */
static int need_late(struct walk *walk, const struct ath_elf_late *late, int needer,
                     struct ath_err *err)
{
    struct ath_err first = { 0 }, each;
    int status = -ENOENT;

    for (size_t i = 0; i < late->names.count && status == -ENOENT; i++) {
        status = need(walk, late->names.items[i], needer, &each);
        if (!i || status != -ENOENT)
            first = each;
    }
    if (!status || (status == -ENOENT && !late->is_required))
        return 0;
    ath_err_copy(err, &first);
    return status;
}

/* A library opened late is only packed if the program, or the library itself, requires it. Adding
 * objects moves the array, so the lists are copied. */
static int need_all_of(struct walk *walk, int index, struct ath_err *err)
{
    const struct ath_texts needed = walk->objects[index].elf.needed;
    const struct ath_elf_late *lates = walk->objects[index].elf.lates;
    size_t late_count = walk->objects[index].elf.late_count;
    int status = 0;

    for (size_t i = 0; i < needed.count && !status; i++)
        status = need(walk, needed.items[i], index, err);
    for (size_t i = 0; i < late_count && !status && walk->closure.has_loader; i++)
        if (!index || lates[i].is_required)
            status = need_late(walk, &lates[i], index, err);
    return status;
}

static int add_program(struct walk *walk, const char *program, struct ath_err *err)
{
    ATH_AUTO(ath_elf) elf = { 0 };
    ath_auto_close int fd = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ath_auto_free char *real = realpath(program, NULL);
    const char *slash = strrchr(program, '/');
    struct stat facts;

    if (fd < 0 || fstat(fd, &facts))
        return ath_err_system(err, -errno, _("cannot read the program '%s'"), program);
    if (!S_ISREG(facts.st_mode))
        return ath_err_set(err, -ENOEXEC, ATH_E_BINARY, _("'%s' is not a program"), program);
    int status = ath_elf_read(fd, program, &elf, err);
    if (status)
        return status;
    walk->closure.machine = elf.machine;
    walk->closure.is_big = elf.is_big;
    add(walk, slash ? slash + 1 : program, real ? real : program, NO_ONE, fd, &elf);
    return 0;
}

static int add_loader(struct walk *walk, struct ath_err *err)
{
    const char *loader = walk->objects[0].elf.loader;

    if (!loader && walk->objects[0].elf.needed.count)
        return ath_err_set(err, -ENOEXEC, ATH_E_BINARY, _("'%s' is a library, not a program"),
                           walk->closure.items[0].path);
    if (!loader)
        return 0;
    if (!is_plain(loader))
        return ath_err_set(err, -ENOEXEC, ATH_E_BINARY, _("'%s' is not a program"),
                           walk->closure.items[0].path);
    walk->closure.has_loader = true;
    return try_path(walk, loader, loader, 0) ? 0 : missing(walk, loader, 0, err);
}

static void read_folders(struct walk *walk)
{
    const char *triplet = ath_elf_triplet(walk->closure.machine, walk->closure.is_big);
    static const char *const built_in[] = { "/lib64", "/usr/lib64", "/lib", "/usr/lib" };

    ath_ld_cache_read(walk->root, &walk->cache);
    ath_ld_folders_read(walk->root, &walk->folders);
    walk->configured = walk->folders.count;
    for (size_t i = 0; triplet && i < 2; i++) {
        ath_auto_free char *folder = ath_xasprintf("%s/lib/%s", i ? "/usr" : "", triplet);
        ath_texts_add(&walk->folders, folder);
    }
    for (size_t i = 0; i < ATH_COUNT(built_in); i++)
        ath_texts_add(&walk->folders, built_in[i]);
}

/* Breadth first, so that the linker's choice wins if two libraries have the same name. Libraries
 * opened late come last. */
static int walk_all(struct walk *walk, size_t *place, struct ath_err *err)
{
    int status = 0;
    for (; *place < walk->object_count && !status; (*place)++)
        status = need_all_of(walk, (int)*place, err);
    return status;
}

int ath_closure_find(const char *program, const struct ath_root *root,
                     const struct ath_closure_late *lates, size_t late_count,
                     struct ath_closure *out, struct ath_err *err)
{
    ATH_AUTO(walk) walk = { .root = root };
    size_t place = 0;

    int status = add_program(&walk, program, err);
    if (status)
        return status;
    read_folders(&walk);
    status = add_loader(&walk, err);
    if (!status)
        status = walk_all(&walk, &place, err);
    for (size_t i = 0; i < late_count && !status && walk.closure.has_loader; i++) {
        char *name = (char *)lates[i].name;
        const struct ath_elf_late late = { .names = { &name, 1 },
                                           .is_required = lates[i].is_required };
        status = need_late(&walk, &late, 0, err);
        if (!status)
            status = walk_all(&walk, &place, err);
    }
    if (status)
        return status;
    *out = walk.closure;
    walk.closure = (struct ath_closure){ 0 };
    return 0;
}
