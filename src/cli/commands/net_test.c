/* aitherion net test: measures what the paths to a runtime can do. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/output/net_test.h"
#include "cli/output/run.h"
#include "cli/reach.h"
#include "cli/watch.h"
#include "remote/session/open.h"

static const char *const transports[] = { "auto", "tcp", "udp", NULL };

struct options {
    struct ath_reach_options reach;
    const char *time, *bytes, *tls_ca; /* NULL: not given */
    int transport, encrypt;            /* indexes of words; 0: auto */
};

static int read_amount(const struct options *options, struct ath_net_test_report *out,
                       struct ath_err *err)
{
    static const double least_s = 0.1, most_s = 3600;
    static const uint64_t least_bytes = 2 * (uint64_t)ATH_STRIPED_BYTES;
    out->time_seconds = 1;
    if (options->time && options->bytes)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'--%s' and '--%s' exclude each other"),
                           "time", "bytes");
    if (options->time && (ath_parse_double(options->time, &out->time_seconds) ||
                          !(out->time_seconds >= least_s && out->time_seconds <= most_s)))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("'%s' is not a time in seconds from %g to %g"), options->time, least_s,
                           most_s);
    if (options->bytes && (ath_parse_size(options->bytes, &out->bytes) ||
                           out->bytes < least_bytes || out->bytes > INT64_MAX)) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not a size of at least 2M"),
                    options->bytes);
        return ath_err_hint(err, -EINVAL, _("give a size like 64M or 1G"));
    }
    return 0;
}

/* As `aitherion run` does, for what opens the session. */
static void set_environment(const struct options *options)
{
    if (options->encrypt)
        setenv("AITHERION_ENCRYPT", ath_run_encryptions[options->encrypt], true);
    if (options->tls_ca)
        setenv("AITHERION_TLS_CA", options->tls_ca, true);
}

static int open_session(const struct ath_reach *reach, const struct options *options,
                        struct ath_net_test_report *report, struct ath_session *out,
                        struct ath_err *err)
{
    const char *wanted = options->transport ? transports[options->transport]
                                            : ath_client_variable("AITHERION_TRANSPORT");
    struct ath_session_first first;
    report->server = reach->items[0].server;
    report->wants_udp = wanted && !strcmp(wanted, "udp");
    if (ath_starts_with(report->server, "unix:")) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE,
                    _("'%s' is a socket of this machine, and no network leads there"),
                    report->server);
        return ath_err_hint(err, -EINVAL, "aitherion net test --server HOST:PORT");
    }
    ath_net_test_first(report->wants_udp, &first);
    return ath_reach_other_session(reach, &reach->items[0], &first, out, err);
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    struct options options = *(const struct options *)data;
    ATH_AUTO(ath_reach) reach = { 0 };
    ATH_AUTO(ath_session) session = { .fd = -1 };
    struct ath_net_test_report report = { .is_dry_run = cli->globals.is_dry_run };
    struct ath_bar bar = ath_cli_bar(cli);

    int status = read_amount(&options, &report, err);
    set_environment(&options);
    options.reach.needs_network = true;
    if (!status)
        status = ath_reach_open(cli, &options.reach, ATH_REACH_ONE, &reach, err);
    if (!status)
        status = open_session(&reach, &options, &report, &session, err);
    if (status)
        return status;
    const struct ath_net_plan plan = { .time_ms = (uint64_t)(report.time_seconds * 1000),
                                       .bytes = report.bytes,
                                       .only_finds = report.is_dry_run,
                                       .step = ath_net_test_bar_show,
                                       .context = &bar };
    status = ath_net_test_run(&session, report.server, &plan, &report.test, err);
    ath_bar_end(&bar);
    return status ? status
                  : ath_cli_show(cli, &ath_net_test_view, &report, ath_cli_format(cli), err);
}

static const struct ath_option option_table[] = {
    ATH_REACH_OPTIONS(struct options),
    { .name = "time",
      .type = ATH_OPTION_TEXT,
      .metavar = "SECONDS",
      .offset = offsetof(struct options, time),
      .help = N_("about how long each speed is measured (default: 1); round trips take half of "
                 "it") },
    { .name = "bytes",
      .type = ATH_OPTION_TEXT,
      .metavar = "SIZE",
      .offset = offsetof(struct options, bytes),
      .help = N_("measure each speed by so many bytes, like 64M or 1G, whatever time they take") },
    { .name = "transport",
      .type = ATH_OPTION_CHOICE,
      .choices = transports,
      .offset = offsetof(struct options, transport),
      .help = N_("how large copies travel: by TCP (auto, the default, and tcp), or by UDP if the "
                 "runtime takes it (udp); calls always go by TCP") },
    ATH_REACH_ENCRYPTION_OPTIONS(struct options),
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion net test --server 10.0.0.11:50051",
      N_("each path to a runtime, and all together") },
    { "aitherion net test --server 10.0.0.11:50051 --transport udp --time 5",
      N_("with large copies by UDP, five seconds for each speed") },
    { "aitherion net test --server 10.0.0.11:50051 --dry-run",
      N_("show the paths that a program would use, and measure nothing") },
    { "aitherion net test --server 10.0.0.11:50051 --bytes 256M --json", N_("as data") },
    { .command = NULL },
};

const struct ath_command ath_command_net_test = {
    .name = "test",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("measure the paths to a runtime"),
    .description =
        N_("Opens a session as a program does, by the same paths and with the same key and "
           "encryption, and measures each path: the round trip of a small message (minimum, "
           "median, 99th percentile), the speed in each direction, and how often TCP sent a "
           "segment again (to the runtime / from it). First each path alone, with as many "
           "connections as a program has by it; then all paths of large copies together, as "
           "copies of programs go. Speeds count the bytes that arrive, without heads of TCP, UDP "
           "and TLS.\n\n"
           "The path of the calls carries all calls and copies below 1 MiB: its round trip is "
           "what each call that is waited for costs. The paths of data carry larger copies. If "
           "the runtime has no data addresses (`data_iface` of the document), large copies go "
           "where the calls go.\n\n"
           "The test uses no GPU: it also works while all GPUs are in use. It counts as a session "
           "of its key until it ends, and fills the network meanwhile, so programs on the same "
           "links are slower."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .examples = examples,
    .run = run,
};
