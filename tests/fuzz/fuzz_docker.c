/*
 * Fuzzes the client of the Docker Engine: the first byte of an input chooses a request, the rest is
 * the daemon's whole answer, HTTP head and all. The answer comes through a unix socket and libcurl,
 * as a daemon's does, and is read by the function that belongs to the request.
 */
#include "config.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/unknown.h"
#include "container/docker/container.h"
#include "container/docker/image.h"
#include "container/docker/network.h"
#include "container/docker/system.h"

#include "fuzz.h"

static char path[] = "/dev/shm/aitherion-fuzz-XXXXXX/s";
static struct ath_docker *docker;
static int listener;

/* The daemon's answer to every request. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *answer;
static size_t answer_length;

/* ---- the daemon ---- */

static void set_answer(const void *bytes, size_t length)
{
    pthread_mutex_lock(&lock);
    free(answer);
    answer = malloc(length + 1);
    insist(answer != NULL, "there is memory");
    memcpy(answer, bytes, length);
    answer_length = length;
    pthread_mutex_unlock(&lock);
}

/* Reads the request up to the end of its head, so that libcurl has sent it. */
static void read_request(int fd)
{
    char bytes[8192];
    size_t length = 0;
    ssize_t got;
    while (length < sizeof bytes - 1 &&
           (got = recv(fd, bytes + length, sizeof bytes - 1 - length, 0)) > 0) {
        length += (size_t)got;
        bytes[length] = '\0';
        if (strstr(bytes, "\r\n\r\n"))
            return;
    }
}

static void *be_daemon(void *unused)
{
    (void)unused;
    for (;;) {
        char rest[4096];
        ath_auto_close int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            return NULL;
        read_request(fd);
        pthread_mutex_lock(&lock);
        (void)!send(fd, answer, answer_length, MSG_NOSIGNAL | MSG_DONTWAIT);
        pthread_mutex_unlock(&lock);
        shutdown(fd, SHUT_WR);
        while (recv(fd, rest, sizeof rest, 0) > 0)
            continue;
    }
}

static void remove_socket(void)
{
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
}

static void begin(void)
{
    static const char ping[] = "HTTP/1.1 200 OK\r\nApi-Version: 1.43\r\nContent-Length: 0\r\n\r\n";
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct ath_docker_host host = { .text = path, .socket = path, .base = (char[]){ "http://d" } };
    struct ath_err err;
    pthread_t thread;
    char *slash = strrchr(path, '/');
    *slash = '\0';
    insist(mkdtemp(path) != NULL, "there is a folder");
    *slash = '/';
    insist(!atexit(remove_socket), "the folder is removed");
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    insist(!bind(listener, (struct sockaddr *)&address, sizeof address) && !listen(listener, 8),
           "there is a socket");
    set_answer(ping, sizeof ping - 1);
    insist(!pthread_create(&thread, NULL, be_daemon, NULL), "there is a thread");
    insist(!ath_docker_open(&host, NULL, 0, &docker, &err), "there is a daemon");
}

/* ---- requests, and who reads their answers ---- */

static struct ath_err err;

static int inspect_container(void)
{
    json_auto_t *json = NULL;
    struct ath_docker_container container = { 0 };
    int status = ath_docker_do(docker, ath_docker_container_inspect("c"), &json, &err);
    if (!status)
        status = ath_docker_container_read(json, &container, &err);
    if (!status)
        ath_docker_label(container.labels, "org.aitherion.node");
    ath_docker_container_free(&container);
    return status;
}

static int list_containers(void)
{
    json_auto_t *json = NULL;
    struct ath_docker_containers list = { 0 };
    int status = ath_docker_do(docker, ath_docker_container_list("a"), &json, &err);
    if (!status)
        status = ath_docker_containers_read(json, &list, &err);
    ath_docker_containers_free(&list);
    return status;
}

static int await_container(void)
{
    json_auto_t *json = NULL;
    int code,
        status = ath_docker_do(docker, ath_docker_container_wait("c", "removed"), &json, &err);
    return status ? status : ath_docker_wait_read(json, &code, &err);
}

