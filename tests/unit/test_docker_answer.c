/* Requests to the Docker Engine and reading its answers, also answers that the tests' daemon does
 * not give. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/unknown.h"
#include "container/docker/container.h"
#include "container/docker/fault.h"
#include "container/docker/image.h"
#include "container/docker/network.h"
#include "container/docker/system.h"
#include "tree.h"
#include "unit.h"

static json_t *parse(const char *text)
{
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
    ck_assert_msg(json != NULL, "%s", text);
    return json;
}

/* ---- requests ---- */

static void expect_path(struct ath_docker_request *request, const char *method, const char *path)
{
    ck_assert_str_eq(request->method, method);
    ck_assert_str_eq(request->path, path);
    ath_docker_request_free(request);
}

TEST(escapes_paths)
{
    expect_path(ath_docker_container_start("aitherion-numa0"), "POST",
                "/containers/aitherion-numa0/start");
    expect_path(ath_docker_container_inspect("../images/x?a#b c%"), "GET",
                "/containers/..%2Fimages%2Fx%3Fa%23b%20c%25/json");
    expect_path(ath_docker_container_remove("\xe5\x86\x85", true), "DELETE",
                "/containers/%E5%86%85?v=1&force=1");
    expect_path(ath_docker_container_remove("x", false), "DELETE", "/containers/x?v=1");
    expect_path(ath_docker_container_stop("x", 10), "POST", "/containers/x/stop?t=10");
    expect_path(ath_docker_container_list(NULL), "GET", "/containers/json?all=1");
    expect_path(ath_docker_container_list("a=b c"), "GET",
                "/containers/json?all=1&filters=%7B%22label%22%3A%5B%22a%3Db%20c%22%5D%7D");
    expect_path(ath_docker_image_inspect("host:5000/a/b:c@sha256:1"), "GET",
                "/images/host:5000/a/b:c@sha256:1/json");
    expect_path(ath_docker_image_tag("x", "host:5000/a/b"), "POST",
                "/images/x/tag?repo=host%3A5000%2Fa%2Fb");
    expect_path(ath_docker_image_tag("x", "host:5000/a/b:c"), "POST",
                "/images/x/tag?repo=host%3A5000%2Fa%2Fb&tag=c");
    expect_path(ath_docker_image_tag("x", "a:c"), "POST", "/images/x/tag?repo=a&tag=c");
    expect_path(ath_docker_events(NULL, 0, 0, NULL, NULL), "GET", "/events");
    expect_path(ath_docker_events(NULL, 5, 6, NULL, NULL), "GET", "/events?since=5&until=6");
}

TEST(makes_bodies)
{
    struct ath_docker_request *request = ath_docker_network_connect("net", "box", NULL);
    ck_assert_uint_eq(json_object_size(request->body), 1);
    ck_assert_str_eq(json_string_value(json_object_get(request->body, "Container")), "box");
    ath_docker_request_free(request);
    request = ath_docker_network_create("net", parse("{\"Driver\":\"bridge\"}"));
    ck_assert_str_eq(json_string_value(json_object_get(request->body, "Name")), "net");
    ck_assert(json_is_true(json_object_get(request->body, "CheckDuplicate")));
    ck_assert_int_eq(request->conflict, ATH_E_EXISTS);
    ath_docker_request_free(request);
}

/* Only requests that follow an endless answer have no timeout. */
TEST(sets_timeouts)
{
    const struct ath_docker_logs follow = { .follow = true, .tail = ATH_UNKNOWN };
    struct ath_docker_request *endless[] = {
        ath_docker_container_wait("x", "next-exit"),
        ath_docker_container_logs("x", &follow, NULL, NULL),
        ath_docker_events(NULL, 0, 0, NULL, NULL),
        ath_docker_image_load(NULL, ATH_UNKNOWN, NULL, NULL),
    };
    for (size_t i = 0; i < ATH_COUNT(endless); i++) {
        ck_assert_int_eq(endless[i]->timeout_ms, 0);
        ath_docker_request_free(endless[i]);
    }
    struct ath_docker_request *request = ath_docker_container_stop("x", 300);
    ck_assert_int_gt(request->timeout_ms, 300000);
    ath_docker_request_free(request);
}

