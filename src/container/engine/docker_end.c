/* Ending nodes in Docker: stop, which keeps their containers, and clean, which removes them. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/unknown.h"
#include "container/docker/image.h"
#include "container/docker/network.h"
#include "container/engine/docker_engine.h"
#include "container/engine/docker_remains.h"
#include "container/engine/run_folder.h"
#include "container/image/load.h"

/* ---- stop ---- */

/* A node's runtime is stopped first, then its pause container. */
struct stopping {
    struct ath_stop_results *results;
    size_t index;
    const struct ath_docker_container *pause;
    const char *removed; /* the id of the container that is being removed; NULL */
    int grace_s;
};

static void note_stopped(void *context, struct ath_docker_batch *batch,
                         const struct ath_docker_answer *answer);

/* Adds the request that ends a container, unless the container does not run. Docker cannot stop
 * what it has lost, and would restart a runtime that is killed. Such a container is removed. */
static bool end_container(const struct ath_docker_container *container, int grace_s,
                          struct stopping *stopping, struct ath_docker_batch *batch)
{
    struct ath_docker_request *request = NULL;

    stopping->removed = NULL;
    if (container && container->is_running) {
        request = ath_docker_container_stop(container->id, grace_s);
    } else if (container && ath_docker_has_remains(container)) {
        request = ath_docker_container_remove(container->id, true);
        stopping->removed = container->id;
    }
    if (request)
        ath_docker_batch_add(batch, request, note_stopped, stopping);
    return request;
}

static void stop_next(struct stopping *stopping, struct ath_docker_batch *batch)
{
    const struct ath_docker_container *pause = stopping->pause;
    stopping->pause = NULL;
    end_container(pause, 1, stopping, batch);
}

static void note_stopped(void *context, struct ath_docker_batch *batch,
                         const struct ath_docker_answer *answer)
{
    struct stopping *stopping = context;
    struct ath_stop_result *result = &stopping->results->items[stopping->index];
    struct ath_err err;
    int status = answer->status == -ENOENT ? 0 : answer->status;

    if (status)
        err = *answer->err;
    else if (stopping->removed)
        status = ath_docker_end_remains(stopping->removed, &err);
    if (status && !result->status) {
        result->status = status;
        result->err = err;
    }
    if (answer->status != -EINTR)
        stop_next(stopping, batch);
}

static void begin_stop(struct ath_docker_batch *batch, const struct ath_docker_present *present,
                       struct stopping *stopping)
{
    struct ath_stop_result *result = &stopping->results->items[stopping->index];
    const struct ath_docker_container *runtime =
        ath_docker_present_find(present, result->id, ATH_DOCKER_RUNTIME);

    stopping->pause = ath_docker_present_find(present, result->id, ATH_DOCKER_PAUSE);
    /* A restarting container counts as running; stopping ends the restarts. */
    result->was_running = end_container(runtime, stopping->grace_s, stopping, batch);
    if (!result->was_running)
        stop_next(stopping, batch);
}

static void add_stop_results(const struct ath_engine *engine,
                             const struct ath_docker_present *present, const int *ids,
                             size_t id_count, struct ath_stop_results *out)
{
    ATH_AUTO(ath_idset) all = { 0 };
    for (size_t i = 0; i < present->ours.count; i++) {
        int id = ath_docker_container_node(&present->ours.items[i]);
        if (id != ATH_UNKNOWN && ath_engine_wants(ids, id_count, id))
            ath_idset_add(&all, id, id);
    }
    for (int id = ath_idset_next(&all, -1); id >= 0; id = ath_idset_next(&all, id)) {
        struct ath_stop_result *result = ath_push(&out->items, &out->count, sizeof *out->items);
        result->id = id;
        result->engine = engine->ops->name;
    }
}

int ath_docker_stop(struct ath_engine *engine, const int *ids, size_t id_count, int grace_s,
                    struct ath_stop_results *out, struct ath_err *err)
{
    ATH_AUTO(ath_docker_present) present = { 0 };
    ath_auto_docker_batch struct ath_docker_batch *batch =
        ath_docker_batch_new(ath_docker_of(engine));
    ath_auto_free struct stopping *all = NULL;
    int status = ath_docker_present_read(ath_docker_of(engine), &present, err);

    if (status)
        return status;
    add_stop_results(engine, &present, ids, id_count, out);
    all = ath_xalloc((out->count + 1) * sizeof *all);
    for (size_t i = 0; i < out->count; i++) {
        all[i] = (struct stopping){ .results = out, .index = i, .grace_s = grace_s };
        begin_stop(batch, &present, &all[i]);
    }
    return ath_docker_batch_run(batch, err);
}

/* ---- clean ---- */

