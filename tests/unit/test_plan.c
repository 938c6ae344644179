/* Plans for machines made in the test, one part of a container after the other, and the facts that
 * plans need. */
#include "config.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "container/docker/body.h"
#include "container/docker/run_line.h"
#include "container/plan/plan.h"
#include "documents.h"
#include "runtime/options.h"
#include "tree.h"
#include "unit.h"

#define HEAD "schema: aitherion.topology/1\nkey_file: /etc/aitherion/key\n"
#define ENTRY                                                                                      \
    "  - id: 0\n    node: 0\n    memory_nodes: [0, 255]\n    gpus: [\"0004:04:00.0\"]\n"           \
    "    control_port: 50051\n    data_port: 5555\n"

/* A machine, facts about its host, and an engine. Each test changes the part that it checks. */
struct scene {
    struct ath_machine machine;
    struct ath_plan_facts facts;
    struct ath_plan_options options;
    struct ath_document document;
    struct ath_plan plan;
    struct ath_faults faults;
    struct ath_err err;
    int ids[4];
};

static void scene_free(struct scene *scene)
{
    ath_plan_free(&scene->plan);
    ath_faults_free(&scene->faults);
    ath_document_free(&scene->document);
    ath_plan_facts_free(&scene->facts);
    ath_machine_free(&scene->machine);
}

#define SCENE(name) __attribute__((cleanup(scene_free))) struct scene name = { 0 }

static struct ath_numa_node *add_node(struct scene *scene, int id, int first, int last)
{
    struct ath_numa_node *node = ath_machine_add_node(&scene->machine, id);
    node->is_online = true;
    node->memory_total_bytes = 16LL << 30;
    if (first >= 0)
        ath_idset_add(&node->cpus, first, last);
    return node;
}

static void add_gpu(struct scene *scene, const char *pci, int node, int memory_node, int minor)
{
    struct ath_pci address;
    ck_assert_int_eq(ath_pci_parse(pci, &address), 0);
    struct ath_gpu *gpu = ath_machine_add_gpu(&scene->machine, &address);
    gpu->vendor_id = ATH_VENDOR_NVIDIA;
    gpu->numa_node = node;
    gpu->memory_node = memory_node;
    gpu->memory_state = memory_node == ATH_UNKNOWN ? ATH_MEMORY_UNKNOWN : ATH_MEMORY_ONLINE;
    gpu->uuid = ath_xasprintf("GPU-%d", minor);
    gpu->driver_version = ath_xstrdup("535.104.05");
    struct ath_plan_minor *added =
        ath_push(&scene->facts.minors, &scene->facts.minor_count, sizeof *added);
    *added = (struct ath_plan_minor){ address, minor };
}

static struct ath_nic *add_nic(struct scene *scene, const char *netdev, const char *rdma)
{
    struct ath_nic *nic = ath_machine_add_nic(&scene->machine);
    nic->netdev = ath_xstrdup(netdev);
    nic->rdma_device = ath_xstrdup(rdma);
    nic->port = 1;
    nic->numa_node = 0;
    nic->mtu = 9000;
    nic->link = ATH_LINK_UP;
    nic->link_layer = ATH_LAYER_ETHERNET;
    nic->has_roce = true;
    nic->best_gid_index = 3;
    return nic;
}

static void add_verbs(struct scene *scene, const char *name, const char *device)
{
    struct ath_plan_verbs *verbs =
        ath_push(&scene->facts.verbs, &scene->facts.verbs_count, sizeof *verbs);
    *verbs = (struct ath_plan_verbs){ ath_xstrdup(name), ath_xstrdup(device) };
}

static void add_library(struct scene *scene, enum ath_library_use use, const char *name)
{
    struct ath_library *library =
        ath_push(&scene->facts.libraries.items, &scene->facts.libraries.count, sizeof *library);
    *library = (struct ath_library){ use, ath_xstrdup(name), ath_xasprintf("/usr/lib64/%s", name) };
}

static void add_address(struct scene *scene, const char *link, const char *address)
{
    struct ath_plan_address *added =
        ath_push(&scene->facts.addresses, &scene->facts.address_count, sizeof *added);
    *added = (struct ath_plan_address){ ath_xstrdup(link), ath_xstrdup(address) };
}

static const char *const device_nodes[] = {
    "/dev/nvidia0",
    "/dev/nvidia5",
    "/dev/nvidiactl",
    "/dev/nvidia-uvm",
    "/dev/nvidia-uvm-tools",
    "/dev/nvidia-modeset",
    "/dev/infiniband/umad0",
    "/dev/infiniband/uverbs2",
    "/dev/infiniband/rdma_cm",
};

/* Makes one socket, a GPU whose memory is node 255 and whose device node is number 5, a RoCE port.
 */
static void make_scene(struct scene *scene)
{
    struct ath_plan_facts *facts = &scene->facts;

    scene->machine.source = ATH_SOURCE_ROOT;
    add_node(scene, 0, 0, 7);
    add_node(scene, 255, -1, -1);
    add_gpu(scene, "0004:04:00.0", 0, 255, 5);
    add_nic(scene, "eth0", NULL);
    add_nic(scene, "eth1", "mlx5_0");
    facts->cgroup_version = 2;
    facts->knows_devices = facts->knows_verbs = facts->knows_addresses = true;
    for (size_t i = 0; i < ATH_COUNT(device_nodes); i++)
        ath_texts_add(&facts->devices, device_nodes[i]);
    add_verbs(scene, "uverbs2", "mlx5_0");
    add_address(scene, "eth0", "10.0.0.11");
    facts->libraries.is_known = true;
    add_library(scene, ATH_LIBRARY_DRIVER, "libcuda.so.1");
    add_library(scene, ATH_LIBRARY_RDMA, "libibverbs.so.1");
    facts->libraries.provider_folder = ath_xstrdup("/usr/lib64/libibverbs");
    scene->options.engine.has_bridge = true;
    scene->options.ids = scene->ids;
}

static int try_plan(struct scene *scene, const char *text)
{
    ath_machine_finish(&scene->machine);
    parse_good(text, &scene->document);
    return ath_plan_make(&scene->document, &scene->machine, &scene->facts, &scene->options,
                         &scene->plan, &scene->faults, &scene->err);
}

static const struct ath_plan_node *make_plan(struct scene *scene, const char *text)
{
    int status = try_plan(scene, text);
    ck_assert_msg(!status, "%s: %s", scene->err.message,
                  scene->faults.count ? scene->faults.items[0].message : "");
    return &scene->plan.nodes[0];
}

/* Returns "LINE:COLUMN CODE" of every fault of a refused plan. The caller frees it. */
static char *refused(struct scene *scene, const char *text)
{
    ck_assert_int_lt(try_plan(scene, text), 0);
    ck_assert_int_eq(scene->err.code, ATH_E_DOCUMENT_INVALID);
    ck_assert_ptr_null(scene->plan.nodes);
    return faults_text(&scene->faults);
}

static bool has_message(const struct ath_faults *faults, const char *words)
{
    for (size_t i = 0; i < faults->count; i++)
        if (strstr(faults->items[i].message, words))
            return true;
    return false;
}

static const struct ath_plan_warning *warning_of(const struct ath_plan_node *node,
                                                 enum ath_plan_warning_code code)
{
    for (size_t i = 0; i < node->warning_count; i++)
        if (node->warnings[i].code == code)
            return &node->warnings[i];
    return NULL;
}

static void expect_set(const struct ath_idset *set, const char *expected)
{
    ath_auto_free char *text = ath_idset_format(set);
    ck_assert_str_eq(text, expected);
}

static const char *variable(const struct ath_plan_node *node, const char *name)
{
    for (size_t i = 0; i < node->environment.count; i++)
        if (!strcmp(node->environment.items[i].name, name))
            return node->environment.items[i].value;
    return NULL;
}

static bool has_device(const struct ath_plan_node *node, const char *path)
{
    for (size_t i = 0; i < node->devices.count; i++)
        if (!strcmp(node->devices.items[i], path))
            return true;
    return false;
}

static const char *source_of(const struct ath_plan_node *node, const char *target)
{
    for (size_t i = 0; i < node->mount_count; i++)
        if (!strcmp(node->mounts[i].target, target))
            return node->mounts[i].source;
    return NULL;
}

/* Returns "serve --listen ..." as one text; the caller frees it. */
static const char *pair_of(const struct ath_plan_pairs *pairs, const char *name)
{
    for (size_t i = 0; i < pairs->count; i++)
        if (!strcmp(pairs->items[i].name, name))
            return pairs->items[i].value;
    ck_abort_msg("no %s", name);
}

static char *words_of(const struct ath_texts *texts)
{
    struct ath_text text = { 0 };
    for (size_t i = 0; i < texts->count; i++)
        ath_text_add_part(&text, " ", "%s", texts->items[i]);
    return ath_text_take(&text);
}

/* Returns the body as a text for searching; the caller frees it. */
static char *body_text(const struct scene *scene, enum ath_docker_role role)
{
    json_t *body = ath_docker_body(&scene->plan.nodes[0], scene->plan.image, role);
    char *text = json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(body);
    return text;
}

static void expect_in(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "no %s in %s", part, text);
}

