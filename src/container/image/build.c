/* Lays out the image, and computes its digests. */
#include "config.h"

#include "container/image/build.h"

#include <errno.h>
#include <jansson.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/paths.h"
#include "base/text.h"
#include "container/linker/closure.h"
#include "container/linker/elf.h"
#include "container/plan/plan.h"

#define PROGRAM_PATH "usr/bin/" ATH_PLAN_RUNTIME

enum { READ_BYTES = 256 * 1024 };

/* Libraries that glibc itself opens by name: to end threads (nptl, unwind-forcedunwind.c), and
 * before 2.34 to look up hosts and users. */
static const struct ath_closure_late lates[] = {
    { "libgcc_s.so.1", false },
    { "libnss_dns.so.2", false },
    { "libnss_files.so.2", false },
};

static const struct {
    const char *name;
    unsigned int mode;
} folders[] = {
    { "dev", 0755 }, { "etc", 0755 },     { "proc", 0755 },      { "run", 0755 },
    { "sys", 0755 }, { "tmp", 01777 },    { "usr", 0755 },       { "usr/bin", 0755 },
    { "var", 0755 }, { "usr/lib", 0755 }, { "usr/lib64", 0755 }, { "usr/sbin", 0755 },
};

static const struct {
    const char *name, *target;
} links[] = {
    { "bin", "usr/bin" },   { "lib", "usr/lib" },    { "lib64", "usr/lib64" },
    { "sbin", "usr/sbin" }, { "var/run", "../run" },
};

static const struct {
    const char *name, *text;
} texts[] = {
    { "etc/group", "root:x:0:\nnogroup:x:65534:\n" },
    { "etc/hosts", "127.0.0.1 localhost\n::1 localhost\n" },
    { "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n" },
    { "etc/passwd",
      "root:x:0:0:root:/:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n" },
};

void ath_image_free(struct ath_image *image)
{
    if (!image)
        return;
    free(image->tag);
    for (size_t i = 0; i < image->file_count; i++) {
        free(image->files[i].path);
        free(image->files[i].source);
        free(image->files[i].needer);
    }
    free(image->files);
    ath_texts_free(&image->from_host);
    ath_tar_free(&image->layer);
    ath_tar_free(&image->archive);
    ath_root_free(&image->root);
    free(image);
}

/* ---- the layout ---- */

/* Returns a path inside the image, where /lib and similar folders are links into /usr. The caller
 * frees it. */
static char *merged(const char *path)
{
    path += strspn(path, "/");
    for (size_t i = 0; i < ATH_COUNT(links); i++) {
        size_t length = strlen(links[i].name);
        if (ath_starts_with(path, links[i].name) && path[length] == '/' &&
            ath_starts_with(links[i].target, "usr/"))
            return ath_xasprintf("usr/%s", path);
    }
    return ath_xstrdup(path);
}

/* Returns the folder for libraries; "usr/lib" without glibc (musl looks there). The caller frees
 * it. */
static char *library_folder(const struct ath_closure *closure)
{
    for (size_t i = 0; i < closure->count; i++)
        if (!strcmp(closure->items[i].name, "libc.so.6")) {
            ath_auto_free char *path = merged(closure->items[i].path);
            return ath_xstrdup(dirname(path));
        }
    return ath_xstrdup("usr/lib");
}

static bool has_file(const struct ath_image *image, const char *path)
{
    for (size_t i = 0; i < image->file_count; i++)
        if (!strcmp(image->files[i].path + 1, path))
            return true;
    return false;
}

static void add_file(struct ath_image *image, const char *path, const char *source,
                     const char *needer, int64_t size_bytes)
{
    struct ath_image_file *added = ath_push(&image->files, &image->file_count, sizeof *added);
    *added = (struct ath_image_file){ .path = ath_xasprintf("/%s", path),
                                      .source = ath_xstrdup(source),
                                      .needer = ath_xstrdup(needer),
                                      .size_bytes = size_bytes };
    image->content_bytes += size_bytes;
}

static void add_files(struct ath_image *image, const struct ath_closure *closure)
{
    ath_auto_free char *folder = library_folder(closure);

    for (size_t i = 0; i < closure->count; i++) {
        const struct ath_closure_file *file = &closure->items[i];
        ath_auto_free char *path = !i ? ath_xstrdup(PROGRAM_PATH)
                                   : strchr(file->name, '/')
                                       ? merged(file->name)
                                       : ath_xasprintf("%s/%s", folder, file->name);
        if (has_file(image, path))
            continue;
        add_file(image, path, file->path, file->needer, file->size_bytes);
    }
}

