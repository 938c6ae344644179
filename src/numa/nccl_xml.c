/*
 * Reading the topology files of NCCL (version 1) and RCCL (version 2, with `xgmi` for `nvlink`).
 *
 * The format is defined by NCCL's src/graph/xml.cc (writer) and topo.cc (reader): system > cpu (a
 * NUMA node) > pci, nested > gpu > nvlink, nic > net. NCCL leaves root ports out, and writes only
 * the upstream port of a switch, so a `pci` with others inside is a whole switch. Functions
 * directly below a `cpu` count as below different host bridges, which NCCL calls PHB, too. A numaid
 * of -1 (or none) means that the kernel does not know the node. Memory, distances and the speed of
 * NVLinks are not in the file.
 */
#include "config.h"

#include "numa/nccl_xml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/pci_names.h"
#include "base/text.h"
#include "numa/gpu.h"
#include "numa/warning.h"
#include "numa/xml_nics.h"

/* Enough for a mask of more CPUs than any kernel supports (NR_CPUS is at most 8192 as of Linux
 * 6.10). */
enum { MASK_BYTES_MAX = 1 << 14 };

enum kind { OUTSIDE, UNKNOWN, SYSTEM, CPU, PCI, GPU, LINK, C2C, NIC, NET };

/* An open element. */
struct frame {
    enum kind kind;
    char *place;        /* CPU and PCI: the place of the functions below */
    int children;       /* PCI: number of children so far */
    struct ath_pci pci; /* PCI only, as all fields below */
    char *own_place;
    char class[8]; /* hexadecimal, with the digits of the file: "030200", "02" */
    int vendor_id, device_id, pcie_gen, pcie_width;
    bool is_gpu, is_nic; /* a child element says so */
    size_t gpu;          /* index of the GPU, if is_gpu */
};

struct nccl {
    struct ath_machine *machine;
    struct ath_xml_guids guids;
    struct frame frames[ATH_XML_DEPTH_MAX + 1]; /* the first frame stays OUTSIDE */
    size_t depth;
    int node, cpus; /* node of the open `cpu`; number of `cpu` elements so far */
    uint64_t host;
    struct ath_idset homeless; /* CPUs of `cpu` elements without a node */
};

static void *open_nccl(struct ath_machine *machine)
{
    struct nccl *nccl = ath_xalloc(sizeof *nccl);
    nccl->machine = machine;
    return nccl;
}

static void frame_free(struct frame *frame)
{
    free(frame->place);
    free(frame->own_place);
    *frame = (struct frame){ 0 };
}

static void close_nccl(void *state)
{
    struct nccl *nccl = state;

    for (size_t i = 0; i <= nccl->depth; i++)
        frame_free(&nccl->frames[i]);
    ath_xml_guids_free(&nccl->guids);
    ath_idset_free(&nccl->homeless);
    free(nccl);
}

/* Returns the parent of the element that is being opened. */
static struct frame *parent(struct nccl *nccl)
{
    return &nccl->frames[nccl->depth - 1];
}

static void start_system(struct nccl *nccl, struct frame *frame, struct ath_xml *xml,
                         const char **attributes)
{
    const char *version = ath_xml_get(attributes, "version");

    (void)nccl, (void)frame;
    if (!version || (strcmp(version, "1") && strcmp(version, "2")))
        ath_xml_fault(xml, _("version '%.16s' of NCCL's format is not known; expected 1 or 2"),
                      version ? version : "");
}

static struct ath_numa_node *node_of(struct ath_machine *machine, int id)
{
    struct ath_numa_node *node = ath_machine_find_node(machine, id);
    if (node)
        return node;
    node = ath_machine_add_node(machine, id);
    node->is_online = true;
    return node;
}

/* Adds the CPUs of an `affinity` mask. affinity_offset is the CPU of the mask's first bit (NCCL
 * since 2.28). */
