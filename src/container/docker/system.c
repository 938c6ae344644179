/* Requests about the daemon itself (Engine API, "System") and their answers. */
#include "config.h"

#include "container/docker/system.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/unknown.h"
#include "container/docker/json.h"
#include "container/docker/network.h"

/* ---- facts ---- */

void ath_docker_facts_free(struct ath_docker_facts *facts)
{
    if (!facts)
        return;
    free(facts->version);
    free(facts->api);
    free(facts->api_used);
    free(facts->architecture);
    free(facts->os_name);
    free(facts->kernel);
    free(facts->host_name);
    free(facts->data_folder);
    free(facts->cgroup_driver);
    free(facts->log_driver);
    ath_texts_free(&facts->runtimes);
    free(facts->default_runtime);
    ath_texts_free(&facts->cdi_folders);
    ath_texts_free(&facts->cdi_devices);
    *facts = (struct ath_docker_facts){ 0 };
}

/* Finds "name=rootless" in a list with "name=seccomp,profile=default". */
static bool has_option(const json_t *list, const char *option)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        if (json_is_string(item) && !strcmp(json_string_value(item), option))
            return true;
    }
    return false;
}

static bool has_component(const json_t *version, const char *name)
{
    size_t i;
    json_t *component;
    json_array_foreach(ath_docker_json_at(version, "Components"), i, component)
    {
        const char *its = ath_docker_json_text(component, "Name");
        if (its && !strcmp(its, name))
            return true;
    }
    return false;
}

static void read_runtimes(const json_t *runtimes, struct ath_docker_facts *out)
{
    const char *name;
    json_t *unused;
    json_object_foreach((json_t *)runtimes, name, unused)
    {
        ath_texts_add(&out->runtimes, name);
    }
    out->has_nvidia_runtime = json_object_get(runtimes, "nvidia") && !out->is_podman;
}

static void read_cdi(const json_t *info, struct ath_docker_facts *out)
{
    const json_t *folders = ath_docker_json_at(info, "CDISpecDirs");
    ath_docker_json_texts(folders, &out->cdi_folders);
    out->has_cdi = out->is_podman ? 0 : folders ? out->cdi_folders.count > 0 : ATH_UNKNOWN;

    size_t i;
    json_t *device;
    json_array_foreach(ath_docker_json_at(info, "DiscoveredDevices"), i, device)
    {
        const char *source = ath_docker_json_text(device, "Source"),
                   *id = ath_docker_json_text(device, "ID");
        if (source && id && !strcmp(source, "cdi"))
            ath_texts_add(&out->cdi_devices, id);
    }
}

static bool has_network(const json_t *networks, const char *name)
{
    size_t i;
    json_t *network;
    json_array_foreach(networks, i, network)
    {
        const char *its = ath_docker_json_text(network, "Name");
        if (its && !strcmp(its, name))
            return true;
    }
    return false;
}

/* The API writes the version as a text: "1", "2". */
static int cgroup_version(const json_t *info)
{
    const char *text = ath_docker_json_text(info, "CgroupVersion");
    int version = ATH_UNKNOWN;
    if (text && ath_parse_int(text, 1, 99, &version))
        return ATH_UNKNOWN;
    return version;
}

int ath_docker_facts_from(const json_t *version, const json_t *info, const json_t *networks,
                          struct ath_docker_facts *out, struct ath_err *err)
{
    static const char *const needed[] = { "Version", "ApiVersion" };
    for (size_t i = 0; i < ATH_COUNT(needed); i++)
        if (!ath_docker_json_text(version, needed[i]))
            return ath_docker_json_lacks(_("itself"), needed[i], err);

    *out = (struct ath_docker_facts){
        .version = ath_docker_json_copy(version, "Version"),
        .api = ath_docker_json_copy(version, "ApiVersion"),
        .architecture = ath_docker_json_copy(version, "Arch"),
        .os_name = ath_docker_json_copy(info, "OperatingSystem"),
        .kernel = ath_docker_json_copy(version, "KernelVersion"),
        .host_name = ath_docker_json_copy(info, "Name"),
        .data_folder = ath_docker_json_copy(info, "DockerRootDir"),
        .cgroup_driver = ath_docker_json_copy(info, "CgroupDriver"),
        .cgroup_version = cgroup_version(info),
        .is_podman = has_component(version, "Podman Engine"),
        .is_rootless = has_option(ath_docker_json_at(info, "SecurityOptions"), "name=rootless"),
        .default_runtime = ath_docker_json_copy(info, "DefaultRuntime"),
        .has_bridge = has_network(networks, "bridge"),
        .log_driver = ath_docker_json_copy(info, "LoggingDriver"),
        .cpu_count = (int)ath_docker_json_number(info, "NCPU", ATH_UNKNOWN),
        .memory_bytes = ath_docker_json_number(info, "MemTotal", ATH_UNKNOWN),
    };
    /* Podman takes HostConfig.Runtime and DeviceRequests without an error and ignores both, so the
     * container has no GPU (podman 4.3.1; podman issue 22645). It does use HostConfig.Devices. */
    read_runtimes(ath_docker_json_at(info, "Runtimes"), out);
    read_cdi(info, out);
    return 0;
}

