/*
 * The plan: placement, network and limits of the runtime of each NUMA entry. Everything that
 * `start` does follows from it, and --dry-run prints it.
 *
 * A pure function makes the plan from the topology document, the machine, some facts about the host
 * (facts.h) and options. It asks no daemon and changes nothing. Both engines use the same plan:
 * docker/body.h makes request bodies of it, docker/run_line.h commands for people. Unknown numbers
 * are ATH_UNKNOWN, unknown texts NULL. A plan owns everything to which it points and never changes;
 * several threads may read it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/idset.h"
#include "base/pci.h"
#include "config/document.h"
#include "container/plan/facts.h"
#include "numa/machine.h"

#define ATH_PLAN_RUN_FOLDER "/run/aitherion"
/* The most processes and threads of a runtime: 512 sessions with 32 each
 * (runtime/session_board.h). */
enum { ATH_PLAN_PIDS = 16384 };

#define ATH_PLAN_RUNTIME "aitherion-runtime" /* in the image's PATH, or beside aitherion */

/* The variable of a runtime's environment that has the port of the control connections. */
#define ATH_PLAN_PORT_VARIABLE "CAPNP_PORT"

/* Labels of our containers: aitherion.numa=ID, aitherion.role=runtime|pause, aitherion.plan=HASH
 * and aitherion.base=HASH (docker/body.h), aitherion.document=PATH if the document's path is
 * absolute. `clean` recognises our containers by the first. */
#define ATH_PLAN_LABEL_NUMA "aitherion.numa"
#define ATH_PLAN_LABEL_ROLE "aitherion.role"
#define ATH_PLAN_LABEL_PLAN "aitherion.plan"
#define ATH_PLAN_LABEL_BASE "aitherion.base"
#define ATH_PLAN_LABEL_DOCUMENT "aitherion.document"
#define ATH_PLAN_LABEL_MACVLANS                                                                    \
    "aitherion.macvlans" /* names with commas; absent without macvlans */
#define ATH_PLAN_LABEL_MEMORY "aitherion.memory_percent" /* as the document had it */
#define ATH_PLAN_LABEL_SIM                                                                         \
    "aitherion.sim" /* "flag": simulated by --sim, not by the document; otherwise absent */

/*
 * Docker's abilities from /info, or for a dry run without a daemon from ath_plan_engine_typical().
 * The process engine ignores them.
 */
struct ath_plan_engine {
    bool has_nvidia_runtime; /* Runtimes has "nvidia" */
    bool has_cdi;     /* CDISpecDirs is not empty (Engine 25 with the feature, 28.3 always) */
    bool has_bridge;  /* a network "bridge" of driver "bridge" exists */
    bool is_rootless; /* SecurityOptions has "name=rootless" */
    bool limits_logs; /* LoggingDriver is json-file or local, which can limit the size of logs */
    bool is_limited;  /* Docker may not raise limits (no CAP_SYS_RESOURCE, as inside a container):
                         a container would fail with "error setting rlimit type 8" */
};

struct ath_plan_options {
    bool is_process; /* the process engine; otherwise Docker */
    struct ath_plan_engine engine;
    bool is_sim;        /* --sim; the document's engine.sim counts as well */
    const int *sim_ids; /* entries that were started with --sim, and keep it */
    size_t sim_id_count;
    const int *ids;
    size_t id_count;        /* 0: all entries of the document */
    const char *key_path;   /* of the key file that was found or made; NULL: the document's */
    bool is_key_folder;     /* key_path is a folder of keys */
    const char *run_folder; /* NULL: ATH_PLAN_RUN_FOLDER */
    const char *user;       /* "UID:GID", owner of the key and the run folder, for the container's
                               process:       without capabilities, root cannot read other users' files.
                               NULL:       root,       which owns them */
};

