/*
 * Faults of a topology document with their places, so that the user can fix all of them at once.
 *
 * A list belongs to one thread. It is filled with byte offsets; ath_faults_place() turns them into
 * lines and columns (in characters, from 1) and sorts the list.
 */
#pragma once
#include <stddef.h>

struct ath_yaml;

/* Every code word with its meaning. The man page's list is made from this table. */
#define ATH_FAULT_TABLE(X)                                                                         \
    X(ENCODING, "encoding", N_("the file is not UTF-8 text"))                                      \
    X(SYNTAX, "yaml-syntax", N_("from here on the file is not YAML"))                              \
    X(EMPTY, "empty", N_("the file holds no document"))                                            \
    X(SECOND_DOCUMENT, "second-document", N_("the file holds more than one YAML document"))        \
    X(TOO_LARGE, "too-large", N_("a list or mapping has too many entries, or is nested too deep")) \
    X(ALIAS, "alias", N_("aliases and merge keys are not supported; write the value out"))         \
    X(TAG, "tag", N_("YAML tags are not supported"))                                               \
    X(KEY_UNKNOWN, "key-unknown", N_("there is no such key"))                                      \
    X(KEY_MISSING, "key-missing", N_("a required key is missing"))                                 \
    X(KEY_TWICE, "key-twice", N_("one mapping has the same key twice"))                            \
    X(TYPE, "type", N_("the value is of the wrong type"))                                          \
    X(RANGE, "range", N_("the number is outside its range"))                                       \
    X(CHOICE, "choice", N_("the word is not one of those allowed"))                                \
    X(FORMAT, "format", N_("the text does not have the form that the key needs"))                  \
    X(TWICE, "twice", N_("an entry with this id, name or address exists already"))                 \
    X(PORT_TWICE, "port-twice", N_("two services want the same port"))                             \
    X(ID_UNKNOWN, "id-unknown", N_("the document has no entry with this id or name"))              \
    X(NODE_MISSING, "node-missing", N_("this machine has no such NUMA node"))                      \
    X(NODE_KIND, "node-without-cpus", N_("the NUMA node has no CPUs to run on"))                   \
    X(NODE_CPUS, "node-cpus-offline", N_("all CPUs of the NUMA node are offline"))                 \
    X(NODE_OFFLINE, "node-offline", N_("the NUMA node's memory is offline"))                       \
    X(NO_MEMORY, "memory-missing",                                                                 \
      N_("none of the entry's NUMA nodes has memory, except the memory of GPUs"))                  \
    X(GPU_MISSING, "gpu-missing", N_("this machine has no such GPU"))                              \
    X(GPU_VENDOR, "gpu-vendor", N_("the GPU is not from NVIDIA, and runtimes serve CUDA"))         \
    X(GPU_DRIVER, "gpu-without-driver", N_("NVIDIA's driver does not run the GPU"))                \
    X(GPU_LOST, "gpu-lost", N_("NVIDIA's driver no longer reaches the GPU"))                       \
    X(GPU_MEMORY_UNKNOWN, "gpu-memory-unknown",                                                    \
      N_("the NUMA node of the GPU's memory is not known, so CUDA would not start"))               \
    X(GPU_MEMORY_GONE, "memory-node-missing",                                                      \
      N_("the NUMA node that the GPU names as its memory does not exist"))                         \
    X(GPU_NODE, "gpu-other-node", N_("the GPU belongs to another NUMA node"))                      \
    X(GPU_MEMORY, "gpu-memory-left-out",                                                           \
      N_("the GPU's memory node is not among memory_nodes, so CUDA would not start"))              \
    X(LINK_MISSING, "interface-missing", N_("this machine has no such network interface"))         \
    X(LINK_LOOPBACK, "interface-loopback",                                                         \
      N_("other hosts cannot be reached over the loopback interface"))                             \
    X(RDMA_MISSING, "rdma-device-missing", N_("this machine has no such RDMA device"))             \
    X(CARD_MISSING, "card-missing", N_("this machine has no such network card"))                   \
    X(LINK_INFINIBAND, "parent-infiniband",                                                        \
      N_("the port is in InfiniBand mode and cannot carry a macvlan"))                             \
    X(MTU_ABOVE, "mtu-above-parent", N_("the MTU is larger than that of the link below"))          \
    X(GPU_TWICE, "gpu-twice",                                                                      \
      N_("NUMA entries share a GPU and promise more of its memory than it has"))                   \
    X(SHARES_SUM, "shares-above-100",                                                              \
      N_("identities have shares of a GPU's time that add up to more than 100 percent"))           \
    X(ADDRESS_UNFIT, "address-unfit",                                                              \
      N_("no link can have the address: it is a network, broadcast or special address"))           \
    X(ADDRESS_TWICE, "address-twice",                                                              \
      N_("two macvlans, or a macvlan and its link on the host, have the same address"))            \
    X(HOST_LINK, "host-link",                                                                      \
      N_("a macvlan without an address, or not in mode bridge, can have no link on the host"))     \
    X(DEVICE_MISSING, "device-missing",                                                            \
      N_("this machine has no device node for a GPU or RDMA device"))                              \
    X(MEMORY_SMALL, "memory-too-small", N_("the memory limit is too small for a runtime"))         \
    X(BRIDGE_MISSING, "bridge-missing", N_("Docker has no bridge network"))

enum ath_fault_code {
    ATH_FAULT_NONE,
#define X(name, word, meaning) ATH_FAULT_##name,
    ATH_FAULT_TABLE(X)
#undef X
        ATH_FAULT_COUNT
};

struct ath_fault {
    const char *code; /* stable code word */
    char *file;
    int line, column; /* from 1, the column in characters; 0 until placed */
    char *message;
    size_t offset; /* in bytes, from the start of the file */
};

struct ath_faults {
    struct ath_fault *items;
    size_t count;
    size_t left_out; /* faults beyond the ATH_FAULTS_MAX that a list holds */
};

enum { ATH_FAULTS_MAX = 1000 };

void ath_faults_free(struct ath_faults *faults);

/* Adds a fault at a byte of the file. The message is already translated. */
void ath_faults_add(struct ath_faults *faults, enum ath_fault_code code, size_t offset,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Gives the faults their file, line and column in text, and sorts them by place. */
void ath_faults_place(struct ath_faults *faults, const char *file, const char *text, size_t length);

/* Return the code word ("port-twice") and its untranslated meaning in one line; NULL for
 * ATH_FAULT_NONE. */
const char *ath_fault_word(enum ath_fault_code code);
const char *ath_fault_meaning(enum ath_fault_code code);

/*
 * Moves faults from `all`, the faults of a changed document, to `out`: those in a part of the
 * document that `old`, the faults before the change, did not have in the same part. old_part is
 * NULL if the part is new.
 */
void ath_faults_take_new(const struct ath_faults *old, const struct ath_yaml *old_part,
                         struct ath_faults *all, const struct ath_yaml *part,
                         struct ath_faults *out);
