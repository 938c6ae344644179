/* Finding the runtimes to talk to. */
#include "config.h"

#include "cli/reach.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"
#include "container/docker/run_line.h"
#include "remote/session/open.h"
#include "remote/wire/endpoint.h"
#include "remote/wire/secret.h"

enum { TIMEOUT_MS = 10 * 1000 }; /* longer than a server needs to end a session */

void ath_reach_free(struct ath_reach *reach)
{
    if (!reach)
        return;
    for (size_t i = 0; i < reach->count; i++)
        free(reach->items[i].server);
    free(reach->items);
    free(reach->key);
    ath_node_statuses_free(&reach->statuses);
    ath_engines_free(&reach->engines);
    ath_nodes_free(&reach->nodes);
    *reach = (struct ath_reach){ 0 };
}

static struct ath_reach_server *add(struct ath_reach *reach, int id)
{
    struct ath_reach_server *server = ath_push(&reach->items, &reach->count, sizeof *server);
    *server = (struct ath_reach_server){ .id = id };
    return server;
}

/* ---- runtimes named by address ---- */

static int take_servers(struct ath_reach *reach, const char *list, struct ath_err *err)
{
    struct ath_servers servers;
    int status = ath_servers_read(list, &servers, err);
    if (status)
        return ath_err_wrap(err, status, _("invalid server"));
    for (size_t i = 0; i < servers.count; i++)
        add(reach, ATH_UNSET)->server = ath_xstrdup(servers.items[i]);
    return 0;
}

/* ---- runtimes on this machine ---- */

static bool is_running(const struct ath_node_status *status)
{
    return status->state > ATH_NODE_STOPPED;
}

/* Returns whether "10.0.0.11:50051/tcp" is an address of control connections: a runtime may also
 * listen for metrics and large copies. port: ATH_UNKNOWN: every address of TCP counts. */
static bool is_control(const char *text, int port)
{
    const char *slash = strchr(text, '/');
    return (!slash || !strcmp(slash, "/tcp")) &&
           (port == ATH_UNKNOWN || ath_node_address_has_port(text, port));
}

/* Returns the TCP address of a runtime; "0.0.0.0:50051" is reached at the loopback address. Returns
 * NULL if no TCP port is known. The caller frees it. */
static char *network_server(const struct ath_node_status *status)
{
    const struct ath_texts *lists[] = { &status->ports, &status->listening };
    for (size_t i = 0; i < ATH_COUNT(lists); i++) {
        for (size_t j = 0; j < lists[i]->count; j++) {
            const char *text = lists[i]->items[j];
            size_t length = strcspn(text, "/");
            if (!is_control(text, status->control_port))
                continue;
            if (ath_starts_with(text, "0.0.0.0:"))
                return ath_xasprintf("127.0.0.1:%.*s", (int)(length - 8), text + 8);
            if (ath_starts_with(text, "[::]:"))
                return ath_xasprintf("[::1]:%.*s", (int)(length - 5), text + 5);
            return ath_xasprintf("%.*s", (int)length, text);
        }
    }
    return NULL;
}

/* Chooses the address of a running node: the socket if this user may open it, since it is faster.
 */
static int choose_address(const struct ath_node_status *status, bool needs_network,
                          struct ath_reach_server *out, struct ath_err *err)
{
    bool has_socket = status->socket && !access(status->socket, W_OK);
    ath_auto_free char *network = needs_network || !has_socket ? network_server(status) : NULL;
    if (network) {
        out->server = ath_steal(&network);
        return 0;
    }
    if (has_socket) {
        out->server = ath_xasprintf("unix:%s", status->socket);
        return 0;
    }
    ath_err_set(err, -EACCES, ATH_E_NO_ACCESS,
                _("the runtime of NUMA entry %d cannot be reached from here"), status->id);
    return ath_err_hint(err, -EACCES, "aitherion health");
}

static int survey(struct ath_reach *reach, struct ath_err *err)
{
    ath_nodes_only_look(&reach->nodes);
    struct ath_engine_options options = ath_nodes_engine_options(&reach->nodes);
    ath_engines_open(ATH_ENGINE_AUTO, &options, &reach->engines);
    return ath_engines_survey(&reach->engines, &reach->statuses, err);
}

void ath_reach_node(const struct ath_node_status *status, bool needs_network,
                    struct ath_reach_server *out)
{
    *out = (struct ath_reach_server){ .id = status->id };
    (void)choose_address(status, needs_network, out, &out->err);
}

