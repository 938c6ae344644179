/* Reads a cluster from files. */
#include "config.h"

#include "cluster/read.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/unknown.h"
#include "cluster/document.h"
#include "cluster/hostlist.h"
#include "cluster/made.h"
#include "cluster/slurm_topology.h"
#include "config/bind.h"
#include "numa/core.h"
#include "numa/discover.h"

struct reader {
    const char *path;
    char *folder; /* of the file, with a slash at its end, or "" */
    struct ath_cluster_document document;
    struct ath_cluster cluster;
    struct ath_faults faults; /* of the document */
    size_t *known;            /* nodes of slurm_topology by name */
    size_t known_count;
    bool is_full; /* an entry had too many nodes: the rest is not looked at */
    struct ath_err *err;
};

static void document_free(struct ath_cluster_document *document)
{
    ath_schema_clear(ath_cluster_schema(), document);
}

static void reader_free(struct reader *reader)
{
    document_free(&reader->document);
    ath_cluster_free(&reader->cluster);
    ath_faults_free(&reader->faults);
    free(reader->known);
    free(reader->folder);
}

/* Returns a path that a document names, from its own folder. The caller frees it. */
static char *path_from(const struct reader *reader, const char *path)
{
    return ath_xasprintf("%s%s", *path == '/' ? "" : reader->folder, path);
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? ath_xasprintf("%.*s", (int)(slash + 1 - path), path) : ath_xstrdup("");
}

static size_t place_of(const struct ath_document_item *item, const char *key)
{
    const struct ath_yaml *value = ath_yaml_get(item->source, key);
    return value ? value->begin : item->source->begin;
}

static struct ath_cluster_link link_of(double gbps, double latency_us)
{
    return (struct ath_cluster_link){
        .bytes_per_s = gbps > 0 ? (int64_t)(gbps * 1e9 / 8 + 0.5) : ATH_UNKNOWN,
        .latency_ns = latency_us > 0 ? (int64_t)(latency_us * 1e3 + 0.5) : ATH_UNKNOWN,
    };
}

/* ---- slurm_topology ---- */

static int compare_nodes(const void *a, const void *b, void *data)
{
    const struct ath_cluster *cluster = data;
    return strcmp(cluster->nodes[*(const size_t *)a].name, cluster->nodes[*(const size_t *)b].name);
}

static int read_slurm_topology(struct reader *reader)
{
    if (!reader->document.slurm_topology)
        return 0;
    ath_auto_free char *path = path_from(reader, reader->document.slurm_topology);
    ath_auto_free char *text = NULL;
    size_t length;
    int status = ath_file_read(path, ATH_YAML_BYTES_MAX, &text, &length, reader->err);
    if (!status)
        status = ath_slurm_topology_add(path, text, &reader->cluster, reader->err);
    if (status)
        return status;
    reader->known_count = reader->cluster.node_count;
    reader->known = ath_xalloc(reader->known_count * sizeof *reader->known);
    for (size_t i = 0; i < reader->known_count; i++)
        reader->known[i] = i;
    if (reader->known_count)
        qsort_r(reader->known, reader->known_count, sizeof *reader->known, compare_nodes,
                &reader->cluster);
    return 0;
}

/* Returns the node that slurm_topology named, or a new one. */
static size_t node_of(struct reader *reader, const char *name)
{
    size_t first = 0, last = reader->known_count;

    while (first < last) {
        size_t middle = first + (last - first) / 2;
        int order = strcmp(reader->cluster.nodes[reader->known[middle]].name, name);
        if (!order && !reader->cluster.nodes[reader->known[middle]].machine)
            return reader->known[middle];
        if (order < 0)
            first = middle + 1;
        else
            last = middle;
    }
    return ath_cluster_add_node(&reader->cluster, name);
}

/* ---- the document ---- */

/* Sets the switch above each switch. */
static void connect_switches(struct reader *reader, size_t first)
{
    for (size_t i = 0; i < reader->document.switches.count; i++) {
        const struct ath_cluster_document_switch *given = &reader->document.switches.items[i];
        if (!given->above)
            continue;
        size_t above = ath_cluster_find_switch(&reader->cluster, given->above);
        if (above == ATH_CLUSTER_NONE)
            ath_faults_add(&reader->faults, ATH_FAULT_ID_UNKNOWN, place_of(&given->item, "above"),
                           _("there is no switch '%s'"), given->above);
        reader->cluster.switches[first + i].above = above;
    }
}