/* ---- refusals ---- */

static const struct {
    int http_status;
    const char *body;
    enum ath_error conflict;
    int status;
    enum ath_error code;
    const char *words;
} refusals[] = {
    { 500, "{\"message\":\"driver failed\"}", 0, -EIO, ATH_E_ENGINE_ERROR, "Docker says: driver" },
    { 500, "<html>", 0, -EIO, ATH_E_ENGINE_ERROR, "HTTP 500" },
    { 503, "", 0, -EIO, ATH_E_ENGINE_ERROR, "HTTP 503" },
    { 400, "{\"message\":\"bad\"}", 0, -EINVAL, ATH_E_ENGINE_ERROR, "Docker says: bad" },
    { 404, "{\"message\":\"No such container: x\"}", 0, -ENOENT, ATH_E_NOT_FOUND, "No such" },
    { 404, "not here", 0, -EBADMSG, ATH_E_ENGINE_INVALID, "HTTP 404" },
    { 409, "{\"message\":\"m\"}", ATH_E_EXISTS, -EEXIST, ATH_E_EXISTS, "Docker says: m" },
    { 409, "{\"message\":\"m\"}", ATH_E_CONFLICT, -EBUSY, ATH_E_CONFLICT, "Docker says: m" },
    { 401, "{\"message\":\"m\"}", 0, -EACCES, ATH_E_ENGINE_DENIED, "Docker says: m" },
    { 403, "{}", 0, -EACCES, ATH_E_ENGINE_DENIED, "HTTP 403" },
    { 301, "{\"message\":\"m\"}", 0, -EBADMSG, ATH_E_ENGINE_INVALID, "HTTP 301" },
    { 500, "{\"message\":\"a\\n\\tb \\u001b[2Jc\\n\"}", 0, -EIO, ATH_E_ENGINE_ERROR,
      "says: a b [2Jc" },
    { 500, "{\"message\":5}", 0, -EIO, ATH_E_ENGINE_ERROR, "HTTP 500" },
};

LOOP_TEST(explains_refusals, 0, ATH_COUNT(refusals))
{
    struct ath_docker_request *request =
        ath_docker_request_new("GET", ATH_DOCKER_OBJECT, "cannot do '%s'", "it");
    struct ath_err err;
    request->conflict = refusals[_i].conflict;
    ck_assert_int_eq(ath_docker_fault_http(request, refusals[_i].http_status, refusals[_i].body,
                                           strlen(refusals[_i].body), &err),
                     refusals[_i].status);
    ck_assert_int_eq(err.code, refusals[_i].code);
    ck_assert_ptr_nonnull(strstr(err.message, refusals[_i].words));
    ck_assert_int_eq(strncmp(err.message, "cannot do 'it': ", 16), 0);
    ath_docker_request_free(request);
}

/* ---- containers ---- */

TEST(reads_a_running_container)
{
    json_auto_t *json =
        parse("{\"Id\":\"i\",\"Name\":\"/n\",\"RestartCount\":2,\"Config\":{\"Image\":\"m\","
              "\"Labels\":{\"k\":\"v\"},\"Tty\":false},\"HostConfig\":{\"NetworkMode\":\"host\"},"
              "\"State\":{\"Status\":\"running\",\"Running\":true,\"Pid\":7,\"ExitCode\":0,"
              "\"StartedAt\":\"2026-01-01T00:00:00Z\",\"FinishedAt\":\"0001-01-01T00:00:00Z\","
              "\"Health\":{\"Status\":\"starting\"}}}");
    ATH_AUTO(ath_docker_container) one = { 0 };
    struct ath_err err;
    ck_assert_int_eq(ath_docker_container_read(json, &one, &err), 0);
    ck_assert_str_eq(one.name, "n");
    ck_assert_str_eq(one.health, "starting");
    ck_assert_str_eq(ath_docker_label(one.labels, "k"), "v");
    ck_assert_ptr_null(ath_docker_label(one.labels, "x"));
    ck_assert_int_eq(one.pid, 7);
    ck_assert_int_eq(one.exit_code, ATH_UNKNOWN);
    ck_assert_int_eq(one.restart_count, 2);
    ck_assert_ptr_null(one.finished_at);
    ck_assert_ptr_null(one.error);
    ck_assert(one.is_running);
}

