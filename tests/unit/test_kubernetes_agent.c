/* The facts that an agent publishes of a machine, and how often it tries an API server that fails.
 */
#include "config.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "kubernetes/agent.h"
#include "kubernetes/compute_node.h"
#include "kubernetes/report.h"
#include "kubernetes/server.h"
#include "unit.h"

/* ---- reports ---- */

static struct ath_gpu *add_gpu(struct ath_machine *machine, uint32_t number, int vendor,
                               const char *uuid)
{
    const struct ath_pci pci = ath_pci_numbered(number);
    struct ath_gpu *gpu = ath_machine_add_gpu(machine, &pci);
    gpu->vendor_id = vendor;
    gpu->uuid = ath_xstrdup(uuid);
    return gpu;
}

static json_t *status_of(const struct ath_machine *machine, const char *fault)
{
    const struct ath_kube_report_options options = { .runtime = "10.0.0.1:50051", .fault = fault };
    return ath_kube_report_status(machine, &options);
}

static const char *text_at(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    return text ? text : "";
}

TEST(only_gpus_that_pods_can_name_are_published)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    add_gpu(&machine, 0, ATH_VENDOR_NVIDIA, "GPU-a");
    add_gpu(&machine, 1, ATH_VENDOR_NVIDIA, NULL);
    add_gpu(&machine, 2, ATH_VENDOR_NVIDIA, "");
    add_gpu(&machine, 3, ATH_VENDOR_NVIDIA, "GPU-b,GPU-c");
    add_gpu(&machine, 4, ATH_VENDOR_AMD, "GPU-d");
    add_gpu(&machine, 5, ATH_VENDOR_NVIDIA, "GPU-e");
    json_auto_t *status = status_of(&machine, NULL);
    const json_t *devices = json_object_get(status, "devices");

    ck_assert_uint_eq(json_array_size(devices), 2);
    ck_assert_str_eq(text_at(json_array_get(devices, 0), "uuid"), "GPU-a");
    ck_assert_str_eq(text_at(json_array_get(devices, 1), "uuid"), "GPU-e");
    ck_assert_int_eq(json_integer_value(json_object_get(status, "gpuCount")), 2);
}

TEST(at_most_64_gpus_are_published)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    for (uint32_t i = 0; i < 65; i++) {
        ath_auto_free char *uuid = ath_xasprintf("GPU-%u", i);
        add_gpu(&machine, i, ATH_VENDOR_NVIDIA, uuid);
    }
    json_auto_t *status = status_of(&machine, NULL);
    ck_assert_uint_eq(json_array_size(json_object_get(status, "devices")), 64);
}

TEST(a_lost_gpu_cannot_be_used)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    add_gpu(&machine, 0, ATH_VENDOR_NVIDIA, "GPU-a")->health.score = 97;
    struct ath_gpu *lost = add_gpu(&machine, 1, ATH_VENDOR_NVIDIA, "GPU-b");
    lost->health.score = 80;
    lost->is_lost = true;
    json_auto_t *status = status_of(&machine, NULL);
    const json_t *devices = json_object_get(status, "devices");

    ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(devices, 0), "healthScore")),
                     97);
    ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(devices, 1), "healthScore")),
                     0);
    ck_assert_int_eq(json_integer_value(json_object_get(status, "usableGpuCount")), 1);
    json_auto_t *labels = ath_kube_report_labels(status);
    ck_assert_str_eq(text_at(labels, "aitherion.io/gpu-count"), "2");
    ck_assert_str_eq(text_at(labels, "aitherion.io/gpu-usable"), "1");
    ck_assert(json_is_null(json_object_get(labels, "aitherion.io/gpu-model")));
}

TEST(a_fault_of_the_node_leaves_no_gpu_usable)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    add_gpu(&machine, 0, ATH_VENDOR_NVIDIA, "GPU-a");
    json_auto_t *status = status_of(&machine, "no answer");
    ck_assert_str_eq(text_at(status, "phase"), "NotReady");
    ck_assert_str_eq(text_at(status, "message"), "no answer");
    ck_assert_int_eq(json_integer_value(json_object_get(status, "usableGpuCount")), 0);
}

TEST(models_become_values_of_labels)
{
    static const struct {
        const char *model, *label;
    } rows[] = {
        { "NVIDIA A100-SXM4-80GB", "NVIDIA-A100-SXM4-80GB" },
        { " (x) ", "x" },
        { "a_b.c", "a_b.c" },
        { "gr\xc3\xb6\xc3\x9f"
          "e",
          "gr----e" },
        { "1234567890123456789012345678901234567890123456789012345678901234567890",
          "123456789012345678901234567890123456789012345678901234567890123" },
        { "12345678901234567890123456789012345678901234567890123456789012(x",
          "12345678901234567890123456789012345678901234567890123456789012" },
        { "...", NULL },
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        json_auto_t *status = json_pack("{s:i, s:i, s:[{s:s}]}", "gpuCount", 1, "usableGpuCount", 1,
                                        "devices", "model", rows[i].model);
        json_auto_t *labels = ath_kube_report_labels(status);
        const char *label = json_string_value(json_object_get(labels, "aitherion.io/gpu-model"));
        ck_assert_msg(!label == !rows[i].label && (!label || !strcmp(label, rows[i].label)),
                      "%s: %s", rows[i].model, label ? label : "none");
    }
}

