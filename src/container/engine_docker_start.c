/*
 * Starting nodes in Docker: for each what is to be done, from what is there; then all at once, a
 * chain of requests for each node.
 *
 * A runtime that joined a pause container's network stays in it when the pause container ends, and
 * a pause container that is started again gets a new network: the runtime must be restarted then,
 * and the macvlan made anew (it ended with the old network).
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/unknown.h"
#include "container/docker_image.h"
#include "container/docker_json.h"
#include "container/engine_docker.h"
#include "container/image_load.h"
#include "container/process_facts.h"

enum { POLL_FIRST_MS = 50, POLL_MOST_MS = 500, STOP_GRACE_S = 10 };
enum { NAME_TRIES = 100, NAME_WAIT_MS = 100 };

/* In this order; a node's chain has some of them. */
enum work {
    STOP_RUNTIME,
    REMOVE_RUNTIME,
    REMOVE_PAUSE,
    CREATE_PAUSE,
    START_PAUSE,
    WIRE,
    CREATE_RUNTIME,
    START_RUNTIME,
    WAIT,
    /* Only after a failure: */
    FIND_RUNTIME, /* whether a request to create it, whose answer did not come, was heard */
    FIND_PAUSE,
    UNDO_RUNTIME,
    UNDO_PAUSE,
    WORK_COUNT
};

enum { AGAIN = 1 }; /* what a work answers that is to be done once more */

struct starting {
    struct ath_engine *engine;
    struct ath_docker *docker;
    const struct ath_plan *plan;
    const struct ath_start_options *options;
    struct ath_docker_present present;
    char *image_id; /* NULL: there is no such image */
};

struct chain {
    struct starting *all;
    const struct ath_plan_node *node;
    struct ath_start_result *result;
    const struct ath_docker_container *runtime, *pause; /* as they were found; NULL */
    char *ids[2];                                       /* by role, of those that are to be used */
    unsigned int todo;
    enum work work;
    int step;           /* that was told last; -1 none */
    bool is_taken_over; /* another document had started it */
    bool is_begun, is_undoing, is_done;
    bool has_renewed; /* what could not be started as it was found */
    bool has_left;    /* what could not be taken back; the first of it is said */
    bool has_made[2], has_started[2], is_doubtful[2]; /* by role */
    struct ath_wiring wiring;
    int restarts; /* before it was started */
    uint64_t deadline_ms;
    int poll_ms;
    int tries; /* to get a name that is taken by nothing that can be seen */
};

static void chain_free(struct chain *chain)
{
    free(chain->ids[ATH_DOCKER_RUNTIME]);
    free(chain->ids[ATH_DOCKER_PAUSE]);
    ath_wiring_free(&chain->wiring);
}

static void plan_work(struct chain *chain, enum work work)
{
    chain->todo |= 1u << work;
}

static bool has_work(const struct chain *chain, enum work work)
{
    return chain->todo & 1u << work;
}

static void tell(struct chain *chain, enum ath_engine_step step)
{
    const struct ath_start_options *options = chain->all->options;
    if (chain->step == (int)step)
        return;
    chain->step = (int)step;
    if (options->progress)
        options->progress(options->context, chain->node, step);
}

/* ---- what is to be done ---- */

static int refuse_foreign(const char *name, struct ath_err *err)
{
    ath_err_set(err, -EPERM, ATH_E_FOREIGN,
                _("there is a container '%s' that aitherion did not make"), name);
    return ath_err_hint(err, -EPERM, "docker rename %s %s-other", name, name);
}

/* A name that somebody else's container has. */
static int check_names(const struct chain *chain, struct ath_err *err)
{
    const struct ath_docker_containers *all = &chain->all->present.all;
    for (int role = 0; role <= ATH_DOCKER_RUNTIME; role++) {
        const char *name = ath_docker_name(chain->node, (enum ath_docker_role)role);
        for (size_t i = 0; name && i < all->count; i++)
            if (!strcmp(all->items[i].name, name) &&
                ath_docker_container_node(&all->items[i]) != chain->node->id)
                return refuse_foreign(name, err);
    }
    return 0;
}

