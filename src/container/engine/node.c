/* Work of both engines for a node: its folder, its macvlans, facts about its process. */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/unknown.h"
#include "container/engine/kinds.h"
#include "container/engine/process_facts.h"
#include "container/engine/run_folder.h"
#include "container/image/build.h"
#include "roce/netlink.h"
#include "roce/netns.h"

/* ---- facts ---- */

void ath_node_status_look(struct ath_node_status *status)
{
    ATH_AUTO(ath_process) process = { 0 };

    if (ath_process_read(status->pid, &process))
        return;
    status->cpus = ath_steal(&process.cpus);
    status->memory_nodes = ath_steal(&process.memory_nodes);
    status->memlock_bytes = process.memlock_bytes;
    status->sessions = ath_process_sessions(status->pid);
    ath_process_listening(status->pid, &status->listening);
    if (status->control_port == ATH_UNKNOWN) {
        ath_auto_free char *port = ath_process_variable(status->pid, ATH_PLAN_PORT_VARIABLE);
        status->control_port = ath_node_port(port);
    }
}

bool ath_node_address_has_port(const char *address, int port)
{
    const char *colon = strrchr(address, ':');
    ath_auto_free char *wanted = ath_xasprintf(":%d", port);
    size_t length = strlen(wanted);
    return colon && !strncmp(colon, wanted, length) && strchr("/", colon[length]);
}

int ath_node_port(const char *text)
{
    int port;
    return text && !ath_parse_int(text, 1, 65535, &port) ? port : ATH_UNKNOWN;
}

static char *first_address(const struct ath_link *link)
{
    for (size_t i = 0; i < link->address_count; i++)
        if (link->addresses[i].is_permanent && !link->addresses[i].is_link_local)
            return ath_address_format(&link->addresses[i]);
    return NULL;
}

static void look_at_macvlan(const struct ath_links *links, struct ath_node_macvlan *macvlan)
{
    const struct ath_link *link = ath_links_find(links, macvlan->name);

    macvlan->is_there = link && ath_link_is_ours(link);
    if (!macvlan->is_there)
        return;
    macvlan->is_up = link->is_up;
    macvlan->mtu = link->mtu;
    macvlan->address = first_address(link);
}

const char *ath_node_status_macvlans(struct ath_node_status *status, const char *names,
                                     const char *netns_path)
{
    ath_auto_netlink struct ath_netlink *netlink = NULL;
    ATH_AUTO(ath_links) links = { 0 };
    const char *missing = NULL;
    bool is_seen = netns_path && names &&
                   !ath_netns_netlink(netns_path, NETLINK_ROUTE, &netlink, NULL) &&
                   !ath_links_read(netlink, &links, NULL);

    for (const char *name = names; name && *name;) {
        int length = (int)strcspn(name, ",");
        struct ath_node_macvlan *macvlan =
            ath_push(&status->macvlans, &status->macvlan_count, sizeof *macvlan);
        *macvlan = (struct ath_node_macvlan){ .name = ath_xasprintf("%.*s", length, name),
                                              .is_there = ATH_UNKNOWN,
                                              .mtu = ATH_UNKNOWN };
        if (is_seen)
            look_at_macvlan(&links, macvlan);
        if (!macvlan->is_there && !missing)
            missing = macvlan->name;
        name += length + (name[length] == ',');
    }
    return missing;
}

const char *ath_plan_label(const struct ath_plan_node *node, const char *name)
{
    for (size_t i = 0; i < node->labels.count; i++)
        if (!strcmp(node->labels.items[i].name, name))
            return node->labels.items[i].value;
    return NULL;
}

size_t ath_log_tail_begin(const char *text, size_t length, size_t lines)
{
    size_t begin = length && text[length - 1] == '\n' ? length - 1 : length;

    if (!lines)
        return length;
    while (begin > 0 && lines > 0)
        if (text[--begin] == '\n' && !--lines)
            begin++;
    return begin;
}

void ath_log_tail(const char *text, size_t length, size_t lines, struct ath_texts *out)
{
    size_t begin = ath_log_tail_begin(text, length, lines);
    size_t end = length && text[length - 1] == '\n' ? length - 1 : length;

    while (begin < end) {
        const char *newline = memchr(text + begin, '\n', end - begin);
        size_t size = newline ? (size_t)(newline - text) - begin : end - begin;
        ath_auto_free char *line = ath_xasprintf("%.*s", (int)size, text + begin);
        line[strcspn(line, "\r")] = '\0';
        ath_texts_add(out, line);
        begin += size + 1;
    }
}

