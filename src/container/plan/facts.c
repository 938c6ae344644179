/* Reads the facts that plans need. */
#include "config.h"

#include "container/plan/facts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "roce/address.h"

void ath_plan_facts_free(struct ath_plan_facts *facts)
{
    if (!facts)
        return;
    ath_texts_free(&facts->devices);
    for (size_t i = 0; i < facts->verbs_count; i++) {
        free(facts->verbs[i].name);
        free(facts->verbs[i].rdma_device);
    }
    free(facts->verbs);
    free(facts->minors);
    ath_cdi_free(&facts->cdi);
    ath_libraries_free(&facts->libraries);
    for (size_t i = 0; i < facts->address_count; i++) {
        free(facts->addresses[i].link);
        free(facts->addresses[i].address);
    }
    free(facts->addresses);
    for (size_t i = 0; i < facts->cgroup_count; i++) {
        free(facts->cgroups[i].path);
        ath_idset_free(&facts->cgroups[i].memory_nodes);
    }
    free(facts->cgroups);
    *facts = (struct ath_plan_facts){ 0 };
}

/* --- device nodes */

static void add_devices(const struct ath_root *root, const char *folder, const char *prefix,
                        struct ath_plan_facts *out)
{
    char **names;
    size_t count;

    ath_root_list(root, folder, &names, &count);
    for (size_t i = 0; i < count; i++) {
        ath_auto_free char *path = ath_xasprintf("/%s/%s", folder, names[i]);
        if (ath_starts_with(names[i], prefix))
            ath_texts_add(&out->devices, path);
    }
    ath_names_free(names, count);
}

static void read_devices(const struct ath_root *root, struct ath_plan_facts *out)
{
    add_devices(root, "dev", "nvidia", out);
    add_devices(root, "dev/infiniband", "", out);
    out->knows_devices = root->is_live || out->devices.count > 0;
}

static void read_verbs(const struct ath_root *root, struct ath_plan_facts *out)
{
    static const char folder[] = "sys/class/infiniband_verbs";
    char **names;
    size_t count;

    out->knows_verbs = root->is_live || ath_root_exists(root, "%s", folder);
    ath_root_list(root, folder, &names, &count);
    for (size_t i = 0; i < count; i++) {
        int number;
        if (!ath_starts_with(names[i], "uverbs") ||
            ath_parse_int(names[i] + strlen("uverbs"), 0, INT_MAX, &number))
            continue; /* "abi_version" is a file beside them */
        char *device = ath_root_read(root, "%s/%s/ibdev", folder, names[i]);
        if (!device)
            continue;
        struct ath_plan_verbs *verbs = ath_push(&out->verbs, &out->verbs_count, sizeof *verbs);
        verbs->name = ath_xstrdup(names[i]);
        verbs->rdma_device = device;
    }
    ath_names_free(names, count);
}

/* Finds the line "Device Minor: \t 0". */
static int minor_in(const char *text)
{
    static const char key[] = "Device Minor:";
    const char *line = strstr(text, key);
    int minor;

    if (!line)
        return ATH_UNKNOWN;
    line += sizeof key - 1;
    line += strspn(line, " \t");
    ath_auto_free char *digits = ath_xasprintf("%.*s", (int)strcspn(line, " \t\r\n"), line);
    return ath_parse_int(digits, 0, INT_MAX, &minor) ? ATH_UNKNOWN : minor;
}

static void read_minors(const struct ath_root *root, const struct ath_machine *machine,
                        struct ath_plan_facts *out)
{
    for (size_t i = 0; i < machine->gpu_count; i++) {
        char pci[ATH_PCI_TEXT];
        ath_auto_free char *text = ath_root_read(root, "proc/driver/nvidia/gpus/%s/information",
                                                 ath_pci_format(&machine->gpus[i].pci, pci));
        int minor = text ? minor_in(text) : ATH_UNKNOWN;
        if (minor == ATH_UNKNOWN)
            continue;
        struct ath_plan_minor *added = ath_push(&out->minors, &out->minor_count, sizeof *added);
        *added = (struct ath_plan_minor){ machine->gpus[i].pci, minor };
    }
}

/* --- addresses */

static void add_address(struct ath_plan_facts *out, const char *link, const char *address)
{
    if (ath_plan_facts_address(out, link))
        return;
    struct ath_plan_address *added = ath_push(&out->addresses, &out->address_count, sizeof *added);
    added->link = ath_xstrdup(link);
    added->address = ath_xstrdup(address);
}

static void add_live(const struct ifaddrs *item, int family, struct ath_plan_facts *out)
{
    char text[INET6_ADDRSTRLEN];

    if (!item->ifa_addr || item->ifa_addr->sa_family != family)
        return;
    if (family == AF_INET) {
        const struct sockaddr_in *address = (const void *)item->ifa_addr;
        inet_ntop(family, &address->sin_addr, text, sizeof text);
    } else {
        const struct sockaddr_in6 *address = (const void *)item->ifa_addr;
        if (IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr))
            return; /* useless without its link */
        inet_ntop(family, &address->sin6_addr, text, sizeof text);
    }
    add_address(out, item->ifa_name, text);
}

