/* Policies, CPUs, network ports and bindings of chosen GPUs. */
#include "config.h"

#include "place/chip.h"
#include "place/choose.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/bind.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "made_machines.h"
#include "numa/core.h"
#include "place/gpu_pair.h"
#include "place/group.h"
#include "place/link_figures.h"
#include "place/matrix.h"
#include "tree.h"
#include "unit.h"

enum { MOST_GPUS = 16 };

static struct ath_machine machine;
static int64_t bandwidths[MOST_GPUS * MOST_GPUS];
static bool is_free[MOST_GPUS];
static struct ath_err err;

static void setup(void)
{
    machine = (struct ath_machine){ 0 };
}

static void teardown(void)
{
    ath_machine_free(&machine);
}

/* Makes all GPUs free, with NVLinks inside a node and X-Bus between nodes. */
static void begin(void (*make)(struct ath_machine *out))
{
    make(&machine);
    ath_cores_read(NULL, &machine);
    for (size_t i = 0; i < machine.gpu_count; i++) {
        is_free[i] = true;
        for (size_t j = 0; j < machine.gpu_count; j++)
            bandwidths[i * machine.gpu_count + j] =
                machine.gpus[i].numa_node == machine.gpus[j].numa_node ? 75000000000 : 32000000000;
    }
}

/* Expects the answer "0,1" or "0,1|2,3", or the error. */
static void expect(const struct ath_place_request *request, const char *gpus)
{
    ATH_AUTO(ath_place_answer) answer = { 0 };
    ATH_AUTO(ath_text) found = { 0 };
    int status = ath_place_choose(&machine, bandwidths, request, &answer, &err);

    if (status) {
        ck_assert_str_eq(err.message, gpus);
        ck_assert_str_ne(err.hint, "");
        return;
    }
    for (size_t i = 0; i < answer.best.size * answer.best.group_count; i++)
        ath_text_add(&found, "%s%zu",
                     !i                     ? ""
                     : i % answer.best.size ? ","
                                            : "|",
                     answer.best.gpus[i]);
    ck_assert_str_eq(found.data, gpus);
}

static void expect_set(size_t size, enum ath_place_policy policy, const char *gpus)
{
    expect(
        &(struct ath_place_request){
            .size = size, .group_count = 1, .policy = policy, .is_free = is_free },
        gpus);
}

FIXTURE(setup, teardown);

TEST(policies_of_an_ac922)
{
    begin(made_ac922);
    expect_set(2, ATH_PLACE_BEST_EFFORT, "0,1");
    is_free[0] = false;
    expect_set(2, ATH_PLACE_BEST_EFFORT, "2,3");
    expect_set(1, ATH_PLACE_BEST_EFFORT, "1");
    expect_set(2, ATH_PLACE_NONE, "1,2");
    expect_set(3, ATH_PLACE_BEST_EFFORT, "1,2,3");
    expect_set(3, ATH_PLACE_RESTRICTED, "1,2,3");
    expect_set(
        3, ATH_PLACE_SINGLE_NUMA,
        "the policy 'single-numa' needs 3 free GPUs on 1 NUMA node: node 0 has 1, node 8 has 2");
    expect_set(4, ATH_PLACE_BEST_EFFORT, "cannot place 4 GPUs: 3 of the machine's 4 are free");
    is_free[2] = false;
    expect_set(2, ATH_PLACE_BEST_EFFORT, "1,3");
    expect_set(
        2, ATH_PLACE_RESTRICTED,
        "the policy 'restricted' needs 2 free GPUs on 1 NUMA node: node 0 has 1, node 8 has 1");
    expect_set(1, ATH_PLACE_SINGLE_NUMA, "1");
}

