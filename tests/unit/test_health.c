/*
 * Each check of health against made-up facts: a world in which all is well, with one fault put into
 * it. The findings are compared as a whole, so that no second check can report the same fault.
 */
#include "config.h"

#include "health/health.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "documents.h"
#include "health/check_runtime.h"
#include "numa/warning.h"
#include "tree.h"
#include "unit.h"

#define HEAD "schema: aitherion.topology/1\n"
#define ENTRY                                                                                      \
    "numa:\n"                                                                                      \
    "  - { id: 0, node: 0, memory_nodes: [0, 3, 254], gpus: [\"0004:04:00.0\"],\n"                 \
    "      control_iface: eth0, data_iface: ens1, rdma_devices: [mlx5_0],\n"                       \
    "      control_port: 50051, data_port: 5555 }\n"
#define MACVLAN                                                                                    \
    "    - { name: mv0, parent: ens1, mode: bridge, numa: 0, address: 192.168.100.10/24, mtu: "    \
    "9000 }\n"
#define ROCE                                                                                       \
    "roce:\n"                                                                                      \
    "  cards:\n"                                                                                   \
    "    - { pci: \"0003:01:00.0\", numa: [0] }\n"                                                 \
    "  macvlans:\n"

static struct ath_machine machine;
static struct ath_document document;
static struct ath_faults faults;
static struct ath_health_facts facts;
static struct ath_health_report report;

/* ---- a world in which all is well ---- */

static void add_node(int id, bool has_cpus)
{
    struct ath_numa_node *node = ath_machine_add_node(&machine, id);
    node->is_online = true;
    node->memory_total_bytes = node->memory_free_bytes = 1LL << 34;
    if (has_cpus)
        ath_idset_add(&node->cpus, 0, 7);
}

static void add_gpu(const char *pci)
{
    struct ath_pci address;
    ck_assert_int_eq(ath_pci_parse(pci, &address), 0);
    struct ath_gpu *gpu = ath_machine_add_gpu(&machine, &address);
    gpu->vendor_id = ATH_VENDOR_NVIDIA;
    gpu->numa_node = 0;
    gpu->knows_driver = true;
    gpu->driver = ath_xstrdup("nvidia");
    gpu->memory_node = 254;
    gpu->memory_state = ATH_MEMORY_ONLINE;
    gpu->has_nvlinks = true;
    gpu->facts.has_answers = true;
}

static void add_nic(const char *pci, const char *netdev)
{
    struct ath_nic *nic = ath_machine_add_nic(&machine);
    nic->has_pci = !ath_pci_parse(pci, &nic->pci);
    nic->netdev = ath_xstrdup(netdev);
    nic->link = ATH_LINK_UP;
    nic->link_layer = ATH_LAYER_ETHERNET;
    nic->mtu = 9000;
}

static void make_machine(void)
{
    add_node(0, true);
    add_node(3, false);
    add_node(254, false);
    add_gpu("0004:04:00.0");
    add_nic("0005:01:00.0", "eth0");
    add_nic("0003:01:00.0", "ens1");
    machine.nics[1].rdma_device = ath_xstrdup("mlx5_0");
    machine.nics[1].port = 1;
    machine.source = ATH_SOURCE_LIVE;
    ath_machine_finish(&machine);
    ck_assert_uint_eq(machine.warning_count, 0);
}

static struct ath_link *add_link(size_t place, const char *name, int index, const char *address)
{
    struct ath_links *links = &facts.net.places[place].links;
    struct ath_link *link = ath_push(&links->items, &links->count, sizeof *link);
    struct ath_err err;
    snprintf(link->name, sizeof link->name, "%s", name);
    link->index = index;
    link->type = ATH_LINK_ETHERNET;
    link->parent_index = link->parent_netns = link->master_index = link->macvlan_mode = ATH_UNKNOWN;
    link->mtu = 9000;
    link->is_up = true;
    link->state = ATH_LINK_UP;
    if (address) {
        struct ath_address *item = ath_push(&link->addresses, &link->address_count, sizeof *item);
        ck_assert_int_eq(ath_address_parse(address, item, &err), 0);
        item->is_permanent = true;
    }
    return link;
}

static void add_place(const char *name, const char *path)
{
    struct ath_netstate_place *place = ath_push(&facts.net.places, &facts.net.count, sizeof *place);
    place->name = ath_xstrdup(name);
    place->path = ath_xstrdup(path);
}

static void make_net(void)
{
    add_place(NULL, NULL);
    add_link(0, "lo", 1, "127.0.0.1/8");
    add_link(0, "eth0", 2, "10.0.0.5/24");
    add_link(0, "ens1", 3, "192.168.100.1/24");
    add_place("aitherion-mv0", "/run/netns/aitherion-mv0");
    add_link(1, "lo", 1, NULL)->alias = ath_xstrdup("aitherion:mv0");
    struct ath_link *link = add_link(1, "mv0", 40, "192.168.100.10/24");
    link->kind = ath_xstrdup("macvlan");
    link->alias = ath_xstrdup("aitherion:mv0");
    link->parent_index = 3;
    link->parent_netns = 0;
    link->macvlan_mode = ATH_MACVLAN_BRIDGE;
    facts.has_net = facts.sees_all_namespaces = true;
}

static void make_port(void)
{
    struct ath_health_port *port = ath_push(&facts.ports, &facts.port_count, sizeof *port);
    port->device = ath_xstrdup("mlx5_0");
    port->port = 1;
    port->state = ATH_RDMA_PORT_ACTIVE;
    port->link_layer = ATH_LAYER_ETHERNET;
    port->netdev = ath_xstrdup("ens1");
    port->has_gid = true;
    port->gid.index = 3;
    facts.has_ports = true;
    facts.netns_mode = ATH_RDMA_NETNS_SHARED;
    facts.has_memlock = true;
    facts.memlock_bytes = INT64_MAX;
}

/* ---- runtimes ---- */

static struct ath_health_runtime *the_runtime(void)
{
    return &facts.runtimes.items[0];
}

static struct ath_node_status *the_status(void)
{
    return &facts.runtimes.statuses.items[0];
}

static void make_wanted(void)
{
    struct ath_plan *plan = &facts.runtimes.plan;
    struct ath_plan_node *node = ath_push(&plan->nodes, &plan->node_count, sizeof *node);
    ath_idset_add(&node->cpus, 0, 7);
    ath_idset_add(&node->memory_nodes, 0, 0);
    ath_idset_add(&node->memory_nodes, 254, 254);
    node->has_memlock = true;
    facts.runtimes.has_planned = true;
}