static void add_cpus(struct ath_xml *xml, const char **attributes, struct ath_idset *out)
{
    ATH_AUTO(ath_idset) mask = { 0 };
    const char *text = ath_xml_get(attributes, "affinity");
    int offset = (int)ath_xml_get_number(attributes, "affinity_offset", ATH_ID_MAX, 0);

    if (!text || !*text)
        return;
    if (strlen(text) > MASK_BYTES_MAX || ath_idset_parse_mask(text, &mask)) {
        ath_xml_fault(xml, _("affinity '%.64s' is not a mask of CPUs"), text);
        return;
    }
    for (size_t i = 0; i < mask.range_count; i++)
        ath_idset_add(out, mask.ranges[i].first + offset, mask.ranges[i].last + offset);
}

/* Returns the kernel's name for an architecture name of NCCL. NCCL ran only on little-endian
 * POWER. */
static const char *arch_of(const char *word)
{
    static const char *const words[][2] = { { "arm64", "aarch64" }, { "ppc64", "ppc64le" } };

    for (size_t i = 0; i < ATH_COUNT(words); i++)
        if (!strcmp(word, words[i][0]))
            return words[i][1];
    return word;
}

/* One file may describe all hosts of an NVLink domain, told apart by host_hash (NCCL since
 * 2.23). */
static void check_host(struct nccl *nccl, struct ath_xml *xml, const char **attributes)
{
    const char *text = ath_xml_get(attributes, "host_hash");
    uint64_t host = 0;

    if (text)
        ath_parse_u64(text, 0, &host);
    if (nccl->cpus++ && host != nccl->host) {
        ath_xml_fault(xml, _("the file describes several machines (host_hash differs)"));
        ath_xml_hint(xml, "NCCL_TOPO_DUMP_FILE=topology.xml COMMAND");
    }
    nccl->host = host;
}

static void start_cpu(struct nccl *nccl, struct frame *frame, struct ath_xml *xml,
                      const char **attributes)
{
    struct ath_machine *machine = nccl->machine;
    const char *numaid = ath_xml_get(attributes, "numaid");
    const char *arch = ath_xml_get(attributes, "arch");

    check_host(nccl, xml, attributes);
    nccl->node = ATH_UNKNOWN;
    if (numaid && ath_parse_int(numaid, -1, UINT16_MAX, &nccl->node)) {
        ath_xml_fault(xml, _("numaid '%.16s' is not a NUMA node's id"), numaid);
        return;
    }
    if (machine->node_count >= ATH_XML_NODES_MAX) {
        ath_xml_fault(xml, _("there are more than %d NUMA nodes"), ATH_XML_NODES_MAX);
        return;
    }
    if (arch && *arch && !machine->arch)
        machine->arch = ath_xstrdup(arch_of(arch));
    frame->place = ath_xasprintf("numa%d", nccl->node);
    add_cpus(xml, attributes,
             nccl->node < 0 ? &nccl->homeless : &node_of(machine, nccl->node)->cpus);
}

/* Sets the function's place below a node or a switch. A switch has one port for each function. */
static void place_function(struct frame *frame, struct frame *above)
{
    char text[ATH_PCI_TEXT];

    if (above->kind == PCI)
        frame->own_place = ath_xasprintf("%s#%d", above->place, above->children++);
    else
        frame->own_place = ath_xstrdup(above->place);
    ath_pci_format(&frame->pci, text);
    frame->place = ath_xasprintf("%s/%s/%s", frame->own_place, text, text);
}

