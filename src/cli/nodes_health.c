/* Collecting the facts about runtimes for health, with sessions opened to them. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/nodes.h"
#include "config/key_file.h"
#include "remote/tls/tls.h"

struct looking {
    struct ath_nodes nodes;
    struct ath_engines engines;
    const char *path; /* of the document that is checked */
    struct ath_health_runtimes *out;
};

static void looking_free(struct looking *looking)
{
    ath_engines_free(&looking->engines);
    ath_nodes_free(&looking->nodes);
}

/* ---- sessions ---- */

static void keep(const struct ath_runtime_health *health, struct ath_health_runtime *out)
{
    out->has_told = true;
    out->driver_version = health->driver_version;
    out->device_count = health->device_count;
    out->is_simulated = health->is_simulated;
    out->sessions = health->sessions;
    out->vram_fraction = health->vram_fraction;
    for (size_t i = 0; i < health->problem_count && !out->local.server; i++) {
        const struct ath_runtime_problem *problem = &health->problems[i];
        struct ath_health_problem *kept =
            ath_push(&out->problems, &out->problem_count, sizeof *kept);
        *kept = (struct ath_health_problem){ problem->is_fault, ath_xstrdup(problem->code),
                                             ath_xstrdup(problem->object),
                                             ath_xstrdup(problem->message) };
    }
}

/* Asks one server and takes ownership of its text. server NULL: it cannot be reached this way. */
static void ask(struct looking *looking, char *server, struct ath_health_runtime *runtime,
                struct ath_health_session *out)
{
    const struct ath_probe probe = {
        .key_path = looking->nodes.has_key ? looking->nodes.key_path : NULL,
        .timeout_ms = ATH_PROBE_ONCE_MS,
    };
    ATH_AUTO(ath_runtime_health) health = { 0 };

    if (!server)
        return;
    int status = ath_probe_server(&probe, server, &health, &out->err);
    if (!status)
        keep(&health, runtime);
    out->server = server;
    out->answer = !status                              ? ATH_ANSWER_FINE
                  : out->err.code == ATH_E_KEY_REFUSED ? ATH_ANSWER_REFUSED
                                                       : ATH_ANSWER_SILENT;
}

/* A socket that this user may not open proves nothing, so it is not asked. */
static void ask_runtime(struct looking *looking, struct ath_health_runtime *runtime)
{
    const char *socket = runtime->status->socket;
    bool may_open = socket && (!access(socket, W_OK) || errno == ENOENT);

    if (looking->out->key_status)
        return;
    ask(looking, may_open ? ath_xasprintf("unix:%s", socket) : NULL, runtime, &runtime->local);
    if (runtime->local.answer !=
        ATH_ANSWER_SILENT) /* a runtime that hangs on its socket hangs on the network too */
        ask(looking, runtime->wanted ? ath_nodes_server(runtime->wanted) : NULL, runtime,
            &runtime->network);
}

/* ---- plans ---- */

/* Returns the node's plan for the engine that it runs in, or NULL. Plans for another engine differ
 * in ways that do not matter here. */
static const struct ath_plan_node *planned(const struct ath_plan *plan, int id)
{
    for (size_t i = 0; i < plan->node_count; i++)
        if (plan->nodes[i].id == id)
            return &plan->nodes[i];
    return NULL;
}

static void make_plan(struct looking *looking, const struct ath_engine *engine)
{
    ath_auto_free char *user = NULL;
    struct ath_plan_options options = ath_nodes_plan_options(&looking->nodes, engine, false, &user);

    ath_plan_make(looking->nodes.document, looking->nodes.machine, &looking->nodes.facts, &options,
                  &looking->out->plan, &looking->out->plan_faults, NULL);
    looking->out->has_planned = true;
}

/* Returns the engine of a running node, else the engine that a start would use. */
static struct ath_engine *main_engine(const struct looking *looking)
{
    const struct ath_node_statuses *statuses = &looking->out->statuses;

    for (size_t i = 0; i < statuses->count; i++)
        if (statuses->items[i].state > ATH_NODE_STOPPED)
            return ath_engines_find(&looking->engines, statuses->items[i].engine);
    return looking->engines.count ? looking->engines.items[0] : NULL;
}

static void look_image(struct looking *looking)
{
    struct ath_health_runtimes *out = looking->out;
    struct ath_engine *docker = ath_engines_find(&looking->engines, "docker");

    out->needs_image =
        docker && looking->nodes.has_document && looking->nodes.document->engine.image;
    if (out->needs_image)
        out->image_status =
            ath_engine_check_image(docker, looking->nodes.document->engine.image, &out->image_err);
}

static void look_key(struct looking *looking)
{
    ATH_AUTO(ath_secret) secret = { 0 };
    struct ath_health_runtimes *out = looking->out;

    out->has_key = looking->nodes.has_key;
    if (ath_nodes_is_key_open(&looking->nodes))
        out->open_key = ath_xstrdup(looking->nodes.key_path);
    if (out->has_key)
        out->key_status = ath_secret_load(looking->nodes.key_path, &secret, &out->key_err);
}

