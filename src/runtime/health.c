/* Asks a server about its health and prints the answer for a person. */
#include "config.h"

#include "runtime/health.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "runtime/listen_address.h"

enum { TIMEOUT_S = 5, TIMEOUT_S_MAX = 3600 };

static void print_uptime(uint64_t ms)
{
    uint64_t s = ms / 1000;
    if (s >= 86400)
        printf("%" PRIu64 "d ", s / 86400);
    if (s >= 3600)
        printf("%" PRIu64 "h ", s / 3600 % 24);
    if (s >= 60)
        printf("%" PRIu64 "min ", s / 60 % 60);
    printf("%" PRIu64 "s\n", s % 60);
}

static void print_device(const struct ath_runtime_device *device)
{
    printf("  %-16s", device->pci ? device->pci : "-");
    fputs(device->name, stdout);
    if (device->memory_total_bytes != ATH_UNKNOWN)
        printf(", %.1f GiB", (double)device->memory_total_bytes / (1 << 30));
    if (device->memory_limit_bytes != ATH_UNKNOWN)
        printf(_(", %.1f GiB served"), (double)device->memory_limit_bytes / (1 << 30));
    putchar('\n');
}

/* Prints a label padded to its column, by the width of its characters. */
static void print_label(const char *label)
{
    enum { COLUMNS = 18 };
    size_t width = ath_text_width(label);
    printf("%s%*s", label, width < COLUMNS ? (int)(COLUMNS - width) : 1, "");
}

static void print_text_health(const struct ath_runtime_health *health)
{
    print_label(_("software"));
    fputs(health->software, stdout);
    printf(_(", protocol %u\n"), (unsigned int)health->protocol);
    print_label(_("uptime"));
    print_uptime(health->uptime_ms);
    if (health->hostname) {
        print_label(_("host"));
        fputs(health->hostname, stdout);
        putchar('\n');
    }
    if (health->address) {
        print_label(_("address"));
        fputs(health->address, stdout);
        putchar('\n');
    }
    if (health->node) {
        print_label(_("node"));
        fputs("NUMA", stdout);
        fputs(health->node, stdout);
        putchar('\n');
    }
    print_label(_("sessions"));
    printf("%u\n", (unsigned int)health->sessions);
    if (health->driver_version) {
        print_label(_("driver"));
        printf("CUDA %u.%u\n", (unsigned int)(health->driver_version / 1000),
               (unsigned int)(health->driver_version % 1000 / 10));
    }
    print_label(_("devices"));
    printf("%zu%s\n", health->device_count, health->is_simulated ? _(" (simulated)") : "");
    for (size_t i = 0; i < health->device_count; i++)
        print_device(&health->devices[i]);
    for (size_t i = 0; i < health->problem_count; i++) {
        const struct ath_runtime_problem *problem = &health->problems[i];
        print_label(problem->is_fault ? _("fault") : _("note"));
        fputs(problem->code, stdout);
        if (problem->object) {
            putchar(' ');
            fputs(problem->object, stdout);
        }
        fputs(": ", stdout);
        fputs(problem->message, stdout);
        putchar('\n');
    }
}

static int ask_server(const struct ath_runtime_options *options, int timeout_s,
                      struct ath_runtime_health *out, struct ath_err *err)
{
    ATH_AUTO(ath_session) session = { .fd = -1 };
    ATH_AUTO(ath_secret) secret = { 0 };
    struct ath_endpoint endpoint;
    struct ath_encryption encryption = { .authorities = options->tls_ca };

    if (ath_encrypt_parse(options->encrypt, &encryption.policy))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not auto, on or off"),
                           options->encrypt);
    int status = ath_listen_address_to_ask(options, &endpoint, err);
    if (!status)
        status = ath_listen_address_key(options, &secret, err);
    if (!status)
        status = ath_session_open(&endpoint, secret.length ? &secret : NULL, encryption, NULL,
                                  timeout_s * 1000, &session, err);
    return status ? status : ath_session_health(&session, out, err);
}

/* The exit code for an error that tells about the server; -1 for an error of this program. */
static int exit_of(const struct ath_err *err)
{
    switch (err->code) {
    case ATH_E_KEY_REFUSED:
        return ATH_RUNTIME_KEY_REFUSED;
    case ATH_E_NOT_ENCRYPTED:
    case ATH_E_CERTIFICATE_REFUSED:
    case ATH_E_PEER_UNREACHABLE:
    case ATH_E_PEER_FAILED:
    case ATH_E_PEER_PROTOCOL:
        return ATH_RUNTIME_FAULTS;
    default:
        return -1;
    }
}

static void print_error(const struct ath_err *err)
{
    fprintf(stderr, "aitherion-runtime: %s\n", err->message);
    if (*err->hint)
        fprintf(stderr, "  %s\n", err->hint);
}

int ath_health(const struct ath_runtime_options *options, struct ath_err *err)
{
    ATH_AUTO(ath_runtime_health) health = { 0 };
    int timeout_s = TIMEOUT_S;

    if (options->timeout && (ath_parse_int(options->timeout, 1, TIMEOUT_S_MAX, &timeout_s)))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("'%s' is no number of seconds from 1 to %d"), options->timeout,
                           TIMEOUT_S_MAX);
    int status = ask_server(options, timeout_s, &health, err);
    int code = status                                  ? exit_of(err)
               : ath_runtime_health_has_fault(&health) ? ATH_RUNTIME_FAULTS
                                                       : ATH_RUNTIME_DONE;
    if (code < 0)
        return status;
    struct ath_err found = *err;
    if (options->is_json)
        status = ath_health_print_json(status ? NULL : &health, status ? &found : NULL, err);
    else if (status)
        print_error(&found);
    else
        print_text_health(&health);
    if (options->is_json && status)
        return status;
    return fflush(stdout) ? ath_err_system(err, -errno, "%s", _("cannot write")) : code;
}