static void make_runtime(void)
{
    struct ath_health_runtimes *runtimes = &facts.runtimes;
    struct ath_node_status *status =
        ath_push(&runtimes->statuses.items, &runtimes->statuses.count, sizeof *status);
    struct ath_health_runtime *runtime =
        ath_push(&runtimes->items, &runtimes->count, sizeof *runtime);

    make_wanted();
    runtimes->is_known = runtimes->has_key = runtimes->needs_image = true;
    runtimes->has_certificate = true;
    status->engine = "docker";
    status->state = ATH_NODE_RUNNING;
    status->cpus = ath_xstrdup("0-7");
    status->memory_nodes = ath_xstrdup("0,254");
    status->memlock_bytes = INT64_MAX;
    struct ath_node_macvlan *macvlan =
        ath_push(&status->macvlans, &status->macvlan_count, sizeof *macvlan);
    macvlan->name = ath_xstrdup("mv0");
    macvlan->is_there = 1;
    runtime->is_recorded = true;
    runtime->status = status;
    runtime->wanted = &runtimes->plan.nodes[0];
    runtime->local.answer = runtime->network.answer = ATH_ANSWER_FINE;
    runtime->local.server = ath_xstrdup("unix:/run/aitherion/numa0/runtime.sock");
    runtime->network.server = ath_xstrdup("10.0.0.5:50051");
}

static void use_document(const char *text)
{
    ath_document_free(&document);
    parse_good(text, &document);
    facts.document = &document;
    facts.document_path = "t.yaml";
}

/* Figures without a value: that there is a measurement is all that the checks ask. */
static void make_measured(void)
{
    size_t count = machine.gpu_count * machine.gpu_count;
    machine.measured = ath_xalloc(count * sizeof *machine.measured);
    for (size_t i = 0; i < count; i++)
        machine.measured[i] = (struct ath_measured){ ATH_UNKNOWN, ATH_UNKNOWN };
}

static void setup(void)
{
    make_machine();
    make_measured();
    facts.machine = &machine;
    facts.is_live = true;
    make_net();
    make_port();
    make_runtime();
    use_document(HEAD ENTRY ROCE MACVLAN "identities:\n  - { name: alice, share: 100 }\n");
}

static void teardown(void)
{
    ath_health_report_free(&report);
    ath_health_facts_free(&facts);
    ath_document_free(&document);
    ath_faults_free(&faults);
    ath_machine_free(&machine);
}

static struct ath_link *link_of(const char *name)
{
    for (size_t i = 0; i < facts.net.count; i++)
        for (size_t j = 0; j < facts.net.places[i].links.count; j++)
            if (!strcmp(facts.net.places[i].links.items[j].name, name))
                return &facts.net.places[i].links.items[j];
    ck_abort_msg("no link '%s'", name);
}

static void drop_link(const char *name)
{
    struct ath_link *link = link_of(name);
    for (size_t i = 0; i < facts.net.count; i++) {
        struct ath_links *links = &facts.net.places[i].links;
        if (link < links->items || link >= links->items + links->count)
            continue;
        ath_link_free(link);
        *link = links->items[--links->count];
    }
}

static void drop_address(const char *name)
{
    link_of(name)->address_count = 0;
}

/* ---- findings ---- */

/* Returns "CODE STATUS OBJECT" of all findings that are not fine, one a line; the caller frees
 * it. */
static char *found(void)
{
    struct ath_text text = { 0 };
    ath_health_report_free(&report);
    ath_health_run(&facts, &report);
    for (size_t i = 0; i < report.count; i++) {
        const struct ath_health_finding *finding = &report.findings[i];
        if (finding->status != ATH_HEALTH_OK)
            ath_text_add(&text, "%s %s %s\n", finding->check->code,
                         ath_health_status_word(finding->status),
                         finding->object ? finding->object : "-");
    }
    return ath_text_take(&text);
}

static const struct ath_health_finding *finding_of(const char *code)
{
    for (size_t i = 0; i < report.count; i++)
        if (!strcmp(report.findings[i].check->code, code))
            return &report.findings[i];
    return NULL;
}

/* ---- faults put into the world ---- */

static void no_document(void)
{
    facts.document = NULL;
    ath_err_set(&facts.document_err, -ENOENT, ATH_E_DOCUMENT_MISSING, "there is none");
    ath_err_hint(&facts.document_err, -ENOENT, "aitherion init");
}

static void unreadable_document(void)
{
    facts.document = NULL;
    ath_err_set(&facts.document_err, -EACCES, ATH_E_NO_ACCESS, "cannot read it");
}

static void faulty_document(void)
{
    facts.document = NULL;
    ath_faults_add(&faults, ATH_FAULT_KEY_UNKNOWN, 0, "no key 'x'");
    ath_faults_place(&faults, "t.yaml", "x: 1\n", 5);
    facts.document_faults = &faults;
}

static void other_node(void)
{
    use_document(HEAD "numa:\n  - { id: 0, node: 7, control_port: 1, data_port: 2 }\n");
}

static void memory_node(void)
{
    use_document(HEAD "numa:\n  - { id: 0, node: 3, control_port: 1, data_port: 2 }\n");
}

static void node_offline(void)
{
    ath_machine_node(&machine, 3)->is_online = false;
}

static void other_gpu(void)
{
    use_document(HEAD "numa:\n  - { id: 0, node: 0, gpus: [\"0009:01:00.0\"], control_port: 1, "
                      "data_port: 2 }\n");
}

static void gpu_elsewhere(void)
{
    machine.gpus[0].numa_node = 8;
}

static void short_memory(void)
{
    use_document(HEAD "numa:\n  - { id: 0, node: 0, memory_nodes: [0], gpus: [\"0004:04:00.0\"], "
                      "control_port: 1, data_port: 2 }\n");
}

static void gpu_twice(void)
{
    use_document(HEAD "numa:\n"
                      "  - { id: 0, node: 0, memory_nodes: [0, 254], gpus: [\"0004:04:00.0\"], "
                      "control_port: 1, data_port: 2 }\n"
                      "  - { id: 1, node: 0, memory_nodes: [0, 254], gpus: [\"0004:04:00.0\"], "
                      "control_port: 3, data_port: 4 }\n");
}

static void too_many_shares(void)
{
    use_document(HEAD "numa: []\nidentities:\n"
                      "  - { name: alice, share: 60 }\n"
                      "  - { name: bob, share: 60 }\n");
}

static void cpus_offline(void)
{
    ath_machine_node(&machine, 0)->has_cpus_online = true;
}

/* Only the memory of the GPU is left. */
static void memory_of_gpus_alone(void)
{
    ath_machine_node(&machine, 0)->memory_total_bytes = 0;
    ath_machine_node(&machine, 3)->memory_total_bytes = 0;
}

static void other_vendor(void)
{
    machine.gpus[0].vendor_id = ATH_VENDOR_AMD;
}