/* Adds the simulated driver for `start --sim`, and the libraries for programs in the container that
 * use its GPUs (`run --local --docker exec`), if installed. They need no library that the runtime
 * does not need. */
static void add_drivers(struct ath_image *image)
{
    static const char *const names[] = { "local/libcuda.so.1", "local/libnvidia-ml.so.1",
                                         "sim/libcuda.so.1", "sim/libnvidia-ml.so.1" };
    for (size_t i = 0; i < ATH_COUNT(names); i++) {
        ath_auto_free char *found = ath_path_library(names[i]);
        ath_auto_free char *source = found ? realpath(found, NULL) : NULL;
        ath_auto_free char *path = ath_xasprintf("%s/%s", &ATH_IMAGE_LIBRARIES[1], names[i]);
        struct stat file;
        if (source && !stat(source, &file))
            add_file(image, path, source, ATH_PLAN_RUNTIME, file.st_size);
    }
}

static bool has_entry(const struct ath_tar *tar, const char *name)
{
    for (size_t i = 0; i < tar->count; i++)
        if (!strcmp(tar->entries[i].name, name))
            return true;
    return false;
}

/* Adds the missing folders above a path. */
static void add_parents(struct ath_tar *tar, const char *path)
{
    ath_auto_free char *copy = ath_xstrdup(path);

    for (char *slash = strchr(copy, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (!has_entry(tar, copy))
            ath_tar_add_folder(tar, copy, 0755);
        *slash = '/';
    }
}

/* Only the program and the loader are executable. */
static void make_layer(struct ath_image *image, bool has_loader)
{
    struct ath_tar *layer = &image->layer;

    for (size_t i = 0; i < ATH_COUNT(folders); i++)
        ath_tar_add_folder(layer, folders[i].name, folders[i].mode);
    for (size_t i = 0; i < ATH_COUNT(links); i++)
        ath_tar_add_link(layer, links[i].name, links[i].target);
    for (size_t i = 0; i < ATH_COUNT(texts); i++)
        ath_tar_add_bytes(layer, texts[i].name, 0644, texts[i].text, strlen(texts[i].text));
    for (size_t i = 0; i < image->file_count; i++) {
        const struct ath_image_file *file = &image->files[i];
        add_parents(layer, file->path + 1);
        ath_tar_add_file(layer, file->path + 1, i < 1u + has_loader ? 0755 : 0644,
                         i ? &image->root : NULL, file->source, file->size_bytes);
    }
}

/* ---- digests ---- */

static int digest_tar(const struct ath_tar *tar, char out[ATH_DIGEST_TEXT], struct ath_err *err)
{
    struct ath_tar_reader reader = { .tar = tar };
    struct ath_digest digest;
    ath_auto_free char *buffer = ath_xalloc(READ_BYTES);
    ssize_t got = 0;

    int status = ath_digest_begin(&digest, err);
    if (status)
        return status;
    while ((got = ath_tar_read(&reader, buffer, READ_BYTES, err)) > 0)
        ath_digest_add(&digest, buffer, (size_t)got);
    ath_tar_reader_free(&reader);
    ath_digest_end(&digest, out);
    return (int)got;
}

static int digest_text(const char *text, char out[ATH_DIGEST_TEXT], struct ath_err *err)
{
    struct ath_digest digest;
    int status = ath_digest_begin(&digest, err);

    if (status)
        return status;
    ath_digest_add(&digest, text, strlen(text));
    ath_digest_end(&digest, out);
    return 0;
}

/* ---- the configuration and the archive ---- */

/* Returns the image's configuration (OCI image specification, config.md); build_id NULL: not known
 * yet. The caller frees it. */
static char *make_configuration(const struct ath_image *image, const char *build_id)
{
    json_t *labels = json_pack("{s:s, s:s, s:s*}", ATH_IMAGE_LABEL_VERSION, image->version,
                               ATH_IMAGE_LABEL_TAG, image->tag, ATH_IMAGE_LABEL_BUILD, build_id);
    json_t *run = json_pack("{s:[s], s:[s], s:[s], s:s, s:o}", "Env", "PATH=/usr/bin", "Entrypoint",
                            "/" PROGRAM_PATH, "Cmd", "serve", "WorkingDir", "/", "Labels", labels);
    json_auto_t *json =
        json_pack("{s:s, s:s, s:s, s:o, s:{s:s, s:[s]}, s:[{s:s, s:s}]}", "architecture",
                  image->architecture, "os", "linux", "created", ATH_IMAGE_EPOCH, "config", run,
                  "rootfs", "type", "layers", "diff_ids", image->layer_id, "history", "created",
                  ATH_IMAGE_EPOCH, "created_by", "aitherion image build");
    if (!strcmp(image->architecture, "arm64"))
        json_object_set_new(json, "variant", json_string("v8"));
    return json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
}

static void make_archive(struct ath_image *image, const char *configuration)
{
    ath_auto_free char *name = ath_xasprintf("%s.json", image->id + strlen("sha256:"));
    json_auto_t *manifest = json_pack("[{s:s, s:[s], s:[s]}]", "Config", name, "RepoTags",
                                      image->tag, "Layers", "layer.tar");
    ath_auto_free char *text = json_dumps(manifest, JSON_COMPACT | JSON_SORT_KEYS);

    ath_tar_add_bytes(&image->archive, "manifest.json", 0644, text, strlen(text));
    ath_tar_add_bytes(&image->archive, name, 0644, configuration, strlen(configuration));
    ath_tar_add_tar(&image->archive, "layer.tar", 0644, &image->layer);
    image->archive_bytes = ath_tar_size(&image->archive);
}

static int identify(struct ath_image *image, struct ath_err *err)
{
    char digest[ATH_DIGEST_TEXT];
    int status = digest_tar(&image->layer, digest, err);
    if (status)
        return status;
    snprintf(image->layer_id, sizeof image->layer_id, "sha256:%s", digest);

    ath_auto_free char *unnamed = make_configuration(image, NULL);
    status = digest_text(unnamed, image->build_id, err);
    if (status)
        return status;
    ath_auto_free char *configuration = make_configuration(image, image->build_id);
    status = digest_text(configuration, digest, err);
    if (status)
        return status;
    snprintf(image->id, sizeof image->id, "sha256:%s", digest);
    make_archive(image, configuration);
    return 0;
}

/* ---- the whole image ---- */

static int find_program(const struct ath_image_recipe *recipe, char **out, struct ath_err *err)
{
    *out = recipe->program ? ath_xstrdup(recipe->program) : ath_path_program(ATH_PLAN_RUNTIME);
    if (*out)
        return 0;
    ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND, _("'%s' is not installed beside this aitherion"),
                ATH_PLAN_RUNTIME);
    return ath_err_hint(err, -ENOENT,
                        _("run make (in the build folder) or make install; or give the program: "
                          "aitherion image build --runtime FILE"));
}