/* How the GPUs come into the container. */
enum ath_plan_gpu_way {
    ATH_PLAN_GPU_NONE,    /* the entry has no GPU */
    ATH_PLAN_GPU_SIM,     /* simulated GPUs, no device of the host */
    ATH_PLAN_GPU_CDI,     /* DeviceRequests of driver "cdi", by names of a CDI specification */
    ATH_PLAN_GPU_RUNTIME, /* Runtime "nvidia" and NVIDIA_VISIBLE_DEVICES */
    ATH_PLAN_GPU_HOOK,    /* DeviceRequests of driver "nvidia", like docker run --gpus */
    ATH_PLAN_GPU_NODES,   /* device nodes, and the driver's libraries bound in; in the process
                             engine: the host's own */
};

struct ath_plan_gpu {
    struct ath_pci pci;
    char *uuid;         /* NULL: unknown */
    int index;          /* among NVIDIA's GPUs by PCI address, as nvidia-smi counts; ATH_UNKNOWN */
    char *device;       /* "/dev/nvidia0"; NULL if its number is unknown */
    char *cdi_name;     /* "nvidia.com/gpu=0"; NULL without a specification */
    int memory_node;    /* ATH_UNKNOWN for most GPUs */
    bool is_waited_for; /* its memory is not online yet: `start` waits for it */
};

struct ath_plan_rdma {
    char *name;    /* "mlx5_0" */
    char *device;  /* "/dev/infiniband/uverbs0"; NULL: unknown */
    char *link;    /* the link inside the container whose GID is used; NULL: unknown */
    int gid_index; /* ATH_UNKNOWN: known once its macvlan has its address */
};

enum ath_plan_network {
    ATH_PLAN_BRIDGE,    /* Docker's network "bridge", ports published */
    ATH_PLAN_HOST,      /* the host's network, with or without a container */
    ATH_PLAN_PAUSE,     /* the pause container's network */
    ATH_PLAN_NAMESPACE, /* process engine: the namespace in which the macvlan was made */
};

struct ath_plan_macvlan {
    char *name, *parent;
    int mode;           /* enum ath_macvlan_mode */
    char *address;      /* "192.168.100.10/24"; NULL: none */
    int mtu;            /* ATH_UNKNOWN: the parent's */
    bool has_host_link; /* a link on the host through which the host reaches the macvlan */
    char *host_address; /* of that link; NULL: the host's other addresses */
};

/* A port published on the host; only for ATH_PLAN_BRIDGE and a pause container on the bridge. */
struct ath_plan_port {
    const char *purpose;  /* "control", "metrics", "data" */
    const char *protocol; /* "tcp", "udp" */
    char *host_address;   /* "10.0.0.11", "127.0.0.1", "fd00::1" */
    int port;             /* the same on both sides */
};

/* A file or folder of the host bound into the container. */
struct ath_plan_mount {
    char *source, *target;
    bool is_read_only;
};

struct ath_plan_pair {
    char *name, *value;
};

struct ath_plan_pairs {
    struct ath_plan_pair *items;
    size_t count;
};

