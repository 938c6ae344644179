/* Builds the arguments of docker for `aitherion run --local --docker`: mounts, variables and
 * limits. */
#include "config.h"

#include "cli/commands/run_docker.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/paths.h"
#include "base/root.h"
#include "base/text.h"
#include "config/key_folder.h"
#include "container/image/build.h"
#include "container/linker/closure.h"
#include "container/plan/libraries.h"
#include "container/plan/plan.h"
#include "remote/session/open.h"

#define SONAME "libcuda.so.1"
#if defined(__x86_64__)
#define TRIPLET "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define TRIPLET "aarch64-linux-gnu"
#else
#define TRIPLET "powerpc64le-linux-gnu"
#endif
#define NEEDED_FOLDER ATH_IMAGE_LIBRARIES "/needed"
#define SIMULATED "AITHERION_SIM"

/* The client's only library that is not the C library's. */
static const char needed[] = "libnettle.so.8";

const char *const ath_run_docker_words[] = { "run", "exec", NULL };

struct words {
    const struct ath_run_work *work;
    struct ath_texts *out;
    bool has_mounts; /* a container that is made now; otherwise it runs */
};

static void add_variable(const struct words *words, const char *name, const char *value)
{
    ath_auto_free char *pair = ath_xasprintf("%s=%s", name, value);
    ath_texts_add(words->out, "--env");
    ath_texts_add(words->out, pair);
}

static void add_mount(const struct words *words, const char *source, const char *target)
{
    ath_auto_free char *mount =
        ath_xasprintf("type=bind,source=%s,target=%s,readonly", source, target);
    if (!words->has_mounts)
        return;
    ath_texts_add(words->out, "--mount");
    ath_texts_add(words->out, mount);
}

/* ---- the libraries ---- */

static int mount_folder_of(const struct words *words, const char *library, const char *target,
                           struct ath_err *err)
{
    ath_auto_free char *found = ath_path_library(library);
    ath_auto_free char *real = found ? realpath(found, NULL) : NULL;
    if (!real) {
        ath_err_set(err, -ENOENT, ATH_E_LIBRARY, _("the client library '%s' is not installed"),
                    library);
        return ath_err_hint(err, -ENOENT, "make install");
    }
    add_mount(words, dirname(real), target);
    return 0;
}

/* The runtime needs the same library, and is a program, for which the linker's search is known. */
static int mount_needed(const struct words *words, struct ath_err *err)
{
    ath_auto_free char *program = ath_path_program(ATH_PLAN_RUNTIME);
    ATH_AUTO(ath_root) root = { .fd = -1 };
    struct ath_closure closure;
    if (!program)
        return ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND, "%s",
                           _("'aitherion-runtime' is not installed"));
    int status = ath_root_open("/", &root, err);
    if (!status)
        status = ath_closure_find(program, &root, NULL, 0, &closure, err);
    if (status)
        return status;
    for (size_t i = 0; i < closure.count; i++) {
        ath_auto_free char *real =
            strcmp(closure.items[i].name, needed) ? NULL : realpath(closure.items[i].path, NULL);
        ath_auto_free char *target = ath_xasprintf("%s/%s", NEEDED_FOLDER, needed);
        if (real)
            add_mount(words, real, target);
    }
    ath_closure_free(&closure);
    return 0;
}

static int add_libraries(const struct words *words, struct ath_err *err)
{
    int status = 0;
    if (words->has_mounts)
        status = mount_folder_of(words, "local/" SONAME, ATH_IMAGE_LIBRARIES "/local", err);
    if (!status && words->has_mounts)
        status = mount_needed(words, err);
    if (!status && words->has_mounts && words->work->is_simulated)
        status = mount_folder_of(words, "sim/" SONAME, ATH_IMAGE_LIBRARIES "/sim", err);
    add_variable(words, "LD_LIBRARY_PATH",
                 words->has_mounts ? ATH_IMAGE_LIBRARIES "/local:" NEEDED_FOLDER
                                   : ATH_IMAGE_LIBRARIES "/local");
    return status;
}

/* The places where NVIDIA's container toolkit and `start` put the driver of the host. */
static void add_driver(const struct words *words)
{
    const char *variable = ath_client_variable("AITHERION_DRIVER");
    if (variable || words->work->is_simulated) {
        add_variable(words, "AITHERION_DRIVER",
                     variable ? variable : ATH_IMAGE_LIBRARIES "/sim/" SONAME);
        return;
    }
    add_variable(words, "AITHERION_DRIVER",
                 ATH_LIBRARY_FOLDER "/" SONAME ":/usr/lib/" TRIPLET "/" SONAME ":/usr/lib64/" SONAME
                                    ":/usr/local/nvidia/lib64/" SONAME);
}

/* Variables by which the simulated driver has the runtime's devices. */
static void add_simulation(const struct words *words)
{
    for (char *const *one = environ; words->work->is_simulated && *one; one++)
        if (ath_starts_with(*one, SIMULATED "_")) {
            ath_texts_add(words->out, "--env");
            ath_texts_add(words->out, *one);
        }
}

/* ---- the runtime ---- */

/* A runtime that is started again makes a new socket in its folder. */
static void add_socket(const struct words *words)
{
    const char *server = words->work->servers;
    ath_auto_free char *path = ath_xstrdup(server + strlen("unix:"));
    ath_auto_free char *folder = ath_xstrdup(dirname(path));
    add_mount(words, folder, folder);
    add_variable(words, "AITHERION_LOCAL", server);
}

/* Returns whether the key is one of several in the container. A key's name is that of its file,
 * except "key" (remote/wire/secret.c), and the runtime must learn it. */
static bool is_one_of_several(const struct words *words, const char *name)
{
    const struct ath_reach *reach = &words->work->reach;
    if (!words->has_mounts && reach->nodes.key_path)
        return ath_key_folder_is(reach->nodes.key_path);
    return strcmp(name, "key") != 0;
}

static void add_key(const struct words *words)
{
    const char *key = words->work->reach.key, *slash = strrchr(key, '/');
    const char *name = slash ? slash + 1 : key;
    ath_auto_free char *inside = is_one_of_several(words, name)
                                     ? ath_xasprintf("%s/keys/%s", ATH_PLAN_RUN_FOLDER, name)
                                     : ath_xstrdup(ATH_PLAN_RUN_FOLDER "/key");
    if (*key)
        add_mount(words, key, inside);
    add_variable(words, "AITHERION_KEY_FILE", *key ? inside : "");
}

/* ---- all ---- */

static bool is_ours(const char *name)
{
    static const char *const names[] = { "LD_LIBRARY_PATH", "AITHERION_LOCAL", "AITHERION_DRIVER",
                                         "AITHERION_KEY_FILE" };
    for (size_t i = 0; i < ATH_COUNT(names); i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

int ath_run_docker(const struct ath_run_work *work, const struct ath_run_report *report,
                   struct ath_texts *out, struct ath_err *err)
{
    const struct words words = { work, out, !strcmp(work->options->docker, "run") };
    ath_texts_add(out, "docker");
    ath_texts_add(out, work->options->docker);
    int status = add_libraries(&words, err);
    if (status)
        return status;
    add_driver(&words);
    add_simulation(&words);
    add_socket(&words);
    add_key(&words);
    for (size_t i = 0; i < ATH_RUN_VARIABLES && report->environment[i].name; i++)
        if (!is_ours(report->environment[i].name))
            add_variable(&words, report->environment[i].name, report->environment[i].value);
    for (size_t i = 0; i < report->word_count; i++)
        ath_texts_add(out, report->words[i]);
    return 0;
}
