/* Reading the document, key and machine for commands about runtimes; engines; plans. */
#include "config.h"

#include "cli/nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/identities.h"
#include "cli/share.h"
#include "cli/watch.h"
#include "config/entry.h"
#include "config/key_file.h"
#include "config/key_folder.h"
#include "container/docker/body.h"
#include "container/docker/host.h"

const struct ath_argument ath_nodes_arguments[] = {
    { .name = "N",
      .help = N_("ids of the document's entries: 1 for NUMA1 (default: all)"),
      .is_optional = true,
      .is_repeated = true,
      .completion = ATH_COMPLETE_ENTRY },
    { .name = NULL },
};

const char *const ath_nodes_engines[] = { "auto", "docker", "process", NULL };

void ath_nodes_free(struct ath_nodes *nodes)
{
    if (!nodes)
        return;
    free(nodes->ids);
    free(nodes->path);
    ath_document_free(&nodes->own_document);
    ath_plan_facts_free(&nodes->facts);
    ath_machine_free(&nodes->own_machine);
    free(nodes->key_path);
    free(nodes->run_folder);
    *nodes = (struct ath_nodes){ 0 };
}

static int read_ids(const struct ath_cli *cli, struct ath_nodes *out, struct ath_err *err)
{
    for (size_t i = 0; i < cli->argument_count; i++) {
        int id = ath_entry_id(cli->arguments[i]);
        if (id == ATH_UNSET) {
            ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not the id of a NUMA entry"),
                        cli->arguments[i]);
            return ath_err_hint(err, -EINVAL, _("give a number: 1 for NUMA1"));
        }
        *(int *)ath_push(&out->ids, &out->id_count, sizeof *out->ids) = id;
    }
    return 0;
}

/* A relative path would have no meaning in a container's label. */
static char *absolute(const char *path)
{
    ath_auto_free char *folder = *path == '/' ? NULL : getcwd(NULL, 0);
    return folder ? ath_xasprintf("%s/%s", folder, ath_starts_with(path, "./") ? path + 2 : path)
                  : ath_xstrdup(path);
}

static void find_key(struct ath_nodes *nodes)
{
    nodes->key_path = ath_key_file_find(
        nodes->has_document ? nodes->document->key_file : ATH_NODES_KEY, &nodes->has_key);
}

void ath_nodes_only_look(struct ath_nodes *nodes)
{
    free(nodes->run_folder);
    nodes->run_folder = ath_engine_seen_folder(true);
}

bool ath_nodes_is_key_open(const struct ath_nodes *nodes)
{
    struct stat file;
    return nodes->has_key && !stat(nodes->key_path, &file) && S_ISREG(file.st_mode) &&
           file.st_mode & 077;
}

int ath_nodes_open(struct ath_cli *cli, bool is_needed, struct ath_nodes *out, struct ath_err *err)
{
    ath_auto_free char *path = ath_cli_document_path(cli);

    out->cli = cli;
    out->path = absolute(path);
    out->run_folder = ath_engine_run_folder();
    int status = read_ids(cli, out, err);
    if (status)
        return status;
    out->document = &out->own_document;
    status = ath_document_load(out->path, &out->own_document, &cli->faults, err);
    out->has_document = !status;
    /* a document that -c names must exist */
    if (status && (is_needed || cli->globals.config || err->code != ATH_E_DOCUMENT_MISSING))
        return status;
    find_key(out);
    return 0;
}

int ath_nodes_read_machine(struct ath_nodes *nodes, struct ath_err *err)
{
    ATH_AUTO(ath_root) root = { .fd = -1 };
    struct ath_machine machine = { 0 };

    int status = ath_cli_machine(nodes->cli, &machine, err);
    if (!status)
        status = ath_cli_root(nodes->cli, &root, err);
    if (status) {
        ath_machine_free(&machine);
        return status;
    }
    ath_plan_facts_free(&nodes->facts);
    ath_machine_free(&nodes->own_machine);
    nodes->facts = (struct ath_plan_facts){ 0 };
    nodes->own_machine = machine;
    nodes->machine = &nodes->own_machine;
    ath_plan_facts_read(root.path ? &root : NULL, nodes->machine, &nodes->facts);
    return 0;
}