/* Members of State: the exit code, and whether it is valid. */
static const struct {
    const char *state;
    int exit_code;
    bool is_running;
} states[] = {
    { "\"Status\":\"created\",\"ExitCode\":0,\"StartedAt\":\"0001-01-01T00:00:00Z\"", ATH_UNKNOWN,
      false },
    { "\"Status\":\"created\",\"ExitCode\":127,\"StartedAt\":\"0001-01-01T00:00:00Z\","
      "\"Error\":\"no such file\"",
      127, false },
    { "\"Status\":\"exited\",\"ExitCode\":0,\"StartedAt\":\"2026-01-01T00:00:00Z\"", 0, false },
    { "\"Status\":\"restarting\",\"Running\":true,\"ExitCode\":9,"
      "\"StartedAt\":\"2026-01-01T00:00:00Z\"",
      9, true },
    { "\"Status\":\"paused\",\"Running\":true,\"Paused\":true,\"ExitCode\":0,"
      "\"StartedAt\":\"2026-01-01T00:00:00Z\",\"Health\":{\"Status\":\"none\"}",
      ATH_UNKNOWN, true },
};

LOOP_TEST(reads_states, 0, ATH_COUNT(states))
{
    ath_auto_free char *text =
        ath_xasprintf("{\"Id\":\"i\",\"Name\":\"/n\",\"State\":{%s}}", states[_i].state);
    json_auto_t *json = parse(text);
    ATH_AUTO(ath_docker_container) one = { 0 };
    struct ath_err err;
    ck_assert_int_eq(ath_docker_container_read(json, &one, &err), 0);
    ck_assert_int_eq(one.exit_code, states[_i].exit_code);
    ck_assert_int_eq(one.is_running, states[_i].is_running);
    ck_assert_ptr_null(one.health);
    ck_assert_int_eq(one.pid, ATH_UNKNOWN);
    ck_assert_uint_eq(json_object_size(one.labels), 0);
}

TEST(refuses_incomplete_descriptions)
{
    static const char *const rows[] = { "{}", "{\"Id\":1}", "{\"Id\":\"i\",\"Name\":\"/n\"}",
                                        "{\"Id\":\"i\",\"Name\":\"/n\",\"State\":\"running\"}",
                                        "{\"Id\":\"\",\"Name\":\"/n\",\"State\":{}}" };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        json_auto_t *json = parse(rows[i]);
        json_auto_t *list = json_pack("[O]", json);
        struct ath_docker_container one = { 0 };
        struct ath_docker_containers many = { 0 };
        struct ath_docker_network network = { 0 };
        struct ath_docker_images images = { 0 };
        struct ath_err err = { 0 };
        ck_assert_int_eq(ath_docker_container_read(json, &one, &err), -EBADMSG);
        ck_assert_int_eq(err.code, ATH_E_ENGINE_INVALID);
        ck_assert_int_eq(ath_docker_network_read(json, &network, &err), -EBADMSG);
        if (i < 3)
            ck_assert_int_eq(ath_docker_containers_read(list, &many, &err), -EBADMSG);
        if (i < 2)
            ck_assert_int_eq(ath_docker_images_read(list, &images, &err), -EBADMSG);
        ath_docker_containers_free(&many);
        ath_docker_images_free(&images);
    }
}