static void warn_again(void)
{
    machine.warning_count = 0;
    ath_warnings_check(&machine);
}

static void driver_gone(void)
{
    free(machine.gpus[0].driver);
    machine.gpus[0].driver = NULL;
    warn_again();
}

static void gpu_lost(void)
{
    machine.gpus[0].is_lost = true;
    warn_again();
}

/* The document has node 254, which may be the GPU's memory. */
static void owner_unknown(void)
{
    machine.profile = "ac922";
    machine.gpus[0].memory_node = ATH_UNKNOWN;
    ath_machine_finish(&machine);
}

/* The GPU's driver is not loaded, and the node of its memory is gone: no fault of the document. */
static void driver_and_node_gone(void)
{
    machine.profile = "ac922";
    machine.node_count--;
    machine.gpus[0].memory_node = ATH_UNKNOWN;
    driver_gone();
}

static void no_card(void)
{
    machine.nics[0].pci.domain = 77;
}

static void gpu_memory_unknown(void)
{
    machine.gpus[0].memory_state = ATH_MEMORY_UNKNOWN;
}

static void no_control(void)
{
    drop_link("eth0");
}

/* Each interface of a list is looked at. */
static void no_second_data(void)
{
    use_document(HEAD
                 "numa:\n"
                 "  - { id: 0, node: 0, memory_nodes: [0, 3, 254], gpus: [\"0004:04:00.0\"],\n"
                 "      control_iface: eth0, data_iface: [ens1, eth9], rdma_devices: [mlx5_0],\n"
                 "      control_port: 50051, data_port: 5555 }\n" ROCE MACVLAN);
}

static void control_down(void)
{
    link_of("eth0")->state = ATH_LINK_DOWN;
    link_of("eth0")->is_up = false;
}

static void no_carrier(void)
{
    link_of("eth0")->state = ATH_LINK_DOWN;
}

static void control_without_address(void)
{
    drop_address("eth0");
}

static void only_link_local(void)
{
    link_of("eth0")->addresses[0].is_link_local = true;
}

/* The macvlan has its own address. */
static void parent_without_address(void)
{
    drop_address("ens1");
}

/* A macvlan without a runtime; another check reports on those of runtimes. */
static void link_gone(void)
{
    ath_health_runtimes_free(&facts.runtimes);
    drop_link("mv0");
}

/* Neither the link nor its namespace exists. */
static void not_made(void)
{
    drop_link("mv0");
    facts.net.places[1].name[0] = 'x';
}

static void data_without_address(void)
{
    use_document(HEAD ENTRY);
    not_made();
    drop_address("ens1");
}

/* The bond above the interface has an address. */
static void address_on_the_bond(void)
{
    add_link(0, "bond0", 9, "10.0.0.5/24");
    link_of("eth0")->master_index = 9;
    drop_address("eth0");
}

static void duplicate_address(void)
{
    link_of("eth0")->addresses[0].is_duplicate = true;
}

static void infiniband_parent(void)
{
    link_of("ens1")->type = ATH_LINK_INFINIBAND;
}

static void small_parent(void)
{
    link_of("ens1")->mtu = 1500;
    link_of("mv0")->mtu = 1500;
}

static void no_rdma(void)
{
    strcpy(facts.ports[0].device, "mlx5_9");
}

static void port_down(void)
{
    facts.ports[0].state = ATH_RDMA_PORT_DOWN;
}

static void port_unknown(void)
{
    facts.ports[0].state = ATH_RDMA_PORT_UNKNOWN;
}

static void no_gid(void)
{
    facts.ports[0].has_gid = false;
    facts.ports[0].lack = ATH_LACK_ADDRESS;
}

static void no_gid_table(void)
{
    facts.ports[0].has_gid = false;
    facts.ports[0].lack = ATH_LACK_UNKNOWN;
}

static void tentative(void)
{
    link_of("ens1")->addresses[0].is_tentative = true;
}

static void exclusive(void)
{
    facts.netns_mode = ATH_RDMA_NETNS_EXCLUSIVE;
}

static void mode_unknown(void)
{
    facts.netns_mode = ATH_RDMA_NETNS_UNKNOWN;
}

static void little_memlock(void)
{
    facts.memlock_bytes = 65536;
}

static void hidden(void)
{
    not_made();
    facts.sees_all_namespaces = false;
}

static void net_unreadable(void)
{
    facts.has_net = false;
    ath_netstate_free(&facts.net);
    ath_err_set(&facts.net_err, -EPERM, ATH_E_NO_ACCESS, "not allowed");
}

static void drifted(void)
{
    link_of("mv0")->mtu = 1500;
    drop_address("mv0");
}

static void address_taken(void)
{
    add_link(0, "eth9", 11, "192.168.100.10/24");
}

static void unrecorded(void)
{
    use_document(HEAD ENTRY);
}

static void address_twice(void)
{
    use_document(HEAD ENTRY ROCE MACVLAN
                 "    - { name: mv1, parent: eth0, mode: bridge, address: 192.168.100.10/24 }\n");
}

static void data_over_lo(void)
{
    use_document(HEAD "numa:\n  - { id: 0, node: 0, control_port: 1, data_port: 2, "
                      "control_iface: lo, data_iface: lo }\n");
}

static void address_of_the_network(void)
{
    use_document(HEAD ENTRY ROCE "    - { name: mv0, parent: ens1, mode: bridge, numa: 0, address: "
                                 "192.168.100.0/24 }\n");
}

static void host_link_without_address(void)
{
    use_document(HEAD ENTRY ROCE
                 "    - { name: mv0, parent: ens1, mode: bridge, numa: 0, mtu: 9000, host_link: "
                 "true }\n");
}

/* ---- faults of runtimes ---- */

static void docker_down(void)
{
    facts.runtimes.docker_status = -ECONNREFUSED;
    ath_err_set(&facts.runtimes.docker_err, -ECONNREFUSED, ATH_E_ENGINE_UNREACHABLE, "nobody");
    ath_err_hint(&facts.runtimes.docker_err, -ECONNREFUSED, "start it");
}

static void docker_denied(void)
{
    facts.runtimes.docker_status = -EACCES;
    ath_err_set(&facts.runtimes.docker_err, -EACCES, ATH_E_ENGINE_DENIED, "not for you");
}

static void key_unreadable(void)
{
    facts.runtimes.key_status = -EACCES;
    ath_err_set(&facts.runtimes.key_err, -EACCES, ATH_E_NO_ACCESS, "cannot read it");
    the_runtime()->local.answer = the_runtime()->network.answer = ATH_ANSWER_NOT_ASKED;
}

static void key_open(void)
{
    facts.runtimes.open_key = ath_xstrdup("/etc/aitherion/key");
}