/* Takes the first address of each link, IPv4 before IPv6. */
static void read_live_addresses(struct ath_plan_facts *out)
{
    struct ifaddrs *list = NULL;

    if (getifaddrs(&list))
        return;
    out->knows_addresses = true;
    for (const struct ifaddrs *item = list; item; item = item->ifa_next)
        add_live(item, AF_INET, out);
    for (const struct ifaddrs *item = list; item; item = item->ifa_next)
        add_live(item, AF_INET6, out);
    freeifaddrs(list);
}

/* The link of an address is the one with a matching subnet; the routing table does not name it. */
static void add_captured(const struct ath_machine *machine, const char *text,
                         struct ath_plan_facts *out)
{
    ath_auto_free char *host = ath_xasprintf("%s/32", text);
    struct ath_address address, subnet;

    if (ath_address_parse(host, &address, NULL))
        return;
    for (size_t i = 0; i < machine->nic_count; i++)
        for (size_t j = 0; j < machine->nics[i].subnet_count; j++)
            if (machine->nics[i].netdev &&
                !ath_address_parse(machine->nics[i].subnets[j], &subnet, NULL) &&
                ath_address_is_within(&address, &subnet))
                add_address(out, machine->nics[i].netdev, text);
}

/* In proc/net/fib_trie (net/ipv4/fib_trie.c, fib_trie_seq_show) own addresses are leaves, "|-- A",
 * followed by a line "/32 host LOCAL". */
static void read_captured_addresses(const struct ath_root *root, const struct ath_machine *machine,
                                    struct ath_plan_facts *out)
{
    ath_auto_free char *text = ath_root_read(root, "proc/net/fib_trie");
    ath_auto_free char *leaf = NULL;
    char *rest = text;

    out->knows_addresses = text != NULL;
    for (char *line; text && (line = strsep(&rest, "\n"));) {
        const char *mark = strstr(line, "|-- ");
        if (mark) {
            free(leaf);
            leaf = ath_xstrdup(mark + 4);
        } else if (leaf && strstr(line, "/32 host LOCAL")) {
            add_captured(machine, leaf, out);
        }
    }
}

/* --- cgroups */

/* The parents of Docker's containers (driver cgroupfs: docker/; driver systemd: system.slice/), for
 * versions 1 and 2. In version 1 a child keeps the nodes that its parent had when the child was
 * made, which is before the GPUs' memory came online (IBM/powerai issue 125). */
static const char *const cgroup_files[] = {
    "sys/fs/cgroup/cpuset/docker/cpuset.mems",
    "sys/fs/cgroup/cpuset/system.slice/cpuset.mems",
    "sys/fs/cgroup/docker/cpuset.mems.effective",
    "sys/fs/cgroup/system.slice/cpuset.mems.effective",
};

static void read_cgroups(const struct ath_root *root, struct ath_plan_facts *out)
{
    if (ath_root_exists(root, "sys/fs/cgroup/cgroup.controllers"))
        out->cgroup_version = 2;
    else if (ath_root_exists(root, "sys/fs/cgroup/cpuset"))
        out->cgroup_version = 1;
    for (size_t i = 0; i < ATH_COUNT(cgroup_files); i++) {
        ath_auto_free char *text = ath_root_read(root, "%s", cgroup_files[i]);
        struct ath_idset nodes = { 0 };
        if (!text || !*text || ath_idset_parse_list(text, &nodes))
            continue; /* an empty file was never set, and has no children yet */
        struct ath_plan_cgroup *added = ath_push(&out->cgroups, &out->cgroup_count, sizeof *added);
        added->path = ath_xasprintf("/%s", cgroup_files[i]);
        added->memory_nodes = nodes;
    }
}

void ath_plan_facts_read(const struct ath_root *root, const struct ath_machine *machine,
                         struct ath_plan_facts *out)
{
    *out = (struct ath_plan_facts){ .cgroup_version = ATH_UNKNOWN };
    if (!root)
        return;
    read_devices(root, out);
    read_verbs(root, out);
    read_minors(root, machine, out);
    ath_cdi_read(root, &out->cdi);
    ath_libraries_read(root, machine->arch, &out->libraries);
    out->has_nvidia_hook = ath_root_exists(root, "usr/bin/nvidia-container-runtime-hook") ||
                           ath_root_exists(root, "usr/bin/nvidia-container-toolkit");
    if (root->is_live)
        read_live_addresses(out);
    else
        read_captured_addresses(root, machine, out);
    read_cgroups(root, out);
    out->rdma_netns_mode = ath_rdma_netns_mode_read(root);
}

const char *ath_plan_facts_address(const struct ath_plan_facts *facts, const char *link)
{
    for (size_t i = 0; link && i < facts->address_count; i++)
        if (!strcmp(facts->addresses[i].link, link))
            return facts->addresses[i].address;
    return NULL;
}

const char *ath_plan_facts_verbs(const struct ath_plan_facts *facts, const char *rdma_device)
{
    for (size_t i = 0; i < facts->verbs_count; i++)
        if (!strcmp(facts->verbs[i].rdma_device, rdma_device))
            return facts->verbs[i].name;
    return NULL;
}

int ath_plan_facts_minor(const struct ath_plan_facts *facts, const struct ath_pci *pci)
{
    for (size_t i = 0; i < facts->minor_count; i++)
        if (ath_pci_equals(&facts->minors[i].pci, pci))
            return facts->minors[i].minor;
    return ATH_UNKNOWN;
}

bool ath_plan_facts_may_have(const struct ath_plan_facts *facts, const char *device)
{
    return ath_texts_has(&facts->devices, device) || !facts->knows_devices;
}
