/* The table of the document's keys. */
#include "config.h"

#include "config/schema.h"

#include <string.h>

#include "base/alloc.h"
#include "base/i18n.h"
#include "base/idset.h"
#include "config/document.h"

enum {
    ENTRY_ID_MAX = 65535,
    PORT_MAX = 65535,
    MTU_MIN = 68,
    MTU_MAX = 65535,
    SESSIONS_MAX = 1 << 20,
    PLACES = 512 /* of a runtime: ATH_SESSION_BOARD_MAX */
};

static const char *const schemas[] = { ATH_DOCUMENT_SCHEMA, NULL };
static const char *const engines[] = { "auto", "docker", "process", NULL };
static const char *const networks[] = { "auto", "bridge", "host", NULL };
static const char *const encryptions[] = { "auto", "on", "off", NULL };
static const char *const modes[] = { "bridge", "private", "vepa", "passthru", NULL };

#define FIELD(type, member) .offset = offsetof(struct type, member)

static const struct ath_schema node_keys[] = {
    { .name = "name",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_node, name),
      .form = ATH_FORM_NAME,
      .otherwise = N_("the machine's host name"),
      .help = N_("name of this machine in outputs") },
    { .name = "profile",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_node, profile),
      .form = ATH_FORM_NAME,
      .otherwise = N_("the kind that 'aitherion discover' finds"),
      .help = N_("kind of machine, as 'aitherion discover' names it") },
    { 0 },
};

static const struct ath_schema engine_keys[] = {
    { .name = "kind",
      .kind = ATH_VALUE_CHOICE,
      FIELD(ath_document_engine, kind),
      .choices = engines,
      .fallback = "auto",
      .help = N_("how a node runs: in Docker, as plain processes, or in Docker if it answers") },
    { .name = "network",
      .kind = ATH_VALUE_CHOICE,
      FIELD(ath_document_engine, network),
      .choices = networks,
      .fallback = "auto",
      .help = N_("network of a container without macvlan; auto: bridge if Docker has one") },
    { .name = "docker_host",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_engine, docker_host),
      .form = ATH_FORM_DOCKER_HOST,
      .fallback = "unix:///var/run/docker.sock",
      .help = N_("Docker's address; DOCKER_HOST in the environment takes precedence") },
    { .name = "image",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_engine, image),
      .form = ATH_FORM_IMAGE,
      .fallback = "aitherion-runtime:latest",
      .help = N_("the runtime's container image") },
    { .name = "sim",
      .kind = ATH_VALUE_BOOLEAN,
      FIELD(ath_document_engine, is_sim),
      .fallback = "false",
      .help = N_("serve simulated GPUs, to try things out without hardware") },
    { 0 },
};

static const struct ath_schema limits_keys[] = {
    { .name = "sessions_per_source",
      .kind = ATH_VALUE_INTEGER,
      FIELD(ath_document_limits, sessions_per_source),
      .min = 1,
      .max = PLACES,
      .fallback = "256",
      .is_rare = true,
      .help = N_("the most sessions from one address, of one user of this machine, or with one of "
                 "several keys") },
    { .name = "host_fraction",
      .kind = ATH_VALUE_NUMBER,
      FIELD(ath_document_limits, host_fraction),
      .max = 1,
      .is_min_excluded = true,
      .fallback = "0.5",
      .is_rare = true,
      .help = N_("how much of the memory of a runtime's host one session may take, mapped memory "
                 "of its program included") },
    { 0 },
};