TEST(groups_of_a_policy)
{
    begin(made_dgx2);
    struct ath_place_request request = { .size = 4, .group_count = 4, .is_free = is_free };
    expect(&request, "0,1,2,3|4,5,6,7|8,9,10,11|12,13,14,15");
    is_free[7] = is_free[15] = false;
    request.group_count = 3;
    request.policy = ATH_PLACE_SINGLE_NUMA;
    expect(&request, "the policy 'single-numa' needs free GPUs for 3 groups of 4, each on 1 NUMA "
                     "node: node 0 has 7, node 1 has 7");
    request.size = 2;
    request.group_count = 7;
    expect(&request, "the policy 'single-numa' needs free GPUs for 7 groups of 2, each on 1 NUMA "
                     "node: node 0 has 7, node 1 has 7");
    request.group_count = 6;
    expect(&request, "0,1|2,3|4,5|8,9|10,11|12,13");
    request.group_count = 8;
    expect(&request, "cannot place 8 groups of 2 GPUs: 14 of the machine's 16 are free");
}

/* Behind NVSwitches all sets are equal. */
TEST(fewer_nodes_among_equals)
{
    begin(made_dgx2);
    for (size_t i = 0; i < (size_t)16 * 16; i++)
        bandwidths[i] = 150000000000;
    for (size_t i = 0; i < 16; i++)
        is_free[i] = i >= 6 && i < 11;
    expect_set(2, ATH_PLACE_BEST_EFFORT, "6,7");
    expect_set(3, ATH_PLACE_BEST_EFFORT, "8,9,10");
    expect_set(4, ATH_PLACE_BEST_EFFORT, "6,7,8,9");
    expect_set(3, ATH_PLACE_NONE, "6,7,8");
    bandwidths[6 * 16 + 7] = bandwidths[7 * 16 + 6] = 160000000000;
    expect_set(3, ATH_PLACE_BEST_EFFORT, "6,7,8"); /* the sum comes first */
}

/* A GPU whose node is not known can be on any node. */
TEST(a_policy_of_nodes_needs_their_numbers)
{
    begin(made_ac922);
    for (size_t i = 0; i < 4; i++)
        machine.gpus[i].numa_node = ATH_UNKNOWN;
    expect_set(2, ATH_PLACE_BEST_EFFORT, "0,1");
    expect_set(2, ATH_PLACE_SINGLE_NUMA,
               "the policy 'single-numa' needs 2 free GPUs on 1 NUMA node: no GPU's node is known");
    expect_set(
        2, ATH_PLACE_RESTRICTED,
        "the policy 'restricted' needs to know the NUMA nodes of 2 GPUs: no GPU's node is known");
}

/* GPUs with a poor score come last, whatever links they have and whatever the policy; an unknown
 * score and one that is low but not poor avoid nothing. */
TEST(poor_health_comes_last)
{
    begin(made_ac922);
    ck_assert_uint_eq(machine.gpu_count, 4);
    machine.gpus[0].health.score = 49;
    machine.gpus[2].health.score = 50;
    expect_set(1, ATH_PLACE_BEST_EFFORT, "1");
    expect_set(1, ATH_PLACE_NONE, "1");
    expect_set(2, ATH_PLACE_BEST_EFFORT, "2,3");
    expect_set(2, ATH_PLACE_SINGLE_NUMA, "2,3");
    expect_set(2, ATH_PLACE_NONE, "1,2");
    expect_set(3, ATH_PLACE_BEST_EFFORT, "1,2,3");
    expect_set(4, ATH_PLACE_BEST_EFFORT, "0,1,2,3");
    machine.gpus[0].health.score = 0;
    machine.gpus[2].health.score = 10;
    expect_set(2, ATH_PLACE_BEST_EFFORT, "1,3");
    expect_set(3, ATH_PLACE_BEST_EFFORT, "1,2,3");
    expect_set(3, ATH_PLACE_NONE, "1,2,3");
    expect_set(2, ATH_PLACE_SINGLE_NUMA, "2,3");
    is_free[2] = false;
    expect_set(3, ATH_PLACE_BEST_EFFORT, "0,1,3");
}