/* Nodes of two documents have the same names in one Docker. */
static int check_owner(struct chain *chain, const struct ath_docker_container *container,
                       struct ath_err *err)
{
    ath_auto_free char *socket = NULL;
    if (!container)
        return 0;
    struct ath_owner owner = ath_docker_owner(chain->all->engine, container, &socket);
    int status = ath_owner_check(&owner, chain->node, container->name, err);
    if (!status || !chain->all->options->takes_over)
        return status;
    chain->is_taken_over = true;
    return 0;
}

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* NULL where a container is what the plan wants, else why not. */
static const char *difference(const struct chain *chain,
                              const struct ath_docker_container *container,
                              enum ath_docker_role role)
{
    const struct starting *all = chain->all;
    ath_auto_free char *plan = ath_docker_fingerprint(chain->node, all->plan->image, role);

    if (chain->is_taken_over)
        return _("another document had started it");
    if (!is_same_text(plan, ath_docker_label(container->labels, ATH_PLAN_LABEL_PLAN)) ||
        !is_same_text(ath_plan_label(chain->node, ATH_PLAN_LABEL_MACVLANS),
                      ath_docker_label(container->labels, ATH_PLAN_LABEL_MACVLANS)) ||
        !is_same_text(ath_docker_name(chain->node, role), container->name))
        return _("the document has other settings now");
    if (all->image_id && container->image_id && strcmp(all->image_id, container->image_id) != 0)
        return _("the image was made anew");
    return NULL;
}

static bool is_in(const struct ath_docker_container *container, const char *state)
{
    return container && !strcmp(container->state, state);
}

/* Not run, but whole: it can be started as it is. */
static bool is_at_rest(const struct ath_docker_container *container)
{
    return is_in(container, "created") || is_in(container, "exited");
}

static void use(struct chain *chain, enum ath_docker_role role,
                const struct ath_docker_container *container)
{
    free(chain->ids[role]);
    chain->ids[role] = ath_xstrdup(container->id);
}

static void explain(struct chain *chain, enum ath_start_outcome outcome, const char *reason)
{
    if (chain->result->outcome != ATH_START_SAME)
        return;
    chain->result->outcome = outcome;
    chain->result->reason = ath_xstrdup(reason);
}

static void make_runtime(struct chain *chain)
{
    if (chain->runtime)
        plan_work(chain, REMOVE_RUNTIME);
    plan_work(chain, CREATE_RUNTIME);
    plan_work(chain, START_RUNTIME);
}

static void make_pause(struct chain *chain)
{
    if (chain->pause)
        plan_work(chain, REMOVE_PAUSE);
    plan_work(chain, CREATE_PAUSE);
    plan_work(chain, START_PAUSE);
    plan_work(chain, WIRE);
    make_runtime(chain); /* it is bound to the old one by its id */
}

/* One that runs: what its network lacks. */
static int decide_wiring(struct chain *chain, struct ath_err *err)
{
    ATH_AUTO(ath_wiring) missing = { 0 };
    ath_auto_free char *path = ath_docker_netns_path(chain->pause);

    use(chain, ATH_DOCKER_PAUSE, chain->pause);
    if (chain->node->macvlan_count && path) {
        int status = ath_engine_wire(chain->node, path, true, &missing, err);
        if (status)
            return status;
        if (missing.step_count)
            plan_work(chain, WIRE);
    }
    if (!chain->runtime || !chain->runtime->is_running)
        return 0;
    if (ath_docker_is_astray(chain->runtime, chain->pause)) {
        explain(chain, ATH_START_MENDED, _("its pause container was started anew, without it"));
        plan_work(chain, STOP_RUNTIME);
    } else if (missing.has_new_links) {
        explain(chain, ATH_START_MENDED, _("its macvlan was gone"));
        plan_work(chain, STOP_RUNTIME);
    } else if (missing.step_count) {
        explain(chain, ATH_START_MENDED, _("its macvlan was not as the document has it"));
    }
    if (has_work(chain, STOP_RUNTIME))
        plan_work(chain, START_RUNTIME);
    return 0;
}

/* A runtime that was in no pause container's network never had one. */
static void explain_pause(struct chain *chain, const char *reason)
{
    const char *mode = chain->runtime->network_mode;
    bool had_one = mode && ath_starts_with(mode, "container:");

    if (!reason && !chain->pause && !had_one)
        reason = difference(chain, chain->runtime, ATH_DOCKER_RUNTIME);
    explain(chain, reason ? ATH_START_RESTARTED : ATH_START_MENDED,
            reason ? reason : _("its pause container was gone"));
}