static void look_certificate(struct looking *looking)
{
    enum { DAYS_AHEAD = 14 };
    struct ath_health_runtimes *out = looking->out;
    const struct ath_document *document = looking->nodes.document;

    out->has_certificate = looking->nodes.has_document && document->tls_certificate;
    if (!out->has_certificate)
        return;
    const struct ath_tls_certificate files = { document->tls_certificate, document->tls_key };
    out->certificate_status = ath_tls_certificate_check(&files, 0, &out->certificate_err);
    if (!out->certificate_status)
        out->certificate_soon =
            ath_tls_certificate_check(&files, DAYS_AHEAD, &out->certificate_err);
}

/* ---- all ---- */

static struct ath_health_runtime *add(struct looking *looking, int id)
{
    struct ath_health_runtimes *out = looking->out;
    struct ath_health_runtime *runtime = ath_push(&out->items, &out->count, sizeof *runtime);

    runtime->id = id;
    runtime->is_recorded = ath_document_numa(looking->nodes.document, id) != NULL;
    runtime->wanted = planned(&out->plan, id);
    runtime->status = ath_node_statuses_find(&out->statuses, id);
    if (runtime->status)
        runtime->other = ath_nodes_other_document(looking->path, runtime->status);
    return runtime;
}

static bool is_added(const struct ath_health_runtimes *runtimes, int id)
{
    for (size_t i = 0; i < runtimes->count; i++)
        if (runtimes->items[i].id == id)
            return true;
    return false;
}

static void look_runtime(struct looking *looking, struct ath_health_runtime *runtime)
{
    const struct ath_node_status *status = runtime->status;
    struct ath_engine *engine = status ? ath_engines_find(&looking->engines, status->engine) : NULL;
    ath_auto_free char *user = NULL;

    if (!engine || status->state <= ATH_NODE_STOPPED || runtime->other)
        return;
    ask_runtime(looking, runtime);
    if (!runtime->is_recorded)
        return;
    const struct ath_runtime_health health = { .vram_fraction = runtime->vram_fraction };
    struct ath_plan_options options = ath_nodes_plan_options(&looking->nodes, engine, false, &user);
    struct ath_nodes_drift drift =
        ath_nodes_drift(&looking->nodes, status, runtime->has_told ? &health : NULL, &options);
    runtime->drift = drift.text;
    runtime->needs_restart = drift.needs_restart;
}

static void look_runtimes(struct looking *looking)
{
    const struct ath_document *document = looking->nodes.document;
    struct ath_health_runtimes *out = looking->out;

    for (size_t i = 0; i < document->numa.count; i++)
        add(looking, document->numa.items[i].id);
    for (size_t i = 0; i < out->statuses.count; i++)
        if (!is_added(out, out->statuses.items[i].id))
            add(looking, out->statuses.items[i].id);
    for (size_t i = 0; i < out->count; i++)
        look_runtime(looking, &out->items[i]);
}

static void take_document(const struct ath_health_facts *facts, struct ath_nodes *out)
{
    out->document = facts->document ? facts->document : &out->own_document;
    out->has_document = facts->document != NULL;
    out->machine = facts->machine;
    out->run_folder = ath_engine_seen_folder(true);
    out->key_path = ath_key_file_find(facts->document ? facts->document->key_file : ATH_NODES_KEY,
                                      &out->has_key);
}

void ath_nodes_look(const struct ath_cli *cli, const struct ath_health_facts *facts,
                    struct ath_health_runtimes *out)
{
    ATH_AUTO(looking) looking = { .path = facts->document_path, .out = out };
    ATH_AUTO(ath_root) root = { .fd = -1 };

    *out = (struct ath_health_runtimes){ 0 };
    if (ath_cli_root(cli, &root, &out->survey_err) || (!facts->is_live && !root.path))
        return;
    take_document(facts, &looking.nodes);
    ath_plan_facts_read(&root, facts->machine, &looking.nodes.facts);
    if (!facts->is_live) { /* nothing runs on a captured machine, but the plan can be made */
        if (looking.nodes.has_document)
            make_plan(&looking, NULL);
        return;
    }
    out->is_known = true;
    struct ath_engine_options options = ath_nodes_engine_options(&looking.nodes);
    ath_engines_open(ATH_ENGINE_AUTO, &options, &looking.engines);
    out->docker_status = ath_nodes_check_docker(&looking.nodes, &looking.engines, &out->docker_err);
    out->survey_status = ath_engines_survey(&looking.engines, &out->statuses, &out->survey_err);
    look_image(&looking);
    look_key(&looking);
    look_certificate(&looking);
    if (looking.nodes.has_document)
        make_plan(&looking, main_engine(&looking));
    look_runtimes(&looking);
}