static const struct ath_schema numa_keys[] = {
    { .name = "id",
      .kind = ATH_VALUE_INTEGER,
      FIELD(ath_document_numa, id),
      .max = ENTRY_ID_MAX,
      .is_required = true,
      .help = N_("the number in the entry's name: 0 for NUMA0") },
    { .name = "node",
      .kind = ATH_VALUE_INTEGER,
      FIELD(ath_document_numa, node),
      .max = ATH_ID_MAX,
      .is_required = true,
      .help = N_("the kernel's NUMA node; the runtime runs on its CPUs") },
    { .name = "memory_nodes",
      .kind = ATH_VALUE_IDS,
      FIELD(ath_document_numa, memory_nodes),
      .max = ATH_ID_MAX,
      .otherwise = N_("the node itself"),
      .help = N_("the kernel's nodes whose memory it may use, including its GPUs' memory nodes") },
    { .name = "memory_percent",
      .kind = ATH_VALUE_NUMBER,
      FIELD(ath_document_numa, memory_percent),
      .max = 100,
      .is_min_excluded = true, /* Docker takes a limit of 0 bytes as no limit */
      .fallback = "80.0",
      .help = N_("how much of the CPU node's memory it may use, in percent") },
    { .name = "vram_fraction",
      .kind = ATH_VALUE_NUMBER,
      FIELD(ath_document_numa, vram_fraction),
      .max = 1,
      .is_min_excluded = true,
      .fallback = "0.8",
      .help = N_("how much of each GPU's memory all sessions together may use; 1 is all") },
    { .name = "enforce",
      .kind = ATH_VALUE_BOOLEAN,
      FIELD(ath_document_numa, is_enforced),
      .fallback = "true",
      .is_rare = true,
      .help = N_("refuse what goes beyond limits of GPU memory; false: only count and log it") },
    { .name = "control_iface",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_numa, control_iface),
      .form = ATH_FORM_INTERFACE,
      .otherwise = N_("this machine only"),
      .help = N_("network interface of the control connections") },
    { .name = "data_iface",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_numa, data_iface),
      .form = ATH_FORM_INTERFACE,
      .otherwise = N_("none"),
      .has_no_effect = true,
      .help = N_("network interface of the data plane to come; has no effect yet") },
    { .name = "gpus",
      .kind = ATH_VALUE_TEXTS,
      FIELD(ath_document_numa, gpus),
      .form = ATH_FORM_PCI,
      .otherwise = N_("none"),
      .help = N_("PCI addresses of the GPUs that the runtime serves") },
    { .name = "rdma_devices",
      .kind = ATH_VALUE_TEXTS,
      FIELD(ath_document_numa, rdma_devices),
      .form = ATH_FORM_RDMA_DEVICE,
      .otherwise = N_("none"),
      .help = N_("RDMA devices that the runtime's container gets") },
    { .name = "control_port",
      .kind = ATH_VALUE_INTEGER,
      FIELD(ath_document_numa, control_port),
      .min = 1,
      .max = PORT_MAX,
      .is_required = true,
      .help = N_("TCP port of the control connections; must be unique") },
    { .name = "data_port",
      .kind = ATH_VALUE_INTEGER,
      FIELD(ath_document_numa, data_port),
      .min = 1,
      .max = PORT_MAX,
      .is_required = true,
      .has_no_effect = true,
      .help = N_("port of the data plane to come; has no effect yet; must be unique") },
    { .name = "metrics_port",
      .kind = ATH_VALUE_INTEGER,
      FIELD(ath_document_numa, metrics_port),
      .min = 1,
      .max = PORT_MAX,
      .otherwise = N_("no metrics"),
      .help = N_("TCP port of Prometheus metrics at the control address, without a password; must "
                 "be unique") },
    { 0 },
};

static const struct ath_schema identity_keys[] = {
    { .name = "name",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_identity, name),
      .form = ATH_FORM_KEY_NAME,
      .is_required = true,
      .help = N_("name of a key: of its file in the folder key_file") },
    { .name = "memory",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_identity, memory),
      .form = ATH_FORM_MEMORY,
      .otherwise = N_("no limit"),
      .help = N_("memory of each GPU for all its sessions together, such as 4G or 50%") },
    { .name = "sessions",
      .kind = ATH_VALUE_INTEGER,
      FIELD(ath_document_identity, sessions),
      .max = SESSIONS_MAX,
      .otherwise = N_("no limit"),
      .help = N_("number of programs that use a runtime at a time") },
    { .name = "gpus",
      .kind = ATH_VALUE_TEXTS,
      FIELD(ath_document_identity, gpus),
      .form = ATH_FORM_PCI,
      .otherwise = N_("all GPUs"),
      .help = N_("PCI addresses of the GPUs that the identity may use") },
    { .name = "admin",
      .kind = ATH_VALUE_BOOLEAN,
      FIELD(ath_document_identity, is_admin),
      .fallback = "false",
      .help = N_("the identity may list, limit and end the sessions of others") },
    { 0 },
};

static const struct ath_schema card_keys[] = {
    { .name = "pci",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_card, pci),
      .form = ATH_FORM_PCI,
      .is_required = true,
      .help = N_("PCI address of the card (of its lowest function)") },
    { .name = "description",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_card, description),
      .form = ATH_FORM_LINE,
      .help = N_("free text that describes the card") },
    { .name = "numa",
      .kind = ATH_VALUE_IDS,
      FIELD(ath_document_card, numa),
      .max = ENTRY_ID_MAX,
      .otherwise = N_("none"),
      .help = N_("ids of the NUMA entries that use the card") },
    { 0 },
};

static const struct ath_schema macvlan_keys[] = {
    { .name = "name",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_macvlan, name),
      .form = ATH_FORM_INTERFACE,
      .is_required = true,
      .help = N_("name of the macvlan link") },
    { .name = "parent",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_macvlan, parent),
      .form = ATH_FORM_INTERFACE,
      .is_required = true,
      .help = N_("the Ethernet interface below the macvlan") },
    { .name = "mode",
      .kind = ATH_VALUE_CHOICE,
      FIELD(ath_document_macvlan, mode),
      .choices = modes,
      .fallback = "bridge",
      .help = N_("how macvlans of one parent reach each other") },
    { .name = "numa",
      .kind = ATH_VALUE_INTEGER,
      FIELD(ath_document_macvlan, numa),
      .max = ENTRY_ID_MAX,
      .otherwise = N_("no container"),
      .help = N_("id of the NUMA entry whose container gets the macvlan") },
    { .name = "address",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_macvlan, address),
      .form = ATH_FORM_ADDRESS,
      .otherwise = N_("no address"),
      .help = N_("its IP address with the prefix") },
    { .name = "mtu",
      .kind = ATH_VALUE_INTEGER,
      FIELD(ath_document_macvlan, mtu),
      .min = MTU_MIN,
      .max = MTU_MAX,
      .otherwise = N_("the parent's"),
      .help = N_("largest packet in bytes, at most the parent's") },
    { .name = "host_link",
      .kind = ATH_VALUE_BOOLEAN,
      FIELD(ath_document_macvlan, has_host_link),
      .fallback = "false",
      .help =
          N_("also make a link on the host, by which the host reaches the macvlan (mode bridge)") },
    { .name = "host_address",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_macvlan, host_address),
      .form = ATH_FORM_ADDRESS,
      .otherwise = N_("none of its own"),
      .help = N_("IP address with the prefix of the link on the host, if the host has none in that "
                 "network") },
    { 0 },
};

