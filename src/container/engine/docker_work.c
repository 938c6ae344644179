/* The works of a chain: make_NAME() makes the request of a work, end_NAME() takes its answer. */
#include "config.h"

#include "container/engine/docker_chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "container/docker/json.h"
#include "container/engine/docker_remains.h"
#include "container/engine/process_facts.h"
#include "container/engine/run_folder.h"

enum { POLL_FIRST_MS = 50, POLL_MOST_MS = 500, STOP_GRACE_S = 10 };
enum { NAME_TRIES = 100, NAME_WAIT_MS = 100 };

static struct ath_docker_request *make_stop(struct ath_docker_chain *chain)
{
    return ath_docker_container_stop(chain->runtime->id, STOP_GRACE_S);
}

static struct ath_docker_request *make_remove_runtime(struct ath_docker_chain *chain)
{
    return ath_docker_container_remove(chain->runtime->id, true);
}

static struct ath_docker_request *make_remove_pause(struct ath_docker_chain *chain)
{
    return ath_docker_container_remove(chain->pause->id, true);
}

static struct ath_docker_request *create(struct ath_docker_chain *chain, enum ath_docker_role role)
{
    chain->is_doubtful[role] = true;
    struct ath_docker_request *request =
        ath_docker_container_create(ath_docker_name(chain->node, role),
                                    ath_docker_body(chain->node, chain->all->plan->image, role));
    request->delay_ms = chain->tries ? NAME_WAIT_MS : 0;
    return request;
}

static struct ath_docker_request *make_create_pause(struct ath_docker_chain *chain)
{
    return create(chain, ATH_DOCKER_PAUSE);
}

static struct ath_docker_request *make_create_runtime(struct ath_docker_chain *chain)
{
    return create(chain, ATH_DOCKER_RUNTIME);
}

static struct ath_docker_request *start(struct ath_docker_chain *chain, enum ath_docker_role role)
{
    chain->has_started[role] = true;
    return ath_docker_container_start(ath_docker_name(chain->node, role)); /* for its messages */
}

static struct ath_docker_request *make_start_pause(struct ath_docker_chain *chain)
{
    return start(chain, ATH_DOCKER_PAUSE);
}

static struct ath_docker_request *make_start_runtime(struct ath_docker_chain *chain)
{
    return start(chain, ATH_DOCKER_RUNTIME);
}

static struct ath_docker_request *make_limit(struct ath_docker_chain *chain)
{
    return ath_docker_container_limit(chain->runtime->id, chain->node->memory_limit_bytes);
}

static struct ath_docker_request *make_inspect_pause(struct ath_docker_chain *chain)
{
    return ath_docker_container_inspect(chain->ids[ATH_DOCKER_PAUSE]);
}

static struct ath_docker_request *make_inspect_runtime(struct ath_docker_chain *chain)
{
    struct ath_docker_request *request =
        ath_docker_container_inspect(chain->ids[ATH_DOCKER_RUNTIME]);
    if (!chain->deadline_ms)
        chain->deadline_ms = ath_now_ms() + (uint64_t)chain->all->options->timeout_ms;
    request->delay_ms = chain->poll_ms;
    chain->poll_ms = chain->poll_ms ? chain->poll_ms * 2 : POLL_FIRST_MS;
    if (chain->poll_ms > POLL_MOST_MS)
        chain->poll_ms = POLL_MOST_MS;
    return request;
}

static struct ath_docker_request *make_find_pause(struct ath_docker_chain *chain)
{
    return ath_docker_container_inspect(ath_docker_name(chain->node, ATH_DOCKER_PAUSE));
}

static struct ath_docker_request *make_find_runtime(struct ath_docker_chain *chain)
{
    return ath_docker_container_inspect(ath_docker_name(chain->node, ATH_DOCKER_RUNTIME));
}

/* Removes a container that this start made; stops one that it only started. */
static struct ath_docker_request *undo(struct ath_docker_chain *chain, enum ath_docker_role role)
{
    if (!chain->ids[role] || !(chain->has_made[role] || chain->has_started[role]))
        return NULL;
    return chain->has_made[role] ? ath_docker_container_remove(chain->ids[role], true)
                                 : ath_docker_container_stop(chain->ids[role], 1);
}

static struct ath_docker_request *make_undo_pause(struct ath_docker_chain *chain)
{
    return undo(chain, ATH_DOCKER_PAUSE);
}

static struct ath_docker_request *make_undo_runtime(struct ath_docker_chain *chain)
{
    return undo(chain, ATH_DOCKER_RUNTIME);
}