TEST(the_extender_reads_what_the_agent_writes)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_kube_node) node = { 0 };
    struct ath_err err = { 0 };

    ath_machine_add_node(&machine, 8)->is_online = true;
    add_gpu(&machine, 0, ATH_VENDOR_NVIDIA, "GPU-a")->memory_total_bytes = INT64_C(1) << 35;
    struct ath_gpu *gpu = add_gpu(&machine, 1, ATH_VENDOR_NVIDIA, "GPU-b");
    gpu->numa_node = 8;
    gpu->model = ath_xstrdup("NVIDIA A100-SXM4-80GB");
    json_auto_t *status = status_of(&machine, NULL);
    json_auto_t *object = ath_kube_agent_object("n1", status);
    ck_assert_msg(!ath_kube_node_read(object, &node, &err), "%s", err.message);
    ck_assert_str_eq(node.name, "n1");
    ck_assert_str_eq(node.runtime, "10.0.0.1:50051");
    ck_assert(node.is_ready);
    ck_assert_uint_eq(node.machine.gpu_count, 2);
    ck_assert_int_eq(node.machine.gpus[0].memory_total_bytes, INT64_C(1) << 35);
    ck_assert_int_eq(node.machine.gpus[1].numa_node, 8);
    ck_assert_ptr_nonnull(node.models[1]);
}

/* ---- steps ---- */

static struct {
    long status; /* of the answers; 0: no answer */
    int retry_after_s;
    size_t count;
    uint64_t now_ms;
} server;

static int answer(void *self, const struct ath_kube_call *call, struct ath_kube_reply *out,
                  struct ath_err *err)
{
    (void)self;
    (void)call;
    server.count++;
    if (!server.status)
        return ath_err_set(err, -EIO, ATH_E_PEER_UNREACHABLE, "no answer");
    out->status = server.status;
    out->retry_after_s = server.retry_after_s;
    return 0;
}

static uint64_t now_of_test(void)
{
    return server.now_ms;
}

static const struct ath_kube_api api = { .call = answer };

static unsigned int step(struct ath_kube_agent *agent, int health)
{
    struct ath_err err = { 0 };
    unsigned int wait_ms = 1;
    json_auto_t *status = json_pack("{s:i}", "health", health);
    json_auto_t *labels = json_object();

    int result = ath_kube_agent_step(agent, status, labels, &wait_ms, &err);
    ck_assert_int_eq(!result, !err.code);
    ck_assert_int_eq(!result, !wait_ms);
    return wait_ms;
}

TEST(failures_are_tried_again_ever_later)
{
    static const unsigned int waits[] = { 1000, 2000, 4000, 8000, 16000, 30000, 30000 };
    ATH_AUTO(ath_kube_agent) agent = { .api = &api, .node = "n1", .clock = now_of_test };

    memset(&server, 0, sizeof server);
    for (size_t i = 0; i < ATH_COUNT(waits); i++)
        ck_assert_uint_eq(step(&agent, 1), waits[i]);
    server.status = 200;
    ck_assert_uint_eq(step(&agent, 1), 0);
    server.status = 500;
    ck_assert_uint_eq(step(&agent, 2), 1000);
}

TEST(the_server_says_when_to_try_again)
{
    ATH_AUTO(ath_kube_agent) agent = { .api = &api, .node = "n1", .clock = now_of_test };

    memset(&server, 0, sizeof server);
    server.status = 429;
    server.retry_after_s = 7;
    ck_assert_uint_eq(step(&agent, 1), 7000);
    server.retry_after_s = 3600;
    ck_assert_uint_eq(step(&agent, 1), 30000);
}

TEST(changes_are_sent_and_everything_after_five_minutes)
{
    ATH_AUTO(ath_kube_agent) agent = { .api = &api, .node = "n1", .clock = now_of_test };

    memset(&server, 0, sizeof server);
    server.status = 200;
    step(&agent, 1);
    ck_assert_uint_eq(server.count, 2); /* the status and the labels */
    step(&agent, 1);
    ck_assert_uint_eq(server.count, 2);
    step(&agent, 2);
    ck_assert_uint_eq(server.count, 3); /* the status alone */
    server.now_ms = 5 * 60 * 1000 - 1;
    step(&agent, 2);
    ck_assert_uint_eq(server.count, 3);
    server.now_ms++;
    step(&agent, 2);
    ck_assert_uint_eq(server.count, 5);
}

/* ---- the API server ---- */

TEST(a_pod_knows_its_api_server)
{
    static const struct {
        const char *host, *port, *url; /* NULL: this is no pod */
    } rows[] = {
        { "10.96.0.1", "443", "https://10.96.0.1:443" },
        { "fd00::1", "6443", "https://[fd00::1]:6443" },
        { "10.96.0.1", "", NULL },
        { "", "443", NULL },
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        ATH_AUTO(ath_kube_server) found = { 0 };
        struct ath_err err = { 0 };
        setenv("KUBERNETES_SERVICE_HOST", rows[i].host, 1);
        setenv("KUBERNETES_SERVICE_PORT", rows[i].port, 1);
        ck_assert_int_eq(ath_kube_server_of_pod("/run/account", &found, &err),
                         rows[i].url ? 0 : -ENOENT);
        if (!rows[i].url)
            continue;
        ck_assert_str_eq(found.url, rows[i].url);
        ck_assert_str_eq(found.ca_file, "/run/account/ca.crt");
        ck_assert_str_eq(found.token_file, "/run/account/token");
    }
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
}