TEST(sorts_lists)
{
    json_auto_t *json = parse("[{\"Id\":\"1\",\"Names\":[\"/b\"],\"State\":\"exited\"},"
                              "{\"Id\":\"2\",\"Names\":[\"/a\"],\"State\":\"running\"},"
                              "{\"Id\":\"3\",\"Names\":[],\"State\":\"removing\"}]");
    ATH_AUTO(ath_docker_containers) list = { 0 };
    struct ath_err err;
    ck_assert_int_eq(ath_docker_containers_read(json, &list, &err), 0);
    ck_assert_uint_eq(list.count, 3);
    ck_assert_str_eq(list.items[0].name, "3");
    ck_assert_str_eq(list.items[1].name, "a");
    ck_assert(list.items[1].is_running);
    ck_assert(!list.items[2].is_running);
    ck_assert_int_eq(list.items[1].pid, ATH_UNKNOWN);
}

TEST(sorts_networks)
{
    json_auto_t *json = parse("[{\"Id\":\"1\",\"Name\":\"b\",\"Driver\":\"bridge\"},"
                              "{\"Id\":\"2\",\"Name\":\"c\",\"Driver\":\"bridge\"},"
                              "{\"Id\":\"3\",\"Name\":\"a\",\"Driver\":\"host\"}]");
    ATH_AUTO(ath_docker_networks) list = { 0 };
    struct ath_err err;
    ck_assert_int_eq(ath_docker_networks_read(json, &list, &err), 0);
    ck_assert_uint_eq(list.count, 3);
    ck_assert_str_eq(list.items[0].id, "3");
    ck_assert_str_eq(list.items[1].id, "1");
    ck_assert_str_eq(list.items[2].name, "c");
}

TEST(reads_the_answer_to_wait)
{
    struct ath_err err;
    int code = 99;
    json_auto_t *fine = parse("{\"StatusCode\":3,\"Error\":null}");
    json_auto_t *failed = parse("{\"StatusCode\":0,\"Error\":{\"Message\":\"gone\"}}");
    json_auto_t *wrong = parse("{\"StatusCode\":\"3\"}");
    ck_assert_int_eq(ath_docker_wait_read(failed, &code, &err), -EIO);
    ck_assert_str_eq(err.message, "Docker says: gone");
    ck_assert_int_eq(ath_docker_wait_read(wrong, &code, &err), -EBADMSG);
    ck_assert_int_eq(code, 99);
    ck_assert_int_eq(ath_docker_wait_read(fine, &code, &err), 0);
    ck_assert_int_eq(code, 3);
}

/* ---- images ---- */

TEST(reads_progress)
{
    static const struct {
        const char *line, *loaded;
        int64_t done, total;
    } rows[] = {
        { "{\"status\":\"Loading layer\",\"id\":\"a\",\"progressDetail\":{\"current\":5,"
          "\"total\":9},\"progress\":\"[==>  ]\"}",
          NULL, 5, 9 },
        { "{\"stream\":\"Loaded image: a/b:c\\n\"}", "a/b:c", ATH_UNKNOWN, ATH_UNKNOWN },
        { "{\"stream\":\"Loaded image ID: sha256:12\\n\"}", "sha256:12", ATH_UNKNOWN, ATH_UNKNOWN },
        { "{\"stream\":\"Other\"}", NULL, ATH_UNKNOWN, ATH_UNKNOWN },
        { "{\"progressDetail\":{\"current\":\"5\"},\"status\":7}", NULL, ATH_UNKNOWN, ATH_UNKNOWN },
        { "{}", NULL, ATH_UNKNOWN, ATH_UNKNOWN },
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        json_auto_t *line = parse(rows[i].line);
        struct ath_docker_progress progress;
        ath_docker_progress_read(line, &progress);
        ck_assert_int_eq(progress.done_bytes, rows[i].done);
        ck_assert_int_eq(progress.total_bytes, rows[i].total);
        if (!rows[i].loaded) {
            ck_assert_ptr_null(progress.loaded);
            continue;
        }
        ck_assert_uint_eq(progress.loaded_length, strlen(rows[i].loaded));
        ck_assert_int_eq(strncmp(progress.loaded, rows[i].loaded, progress.loaded_length), 0);
    }
}

