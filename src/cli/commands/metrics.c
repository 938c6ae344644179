/* aitherion metrics: one page of metrics for all runtimes, printed once or served. */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/log.h"
#include "cli/commands/commands.h"
#include "cli/host_metrics.h"
#include "cli/output/metrics.h"
#include "cli/watch.h"
#include "remote/wire/endpoint.h"
#include "watch/http.h"
#include "watch/places.h"

enum {
    POLL_MS = 200,
    REQUEST_MS = 5000,
    IDLE_MS = 30000,
    ANSWER_MS = 10000,
    CONNECTION_MS = 10 * 60 * 1000,
    PAGE_MS = 1000, /* that a page is shown to others */
};

struct options {
    const char *listen, *web;
    bool is_table;
    struct ath_reach_options reach;
};

/* ---- serving ---- */

struct page {
    struct ath_text text;
    uint64_t made_ms; /* 0: it is not there */
};

/* The state of the server. It outlives the threads of its connections. */
struct server {
    struct ath_cli *cli;
    const struct options *options;
    pthread_mutex_t lock; /* one page at a time: the command line's state has one user */
    struct page pages[ATH_METRICS_OPEN + 1];
    struct ath_page_host host;
    struct ath_metrics_places *places;
    struct ath_metrics_web web;
};

struct client {
    struct server *server;
    int fd, place;
};

/* The error of listing the runtimes goes to standard error. Connections that wait meanwhile get the
 * same page. */
static int make_page(void *context, enum ath_metrics_format format, struct ath_text *out)
{
    struct server *server = context;
    struct page *page = &server->pages[format];
    struct ath_err err = { 0 };
    int status = 0;
    pthread_mutex_lock(&server->lock);
    if (!page->made_ms || ath_now_ms() - page->made_ms > PAGE_MS) {
        page->text.length = 0;
        status = ath_host_metrics_write(server->cli, &server->options->reach, &server->host, false,
                                        format, &page->text, &err);
        page->made_ms = status ? 0 : ath_now_ms();
    }
    if (status)
        ath_log(ATH_LOG_NORMAL, "%s", err.message);
    else
        ath_text_add_bytes(out, page->text.data ? page->text.data : "", page->text.length);
    pthread_mutex_unlock(&server->lock);
    return status;
}

static void end_client(struct client *client)
{
    close(client->fd);
    ath_metrics_places_give(client->server->places, client->place);
    free(client);
}

static void *serve_client(void *argument)
{
    struct client *client = argument;
    const struct ath_metrics_http http = { .make = make_page,
                                           .context = client->server,
                                           .web = &client->server->web,
                                           .request_ms = REQUEST_MS,
                                           .idle_ms = IDLE_MS,
                                           .answer_ms = ANSWER_MS,
                                           .connection_ms = CONNECTION_MS };
    ath_metrics_http_serve(client->fd, &http);
    end_client(client);
    return NULL;
}

/* Serves a connection in a thread of its own; closes the connection if it gets no place. */
static void start_client(struct server *server, int fd)
{
    int place = ath_metrics_places_take(server->places, fd);
    pthread_t thread;

    if (place < 0) {
        close(fd);
        return;
    }
    struct client *client = ath_xalloc(sizeof *client);
    *client = (struct client){ server, fd, place };
    if (pthread_create(&thread, NULL, serve_client, client))
        end_client(client);
    else
        pthread_detach(thread);
}