static int decide_pause(struct chain *chain, struct ath_err *err)
{
    bool was_running = chain->runtime && chain->runtime->is_running;
    const char *reason = chain->pause ? difference(chain, chain->pause, ATH_DOCKER_PAUSE) : NULL;

    if (!chain->node->pause_name) {
        if (chain->pause) {
            plan_work(chain, REMOVE_PAUSE);
            make_runtime(chain);
        }
        return 0;
    }
    if (!chain->pause || reason || !(is_in(chain->pause, "running") || is_at_rest(chain->pause))) {
        if (was_running)
            explain_pause(chain, reason);
        make_pause(chain);
        return 0;
    }
    if (is_in(chain->pause, "running"))
        return decide_wiring(chain, err);
    use(chain, ATH_DOCKER_PAUSE, chain->pause);
    plan_work(chain, START_PAUSE);
    plan_work(chain, WIRE);
    if (was_running) {
        explain(chain, ATH_START_MENDED, _("its pause container had ended"));
        plan_work(chain, STOP_RUNTIME);
        plan_work(chain, START_RUNTIME);
    }
    return 0;
}

static void decide_runtime(struct chain *chain)
{
    const struct ath_docker_container *runtime = chain->runtime;
    const char *reason = runtime ? difference(chain, runtime, ATH_DOCKER_RUNTIME) : NULL;

    if (has_work(chain, CREATE_RUNTIME)) {
        if (runtime && runtime->is_running && reason)
            explain(chain, ATH_START_RESTARTED, reason);
        return;
    }
    if (!runtime || reason || !(is_in(runtime, "running") || is_at_rest(runtime))) {
        if (runtime && runtime->is_running)
            explain(chain, ATH_START_RESTARTED,
                    reason ? reason : _("it was neither running nor stopped"));
        make_runtime(chain);
        chain->todo &= ~(1u << STOP_RUNTIME);
        return;
    }
    use(chain, ATH_DOCKER_RUNTIME, runtime);
    if (is_at_rest(runtime))
        plan_work(chain, START_RUNTIME);
    /* Docker counts from zero again when it is started by hand. */
    chain->restarts = has_work(chain, START_RUNTIME) ? 0 : runtime->restart_count;
}

static bool needs_image(const struct chain *chain)
{
    return has_work(chain, CREATE_PAUSE) || has_work(chain, CREATE_RUNTIME);
}

static int decide(struct chain *chain, struct ath_err *err)
{
    const struct starting *all = chain->all;
    const struct ath_plan_node *node = chain->node;
    const struct ath_docker_engine *own = all->engine->own;

    if (ath_plan_node_waits(node))
        return ath_err_set(err, -EBUSY, ATH_E_BUSY,
                           _("the memory of a GPU of '%s' is not online yet"), node->name);
    int status = check_names(chain, err);
    if (status)
        return status;
    chain->runtime = ath_docker_present_find(&all->present, node->id, ATH_DOCKER_RUNTIME);
    chain->pause = ath_docker_present_find(&all->present, node->id, ATH_DOCKER_PAUSE);
    status = check_owner(chain, chain->pause, err);
    if (!status)
        status = check_owner(chain, chain->runtime, err);
    if (status)
        return status;
    chain->result->outcome = ATH_START_SAME;
    status = decide_pause(chain, err);
    if (status)
        return status;
    decide_runtime(chain);
    if (has_work(chain, START_RUNTIME))
        explain(chain, ATH_START_STARTED, NULL);
    if (needs_image(chain) && !all->image_id)
        return ath_image_missing(all->plan->image, err);
    if (all->options->is_waiting)
        plan_work(chain, WAIT);
    return own->is_local && chain->todo ? ath_node_make_folder(node, err) : 0;
}

/* ---- failing ---- */

static bool is_about_port(const struct ath_err *err)
{
    return strstr(err->message, "port is already allocated") ||
           strstr(err->message, "address already in use");
}

/* Whether a container that runs has published one of the node's ports. */
static bool is_published(const struct chain *chain)
{
    const struct ath_docker_containers *all = &chain->all->present.all;
    for (size_t i = 0; i < all->count; i++) {
        json_t *ports = ath_docker_json_at(all->items[i].json, "Ports"), *port;
        size_t j;
        json_array_foreach(ports, j, port)
        {
            int number = (int)ath_docker_json_number(port, "PublicPort", ATH_UNKNOWN);
            for (size_t k = 0; k < chain->node->port_count; k++)
                if (chain->node->ports[k].port == number &&
                    ath_docker_container_node(&all->items[i]) != chain->node->id)
                    return true;
        }
    }
    return false;
}