static void take_all(struct ath_reach *reach, const struct ath_reach_options *options)
{
    for (size_t i = 0; i < reach->statuses.count; i++) {
        const struct ath_node_status *one = &reach->statuses.items[i];
        if (!is_running(one))
            continue;
        ath_reach_node(one, options->needs_network, add(reach, one->id));
    }
}

static int take_id(struct ath_reach *reach, const char *text, bool needs_network,
                   struct ath_err *err)
{
    int id;
    if (ath_parse_int(text, 0, ATH_ID_MAX, &id)) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not the id of a NUMA entry"), text);
        return ath_err_hint(err, -EINVAL, _("give a number (1 for NUMA1), several as 0,1, or all"));
    }
    for (size_t i = 0; i < reach->count; i++)
        if (reach->items[i].id == id)
            return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("NUMA entry %d is named twice"), id);
    const struct ath_node_status *found = ath_node_statuses_find(&reach->statuses, id);
    if (found && is_running(found)) {
        ath_reach_node(found, needs_network, add(reach, id));
        return 0;
    }
    ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND, _("no runtime of NUMA entry %d runs here"), id);
    return ath_document_numa(reach->nodes.document, id)
               ? ath_err_hint(err, -ENOENT, "aitherion start %d", id)
               : ath_err_hint(err, -ENOENT, "aitherion status");
}

static int take_numa(struct ath_reach *reach, const struct ath_reach_options *options,
                     struct ath_err *err)
{
    if (!strcmp(options->numa, "all")) {
        take_all(reach, options);
        return 0;
    }
    const char *rest = options->numa, *part;
    size_t length;
    int status = 0;
    while (!status && (part = ath_text_next_part(&rest, &length))) {
        ath_auto_free char *text = ath_xasprintf("%.*s", (int)length, part);
        status = take_id(reach, text, options->needs_network, err);
    }
    return status;
}

/* ---- checking the number of runtimes ---- */

static int report_none(struct ath_err *err)
{
    ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND, _("no runtime runs here"));
    return ath_err_hint(
        err, -ENOENT, _("aitherion start, or --server HOST:PORT for a runtime on another machine"));
}

static int report_several(const struct ath_reach *reach, enum ath_reach_wanted wanted,
                          bool is_named, struct ath_err *err)
{
    const struct ath_reach_server *first = &reach->items[0];
    ath_err_set(err, -EINVAL, ATH_E_USAGE, "%s",
                is_named ? _("several runtimes are named; choose one")
                         : _("several runtimes run here; choose one"));
    if (first->id == ATH_UNSET)
        return ath_err_hint(err, -EINVAL, "--server %s", first->server);
    return ath_err_hint(err, -EINVAL,
                        wanted == ATH_REACH_LIST
                            ? _("--numa %d, or another id that `aitherion status` shows; --numa "
                                "all for the GPUs of all runtimes in one list")
                            : _("--numa %d, or another id that `aitherion status` shows"),
                        first->id);
}

static int check(const struct ath_reach *reach, enum ath_reach_wanted wanted, bool is_named,
                 struct ath_err *err)
{
    if (!reach->count)
        return report_none(err);
    if (reach->count > 1 && (wanted == ATH_REACH_ONE || !is_named))
        return report_several(reach, wanted, is_named, err);
    if (reach->count > ATH_SERVERS_MAX)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("more than %d servers"), ATH_SERVERS_MAX);
    for (size_t i = 0; i < reach->count; i++) {
        if (reach->items[i].server)
            continue;
        ath_err_copy(err, &reach->items[i].err);
        return -EACCES;
    }
    return 0;
}

static int find_servers(struct ath_reach *reach, const struct ath_reach_options *options,
                        enum ath_reach_wanted wanted, struct ath_err *err)
{
    const char *variable = ath_client_variable("AITHERION_SERVER");
    const char *server = options->server ? options->server : options->numa ? NULL : variable;
    int status = 0;
    if (options->server && options->numa)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("'--server' and '--numa' exclude each other"));
    if (server)
        status = take_servers(reach, server, err);
    else
        status = survey(reach, err);
    if (!status && options->numa)
        status = take_numa(reach, options, err);
    else if (!status && !server)
        take_all(reach, options);
    if (status || wanted == ATH_REACH_ALL)
        return status;
    return check(reach, wanted, server || options->numa, err);
}