TEST(places_the_runtime_on_its_node)
{
    SCENE(scene);
    make_scene(&scene);
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY);
    ck_assert_str_eq(node->name, "aitherion-numa0");
    expect_set(&node->cpus, "0-7");
    expect_set(&node->memory_nodes, "0,255");
    ck_assert_int_eq(node->memory_limit_bytes, (16LL << 30) / 100 * 80 / (1 << 20) * (1 << 20));
    ck_assert_int_eq(node->shm_bytes % (1 << 20), 0);
    ck_assert_int_le(node->shm_bytes, node->memory_limit_bytes / 2);
    ck_assert_uint_eq(node->warning_count, 0);

    ath_auto_free char *body = body_text(&scene, ATH_DOCKER_RUNTIME);
    expect_in(body, "\"CpusetCpus\":\"0-7\"");
    expect_in(body, "\"CpusetMems\":\"0,255\"");
    expect_in(body, "\"CapDrop\":[\"ALL\"]");
    expect_in(body, "\"CapAdd\":[\"IPC_LOCK\",\"KILL\",\"SETGID\",\"SETUID\"]");
    expect_in(body, "\"PidsLimit\":16384");
    expect_in(body, "\"Ulimits\":[{\"Hard\":-1,\"Name\":\"memlock\",\"Soft\":-1}]");
    expect_in(body, "\"SecurityOpt\":[\"no-new-privileges\"]");
    expect_in(body, "\"ReadonlyRootfs\":true");
    expect_in(body, "\"RestartPolicy\":{\"Name\":\"on-failure\"}");
    expect_in(body, "\"Test\":[\"CMD\",\"aitherion-runtime\",\"health\",\"--server\","
                    "\"127.0.0.1:50051\"]");
    expect_in(body, "\"aitherion.numa\":\"0\"");
    expect_in(body, "\"aitherion.role\":\"runtime\"");
}

/* The kernel's list contains CPUs that are offline; Docker refuses a cpuset with them. */
TEST(uses_online_cpus)
{
    SCENE(scene);
    make_scene(&scene);
    struct ath_numa_node *kernel = ath_machine_find_node(&scene.machine, 0);
    kernel->has_cpus_online = true;
    ath_idset_add(&kernel->cpus_online, 0, 3);
    expect_set(&make_plan(&scene, HEAD "numa:\n" ENTRY)->cpus, "0-3");
}

/* numa=fake gives several nodes the same CPUs. Two entries of one node share them on purpose. */
LOOP_TEST(warns_of_shared_cpus, 0, 2)
{
    SCENE(scene);
    make_scene(&scene);
    add_node(&scene, 1, 4, 11);
    ath_auto_free char *text = ath_xasprintf(
        HEAD "numa:\n" ENTRY "    memory_percent: 50\n"
             "  - { id: 1, node: %d, memory_nodes: [0], memory_percent: 50, control_port: 1, "
             "data_port: 2 }\n",
        _i);
    make_plan(&scene, text);
    const struct ath_plan_warning *warning =
        warning_of(&scene.plan.nodes[1], ATH_PLAN_W_CPUS_SHARED);
    ck_assert_int_eq(warning != NULL, _i);
    ck_assert_ptr_null(warning_of(&scene.plan.nodes[0], ATH_PLAN_W_CPUS_SHARED));
}

/* NCCL's files may lack the CPUs; they are not offline. */
TEST(uses_all_cpus_if_they_are_unknown)
{
    SCENE(scene);
    make_scene(&scene);
    scene.machine.source = ATH_SOURCE_XML;
    struct ath_numa_node *kernel = ath_machine_find_node(&scene.machine, 0);
    ath_idset_free(&kernel->cpus);
    kernel->memory_total_bytes = ATH_UNKNOWN;
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY);
    ck_assert_ptr_nonnull(warning_of(node, ATH_PLAN_W_CPUS_UNKNOWN));
    ck_assert_uint_eq(node->cpus.range_count, 0);
    char **lines;
    size_t count;
    ath_run_lines(&scene.plan, node, "", &lines, &count);
    for (size_t i = 0; i < count; i++)
        ck_assert_ptr_null(strstr(lines[i], "--cpuset-cpus"));
    ath_names_free(lines, count);
}

TEST(reports_all_faults_at_once)
{
    SCENE(scene);
    make_scene(&scene);
    ath_texts_free(&scene.facts.devices);
    ath_texts_add(&scene.facts.devices, "/dev/nvidiactl");
    ath_auto_free char *faults =
        refused(&scene, HEAD "numa:\n"
                             "  - id: 0\n"
                             "    node: 0\n"
                             "    memory_percent: 0.1\n"
                             "    memory_nodes: [0, 255, 254]\n"
                             "    gpus: [\"0004:04:00.0\", \"0004:05:00.0\"]\n"
                             "    rdma_devices: [mlx5_0]\n"
                             "    control_port: 50051\n"
                             "    data_port: 5555\n");
    ck_assert_str_eq(faults, "6:21 memory-too-small\n"
                             "8:11 device-missing\n"
                             "8:12 device-missing\n"
                             "8:28 gpu-missing\n"
                             "9:20 device-missing\n");
    /* The document may have a list of GPUs, so the message names one. */
    ck_assert(has_message(&scene.faults, "the GPU 0004:04:00.0 has no device node"));
}

TEST(ignores_other_entries)
{
    SCENE(scene);
    make_scene(&scene);
    scene.ids[0] = 3;
    scene.options.id_count = 1;
    const char *text = HEAD "numa:\n"
                            "  - { id: 0, node: 77, control_port: 50051, data_port: 5555 }\n"
                            "  - { id: 3, node: 0, control_port: 50052, data_port: 5556 }\n"
                            "roce:\n  macvlans: [ { name: mv0, parent: nowhere, numa: 0 } ]\n"
                            "  cards: [ { pci: \"0009:01:00.0\", numa: [0] } ]\n";
    const struct ath_plan_node *node = make_plan(&scene, text);
    ck_assert_uint_eq(scene.plan.node_count, 1);
    ck_assert_str_eq(node->name, "aitherion-numa3");
}

TEST(refuses_a_missing_entry)
{
    SCENE(scene);
    make_scene(&scene);
    scene.ids[0] = 8;
    scene.options.id_count = 1;
    ck_assert_int_lt(try_plan(&scene, HEAD "numa:\n" ENTRY), 0);
    ck_assert_int_eq(scene.err.code, ATH_E_KEY_UNKNOWN);
    ck_assert_uint_eq(scene.faults.count, 0);
}

/* --- GPUs */

TEST(gpus_by_device_nodes)
{
    SCENE(scene);
    make_scene(&scene);
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY);
    ck_assert_int_eq(node->gpu_way, ATH_PLAN_GPU_NODES);
    ck_assert(has_device(node, "/dev/nvidia5"));
    ck_assert(!has_device(node, "/dev/nvidia0"));
    ck_assert(has_device(node, "/dev/nvidiactl"));
    ck_assert(has_device(node, "/dev/nvidia-uvm"));
    ck_assert(has_device(node, "/dev/nvidia-uvm-tools"));
    ck_assert(!has_device(node, "/dev/nvidia-modeset"));
    ck_assert_str_eq(source_of(node, ATH_LIBRARY_FOLDER "/libcuda.so.1"),
                     "/usr/lib64/libcuda.so.1");
    ck_assert_str_eq(variable(node, "LD_LIBRARY_PATH"), ATH_LIBRARY_FOLDER);
    ck_assert_str_eq(variable(node, "NVIDIA_VISIBLE_DEVICES"), "void");
}

static void add_cdi(struct scene *scene, const char *name, int minor)
{
    struct ath_cdi_device *device =
        ath_push(&scene->facts.cdi.devices, &scene->facts.cdi.count, sizeof *device);
    *device = (struct ath_cdi_device){ ath_xstrdup(name), minor };
}

TEST(gpus_by_cdi)
{
    SCENE(scene);
    make_scene(&scene);
    add_cdi(&scene, "nvidia.com/gpu=0", 5);
    scene.options.engine.has_cdi = true;
    scene.options.engine.has_nvidia_runtime = true;
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY);
    ck_assert_int_eq(node->gpu_way, ATH_PLAN_GPU_CDI);
    ck_assert_uint_eq(node->devices.count, 0);
    ck_assert_ptr_null(source_of(node, ATH_LIBRARY_FOLDER "/libcuda.so.1"));
    ath_auto_free char *body = body_text(&scene, ATH_DOCKER_RUNTIME);
    expect_in(body, "\"DeviceRequests\":[{\"DeviceIDs\":[\"nvidia.com/gpu=0\"],"
                    "\"Driver\":\"cdi\"}]");
    ck_assert_ptr_null(strstr(body, "\"Runtime\""));
    expect_in(body, "NVIDIA_VISIBLE_DEVICES=void");
}

TEST(warns_of_a_stale_cdi_specification)
{
    SCENE(scene);
    make_scene(&scene);
    add_cdi(&scene, "nvidia.com/gpu=GPU-5", ATH_UNKNOWN);
    scene.facts.cdi.driver_version = ath_xstrdup("470.1");
    scene.facts.cdi.file = ath_xstrdup("/etc/cdi/nvidia.yaml");
    scene.options.engine.has_cdi = true;
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY);
    const struct ath_plan_warning *warning = warning_of(node, ATH_PLAN_W_GPU_CDI_STALE);
    ck_assert_ptr_nonnull(warning);
    ck_assert_str_eq(warning->hint, "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml");
}

/* Device nodes are listed beside the runtime: systemd's daemon-reload removes those of a hook. */
TEST(gpus_by_nvidias_runtime)
{
    SCENE(scene);
    make_scene(&scene);
    scene.options.engine.has_nvidia_runtime = true;
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY);
    ck_assert_int_eq(node->gpu_way, ATH_PLAN_GPU_RUNTIME);
    ck_assert(has_device(node, "/dev/nvidia5"));
    ck_assert_str_eq(variable(node, "NVIDIA_VISIBLE_DEVICES"), "GPU-5");
    ck_assert_str_eq(variable(node, "NVIDIA_DRIVER_CAPABILITIES"), "compute,utility");
    ck_assert_ptr_null(source_of(node, ATH_LIBRARY_FOLDER "/libcuda.so.1"));
    ath_auto_free char *body = body_text(&scene, ATH_DOCKER_RUNTIME);
    expect_in(body, "\"Runtime\":\"nvidia\"");
}

TEST(gpus_by_nvidias_hook)
{
    SCENE(scene);
    make_scene(&scene);
    scene.facts.has_nvidia_hook = true;
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY);
    ck_assert_int_eq(node->gpu_way, ATH_PLAN_GPU_HOOK);
    ath_auto_free char *body = body_text(&scene, ATH_DOCKER_RUNTIME);
    expect_in(body, "\"DeviceRequests\":[{\"Capabilities\":[[\"gpu\"]],\"DeviceIDs\":[\"GPU-5\"],"
                    "\"Driver\":\"nvidia\"}]");
    expect_in(body, "/dev/nvidia5");
}