/* A switch that slurm_topology named gets its link from here. */
static void add_switches(struct reader *reader)
{
    size_t first = reader->cluster.switch_count;

    for (size_t i = 0; i < reader->document.switches.count; i++) {
        const struct ath_cluster_document_switch *given = &reader->document.switches.items[i];
        size_t added = ath_cluster_add_switch(&reader->cluster, given->name);
        reader->cluster.switches[added].up = link_of(given->bandwidth_gbps, given->latency_us);
        if (ath_cluster_find_switch(&reader->cluster, given->name) != added)
            ath_faults_add(&reader->faults, ATH_FAULT_TWICE, place_of(&given->item, "name"),
                           _("there is a switch '%s' already"), given->name);
    }
    connect_switches(reader, first);
}

/* Reads or makes the machine of an entry. *out is NULL after a failure that is no fault of the
 * document. */
static int machine_of(struct reader *reader, const struct ath_cluster_document_node *given,
                      const struct ath_machine **out)
{
    struct ath_machine machine = { 0 };

    if (given->machine) {
        ath_auto_free char *path = path_from(reader, given->machine);
        const struct ath_machine_source source = { .topology = path };
        int status = ath_machine_discover(&source, &machine, reader->err);
        if (status)
            return ath_err_wrap(reader->err, status, _("the machine of '%s'"), given->names);
    } else {
        const struct ath_made_machine counts = {
            .model = given->model,
            .gpus = given->gpus > 0 ? (size_t)given->gpus : 0,
            .nvlinks = given->nvlinks,
            .numa_nodes = (size_t)given->numa_nodes,
        };
        ath_cluster_make_machine(&counts, &machine);
    }
    ath_cores_read(NULL, &machine);
    *out = ath_cluster_add_machine(&reader->cluster, &machine);
    return 0;
}

/* Checks that counts do not stand beside a machine, and that busy GPUs exist. */
static void check_entry(struct reader *reader, const struct ath_cluster_document_node *given,
                        const struct ath_machine *machine)
{
    if (given->machine && (given->gpus != ATH_UNSET || given->model || given->nvlinks != ATH_UNSET))
        ath_faults_add(&reader->faults, ATH_FAULT_FORMAT, place_of(&given->item, "machine"),
                       _("'machine' stands for 'gpus', 'model' and 'nvlinks': give one of both"));
    for (int id = ath_idset_next(&given->busy, -1); id >= 0; id = ath_idset_next(&given->busy, id))
        if ((size_t)id >= machine->gpu_count)
            ath_faults_add(&reader->faults, ATH_FAULT_RANGE, place_of(&given->item, "busy"),
                           _("the nodes '%s' have no GPU %d: they have %zu"), given->names, id,
                           machine->gpu_count);
}

static size_t leaf_of(struct reader *reader, const struct ath_cluster_document_node *given)
{
    if (!given->leaf)
        return ATH_CLUSTER_NONE;
    size_t leaf = ath_cluster_find_switch(&reader->cluster, given->leaf);
    if (leaf == ATH_CLUSTER_NONE)
        ath_faults_add(&reader->faults, ATH_FAULT_ID_UNKNOWN, place_of(&given->item, "switch"),
                       _("there is no switch '%s'"), given->leaf);
    return leaf;
}

/* Expands the addresses of the runtimes. One node may have any address, several have a list of
 * hosts and one port. Reports a fault unless there is one address for each node. */