/*
 * Docker's own books are wrong: a daemon that was killed leaves tasks, addresses and its
 * docker-proxy behind, which the next one knows nothing of. Nobody else has what it says is taken.
 */
static bool is_docker_stuck(const struct chain *chain, const struct ath_err *err)
{
    int port;
    if (!is_about_port(err))
        return strstr(err->message, "id already in use") != NULL;
    ath_auto_free char *owner = ath_node_port_owner(chain->node, &port);
    /* Without an owner only Docker's own word says that none is hidden from us. */
    bool is_own = owner ? ath_starts_with(owner, "docker-proxy ")
                        : strstr(err->message, "port is already allocated") != NULL;
    return is_own && !is_published(chain);
}

/* Of a daemon's own words, what we can say better. */
static int translate(const struct chain *chain, int status, struct ath_err *err)
{
    struct ath_err port;

    if (strstr(err->message, "executable file not found"))
        return ath_err_hint(err, status,
                            _("the image has no %s: take another, or make it with aitherion image "
                              "build --tag %s"),
                            ATH_PLAN_RUNTIME, chain->all->plan->image);
    if (strstr(err->message, "no space left on device")) {
        err->code = ATH_E_NO_SPACE;
        return ath_err_hint(err, status, "docker system df");
    }
    if (is_docker_stuck(chain, err))
        ath_err_hint(err, status, "systemctl restart docker");
    else if (is_about_port(err) && ath_node_port_taken(chain->node, err->message, &port))
        *err = port;
    if (is_about_port(err))
        err->code = ATH_E_PORT_IN_USE;
    return status;
}

static void plan_undo(struct chain *chain)
{
    static const enum work find[] = {
        [ATH_DOCKER_PAUSE] = FIND_PAUSE, [ATH_DOCKER_RUNTIME] = FIND_RUNTIME
    };
    static const enum work undo[] = {
        [ATH_DOCKER_PAUSE] = UNDO_PAUSE, [ATH_DOCKER_RUNTIME] = UNDO_RUNTIME
    };
    chain->is_undoing = true;
    chain->todo = 0;
    for (int role = 0; role <= ATH_DOCKER_RUNTIME; role++) {
        if (chain->is_doubtful[role])
            plan_work(chain, find[role]);
        if (chain->has_made[role] || chain->has_started[role] || chain->is_doubtful[role])
            plan_work(chain, undo[role]);
    }
}

static void replace(struct ath_err *err, const char *id, const char *name)
{
    const char *found = id && name ? strstr(err->message, id) : NULL;
    if (!found)
        return;
    ath_auto_free char *text = ath_xasprintf("%.*s%s%s", (int)(found - err->message), err->message,
                                             name, found + strlen(id));
    snprintf(err->message, sizeof err->message, "%s", text);
}

/* Containers are asked for by their ids, which say nothing to a person. */
static struct ath_err in_names(const struct chain *chain, const struct ath_err *err)
{
    struct ath_err named = *err;
    for (int role = 0; role <= ATH_DOCKER_RUNTIME; role++)
        replace(&named, chain->ids[role], ath_docker_name(chain->node, (enum ath_docker_role)role));
    if (chain->runtime)
        replace(&named, chain->runtime->id, chain->runtime->name);
    if (chain->pause)
        replace(&named, chain->pause->id, chain->pause->name);
    return named;
}

static void fail(struct chain *chain, int status, const struct ath_err *err)
{
    struct ath_start_result *result = chain->result;
    const struct ath_err named = in_names(chain, err);
    if (chain->is_undoing) {
        size_t length = strlen(result->err.message);
        if (!chain->has_left)
            snprintf(result->err.message + length, sizeof result->err.message - length,
                     _("; and what was made could not be taken back: %s"), named.message);
        chain->has_left = true;
        return;
    }
    result->outcome = ATH_START_FAILED;
    result->status = status;
    result->err = named;
    translate(chain, status, &result->err);
    plan_undo(chain);
}