/* If the driver has not told the UUID, the GPU is named by nvidia-smi's number (by PCI address). */
TEST(gpus_by_number)
{
    SCENE(scene);
    make_scene(&scene);
    add_gpu(&scene, "0003:01:00.0", 0, ATH_UNKNOWN, 0);
    struct ath_pci pci;
    ck_assert_int_eq(ath_pci_parse("0004:04:00.0", &pci), 0);
    struct ath_gpu *gpu = ath_machine_find_gpu(&scene.machine, &pci);
    free(gpu->uuid);
    gpu->uuid = ath_xstrdup("GPU-\xff");
    scene.options.engine.has_nvidia_runtime = true;
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY);
    ck_assert_str_eq(variable(node, "NVIDIA_VISIBLE_DEVICES"), "1");
}

/* GPUs that CUDA cannot use, one reason each. */
static void other_vendor(struct scene *scene)
{
    scene->machine.gpus[0].vendor_id = ATH_VENDOR_AMD;
}

static void no_driver(struct scene *scene)
{
    scene->machine.gpus[0].knows_driver = true;
}

static void other_driver(struct scene *scene)
{
    scene->machine.gpus[0].knows_driver = true;
    scene->machine.gpus[0].driver = ath_xstrdup("vfio-pci");
}

static void fallen_off(struct scene *scene)
{
    scene->machine.gpus[0].is_lost = true;
}

static void memory_node_gone(struct scene *scene)
{
    scene->machine.gpus[0].memory_node = 254;
}

/* The driver has not said which node is the GPU's memory, and that memory is not there yet. */
static void memory_unknown(struct scene *scene)
{
    scene->machine.profile = "ac922";
    scene->machine.gpus[0].memory_node = ATH_UNKNOWN;
    ath_machine_find_node(&scene->machine, 255)->memory_total_bytes = 0;
}

static void all_cpus_offline(struct scene *scene)
{
    ath_machine_find_node(&scene->machine, 0)->has_cpus_online = true;
}

/* Only the memory of the GPU is left. */
static void memory_of_gpus_alone(struct scene *scene)
{
    ath_machine_find_node(&scene->machine, 0)->memory_total_bytes = 0;
}

static const struct {
    void (*spoil)(struct scene *scene);
    const char *faults;
} unusable[] = {
    { other_vendor, "7:12 gpu-vendor\n" },
    { no_driver, "7:12 gpu-without-driver\n" },
    { other_driver, "7:12 gpu-without-driver\n" },
    { fallen_off, "7:12 gpu-lost\n" },
    { memory_node_gone, "7:12 memory-node-missing\n" },
    { memory_unknown, "7:12 gpu-memory-unknown\n" },
    { all_cpus_offline, "5:11 node-cpus-offline\n" },
    { memory_of_gpus_alone, "6:19 memory-missing\n" },
};

LOOP_TEST(refuses_what_no_runtime_can_use, 0, ATH_COUNT(unusable))
{
    SCENE(scene);
    make_scene(&scene);
    unusable[_i].spoil(&scene);
    ath_auto_free char *faults = refused(&scene, HEAD "numa:\n" ENTRY);
    ck_assert_str_eq(faults, unusable[_i].faults);
}

/* A file that lstopo wrote does not say whose memory node 255 is, but the document has it. */
TEST(warns_of_gpu_memory_without_owner)
{
    SCENE(scene);
    make_scene(&scene);
    scene.machine.profile = "ac922";
    scene.machine.gpus[0].memory_node = ATH_UNKNOWN;
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY);
    expect_set(&node->memory_nodes, "0,255");
    ck_assert_ptr_nonnull(warning_of(node, ATH_PLAN_W_GPU_MEMORY_UNKNOWN));
}

/* The node of GPU memory that is offline may be gone altogether; start waits for it too. */
TEST(waits_for_gpu_memory_without_its_node)
{
    SCENE(scene);
    make_scene(&scene);
    scene.machine.gpus[0].memory_node = 254;
    scene.machine.gpus[0].memory_state = ATH_MEMORY_OFFLINE;
    const struct ath_plan_node *node =
        make_plan(&scene, HEAD "numa:\n"
                               "  - { id: 0, node: 0, memory_nodes: [0, 254], gpus: "
                               "[\"0004:04:00.0\"], control_port: 1, data_port: 2 }\n");
    ck_assert(ath_plan_node_waits(node));
    expect_set(&node->memory_nodes, "0,254");
}

TEST(waits_for_gpu_memory)
{
    SCENE(scene);
    make_scene(&scene);
    scene.machine.gpus[0].memory_state = ATH_MEMORY_OFFLINE;
    ath_machine_find_node(&scene.machine, 255)->memory_total_bytes = 0;
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY);
    ck_assert(ath_plan_node_waits(node));
    expect_set(&node->memory_nodes, "0,255");
    ck_assert_ptr_nonnull(warning_of(node, ATH_PLAN_W_GPU_MEMORY_OFFLINE));
}

TEST(simulated_gpus)
{
    SCENE(scene);
    make_scene(&scene);
    scene.options.is_sim = true;
    ath_texts_free(&scene.facts.devices);
    const struct ath_plan_node *node =
        make_plan(&scene, HEAD "numa:\n"
                               "  - { id: 0, node: 0, memory_nodes: [0, 250], gpus: "
                               "[\"0009:04:00.0\"], control_port: 1, data_port: 2 }\n");
    ck_assert_int_eq(node->gpu_way, ATH_PLAN_GPU_SIM);
    expect_set(&node->memory_nodes, "0");
    ck_assert_uint_eq(node->devices.count, 0);
    ath_auto_free char *command = words_of(&node->command);
    expect_in(command, " --sim ");
    ck_assert_ptr_null(strstr(command, "--gpus"));
}

/* --- memory */

TEST(warns_of_overcommitted_memory)
{
    SCENE(scene);
    make_scene(&scene);
    const struct ath_plan_node *node = make_plan(
        &scene, HEAD "numa:\n" ENTRY
                     "  - { id: 1, node: 0, memory_nodes: [0], control_port: 1, data_port: 2 }\n");
    ck_assert_uint_eq(node->warning_count, 1);
    ck_assert_str_eq(node->warnings[0].hint, "aitherion configure --set numa.0.memory_percent=50");
}

/* Limits are whole MiB, half of it is shared memory, and 64 MiB are the least. */
LOOP_TEST(memory_limits_are_exact, 0, 8)
{
    static const struct {
        int64_t total, limit, shm; /* MiB; limit 0: refused */
        const char *percent;
    } cases[] = {
        { 1000, 800, 400, "80" }, { 1000, 1000, 500, "100" }, { 64, 64, 32, "100" },
        { 128, 64, 32, "50" },    { 63, 0, 0, "100" },        { 127, 0, 0, "50" },
        { 131, 65, 32, "50" },    { 1001, 75, 37, "7.5" },
    };
    SCENE(scene);
    make_scene(&scene);
    ath_machine_find_node(&scene.machine, 0)->memory_total_bytes = cases[_i].total << 20;
    ath_auto_free char *text =
        ath_xasprintf(HEAD "numa:\n" ENTRY "    memory_percent: %s\n", cases[_i].percent);
    if (!cases[_i].limit) {
        ath_auto_free char *faults = refused(&scene, text);
        ck_assert_ptr_nonnull(strstr(faults, "memory-too-small"));
        return;
    }
    const struct ath_plan_node *node = make_plan(&scene, text);
    ck_assert_int_eq(node->memory_limit_bytes, cases[_i].limit << 20);
    ck_assert_int_eq(node->shm_bytes, cases[_i].shm << 20);
}

/* A cgroup's limit does not count memory that is reserved as huge pages. */
TEST(limits_the_memory_beside_huge_pages)
{
    SCENE(scene);
    make_scene(&scene);
    struct ath_numa_node *kernel = ath_machine_find_node(&scene.machine, 0);
    kernel->memory_total_bytes = 124LL << 30;
    struct ath_hugepages *pages =
        ath_push(&kernel->hugepages, &kernel->hugepage_count, sizeof *pages);
    *pages = (struct ath_hugepages){ .size_bytes = 1 << 30, .total = 114, .free = 114 };
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY);
    ck_assert_int_eq(node->memory_limit_bytes, 8LL << 30);
    ck_assert(node->has_huge_pages);
}

TEST(refuses_a_node_full_of_huge_pages)
{
    SCENE(scene);
    make_scene(&scene);
    struct ath_numa_node *kernel = ath_machine_find_node(&scene.machine, 0);
    struct ath_hugepages *pages =
        ath_push(&kernel->hugepages, &kernel->hugepage_count, sizeof *pages);
    *pages = (struct ath_hugepages){ .size_bytes = 1 << 30, .total = 16, .free = 0 };
    ath_auto_free char *faults = refused(&scene, HEAD "numa:\n" ENTRY);
    ck_assert_str_eq(faults, "4:5 memory-too-small\n");
}

/* Entries of a node may promise all of its memory, and no more. */
LOOP_TEST(promises_reach_up_to_all, 0, 3)
{
    static const char *const percents[] = { "50", "50.5", "49" };
    SCENE(scene);
    make_scene(&scene);
    ath_auto_free char *text = ath_xasprintf(
        HEAD "numa:\n" ENTRY "    memory_percent: 50\n"
             "  - { id: 1, node: 0, memory_nodes: [0], control_port: 1, data_port: 2, "
             "memory_percent: %s }\n",
        percents[_i]);
    const struct ath_plan_node *node = make_plan(&scene, text);
    ck_assert_int_eq(warning_of(node, ATH_PLAN_W_OVERCOMMITTED) != NULL, _i == 1);
}