/* ---- engines ---- */

struct ath_engine_options ath_nodes_engine_options(const struct ath_nodes *nodes)
{
    return (struct ath_engine_options){ .document_docker_host = nodes->document->engine.docker_host,
                                        .run_folder = nodes->run_folder,
                                        .is_stopped = ath_stop_is_wanted };
}

/*
 * Returns whether this machine has no Docker: no setting names one, and its socket does not exist.
 */
static bool is_docker_absent(const struct ath_nodes *nodes, const struct ath_err *docker_err)
{
    ATH_AUTO(ath_docker_host) host = { 0 };
    const char *asked = getenv("DOCKER_HOST");

    return docker_err->code == ATH_E_ENGINE_UNREACHABLE && !(asked && *asked) &&
           !ath_docker_host_find(NULL, nodes->document->engine.docker_host, &host, NULL) &&
           host.socket && access(host.socket, F_OK) && errno == ENOENT;
}

enum ath_log_level ath_nodes_log_level(const struct ath_nodes *nodes)
{
    return ath_cli_format(nodes->cli) == ATH_FORMAT_TEXT ? ATH_LOG_NORMAL : ATH_LOG_VERBOSE;
}

int ath_nodes_open_engine(const struct ath_nodes *nodes, enum ath_engine_kind kind,
                          struct ath_engine **out, struct ath_err *err)
{
    struct ath_engine_options options = ath_nodes_engine_options(nodes);

    if (kind == ATH_ENGINE_AUTO)
        kind = (enum ath_engine_kind)nodes->document->engine.kind;
    if (kind != ATH_ENGINE_AUTO)
        return ath_engine_open(kind, &options, out, err);
    if (!ath_engine_open(ATH_ENGINE_DOCKER, &options, out, err))
        return 0;
    if (!is_docker_absent(nodes, err))
        ath_log(ath_nodes_log_level(nodes), _("running processes, since Docker cannot be used: %s"),
                err->message);
    return ath_engine_open(ATH_ENGINE_PROCESS, &options, out, err);
}

int ath_nodes_check_docker(const struct ath_nodes *nodes, const struct ath_engines *engines,
                           struct ath_err *err)
{
    if (!engines->docker_status || (nodes->document->engine.kind != ATH_ENGINE_DOCKER &&
                                    is_docker_absent(nodes, &engines->docker_err)))
        return 0;
    ath_err_copy(err, &engines->docker_err);
    return engines->docker_status;
}

int ath_nodes_check_docker_left(const struct ath_nodes *nodes, const struct ath_engines *engines,
                                struct ath_err *err)
{
    int status = ath_nodes_check_docker(nodes, engines, err);

    if (!status || err->code != ATH_E_ENGINE_DENIED ||
        nodes->document->engine.kind == ATH_ENGINE_DOCKER)
        return status;
    ath_log(ath_nodes_log_level(nodes), _("runtimes that other users run in Docker stay: %s"),
            err->message);
    return 0;
}

/* ---- what runs ---- */

int ath_nodes_check_ids(const struct ath_nodes *nodes, const struct ath_node_statuses *statuses,
                        struct ath_err *err)
{
    for (size_t i = 0; i < nodes->id_count; i++) {
        int id = nodes->ids[i];
        if (!ath_document_numa(nodes->document, id) && !ath_node_statuses_find(statuses, id)) {
            ath_err_set(err, -ENOENT, ATH_E_KEY_UNKNOWN,
                        _("nothing runs as NUMA%d, and the document has no such entry"), id);
            return ath_err_hint(err, -ENOENT, "aitherion status");
        }
    }
    return 0;
}