static void start_pci(struct nccl *nccl, struct frame *frame, struct ath_xml *xml,
                      const char **attributes)
{
    const char *busid = ath_xml_get(attributes, "busid");
    const char *class = ath_xml_get(attributes, "class");
    const char *speed = ath_xml_get(attributes, "link_speed");

    if (!busid || ath_pci_parse(busid, &frame->pci)) {
        ath_xml_fault(xml, _("busid '%.32s' is not a PCI address"), busid ? busid : "");
        return;
    }
    if (class && strlen(class) < sizeof frame->class + 2)
        memcpy(frame->class, class + (ath_starts_with(class, "0x") ? 2 : 0),
               strnlen(class + (ath_starts_with(class, "0x") ? 2 : 0), sizeof frame->class - 1));
    frame->vendor_id = (int)ath_xml_get_number(attributes, "vendor", 0xffff, ATH_UNKNOWN);
    frame->device_id = (int)ath_xml_get_number(attributes, "device", 0xffff, ATH_UNKNOWN);
    frame->pcie_gen = speed ? ath_pcie_generation(speed) : ATH_UNKNOWN;
    frame->pcie_width = (int)ath_xml_get_number(attributes, "link_width", 64, ATH_UNKNOWN);
    if (frame->pcie_width == 0) /* NCCL writes 0 if sysfs has no width */
        frame->pcie_width = ATH_UNKNOWN;
    place_function(frame, parent(nccl));
}

static void add_gpu(struct nccl *nccl, struct frame *frame)
{
    struct ath_gpu *gpu = ath_machine_add_gpu(nccl->machine, &frame->pci);

    gpu->place = ath_xstrdup(frame->own_place);
    gpu->vendor_id = frame->vendor_id;
    gpu->device_id = frame->device_id;
    gpu->model = ath_xstrdup(ath_pci_name(frame->vendor_id, frame->device_id));
    gpu->pcie_gen = frame->pcie_gen;
    gpu->pcie_width = frame->pcie_width;
    gpu->numa_node = nccl->node;
    frame->is_gpu = true;
    frame->gpu = nccl->machine->gpu_count - 1;
}

/* NCCL writes `gpu` after it has queried NVML, so the links are known. A GPU has one `gpu` for
 * each rank or share (MLOPart), each with all the links; the first one counts. */
static void start_gpu(struct nccl *nccl, struct frame *frame, struct ath_xml *xml,
                      const char **attributes)
{
    (void)xml, (void)attributes;
    if (parent(nccl)->is_gpu)
        return;
    frame->is_gpu = true;
    add_gpu(nccl, parent(nccl));
    nccl->machine->gpus[parent(nccl)->gpu].has_nvlinks = true;
}

static struct ath_nvlink *add_link(struct nccl *nccl, enum ath_peer_kind kind)
{
    struct ath_gpu *gpu = &nccl->machine->gpus[nccl->frames[nccl->depth - 2].gpu];
    struct ath_nvlink *link = ath_push(&gpu->nvlinks, &gpu->nvlink_count, sizeof *link);

    *link = (struct ath_nvlink){ .kind = kind, .count = ATH_UNKNOWN, .speed_mbps = ATH_UNKNOWN };
    return link;
}

/* Derives the kind of the peer from its PCI class (topo.cc, kvDictPciClass). In a virtual machine
 * the NVSwitch at the other end is not visible, and NCCL writes a switch without an address. */
static enum ath_peer_kind peer_kind_of(const char *class)
{
    static const struct {
        const char *prefix;
        enum ath_peer_kind kind;
    } kinds[] = { { "0x068001", ATH_PEER_CPU }, { "0x0680", ATH_PEER_SWITCH } };

    for (size_t i = 0; i < ATH_COUNT(kinds); i++)
        if (ath_starts_with(class, kinds[i].prefix))
            return kinds[i].kind;
    return ATH_PEER_GPU;
}

static void start_link(struct nccl *nccl, struct frame *frame, struct ath_xml *xml,
                       const char **attributes)
{
    const char *target = ath_xml_get(attributes, "target");
    const char *class = ath_xml_get(attributes, "tclass");

    (void)frame, (void)xml;
    if (!parent(nccl)->is_gpu)
        return;
    struct ath_nvlink *link = add_link(nccl, peer_kind_of(class ? class : ""));
    link->has_peer = target && !ath_pci_parse(target, &link->peer);
    link->count = (int)ath_xml_get_number(attributes, "count", UINT16_MAX, ATH_UNKNOWN);
}