static void certificate_fails(enum ath_error code)
{
    facts.runtimes.certificate_status = -EINVAL;
    ath_err_set(&facts.runtimes.certificate_err, -EINVAL, code, "it is old");
    ath_err_hint(&facts.runtimes.certificate_err, -EINVAL, "renew it");
}

static void certificate_expired(void)
{
    certificate_fails(ATH_E_CERTIFICATE);
}

static void certificate_closed(void)
{
    certificate_fails(ATH_E_NO_ACCESS);
}

static void certificate_expires(void)
{
    certificate_fails(ATH_E_CERTIFICATE);
    facts.runtimes.certificate_soon = facts.runtimes.certificate_status;
    facts.runtimes.certificate_status = 0;
}

static void image_gone(void)
{
    facts.runtimes.image_status = -ENOENT;
    ath_err_set(&facts.runtimes.image_err, -ENOENT, ATH_E_IMAGE_MISSING, "no image");
    ath_err_hint(&facts.runtimes.image_err, -ENOENT, "aitherion image build");
}

static void plan_refuses(enum ath_fault_code fault)
{
    static const char text[] = "x:\n    y: 1\n";
    ath_faults_add(&facts.runtimes.plan_faults, fault, strcspn(text, "y"), "it does not fit");
    ath_faults_place(&facts.runtimes.plan_faults, "t.yaml", text, strlen(text));
}

static void no_device(void)
{
    plan_refuses(ATH_FAULT_DEVICE_MISSING);
}

static void little_memory(void)
{
    plan_refuses(ATH_FAULT_MEMORY_SMALL);
}

static void no_bridge(void)
{
    plan_refuses(ATH_FAULT_BRIDGE_MISSING);
}

static void plan_warns(enum ath_plan_warning_code code, const char *object)
{
    struct ath_plan_node *node = &facts.runtimes.plan.nodes[0];
    struct ath_plan_warning *warning =
        ath_push(&node->warnings, &node->warning_count, sizeof *warning);
    warning->code = code;
    warning->object = ath_xstrdup(object);
    warning->message = ath_xstrdup("doubtful");
}

static void short_cgroup(void)
{
    plan_warns(ATH_PLAN_W_CGROUP_MEMS_SHORT, "/sys/fs/cgroup/cpuset/docker/cpuset.mems");
}

static void no_driver(void)
{
    plan_warns(ATH_PLAN_W_GPU_DRIVER_MISSING, NULL);
}

static void without_gpus(void)
{
    plan_warns(ATH_PLAN_W_NO_GPUS, NULL);
}

static void stale_cdi(void)
{
    plan_warns(ATH_PLAN_W_GPU_CDI_STALE, "0004:04:00.0");
}

static void promised_twice(void)
{
    plan_warns(ATH_PLAN_W_OVERCOMMITTED, NULL);
}

static void not_started(void)
{
    the_runtime()->status = NULL;
}

static void was_stopped(void)
{
    the_status()->state = ATH_NODE_STOPPED;
}

static void has_crashed(void)
{
    the_status()->state = ATH_NODE_STOPPED;
    the_status()->problem = ath_xstrdup("it ended with exit code 1");
}

static void crashes(void)
{
    the_status()->state = ATH_NODE_RESTARTING;
    the_runtime()->local.answer = the_runtime()->network.answer = ATH_ANSWER_SILENT;
}

static void hangs(void)
{
    the_status()->state = ATH_NODE_UNHEALTHY;
    the_runtime()->local.answer = ATH_ANSWER_SILENT;
    the_runtime()->network.answer = ATH_ANSWER_NOT_ASKED;
}

static void macvlan_lost(void)
{
    the_status()->macvlans[0].is_there = 0;
}

static void pause_ended(void)
{
    the_status()->state = ATH_NODE_LOST_NETWORK;
    the_runtime()->network.answer = ATH_ANSWER_SILENT;
}

static void silent(void)
{
    the_runtime()->local.answer = the_runtime()->network.answer = ATH_ANSWER_SILENT;
}

static void port_blocked(void)
{
    the_runtime()->network.answer = ATH_ANSWER_SILENT;
}

static void other_key(void)
{
    the_runtime()->local.answer = the_runtime()->network.answer = ATH_ANSWER_REFUSED;
}

static void add_problem(bool is_fault)
{
    struct ath_health_runtime *runtime = the_runtime();
    struct ath_health_problem *problem =
        ath_push(&runtime->problems, &runtime->problem_count, sizeof *problem);
    problem->is_fault = is_fault;
    problem->code = ath_xstrdup("no-devices");
    problem->message = ath_xstrdup("there is no GPU");
}

static void runtime_fault(void)
{
    add_problem(true);
}

static void runtime_remark(void)
{
    add_problem(false);
}

static void replace(char **text, const char *other)
{
    free(*text);
    *text = ath_xstrdup(other);
}

static void short_mems(void)
{
    replace(&the_status()->memory_nodes, "0");
}

static void other_cpus(void)
{
    replace(&the_status()->cpus, "0-15");
}

static void limited_memlock(void)
{
    the_status()->memlock_bytes = 65536;
}

static void another_plan(void)
{
    the_runtime()->drift = ath_xstrdup("started with other settings");
}

/* The document that started it says how it should run, so other checks have nothing to say. */
static void another_document(void)
{
    the_runtime()->other = "/etc/other.yaml";
    the_runtime()->is_recorded = false;
    other_key();
    another_plan();
    the_status()->memlock_bytes = 65536;
}

static void nobodys(void)
{
    the_runtime()->is_recorded = false;
}