static int end_plain(struct ath_docker_chain *chain, const struct ath_docker_answer *answer,
                     struct ath_err *err)
{
    (void)chain;
    if (answer->status)
        ath_err_copy(err, answer->err);
    return answer->status;
}

static int end_limit(struct ath_docker_chain *chain, const struct ath_docker_answer *answer,
                     struct ath_err *err)
{
    if (!answer->status)
        ath_run_folder_set_memory(chain->all->engine->folder, chain->node->id,
                                  ath_plan_label(chain->node, ATH_PLAN_LABEL_MEMORY));
    return end_plain(chain, answer, err);
}

/* Ends what a killed daemon has left of the container. */
static int end_remove(struct ath_docker_chain *chain, const struct ath_docker_answer *answer,
                      const char *id, struct ath_err *err)
{
    int status = answer->status == -ENOENT ? 0 : end_plain(chain, answer, err);
    return status ? status : ath_docker_end_remains(id, err);
}

static int end_remove_runtime(struct ath_docker_chain *chain,
                              const struct ath_docker_answer *answer, struct ath_err *err)
{
    return end_remove(chain, answer, chain->runtime->id, err);
}

static int end_remove_pause(struct ath_docker_chain *chain, const struct ath_docker_answer *answer,
                            struct ath_err *err)
{
    return end_remove(chain, answer, chain->pause->id, err);
}

static int end_undo(struct ath_docker_chain *chain, enum ath_docker_role role,
                    const struct ath_docker_answer *answer, struct ath_err *err)
{
    if (chain->has_made[role])
        return end_remove(chain, answer, chain->ids[role], err);
    return answer->status == -ENOENT ? 0 : end_plain(chain, answer, err);
}

static int end_undo_runtime(struct ath_docker_chain *chain, const struct ath_docker_answer *answer,
                            struct ath_err *err)
{
    return end_undo(chain, ATH_DOCKER_RUNTIME, answer, err);
}

static int end_undo_pause(struct ath_docker_chain *chain, const struct ath_docker_answer *answer,
                          struct ath_err *err)
{
    return end_undo(chain, ATH_DOCKER_PAUSE, answer, err);
}

/*
 * The name was free, but is taken now. A daemon still finishes the request of a start that was
 * killed, and reserves the name before a container is visible. The resulting container is ours.
 */
static int take_over(struct ath_docker_chain *chain, enum ath_docker_role role, struct ath_err *err)
{
    ATH_AUTO(ath_docker_container) found = { 0 };
    json_auto_t *json = NULL;
    struct ath_docker *docker = chain->all->docker;
    const char *name = ath_docker_name(chain->node, role);

    int status = ath_docker_do(docker, ath_docker_container_inspect(name), &json, err);
    if (status == -ENOENT && chain->tries++ < NAME_TRIES)
        return ATH_WORK_AGAIN;
    if (!status)
        status = ath_docker_container_read(json, &found, err);
    if (status == -ENOENT || (!status && ath_docker_container_node(&found) != chain->node->id))
        return ath_docker_refuse_foreign(name, err);
    if (status)
        return status;
    if (!ath_docker_chain_difference(chain, &found, role)) {
        ath_docker_chain_use(chain, role, &found);
        return 0;
    }
    status = ath_docker_do(docker, ath_docker_container_remove(found.id, true), NULL, err);
    if (!status || status == -ENOENT)
        status = ath_docker_end_remains(found.id, err);
    return status ? status : ATH_WORK_AGAIN;
}

static int end_create(struct ath_docker_chain *chain, enum ath_docker_role role,
                      const struct ath_docker_answer *answer, struct ath_err *err)
{
    const char *id = answer->json ? ath_docker_json_text(answer->json, "Id") : NULL;

    /* With these answers the daemon made no container. */
    if (answer->status == -EEXIST || answer->status == -ENOENT || answer->status == -EINVAL ||
        answer->http_status >= 400)
        chain->is_doubtful[role] = false;
    if (answer->status == -EEXIST)
        return take_over(chain, role, err);
    if (answer->status)
        return end_plain(chain, answer, err);
    if (!id)
        return ath_docker_json_lacks(_("a new container"), "Id", err);
    chain->is_doubtful[role] = false;
    chain->has_made[role] = true;
    free(chain->ids[role]);
    chain->ids[role] = ath_xstrdup(id);
    return 0;
}

static int end_create_pause(struct ath_docker_chain *chain, const struct ath_docker_answer *answer,
                            struct ath_err *err)
{
    return end_create(chain, ATH_DOCKER_PAUSE, answer, err);
}

static int end_create_runtime(struct ath_docker_chain *chain,
                              const struct ath_docker_answer *answer, struct ath_err *err)
{
    ath_run_folder_set_memory(chain->all->engine->folder, chain->node->id, NULL);
    return end_create(chain, ATH_DOCKER_RUNTIME, answer, err);
}