TEST(poor_health_is_named)
{
    ATH_AUTO(ath_place_answer) answer = { 0 };

    begin(made_ac922);
    machine.gpus[0].health.score = 49;
    machine.gpus[1].health.score = 50;
    machine.gpus[3].health.score = 0;
    is_free[3] = false;
    ck_assert_int_eq(ath_place_choose(&machine, bandwidths,
                                      &(struct ath_place_request){ .size = 1,
                                                                   .group_count = 1,
                                                                   .policy = ATH_PLACE_BEST_EFFORT,
                                                                   .is_free = is_free },
                                      &answer, &err),
                     0);
    ath_auto_free char *poor = ath_idset_format(&answer.poor);
    ck_assert_str_eq(poor, "0");
}

TEST(as_near_to_a_port_as_possible)
{
    begin(made_azure);
    struct ath_place_request request = { .size = 1, .group_count = 1, .is_free = is_free };
    request.near = &machine.nics[5];
    ck_assert_str_eq(request.near->rdma_device, "mlx5_5");
    expect(&request, "5");
    request.size = 2;
    expect(&request, "4,5");
    is_free[5] = false;
    request.size = 1;
    expect(&request, "4");
    request.size = 4;
    expect(&request, "0,1,2,3"); /* three near ones are too few, and the far ones are better */
    request.policy = ATH_PLACE_SINGLE_NUMA;
    request.size = 3;
    expect(&request, "4,6,7");
}

TEST(a_machine_without_gpus)
{
    begin(made_laptop);
    expect_set(1, ATH_PLACE_BEST_EFFORT, "the machine has no GPU to place");
}

TEST(gpus_that_cannot_be_placed)
{
    begin(made_ac922);
    ath_place_usable(&machine, is_free);
    ck_assert(is_free[0] && is_free[1] && is_free[2] && is_free[3]);
    machine.gpus[0].is_lost = true;
    machine.gpus[1].memory_state = ATH_MEMORY_OFFLINE;
    machine.gpus[2].vendor_id = ATH_VENDOR_AMD;
    ath_place_usable(&machine, is_free);
    ck_assert(!is_free[0] && !is_free[1] && !is_free[2] && is_free[3]);
    for (size_t i = 0; i < 4; i++)
        machine.gpus[i].vendor_id = ATH_VENDOR_AMD;
    machine.gpus[3].vendor_id = ATH_VENDOR_INTEL;
    ath_place_usable(&machine, is_free);
    ck_assert(is_free[0] && is_free[1] && is_free[2] && !is_free[3]);
}

/* ---- CPUs ---- */

/* Expects CPUs and cores for GPUs, given as digits. */
static void expect_cpus(const char *gpus, size_t wanted, const char *allowed, const char *cpus,
                        size_t cores)
{
    size_t list[MOST_GPUS], count = 0;
    ATH_AUTO(ath_place_cpus) found = { 0 };
    ATH_AUTO(ath_idset) limit = { 0 };

    for (; gpus[count]; count++)
        list[count] = (size_t)(gpus[count] - '0');
    if (allowed)
        ck_assert_int_eq(ath_idset_parse_list(allowed, &limit), 0);
    int status =
        ath_place_choose_cpus(&machine, list, count, wanted, allowed ? &limit : NULL, &found, &err);
    if (status) {
        ck_assert_str_eq(err.message, cpus);
        return;
    }
    ath_auto_free char *text = ath_idset_format(&found.cpus);
    ck_assert_str_eq(text, cpus);
    ck_assert_uint_eq(found.core_count, cores);
}