static void unwire(struct chain *chain)
{
    struct ath_err err;
    int status = ath_engine_unwire(&chain->wiring, &err);
    ath_wiring_free(&chain->wiring);
    if (status)
        fail(chain, status, &err);
}

/* ---- the works ---- */

static struct ath_docker_request *make_stop(struct chain *chain)
{
    return ath_docker_container_stop(chain->runtime->id, STOP_GRACE_S);
}

static struct ath_docker_request *make_remove_runtime(struct chain *chain)
{
    return ath_docker_container_remove(chain->runtime->id, true);
}

static struct ath_docker_request *make_remove_pause(struct chain *chain)
{
    return ath_docker_container_remove(chain->pause->id, true);
}

static struct ath_docker_request *create(struct chain *chain, enum ath_docker_role role)
{
    chain->is_doubtful[role] = true;
    struct ath_docker_request *request =
        ath_docker_container_create(ath_docker_name(chain->node, role),
                                    ath_docker_body(chain->node, chain->all->plan->image, role));
    request->delay_ms = chain->tries ? NAME_WAIT_MS : 0;
    return request;
}

static struct ath_docker_request *make_create_pause(struct chain *chain)
{
    return create(chain, ATH_DOCKER_PAUSE);
}

static struct ath_docker_request *make_create_runtime(struct chain *chain)
{
    return create(chain, ATH_DOCKER_RUNTIME);
}

static struct ath_docker_request *start(struct chain *chain, enum ath_docker_role role)
{
    chain->has_started[role] = true;
    return ath_docker_container_start(ath_docker_name(chain->node, role)); /* for its messages */
}

static struct ath_docker_request *make_start_pause(struct chain *chain)
{
    return start(chain, ATH_DOCKER_PAUSE);
}

static struct ath_docker_request *make_start_runtime(struct chain *chain)
{
    return start(chain, ATH_DOCKER_RUNTIME);
}

static struct ath_docker_request *make_inspect_pause(struct chain *chain)
{
    return ath_docker_container_inspect(chain->ids[ATH_DOCKER_PAUSE]);
}

static struct ath_docker_request *make_inspect_runtime(struct chain *chain)
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

static struct ath_docker_request *make_find_pause(struct chain *chain)
{
    return ath_docker_container_inspect(ath_docker_name(chain->node, ATH_DOCKER_PAUSE));
}

static struct ath_docker_request *make_find_runtime(struct chain *chain)
{
    return ath_docker_container_inspect(ath_docker_name(chain->node, ATH_DOCKER_RUNTIME));
}

/* What was made goes; what was there and has been started is stopped again. */
static struct ath_docker_request *undo(struct chain *chain, enum ath_docker_role role)
{
    if (!chain->ids[role] || !(chain->has_made[role] || chain->has_started[role]))
        return NULL;
    return chain->has_made[role] ? ath_docker_container_remove(chain->ids[role], true)
                                 : ath_docker_container_stop(chain->ids[role], 1);
}

static struct ath_docker_request *make_undo_pause(struct chain *chain)
{
    return undo(chain, ATH_DOCKER_PAUSE);
}

static struct ath_docker_request *make_undo_runtime(struct chain *chain)
{
    return undo(chain, ATH_DOCKER_RUNTIME);
}

static int end_plain(struct chain *chain, const struct ath_docker_answer *answer,
                     struct ath_err *err)
{
    (void)chain;
    if (answer->status)
        *err = *answer->err;
    return answer->status;
}

static int end_remove(struct chain *chain, const struct ath_docker_answer *answer,
                      struct ath_err *err)
{
    return answer->status == -ENOENT ? 0 : end_plain(chain, answer, err);
}

/*
 * The name is taken, though it was free a moment ago: a daemon finishes what it was asked by a
 * start that was killed since, and reserves the name before there is a container to be seen. What
 * comes out of that is ours.
 */
static int take_over(struct chain *chain, enum ath_docker_role role, struct ath_err *err)
{
    ATH_AUTO(ath_docker_container) found = { 0 };
    json_auto_t *json = NULL;
    struct ath_docker *docker = chain->all->docker;
    const char *name = ath_docker_name(chain->node, role);

    int status = ath_docker_do(docker, ath_docker_container_inspect(name), &json, err);
    if (status == -ENOENT && chain->tries++ < NAME_TRIES)
        return AGAIN;
    if (!status)
        status = ath_docker_container_read(json, &found, err);
    if (status == -ENOENT || (!status && ath_docker_container_node(&found) != chain->node->id))
        return refuse_foreign(name, err);
    if (status)
        return status;
    if (!difference(chain, &found, role)) {
        use(chain, role, &found);
        return 0;
    }
    status = ath_docker_do(docker, ath_docker_container_remove(found.id, true), NULL, err);
    return status && status != -ENOENT ? status : AGAIN;
}