/* Returns -EPERM with err that names the wanted nodes of the process engine, 0 if there are none.
 * is_running: only those that run. */
static int refuse_processes(const struct ath_nodes *nodes, const struct ath_node_statuses *statuses,
                            bool is_running, struct ath_err *err)
{
    ATH_AUTO(ath_text) names = { 0 };
    unsigned long count = 0;

    for (size_t i = 0; i < statuses->count; i++) {
        const struct ath_node_status *one = &statuses->items[i];
        if (strcmp(one->engine, "process") != 0 || (is_running && one->state <= ATH_NODE_STOPPED) ||
            !ath_engine_wants(nodes->ids, nodes->id_count, one->id))
            continue;
        ath_text_add_part(&names, ", ", "'%s'", one->name);
        count++;
    }
    if (!count)
        return 0;
    ath_err_set(err, -EPERM, ATH_E_NOT_PERMITTED,
                ngettext("%s belongs to another user", "%s belong to another user", count),
                names.data);
    return ath_err_hint(err, -EPERM, _("run the same command as root, with sudo in front"));
}

/* Root may change what other users have. */
static bool is_of_other(const char *folder)
{
    struct stat present;
    return geteuid() != 0 && !stat(folder, &present) && present.st_uid != geteuid();
}

int ath_nodes_check_owner(const struct ath_nodes *nodes, const struct ath_node_statuses *own,
                          struct ath_err *err)
{
    ATH_AUTO(ath_node_statuses) statuses = { 0 };
    ath_auto_engine struct ath_engine *engine = NULL;
    ath_auto_free char *folder = ath_engine_seen_folder(false);
    struct ath_engine_options options = ath_nodes_engine_options(nodes);

    if (is_of_other(nodes->run_folder))
        return refuse_processes(nodes, own, false, err);
    options.run_folder = folder;
    if (!strcmp(folder, nodes->run_folder) ||
        ath_engine_open(ATH_ENGINE_PROCESS, &options, &engine, NULL) ||
        ath_engine_survey(engine, &statuses, NULL))
        return 0; /* `status` shows no more than that either */
    return refuse_processes(nodes, &statuses, true, err);
}

/* ---- plans ---- */

/*
 * Returns "UID:GID" that the container's process must have to read the key: its owner's, or this
 * user's if the key is yet to be made. Root without capabilities cannot read other users' files.
 * Returns NULL for root. In a rootless Docker the container's root is that owner. The caller frees
 * it.
 */
static char *user_of(const struct ath_nodes *nodes, const struct ath_plan_options *options)
{
    struct stat key;
    uid_t user = geteuid();
    gid_t group = getegid();

    if (options->is_process || options->engine.is_rootless)
        return NULL;
    if (!stat(nodes->key_path, &key)) {
        user = key.st_uid;
        group = key.st_gid;
    }
    return user ? ath_xasprintf("%u:%u", user, group) : NULL;
}

/* Returns the key that a process of the run folder was started with, if nothing has changed: in the
 * folder of another user not this user's own copy. */
static const char *key_of_folder(const struct ath_nodes *nodes)
{
    struct stat folder;
    bool is_of_other = !stat(nodes->run_folder, &folder) && folder.st_uid != geteuid();
    return is_of_other && nodes->has_document ? nodes->document->key_file : nodes->key_path;
}

struct ath_plan_options ath_nodes_plan_options(const struct ath_nodes *nodes,
                                               const struct ath_engine *engine, bool is_process,
                                               char **user)
{
    struct ath_plan_options options = {
        .is_process = engine ? ath_engine_is_process(engine) : is_process,
        .engine = engine ? ath_engine_abilities(engine) : ath_plan_engine_typical(&nodes->facts),
        .ids = nodes->ids,
        .id_count = nodes->id_count,
        .key_path = nodes->key_path,
        .is_key_folder = ath_key_folder_is(nodes->key_path),
        .run_folder = engine ? ath_engine_folder(engine) : nodes->run_folder,
    };
    if (options.is_process) {
        options.key_path = key_of_folder(nodes);
        options.is_key_folder = ath_key_folder_is(options.key_path);
    }
    *user = user_of(nodes, &options);
    options.user = *user;
    return options;
}