TEST(leaves_out_nodes_without_memory)
{
    SCENE(scene);
    make_scene(&scene);
    ath_machine_find_node(&scene.machine, 0)->memory_total_bytes = 0;
    add_node(&scene, 1, 8, 15);
    const struct ath_plan_node *node =
        make_plan(&scene, HEAD "numa:\n  - { id: 0, node: 0, memory_nodes: [1], control_port: 1, "
                               "data_port: 2 }\n");
    expect_set(&node->memory_nodes, "1");
    ck_assert_ptr_nonnull(warning_of(node, ATH_PLAN_W_MEMORY_NODE_EMPTY));
    ck_assert_int_eq(node->memory_limit_bytes, ATH_UNKNOWN);
    ath_auto_free char *body = body_text(&scene, ATH_DOCKER_RUNTIME);
    ck_assert_ptr_null(strstr(body, "\"Memory\""));
}

TEST(warns_of_a_cgroup_without_gpu_memory)
{
    SCENE(scene);
    make_scene(&scene);
    scene.facts.cgroup_version = 1;
    add_node(&scene, 2, 8, 15);
    add_node(&scene, 3, 16, 23)->memory_total_bytes =
        0; /* the kernel refuses a list with this node */
    add_node(&scene, 4, 24, 31)->memory_total_bytes = ATH_UNKNOWN;
    struct ath_plan_cgroup *cgroup =
        ath_push(&scene.facts.cgroups, &scene.facts.cgroup_count, sizeof *cgroup);
    cgroup->path = ath_xstrdup("/sys/fs/cgroup/cpuset/docker/cpuset.mems");
    ath_idset_add(&cgroup->memory_nodes, 0, 0);
    ath_idset_add(&cgroup->memory_nodes, 5, 5); /* the cgroup keeps a node that is new */
    const struct ath_plan_warning *warning =
        warning_of(make_plan(&scene, HEAD "numa:\n" ENTRY), ATH_PLAN_W_CGROUP_MEMS_SHORT);
    ck_assert_ptr_nonnull(warning);
    ck_assert_str_eq(warning->hint, "echo 0,2,5,255 > /sys/fs/cgroup/cpuset/docker/cpuset.mems");
}

/* --- network */

#define CONTROL "    control_iface: eth0\n"

TEST(publishes_on_the_control_interface)
{
    SCENE(scene);
    make_scene(&scene);
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY CONTROL);
    ck_assert_int_eq(node->network, ATH_PLAN_BRIDGE);
    ck_assert_str_eq(node->listen_address, "0.0.0.0");
    ath_auto_free char *body = body_text(&scene, ATH_DOCKER_RUNTIME);
    expect_in(body, "\"50051/tcp\":[{\"HostIp\":\"10.0.0.11\",\"HostPort\":\"50051\"}]");
    expect_in(body, "\"ExposedPorts\":{\"50051/tcp\":{}}");
    ck_assert_ptr_null(strstr(body, "5555")); /* no data interface */
    expect_in(body, "\"Hostname\":\"aitherion-numa0\"");
    ck_assert_ptr_null(ath_docker_body(node, "i", ATH_DOCKER_PAUSE));
}

/* Only ports that the runtime listens on are published. The metrics have the control connections'
 * address. */
LOOP_TEST(publishes_what_listens, 0, 5)
{
    static const struct {
        const char *keys, *address;
        int metrics;
        const char *metrics_address; /* NULL: the same */
    } cases[] = {
        { "", "127.0.0.1", ATH_UNKNOWN, NULL },
        { "    control_iface: eth0\n", "10.0.0.11", ATH_UNKNOWN, NULL },
        { "    metrics: 9400\n", "127.0.0.1", 9400, NULL },
        { "    control_iface: eth0\n    metrics: 127.0.0.1:9400\n", "10.0.0.11", 9400,
          "127.0.0.1" },
        { "    metrics: \"[::1]:9400\"\n", "127.0.0.1", 9400, "::1" },
    };
    SCENE(scene);
    make_scene(&scene);
    ath_auto_free char *text = ath_xasprintf(HEAD "numa:\n" ENTRY "%s", cases[_i].keys);
    const struct ath_plan_node *node = make_plan(&scene, text);
    bool has_metrics = cases[_i].metrics != ATH_UNKNOWN;
    ck_assert_uint_eq(node->port_count, has_metrics ? 2 : 1);
    for (size_t i = 0; i < node->port_count; i++) {
        ck_assert_str_eq(node->ports[i].purpose, i ? "metrics" : "control");
        ck_assert_str_eq(node->ports[i].host_address, i && cases[_i].metrics_address
                                                          ? cases[_i].metrics_address
                                                          : cases[_i].address);
        ck_assert_str_eq(node->ports[i].protocol, "tcp");
        ck_assert_int_eq(node->ports[i].port, i ? cases[_i].metrics : 50051);
    }
    ath_auto_free char *command = words_of(&node->command);
    ath_auto_free char *wanted = ath_xasprintf("--metrics 0.0.0.0:%d", cases[_i].metrics);
    ck_assert_int_eq(strstr(command, wanted) != NULL, has_metrics);
    ck_assert_int_eq(strstr(command, "--metrics") != NULL, has_metrics);
}

TEST(serves_metrics_on_the_control_address)
{
    SCENE(scene);
    make_scene(&scene);
    const struct ath_plan_node *node = make_plan(
        &scene, HEAD "engine: { network: host }\nnuma:\n" ENTRY CONTROL "    metrics: 9400\n");
    ath_auto_free char *command = words_of(&node->command);
    expect_in(command, "--metrics 10.0.0.11:9400");
}

TEST(serves_metrics_on_their_own_address)
{
    SCENE(scene);
    make_scene(&scene);
    const struct ath_plan_node *node =
        make_plan(&scene, HEAD "engine: { network: host }\nnuma:\n" ENTRY CONTROL
                               "    metrics: \"[::1]:9400\"\n");
    ath_auto_free char *command = words_of(&node->command);
    expect_in(command, "--listen 10.0.0.11:50051");
    expect_in(command, "--metrics [::1]:9400");
}

TEST(publishes_on_loopback_by_default)
{
    SCENE(scene);
    make_scene(&scene);
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY);
    ck_assert_str_eq(node->ports[0].host_address, "127.0.0.1");
    ck_assert_ptr_null(warning_of(node, ATH_PLAN_W_ADDRESS_MISSING));
}

TEST(warns_of_a_control_interface_without_address)
{
    SCENE(scene);
    make_scene(&scene);
    const struct ath_plan_node *node =
        make_plan(&scene, HEAD "numa:\n" ENTRY "    control_iface: eth1\n");
    ck_assert_str_eq(node->ports[0].host_address, "127.0.0.1");
    ck_assert_ptr_nonnull(warning_of(node, ATH_PLAN_W_ADDRESS_MISSING));
}

TEST(uses_the_hosts_network)
{
    SCENE(scene);
    make_scene(&scene);
    scene.options.engine.has_bridge = false;
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY CONTROL);
    ck_assert_int_eq(node->network, ATH_PLAN_HOST);
    ck_assert_str_eq(node->listen_address, "10.0.0.11");
    ck_assert_uint_eq(node->port_count, 0);
    ath_auto_free char *body = body_text(&scene, ATH_DOCKER_RUNTIME);
    expect_in(body, "\"NetworkMode\":\"host\"");
    expect_in(body, "10.0.0.11:50051");
    ck_assert_ptr_null(strstr(body, "PortBindings"));
}

TEST(publishes_on_ipv6_addresses)
{
    SCENE(scene);
    make_scene(&scene);
    free(scene.facts.addresses[0].address);
    scene.facts.addresses[0].address = ath_xstrdup("fd00::1");
    make_plan(&scene, HEAD "engine: { network: host }\nnuma:\n" ENTRY CONTROL);
    ath_auto_free char *command = words_of(&scene.plan.nodes[0].command);
    expect_in(command, "--listen [fd00::1]:50051");
}

#define MACVLAN                                                                                    \
    "roce:\n  macvlans:\n"                                                                         \
    "    - { name: mv0, parent: eth1, numa: 0, address: 192.168.1.2/24, mtu: 9000 }\n"
#define RDMA "    rdma_devices: [mlx5_0]\n"

TEST(gives_a_macvlan_a_pause_container)
{
    SCENE(scene);
    make_scene(&scene);
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY CONTROL RDMA MACVLAN);
    ck_assert_int_eq(node->network, ATH_PLAN_PAUSE);
    ck_assert_str_eq(node->pause_name, "aitherion-numa0-net");
    ck_assert_uint_eq(node->port_count, 1);
    ck_assert_str_eq(node->rdma[0].link, "mv0");
    ck_assert_int_eq(node->rdma[0].gid_index, ATH_UNKNOWN);
    ck_assert_uint_eq(node->warning_count, 0);

    ath_auto_free char *pause = body_text(&scene, ATH_DOCKER_PAUSE);
    expect_in(pause, "\"NetworkMode\":\"bridge\"");
    expect_in(pause, "\"50051/tcp\":[{\"HostIp\":\"10.0.0.11\"");
    expect_in(pause, "\"aitherion.role\":\"pause\"");
    expect_in(pause, "\"Cmd\":[\"pause\"]");
    ath_auto_free char *runtime = body_text(&scene, ATH_DOCKER_RUNTIME);
    expect_in(runtime, "\"NetworkMode\":\"container:aitherion-numa0-net\"");
    /* Docker refuses these together with a container's network. */
    ck_assert_ptr_null(strstr(runtime, "PortBindings"));
    ck_assert_ptr_null(strstr(runtime, "ExposedPorts"));
    ck_assert_ptr_null(strstr(runtime, "Hostname"));
}

/* --- data addresses */

_Static_assert((int)ATH_DATA_INTERFACES_MAX <= (int)ATH_RUNTIME_LIST_MAX,
               "a document has more data interfaces than the runtime takes");

static char *commas_of(const struct ath_texts *texts)
{
    struct ath_text text = { 0 };
    for (size_t i = 0; i < texts->count; i++)
        ath_text_add_part(&text, ",", "%s", texts->items[i]);
    return text.data ? ath_text_take(&text) : ath_xstrdup("");
}