TEST(reads_images)
{
    json_auto_t *list = parse("[{\"Id\":\"b\",\"RepoTags\":[\"<none>:<none>\"],\"Size\":5,"
                              "\"Labels\":null,\"Created\":1700000000},"
                              "{\"Id\":\"a\",\"RepoTags\":null,\"Labels\":{\"k\":\"v\"}}]");
    json_auto_t *one = parse("{\"Id\":\"a\",\"RepoTags\":[\"x:1\",\"y:2\"],\"Size\":6,"
                             "\"Architecture\":\"ppc64le\",\"Created\":\"2026-01-01T00:00:00Z\","
                             "\"Config\":{\"Labels\":{\"k\":\"w\"}}}");
    ATH_AUTO(ath_docker_images) images = { 0 };
    ATH_AUTO(ath_docker_image) image = { 0 };
    struct ath_err err;
    ck_assert_int_eq(ath_docker_images_read(list, &images, &err), 0);
    ck_assert_str_eq(images.items[0].id, "a");
    ck_assert_str_eq(ath_docker_label(images.items[0].labels, "k"), "v");
    ck_assert_int_eq(images.items[0].size_bytes, ATH_UNKNOWN);
    ck_assert_uint_eq(images.items[1].names.count, 0);
    ck_assert_ptr_null(images.items[1].created_at);
    ck_assert_int_eq(ath_docker_image_read(one, &image, &err), 0);
    ck_assert_uint_eq(image.names.count, 2);
    ck_assert_str_eq(image.architecture, "ppc64le");
    ck_assert_str_eq(image.created_at, "2026-01-01T00:00:00Z");
    ck_assert_str_eq(ath_docker_label(image.labels, "k"), "w");
}

/* ---- the daemon ---- */

static void read_facts(const char *info_text, const char *networks_text,
                       struct ath_docker_facts *out)
{
    json_auto_t *version = parse("{\"Version\":\"28.1.0\",\"ApiVersion\":\"1.49\"}");
    json_auto_t *info = parse(info_text), *networks = parse(networks_text);
    struct ath_err err;
    ck_assert_int_eq(ath_docker_facts_from(version, info, networks, out, &err), 0);
}

TEST(reads_a_daemons_abilities)
{
    ATH_AUTO(ath_docker_facts) facts = { 0 };
    read_facts("{\"CgroupVersion\":\"2\",\"CgroupDriver\":\"systemd\",\"NCPU\":160,"
               "\"SecurityOptions\":[\"name=seccomp,profile=builtin\",\"name=rootless\"],"
               "\"Runtimes\":{\"runc\":{},\"nvidia\":{\"path\":\"nvidia-container-runtime\"}},"
               "\"DefaultRuntime\":\"runc\",\"CDISpecDirs\":[\"/etc/cdi\",\"/var/run/cdi\"],"
               "\"DiscoveredDevices\":[{\"Source\":\"cdi\",\"ID\":\"nvidia.com/gpu=0\"},"
               "{\"Source\":\"other\",\"ID\":\"x\"}]}",
               "[{\"Name\":\"bridge\"},{\"Name\":\"host\"}]", &facts);
    ck_assert_int_eq(facts.cgroup_version, 2);
    ck_assert(facts.is_rootless);
    ck_assert(facts.has_nvidia_runtime);
    ck_assert(facts.has_bridge);
    ck_assert_int_eq(facts.has_cdi, 1);
    ck_assert_uint_eq(facts.cdi_folders.count, 2);
    ck_assert_uint_eq(facts.cdi_devices.count, 1);
    ck_assert_str_eq(facts.cdi_devices.items[0], "nvidia.com/gpu=0");
    ck_assert_int_eq(facts.cpu_count, 160);
}