static int end_create(struct chain *chain, enum ath_docker_role role,
                      const struct ath_docker_answer *answer, struct ath_err *err)
{
    const char *id = answer->json ? ath_docker_json_text(answer->json, "Id") : NULL;

    /* With these the daemon has said that it made nothing. */
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

static int end_create_pause(struct chain *chain, const struct ath_docker_answer *answer,
                            struct ath_err *err)
{
    return end_create(chain, ATH_DOCKER_PAUSE, answer, err);
}

static int end_create_runtime(struct chain *chain, const struct ath_docker_answer *answer,
                              struct ath_err *err)
{
    return end_create(chain, ATH_DOCKER_RUNTIME, answer, err);
}

/*
 * One that was found at rest, and that a killed daemon has left half started: a new one has another
 * id and another address. Once; what is new and fails so stays failed.
 */
static int end_start(struct chain *chain, enum ath_docker_role role,
                     const struct ath_docker_answer *answer, struct ath_err *err)
{
    int status = end_plain(chain, answer, err);
    if (!status || chain->has_made[role] || chain->has_renewed || !is_docker_stuck(chain, err))
        return status;
    chain->has_renewed = true;
    chain->has_started[role] = false;
    if (role == ATH_DOCKER_PAUSE)
        make_pause(chain);
    else
        make_runtime(chain);
    if (!needs_image(chain) || chain->all->image_id)
        return 0;
    return ath_image_missing(chain->all->plan->image, err);
}

static int end_start_pause(struct chain *chain, const struct ath_docker_answer *answer,
                           struct ath_err *err)
{
    return end_start(chain, ATH_DOCKER_PAUSE, answer, err);
}

static int end_start_runtime(struct chain *chain, const struct ath_docker_answer *answer,
                             struct ath_err *err)
{
    return end_start(chain, ATH_DOCKER_RUNTIME, answer, err);
}

static int died(struct chain *chain, const struct ath_docker_container *container,
                struct ath_err *err)
{
    struct ath_texts *log = &chain->result->log;
    ath_docker_log_tail(chain->all->docker, container, log);
    return ath_node_died(chain->node, container->name, container->exit_code, log, err);
}

static int end_wire(struct chain *chain, const struct ath_docker_answer *answer,
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
        ath_err_set(err, -EOPNOTSUPP, ATH_E_UNSUPPORTED,
                    _("a macvlan cannot be moved into '%s': it does not run on this machine, or "
                      "may not be looked at"),
                    pause.name);
        return ath_err_hint(err, -EOPNOTSUPP,
                            _("run this as root, where Docker runs; or take the macvlan off: "
                              "aitherion roce macvlan %s --delete"),
                            chain->node->macvlans[0].name);
    }
    return ath_engine_wire(chain->node, path, false, &chain->wiring, err);
}

static int timed_out(struct chain *chain, const struct ath_docker_container *runtime,
                     const struct ath_err *last, struct ath_err *err)
{
    int timeout_s = chain->all->options->timeout_ms / 1000;
    ath_docker_log_tail(chain->all->docker, runtime, &chain->result->log);
    ath_err_set(err, -ETIMEDOUT, ATH_E_START_TIMEOUT, _("'%s' does not answer after %d s%s%s"),
                runtime->name, timeout_s, last->code ? ": " : "", last->code ? last->message : "");
    return ath_err_hint(err, -ETIMEDOUT, "aitherion start %d --timeout %d", chain->node->id,
                        timeout_s * 2);
}

/* 0 it answers, -EAGAIN not yet, or why it never will. */
static int ask(const struct chain *chain, const struct ath_docker_container *runtime,
               struct ath_err *err)
{
    const struct ath_start_options *options = chain->all->options;
    int status = options->probe ? options->probe(options->context, chain->node, err) : -ENOTSUP;

    if (status != -ENOTSUP)
        return status;
    err->code = ATH_E_NONE;
    if (ath_docker_is_listening(runtime, chain->node->socket))
        return 0;
    return !runtime->health || !strcmp(runtime->health, "healthy") ? 0 : -EAGAIN;
}