static const struct {
    const char *code; /* the check that the case tests */
    void (*spoil)(void);
    const char *expected; /* NULL: only the code of the finding is compared */
} cases[] = {
    { "document-missing", no_document, "document-missing fault t.yaml\n" },
    { "document-missing", unreadable_document, "document-missing unknown t.yaml\n" },
    { "document-invalid", faulty_document, "document-invalid fault t.yaml:1:1\n" },
    { "node-missing", other_node,
      "node-missing fault topology.yaml:3:20\n"
      "macvlan-unrecorded warning mv0\n" },
    { "node-without-cpus", memory_node,
      "node-without-cpus fault topology.yaml:3:20\n"
      "macvlan-unrecorded warning mv0\n" },
    { "node-offline", node_offline, "node-offline fault node 3\n" },
    { "node-cpus-offline", cpus_offline, "node-cpus-offline fault topology.yaml:3:20\n" },
    { "memory-missing", memory_of_gpus_alone, "memory-missing fault topology.yaml:3:37\n" },
    { "gpu-vendor", other_vendor, "gpu-vendor fault topology.yaml:3:57\n" },
    { "gpu-without-driver", driver_gone, "gpu-without-driver fault 0004:04:00.0\n" },
    { "gpu-without-driver", driver_and_node_gone, "gpu-without-driver fault 0004:04:00.0\n" },
    { "gpu-lost", gpu_lost, "gpu-lost fault 0004:04:00.0\n" },
    { "gpu-memory-unknown", owner_unknown, "gpu-memory-unknown warning 0004:04:00.0\n" },
    { "gpu-missing", other_gpu,
      "gpu-missing fault topology.yaml:3:30\n"
      "macvlan-unrecorded warning mv0\n" },
    { "gpu-other-node", gpu_elsewhere, "gpu-other-node fault topology.yaml:3:57\n" },
    { "gpu-memory-left-out", short_memory,
      "gpu-memory-left-out fault topology.yaml:3:49\n"
      "macvlan-unrecorded warning mv0\n" },
    { "gpu-twice", gpu_twice, NULL },
    { "shares-above-100", too_many_shares,
      "shares-above-100 warning topology.yaml:5:25\n"
      "macvlan-unrecorded warning mv0\n" },
    { "card-missing", no_card, "card-missing fault topology.yaml:8:14\n" },
    { "gpu-memory-offline", gpu_memory_unknown, "gpu-memory-offline unknown 0004:04:00.0\n" },
    { "interface-missing", no_control, "interface-missing fault eth0\n" },
    { "interface-missing", no_second_data, "interface-missing fault eth9\n" },
    { "interface-down", control_down, "interface-down fault eth0\n" },
    { "interface-down", no_carrier, "interface-down fault eth0\n" },
    { "interface-without-address", control_without_address,
      "interface-without-address fault eth0\n" },
    { "interface-without-address", only_link_local, "interface-without-address fault eth0\n" },
    { "interface-without-address", data_without_address, "interface-without-address fault ens1\n" },
    { "address-duplicate", duplicate_address, "address-duplicate fault eth0\n" },
    { "parent-infiniband", infiniband_parent, "parent-infiniband fault ens1\n" },
    { "mtu-above-parent", small_parent, "mtu-above-parent fault ens1\n" },
    { "rdma-device-missing", no_rdma, "rdma-device-missing fault mlx5_0\n" },
    { "rdma-port-down", port_down, "rdma-port-down fault mlx5_0\n" },
    { "rdma-port-down", port_unknown, "rdma-port-down unknown mlx5_0\n" },
    { "gid-unusable", no_gid, "gid-unusable fault mlx5_0\n" },
    { "gid-unusable", no_gid_table, "gid-unusable unknown mlx5_0\n" },
    { "rdma-not-ready", tentative, "rdma-not-ready warning mlx5_0\n" },
    { "rdma-netns-exclusive", exclusive, "rdma-netns-exclusive fault -\n" },
    { "rdma-netns-exclusive", mode_unknown, "rdma-netns-exclusive unknown -\n" },
    { "memlock-low", little_memlock, "memlock-low warning -\n" },
    { "macvlan-not-made", not_made, "macvlan-not-made warning mv0\n" },
    { "macvlan-not-made", hidden, "macvlan-not-made unknown mv0\n" },
    { "macvlan-not-made", net_unreadable, NULL },
    { "macvlan-gone", link_gone, "macvlan-gone fault mv0\n" },
    { "macvlan-drift", drifted, "macvlan-drift warning mv0\n" },
    { "macvlan-impossible", address_taken, "macvlan-impossible fault mv0\n" },
    { "macvlan-unrecorded", unrecorded, "macvlan-unrecorded warning mv0\n" },
    { "interface-loopback", data_over_lo,
      "interface-loopback fault topology.yaml:3:85\n"
      "macvlan-unrecorded warning mv0\n" },
    { "address-unfit", address_of_the_network, NULL },
    { "address-twice", address_twice, NULL },
    { "host-link", host_link_without_address, NULL },
    { "engine-unreachable", docker_down, "engine-unreachable fault docker\n" },
    { "engine-unreachable", docker_denied, "engine-unreachable unknown docker\n" },
    { "key-unreadable", key_unreadable, "key-unreadable unknown -\n" },
    { "key-open", key_open, "key-open warning -\n" },
    { "certificate-unusable", certificate_expired, "certificate-unusable fault -\n" },
    { "certificate-unusable", certificate_closed, "certificate-unusable unknown -\n" },
    { "certificate-unusable", certificate_expires, "certificate-unusable warning -\n" },
    { "image-missing", image_gone, "image-missing warning -\n" },
    { "device-missing", no_device, "device-missing fault t.yaml:2:5\n" },
    { "memory-too-small", little_memory, "memory-too-small fault t.yaml:2:5\n" },
    { "bridge-missing", no_bridge, "bridge-missing fault t.yaml:2:5\n" },
    { "cgroup-mems-short", short_cgroup,
      "cgroup-mems-short fault /sys/fs/cgroup/cpuset/docker/cpuset.mems\n" },
    { "gpu-driver-missing", no_driver, "gpu-driver-missing fault NUMA0\n" },
    { "no-gpus", without_gpus, "no-gpus warning NUMA0\n" },
    { "gpu-cdi-stale", stale_cdi, "gpu-cdi-stale warning 0004:04:00.0\n" },
    { "overcommitted", promised_twice, "overcommitted warning NUMA0\n" },
    { "runtime-not-started", not_started, "runtime-not-started warning NUMA0\n" },
    { "runtime-not-started", was_stopped, "runtime-not-started warning NUMA0\n" },
    { "runtime-failed", has_crashed, "runtime-failed fault NUMA0\n" },
    { "runtime-failed", crashes, "runtime-failed fault NUMA0\n" },
    { "runtime-failed", hangs, "runtime-failed fault NUMA0\n" },
    { "network-lost", macvlan_lost, "network-lost fault NUMA0\n" },
    { "network-lost", pause_ended, "network-lost fault NUMA0\n" },
    { "runtime-silent", silent, "runtime-silent fault NUMA0\n" },
    { "runtime-silent", port_blocked, "runtime-silent fault NUMA0\n" },
    { "key-refused", other_key, "key-refused fault NUMA0\n" },
    { "runtime-problem", runtime_fault, "runtime-problem fault NUMA0\n" },
    { "runtime-problem", runtime_remark, "runtime-problem warning NUMA0\n" },
    { "cpuset-mems-short", short_mems, "cpuset-mems-short fault NUMA0\n" },
    { "cpuset-cpus-other", other_cpus, "cpuset-cpus-other warning NUMA0\n" },
    { "memlock-limited", limited_memlock, "memlock-limited warning NUMA0\n" },
    { "runtime-drift", another_plan, "runtime-drift warning NUMA0\n" },
    { "runtime-of-other-document", another_document, "runtime-of-other-document warning NUMA0\n" },
    { "runtime-unrecorded", nobodys, "runtime-unrecorded warning NUMA0\n" },
};