/* Leaves nodes that other documents started: their runtimes and pause containers. */
static void leave_others(const struct ath_engine *engine, const struct ath_docker_present *present,
                         const struct ath_clean_options *options, struct ath_clean_steps *out)
{
    for (size_t i = 0; i < present->ours.count && options->document && !options->id_count; i++) {
        const struct ath_docker_container *one = &present->ours.items[i];
        int id = ath_docker_container_node(one);
        ath_auto_free char *socket = NULL;
        ath_auto_free char *own_socket =
            ath_xasprintf("%s/numa%d/" ATH_NODE_SOCKET, engine->folder, id);
        struct ath_owner owner = ath_docker_owner(engine, one, &socket);
        struct ath_clean_left left = { 0 };
        if (!ath_clean_leaves(out, id) &&
            ath_owner_is_other(&owner, options->document, own_socket, id, one->name, &left))
            ath_clean_leave(out, &left, ath_docker_label(one->labels, ATH_PLAN_LABEL_MACVLANS));
    }
}

/* Removes runtimes before the pause containers whose network they use. */
static void plan_containers(struct ath_engine *engine, const struct ath_docker_present *present,
                            const struct ath_clean_options *options, struct ath_clean_steps *out)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < present->ours.count; i++) {
            const struct ath_docker_container *one = &present->ours.items[i];
            const char *role = ath_docker_label(one->labels, ATH_PLAN_LABEL_ROLE);
            bool is_pause = role && !strcmp(role, ath_docker_role_word(ATH_DOCKER_PAUSE));
            int id = ath_docker_container_node(one);
            if (is_pause != (pass == 1) || ath_clean_leaves(out, id) ||
                !ath_engine_wants(options->ids, options->id_count, id))
                continue;
            ath_clean_add(out, ATH_CLEAN_CONTAINER, engine, id, one->name)->key =
                ath_xstrdup(one->id);
            if (options->id_count)
                ath_clean_add_macvlans(out, ath_docker_label(one->labels, ATH_PLAN_LABEL_MACVLANS));
        }
}

static int plan_networks(struct ath_engine *engine, struct ath_clean_steps *out,
                         struct ath_err *err)
{
    json_auto_t *json = NULL;
    ATH_AUTO(ath_docker_networks) networks = { 0 };
    int status = ath_docker_do(ath_docker_of(engine), ath_docker_network_list(ATH_PLAN_LABEL_NUMA),
                               &json, err);
    if (!status)
        status = ath_docker_networks_read(json, &networks, err);
    for (size_t i = 0; i < networks.count; i++)
        ath_clean_add(out, ATH_CLEAN_NETWORK, engine, ATH_UNKNOWN, networks.items[i].name)->key =
            ath_xstrdup(networks.items[i].id);
    return status;
}

/* Removes the names that aitherion gave. An image with a foreign name keeps that name, and
 * stays. */
static int plan_images(struct ath_engine *engine, bool is_wanted, struct ath_clean_steps *out,
                       struct ath_err *err)
{
    ATH_AUTO(ath_docker_images) images = { 0 };
    int status = ath_image_list(ath_docker_of(engine), &images, err);
    for (size_t i = 0; i < images.count; i++) {
        const struct ath_docker_image *image = &images.items[i];
        const char *own = ath_image_label(image, ATH_IMAGE_LABEL_TAG);
        bool is_named = own && ath_docker_image_is_named(image, own);
        if (!is_named && image->names.count)
            continue;
        if (is_wanted)
            ath_clean_add(out, ATH_CLEAN_IMAGE, engine, ATH_UNKNOWN, is_named ? own : image->id);
        else
            ath_texts_add(&out->images, is_named ? own : image->id);
    }
    return status;
}

int ath_docker_clean_plan(struct ath_engine *engine, const struct ath_clean_options *options,
                          struct ath_clean_steps *out, struct ath_err *err)
{
    ATH_AUTO(ath_docker_present) present = { 0 };
    int status = ath_docker_present_read(ath_docker_of(engine), &present, err);
    if (status)
        return status;
    leave_others(engine, &present, options, out);
    plan_containers(engine, &present, options, out);
    if (!options->id_count)
        status = plan_networks(engine, out, err);
    if (!status && !options->id_count)
        status = plan_images(engine, options->wants_images, out, err);
    return status;
}

int ath_docker_clean_step(struct ath_engine *engine, const struct ath_clean_step *step,
                          struct ath_err *err)
{
    const char *object = step->key ? step->key : step->object;
    struct ath_docker_request *request =
        step->kind == ATH_CLEAN_CONTAINER ? ath_docker_container_remove(object, true)
        : step->kind == ATH_CLEAN_NETWORK ? ath_docker_network_remove(object)
                                          : ath_docker_image_remove(object, false);
    int status = ath_docker_do(ath_docker_of(engine), request, NULL, err);
    if (status && status != -ENOENT)
        return status;
    return step->kind == ATH_CLEAN_CONTAINER ? ath_docker_end_remains(object, err) : 0;
}