struct inquiry {
    json_t *json;
    int status;
    struct ath_err err;
};

static void note(void *context, struct ath_docker_batch *batch,
                 const struct ath_docker_answer *answer)
{
    struct inquiry *inquiry = context;
    (void)batch;
    inquiry->json = json_incref(answer->json);
    inquiry->status = answer->status;
    if (answer->status)
        inquiry->err = *answer->err;
}

static struct ath_docker_request *ask(const char *path)
{
    struct ath_docker_request *request =
        ath_docker_request_new("GET", ATH_DOCKER_OBJECT, _("cannot read Docker's capabilities"));
    ath_docker_path(request, path, "", "");
    return request;
}

int ath_docker_facts_read(struct ath_docker *docker, struct ath_docker_facts *out,
                          struct ath_err *err)
{
    static const char *const paths[] = { "/version", "/info" };
    enum { ABOUT, INFO, NETWORKS, COUNT };
    struct inquiry inquiries[COUNT] = { 0 };
    ath_auto_docker_batch struct ath_docker_batch *batch = ath_docker_batch_new(docker);
    for (int i = 0; i < COUNT; i++)
        ath_docker_batch_add(batch, i == NETWORKS ? ath_docker_network_list(NULL) : ask(paths[i]),
                             note, &inquiries[i]);
    int status = ath_docker_batch_run(batch, err);
    for (int i = 0; i < COUNT && !status; i++) {
        status = inquiries[i].status;
        if (status)
            ath_err_copy(err, &inquiries[i].err);
    }
    if (!status)
        status = ath_docker_facts_from(inquiries[ABOUT].json, inquiries[INFO].json,
                                       inquiries[NETWORKS].json, out, err);
    if (!status)
        out->api_used = ath_xstrdup(ath_docker_api(docker));
    for (int i = 0; i < COUNT; i++)
        json_decref(inquiries[i].json);
    return status;
}

/* ---- events ---- */

struct ath_docker_request *ath_docker_events(json_t *filters, int64_t since_s, int64_t until_s,
                                             ath_docker_on_json *on_json, void *context)
{
    struct ath_docker_request *request =
        ath_docker_request_new("GET", ATH_DOCKER_JSON_LINES, _("cannot follow Docker's events"));
    ath_docker_path(request, "/events", "", "");
    if (since_s)
        ath_docker_query_number(request, "since", since_s);
    if (until_s)
        ath_docker_query_number(request, "until", until_s);
    ath_docker_query_filters(request, filters);
    request->on_json = on_json;
    request->context = context;
    request->timeout_ms = 0;
    return request;
}

int ath_docker_event_read(const json_t *json, struct ath_docker_event *out, struct ath_err *err)
{
    static const char *const needed[] = { "Type", "Action", "Actor.ID" };
    for (size_t i = 0; i < ATH_COUNT(needed); i++)
        if (!ath_docker_json_text(json, needed[i]))
            return ath_docker_json_lacks(_("an event"), needed[i], err);

    const json_t *attributes = ath_docker_json_at(json, "Actor.Attributes");
    const char *exit_code = ath_docker_json_text(attributes, "exitCode");
    *out = (struct ath_docker_event){
        .type = ath_docker_json_text(json, "Type"),
        .action = ath_docker_json_text(json, "Action"),
        .id = ath_docker_json_text(json, "Actor.ID"),
        .name = ath_docker_json_text(attributes, "name"),
        .time_ns = ath_docker_json_number(json, "timeNano", ATH_UNKNOWN),
        .exit_code = ATH_UNKNOWN,
        .attributes = attributes,
    };
    if (exit_code && ath_parse_int(exit_code, INT_MIN, INT_MAX, &out->exit_code))
        out->exit_code = ATH_UNKNOWN;
    return 0;
}