/* NVLink-C2C to the GPU's own CPU (Grace). bw is the bandwidth of one link in MB/s
 * (NVML_FI_DEV_C2C_LINK_GET_MAX_BW). */
static void start_c2c(struct nccl *nccl, struct frame *frame, struct ath_xml *xml,
                      const char **attributes)
{
    int64_t bandwidth = ath_xml_get_number(attributes, "bw", INT32_MAX, ATH_UNKNOWN);

    (void)frame, (void)xml;
    if (!parent(nccl)->is_gpu)
        return;
    struct ath_nvlink *link = add_link(nccl, ATH_PEER_CPU);
    link->count = (int)ath_xml_get_number(attributes, "count", UINT16_MAX, ATH_UNKNOWN);
    if (bandwidth > 0 && link->count > 0)
        link->speed_mbps = bandwidth * 8 * link->count;
}

/* Adds a port below the function `above`. A `nic` directly in a `cpu` is not a PCI device, and
 * NCCL always puts it in the first `cpu`, so its node is unknown. */
static struct ath_nic *add_nic(struct nccl *nccl, struct frame *above, uint64_t guid)
{
    struct ath_nic *nic = ath_xml_add_nic(nccl->machine, &nccl->guids, guid);

    if (above->kind != PCI)
        return nic;
    above->is_nic = true;
    nic->numa_node = nccl->node;
    nic->has_pci = true;
    nic->pci = above->pci;
    nic->place = ath_xstrdup(above->own_place);
    nic->vendor_id = above->vendor_id;
    nic->device_id = above->device_id;
    nic->model = ath_xstrdup(ath_pci_name(above->vendor_id, above->device_id));
    return nic;
}

/* In Mb/s. The plugin for Slingshot cards writes 200000000 for 200 Gb/s, so values above 10 Tb/s
 * are ignored. */
enum { SPEED_MAX_MBPS = 10000000 };

/*
 * Adds a port. NCCL's InfiniBand transport counts ports from 1. Its socket transport writes port 0
 * and the link's name. "mlx5_0+mlx5_1" is a pair that NCCL fused, not a separate port.
 */
static void start_net(struct nccl *nccl, struct frame *frame, struct ath_xml *xml,
                      const char **attributes)
{
    const char *name = ath_xml_get(attributes, "name"), *guid = ath_xml_get(attributes, "guid");
    int port = (int)ath_xml_get_number(attributes, "port", UINT8_MAX, ATH_UNKNOWN);
    int64_t speed = ath_xml_get_number(attributes, "speed", SPEED_MAX_MBPS, 0);
    uint64_t card = 0;

    (void)frame, (void)xml;
    if (name && strchr(name, '+'))
        return;
    if (guid && port != 0)
        ath_parse_u64(guid, 16, &card);
    struct ath_nic *nic = add_nic(nccl, &nccl->frames[nccl->depth - 2], card);
    if (port == 0)
        nic->netdev = ath_xstrdup(name);
    else
        nic->rdma_device = ath_xstrdup(name);
    nic->port = port > 0 ? port : ATH_UNKNOWN;
    nic->speed_mbps = speed > 0 ? speed : ATH_UNKNOWN;
}

/* The file does not say what else is in a function's slot. */
static bool has_beside(const void *context, int vendor_id)
{
    (void)context, (void)vendor_id;
    return false;
}

/* A file may have the base class alone, "03" or "12": those are the classes of GPUs, then. */
static bool is_gpu(const struct frame *frame)
{
    const char *digits = !strcmp(frame->class, "03")   ? "0302"
                         : !strcmp(frame->class, "12") ? "1200"
                                                       : frame->class;
    ath_auto_free char *text = ath_xasprintf("%.4s", digits);
    uint64_t class;

    return strlen(text) == 4 && !ath_parse_u64(text, 16, &class) &&
           ath_gpu_is_one(frame->vendor_id, frame->device_id, (int)class, &frame->pci, has_beside,
                          NULL);
}