static int serve(struct ath_cli *cli, const struct options *options, struct ath_err *err)
{
    static struct server server; /* of the process: threads may outlive this call */
    struct ath_endpoint endpoint;
    ath_auto_close int listener = -1;
    char text[ATH_ENDPOINT_TEXT];

    int status = options->web ? ath_metrics_web_load(options->web, &server.web, err) : 0;
    if (!status)
        status = ath_metrics_http_load(&server.web, err);
    if (!status)
        status = ath_endpoint_parse(options->listen, &endpoint, err);
    if (!status)
        status = ath_endpoint_listen(&endpoint, 0600, &listener, err);
    if (status)
        return status;
    server.cli = cli;
    server.options = options;
    ath_page_host_open(cli, &server.host);
    pthread_mutex_init(&server.lock, NULL);
    server.places = ath_metrics_places_make();
    ath_stop_catch();
    fprintf(stdout, _("metrics at %s://%s/metrics\n"), server.web.certificate ? "https" : "http",
            ath_endpoint_of_socket(listener, false, text));
    fflush(stdout);
    while (!ath_stop_is_wanted(NULL)) {
        struct pollfd one = { .fd = listener, .events = POLLIN };
        int fd = poll(&one, 1, POLL_MS) > 0 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (fd >= 0)
            start_client(&server, fd);
    }
    _exit(0); /* without waiting for connections */
}

/* ---- once ---- */

static int print(struct ath_cli *cli, const struct options *options, struct ath_err *err)
{
    ATH_AUTO(ath_text) text = { 0 };
    ATH_AUTO(ath_page_host) host;
    ath_page_host_open(cli, &host);
    int status =
        ath_host_metrics_write(cli, &options->reach, &host, true, ATH_METRICS_TEXT, &text, err);
    if (status)
        return status;
    ath_auto_free char *page = ath_text_take(&text);
    const struct ath_metrics_page data = { page };
    return ath_cli_show(cli, &ath_metrics_page_view, &data, ath_cli_format(cli), err);
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    if (options->is_table && options->listen)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("--%s and --%s exclude each other"),
                           "table", "listen");
    if (options->web && !options->listen)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("--%s needs --%s"), "web", "listen");
    if (options->is_table)
        return ath_cli_show(cli, &ath_metrics_table_view, NULL, ath_cli_format(cli), err);
    return options->listen ? serve(cli, options, err) : print(cli, options, err);
}

static const struct ath_option option_table[] = {
    { .name = "listen",
      .type = ATH_OPTION_TEXT,
      .metavar = "ADDRESS:PORT",
      .offset = offsetof(struct options, listen),
      .help = N_("serve the page under /metrics at this address until Ctrl-C") },
    { .name = "web",
      .type = ATH_OPTION_TEXT,
      .metavar = "FILE",
      .completion = ATH_COMPLETE_FILE,
      .offset = offsetof(struct options, web),
      .help = N_("with --listen: TLS and passwords, from a web configuration file as Prometheus' "
                 "exporters have it") },
    { .name = "table",
      .type = ATH_OPTION_FLAG,
      .offset = offsetof(struct options, is_table),
      .help = N_("show which metrics there are, with their types; --json adds units and labels") },
    ATH_REACH_LIST_OPTIONS(struct options),
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion metrics", N_("of all runtimes on this machine, once") },
    { "aitherion metrics --listen 10.0.0.11:9470 --numa all", N_("for Prometheus") },
    { "aitherion metrics --server 10.0.0.11:50051,10.0.0.12:50051", N_("of other machines") },
    { .command = NULL },
};

const struct ath_command ath_command_metrics = {
    .name = "metrics",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("show or serve the metrics of runtimes for Prometheus"),
    .description =
        N_("Asks all runtimes on this machine, or those that --server or --numa names, and prints "
           "one page of metrics in Prometheus' text format, with the labels server and node. With "
           "--listen it serves the page to Prometheus, as OpenMetrics if Prometheus asks for that; "
           "the runtimes are asked again for each page. The page also has the network ports of the "
           "machine that the command runs on, and what `discover --measure` measured there.\n\n"
           "A runtime that cannot be reached, or does not answer within four seconds, has "
           "aitherion_up 0 and no other metrics. A runtime with the key `metrics` in the document "
           "serves its own page, and needs no command."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .examples = examples,
    .run = run,
};