/* POWER9: the threads 0 to 3 are one core. */
TEST(cores_before_threads)
{
    begin(made_ac922);
    expect_cpus("0", 0, NULL, "0-63", 16);
    expect_cpus("0", 1, NULL, "0", 1);
    expect_cpus("0", 4, NULL, "0,4,8,12", 4);
    expect_cpus("2", 16, NULL, "64,68,72,76,80,84,88,92,96,100,104,108,112,116,120,124", 16);
    expect_cpus("2", 18, NULL, "64-65,68-69,72,76,80,84,88,92,96,100,104,108,112,116,120,124", 16);
    expect_cpus("2", 64, NULL, "64-127", 16);
    expect_cpus("02", 4, NULL, "0,4,64,68", 4);
    expect_cpus("012", 3, NULL, "0,4,64", 3);
    expect_cpus("012", 6, NULL, "0,4,8,12,64,68", 6);
    expect_cpus("0", 65, NULL, "0-64", 17);
    expect_cpus("0", 2, "1-2,6,70", "1,6", 2);
    expect_cpus("0", 3, "1-2,6,70", "1-2,6", 2);
    expect_cpus("0", 4, "1-2,6,70", "1-2,6,70", 3);
    expect_cpus("0", 5, "1-2,6,70", "cannot take 5 CPUs: this process may use 4", 0);
    expect_cpus("0", 129, NULL, "cannot take 129 CPUs: the machine has 128 online", 0);
    expect_cpus("0", 0, "70-72", "70-72", 2);
}

TEST(cpus_of_groups_share_no_core)
{
    static const size_t gpus[] = { 0, 1, 2, 3 };
    static const char *const four[] = { "0-31", "32-63", "64-95", "96-127" };
    static const char *const two[] = { "0-63", "64-127" };
    struct ath_idset parts[4] = { 0 };

    begin(made_ac922);
    for (size_t size = 1; size <= 2; size++) {
        ath_place_divide_cpus(&machine, gpus, size, 4 / size, NULL, parts);
        for (size_t i = 0; i < 4 / size; i++) {
            ath_auto_free char *text = ath_idset_format(&parts[i]);
            ck_assert_str_eq(text, size == 1 ? four[i] : two[i]);
            ath_idset_free(&parts[i]);
            parts[i] = (struct ath_idset){ 0 };
        }
    }
}

TEST(cores_of_a_root)
{
    struct tree tree;
    ATH_AUTO(ath_root) root = { .fd = -1 };

    begin(made_laptop);
    ck_assert_uint_eq(machine.core_count, 0);
    expect_cpus("", 2, NULL, "0-1", 2);
    tree_make(&tree);
    for (int cpu = 0; cpu < 8; cpu++) {
        char text[16];
        snprintf(text, sizeof text, "%d,%d\n", cpu % 4, cpu % 4 + 4);
        tree_put(&tree, text, "sys/devices/system/cpu/cpu%d/topology/%s", cpu,
                 cpu % 2 ? "core_cpus_list" : "thread_siblings_list");
    }
    ck_assert_int_eq(ath_root_open(tree.path, &root, &err), 0);
    ath_cores_read(&root, &machine);
    ck_assert_uint_eq(machine.core_count, 4);
    expect_cpus("", 5, NULL, "0-4", 4);
    /* a list that leaves out its own CPU says nothing, and a CPU without a list makes all unknown
     */
    ath_cores_forget(&machine);
    tree_put(&tree, "7", "sys/devices/system/cpu/cpu2/topology/thread_siblings_list");
    ath_cores_read(&root, &machine);
    ck_assert_uint_eq(machine.core_count, 0);
    tree_remove(&tree);
}

/* ---- ports and bindings ---- */

static void make_group(const size_t *gpus, size_t count, bool binds, struct ath_place_group *out)
{
    const struct ath_place_group_request request = { .gpus = gpus,
                                                     .ring = gpus,
                                                     .gpu_count = count,
                                                     .bandwidths = bandwidths,
                                                     .binds_memory = binds };
    ck_assert_int_eq(ath_place_group_make(&machine, &request, out, &err), 0);
}

/* Expects the variables and the command, separated by blanks. */
static void expect_binding(const struct ath_place_group *group, const char *binding)
{
    ATH_AUTO(ath_text) text = { 0 };
    for (size_t i = 0; group->variables[i].name; i++)
        ath_text_add_part(&text, " ", "%s=%s", group->variables[i].name, group->variables[i].value);
    for (size_t i = 0; i < group->word_count; i++)
        ath_text_add_part(&text, " ", "%s", group->words[i]);
    ck_assert_str_eq(text.data ? text.data : "", binding);
}