static int take_output(void *context, enum ath_docker_stream stream, const char *bytes,
                       size_t length, struct ath_err *unused)
{
    size_t *total = context;
    (void)unused;
    insist(stream == ATH_DOCKER_STDOUT || stream == ATH_DOCKER_STDERR, "output has a stream");
    for (size_t i = 0; i < length; i++)
        *total += (unsigned char)bytes[i];
    return ATH_DOCKER_GO_ON;
}

static int read_logs(void)
{
    const struct ath_docker_logs logs = { .tail = ATH_UNKNOWN };
    size_t total = 0;
    return ath_docker_do(docker, ath_docker_container_logs("c", &logs, take_output, &total), NULL,
                         &err);
}

static int inspect_image(void)
{
    json_auto_t *json = NULL;
    struct ath_docker_image image = { 0 };
    int status = ath_docker_do(docker, ath_docker_image_inspect("i"), &json, &err);
    if (!status)
        status = ath_docker_image_read(json, &image, &err);
    if (!status)
        ath_docker_image_is_named(&image, "aitherion-runtime:latest");
    ath_docker_image_free(&image);
    return status;
}

static int list_images(void)
{
    json_auto_t *json = NULL;
    struct ath_docker_images list = { 0 };
    int status = ath_docker_do(docker, ath_docker_image_list(NULL), &json, &err);
    if (!status)
        status = ath_docker_images_read(json, &list, &err);
    ath_docker_images_free(&list);
    return status;
}

static int inspect_network(void)
{
    json_auto_t *json = NULL;
    struct ath_docker_network network = { 0 };
    int status = ath_docker_do(docker, ath_docker_network_inspect("n"), &json, &err);
    if (!status)
        status = ath_docker_network_read(json, &network, &err);
    ath_docker_network_free(&network);
    return status;
}

static int list_networks(void)
{
    json_auto_t *json = NULL;
    struct ath_docker_networks list = { 0 };
    int status = ath_docker_do(docker, ath_docker_network_list("a"), &json, &err);
    if (!status)
        status = ath_docker_networks_read(json, &list, &err);
    ath_docker_networks_free(&list);
    return status;
}

static int read_facts(void)
{
    struct ath_docker_facts facts = { 0 };
    int status = ath_docker_facts_read(docker, &facts, &err);
    if (!status)
        ath_docker_facts_free(&facts);
    return status;
}

static int take_event(void *context, json_t *json, struct ath_err *fault)
{
    struct ath_docker_event event;
    (void)context;
    return ath_docker_event_read(json, &event, fault);
}

static int follow_events(void)
{
    return ath_docker_do(docker, ath_docker_events(NULL, 5, 6, take_event, NULL), NULL, &err);
}

static int take_progress(void *context, json_t *json, struct ath_err *unused)
{
    struct ath_docker_progress progress;
    size_t *total = context;
    (void)unused;
    ath_docker_progress_read(json, &progress);
    for (size_t i = 0; progress.loaded && i < progress.loaded_length; i++)
        *total += (unsigned char)progress.loaded[i];
    return ATH_DOCKER_GO_ON;
}

static ssize_t upload_nothing(void *context, char *buffer, size_t size, struct ath_err *unused)
{
    (void)context;
    (void)buffer;
    (void)size;
    (void)unused;
    return 0;
}

static int load_image(void)
{
    size_t total = 0;
    return ath_docker_do(docker, ath_docker_image_load(upload_nothing, 0, take_progress, &total),
                         NULL, &err);
}

static int stop_container(void)
{
    return ath_docker_do(docker, ath_docker_container_stop("c", 1), NULL, &err);
}

static int ping(void)
{
    return ath_docker_ping(docker, 0, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int (*const requests[])(void) = { inspect_container,
                                             list_containers,
                                             await_container,
                                             read_logs,
                                             inspect_image,
                                             list_images,
                                             inspect_network,
                                             list_networks,
                                             read_facts,
                                             follow_events,
                                             load_image,
                                             stop_container,
                                             ping };
    if (!docker)
        begin();
    if (!size)
        return 0;
    err = (struct ath_err){ 0 };
    set_answer(data + 1, size - 1);
    int status = requests[data[0] % (sizeof requests / sizeof *requests)]();
    insist(!status || err.code != ATH_E_NONE, "an error has a code");
    return 0;
}