/* ---- the key ---- */

/* Returns the absolute path, because the program may change its current folder. The caller frees
 * it. */
static char *absolute(const char *path)
{
    ath_auto_free char *real = realpath(path, NULL);
    return ath_xstrdup(real ? real : path);
}

/* An ordinary user whose machine has a key that only root may read needs a copy. */
static int explain_key(bool is_default, int status, struct ath_err *err)
{
    if (is_default && (status == -EACCES || status == -EPERM))
        return ath_err_hint(err, status, "sudo aitherion key --export | aitherion key --import");
    return ath_err_hint(
        err, status,
        _("name the key file with --key FILE, or import a key: aitherion key --import"));
}

static const char *key_name(const struct ath_reach *reach)
{
    const char *slash = strrchr(reach->key, '/');
    return slash ? slash + 1 : reach->key;
}

/* Notes that the key is the first of a folder, unless the user or the default chose it by name. */
static void note_choice(struct ath_reach *reach, const char *folder)
{
    const char *name = getenv("AITHERION_KEY_NAME");
    if ((name && *name) || !strcmp(key_name(reach), ATH_KEY_NAME_DEFAULT))
        return;
    reach->is_first_key = true;
    ath_log(ATH_LOG_VERBOSE, _("key '%s': the first in '%s' that this user may read"),
            key_name(reach), folder);
}

/* A named key must be valid. Without one, the default key is used, and servers without a key if
 * there is none. */
static int find_key(struct ath_reach *reach, const char *named, struct ath_err *err)
{
    ATH_AUTO(ath_secret) secret = { 0 };
    char file[4096] = "";
    const char *variable = getenv("AITHERION_KEY_FILE");
    const char *path = named                  ? named
                       : variable             ? variable
                       : reach->nodes.has_key ? reach->nodes.key_path
                                              : "";
    int status = *path ? ath_secret_find(path, file, sizeof file, err) : 0;
    if (!status && *path)
        status = ath_secret_load(file, &secret, err);
    if (status)
        return explain_key(path == reach->nodes.key_path, status, err);
    reach->key = *path ? absolute(file) : ath_xstrdup("");
    if (*path && strcmp(file, path) != 0)
        note_choice(reach, path);
    return 0;
}

/* ---- opening ---- */

/* In other commands about nodes the arguments are ids; here they belong to the command itself. */
static int open_nodes(struct ath_cli *cli, struct ath_nodes *out, struct ath_err *err)
{
    struct ath_cli without_words = *cli;
    without_words.argument_count = 0;
    int status = ath_nodes_open(&without_words, false, out, err);
    cli->faults = without_words.faults;
    out->cli = cli;
    return status;
}

int ath_reach_open(struct ath_cli *cli, const struct ath_reach_options *options,
                   enum ath_reach_wanted wanted, struct ath_reach *out, struct ath_err *err)
{
    if (options->key_name) /* for this process, and for the program that `run` becomes */
        setenv("AITHERION_KEY_NAME", options->key_name, true);
    int status = open_nodes(cli, &out->nodes, err);
    if (!status)
        status = find_servers(out, options, wanted, err);
    return status ? status : find_key(out, options->key, err);
}

int ath_reach_explain(const struct ath_reach *reach, const struct ath_reach_server *server,
                      int status, struct ath_err *err)
{
    if (status == -ENOKEY)
        return status;
    if (reach->is_first_key && (err->code == ATH_E_KEY_REFUSED || err->code == ATH_E_PEER_FAILED))
        return ath_err_hint(err, status,
                            _("the key '%s' was used, the first that this user may read; "
                              "--key-name NAME names another one"),
                            key_name(reach));
    if (err->code == ATH_E_KEY_REFUSED && server->id != ATH_UNSET)
        return ath_err_hint(
            err, status,
            _("if the key was replaced: aitherion restart %d, or --key FILE with the key from "
              "before"),
            server->id);
    if (err->code == ATH_E_KEY_REFUSED)
        return ath_err_hint(err, status,
                            _("on the runtime's machine: aitherion key --export; here: aitherion "
                              "key --import, or --key FILE"));
    if (err->code == ATH_E_PEER_UNREACHABLE && ath_starts_with(server->server, "unix:"))
        return ath_err_hint(err, status, "aitherion status");
    if (err->code == ATH_E_PEER_UNREACHABLE)
        return ath_err_hint(err, status,
                            _("check that this is the address that `aitherion status` shows on "
                              "the runtime's machine, and that no firewall blocks it"));
    if (!*err->hint && (err->code == ATH_E_PEER_FAILED || err->code == ATH_E_PEER_PROTOCOL))
        return ath_err_hint(err, status,
                            _("check that this is the address that `aitherion status` shows on "
                              "the runtime's machine; another program may listen there"));
    return status;
}