#define ONE "    data_iface: eth1\n"
#define TWO "    data_iface: [eth1, eth2]\n"
#define SIX_MACVLAN                                                                                \
    "roce:\n  macvlans:\n    - { name: mv0, parent: eth1, numa: 0, address: \"fd00::5/64\" }\n"
#define MACVLANS                                                                                   \
    BARE_MACVLAN                                                                                   \
    "    - { name: mv1, parent: eth1, numa: 0, address: 192.168.1.2/24 }\n"                        \
    "    - { name: mv2, parent: eth1, numa: 0, address: 192.168.1.3/24 }\n"
#define BARE_MACVLAN "roce:\n  macvlans:\n    - { name: mv0, parent: eth1, numa: 0 }\n"

/* The addresses at which a runtime listens for large copies, and those that programs get. */
static const struct {
    const char *head, *keys, *roce;
    bool is_process, has_bridge;
    const char *listen, *addresses, *published;
    bool is_warned;
} data_cases[] = {
    { "", "", "", false, true, "", "", "", false },
    { "", ONE, "", false, true, "0.0.0.0:5555", "10.0.1.12:5555", "10.0.1.12", false },
    { "", TWO, "", false, true, "0.0.0.0:5555", "10.0.1.12:5555,[fd00::2]:5555",
      "10.0.1.12,fd00::2", false },
    { "engine: { network: host }\n", TWO, "", false, true, "10.0.1.12:5555,[fd00::2]:5555",
      "10.0.1.12:5555,[fd00::2]:5555", "", false },
    { "", TWO, "", true, false, "10.0.1.12:5555,[fd00::2]:5555", "10.0.1.12:5555,[fd00::2]:5555",
      "", false },
    /* An interface without an address is left out; without any there is no data address. */
    { "", "    data_iface: [eth3, eth1]\n", "", false, true, "0.0.0.0:5555", "10.0.1.12:5555",
      "10.0.1.12", true },
    { "engine: { network: host }\n", "    data_iface: eth3\n", "", false, true, "", "", "", true },
    /* The traffic of an interface with a macvlan is the macvlan's. */
    { "", "    data_iface: mv0\n", MACVLAN, false, true, "0.0.0.0:5555", "192.168.1.2:5555", "",
      false },
    { "", "    data_iface: [eth1, mv0]\n", MACVLAN, false, true, "0.0.0.0:5555", "192.168.1.2:5555",
      "", false },
    { "", TWO, MACVLAN, false, true, "0.0.0.0:5555", "192.168.1.2:5555,[fd00::2]:5555", "fd00::2",
      false },
    { "", TWO, MACVLAN, false, false, "0.0.0.0:5555", "192.168.1.2:5555", "", true },
    { "", TWO, MACVLAN, true, false, "0.0.0.0:5555", "192.168.1.2:5555", "", true },
    { "", ONE, SIX_MACVLAN, true, false, "[fd00::5]:5555", "[fd00::5]:5555", "", false },
    { "", "    data_iface: mv0\n", BARE_MACVLAN, false, true, "", "", "", true },
    { "", ONE, BARE_MACVLAN, false, true, "0.0.0.0:5555", "10.0.1.12:5555", "10.0.1.12", false },
    /* The first macvlan that has an address counts, unless one is named. */
    { "", ONE, MACVLANS, false, true, "0.0.0.0:5555", "192.168.1.2:5555", "", false },
    { "", "    data_iface: mv2\n", MACVLANS, false, true, "0.0.0.0:5555", "192.168.1.3:5555", "",
      false },
};

LOOP_TEST(listens_for_large_copies, 0, ATH_COUNT(data_cases))
{
    SCENE(scene);
    make_scene(&scene);
    add_nic(&scene, "eth2", NULL);
    add_nic(&scene, "eth3", NULL);
    add_address(&scene, "eth1", "10.0.1.12");
    add_address(&scene, "eth2", "fd00::2");
    scene.options.is_process = data_cases[_i].is_process;
    scene.options.engine.has_bridge = data_cases[_i].has_bridge;
    ath_auto_free char *text =
        ath_xasprintf(HEAD "%snuma:\n" ENTRY CONTROL "%s%s", data_cases[_i].head,
                      data_cases[_i].keys, data_cases[_i].roce);
    const struct ath_plan_node *node = make_plan(&scene, text);
    ath_auto_free char *listen = commas_of(&node->data_listen);
    ath_auto_free char *addresses = commas_of(&node->data_addresses);
    ck_assert_str_eq(listen, data_cases[_i].listen);
    ck_assert_str_eq(addresses, data_cases[_i].addresses);
    ck_assert_int_eq(node->data_port, *listen ? 5555 : ATH_UNKNOWN);
    ck_assert_int_eq(warning_of(node, ATH_PLAN_W_DATA_ADDRESS_MISSING) != NULL,
                     data_cases[_i].is_warned);

    ATH_AUTO(ath_text) published = { 0 };
    for (size_t i = 0; i < node->port_count; i++)
        if (!strcmp(node->ports[i].purpose, "data")) {
            ck_assert_int_eq(node->ports[i].port, 5555);
            ath_text_add_part(&published, ",", "%s", node->ports[i].host_address);
        }
    ck_assert_str_eq(published.data ? published.data : "", data_cases[_i].published);
}

/* The command and the variables follow; on the host's network programs get the addresses at which
 * the runtime listens. */
LOOP_TEST(tells_the_runtime_its_data_addresses, 0, 3)
{
    static const char *const heads[] = { "", "engine: { network: host }\n", "" };
    SCENE(scene);
    make_scene(&scene);
    add_nic(&scene, "eth2", NULL);
    add_address(&scene, "eth1", "10.0.1.12");
    add_address(&scene, "eth2", "10.0.2.12");
    bool is_bridge = _i == 0, has_data = _i < 2;
    ath_auto_free char *text =
        ath_xasprintf(HEAD "%snuma:\n" ENTRY CONTROL "%s", heads[_i], has_data ? TWO : "");
    const struct ath_plan_node *node = make_plan(&scene, text);
    ath_auto_free char *command = words_of(&node->command);
    ck_assert_int_eq(strstr(command, "--data-listen") != NULL, has_data);
    ck_assert_int_eq(strstr(command, "--data-address") != NULL, is_bridge);
    if (is_bridge)
        expect_in(command, "--data-listen 0.0.0.0:5555 "
                           "--data-address 10.0.1.12:5555,10.0.2.12:5555");
    else if (has_data)
        expect_in(command, "--data-listen 10.0.1.12:5555,10.0.2.12:5555");
    if (has_data) {
        ck_assert_str_eq(variable(node, "DATA_IFACE"), "eth1,eth2");
        ck_assert_str_eq(variable(node, "ZMQ_PORT"), "5555");
    } else {
        ck_assert_ptr_null(variable(node, "DATA_IFACE"));
        ck_assert_ptr_null(variable(node, "ZMQ_PORT"));
    }
    ath_auto_free char *body = body_text(&scene, ATH_DOCKER_RUNTIME);
    if (is_bridge) {
        expect_in(body, "\"5555/tcp\":[{\"HostIp\":\"10.0.1.12\",\"HostPort\":\"5555\"},"
                        "{\"HostIp\":\"10.0.2.12\",\"HostPort\":\"5555\"}]");
        expect_in(body, "\"ExposedPorts\":{\"50051/tcp\":{},\"5555/tcp\":{}}");
    }
}

/* Docker publishes each protocol of a port. UDP comes to the ports of large copies, without these
 * to that of the calls, and to none that only a macvlan reaches. */
LOOP_TEST(publishes_udp, 0, 4)
{
    static const struct {
        const char *head, *keys, *roce;
        const char *published;
    } cases[] = {
        { "", TWO, "",
          "control tcp 10.0.0.11:50051, data tcp 10.0.1.12:5555, data tcp 10.0.2.12:5555, "
          "data udp 10.0.1.12:5555, data udp 10.0.2.12:5555" },
        { "", "", "", "control tcp 10.0.0.11:50051, data udp 10.0.0.11:50051" },
        { "engine: { network: host }\n", "", "", "" },
        { "", ONE, MACVLAN, "control tcp 10.0.0.11:50051" },
    };
    SCENE(scene);
    make_scene(&scene);
    add_nic(&scene, "eth2", NULL);
    add_address(&scene, "eth0", "10.0.0.11");
    add_address(&scene, "eth1", "10.0.1.12");
    add_address(&scene, "eth2", "10.0.2.12");
    ath_auto_free char *text = ath_xasprintf(HEAD "udp: on\n%snuma:\n" ENTRY CONTROL "%s%s",
                                             cases[_i].head, cases[_i].keys, cases[_i].roce);
    const struct ath_plan_node *node = make_plan(&scene, text);
    ATH_AUTO(ath_text) published = { 0 };
    for (size_t i = 0; i < node->port_count; i++)
        ath_text_add_part(&published, ", ", "%s %s %s:%d", node->ports[i].purpose,
                          node->ports[i].protocol, node->ports[i].host_address,
                          node->ports[i].port);
    ck_assert_str_eq(published.data ? published.data : "", cases[_i].published);
    ath_auto_free char *body = body_text(&scene, ATH_DOCKER_RUNTIME);
    if (!_i) {
        expect_in(body, "\"5555/udp\":[{\"HostIp\":\"10.0.1.12\",\"HostPort\":\"5555\"},"
                        "{\"HostIp\":\"10.0.2.12\",\"HostPort\":\"5555\"}]");
        expect_in(body, "\"ExposedPorts\":{\"50051/tcp\":{},\"5555/tcp\":{},\"5555/udp\":{}}");
    }
}

/* --- RDMA */