/* The class decides for a function without a child that names its kind. NCCL writes no other
 * devices. */
static void end_pci(struct nccl *nccl, struct frame *frame)
{
    if (frame->is_gpu || frame->is_nic)
        return;
    if (is_gpu(frame))
        add_gpu(nccl, frame);
    else if (ath_starts_with(frame->class, "02"))
        add_nic(nccl, frame, 0);
}

static const struct element {
    const char *name;
    enum kind kind;
    unsigned int parents; /* bits of enum kind */
    void (*start)(struct nccl *, struct frame *, struct ath_xml *, const char **);
    void (*end)(struct nccl *, struct frame *);
} elements[] = {
    { "system", SYSTEM, 1 << OUTSIDE, start_system, NULL },
    { "cpu", CPU, 1 << SYSTEM, start_cpu, NULL },
    { "pci", PCI, 1 << CPU | 1 << PCI, start_pci, end_pci },
    { "gpu", GPU, 1 << PCI, start_gpu, NULL },
    { "nvlink", LINK, 1 << GPU, start_link, NULL },
    { "xgmi", LINK, 1 << GPU, start_link, NULL },
    { "c2c", C2C, 1 << GPU, start_c2c, NULL },
    { "nic", NIC, 1 << CPU | 1 << PCI, NULL, NULL },
    { "net", NET, 1 << NIC, start_net, NULL },
};

static void on_start(void *state, struct ath_xml *xml, const char *name, const char **attributes)
{
    struct nccl *nccl = state;
    unsigned int above = 1U << nccl->frames[nccl->depth].kind;
    struct frame *frame = &nccl->frames[++nccl->depth];

    frame->kind = UNKNOWN; /* unknown elements are skipped, with everything inside */
    for (size_t i = 0; i < ATH_COUNT(elements); i++)
        if ((elements[i].parents & above) && !strcmp(elements[i].name, name)) {
            frame->kind = elements[i].kind;
            if (elements[i].start)
                elements[i].start(nccl, frame, xml, attributes);
            return;
        }
}

static void on_end(void *state, const char *name)
{
    struct nccl *nccl = state;
    struct frame *frame = &nccl->frames[nccl->depth];

    (void)name;
    for (size_t i = 0; i < ATH_COUNT(elements); i++)
        if (elements[i].kind == frame->kind && elements[i].end)
            elements[i].end(nccl, frame);
    frame_free(frame);
    nccl->depth--;
}

/* True if the file does not say which CPUs a node has. */
static bool lacks_cpus(const struct ath_machine *machine)
{
    for (size_t i = 0; i < machine->node_count; i++)
        if (!machine->nodes[i].cpus.range_count)
            return true;
    return false;
}

static int finish(void *state, const char *name, struct ath_err *err)
{
    struct nccl *nccl = state;
    struct ath_machine *machine = nccl->machine;

    if (!nccl->cpus)
        return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                           _("'%s' has no NUMA node (no element 'cpu')"), name);
    if (!machine->node_count) {
        node_of(machine, 0)->cpus = nccl->homeless;
        nccl->homeless = (struct ath_idset){ 0 };
        ath_warning_add_whole(machine, ATH_W_NO_NUMA_KERNEL, name);
    }
    ath_warning_add(machine, ATH_W_INCOMPLETE, name,
                    lacks_cpus(machine)
                        ? _("CPUs, memory, distances between NUMA nodes, speed of NVLinks")
                        : _("memory, distances between NUMA nodes, speed of NVLinks"),
                    NULL);
    ath_xml_nics_name_cards(machine, &nccl->guids);
    return 0;
}

const struct ath_xml_reader ath_nccl_xml_reader = {
    .root = "system",
    .open = open_nccl,
    .start = on_start,
    .end = on_end,
    .finish = finish,
    .close = close_nccl,
};
