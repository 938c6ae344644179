/* Explains why a node could not be started, and plans what must be undone. */
#include "config.h"

#include "container/engine/docker_chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/unknown.h"
#include "container/docker/json.h"

static bool is_about_port(const struct ath_err *err)
{
    return strstr(err->message, "port is already allocated") ||
           strstr(err->message, "address already in use");
}

/* Returns true if another node's or a foreign container has published one of the node's ports. */
static bool is_published(const struct ath_docker_chain *chain)
{
    const struct ath_docker_containers *all = &chain->all->present.all;
    for (size_t i = 0; i < all->count; i++) {
        json_t *ports = ath_docker_json_at(all->items[i].json, "Ports"), *port;
        size_t j;
        json_array_foreach(ports, j, port)
        {
            int number = (int)ath_docker_json_number(port, "PublicPort", ATH_UNKNOWN);
            const char *protocol = ath_docker_json_text(port, "Type");
            for (size_t k = 0; k < chain->node->port_count; k++)
                if (chain->node->ports[k].port == number &&
                    (!protocol || !strcmp(protocol, chain->node->ports[k].protocol)) &&
                    ath_docker_container_node(&all->items[i]) != chain->node->id)
                    return true;
        }
    }
    return false;
}

/*
 * Returns true if Docker's records are wrong: a killed daemon leaves tasks, addresses and its
 * docker-proxy behind, of which the next daemon has no record. The port or id that Docker reports
 * as taken then has no other owner.
 */
static bool is_stuck(const struct ath_docker_chain *chain, const struct ath_err *err)
{
    int port;
    if (!is_about_port(err))
        return strstr(err->message, "id already in use") != NULL;
    ath_auto_free char *owner = ath_node_port_owner(chain->node, &port);
    /* Without a visible owner, "already allocated" means that Docker's own records have the
     * port. */
    bool is_own = owner ? ath_starts_with(owner, "docker-proxy ")
                        : strstr(err->message, "port is already allocated") != NULL;
    return is_own && !is_published(chain);
}

bool ath_docker_chain_is_renewable(const struct ath_docker_chain *chain, const struct ath_err *err)
{
    return !is_about_port(err) || is_stuck(chain, err);
}

/* Replaces messages of the daemon for which aitherion has a better one, or a hint. */
static int translate(const struct ath_docker_chain *chain, int status, struct ath_err *err)
{
    struct ath_err port;

    if (strstr(err->message, "executable file not found"))
        return ath_err_hint(
            err, status,
            _("the image has no %s: use another image, or make it with aitherion image "
              "build --tag %s"),
            ATH_PLAN_RUNTIME, chain->all->plan->image);
    if (strstr(err->message, "no space left on device")) {
        err->code = ATH_E_NO_SPACE;
        return ath_err_hint(err, status, "docker system df");
    }
    if (is_stuck(chain, err))
        ath_err_hint(err, status, "systemctl restart docker");
    else if (is_about_port(err) && ath_node_port_taken(chain->node, err->message, &port))
        ath_err_copy(err, &port);
    if (is_about_port(err))
        err->code = ATH_E_PORT_IN_USE;
    return status;
}

void ath_docker_chain_plan_undo(struct ath_docker_chain *chain)
{
    static const enum ath_docker_work find[] = {
        [ATH_DOCKER_PAUSE] = ATH_WORK_FIND_PAUSE, [ATH_DOCKER_RUNTIME] = ATH_WORK_FIND_RUNTIME
    };
    static const enum ath_docker_work undo[] = {
        [ATH_DOCKER_PAUSE] = ATH_WORK_UNDO_PAUSE, [ATH_DOCKER_RUNTIME] = ATH_WORK_UNDO_RUNTIME
    };
    chain->is_undoing = true;
    chain->todo = 0;
    for (int role = 0; role <= ATH_DOCKER_RUNTIME; role++) {
        if (chain->is_doubtful[role])
            ath_docker_chain_plan(chain, find[role]);
        if (chain->has_made[role] || chain->has_started[role] || chain->is_doubtful[role])
            ath_docker_chain_plan(chain, undo[role]);
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

/* Requests name containers by their ids; messages use the names. */
static struct ath_err in_names(const struct ath_docker_chain *chain, const struct ath_err *err)
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

void ath_docker_chain_fail(struct ath_docker_chain *chain, int status, const struct ath_err *err)
{
    struct ath_start_result *result = chain->result;
    const struct ath_err named = in_names(chain, err);
    if (chain->is_undoing) {
        if (!chain->has_left)
            ath_err_append(&result->err, status, _("; undoing the start failed too: %s"),
                           named.message);
        chain->has_left = true;
        return;
    }
    result->outcome = ATH_START_FAILED;
    result->status = status;
    result->err = named;
    translate(chain, status, &result->err);
    ath_docker_chain_plan_undo(chain);
}

void ath_docker_chain_unwire(struct ath_docker_chain *chain)
{
    struct ath_err err;
    int status = ath_engine_unwire(&chain->wiring, &err);
    ath_wiring_free(&chain->wiring);
    if (status)
        ath_docker_chain_fail(chain, status, &err);
}