/* A device without a node for programs is a fault only if the host says which nodes there are. */
LOOP_TEST(device_nodes_of_rdma, 0, 4)
{
    static const struct {
        const char *verbs; /* NULL: the host names no node for the device */
        bool knows_verbs;
        const char *faults;
    } cases[] = {
        { "uverbs2", true, NULL },
        { "uverbs9", true, "device-missing" },
        { NULL, true, "device-missing" },
        { NULL, false, NULL },
    };
    SCENE(scene);
    make_scene(&scene);
    free(scene.facts.verbs[0].name);
    scene.facts.verbs[0].name = ath_xstrdup(cases[_i].verbs);
    scene.facts.verbs_count = cases[_i].verbs ? 1 : 0;
    scene.facts.knows_verbs = cases[_i].knows_verbs;
    if (!cases[_i].verbs) {
        free(scene.facts.verbs[0].rdma_device);
        free(scene.facts.verbs);
        scene.facts.verbs = NULL;
    }
    const char *text = HEAD "engine: { network: host }\nnuma:\n" ENTRY RDMA;
    if (cases[_i].faults) {
        ath_auto_free char *faults = refused(&scene, text);
        ck_assert_ptr_nonnull(strstr(faults, cases[_i].faults));
    } else {
        const struct ath_plan_node *node = make_plan(&scene, text);
        ck_assert_int_eq(has_device(node, "/dev/infiniband/uverbs2"), cases[_i].verbs != NULL);
    }
}

TEST(rdma_on_the_hosts_network)
{
    SCENE(scene);
    make_scene(&scene);
    const struct ath_plan_node *node =
        make_plan(&scene, HEAD "engine: { network: host }\nnuma:\n" ENTRY RDMA);
    ck_assert(has_device(node, "/dev/infiniband/uverbs2"));
    ck_assert(has_device(node, "/dev/infiniband/rdma_cm"));
    ck_assert(!has_device(node, "/dev/infiniband/umad0"));
    ck_assert_uint_eq(node->rdma_count, 1);
    ck_assert_int_eq(node->rdma[0].gid_index, 3);
    ck_assert_str_eq(source_of(node, ATH_LIBRARY_FOLDER "/libibverbs.so.1"),
                     "/usr/lib64/libibverbs.so.1");
    ck_assert_ptr_nonnull(source_of(node, "/usr/lib64/libibverbs"));
    ck_assert_uint_eq(node->warning_count, 0);
}

/* A variable that nothing in the container reads would promise something. */
TEST(has_only_variables_that_are_read)
{
    static const char *const unread[] = {
        "ENABLE_RDMA", "RDMA_DEVICES", "RDMA_GID_INDEX", "AITHERION_NODE", "AITHERION_MEMORY_NODES",
    };
    SCENE(scene);
    make_scene(&scene);
    const struct ath_plan_node *node =
        make_plan(&scene, HEAD "numa:\n" ENTRY CONTROL "    data_iface: eth1\n" RDMA);
    for (size_t i = 0; i < ATH_COUNT(unread); i++)
        for (size_t j = 0; j < node->environment.count; j++)
            ck_assert_str_ne(node->environment.items[j].name, unread[i]);
}

TEST(rdma_without_a_link_in_the_container)
{
    SCENE(scene);
    make_scene(&scene);
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY RDMA);
    ck_assert_ptr_nonnull(warning_of(node, ATH_PLAN_W_RDMA_NO_LINK));
}

/* A port whose link is elsewhere, and Amazon's EFA, which needs no link. */
LOOP_TEST(proposes_no_macvlan_without_a_link, 0, 2)
{
    SCENE(scene);
    make_scene(&scene);
    struct ath_nic *nic = ath_machine_nic_by_rdma(&scene.machine, "mlx5_0");
    free(nic->netdev);
    nic->netdev = NULL;
    if (_i) {
        nic->link_layer = ATH_LAYER_UNKNOWN;
        nic->has_roce = false;
        nic->best_gid_index = ATH_UNKNOWN;
    }
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY RDMA);
    const struct ath_plan_warning *warning = warning_of(node, ATH_PLAN_W_RDMA_NO_LINK);
    ck_assert_int_eq(warning != NULL, !_i);
    if (warning)
        ck_assert_str_eq(warning->hint, "aitherion configure --set engine.network=host");
    ck_assert_ptr_null(warning_of(node, ATH_PLAN_W_RDMA_NO_GID));
}

TEST(warns_of_a_macvlan_on_another_port)
{
    SCENE(scene);
    make_scene(&scene);
    add_nic(&scene, "eth2", "mlx5_1");
    add_verbs(&scene, "uverbs3", "mlx5_1");
    ath_texts_add(&scene.facts.devices, "/dev/infiniband/uverbs3");
    const struct ath_plan_node *node =
        make_plan(&scene, HEAD "numa:\n" ENTRY "    rdma_devices: [mlx5_0, mlx5_1]\n" MACVLAN);
    const struct ath_plan_warning *warning = warning_of(node, ATH_PLAN_W_RDMA_NO_LINK);
    ck_assert_ptr_nonnull(warning);
    ck_assert_str_eq(warning->object, "mlx5_1");
    ck_assert_str_eq(node->rdma[0].link, "mv0");
}

TEST(warns_of_a_link_without_gid)
{
    SCENE(scene);
    make_scene(&scene);
    ath_machine_nic_by_rdma(&scene.machine, "mlx5_0")->best_gid_index = ATH_UNKNOWN;
    const struct ath_plan_node *node =
        make_plan(&scene, HEAD "engine: { network: host }\nnuma:\n" ENTRY RDMA);
    ck_assert_ptr_nonnull(warning_of(node, ATH_PLAN_W_RDMA_NO_GID));
    ck_assert_int_eq(node->rdma[0].gid_index, ATH_UNKNOWN);
}

TEST(warns_of_exclusive_rdma_namespaces)
{
    SCENE(scene);
    make_scene(&scene);
    scene.facts.rdma_netns_mode = ATH_RDMA_NETNS_EXCLUSIVE;
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY RDMA MACVLAN);
    ck_assert_ptr_nonnull(warning_of(node, ATH_PLAN_W_RDMA_EXCLUSIVE));
}

TEST(accepts_a_macvlan_on_infiniband)
{
    SCENE(scene);
    make_scene(&scene);
    ath_machine_nic_by_netdev(&scene.machine, "eth1")->link_layer = ATH_LAYER_INFINIBAND;
    ath_auto_free char *faults = refused(&scene, HEAD "numa:\n" ENTRY RDMA MACVLAN);
    ck_assert_str_eq(faults, "13:28 parent-infiniband\n");
}

TEST(warns_of_a_rootless_docker)
{
    SCENE(scene);
    make_scene(&scene);
    scene.options.engine.is_rootless = true;
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY RDMA MACVLAN);
    ck_assert(!node->has_memlock);
    ck_assert_uint_eq(node->warning_count, 2);
    ck_assert_ptr_nonnull(warning_of(node, ATH_PLAN_W_ROOTLESS));
    ck_assert_ptr_nonnull(warning_of(node, ATH_PLAN_W_MEMLOCK));
    ath_auto_free char *body = body_text(&scene, ATH_DOCKER_RUNTIME);
    ck_assert_ptr_null(strstr(body, "Ulimits"));
}

/* Simulated GPUs lock no memory, so a Docker that may not raise limits is enough. */
TEST(raises_memlock_only_if_needed)
{
    SCENE(scene);
    make_scene(&scene);
    scene.options.is_sim = true;
    ck_assert(!make_plan(&scene, HEAD "numa:\n" ENTRY)->has_memlock);
    ath_auto_free char *body = body_text(&scene, ATH_DOCKER_RUNTIME);
    ck_assert_ptr_null(strstr(body, "Ulimits"));
    expect_in(body, "\"CapAdd\":[\"KILL\",\"SETGID\",\"SETUID\"]");
}

TEST(warns_of_a_docker_with_fixed_limits)
{
    SCENE(scene);
    make_scene(&scene);
    scene.options.engine.is_limited = true;
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY RDMA MACVLAN);
    ck_assert(!node->has_memlock);
    ck_assert_uint_eq(node->warning_count, 1);
    ck_assert_int_eq(node->warnings[0].code, ATH_PLAN_W_MEMLOCK);
}

TEST(plans_a_process)
{
    SCENE(scene);
    make_scene(&scene);
    scene.options.is_process = true;
    scene.options.run_folder = "/tmp/run";
    scene.options.key_path = "/home/me/key";
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY CONTROL);
    ck_assert_ptr_null(scene.plan.image);
    ck_assert_uint_eq(node->mount_count, 0);
    ck_assert_int_eq(node->network, ATH_PLAN_HOST);
    ath_auto_free char *command = words_of(&node->command);
    ck_assert_str_eq(command, "aitherion-runtime serve --listen 10.0.0.11:50051 --socket "
                              "/tmp/run/numa0/runtime.sock --key /home/me/key --gpus 0004:04:00.0 "
                              "--vram-fraction 0.8");
}

/* A folder is mounted whole, so that the runtime sees keys that are added and removed. A key that
 * becomes a folder is another plan. */
LOOP_TEST(plans_a_folder_of_keys, 0, 2)
{
    SCENE(scene);
    make_scene(&scene);
    scene.options.is_process = _i;
    scene.options.key_path = "/etc/aitherion/key";
    scene.options.is_key_folder = true;
    const struct ath_plan_node *node = make_plan(&scene, HEAD "numa:\n" ENTRY CONTROL);
    ath_auto_free char *command = words_of(&node->command);
    ck_assert_ptr_nonnull(
        strstr(command, _i ? " --key /etc/aitherion/key/ " : " --key /run/aitherion/keys "));
    if (!_i)
        ck_assert_str_eq(source_of(node, "/run/aitherion/keys"), "/etc/aitherion/key");
    ck_assert_ptr_null(source_of(node, "/run/aitherion/key"));
}

/* --- bodies and lines */

