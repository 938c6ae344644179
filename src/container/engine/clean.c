/* Cleaning: the steps of both engines, and what belongs to neither engine. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/root.h"
#include "base/text.h"
#include "base/unknown.h"
#include "container/engine/kinds.h"
#include "container/engine/run_folder.h"
#include "roce/macvlan.h"
#include "roce/netstate.h"

enum { SETTLE_MS = 1000 };

void ath_clean_steps_free(struct ath_clean_steps *steps)
{
    if (!steps)
        return;
    for (size_t i = 0; i < steps->count; i++) {
        free(steps->items[i].object);
        free(steps->items[i].key);
        free(steps->items[i].text);
    }
    for (size_t i = 0; i < steps->left_count; i++)
        ath_clean_left_free(&steps->left[i]);
    free(steps->items);
    free(steps->left);
    ath_texts_free(&steps->macvlans);
    ath_texts_free(&steps->images);
    *steps = (struct ath_clean_steps){ 0 };
}

static char *clean_text(enum ath_clean_kind kind, const char *object)
{
    switch (kind) {
    case ATH_CLEAN_PROCESS:
        return ath_xasprintf(_("end the processes of '%s'"), object);
    case ATH_CLEAN_CONTAINER:
        return ath_xasprintf(_("remove the container '%s'"), object);
    case ATH_CLEAN_MACVLAN:
        return ath_xasprintf(_("remove the macvlan '%s' and its namespace"), object);
    case ATH_CLEAN_NETWORK:
        return ath_xasprintf(_("remove the network '%s'"), object);
    case ATH_CLEAN_IMAGE:
        return ath_xasprintf(_("remove the image '%s'"), object);
    case ATH_CLEAN_CGROUP:
        return ath_xasprintf(_("remove the control group '%s'"), object);
    default:
        return ath_xasprintf(_("remove the folder '%s'"), object);
    }
}

struct ath_clean_step *ath_clean_add(struct ath_clean_steps *steps, enum ath_clean_kind kind,
                                     struct ath_engine *engine, int id, const char *object)
{
    struct ath_clean_step *step = ath_push(&steps->items, &steps->count, sizeof *steps->items);
    step->kind = kind;
    step->engine = engine;
    step->id = id;
    step->object = ath_xstrdup(object);
    step->text = clean_text(kind, object);
    return step;
}

/* Returns true if the list "a,b" contains name. */
static bool has_name(const char *names, const char *name)
{
    size_t length = strlen(name);
    while (names && *names) {
        if (!strncmp(names, name, length) && (names[length] == ',' || !names[length]))
            return true;
        names += strcspn(names, ",");
        names += *names == ',';
    }
    return false;
}

static bool goes(const struct ath_clean_steps *steps, const struct ath_clean_options *options,
                 const char *macvlan)
{
    for (size_t i = 0; i < steps->left_count; i++)
        if (has_name(steps->left[i].macvlans, macvlan))
            return false;
    return ath_texts_has(&steps->macvlans, macvlan) || !options->id_count;
}

/* Leaves a macvlan that was made for another document that exists. */
static bool is_of_other(const char *macvlan, const struct ath_netstate *present,
                        const struct ath_clean_options *options, struct ath_clean_steps *out)
{
    const struct ath_owner owner = { ath_macvlan_document(macvlan, present), NULL, true };
    struct ath_clean_left left = { 0 };

    if (options->id_count ||
        !ath_owner_is_other(&owner, options->document, NULL, ATH_UNKNOWN, macvlan, &left))
        return false;
    free(left.text);
    left.text = ath_xasprintf(_("the macvlan '%s' was made for another document, '%s'"), macvlan,
                              owner.document);
    ath_clean_leave(out, &left, NULL);
    return true;
}

static int plan_macvlans(const struct ath_clean_options *options, struct ath_clean_steps *out,
                         struct ath_err *err)
{
    ATH_AUTO(ath_netstate) present = { 0 };
    char **names;
    size_t count;
    int status = ath_netstate_read(&present, err);
    if (status)
        return status;
    ath_macvlan_names(&present, &names, &count);
    for (size_t i = 0; i < count; i++)
        if (goes(out, options, names[i]) && !is_of_other(names[i], &present, options, out))
            ath_clean_add(out, ATH_CLEAN_MACVLAN, NULL, ATH_UNKNOWN, names[i]);
    ath_names_free(names, count);
    return 0;
}

static bool is_answered(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    ath_auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || strlen(path) >= sizeof address.sun_path)
        return false;
    strcpy(address.sun_path, path);
    return !connect(fd, (struct sockaddr *)&address, sizeof address);
}

/* Returns true for the runtime of a Docker that does not answer: only there a socket has no state
 * file. */
static bool is_of_docker(const char *folder, int id)
{
    ath_auto_free char *node = ath_run_folder_node(folder, id);
    ath_auto_free char *state = ath_run_folder_state(folder, id);
    ath_auto_free char *socket = ath_xasprintf("%s/" ATH_NODE_SOCKET, node);
    return access(state, F_OK) && is_answered(socket);
}