FIXTURE(setup, teardown);

TEST(test_all_is_well)
{
    ath_auto_free char *text = found();
    ck_assert_str_eq(text, "");
    ck_assert(!ath_health_has_faults(&report) && !ath_health_is_unsure(&report));
    for (const struct ath_health_check *check = ath_health_checks; check->code; check++) {
        const struct ath_health_finding *finding = finding_of(check->code);
        ck_assert_msg(finding && finding->status == ATH_HEALTH_OK, "%s", check->code);
        ck_assert_ptr_null(finding->hint);
    }
}

/* The runtime's own words stand before what its supervisor and its libraries said. */
TEST(test_a_failed_runtime_is_reported_with_its_last_words)
{
    has_crashed();
    ath_texts_add(&the_status()->log, "aitherion-runtime: no GPU is left");
    ath_texts_add(&the_status()->log, "a library's line");
    ath_auto_free char *text = found();
    ck_assert_ptr_nonnull(strstr(text, "runtime-failed"));
    ck_assert_str_eq(finding_of("runtime-failed")->message,
                     "the runtime of NUMA0: it ended with exit code 1; its last message: "
                     "no GPU is left");
}

TEST(test_simulated_runtimes_need_no_gpu)
{
    without_gpus();
    the_runtime()->is_simulated = true;
    ath_auto_free char *text = found();
    ck_assert_str_eq(text, "");

    the_runtime()->is_simulated = false;
    the_status()->has_sim_flag = true; /* and it does not answer */
    ath_auto_free char *again = found();
    ck_assert_str_eq(again, "");
}

TEST(test_a_simulated_runtime_speaks_for_its_own_node)
{
    without_gpus();
    the_runtime()->is_simulated = true;
    the_runtime()->id = 1;
    ath_auto_free char *other = found();
    ck_assert_ptr_nonnull(strstr(other, "no-gpus warning NUMA0\n"));

    the_runtime()->id = 0;
    the_status()->state = ATH_NODE_STOPPED;
    ath_auto_free char *stopped = found();
    ck_assert_ptr_nonnull(strstr(stopped, "no-gpus warning NUMA0\n"));
}

TEST(test_all_faults_and_warnings_of_a_plan_are_reported)
{
    no_device();
    no_bridge();
    stale_cdi();
    promised_twice();
    ath_auto_free char *text = found();
    ck_assert_str_eq(text, "device-missing fault t.yaml:2:5\n"
                           "bridge-missing fault t.yaml:2:5\n"
                           "gpu-cdi-stale warning 0004:04:00.0\n"
                           "overcommitted warning NUMA0\n");
}

LOOP_TEST(test_case, 0, ATH_COUNT(cases))
{
    cases[_i].spoil();
    ath_auto_free char *text = found();
    const struct ath_health_finding *finding = finding_of(cases[_i].code);

    ck_assert_msg(finding && finding->status != ATH_HEALTH_OK, "%s: found:\n%s", cases[_i].code,
                  text);
    if (cases[_i].expected)
        ck_assert_str_eq(text, cases[_i].expected);
    ck_assert(finding->status <= finding->check->severity || finding->status == ATH_HEALTH_UNKNOWN);
    ck_assert(*finding->message);
    ck_assert_msg(finding->hint || finding->status == ATH_HEALTH_UNKNOWN, "%s needs a hint",
                  cases[_i].code);
    ck_assert_int_eq(ath_health_has_faults(&report), report.counts[ATH_HEALTH_FAULT] > 0);
}

/* A check that leaves all macvlans to other checks has not looked, so it has not passed. */
TEST(test_no_macvlan_is_planned_whose_address_is_wrong)
{
    address_of_the_network();
    ath_auto_free char *text = found();
    ck_assert_ptr_nonnull(strstr(text, "address-unfit"));
    ck_assert_ptr_null(finding_of("macvlan-impossible"));
}

static void link_gone_with_runtime(void)
{
    drop_link("mv0");
}

/* Docker has not checked again yet. */
static void answers_again(void)
{
    the_status()->state = ATH_NODE_UNHEALTHY;
}

/* Adds a second port to the device; both ports are active. */
static struct ath_health_port *second_port(void)
{
    make_port();
    facts.ports[1].port = 2;
    return &facts.ports[1];
}

static void gid_on_the_first_port_alone(void)
{
    second_port()->has_gid = false;
}

static void gid_on_the_second_port_alone(void)
{
    second_port();
    facts.ports[0].has_gid = false;
}

static void first_port_down(void)
{
    second_port();
    facts.ports[0].state = ATH_RDMA_PORT_DOWN;
    facts.ports[0].has_gid = false;
}

static void second_port_down(void)
{
    second_port()->state = ATH_RDMA_PORT_DOWN;
    facts.ports[1].has_gid = false;
}

/* A virtual machine has a GPU that the document leaves out. */
static void gpu_of_others(void)
{
    use_document(HEAD
                 "numa:\n  - { id: 0, node: 0, control_port: 1, data_port: 2 }\n" ROCE MACVLAN);
    driver_gone();
}

/* Changes that leave all well. */
TEST(test_fine_too)
{
    static void (*const spoils[])(void) = { parent_without_address,
                                            address_on_the_bond,
                                            link_gone_with_runtime,
                                            answers_again,
                                            gpu_of_others,
                                            gid_on_the_first_port_alone,
                                            gid_on_the_second_port_alone,
                                            first_port_down,
                                            second_port_down };
    for (size_t i = 0; i < ATH_COUNT(spoils); i++) {
        if (i) {
            teardown();
            setup();
        }
        spoils[i]();
        ath_auto_free char *text = found();
        ck_assert_str_eq(text, "");
    }
}

/* Every warning of the machine has a check with the same code. */
LOOP_TEST(test_warning, 0, ATH_W_COUNT)
{
    enum ath_warning_kind kind = (enum ath_warning_kind)_i;
    const char *code = ath_warning_word(kind);

    ath_warning_add(&machine, kind, "object", "1", "2", "3", NULL);
    ath_auto_free char *text = found();
    const struct ath_health_finding *finding = finding_of(code);
    ck_assert_msg(finding, "no check '%s'", code);
    ck_assert_int_eq(finding->status, finding->check->severity);
    ck_assert_str_eq(finding->object, "object");
    ck_assert_str_eq(finding->message, machine.warnings[0].message);
    ath_auto_free char *expected =
        ath_xasprintf("%s %s object\n", code, ath_health_status_word(finding->check->severity));
    ck_assert_str_eq(text, expected);
}