TEST(fingerprints_differ_with_plans)
{
    SCENE(one);
    SCENE(same);
    SCENE(other);
    struct scene *scenes[] = { &one, &same, &other };
    char *prints[3];
    for (int i = 0; i < 3; i++) {
        make_scene(scenes[i]);
        make_plan(scenes[i], i == 2 ? HEAD "numa:\n" ENTRY "    memory_percent: 79.0\n"
                                    : HEAD "numa:\n" ENTRY);
        prints[i] = ath_docker_fingerprint(&scenes[i]->plan.nodes[0], "i", ATH_DOCKER_RUNTIME);
    }
    ck_assert_str_eq(prints[0], prints[1]);
    ck_assert_str_ne(prints[0], prints[2]);
    ck_assert_uint_eq(strlen(prints[0]), 16);
    for (int i = 0; i < 3; i++)
        free(prints[i]);
    ck_assert_ptr_null(ath_docker_fingerprint(&one.plan.nodes[0], "i", ATH_DOCKER_PAUSE));
}

/* The memory limit and the share of GPU memory change while a runtime runs; all else needs a
 * restart. */
TEST(bases_ignore_what_can_be_changed)
{
    static const char *const changes[] = { "memory_percent: 79.0", "vram_fraction: 0.31" };
    SCENE(one);
    make_scene(&one);
    make_plan(&one, HEAD "numa:\n" ENTRY);
    ath_auto_free char *base = ath_docker_base(&one.plan.nodes[0], "i");
    for (size_t i = 0; i < ATH_COUNT(changes); i++) {
        SCENE(other);
        make_scene(&other);
        ath_auto_free char *text = ath_xasprintf(HEAD "numa:\n" ENTRY "    %s\n", changes[i]);
        make_plan(&other, text);
        ath_auto_free char *changed = ath_docker_base(&other.plan.nodes[0], "i");
        ath_auto_free char *full =
            ath_docker_fingerprint(&other.plan.nodes[0], "i", ATH_DOCKER_RUNTIME);
        ath_auto_free char *before =
            ath_docker_fingerprint(&one.plan.nodes[0], "i", ATH_DOCKER_RUNTIME);
        ck_assert_str_ne(full, before);
        ck_assert_str_eq(base, changed);
    }
    ath_auto_free char *other_image = ath_docker_base(&one.plan.nodes[0], "j");
    ck_assert_str_ne(base, other_image);
}

/* Keys of the whole document reach the server in both engines, and a change needs a restart. A
 * default adds nothing, so a runtime that was started before these keys existed is as planned. */
LOOP_TEST(plans_settings_of_the_document, 0, 2)
{
    SCENE(plain);
    SCENE(same);
    SCENE(other);
    struct scene *scenes[] = { &plain, &same, &other };
    static const char *const more[] = {
        "",
        "encrypt: auto\nsharing: auto\nlog_level: info\nudp: off\nlimits: "
        "{sessions_per_source: 256, host_fraction: 0.50}\n",
        "encrypt: 'off'\nsharing: turns\nlog_level: error\nudp: on\nlimits: "
        "{sessions_per_source: 7, host_fraction: 0.25}\n"
    };
    char *bases[ATH_COUNT(scenes)], *command = NULL;
    for (size_t i = 0; i < ATH_COUNT(scenes); i++) {
        make_scene(scenes[i]);
        scenes[i]->options.is_process = _i;
        ath_auto_free char *text = ath_xasprintf(HEAD "%snuma:\n" ENTRY, more[i]);
        const struct ath_plan_node *node = make_plan(scenes[i], text);
        bases[i] = ath_docker_base(node, "i");
        free(command);
        command = words_of(&node->command);
        ck_assert_uint_eq(node->settings.count, i == 2 ? 6 : 0);
    }
    ck_assert_str_eq(bases[0], bases[1]);
    ck_assert_str_ne(bases[0], bases[2]);
    ck_assert_ptr_nonnull(strstr(command,
                                 " --encrypt off --sharing turns --log-level error --udp on "
                                 "--sessions-per-source 7 --host-fraction 0.25"));
    const struct ath_plan_node *node = &other.plan.nodes[0];
    ck_assert_str_eq(pair_of(&node->environment, "AITHERION_ENCRYPT"), "off");
    ck_assert_str_eq(pair_of(&node->environment, "AITHERION_SHARING"), "turns");
    ck_assert_str_eq(pair_of(&node->environment, "AITHERION_LOG_LEVEL"), "error");
    ck_assert_str_eq(pair_of(&node->environment, "AITHERION_UDP"), "on");
    ck_assert_str_eq(pair_of(&node->environment, "SESSIONS_PER_SOURCE"), "7");
    ck_assert_str_eq(pair_of(&node->environment, "HOST_FRACTION"), "0.25");
    ck_assert_str_eq(pair_of(&node->settings, "limits.host_fraction"), "0.25");
    for (size_t i = 1; i < node->environment.count; i++)
        ck_assert_int_lt(
            strcmp(node->environment.items[i - 1].name, node->environment.items[i].name), 0);
    for (size_t i = 0; i < ATH_COUNT(bases); i++)
        free(bases[i]);
    free(command);
}

/* The files of a certificate are mounted into a container; processes read the host's. */
LOOP_TEST(plans_a_certificate, 0, 2)
{
    SCENE(scene);
    make_scene(&scene);
    scene.options.is_process = _i;
    const struct ath_plan_node *node = make_plan(
        &scene, HEAD "tls_certificate: /etc/c.pem\ntls_key: /etc/k.pem\ntls_ca: /etc/ca.pem\n"
                     "numa:\n" ENTRY);
    ath_auto_free char *command = words_of(&node->command);
    if (!_i) {
        ck_assert_str_eq(source_of(node, "/run/aitherion/tls-certificate"), "/etc/c.pem");
        ck_assert_str_eq(source_of(node, "/run/aitherion/tls-key"), "/etc/k.pem");
        for (size_t i = 0; i < node->mount_count; i++)
            if (strstr(node->mounts[i].target, "/tls-"))
                ck_assert(node->mounts[i].is_read_only);
    }
    ck_assert_ptr_nonnull(strstr(command, _i ? " --tls-certificate /etc/c.pem --tls-key /etc/k.pem"
                                             : " --tls-certificate /run/aitherion/tls-certificate"
                                               " --tls-key /run/aitherion/tls-key"));
    ck_assert_ptr_null(strstr(command, "/etc/ca.pem"));
    ck_assert_str_eq(pair_of(&node->settings, "tls_key"), "/etc/k.pem");
}

/* The file of TLS and passwords names others beside it, so a container gets their folder. */
LOOP_TEST(plans_the_file_of_metrics, 0, 2)
{
    SCENE(scene);
    SCENE(without);
    make_scene(&scene);
    make_scene(&without);
    scene.options.is_process = without.options.is_process = _i;
    const struct ath_plan_node *node =
        make_plan(&scene, HEAD "metrics_web: /etc/web/m.yml\nnuma:\n" ENTRY "    metrics: 9400\n");
    ath_auto_free char *command = words_of(&node->command);
    expect_in(command, " --metrics-web /etc/web/m.yml");
    ck_assert_str_eq(pair_of(&node->environment, "AITHERION_METRICS_WEB"), "/etc/web/m.yml");
    if (!_i)
        ck_assert_str_eq(source_of(node, "/etc/web"), "/etc/web");
    const struct ath_plan_node *plain =
        make_plan(&without, HEAD "metrics_web: /etc/web/m.yml\nnuma:\n" ENTRY);
    ath_auto_free char *none = words_of(&plain->command);
    ck_assert_ptr_null(strstr(none, "--metrics-web"));
}

TEST(lines_know_every_field)
{
    const char *field = NULL;
    json_t *body = json_pack("{s:s, s:{s:i}}", "Image", "i", "HostConfig", "CpuShares", 5);
    ck_assert_ptr_null(ath_run_line("n", body, &field));
    ck_assert_str_eq(field, "CpuShares");
    json_decref(body);
}

TEST(quotes_words_for_a_shell)
{
    static const char *const words[][2] = {
        { "plain-1.0/a:b@c,d=e_+%", "plain-1.0/a:b@c,d=e_+%" },
        { "", "''" },
        { "two words", "'two words'" },
        { "it's", "'it'\\''s'" },
        { "$(reboot)", "'$(reboot)'" },
        { "~", "'~'" },
    };
    for (size_t i = 0; i < ATH_COUNT(words); i++) {
        ATH_AUTO(ath_text) text = { 0 };
        ath_shell_quote(&text, words[i][0]);
        ck_assert_str_eq(text.data, words[i][1]);
    }
}

/* --- facts */

static void open_tree(const struct tree *tree, struct ath_root *out)
{
    struct ath_err err;
    ck_assert_int_eq(ath_root_open(tree->path, out, &err), 0);
}

TEST(reads_gpu_names_from_cdi)
{
    struct tree tree;
    ATH_AUTO(ath_root) root = { .fd = -1 };
    ATH_AUTO(ath_cdi) cdi = { 0 };
    tree_make(&tree);
    tree_put(&tree,
             "---\ncdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n"
             "- name: \"0\"\n  containerEdits:\n    deviceNodes:\n    - path: /dev/nvidia3\n"
             "    - path: /dev/dri/card1\n"
             "- name: all\n  containerEdits:\n    deviceNodes:\n    - path: /dev/nvidia2\n"
             "    - path: /dev/nvidia3\n"
             "containerEdits:\n  mounts:\n  - hostPath: /usr/lib64/libcuda.so.1\n"
             "  - hostPath: /usr/lib64/libcuda.so.535.104.05\n"
             "    containerPath: /usr/lib64/libcuda.so.535.104.05\n",
             "etc/cdi/nvidia.yaml");
    tree_put(&tree,
             "{\"cdiVersion\": \"0.5.0\", \"kind\": \"nvidia.com/gpu\", \"devices\": [{\"name\": "
             "\"GPU-2\", \"containerEdits\": {\"deviceNodes\": [{\"path\": \"/dev/nvidia7\", "
             "\"hostPath\": \"/dev/nvidia2\"}]}}, {\"name\": \"b\\u0007ell\"}]}",
             "var/run/cdi/second.json");
    tree_put(&tree, "kind: amd.com/gpu\ndevices: [ { name: \"9\" } ]\n", "etc/cdi/amd.yaml");
    tree_put(&tree, "][", "etc/cdi/broken.yaml");
    open_tree(&tree, &root);
    ath_cdi_read(&root, &cdi);
    tree_remove(&tree);

    ck_assert_uint_eq(cdi.count, 3);
    ck_assert_str_eq(ath_cdi_find(&cdi, NULL, 3), "nvidia.com/gpu=0");
    ck_assert_str_eq(ath_cdi_find(&cdi, "GPU-2", ATH_UNKNOWN), "nvidia.com/gpu=GPU-2");
    ck_assert_str_eq(ath_cdi_find(&cdi, "GPU-9", 2), "nvidia.com/gpu=GPU-2");
    ck_assert_ptr_null(ath_cdi_find(&cdi, "GPU-9", 9));
    ck_assert_str_eq(cdi.driver_version, "535.104.05");
    ck_assert_str_eq(cdi.file, "/etc/cdi/nvidia.yaml");
}