/* Doubts that do not prevent a start. The words are stable. */
#define ATH_PLAN_WARNING_TABLE(X)                                                                  \
    X(GPU_MEMORY_OFFLINE, "gpu-memory-offline",                                                    \
      N_("the memory of a GPU is not online; start waits for it"))                                 \
    X(GPU_MEMORY_UNKNOWN, "gpu-memory-unknown",                                                    \
      N_("the NUMA node of a GPU's memory is not known, but the entry has nodes that may be it"))  \
    X(NO_GPUS, "no-gpus", N_("an entry has no GPU, so programs find none"))                        \
    X(GPU_DEVICE_UNKNOWN, "gpu-device-unknown", N_("the device node of a GPU is not known"))       \
    X(GPU_CDI_STALE, "gpu-cdi-stale",                                                              \
      N_("the CDI specification is for another driver version than the running one"))              \
    X(GPU_DRIVER_MISSING, "gpu-driver-missing",                                                    \
      N_("libraries of NVIDIA's driver were not found on the host"))                               \
    X(OVERCOMMITTED, "overcommitted",                                                              \
      N_("several entries promise more of a node's memory than it has"))                           \
    X(CPUS_UNKNOWN, "cpus-unknown",                                                                \
      N_("the CPUs of the NUMA node are not known, so the runtime may use all CPUs"))              \
    X(CPUS_SHARED, "cpus-shared", N_("the NUMA nodes of two entries have the same CPUs"))          \
    X(MEMORY_UNKNOWN, "memory-unknown",                                                            \
      N_("the memory size of the NUMA node is not known, so there is no limit"))                   \
    X(MEMORY_NODE_EMPTY, "memory-node-empty",                                                      \
      N_("a NUMA node without memory is left out of cpuset-mems"))                                 \
    X(CGROUP_MEMS_SHORT, "cgroup-mems-short",                                                      \
      N_("a cgroup above the containers lacks NUMA nodes that they need"))                         \
    X(RDMA_NO_LINK, "rdma-no-link",                                                                \
      N_("an RDMA device has no link in the container's network, so it has no GID to use"))        \
    X(RDMA_NO_GID, "rdma-no-gid", N_("an RDMA device has no usable GID"))                          \
    X(RDMA_EXCLUSIVE, "rdma-exclusive", N_("RDMA devices belong to one network namespace only"))   \
    X(RDMA_CM_MISSING, "rdma-cm-missing", N_("/dev/infiniband/rdma_cm does not exist"))            \
    X(RDMA_LIBRARIES_MISSING, "rdma-libraries-missing",                                            \
      N_("the RDMA libraries were not found on the host"))                                         \
    X(ADDRESS_MISSING, "address-missing",                                                          \
      N_("the address of the control interface is missing or unknown: only this machine reaches "  \
         "the runtime"))                                                                           \
    X(DATA_ADDRESS_MISSING, "data-address-missing",                                                \
      N_("a data interface has no address that programs could use: no large copies go by it"))     \
    X(NO_BRIDGE, "no-bridge",                                                                      \
      N_("Docker has no bridge network: only the macvlan reaches the container"))                  \
    X(MEMLOCK, "memlock-limited", N_("Docker may not raise the limit of locked memory"))           \
    X(ROOTLESS, "rootless", N_("a rootless Docker cannot do what the document asks for"))

enum ath_plan_warning_code {
#define X(name, word, meaning) ATH_PLAN_W_##name,
    ATH_PLAN_WARNING_TABLE(X)
#undef X
        ATH_PLAN_W_COUNT
};

struct ath_plan_warning {
    enum ath_plan_warning_code code;
    char *object;         /* "0004:04:00.0", "mlx5_0", ...; NULL: the entry */
    char *message, *hint; /* translated; hint may be NULL */
};

/* The runtime of one entry, and its pause container if it has one. */
struct ath_plan_node {
    int id;         /* of the entry */
    int node;       /* of the kernel */
    char *name;     /* "aitherion-numa0": container, host name */
    char *folder;   /* "/run/aitherion/numa0": socket, state, logs; the same path inside */
    char *socket;   /* "/run/aitherion/numa0/runtime.sock" */
    char *key_path; /* on the host */
    bool is_key_folder;

    struct ath_idset cpus;         /* the node's online CPUs */
    struct ath_idset memory_nodes; /* cpuset-mems: the CPU node and its GPUs' memory nodes */
    double memory_percent;
    int64_t memory_total_bytes; /* of the CPU node, without huge pages; ATH_UNKNOWN */
    bool has_huge_pages;        /* part of the CPU node's memory is reserved as huge pages */
    int64_t memory_limit_bytes; /* a multiple of 1 MiB; ATH_UNKNOWN: none */
    int64_t shm_bytes;          /* of /dev/shm */
    bool has_memlock; /* unlimited locked memory, and CAP_IPC_LOCK: for RDMA and real GPUs */