int ath_reach_other_session(const struct ath_reach *reach, const struct ath_reach_server *server,
                            const struct ath_session_first *first, struct ath_session *out,
                            struct ath_err *err)
{
    ATH_AUTO(ath_secret) secret = { 0 };
    struct ath_endpoint endpoint;
    struct ath_encryption encryption;
    const struct ath_nodes *nodes = &reach->nodes;
    uint64_t connect_ms = 0;
    if (!server->server) {
        ath_err_copy(err, &server->err);
        return -EACCES;
    }
    int status = ath_endpoint_parse(server->server, &endpoint, err);
    if (!status)
        status = ath_client_encryption(&encryption, err);
    if (!status && !encryption.authorities && nodes->has_document)
        encryption.authorities = nodes->document->tls_ca;
    if (!status && *reach->key)
        status = ath_secret_load(reach->key, &secret, err);
    if (!status)
        status = ath_client_timeout(&connect_ms, err);
    if (status)
        return status;
    status = ath_session_open(&endpoint, secret.length ? &secret : NULL, encryption, first,
                              connect_ms ? (int)connect_ms : 1, out, err);
    if (!status)
        out->timeout_ms = TIMEOUT_MS;
    if (status && err->code != ATH_E_PEER_UNREACHABLE) /* which names the address already */
        ath_err_wrap(err, status, _("no session with '%s'"), server->server);
    return status ? ath_reach_explain(reach, server, status, err) : 0;
}

int ath_reach_session(const struct ath_reach *reach, const struct ath_reach_server *server,
                      struct ath_session *out, struct ath_err *err)
{
    return ath_reach_other_session(reach, server, NULL, out, err);
}

char *ath_reach_suggest(const struct ath_reach_options *options, const char *command)
{
    const struct {
        const char *name, *value;
    } given[] = { { "server", options->server },
                  { "numa", options->numa },
                  { "key", options->key },
                  { "key-name", options->key_name } };
    struct ath_text text = { 0 };

    ath_text_add(&text, "%s", command);
    for (size_t i = 0; i < ATH_COUNT(given); i++)
        if (given[i].value) {
            ath_text_add(&text, " --%s ", given[i].name);
            ath_shell_quote(&text, given[i].value);
        }
    return ath_text_take(&text);
}

/* ---- asking ---- */

struct question {
    const struct ath_reach *reach;
    const struct ath_reach_server *server;
    struct ath_session_group *out;
    pthread_t thread;
    bool is_in_thread;
};

static void *ask(void *argument)
{
    const struct question *question = argument;
    struct ath_session_group *out = question->out;
    ATH_AUTO(ath_session) session = { .fd = -1 };
    struct ath_err ignored; /* the rest of the answer is as good without figures */

    *out = (struct ath_session_group){ .id = question->server->id,
                                       .server = question->server->server };
    out->status = ath_reach_session(question->reach, question->server, &session, &out->err);
    if (!out->status)
        out->status = ath_session_health(&session, &out->health, &out->err);
    if (!out->status)
        out->status = ath_session_list(&session, &out->sessions, &out->err);
    if (!out->status && question->reach->wants_figures)
        ath_session_figures(&session, &out->figures, &ignored);
    return NULL;
}

void ath_reach_ask(const struct ath_reach *reach, struct ath_session_group *out)
{
    ath_auto_free struct question *questions = ath_xalloc(reach->count * sizeof *questions);
    for (size_t i = 0; i < reach->count; i++) {
        struct question *question = &questions[i];
        *question = (struct question){ .reach = reach, .server = &reach->items[i], .out = &out[i] };
        question->is_in_thread = !pthread_create(&question->thread, NULL, ask, question);
        if (!question->is_in_thread)
            ask(question);
    }
    for (size_t i = 0; i < reach->count; i++)
        if (questions[i].is_in_thread)
            pthread_join(questions[i].thread, NULL);
}