/* A machine with one GPU: "all" has its device file, too, and is not its name. */
TEST(takes_no_name_of_all_gpus_for_one)
{
    struct tree tree;
    ATH_AUTO(ath_root) root = { .fd = -1 };
    ATH_AUTO(ath_cdi) cdi = { 0 };
    tree_make(&tree);
    tree_put(&tree,
             "kind: nvidia.com/gpu\ndevices:\n"
             "- name: all\n  containerEdits:\n    deviceNodes: [{path: /dev/nvidia0}]\n"
             "- name: \"0\"\n  containerEdits:\n    deviceNodes: [{path: /dev/nvidia0}]\n",
             "etc/cdi/nvidia.yaml");
    open_tree(&tree, &root);
    ath_cdi_read(&root, &cdi);
    tree_remove(&tree);
    ck_assert_str_eq(ath_cdi_find(&cdi, "GPU-9", 0), "nvidia.com/gpu=0");
}

/* Makes a cache in ldconfig's format: head, entries, texts. */
static void add_u32(struct ath_text *out, uint32_t value)
{
    ath_text_add_bytes(out, (const char *)&value, sizeof value);
}

static void add_entry(struct ath_text *entries, struct ath_text *texts, uint32_t flags,
                      uint32_t texts_begin, const char *name, const char *path)
{
    add_u32(entries, flags);
    add_u32(entries, texts_begin + (uint32_t)texts->length);
    ath_text_add_bytes(texts, name, strlen(name) + 1);
    add_u32(entries, texts_begin + (uint32_t)texts->length);
    ath_text_add_bytes(texts, path, strlen(path) + 1);
    add_u32(entries, 0);
    add_u32(entries, 0);
    add_u32(entries, 0);
}

static void make_cache(struct ath_text *out)
{
    static const struct {
        uint32_t flags;
        const char *name, *path;
    } rows[] = {
        { 0x0003, "libcuda.so.1", "/usr/lib32/libcuda.so.1" },
        { 0x0303, "libcuda.so.1", "/opt/nvidia/libcuda.so.1" },
        { 0x0303, "libcudart.so.12", "/opt/nvidia/libcudart.so.12" },
        { 0x0303, "libnvidia-ml.so.1", "/opt/nvidia/libnvidia-ml.so.1\xff" },
        { 0x0503, "libnvidia-nvvm.so.4", "/opt/ppc/libnvidia-nvvm.so.4" },
    };
    struct ath_text entries = { 0 }, texts = { 0 };
    ath_text_add(out, "glibc-ld.so.cache1.1");
    add_u32(out, ATH_COUNT(rows));
    for (int i = 0; i < 6; i++)
        add_u32(out, 0);
    for (size_t i = 0; i < ATH_COUNT(rows); i++)
        add_entry(&entries, &texts, rows[i].flags, 48 + 24 * ATH_COUNT(rows), rows[i].name,
                  rows[i].path);
    ath_text_add_bytes(out, entries.data, entries.length);
    ath_text_add_bytes(out, texts.data, texts.length);
    ath_text_free(&entries);
    ath_text_free(&texts);
}

static void read_cache(const char *bytes, size_t length, struct ath_libraries *out)
{
    struct tree tree;
    ATH_AUTO(ath_root) root = { .fd = -1 };
    char path[96];
    tree_make(&tree);
    tree_put(&tree, "", "etc/ld.so.cache");
    snprintf(path, sizeof path, "%s/etc/ld.so.cache", tree.path);
    tree_put_bytes(path, bytes, length);
    open_tree(&tree, &root);
    ath_libraries_read(&root, "x86_64", out);
    tree_remove(&tree);
}

TEST(reads_libraries_from_the_linkers_cache)
{
    ATH_AUTO(ath_text) cache = { 0 };
    ATH_AUTO(ath_text) old = { 0 };
    make_cache(&cache);
    ath_text_add(&old, "ld.so-1.7.0....an older format in front of it...");
    ath_text_add_bytes(&old, cache.data, cache.length);
    for (int i = 0; i < 2; i++) {
        ATH_AUTO(ath_libraries) libraries = { 0 };
        read_cache(i ? old.data : cache.data, i ? old.length : cache.length, &libraries);
        ck_assert(libraries.is_known);
        ck_assert_uint_eq(libraries.count, 1);
        ck_assert_str_eq(libraries.items[0].path, "/opt/nvidia/libcuda.so.1");
    }
}

/* The cache is cut off at every length; the sanitizers notice a read beyond the end. */
TEST(survives_a_cache_cut_off)
{
    ATH_AUTO(ath_text) cache = { 0 };
    make_cache(&cache);
    for (size_t length = 0; length < cache.length; length += 7) {
        ATH_AUTO(ath_libraries) libraries = { 0 };
        read_cache(cache.data, length, &libraries);
        ck_assert_uint_le(libraries.count, 1);
    }
}

TEST(reads_facts_of_a_root)
{
    struct tree tree;
    SCENE(scene);
    ATH_AUTO(ath_plan_facts) facts = { 0 };
    ATH_AUTO(ath_root) root = { .fd = -1 };
    make_scene(&scene);
    struct ath_nic *nic = ath_machine_nic_by_netdev(&scene.machine, "eth0");
    *(char **)ath_push(&nic->subnets, &nic->subnet_count, sizeof(char *)) =
        ath_xstrdup("10.1.0.0/16");
    tree_make(&tree);
    tree_put(&tree, "Model: \t V100\nDevice Minor: \t 12\nBlacklisted:\t No\n",
             "proc/driver/nvidia/gpus/0004:04:00.0/information");
    tree_put(&tree, "mlx5_3", "sys/class/infiniband_verbs/uverbs1/ibdev");
    tree_put(&tree, "6", "sys/class/infiniband_verbs/abi_version");
    tree_put(&tree, "", "dev/nvidia12");
    tree_put(&tree, "", "dev/null");
    tree_put(&tree,
             "Local:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.1.0.0\n        /16 link UNICAST\n"
             "     |-- 10.1.2.3\n        /32 host LOCAL\n     |-- 10.1.255.255\n"
             "        /32 link BROADCAST\n     |-- 10.9.0.1\n        /32 host LOCAL\n",
             "proc/net/fib_trie");
    tree_put(&tree, "cpuset cpu memory", "sys/fs/cgroup/cgroup.controllers");
    tree_put(&tree, "0,8", "sys/fs/cgroup/system.slice/cpuset.mems.effective");
    tree_put(&tree, "0", "sys/module/ib_core/parameters/netns_mode");
    tree_put(&tree, "", "usr/bin/nvidia-container-runtime-hook");
    open_tree(&tree, &root);
    ath_plan_facts_read(&root, &scene.machine, &facts);
    tree_remove(&tree);

    struct ath_pci pci;
    ath_pci_parse("0004:04:00.0", &pci);
    ck_assert_int_eq(ath_plan_facts_minor(&facts, &pci), 12);
    ck_assert_str_eq(ath_plan_facts_verbs(&facts, "mlx5_3"), "uverbs1");
    ck_assert_ptr_null(ath_plan_facts_verbs(&facts, "mlx5_0"));
    ck_assert(ath_plan_facts_may_have(&facts, "/dev/nvidia12"));
    ck_assert(!ath_plan_facts_may_have(&facts, "/dev/nvidia1"));
    ck_assert_uint_eq(facts.devices.count, 1);
    ck_assert_str_eq(ath_plan_facts_address(&facts, "eth0"), "10.1.2.3");
    ck_assert_uint_eq(facts.address_count, 1);
    ck_assert_int_eq(facts.cgroup_version, 2);
    ck_assert_uint_eq(facts.cgroup_count, 1);
    ck_assert_int_eq(facts.rdma_netns_mode, ATH_RDMA_NETNS_EXCLUSIVE);
    ck_assert(facts.has_nvidia_hook);
}

/* On this machine: loopback has an address. */
TEST(reads_facts_of_the_live_machine)
{
    SCENE(scene);
    ATH_AUTO(ath_plan_facts) facts = { 0 };
    ATH_AUTO(ath_root) root = { .fd = -1 };
    ck_assert_int_eq(ath_root_open("/", &root, &scene.err), 0);
    ath_plan_facts_read(&root, &scene.machine, &facts);
    ck_assert(facts.knows_addresses && facts.knows_devices && facts.libraries.is_known);
    ck_assert_str_eq(ath_plan_facts_address(&facts, "lo"), "127.0.0.1");
}

/* A machine from XML has no root: no fact is known. */
TEST(knows_nothing_without_a_root)
{
    SCENE(scene);
    ATH_AUTO(ath_plan_facts) facts = { 0 };
    ath_plan_facts_read(NULL, &scene.machine, &facts);
    ck_assert(ath_plan_facts_may_have(&facts, "/dev/nvidia0"));
    ck_assert_ptr_null(ath_plan_facts_address(&facts, "eth0"));
    ck_assert_int_eq(facts.cgroup_version, ATH_UNKNOWN);
}