static int end_wait(struct chain *chain, const struct ath_docker_answer *answer,
                    struct ath_err *err)
{
    ATH_AUTO(ath_docker_container) runtime = { 0 };
    struct ath_err last = { 0 };
    int status = end_plain(chain, answer, err);
    if (!status)
        status = ath_docker_container_read(answer->json, &runtime, err);
    if (status)
        return status;
    if (!is_in(&runtime, "running") || runtime.restart_count > chain->restarts)
        return died(chain, &runtime, err);
    status = ask(chain, &runtime, &last);
    if (status == -EAGAIN)
        return ath_now_ms() < chain->deadline_ms ? AGAIN : timed_out(chain, &runtime, &last, err);
    chain->result->is_healthy = !status;
    if (status) {
        ath_docker_log_tail(chain->all->docker, &runtime, &chain->result->log);
        *err = last;
    }
    return status;
}

/* Ours only where it bears our label. */
static int end_find(struct chain *chain, enum ath_docker_role role,
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
        use(chain, role, &found);
    }
    return status;
}

static int end_find_pause(struct chain *chain, const struct ath_docker_answer *answer,
                          struct ath_err *err)
{
    return end_find(chain, ATH_DOCKER_PAUSE, answer, err);
}

static int end_find_runtime(struct chain *chain, const struct ath_docker_answer *answer,
                            struct ath_err *err)
{
    return end_find(chain, ATH_DOCKER_RUNTIME, answer, err);
}

/* make returns NULL where there is nothing to do after all; end returns 0, AGAIN, or a negative
 * errno with err. */
static const struct {
    enum ath_engine_step step;
    struct ath_docker_request *(*make)(struct chain *chain);
    int (*end)(struct chain *chain, const struct ath_docker_answer *answer, struct ath_err *err);
} works[WORK_COUNT] = {
    [STOP_RUNTIME] = { ATH_ENGINE_STEP_REMOVE, make_stop, end_plain },
    [REMOVE_RUNTIME] = { ATH_ENGINE_STEP_REMOVE, make_remove_runtime, end_remove },
    [REMOVE_PAUSE] = { ATH_ENGINE_STEP_REMOVE, make_remove_pause, end_remove },
    [CREATE_PAUSE] = { ATH_ENGINE_STEP_PAUSE, make_create_pause, end_create_pause },
    [START_PAUSE] = { ATH_ENGINE_STEP_PAUSE, make_start_pause, end_start_pause },
    [WIRE] = { ATH_ENGINE_STEP_MACVLAN, make_inspect_pause, end_wire },
    [CREATE_RUNTIME] = { ATH_ENGINE_STEP_RUNTIME, make_create_runtime, end_create_runtime },
    [START_RUNTIME] = { ATH_ENGINE_STEP_RUNTIME, make_start_runtime, end_start_runtime },
    [WAIT] = { ATH_ENGINE_STEP_WAIT, make_inspect_runtime, end_wait },
    [FIND_RUNTIME] = { ATH_ENGINE_STEP_UNDO, make_find_runtime, end_find_runtime },
    [FIND_PAUSE] = { ATH_ENGINE_STEP_UNDO, make_find_pause, end_find_pause },
    [UNDO_RUNTIME] = { ATH_ENGINE_STEP_UNDO, make_undo_runtime, end_remove },
    [UNDO_PAUSE] = { ATH_ENGINE_STEP_UNDO, make_undo_pause, end_remove },
};

/* ---- the chains ---- */

static void note(void *context, struct ath_docker_batch *batch,
                 const struct ath_docker_answer *answer);

static void finish(struct chain *chain)
{
    if (chain->is_undoing && chain->wiring.count)
        unwire(chain);
    chain->is_done = true;
    if (!chain->is_undoing)
        chain->result->status = 0;
    tell(chain, ATH_ENGINE_STEP_DONE);
}

static void go_on(struct chain *chain, struct ath_docker_batch *batch)
{
    while (chain->todo) {
        chain->work = (enum work)__builtin_ctz(chain->todo);
        chain->todo &= ~(1u << chain->work);
        tell(chain, works[chain->work].step);
        /* The macvlan goes back where it was while there still is a network to take it from. */
        if (chain->work == UNDO_PAUSE)
            unwire(chain);
        struct ath_docker_request *request = works[chain->work].make(chain);
        if (request) {
            ath_docker_batch_add(batch, request, note, chain);
            return;
        }
    }
    finish(chain);
}