/*
 * A killed daemon may have left a stopped container half started: with a task, a folder of
 * containerd, a port or an address that the next daemon does not expect. A new container has
 * another id and address, so the start makes it again, once, and removing the old one ends its
 * remains. A new container that cannot be started stays failed.
 */
static int end_start(struct ath_docker_chain *chain, enum ath_docker_role role,
                     const struct ath_docker_answer *answer, struct ath_err *err)
{
    enum { REFUSED = 400 }; /* HTTP status */
    int status = end_plain(chain, answer, err);
    if (!status || chain->has_made[role] || chain->has_renewed || answer->http_status < REFUSED ||
        !ath_docker_chain_is_renewable(chain, err))
        return status;
    chain->has_renewed = true;
    chain->has_started[role] = false;
    if (role == ATH_DOCKER_PAUSE)
        ath_docker_chain_make_pause(chain);
    else
        ath_docker_chain_make_runtime(chain);
    if (!ath_docker_chain_needs_image(chain) || chain->all->image_id)
        return 0;
    return ath_image_missing(chain->all->plan->image, err);
}

static int end_start_pause(struct ath_docker_chain *chain, const struct ath_docker_answer *answer,
                           struct ath_err *err)
{
    return end_start(chain, ATH_DOCKER_PAUSE, answer, err);
}

static int end_start_runtime(struct ath_docker_chain *chain, const struct ath_docker_answer *answer,
                             struct ath_err *err)
{
    return end_start(chain, ATH_DOCKER_RUNTIME, answer, err);
}

static int died(struct ath_docker_chain *chain, const struct ath_docker_container *container,
                struct ath_err *err)
{
    struct ath_texts *log = &chain->result->log;
    ath_docker_log_tail(chain->all->docker, container, log);
    return ath_node_died(chain->node, container->name, container->exit_code, log, err);
}

static int end_wire(struct ath_docker_chain *chain, const struct ath_docker_answer *answer,
                    struct ath_err *err)
{
    ATH_AUTO(ath_docker_container) pause = { 0 };
    int status = end_plain(chain, answer, err);
    if (!status)
        status = ath_docker_container_read(answer->json, &pause, err);
    if (status)
        return status;
    if (!pause.is_running)
        return died(chain, &pause, err);
    ath_auto_free char *path = ath_docker_netns_path(&pause);
    if (!path) {
        ath_err_set(
            err, -EOPNOTSUPP, ATH_E_UNSUPPORTED,
            _("cannot move a macvlan into '%s': it does not run on this machine, or you may "
              "not look into it"),
            pause.name);
        return ath_err_hint(err, -EOPNOTSUPP,
                            _("run this as root on Docker's machine; or remove the macvlan: "
                              "aitherion roce macvlan %s --delete"),
                            chain->node->macvlans[0].name);
    }
    return ath_engine_wire(chain->node, path, false, &chain->wiring, err);
}

static int timed_out(struct ath_docker_chain *chain, const struct ath_docker_container *runtime,
                     const struct ath_err *last, struct ath_err *err)
{
    int timeout_s = chain->all->options->timeout_ms / 1000;
    ath_docker_log_tail(chain->all->docker, runtime, &chain->result->log);
    ath_err_set(err, -ETIMEDOUT, ATH_E_START_TIMEOUT, _("'%s' does not answer after %d s%s%s"),
                runtime->name, timeout_s, last->code ? ": " : "", last->code ? last->message : "");
    return ath_err_hint(err, -ETIMEDOUT, "aitherion start %d --timeout %d", chain->node->id,
                        timeout_s * 2);
}

/*
 * The answer may come from another process at the same socket, while the container's own has ended
 * or is about to. If the container's process cannot be seen, Docker must say again that the
 * container runs. Returns 0, or -EAGAIN with err.
 */
static int check_answer(struct ath_docker_chain *chain, const struct ath_docker_container *runtime,
                        struct ath_err *err)
{
    bool is_seen = ath_process_is_in_container(runtime->pid, runtime->id);
    bool is_own =
        is_seen ? ath_docker_is_listening(runtime, chain->node->socket) : chain->has_answered;

    chain->has_answered = !is_seen;
    return is_own
               ? 0
               : ath_err_set(err, -EAGAIN, ATH_E_FOREIGN,
                             _("another process listens on the socket '%s'"), chain->node->socket);
}

/* Returns 0 if the node answers, -EAGAIN if not yet, or another error if it never will. */
static int ask(struct ath_docker_chain *chain, const struct ath_docker_container *runtime,
               struct ath_err *err)
{
    const struct ath_start_options *options = chain->all->options;
    int status = options->probe ? options->probe(options->context, chain->node, err) : -ENOTSUP;