static const struct ath_schema roce_keys[] = {
    { .name = "cards",
      .kind = ATH_VALUE_ITEMS,
      FIELD(ath_document_roce, cards),
      .otherwise = N_("none"),
      .help = N_("RDMA cards in use, and the NUMA entries that use them"),
      .title = N_("RDMA card"),
      .name_key = "pci",
      .keys = card_keys,
      .item_size = sizeof(struct ath_document_card) },
    { .name = "macvlans",
      .kind = ATH_VALUE_ITEMS,
      FIELD(ath_document_roce, macvlans),
      .otherwise = N_("none"),
      .help = N_("macvlan links that containers get"),
      .title = N_("macvlan"),
      .name_key = "name",
      .keys = macvlan_keys,
      .item_size = sizeof(struct ath_document_macvlan) },
    { 0 },
};

static const struct ath_schema document_keys[] = {
    { .name = "schema",
      .kind = ATH_VALUE_CHOICE,
      FIELD(ath_document, schema),
      .choices = schemas,
      .is_required = true,
      .help = N_("version of the document's format") },
    { .name = "node",
      .kind = ATH_VALUE_MAPPING,
      FIELD(ath_document, node),
      .help = N_("the machine"),
      .title = N_("Machine"),
      .keys = node_keys },
    { .name = "engine",
      .kind = ATH_VALUE_MAPPING,
      FIELD(ath_document, engine),
      .help = N_("the engine that runs the runtimes"),
      .title = N_("Engine"),
      .keys = engine_keys },
    { .name = "key_file",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document, key_file),
      .form = ATH_FORM_FILE,
      .fallback = "/etc/aitherion/key",
      .help = N_("file of the shared key (any bytes), or folder with a key for each identity; a "
                 "user's own key file takes precedence") },
    { .name = "encrypt",
      .kind = ATH_VALUE_CHOICE,
      FIELD(ath_document, encrypt),
      .choices = encryptions,
      .fallback = "auto",
      .is_rare = true,
      .help = N_("TCP connections that runtimes encrypt by TLS with the key: those that leave the "
                 "machine (auto), all (on) or none (off)") },
    { .name = "limits",
      .kind = ATH_VALUE_MAPPING,
      FIELD(ath_document, limits),
      .is_rare = true,
      .help = N_("what one client of a runtime may take, so that something is left for the "
                 "others"),
      .title = N_("Limits of clients"),
      .keys = limits_keys },
    { .name = "identities",
      .kind = ATH_VALUE_ITEMS,
      FIELD(ath_document, identities),
      .otherwise = N_("no limits, and no administrators"),
      .help = N_("limits and roles of the keys of the folder key_file, by name"),
      .title = N_("identity"),
      .name_key = "name",
      .keys = identity_keys,
      .item_size = sizeof(struct ath_document_identity) },
    { .name = "numa",
      .kind = ATH_VALUE_ITEMS,
      FIELD(ath_document, numa),
      .is_required = true,
      .help = N_("each entry gets one runtime; several entries may name the same node"),
      .title = N_("NUMA entry"),
      .name_key = "id",
      .keys = numa_keys,
      .item_size = sizeof(struct ath_document_numa) },
    { .name = "roce",
      .kind = ATH_VALUE_MAPPING,
      FIELD(ath_document, roce),
      .help = N_("RDMA cards, and the links made on them"),
      .title = N_("RDMA"),
      .keys = roce_keys },
    { 0 },
};

static const struct ath_schema root = {
    .name = "document",
    .kind = ATH_VALUE_MAPPING,
    .help = N_("a topology document"),
    .keys = document_keys,
};

const struct ath_schema *ath_schema_root(void)
{
    return &root;
}

const struct ath_schema *ath_schema_find(const struct ath_schema *parent, const char *name)
{
    for (const struct ath_schema *key = parent->keys; key && key->name; key++)
        if (!strcmp(key->name, name))
            return key;
    return NULL;
}

const char *ath_schema_nearest(const struct ath_schema *parent, const char *name)
{
    const char *names[32];
    size_t count = 0;
    for (const struct ath_schema *key = parent->keys; key && key->name; key++)
        if (count < ATH_COUNT(names))
            names[count++] = key->name;
    return ath_text_nearest(name, names, count);
}