TEST(bindings_of_an_ac922)
{
    static const size_t first[] = { 0, 1 }, both[] = { 1, 2 };
    ATH_AUTO(ath_place_group) one = { 0 }, strict = { 0 }, two = { 0 };

    begin(made_ac922);
    make_group(first, 2, false, &one);
    expect_binding(&one, "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0,1 "
                         "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1 numactl --physcpubind=0-63 --preferred=0 "
                         "--");
    ck_assert_int_eq(one.ring_bandwidth, 75000000000);
    ath_auto_free char *memory = ath_idset_format(&one.memory_nodes);
    ck_assert_str_eq(memory, "254-255");
    ck_assert_uint_eq(one.ports.count, 2);
    ck_assert_uint_eq(one.ports.items[0].gpu_count, 2);
    ck_assert_int_eq(one.ports.items[0].class, ATH_PCI_NODE);
    make_group(first, 2, true, &strict);
    ck_assert_str_eq(strict.words[2], "--membind=0,254-255");
    machine.gpus[1].uuid = ath_xstrdup("GPU-b");
    machine.gpus[2].uuid = ath_xstrdup("GPU-c");
    make_group(both, 2, false, &two);
    expect_binding(&two, "CUDA_VISIBLE_DEVICES=GPU-b,GPU-c "
                         "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1 "
                         "numactl --physcpubind=0-127 --localalloc --");
    ck_assert_int_eq(two.ring_bandwidth, 32000000000);
}

/* A nearer port that RDMA cannot use is shown, and the nearest one for RDMA as well. */
TEST(ports_with_and_without_rdma)
{
    static const size_t gpu = 0;
    ATH_AUTO(ath_place_ports) ports = { 0 }, only = { 0 };

    begin(made_azure);
    free(machine.nics[0].rdma_device);
    machine.nics[0].rdma_device = NULL;
    ath_place_find_ports(&machine, &gpu, 1, NULL, &ports);
    ck_assert_ptr_eq(ports.items[0].nic, &machine.nics[0]);
    ck_assert(!ports.items[0].is_for_rdma);
    ck_assert_uint_eq(ports.items[0].gpu_count, 1);
    ck_assert_uint_eq(ports.count, 4);
    ck_assert(ports.items[1].is_for_rdma);
    ck_assert_uint_eq(ports.items[1].gpu_count, 0);
    ath_place_find_ports(&machine, &gpu, 1, &machine.nics[7], &only);
    ck_assert_uint_eq(only.count, 1);
    ck_assert_ptr_eq(only.items[0].nic, &machine.nics[7]);
}

/* Ports come by nearness, and equally near ones in the order of the machine. */
TEST(nearest_ports_come_first)
{
    static const size_t gpus[] = { 7, 0 };
    ATH_AUTO(ath_place_ports) one = { 0 }, two = { 0 };

    begin(made_azure);
    free(machine.nics[7].rdma_device);
    machine.nics[7].rdma_device = NULL;
    ath_place_find_ports(&machine, gpus, 1, NULL, &one);
    ck_assert_uint_eq(one.count, 4);
    ck_assert_ptr_eq(one.items[0].nic, &machine.nics[7]);
    ath_place_find_ports(&machine, gpus, 2, NULL, &two);
    ck_assert_uint_eq(two.count, 5);
    for (size_t i = 1; i < two.count; i++) {
        const struct ath_place_port *before = &two.items[i - 1], *port = &two.items[i];
        ck_assert_uint_le(before->nearness, port->nearness);
        ck_assert(before->nearness < port->nearness || before->nic < port->nic);
    }
}