/* GET /version and /info of podman 4.3.1, shortened; with NVIDIA's runtime in containers.conf. */
TEST(knows_what_podman_ignores)
{
    json_auto_t *version =
        parse("{\"Components\":[{\"Name\":\"Podman Engine\",\"Version\":\"4.3.1\"},{\"Name\":"
              "\"Conmon\"}],\"Version\":\"4.3.1\",\"ApiVersion\":\"1.41\"}");
    json_auto_t *info = parse("{\"Runtimes\":{\"crun\":{},\"nvidia\":{}},\"LoggingDriver\":\"\","
                              "\"CDISpecDirs\":[\"/etc/cdi\"]}");
    json_auto_t *networks = parse("[{\"Name\":\"bridge\"}]");
    ATH_AUTO(ath_docker_facts) facts = { 0 };
    struct ath_err err;

    ck_assert_int_eq(ath_docker_facts_from(version, info, networks, &facts, &err), 0);
    ck_assert(facts.is_podman);
    ck_assert(!facts.has_nvidia_runtime);
    ck_assert_int_eq(facts.has_cdi, 0);
    ck_assert(facts.has_bridge);
    ath_docker_facts_free(&facts);
    read_facts("{\"Runtimes\":{\"nvidia\":{}}}", "[]", &facts);
    ck_assert(!facts.is_podman);
    ck_assert(facts.has_nvidia_runtime);
}

TEST(knows_an_image_by_its_name_in_podman)
{
    json_auto_t *json = parse("{\"Id\":\"sha256:a\",\"RepoTags\":[\"localhost/runtime:latest\","
                              "\"host:5000/other:1\"]}");
    ATH_AUTO(ath_docker_image) image = { 0 };
    struct ath_err err;

    ck_assert_int_eq(ath_docker_image_read(json, &image, &err), 0);
    ck_assert(ath_docker_image_is_named(&image, "runtime:latest"));
    ck_assert(ath_docker_image_is_named(&image, "localhost/runtime:latest"));
    ck_assert(ath_docker_image_is_named(&image, "host:5000/other:1"));
    ck_assert(!ath_docker_image_is_named(&image, "other:1"));
    ck_assert(!ath_docker_image_is_named(&image, "time:latest"));
}

TEST(does_not_guess_unknown_abilities)
{
    ATH_AUTO(ath_docker_facts) facts = { 0 };
    read_facts("{}", "[]", &facts);
    ck_assert_int_eq(facts.cgroup_version, ATH_UNKNOWN);
    ck_assert_int_eq(facts.has_cdi, ATH_UNKNOWN);
    ck_assert(!facts.has_bridge);
    ck_assert_int_eq(facts.cpu_count, ATH_UNKNOWN);
    ath_docker_facts_free(&facts);
    read_facts("{\"CDISpecDirs\":[],\"CgroupVersion\":\"two\"}", "[{\"Name\":\"bridge2\"}]",
               &facts);
    ck_assert_int_eq(facts.has_cdi, 0);
    ck_assert_int_eq(facts.cgroup_version, ATH_UNKNOWN);
    ck_assert(!facts.has_bridge);
}

TEST(reads_events_old_and_new)
{
    /* API 1.52 leaves out "status", "id" and "from"; the rest is the same since 1.22. */
    json_auto_t *json =
        parse("{\"Type\":\"container\",\"Action\":\"die\",\"Actor\":{\"ID\":\"i\",\"Attributes\":"
              "{\"exitCode\":\"137\",\"name\":\"n\",\"aitherion.node\":\"0\"}},\"timeNano\":5}");
    json_auto_t *wrong = parse("{\"status\":\"die\",\"id\":\"i\"}");
    struct ath_docker_event event;
    struct ath_err err;
    ck_assert_int_eq(ath_docker_event_read(json, &event, &err), 0);
    ck_assert_str_eq(event.name, "n");
    ck_assert_int_eq(event.exit_code, 137);
    ck_assert_int_eq(event.time_ns, 5);
    ck_assert_str_eq(ath_docker_label(event.attributes, "aitherion.node"), "0");
    ck_assert_int_eq(ath_docker_event_read(wrong, &event, &err), -EBADMSG);
}