/* Docker refuses a name without a tag in an archive. */
static char *with_tag(const char *name)
{
    const char *slash = strrchr(name, '/');
    return strchr(slash ? slash : name, ':') ? ath_xstrdup(name) : ath_xasprintf("%s:latest", name);
}

static int fill(struct ath_image *image, const struct ath_image_recipe *recipe,
                const struct ath_closure *closure, struct ath_err *err)
{
    image->tag = with_tag(recipe->tag ? recipe->tag : ATH_IMAGE_TAG);
    image->version = PACKAGE_VERSION;
    image->architecture = ath_elf_architecture(closure->machine, closure->is_big);
    if (!image->architecture)
        return ath_err_set(
            err, -EOPNOTSUPP, ATH_E_UNSUPPORTED,
            _("'%s' is for an architecture that Docker does not know (ELF number %d)"),
            closure->items[0].path, closure->machine);
    for (size_t i = 0; i < closure->from_host.count; i++)
        ath_texts_add(&image->from_host, closure->from_host.items[i]);
    add_files(image, closure);
    if (!recipe->program && !recipe->root)
        add_drivers(image);
    make_layer(image, closure->has_loader);
    return identify(image, err);
}

int ath_image_make(const struct ath_image_recipe *recipe, struct ath_image **out,
                   struct ath_err *err)
{
    ath_auto_image struct ath_image *image = ath_xalloc(sizeof *image);
    ATH_AUTO(ath_closure) closure = { 0 };
    ath_auto_free char *program = NULL;

    int status = find_program(recipe, &program, err);
    if (!status)
        status = ath_root_open(recipe->root ? recipe->root : "/", &image->root, err);
    if (!status)
        status = ath_closure_find(program, &image->root, lates, ATH_COUNT(lates), &closure, err);
    if (!status)
        status = fill(image, recipe, &closure, err);
    if (status)
        return status;
    *out = ath_steal(&image);
    return 0;
}