/* CUDA does not number GPUs of other vendors, or those that the driver does not run. */
TEST(numbers_of_cuda)
{
    static const size_t last[] = { 3 }, other[] = { 0 };
    ATH_AUTO(ath_place_group) group = { 0 }, foreign = { 0 };

    begin(made_ac922);
    machine.nic_count = 0;
    machine.pair_count = 0;
    machine.gpus[0].vendor_id = ATH_VENDOR_AMD;
    machine.gpus[1].is_lost = true;
    make_group(last, 1, false, &group);
    expect_binding(&group, "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1 numactl "
                           "--physcpubind=64-127 --preferred=8 --");
    ck_assert_int_eq(group.ring_bandwidth, ATH_UNKNOWN);
    make_group(other, 1, false, &foreign);
    expect_binding(&foreign, "numactl --physcpubind=0-63 --preferred=0 --");
    machine.nic_count = 6;
}

/* ---- bandwidths ---- */

static int64_t bandwidth_of(void (*make)(struct ath_machine *out), size_t a, size_t b)
{
    make(&machine);
    ath_auto_free int64_t *matrix = ath_place_matrix(&machine);
    int64_t bandwidth = matrix[a * machine.gpu_count + b];
    ck_assert_int_eq(matrix[b * machine.gpu_count + a], bandwidth);
    ath_machine_free(&machine);
    return bandwidth;
}

TEST(bandwidths_of_links)
{
    ck_assert_int_eq(bandwidth_of(made_dgx1, 0, 3), 50000000000);
    ck_assert_int_eq(bandwidth_of(made_dgx1, 0, 1), 25000000000);
    ck_assert_int_eq(bandwidth_of(made_dgx1, 0, 7), ATH_SET_UNKNOWN_FAR);
    ck_assert_int_eq(bandwidth_of(made_b200, 0, 1), 900000000000);
    ck_assert_int_eq(bandwidth_of(made_b200, 0, 6), 900000000000);
    ck_assert_int_eq(bandwidth_of(made_dgx2, 0, 15), 150000000000);
    ck_assert_int_eq(bandwidth_of(made_b200, 0, 7), ATH_SET_UNKNOWN_FAR);
    ck_assert_int_eq(bandwidth_of(made_ac922_six, 0, 5), 32000000000);
}

static void expect_pair(size_t a, size_t b, const char *word, int64_t bytes_per_s,
                        enum ath_figure_source source, int64_t latency_ns, int distance)
{
    struct ath_gpu_pair pair;
    ath_gpu_pair_look(&machine, a, b, &pair);
    ath_auto_free char *got = ath_gpu_pair_word(&machine, &pair);
    ck_assert_pstr_eq(got, word);
    ck_assert_int_eq(pair.bandwidth_bytes_per_s, bytes_per_s);
    ck_assert_int_eq(pair.source, source);
    ck_assert_int_eq(pair.latency_ns, latency_ns);
    ck_assert_int_eq(pair.distance, distance);
}

/* The source wins over the table. A figure that neither has is unknown. */
TEST(pairs_say_their_source)
{
    begin(made_ac922_six);
    expect_pair(0, 1, "NV2", 50000000000, ATH_FIGURE_DRIVER, 600, 10);
    expect_pair(0, 5, "SYS", 32000000000, ATH_FIGURE_TABLE, 1000, 17);
    for (size_t i = 0; i < machine.gpu_count; i++)
        for (size_t j = 0; j < machine.gpus[i].nvlink_count; j++)
            machine.gpus[i].nvlinks[j].speed_mbps *=
                machine.gpus[i].nvlinks[j].kind == ATH_PEER_CPU ? 2 : -1;
    expect_pair(0, 1, "NV2", 50000000000, ATH_FIGURE_TABLE, 600, 10);
    machine.gpus[1].device_id = 0;
    expect_pair(0, 1, "NV2", ATH_UNKNOWN, ATH_FIGURE_UNKNOWN, 600, 10);
    machine.gpus[0].nvlink_count = 0;
    machine.gpus[0].has_nvlinks = false;
    machine.gpus[5].has_nvlinks = false;
    expect_pair(0, 5, NULL, ATH_UNKNOWN, ATH_FIGURE_UNKNOWN, ATH_UNKNOWN, ATH_UNKNOWN);
    machine.gpus[5].vendor_id = ATH_VENDOR_AMD;
    machine.gpus[5].nvlink_count = 0;
    machine.gpus[0].memory_node = machine.gpus[5].memory_node = ATH_UNKNOWN;
    expect_pair(0, 5, "SYS", 7877000000, ATH_FIGURE_DRIVER, 1000, 17); /* by PCIe */
    machine.gpus[5].pcie_mbps = ATH_UNKNOWN;
    expect_pair(0, 5, "SYS", ATH_UNKNOWN, ATH_FIGURE_UNKNOWN, 1000, 17);
}