TEST(test_warnings_that_other_checks_report)
{
    no_gid();
    ath_warning_add(&machine, ATH_W_NO_USABLE_GID, "mlx5_0", "ens1", NULL);
    ath_auto_free char *gid = found();
    ck_assert_str_eq(gid, "gid-unusable fault mlx5_0\n");

    teardown();
    setup();
    infiniband_parent();
    ath_warning_add(&machine, ATH_W_INFINIBAND_MODE, "ens1", "0003:01:00.0", "1", NULL);
    ath_auto_free char *mode = found();
    ck_assert_str_eq(mode, "parent-infiniband fault ens1\n");
    ck_assert_ptr_nonnull(strstr(finding_of("parent-infiniband")->hint, "LINK_TYPE_P1=2"));
}

/* An offline node that is a GPU's memory is reported once, by the check that knows how to bring it
 * back. */
TEST(test_gpu_memory_offline_is_reported_once)
{
    machine.gpus[0].memory_state = ATH_MEMORY_OFFLINE;
    ath_machine_node(&machine, 254)->is_online = false;
    ath_warning_add(&machine, ATH_W_GPU_MEMORY_OFFLINE, "0004:04:00.0", "254", NULL);
    ath_auto_free char *text = found();
    ck_assert_str_eq(text, "gpu-memory-offline fault 0004:04:00.0\n");
}

/* ---- health scores ---- */

/* Judges the GPU with facts that spoil() sets, and returns the findings. */
static char *found_of_gpu(void (*spoil)(struct ath_gpu_facts *facts))
{
    struct ath_gpu *gpu = &machine.gpus[0];

    spoil(&gpu->facts);
    ath_machine_finish(&machine);
    return found();
}

static void one_reason(struct ath_gpu_facts *gpu)
{
    gpu->rows_pending = 1;
}

static void three_reasons(struct ath_gpu_facts *gpu)
{
    gpu->rows_failed = 1;
    gpu->ecc_uncorrected = 2;
    gpu->pcie_gen = 3;
    gpu->pcie_gen_max = 4;
}

/* 50 points: low, and not poor. */
static void half_of_all(struct ath_gpu_facts *gpu)
{
    gpu->throttle_reasons = 0x40;
    gpu->rows_pending = 1;
}

static void small_reason(struct ath_gpu_facts *gpu)
{
    gpu->pcie_gen = 3;
    gpu->pcie_gen_max = 4;
}

TEST(test_each_reason_of_a_low_score_is_a_finding)
{
    ath_auto_free char *one = found_of_gpu(one_reason);
    ck_assert_str_eq(one, "gpu-health-low warning 0004:04:00.0\n");
    ck_assert_str_eq(finding_of("gpu-health-low")->message,
                     "a row of the memory of GPU '0004:04:00.0' is replaced only with the next "
                     "reset (takes 20 points; the GPU's health score is 80 of 100)");
    ck_assert_ptr_nonnull(strstr(finding_of("gpu-health-low")->hint, "-i 0004:04:00.0"));
    teardown();
    setup();
    ath_auto_free char *half = found_of_gpu(half_of_all);
    ck_assert_int_eq(machine.gpus[0].health.score, 50);
    ck_assert_str_eq(half, "gpu-health-low warning 0004:04:00.0\n"
                           "gpu-health-low warning 0004:04:00.0\n");
    teardown();
    setup();
    ath_auto_free char *three = found_of_gpu(three_reasons);
    ck_assert_str_eq(three, "gpu-health-low fault 0004:04:00.0\n"
                            "gpu-health-low fault 0004:04:00.0\n"
                            "gpu-health-low fault 0004:04:00.0\n");
}

TEST(test_a_high_score_is_fine)
{
    ath_auto_free char *text = found_of_gpu(small_reason);
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(finding_of("gpu-health-low")->status, ATH_HEALTH_OK);
    const char *start = "the health score of GPU '0004:04:00.0' is 90 of 100; the PCIe link of GPU "
                        "'0004:04:00.0' runs at generation 3 of 4, although the GPU is at work; "
                        "not known: recovery, xids, ";
    ck_assert_int_eq(strncmp(finding_of("gpu-health-low")->message, start, strlen(start)), 0);
}

/* A GPU that the document leaves out may be known to be bad: no fault. */
TEST(test_a_poor_gpu_of_others_is_a_warning)
{
    use_document(HEAD
                 "numa:\n  - { id: 0, node: 0, control_port: 1, data_port: 2 }\n" ROCE MACVLAN);
    ath_auto_free char *text = found_of_gpu(three_reasons);
    ck_assert_str_eq(text, "gpu-health-low warning 0004:04:00.0\n"
                           "gpu-health-low warning 0004:04:00.0\n"
                           "gpu-health-low warning 0004:04:00.0\n");
}

/* A lost GPU has a check of its own, and is reported there alone. */
TEST(test_a_lost_gpu_is_reported_once)
{
    machine.gpus[0].is_lost = true;
    ath_machine_finish(&machine);
    ck_assert_int_eq(machine.gpus[0].health.score, 0);
    ath_auto_free char *text = found();
    ck_assert_str_eq(text, "gpu-lost fault 0004:04:00.0\n");
}

static bool has_case(const char *code)
{
    for (size_t i = 0; i < ATH_COUNT(cases); i++)
        if (!strcmp(cases[i].code, code))
            return true;
    for (int kind = 0; kind < ATH_W_COUNT; kind++)
        if (!strcmp(ath_warning_word((enum ath_warning_kind)kind), code))
            return true;
    return false;
}

TEST(test_every_check_has_a_test)
{
    for (const struct ath_health_check *check = ath_health_checks; check->code; check++) {
        ck_assert_msg(has_case(check->code), "'%s' has no case in this file", check->code);
        ck_assert(check->severity != ATH_HEALTH_OK && *check->title && check->run);
        for (const struct ath_health_check *other = ath_health_checks; other < check; other++)
            ck_assert_msg(strcmp(check->code, other->code) != 0, "'%s' is there twice",
                          check->code);
    }
}

/* Every fault of config/check.c belongs to a check. */
TEST(test_every_fault_is_reported)
{
    for (int fault = ATH_FAULT_NODE_MISSING; fault < ATH_FAULT_COUNT; fault++) {
        const char *code = ath_fault_word((enum ath_fault_code)fault);
        const struct ath_health_check *check = ath_health_checks;
        while (check->code && strcmp(check->code, code) != 0)
            check++;
        ck_assert_msg(check->code, "no check '%s'", code);
    }
}