static bool stays_in_folder(const struct ath_clean_steps *steps, int id)
{
    for (size_t i = 0; i < steps->left_count; i++)
        if (steps->left[i].id == id && steps->left[i].is_in_folder)
            return true;
    return false;
}

/* Plans the nodes' folders, and the run folder itself if it contains nothing else. */
static void plan_folders(const struct ath_engines *engines, const char *folder,
                         const struct ath_clean_options *options, struct ath_clean_steps *out)
{
    ath_auto_free int *ids = NULL;
    size_t count;
    bool is_ours;

    if (access(folder, F_OK))
        return;
    ath_run_folder_ids(folder, &ids, &count, &is_ours);
    for (size_t i = 0; i < count; i++) {
        ath_auto_free char *path = ath_run_folder_node(folder, ids[i]);
        bool is_used = stays_in_folder(out, ids[i]) ||
                       (engines->docker_status && is_of_docker(folder, ids[i]));
        if (is_used)
            is_ours = false;
        else if (ath_engine_wants(options->ids, options->id_count, ids[i]))
            ath_clean_add(out, ATH_CLEAN_FOLDER, NULL, ids[i], path)->key = ath_xstrdup(folder);
    }
    if (is_ours && !options->id_count)
        ath_clean_add(out, ATH_CLEAN_FOLDER, NULL, ATH_UNKNOWN, folder)->key = ath_xstrdup(folder);
}

/* A stable sort: the steps of a kind keep the order in which the engines added them. */
static void sort_steps(struct ath_clean_steps *steps)
{
    struct ath_clean_steps sorted = { 0 };
    for (int kind = 0; kind < ATH_CLEAN_KIND_COUNT; kind++)
        for (size_t i = 0; i < steps->count; i++)
            if ((int)steps->items[i].kind == kind)
                *(struct ath_clean_step *)ath_push(&sorted.items, &sorted.count,
                                                   sizeof *sorted.items) = steps->items[i];
    free(steps->items);
    steps->items = sorted.items;
    steps->count = sorted.count;
}

/* Waits for a running start, and after a killed start for the daemon's last works. */
static void settle(const struct ath_engine *engine)
{
    ath_auto_free char *mark = ath_xasprintf("%s/" ATH_RUN_MARK, engine->folder);
    ath_auto_close int locked = -1;

    if (access(mark, F_OK) || ath_engine_lock(engine, &locked, NULL) || access(mark, F_OK))
        return;
    nanosleep(&(struct timespec){ SETTLE_MS / 1000, SETTLE_MS % 1000 * 1000000L }, NULL);
    unlink(mark);
}

int ath_clean_plan(const struct ath_engines *engines, const struct ath_clean_options *options,
                   struct ath_clean_steps *out, struct ath_err *err)
{
    int status = 0;

    *out = (struct ath_clean_steps){ 0 };
    for (size_t i = 0; i < engines->count && !status; i++)
        status = ath_engine_check_folder(engines->items[i], err);
    for (size_t i = 0; i < engines->count && !status; i++)
        settle(engines->items[i]);
    for (size_t i = 0; i < engines->count && !status; i++)
        status = engines->items[i]->ops->clean_plan(engines->items[i], options, out, err);
    if (!status && (!options->id_count || out->macvlans.count))
        status = plan_macvlans(options, out, err);
    for (size_t i = 0; i < engines->count && !status; i++)
        if (!i || strcmp(engines->items[i]->folder, engines->items[0]->folder) != 0)
            plan_folders(engines, engines->items[i]->folder, options, out);
    sort_steps(out);
    return status;
}

static int remove_macvlan(const char *name, struct ath_err *err)
{
    ATH_AUTO(ath_macvlan_plan) done = { 0 };
    return ath_macvlan_remove(name, false, &done, err);
}

static int clean_step(const struct ath_clean_step *step, struct ath_err *err)
{
    if (step->engine)
        return step->engine->ops->clean_step(step->engine, step, err);
    return step->kind == ATH_CLEAN_MACVLAN ? remove_macvlan(step->object, err)
                                           : ath_run_folder_remove(step->key, step->id, err);
}

/* One lock is enough: all engines of a command have the same run folder. */
static int lock_all(const struct ath_engines *engines, const struct ath_clean_steps *steps,
                    int *out_fd, struct ath_err *err)
{
    return engines->count && steps->count ? ath_engine_lock(engines->items[0], out_fd, err) : 0;
}

int ath_clean_apply(const struct ath_engines *engines, struct ath_clean_steps *steps,
                    void (*progress)(void *context, const struct ath_clean_step *step),
                    void *context, struct ath_err *err)
{
    ath_auto_close int locked = -1;
    int first = lock_all(engines, steps, &locked, err);

    for (size_t i = 0; i < steps->count && locked >= 0; i++) {
        struct ath_clean_step *step = &steps->items[i];
        if (progress)
            progress(context, step);
        step->status = clean_step(step, &step->err);
        if (step->status && !first) {
            first = step->status;
            ath_err_copy(err, &step->err);
        }
    }
    return first;
}