static struct ath_nvlink *link_to_processor(size_t gpu)
{
    struct ath_nvlink *link = machine.gpus[gpu].nvlinks;
    while (link->kind != ATH_PEER_CPU)
        link++;
    return link;
}

/* A GPU that NVLinks join to its processor does not send its data over PCIe: on an AC922 that link
 * carries 2 GB/s. `nvidia-smi topo -m` does not show the links to the processor. */
TEST(pairs_beside_pcie)
{
    begin(made_ac922_six);
    link_to_processor(5)->speed_mbps = 200000; /* one NVLink is left */
    expect_pair(0, 5, "SYS", 25000000000, ATH_FIGURE_DRIVER, 1000, 17);
    machine.gpus[0].nvlink_count = machine.gpus[1].nvlink_count = machine.gpus[5].nvlink_count = 0;
    expect_pair(0, 5, "SYS", 32000000000, ATH_FIGURE_TABLE, 1000, 17);
    expect_pair(0, 1, "PIX", ATH_UNKNOWN, ATH_FIGURE_UNKNOWN, 1000, 17);
    machine.profile = "generic";
    expect_pair(0, 5, "SYS", ATH_UNKNOWN, ATH_FIGURE_UNKNOWN, 1000, 17);
}

/* The end with fewer links counts, in both directions. */
TEST(pairs_of_uneven_ends)
{
    begin(made_ac922_six);
    machine.gpus[1].nvlinks[0].count = 1;
    machine.gpus[1].nvlinks[0].speed_mbps = 200000;
    expect_pair(0, 1, "NV1", 25000000000, ATH_FIGURE_DRIVER, 600, 10);
    expect_pair(1, 0, "NV1", 25000000000, ATH_FIGURE_DRIVER, 600, 10);
    machine.gpus[0].nvlinks[0].count = ATH_UNKNOWN;
    expect_pair(0, 1, "NV1", 25000000000, ATH_FIGURE_DRIVER, 600, 10);
}

TEST(figures_of_links)
{
    static const struct {
        int device_id;
        int64_t bytes_per_s;
    } rows[] = {
        { 0x15ef, ATH_UNKNOWN }, { 0x15f9, 20000000000 }, { 0x1db5, 25000000000 },
        { 0x20b2, 25000000000 }, { 0x2235, 14062000000 }, { 0x2330, 25000000000 },
        { 0x2901, 50000000000 }, { 0x2a00, ATH_UNKNOWN }, { 0x3182, 50000000000 },
        { 0x31ff, 50000000000 }, { 0x3200, ATH_UNKNOWN },
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++)
        ck_assert_int_eq(ath_link_nvlink_bytes_per_s(rows[i].device_id), rows[i].bytes_per_s);
}