/* Interrupted: what is added now would be dropped; ath_docker_start() takes back by another batch.
 */
static void note(void *context, struct ath_docker_batch *batch,
                 const struct ath_docker_answer *answer)
{
    struct chain *chain = context;
    struct ath_err err = { 0 };
    int status = works[chain->work].end(chain, answer, &err);

    if (status == AGAIN)
        plan_work(chain, chain->work);
    else if (status)
        fail(chain, status, &err);
    if (answer->status != -EINTR)
        go_on(chain, batch);
}

static void begin(struct chain *chain, struct ath_docker_batch *batch)
{
    struct ath_err err;
    tell(chain, ATH_ENGINE_STEP_LOOK);
    int status = decide(chain, &err);
    if (status)
        fail(chain, status, &err);
    chain->is_begun = true;
    go_on(chain, batch);
}

/* Whatever stopped us must not stop the taking back. */
static void take_back(struct starting *all, struct chain *chains)
{
    struct ath_err unused;
    struct ath_err stopped;
    ath_docker_set_stop(all->docker, NULL);
    ath_auto_docker_batch struct ath_docker_batch *batch = ath_docker_batch_new(all->docker);

    ath_err_set(&stopped, -EINTR, ATH_E_INTERRUPTED, _("interrupted"));
    for (size_t i = 0; i < all->plan->node_count; i++) {
        struct chain *chain = &chains[i];
        if (chain->is_done || !chain->is_begun)
            continue;
        if (!chain->is_undoing)
            fail(chain, -EINTR, &stopped);
        else
            plan_undo(chain);
        go_on(chain, batch);
    }
    ath_docker_batch_run(batch, &unused);
    const struct ath_docker_stop stop = { all->engine->options.is_stopped,
                                          all->engine->options.context };
    ath_docker_set_stop(all->docker, &stop);
}

static int read_present(struct starting *all, struct ath_err *err)
{
    json_auto_t *json = NULL;
    struct ath_err missing;
    int status = ath_docker_present_read(all->docker, &all->present, err);
    if (status)
        return status;
    status =
        ath_docker_do(all->docker, ath_docker_image_inspect(all->plan->image), &json, &missing);
    if (!status)
        all->image_id = ath_docker_json_copy(json, "Id");
    else if (status != -ENOENT)
        *err = missing;
    return status == -ENOENT ? 0 : status;
}

static int run_chains(struct starting *all, struct chain *chains, struct ath_err *err)
{
    ath_auto_docker_batch struct ath_docker_batch *batch = ath_docker_batch_new(all->docker);
    for (size_t i = 0; i < all->plan->node_count; i++)
        begin(&chains[i], batch);
    int status = ath_docker_batch_run(batch, err);
    if (status)
        take_back(all, chains);
    return status;
}

/* An image that was made anew leaves the old one to the containers that are made of it. */
static void drop_old_images(const struct starting *all)
{
    for (size_t i = 0; i < all->present.ours.count; i++) {
        const char *id = all->present.ours.items[i].image_id;
        if (id && all->image_id && strcmp(id, all->image_id) != 0)
            ath_image_drop_nameless(all->docker, id);
    }
}

int ath_docker_start(struct ath_engine *engine, const struct ath_plan *plan,
                     const struct ath_start_options *options, struct ath_start_results *results,
                     struct ath_err *err)
{
    const struct ath_docker_engine *own = engine->own;
    struct starting all = {
        .engine = engine, .docker = own->docker, .plan = plan, .options = options
    };
    ath_auto_free struct chain *chains = ath_xalloc((plan->node_count + 1) * sizeof *chains);

    int status = read_present(&all, err);
    for (size_t i = 0; i < plan->node_count; i++)
        chains[i] = (struct chain){
            .all = &all, .node = &plan->nodes[i], .result = &results->items[i], .step = -1
        };
    if (!status)
        status = run_chains(&all, chains, err);
    if (!status)
        drop_old_images(&all);
    for (size_t i = 0; i < plan->node_count; i++)
        chain_free(&chains[i]);
    ath_docker_present_free(&all.present);
    free(all.image_id);
    return status;
}