struct ath_node_log *ath_node_log_add(struct ath_node_logs *logs, int id, const char *engine,
                                      const char *name, const char *place)
{
    struct ath_node_log *log = ath_push(&logs->items, &logs->count, sizeof *log);
    *log = (struct ath_node_log){ id, engine, ath_xstrdup(name), ath_xstrdup(place) };
    return log;
}

/* ---- ownership ---- */

static bool is_same_file(const char *one, const char *other)
{
    struct stat a, b;
    return !strcmp(one, other) ||
           (!stat(one, &a) && !stat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

/* A path without the right to look counts as present. */
static bool is_gone(const char *path)
{
    return access(path, F_OK) && (errno == ENOENT || errno == ENOTDIR);
}

/* Returns "/run/aitherion" for "/run/aitherion/numa0/runtime.sock"; the caller frees it. */
static char *folder_of(const char *socket)
{
    char *folder = ath_xstrdup(socket);
    for (int levels = 0; levels < 2; levels++) {
        char *slash = strrchr(folder, '/');
        if (slash)
            *slash = '\0';
    }
    return folder;
}

bool ath_owner_is_other(const struct ath_owner *owner, const char *document, const char *socket,
                        int id, const char *name, struct ath_clean_left *out)
{
    ath_auto_free char *folder = folder_of(owner->socket ? owner->socket : "");
    ath_auto_free char *own_folder = folder_of(socket ? socket : "");
    bool is_in_folder = !*folder || !*own_folder || is_same_file(folder, own_folder);

    if (owner->document && document && !is_same_file(owner->document, document) &&
        !(owner->is_here && is_gone(owner->document))) {
        *out = (struct ath_clean_left){
            .id = id,
            .document = ath_xstrdup(owner->document),
            .text = ath_xasprintf(_("'%s' was started from another document, '%s'"), name,
                                  owner->document),
            .hint = ath_xasprintf("aitherion clean -c '%s'", owner->document),
            .is_in_folder = is_in_folder,
        };
        return true;
    }
    if (is_in_folder || (owner->is_here && is_gone(folder)))
        return false;
    *out = (struct ath_clean_left){
        .id = id,
        .text = ath_xasprintf(_("'%s' was started with another run folder, '%s'"), name, folder),
        .hint = ath_xasprintf("AITHERION_RUN_FOLDER='%s' aitherion clean", folder),
    };
    return true;
}

int ath_owner_check(const struct ath_owner *owner, const struct ath_plan_node *node,
                    const char *name, struct ath_err *err)
{
    struct ath_clean_left left = { 0 };
    if (!ath_owner_is_other(owner, ath_plan_label(node, ATH_PLAN_LABEL_DOCUMENT), node->socket,
                            node->id, name, &left))
        return 0;
    ath_err_set(err, -EPERM, ATH_E_FOREIGN, "%s", left.text);
    ath_err_hint(err, -EPERM, _("%s; or take it over: aitherion start %d --yes"), left.hint,
                 node->id);
    ath_clean_left_free(&left);
    return -EPERM;
}

void ath_clean_left_free(struct ath_clean_left *left)
{
    free(left->document);
    free(left->text);
    free(left->hint);
    free(left->macvlans);
    *left = (struct ath_clean_left){ 0 };
}

void ath_clean_leave(struct ath_clean_steps *steps, struct ath_clean_left *left,
                     const char *macvlans)
{
    left->macvlans = ath_xstrdup(macvlans);
    *(struct ath_clean_left *)ath_push(&steps->left, &steps->left_count, sizeof *left) = *left;
    *left = (struct ath_clean_left){ 0 };
}

bool ath_clean_leaves(const struct ath_clean_steps *steps, int id)
{
    for (size_t i = 0; i < steps->left_count; i++)
        if (steps->left[i].id == id)
            return true;
    return false;
}

void ath_clean_add_macvlans(struct ath_clean_steps *steps, const char *names)
{
    for (const char *name = names; name && *name;) {
        size_t length = strcspn(name, ",");
        ath_auto_free char *one = ath_xasprintf("%.*s", (int)length, name);
        ath_texts_add(&steps->macvlans, one);
        name += length + (name[length] == ',');
    }
}

bool ath_node_percent_differs(const struct ath_plan_node *node, const char *percent,
                              int64_t limit_bytes)
{
    const char *wanted = ath_plan_label(node, ATH_PLAN_LABEL_MEMORY);
    return node->memory_limit_bytes != ATH_UNKNOWN && limit_bytes != ATH_UNKNOWN && percent &&
           wanted && strcmp(percent, wanted) != 0;
}

void ath_start_changed(struct ath_start_result *result, const char *setting)
{
    ath_auto_free char *before = ath_steal(&result->reason);
    result->outcome = ATH_START_CHANGED;
    result->reason = before ? ath_xasprintf("%s, %s", before, setting) : ath_xstrdup(setting);
}

bool ath_start_must_restart(const struct ath_start_options *options,
                            const struct ath_plan_node *node, const char **out_reason)
{
    return options->must_restart && options->must_restart(options->context, node, out_reason);
}

int ath_node_not_yours(const char *name, struct ath_err *err)
{
    ath_err_set(err, -EPERM, ATH_E_NOT_PERMITTED, _("'%s' belongs to another user"), name);
    return ath_err_hint(err, -EPERM, _("run the same command as root, with sudo in front"));
}

int ath_start_end(const struct ath_start_options *options, const struct ath_plan_node *node,
                  struct ath_start_result *result, struct ath_err *err)
{
    result->ends_runtime = true;
    if (options->is_dry_run || !options->may_end || options->may_end(options->context, node))
        return 0;
    result->ends_runtime = false;
    ath_err_set(err, -EPERM, ATH_E_PROGRAMS_RUNNING,
                _("'%s' was started meanwhile, and would be restarted"), node->name);
    return ath_err_hint(err, -EPERM, "aitherion start %d", node->id);
}

/* ---- making ---- */

bool ath_engine_is_own_image(const char *image)
{
    size_t length = strcspn(ATH_IMAGE_TAG, ":");
    return !strncmp(image, ATH_IMAGE_TAG, length) && (image[length] == ':' || !image[length]);
}

int ath_image_missing(const char *image, struct ath_err *err)
{
    ath_err_set(err, -ENOENT, ATH_E_IMAGE_MISSING, _("Docker has no image '%s'"), image);
    return ath_err_hint(err, -ENOENT,
                        ath_engine_is_own_image(image) ? "aitherion image build --tag %s"
                                                       : "docker pull %s",
                        image);
}

/* Ports in a network of the node's own cannot be taken. */
char *ath_node_port_owner(const struct ath_plan_node *node, int *out_port)
{
    ath_auto_free char *own = ath_xasprintf("AITHERION_SOCKET=%s", node->socket);
    const int udp_port = !node->takes_udp                 ? ATH_UNKNOWN
                         : node->data_port == ATH_UNKNOWN ? node->control_port
                                                          : node->data_port;
    const struct {
        int port;
        bool is_udp;
    } host_ports[] = { { node->control_port, false },
                       { node->metrics_port, false },
                       { node->data_port, false },
                       { udp_port, true } };
    size_t host_count = node->network == ATH_PLAN_HOST ? ATH_COUNT(host_ports) : 0;
    char *owner = NULL;

    for (size_t i = 0; i < node->port_count && !owner; i++) {
        *out_port = node->ports[i].port;
        owner = ath_port_owner(*out_port, !strcmp(node->ports[i].protocol, "udp"), own);
    }
    for (size_t i = 0; i < host_count && !owner; i++) {
        *out_port = host_ports[i].port;
        if (*out_port != ATH_UNKNOWN)
            owner = ath_port_owner(*out_port, host_ports[i].is_udp, own);
    }
    return owner;
}

int ath_node_port_taken(const struct ath_plan_node *node, const char *words, struct ath_err *err)
{
    int port;
    ath_auto_free char *owner = ath_node_port_owner(node, &port);

    if (!owner)
        return 0;
    ath_err_set(err, -EADDRINUSE, ATH_E_PORT_IN_USE, _("port %d of '%s' is taken by %s%s%s"), port,
                node->name, owner, words ? ": " : "", words ? words : "");
    return ath_err_hint(err, -EADDRINUSE, "aitherion configure --set numa.%d.%s=PORT", node->id,
                        port == node->metrics_port ? "metrics"
                        : port == node->data_port  ? "data_port"
                                                   : "control_port");
}

/* A message of the runtime begins with its name; other lines are a second choice. */
const char *ath_node_last_words(const struct ath_texts *log)
{
    for (size_t i = log->count; i-- > 0;)
        if (ath_starts_with(log->items[i], ATH_PLAN_RUNTIME ": "))
            return log->items[i] + sizeof ATH_PLAN_RUNTIME ": " - 1;
    return log->count ? log->items[log->count - 1] : NULL;
}

int ath_node_died(const struct ath_plan_node *node, const char *name, int exit_code,
                  const struct ath_texts *log, struct ath_err *err)
{
    const char *words = ath_node_last_words(log);
    int status = ath_node_port_taken(node, words, err);
    if (status)
        return status;
    return ath_err_set(err, -ECHILD, ATH_E_START_FAILED, _("'%s' ended with exit code %d%s%s"),
                       name, exit_code, words ? ": " : "", words ? words : "");
}

bool ath_node_user(const struct ath_plan_node *node, uid_t *out_user, gid_t *out_group)
{
    const char *colon = node->user ? strchr(node->user, ':') : NULL;
    uint64_t user, group;
    if (!colon)
        return false;
    ath_auto_free char *first = ath_xasprintf("%.*s", (int)(colon - node->user), node->user);
    if (ath_parse_u64(first, 10, &user) || ath_parse_u64(colon + 1, 10, &group))
        return false;
    *out_user = (uid_t)user;
    *out_group = (gid_t)group;
    return true;
}

int ath_node_make_folder(const struct ath_plan_node *node, struct ath_err *err)
{
    uid_t user;
    gid_t group;
    /* The run folder exists, because its lock is held. */
    int status = ath_run_folder_make(node->folder);

    if (!status && ath_node_user(node, &user, &group) && lchown(node->folder, user, group))
        status = -errno;
    if (!status)
        return 0;
    ath_err_system(err, status, _("cannot make the folder '%s'"), node->folder);
    if (status == -EACCES || status == -EPERM)
        return ath_err_hint(err, status, _("run the same command as root, with sudo in front"));
    return status;
}

void ath_wiring_free(struct ath_wiring *wiring)
{
    if (!wiring)
        return;
    for (size_t i = 0; i < wiring->count; i++)
        ath_macvlan_plan_free(&wiring->plans[i]);
    free(wiring->plans);
    *wiring = (struct ath_wiring){ 0 };
}

static void count_steps(const struct ath_macvlan_plan *plan, struct ath_wiring *wiring)
{
    wiring->step_count += plan->count;
    for (size_t i = 0; i < plan->count; i++)
        if (plan->steps[i].action == ATH_STEP_CREATE || plan->steps[i].action == ATH_STEP_MOVE)
            wiring->has_new_links = true;
}

int ath_engine_wire(const struct ath_plan_node *node, const char *netns_path, bool is_dry_run,
                    struct ath_wiring *out, struct ath_err *err)
{
    for (size_t i = 0; i < node->macvlan_count; i++) {
        const struct ath_plan_macvlan *macvlan = &node->macvlans[i];
        const struct ath_macvlan_wanted wanted = { .name = macvlan->name,
                                                   .parent = macvlan->parent,
                                                   .mode = (enum ath_macvlan_mode)macvlan->mode,
                                                   .address = macvlan->address,
                                                   .mtu = macvlan->mtu,
                                                   .netns_path = netns_path,
                                                   .wants_companion = macvlan->has_host_link,
                                                   .companion_address = macvlan->host_address,
                                                   .document = ath_plan_label(
                                                       node, ATH_PLAN_LABEL_DOCUMENT) };
        struct ath_macvlan_plan plan = { 0 };
        int status = ath_macvlan_make(&wanted, is_dry_run, &plan, err);
        if (status)
            return status;
        count_steps(&plan, out);
        *(struct ath_macvlan_plan *)ath_push(&out->plans, &out->count, sizeof plan) = plan;
    }
    return 0;
}

int ath_engine_unwire(const struct ath_wiring *wiring, struct ath_err *err)
{
    int first = 0;
    for (size_t i = wiring->count; i-- > 0;) {
        struct ath_err one;
        int status = ath_macvlan_take_back(&wiring->plans[i], &one);
        if (status && !first) {
            first = status;
            ath_err_copy(err, &one);
        }
    }
    return first;
}