/* A source may name a link at one end only, and links of both ends with different speeds. */
TEST(bandwidths_of_uneven_ends)
{
    begin(made_dgx1);
    machine.gpus[3].nvlink_count = 0;
    machine.gpus[2].nvlinks[0].speed_mbps = 80000;
    machine.gpus[4].nvlink_count = machine.gpus[5].nvlink_count = 1;
    for (size_t i = 4; i < 6; i++)
        machine.gpus[i].nvlinks[0] = (struct ath_nvlink){ .kind = ATH_PEER_SWITCH,
                                                          .count = 1,
                                                          .speed_mbps = (int64_t)i * 800000 };
    machine.gpus[6].nvlink_count = machine.gpus[7].nvlink_count = 0;
    machine.gpus[6].pcie_mbps = 128000;
    machine.gpus[7].pcie_mbps = 64000;
    ath_auto_free int64_t *matrix = ath_place_matrix(&machine);
    ck_assert_int_eq(matrix[0 * 8 + 3], 50000000000);
    ck_assert_int_eq(matrix[0 * 8 + 2], 10000000000);
    ck_assert_int_eq(matrix[4 * 8 + 5], 400000000000);
    ck_assert_int_eq(matrix[6 * 8 + 7], 8000000000);
    machine.gpus[7].pcie_mbps = ATH_UNKNOWN;
    ath_auto_free int64_t *unknown = ath_place_matrix(&machine);
    ck_assert_int_eq(unknown[6 * 8 + 7], ATH_SET_UNKNOWN_LINKS); /* the class is known: PIX */
    machine.gpus[7].has_nvlinks = false;
    ath_auto_free int64_t *hidden = ath_place_matrix(&machine);
    ck_assert_int_eq(hidden[6 * 8 + 7], ATH_SET_UNKNOWN_NEAR);
}

/* If one of two GPUs is of a model without NVLinks, the source hides none between them. */
TEST(a_model_without_nvlinks_hides_none)
{
    begin(made_dgx1);
    for (size_t i = 6; i < 8; i++) {
        machine.gpus[i].has_nvlinks = false;
        machine.gpus[i].nvlink_count = 0;
        machine.gpus[i].pcie_mbps = 64000;
    }
    ath_auto_free int64_t *hidden = ath_place_matrix(&machine);
    ck_assert_int_eq(hidden[6 * 8 + 7], ATH_SET_UNKNOWN_NEAR);
    free(machine.gpus[7].model);
    machine.gpus[7].model = ath_xstrdup("Tesla T4");
    ath_auto_free int64_t *known = ath_place_matrix(&machine);
    ck_assert_int_eq(known[6 * 8 + 7], 8000000000);
}

/* A text of `nvidia-smi -L` names models, not device ids. */
TEST(chips_by_model)
{
    static const struct {
        int device_id;
        const char *model;
        int chip;
    } rows[] = {
        { 0x1db5, "NVIDIA A100-SXM4-80GB", 0x1db5 },
        { ATH_UNKNOWN, "Tesla V100-SXM2-32GB", 0x1d80 },
        { ATH_UNKNOWN, "NVIDIA A100-SXM4-80GB", 0x2080 },
        { ATH_UNKNOWN, "NVIDIA H200", 0x2300 },
        { ATH_UNKNOWN, "NVIDIA RTX A6000", 0x2230 },
        { ATH_UNKNOWN, "NVIDIA RTX A60000", ATH_UNKNOWN },
        { ATH_UNKNOWN, "", ATH_UNKNOWN },
        { ATH_UNKNOWN, NULL, ATH_UNKNOWN },
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        const struct ath_gpu gpu = { .vendor_id = ATH_VENDOR_NVIDIA,
                                     .device_id = rows[i].device_id,
                                     .model = (char *)(uintptr_t)rows[i].model };
        ck_assert_int_eq(ath_gpu_chip(&gpu), rows[i].chip);
    }
}

/* ---- binding this process ---- */

TEST(binds_this_process)
{
    ATH_AUTO(ath_idset) before = { 0 }, one = { 0 }, after = { 0 }, none = { 0 };

    ck_assert_int_eq(ath_bind_allowed(&before), 0);
    int first = ath_idset_next(&before, -1);
    ck_assert_int_ge(first, 0);
    ath_idset_add(&one, first, first);
    ck_assert_int_eq(ath_bind_cpus(&none), 0);
    ck_assert_int_eq(ath_bind_cpus(&one), 0);
    ck_assert_int_eq(ath_bind_allowed(&after), 0);
    ck_assert(ath_idset_equals(&one, &after));
    ck_assert_int_eq(ath_bind_cpus(&before), 0);
}