static void runtimes_of(struct reader *reader, const struct ath_cluster_document_node *given,
                        size_t count, struct ath_texts *out)
{
    const char *port = given->runtime ? strrchr(given->runtime, ':') : NULL;
    ATH_AUTO(ath_texts) hosts = { 0 };
    struct ath_err cause = { 0 };

    if (!given->runtime || count == 1) {
        if (given->runtime)
            ath_texts_add(out, given->runtime);
        return;
    }
    ath_auto_free char *list =
        ath_xasprintf("%.*s", port ? (int)(port - given->runtime) : 0, given->runtime);
    if (!port || ath_hostlist_expand(list, &hosts, &cause) || hosts.count != count) {
        ath_faults_add(&reader->faults, ATH_FAULT_FORMAT, place_of(&given->item, "runtime"),
                       _("'%s' is no list of %zu addresses with one port, as in "
                         "10.0.0.[1-%zu]:50051"),
                       given->runtime, count, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        ath_auto_free char *address = ath_xasprintf("%s%s", hosts.items[i], port);
        ath_texts_add(out, address);
    }
}

static int add_entry(struct reader *reader, const struct ath_cluster_document_node *given)
{
    ATH_AUTO(ath_texts) names = { 0 }, runtimes = { 0 };
    const struct ath_machine *machine = NULL;
    struct ath_err cause = { 0 };

    if (ath_hostlist_expand(given->names, &names, &cause)) {
        ath_faults_add(&reader->faults, ATH_FAULT_FORMAT, place_of(&given->item, "names"), "%s",
                       cause.message);
        return 0;
    }
    if (reader->cluster.node_count + names.count > ATH_CLUSTER_NODES_MAX) {
        reader->is_full = true;
        ath_faults_add(&reader->faults, ATH_FAULT_TOO_LARGE, place_of(&given->item, "names"),
                       _("more than %d nodes"), ATH_CLUSTER_NODES_MAX);
        return 0;
    }
    int status = machine_of(reader, given, &machine);
    if (status || !machine)
        return status;
    check_entry(reader, given, machine);
    runtimes_of(reader, given, names.count, &runtimes);
    size_t leaf = leaf_of(reader, given);
    size_t rack =
        given->rack ? ath_cluster_add_rack(&reader->cluster, given->rack) : ATH_CLUSTER_NONE;
    size_t shape = ath_cluster_add_shape(&reader->cluster, machine, &given->busy);
    for (size_t i = 0; i < names.count; i++) {
        size_t index = node_of(reader, names.items[i]);
        struct ath_cluster_node *node = &reader->cluster.nodes[index];
        node->leaf = given->leaf ? leaf : node->leaf;
        node->rack = rack;
        node->up = link_of(given->bandwidth_gbps, given->latency_us);
        node->runtime = i < runtimes.count ? ath_xstrdup(runtimes.items[i]) : NULL;
        node->machine = machine;
        node->is_counted = !given->machine;
        node->shape = shape;
    }
    return 0;
}

/* Nodes that only slurm_topology names have no GPUs. */
static void complete(struct reader *reader)
{
    struct ath_cluster *cluster = &reader->cluster;
    const struct ath_made_machine none = { .nvlinks = ATH_UNKNOWN, .numa_nodes = 1 };
    const struct ath_machine *empty = NULL;
    const struct ath_idset busy = { 0 };
    size_t shape = 0;

    for (size_t i = 0; i < cluster->node_count; i++) {
        if (cluster->nodes[i].machine)
            continue;
        if (!empty) {
            struct ath_machine machine = { 0 };
            ath_cluster_make_machine(&none, &machine);
            empty = ath_cluster_add_machine(cluster, &machine);
            shape = ath_cluster_add_shape(cluster, empty, &busy);
        }
        cluster->nodes[i].machine = empty;
        cluster->nodes[i].is_counted = true;
        cluster->nodes[i].shape = shape;
    }
}

static int build(struct reader *reader)
{
    int status = read_slurm_topology(reader);
    if (status)
        return status;
    add_switches(reader);
    for (size_t i = 0; !status && !reader->is_full && i < reader->document.nodes.count; i++)
        status = add_entry(reader, &reader->document.nodes.items[i]);
    complete(reader);
    reader->cluster.name = ath_xstrdup(reader->document.name);
    return status;
}

static int report_faults(struct reader *reader, const char *text, size_t length,
                         struct ath_faults *faults)
{
    size_t count = reader->faults.count + reader->faults.left_out;

    ath_faults_place(&reader->faults, reader->path, text, length);
    ath_faults_free(faults);
    *faults = reader->faults;
    reader->faults = (struct ath_faults){ 0 };
    ath_err_set(reader->err, -EINVAL, ATH_E_CLUSTER_INVALID,
                ngettext("the cluster's description '%s' has %zu fault",
                         "the cluster's description '%s' has %zu faults", count),
                reader->path, count);
    return ath_err_hint(reader->err, -EINVAL, "aitherion cluster show --help");
}

static int read_document(struct reader *reader, const char *text, size_t length,
                         struct ath_faults *faults)
{
    ATH_AUTO(ath_yaml) tree = { 0 };
    int status = 0;

    bool is_yaml = ath_yaml_parse(text, length, &tree, &reader->faults);
    if (is_yaml)
        ath_bind_tree(ath_cluster_schema(), &tree, _("the cluster's description"),
                      &reader->document, &reader->faults);
    if (!reader->faults.count)
        status = build(reader);
    if (status)
        return status;
    return reader->faults.count ? report_faults(reader, text, length, faults) : 0;
}

static int read_text(struct reader *reader, const char *text, size_t length,
                     struct ath_faults *faults)
{
    if (!ath_slurm_topology_is(text))
        return read_document(reader, text, length, faults);
    int status = ath_slurm_topology_add(reader->path, text, &reader->cluster, reader->err);
    complete(reader);
    return status;
}

static int read_file(struct reader *reader, struct ath_faults *faults)
{
    ath_auto_free char *text = NULL;
    size_t length;
    int status = ath_file_read(reader->path, ATH_YAML_BYTES_MAX, &text, &length, reader->err);

    return status ? status : read_text(reader, text, length, faults);
}

/* ---- a folder ---- */

static int is_json_file(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && dot && !strcmp(dot, ".json");
}

static int add_file(struct reader *reader, const char *name)
{
    ath_auto_free char *path = ath_xasprintf("%s/%s", reader->path, name);
    const struct ath_machine_source source = { .topology = path };
    const struct ath_idset busy = { 0 };
    struct ath_machine machine = { 0 };

    int status = ath_machine_discover(&source, &machine, reader->err);
    if (status)
        return status;
    ath_cores_read(NULL, &machine);
    ath_auto_free char *stem = ath_xasprintf("%.*s", (int)(strrchr(name, '.') - name), name);
    const char *host = machine.hostname && *machine.hostname ? machine.hostname : stem;
    size_t node = ath_cluster_add_node(&reader->cluster, host);
    struct ath_cluster_node *added = &reader->cluster.nodes[node];
    added->machine = ath_cluster_add_machine(&reader->cluster, &machine);
    added->shape = ath_cluster_add_shape(&reader->cluster, added->machine, &busy);
    return 0;
}

static int read_folder(struct reader *reader)
{
    struct dirent **entries = NULL;
    int count = scandir(reader->path, &entries, is_json_file, alphasort), status = 0;

    if (count < 0)
        return ath_err_system(reader->err, -errno, _("cannot read '%s'"), reader->path);
    for (int i = 0; i < count; i++) {
        if (!status)
            status = add_file(reader, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (status || count)
        return status;
    ath_err_set(reader->err, -ENOENT, ATH_E_CLUSTER_INVALID,
                _("the folder '%s' has no file *.json"), reader->path);
    return ath_err_hint(reader->err, -ENOENT, "aitherion discover --json > %s/NODE.json",
                        reader->path);
}

/* Finishes the cluster and moves it to *out, unless reading has failed. */
static int finish(struct reader *reader, int status, struct ath_cluster *out)
{
    if (!status)
        status = ath_cluster_finish(&reader->cluster, reader->err);
    if (status)
        return status;
    *out = reader->cluster;
    reader->cluster = (struct ath_cluster){ 0 };
    return 0;
}

int ath_cluster_read(const char *path, struct ath_cluster *out, struct ath_faults *faults,
                     struct ath_err *err)
{
    ATH_AUTO(reader) reader = { .path = path, .folder = folder_of(path), .err = err };
    struct stat info;
    bool is_folder = !stat(path, &info) && S_ISDIR(info.st_mode);

    return finish(&reader, is_folder ? read_folder(&reader) : read_file(&reader, faults), out);
}

int ath_cluster_parse(const char *name, const char *text, size_t length, struct ath_cluster *out,
                      struct ath_faults *faults, struct ath_err *err)
{
    ATH_AUTO(reader) reader = { .path = name, .folder = folder_of(name), .err = err };

    return finish(&reader, read_text(&reader, text, length, faults), out);
}