int ath_nodes_plan(struct ath_nodes *nodes, const struct ath_plan_options *options,
                   struct ath_plan *out, struct ath_err *err)
{
    return ath_plan_make(nodes->document, nodes->machine, &nodes->facts, options, out,
                         &nodes->cli->faults, err);
}

bool ath_nodes_wait(const struct ath_plan *plan)
{
    for (size_t i = 0; i < plan->node_count; i++)
        if (ath_plan_node_waits(&plan->nodes[i]))
            return true;
    return false;
}

/* Finds the drift from the plan of one node. Returns false if no such plan can be made. */
static bool drift_from(struct ath_nodes *nodes, const struct ath_node_status *status,
                       const struct ath_runtime_health *health,
                       const struct ath_plan_options *options, struct ath_nodes_drift *out)
{
    ATH_AUTO(ath_plan) plan = { 0 };
    ATH_AUTO(ath_faults) unused_faults = { 0 };

    if (ath_plan_make(nodes->document, nodes->machine, &nodes->facts, options, &plan,
                      &unused_faults, NULL))
        return false;
    out->text = ath_node_drift(status, &plan, &plan.nodes[0], &out->needs_restart);
    if (!out->text && health && !ath_share_is(health, plan.nodes[0].vram_fraction))
        out->text = ath_xstrdup(_("its share of GPU memory has changed since it was started"));
    if (!out->text && ath_identities_differ(nodes->document, plan.nodes[0].folder))
        out->text = ath_xstrdup(_("its identities have changed since it was started"));
    return true;
}

const char *ath_nodes_other_document(const char *path, const struct ath_node_status *status)
{
    ath_auto_free char *own = realpath(path, NULL);
    ath_auto_free char *other = status->document ? realpath(status->document, NULL) : NULL;
    return other && (!own || strcmp(own, other) != 0) ? status->document : NULL;
}

bool ath_nodes_is_as(struct ath_nodes *nodes, const struct ath_node_status *status,
                     const struct ath_plan_options *options)
{
    struct ath_plan_options one = *options;
    struct ath_nodes_drift drift = { 0 };

    one.ids = &status->id;
    one.id_count = 1;
    bool is_known = drift_from(nodes, status, NULL, &one, &drift);
    bool is_as = is_known && !(drift.text && drift.needs_restart);
    free(drift.text);
    return is_as;
}

struct ath_nodes_drift ath_nodes_drift(struct ath_nodes *nodes,
                                       const struct ath_node_status *status,
                                       const struct ath_runtime_health *health,
                                       const struct ath_plan_options *options)
{
    struct ath_nodes_drift first = { 0 };

    for (int variant = 0; variant < 2; variant++) {
        struct ath_plan_options other = *options;
        struct ath_nodes_drift drift = { 0 };
        other.ids = &status->id;
        other.id_count = 1;
        other.is_sim |= status->has_sim_flag;
        other.engine.is_limited ^= variant;
        bool is_known = drift_from(nodes, status, health, &other, &drift);
        if (!is_known || !drift.text || !drift.needs_restart) {
            free(first.text);
            return drift;
        }
        if (variant)
            free(drift.text);
        else
            first = drift;
    }
    return first;
}

static char *server_text(const char *address, int port)
{
    return ath_xasprintf(strchr(address, ':') ? "[%s]:%d" : "%s:%d", address, port);
}

char *ath_nodes_server(const struct ath_plan_node *node)
{
    for (size_t i = 0; i < node->port_count; i++)
        if (!strcmp(node->ports[i].purpose, "control"))
            return server_text(node->ports[i].host_address, node->ports[i].port);
    if (node->network == ATH_PLAN_HOST)
        return server_text(node->listen_address, node->control_port);
    return NULL;
}