    enum ath_plan_gpu_way gpu_way;
    struct ath_plan_gpu *gpus;
    size_t gpu_count;
    double vram_fraction;
    bool is_enforced; /* limits of GPU memory refuse what goes beyond them */
    struct ath_plan_rdma *rdma;
    size_t rdma_count;

    enum ath_plan_network network;
    char *pause_name;      /* "aitherion-numa0-net" for ATH_PLAN_PAUSE; otherwise NULL */
    bool is_pause_bridged; /* otherwise its only links are lo and the macvlans */
    struct ath_plan_macvlan *macvlans;
    size_t macvlan_count;
    char *control_iface;  /* NULL */
    char *listen_address; /* in its own network: "0.0.0.0", "10.0.0.11", "127.0.0.1" */
    int control_port;
    char *metrics_address; /* the same for metrics; NULL: none */
    int metrics_port;      /* ATH_UNKNOWN: no metrics */
    /* The data interfaces, where the runtime listens for large copies in its own network
     * ("10.0.1.11:5555"), and the addresses that programs get. */
    struct ath_texts data_iface, data_listen, data_addresses;
    int data_port;  /* ATH_UNKNOWN: there is no data address */
    bool takes_udp; /* at the data addresses; without any, at the control address and its port */
    struct ath_plan_port *ports;
    size_t port_count;

    struct ath_texts devices; /* device nodes, the same path inside */
    struct ath_plan_mount *mounts;
    size_t mount_count;
    /* keys of the whole document for the server that differ from their defaults:
     * "limits.host_fraction" */
    struct ath_plan_pairs settings;
    struct ath_plan_pairs environment; /* by name */
    struct ath_plan_pairs labels;      /* without role and plan, which docker/body.c adds */
    struct ath_texts command;          /* ATH_PLAN_RUNTIME, "serve", ... */
    struct ath_texts health;           /* ATH_PLAN_RUNTIME, "health", ...: exit 0 or 3 */
    char *user;                        /* of the container's process; NULL: root */
    bool limits_logs;                  /* with options of Docker's log driver */

    struct ath_plan_warning *warnings;
    size_t warning_count;
};

struct ath_plan {
    bool is_process;
    bool is_sim;                 /* the GPUs of all nodes are simulated */
    char *image;                 /* that Docker needs; NULL for the process engine */
    struct ath_plan_node *nodes; /* in the document's order */
    size_t node_count;
};

/*
 * Makes the plan of the requested entries. Returns 0, or a negative errno with err:
 * "document-invalid" if they do not fit this machine (*faults then lists why, with places in the
 * document; faults of other entries do not count), "key-unknown" for an id that the document does
 * not have. *out is filled only on success.
 */
int ath_plan_make(const struct ath_document *document, const struct ath_machine *machine,
                  const struct ath_plan_facts *facts, const struct ath_plan_options *options,
                  struct ath_plan *out, struct ath_faults *faults, struct ath_err *err);

void ath_plan_free(struct ath_plan *plan);

/* Returns the abilities of a current Docker with its package's settings; CDI if the host has a
 * specification. */
struct ath_plan_engine ath_plan_engine_typical(const struct ath_plan_facts *facts);

/* Returns true while `start` must wait for the memory of a GPU before it starts this node. */
bool ath_plan_node_waits(const struct ath_plan_node *node);

/* Return "sim", "cdi", "nvidia-runtime", "nvidia-hook", "device-nodes", "none"; "bridge", "host",
 * "pause", "namespace"; "gpu-memory-offline" and its untranslated meaning. */
const char *ath_plan_gpu_way_word(enum ath_plan_gpu_way way);
const char *ath_plan_network_word(enum ath_plan_network network);
const char *ath_plan_warning_word(enum ath_plan_warning_code code);
const char *ath_plan_warning_meaning(enum ath_plan_warning_code code);