    if (status != -ENOTSUP)
        return status ? status : check_answer(chain, runtime, err);
    err->code = ATH_E_NONE;
    if (ath_docker_is_listening(runtime, chain->node->socket))
        return 0;
    return !runtime->health || !strcmp(runtime->health, "healthy") ? 0 : -EAGAIN;
}

static int end_wait(struct ath_docker_chain *chain, const struct ath_docker_answer *answer,
                    struct ath_err *err)
{
    ATH_AUTO(ath_docker_container) runtime = { 0 };
    struct ath_err last = { 0 };
    int status = end_plain(chain, answer, err);
    if (!status)
        status = ath_docker_container_read(answer->json, &runtime, err);
    if (status)
        return status;
    if (!ath_docker_is_in_state(&runtime, "running") || runtime.restart_count > chain->restarts)
        return died(chain, &runtime, err);
    status = ask(chain, &runtime, &last);
    if (status == -EAGAIN)
        return ath_now_ms() < chain->deadline_ms ? ATH_WORK_AGAIN
                                                 : timed_out(chain, &runtime, &last, err);
    chain->result->is_healthy = !status;
    if (status) {
        ath_docker_log_tail(chain->all->docker, &runtime, &chain->result->log);
        ath_err_copy(err, &last);
    }
    return status;
}

/* The container is ours only with our label. */
static int end_find(struct ath_docker_chain *chain, enum ath_docker_role role,
                    const struct ath_docker_answer *answer, struct ath_err *err)
{
    ATH_AUTO(ath_docker_container) found = { 0 };
    if (answer->status == -ENOENT)
        return 0;
    int status = end_plain(chain, answer, err);
    if (!status)
        status = ath_docker_container_read(answer->json, &found, err);
    if (!status && ath_docker_container_node(&found) == chain->node->id) {
        chain->has_made[role] = true;
        ath_docker_chain_use(chain, role, &found);
    }
    return status;
}

static int end_find_pause(struct ath_docker_chain *chain, const struct ath_docker_answer *answer,
                          struct ath_err *err)
{
    return end_find(chain, ATH_DOCKER_PAUSE, answer, err);
}

static int end_find_runtime(struct ath_docker_chain *chain, const struct ath_docker_answer *answer,
                            struct ath_err *err)
{
    return end_find(chain, ATH_DOCKER_RUNTIME, answer, err);
}

const struct ath_docker_work_ops ath_docker_works[ATH_WORK_COUNT] = {
    [ATH_WORK_STOP_RUNTIME] = { ATH_ENGINE_STEP_REMOVE, make_stop, end_plain },
    [ATH_WORK_REMOVE_RUNTIME] = { ATH_ENGINE_STEP_REMOVE, make_remove_runtime, end_remove_runtime },
    [ATH_WORK_REMOVE_PAUSE] = { ATH_ENGINE_STEP_REMOVE, make_remove_pause, end_remove_pause },
    [ATH_WORK_CREATE_PAUSE] = { ATH_ENGINE_STEP_PAUSE, make_create_pause, end_create_pause },
    [ATH_WORK_START_PAUSE] = { ATH_ENGINE_STEP_PAUSE, make_start_pause, end_start_pause },
    [ATH_WORK_WIRE] = { ATH_ENGINE_STEP_MACVLAN, make_inspect_pause, end_wire },
    [ATH_WORK_CREATE_RUNTIME] = { ATH_ENGINE_STEP_RUNTIME, make_create_runtime,
                                  end_create_runtime },
    [ATH_WORK_START_RUNTIME] = { ATH_ENGINE_STEP_RUNTIME, make_start_runtime, end_start_runtime },
    [ATH_WORK_LIMIT] = { ATH_ENGINE_STEP_RUNTIME, make_limit, end_limit },
    [ATH_WORK_WAIT] = { ATH_ENGINE_STEP_WAIT, make_inspect_runtime, end_wait },
    [ATH_WORK_FIND_RUNTIME] = { ATH_ENGINE_STEP_UNDO, make_find_runtime, end_find_runtime },
    [ATH_WORK_FIND_PAUSE] = { ATH_ENGINE_STEP_UNDO, make_find_pause, end_find_pause },
    [ATH_WORK_UNDO_RUNTIME] = { ATH_ENGINE_STEP_UNDO, make_undo_runtime, end_undo_runtime },
    [ATH_WORK_UNDO_PAUSE] = { ATH_ENGINE_STEP_UNDO, make_undo_pause, end_undo_pause },
};