/* Facts that could not be read are neither fine nor wrong. */
TEST(test_nothing_is_known)
{
    static const char *const silent[] = { "interface-down",     "interface-without-address",
                                          "rdma-port-down",     "gid-unusable",
                                          "parent-infiniband",  "mtu-above-parent",
                                          "macvlan-gone",       "macvlan-drift",
                                          "macvlan-impossible", "memlock-low",
                                          "nvml-missing",       "macvlan-unrecorded",
                                          "rdma-not-ready" };
    ATH_AUTO(ath_machine) bare = { 0 };
    struct ath_numa_node *node = ath_machine_add_node(&bare, 0);
    node->is_online = true;
    ath_idset_add(&node->cpus, 0, 7);
    bare.source = ATH_SOURCE_XML;
    ath_health_facts_free(&facts);
    ath_health_facts_read(NULL, &bare, &facts);
    use_document(HEAD ENTRY ROCE MACVLAN);

    ath_auto_free char *text = found();
    ck_assert_str_eq(text, "gpu-missing unknown -\n"
                           "card-missing unknown -\n"
                           "interface-missing unknown -\n"
                           "rdma-device-missing unknown -\n"
                           "macvlan-not-made unknown -\n");
    for (size_t i = 0; i < ATH_COUNT(silent); i++)
        ck_assert_msg(!finding_of(silent[i]), "%s", silent[i]);
    ck_assert(ath_health_is_unsure(&report) && !ath_health_has_faults(&report));
}

/* A runtime that answers by either way has not failed. */
TEST(test_a_runtime_that_answers_has_not_failed)
{
    static char problem[] = "exit code 9";
    static const struct {
        enum ath_node_state state;
        char *problem;
        enum ath_health_answer local, network;
        bool has_failed;
    } rows[] = {
        { ATH_NODE_RESTARTING, NULL, ATH_ANSWER_FINE, ATH_ANSWER_FINE, true },
        { ATH_NODE_UNHEALTHY, NULL, ATH_ANSWER_NOT_ASKED, ATH_ANSWER_NOT_ASKED, true },
        { ATH_NODE_UNHEALTHY, NULL, ATH_ANSWER_FINE, ATH_ANSWER_NOT_ASKED, false },
        { ATH_NODE_UNHEALTHY, NULL, ATH_ANSWER_NOT_ASKED, ATH_ANSWER_FINE, false },
        { ATH_NODE_STOPPED, NULL, ATH_ANSWER_NOT_ASKED, ATH_ANSWER_NOT_ASKED, false },
        { ATH_NODE_STOPPED, problem, ATH_ANSWER_NOT_ASKED, ATH_ANSWER_NOT_ASKED, true },
        { ATH_NODE_RUNNING, NULL, ATH_ANSWER_FINE, ATH_ANSWER_FINE, false },
    };

    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        const struct ath_node_status status = { .state = rows[i].state,
                                                .problem = rows[i].problem };
        const struct ath_health_runtime runtime = { .status = &status,
                                                    .local.answer = rows[i].local,
                                                    .network.answer = rows[i].network };
        ck_assert_msg(ath_health_has_failed(&runtime) == rows[i].has_failed, "row %zu", i);
    }
}

TEST(test_worst_first)
{
    control_down();
    little_memlock();
    mode_unknown();
    ath_auto_free char *text = found();
    ck_assert_str_eq(text, "interface-down fault eth0\n"
                           "rdma-netns-exclusive unknown -\n"
                           "memlock-low warning -\n");
    ck_assert_uint_eq(report.counts[ATH_HEALTH_FAULT], 1);
    ck_assert_uint_eq(report.counts[ATH_HEALTH_UNKNOWN], 1);
    ck_assert_uint_eq(report.counts[ATH_HEALTH_WARNING], 1);
    ck_assert_uint_eq(report.counts[ATH_HEALTH_OK], report.count - 3);
}

/* ---- reading a captured root ---- */

TEST(test_read_root)
{
    ATH_AUTO(ath_machine) made = { 0 };
    ATH_AUTO(ath_health_facts) read = { 0 };
    struct ath_root root = { .fd = -1 };
    struct ath_health_link link;
    struct ath_err err;
    struct tree tree;

    tree_make(&tree);
    tree_put(&tree, "9000", "sys/class/net/eth0/mtu");
    tree_put(&tree, "1", "sys/class/net/eth0/type");
    tree_put(&tree, "0x1003", "sys/class/net/eth0/flags");
    tree_put(&tree, "lowerlayerdown", "sys/class/net/eth0/operstate");
    tree_put(&tree, "bond0", "sys/class/net/bonding_masters");
    tree_put(&tree, "eth0", "sys/class/infiniband/rxe0/parent");
    tree_put(&tree, "4: ACTIVE", "sys/class/infiniband/rxe0/ports/1/state");
    tree_put(&tree, "Ethernet", "sys/class/infiniband/rxe0/ports/1/link_layer");
    tree_put(&tree, "RoCE v2", "sys/class/infiniband/rxe0/ports/1/gid_attrs/types/1");
    tree_put(&tree, "eth0", "sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/1");
    tree_put(&tree, "0000:0000:0000:0000:0000:ffff:0a00:0001",
             "sys/class/infiniband/rxe0/ports/1/gids/1");
    tree_put(&tree, "N", "sys/module/ib_core/parameters/netns_mode");
    ck_assert_int_eq(ath_root_open(tree.path, &root, &err), 0);
    made.source = ATH_SOURCE_ROOT;
    *(char **)ath_push(&made.others.rdma_devices, &made.others.rdma_device_count, sizeof(char *)) =
        ath_xstrdup("rxe0");
    ath_health_facts_read(&root, &made, &read);

    ck_assert(!read.is_live && !read.has_net && !read.has_memlock && read.has_links);
    ck_assert_uint_eq(read.links.count, 1);
    ath_health_link(&read, "eth0", &link);
    ck_assert_int_eq(link.presence, ATH_PRESENCE_THERE);
    ck_assert_int_eq(link.state, ATH_LINK_DOWN);
    ck_assert_int_eq(link.mtu, 9000);
    ck_assert_int_eq(link.link_layer, ATH_LAYER_ETHERNET);
    ck_assert_int_eq(link.address, ATH_PRESENCE_UNKNOWN);
    ck_assert(link.link->is_up);
    ck_assert(read.has_ports);
    ck_assert_uint_eq(read.port_count, 1);
    ck_assert_str_eq(read.ports[0].netdev, "eth0");
    ck_assert_int_eq(read.ports[0].state, ATH_RDMA_PORT_ACTIVE);
    ck_assert(read.ports[0].has_gid);
    ck_assert_int_eq(read.ports[0].gid.index, 1);
    ck_assert_int_eq(read.netns_mode, ATH_RDMA_NETNS_EXCLUSIVE);
    ath_root_free(&root);
    tree_remove(&tree);
}
