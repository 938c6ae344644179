/* The tables of commands, options and exit codes, and their parsing and help. */
#include "config.h"

#include "runtime/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/level.h"
#include "base/text.h"

#define FOR(command) (1u << ATH_RUNTIME_##command)
#define AT(member) offsetof(struct ath_runtime_options, member)

static const struct {
    const char *name, *summary;
} commands[ATH_RUNTIME_COMMANDS] = {
    [ATH_RUNTIME_SERVE] = { "serve", N_("serves this machine's GPUs until it is stopped") },
    [ATH_RUNTIME_HEALTH] = { "health", N_("checks a server's health") },
    [ATH_RUNTIME_PAUSE] = { "pause", N_("waits and reaps children: the process that keeps a "
                                        "container's network namespace") },
    [ATH_RUNTIME_SWITCHES] = { "switches",
                               N_("shows what AITHERION_DISABLE can switch off in a program") },
};

static const struct option {
    const char *name;
    const char *value;    /* NULL: a flag */
    const char *variable; /* of the environment; NULL: no variable */
    const char *help;
    size_t offset;
    unsigned int commands; /* FOR() of the commands that take the option */
} options[] = {
    { "listen", "ADDRESS:PORT", "AITHERION_LISTEN",
      N_("the address to listen on; port 0 is any free port; none: only the unix socket (default: "
         "the address of the interface in CONTROL_IFACE, else 127.0.0.1, and the port in "
         "CAPNP_PORT, else 50051)"),
      AT(listen), FOR(SERVE) },
    { "data-listen", "ADDRESS:PORT", "AITHERION_DATA_LISTEN",
      N_("an address for large copies only, such as that of a fast network port; give the option "
         "again, or separate addresses by commas, for several (default: the addresses of the "
         "interfaces in DATA_IFACE with the port in ZMQ_PORT, else 5555; none without DATA_IFACE)"),
      AT(data_listen), FOR(SERVE) },
    { "data-address", "ADDRESS:PORT", "AITHERION_DATA_ADDRESS",
      N_("an address that clients use in place of those of --data-listen, such as a port that a "
         "container publishes; several as for --data-listen"),
      AT(data_address), FOR(SERVE) },
    { "udp", "PORT|on|off", "AITHERION_UDP",
      N_("take programs' large data by UDP as well: at the data addresses if there are any, else "
         "at this port of the address of --listen; on: the same port, 0: any free port (default: "
         "off)"),
      AT(udp), FOR(SERVE) },
    { "socket", "PATH", "AITHERION_SOCKET", N_("listen on a unix socket as well"), AT(socket),
      FOR(SERVE) },
    { "socket", "PATH", "AITHERION_SOCKET", N_("ask over a unix socket"), AT(socket), FOR(HEALTH) },
    { "server", "ADDRESS:PORT", "AITHERION_LISTEN",
      N_("the server to ask (default: the address that serve would listen on)"), AT(server),
      FOR(HEALTH) },
    { "key", "FILE", "AITHERION_KEY_FILE",
      N_("the shared key: any bytes, the whole file; or a folder with a key for each identity, by "
         "the file's name (default: /etc/aitherion/key)"),
      AT(key), FOR(SERVE) | FOR(HEALTH) },
    { "no-auth", NULL, NULL, N_("use no key: any process that reaches the server may use it"),
      AT(is_no_auth), FOR(SERVE) | FOR(HEALTH) },
    { "encrypt", "auto|on|off", "AITHERION_ENCRYPT",
      N_("encrypt TCP connections by TLS with the key: those that leave the host (auto, the "
         "default), all (on) or none (off)"),
      AT(encrypt), FOR(SERVE) | FOR(HEALTH) },
    { "tls-certificate", "FILE", "AITHERION_TLS_CERTIFICATE",
      N_("prove which server this is by a certificate as well, to clients that want one: its file "
         "in PEM form, with those of authorities between behind it"),
      AT(tls_certificate), FOR(SERVE) },
    { "tls-key", "FILE", "AITHERION_TLS_KEY", N_("the private key of the certificate"), AT(tls_key),
      FOR(SERVE) },
    { "tls-ca", "FILE", "AITHERION_TLS_CA",
      N_("on encrypted connections the server must have a certificate that one of these "
         "authorities has signed"),
      AT(tls_ca), FOR(HEALTH) },
    { "sim", NULL, "AITHERION_SIM",
      N_("serve a simulated GPU instead of real ones; it runs only the kernels of aitherion's own "
         "examples and tests, by name"),
      AT(is_sim), FOR(SERVE) },
    { "gpus", "PCI,...|none", "AITHERION_GPUS", N_("serve these GPUs only"), AT(gpus), FOR(SERVE) },
    { "vram-fraction", "FRACTION", "VRAM_FRACTION",
      N_("the part of each GPU's memory for all sessions together (default: 1)"), AT(vram_fraction),
      FOR(SERVE) },
    { "host-fraction", "FRACTION", "HOST_FRACTION",
      N_("the part of this host's memory that one session may take, mapped memory of its program "
         "included (default: 0.5)"),
      AT(host_fraction), FOR(SERVE) },
    { "sessions-per-source", "NUMBER", "SESSIONS_PER_SOURCE",
      N_("the most sessions from one address, of one user of this host, or with one of several "
         "keys (default: 256)"),
      AT(sessions_per_source), FOR(SERVE) },
    { "no-enforce", NULL, "AITHERION_NO_ENFORCE",
      N_("only count and log what goes beyond limits of GPU memory, and refuse nothing"),
      AT(is_no_enforce), FOR(SERVE) },
    { "sharing", "auto|turns|free", "AITHERION_SHARING",
      N_("sessions that use the same GPU take turns on it: when one of them has a share, a cap or "
         "a priority (auto, the default), always (turns) or never (free)"),
      AT(sharing), FOR(SERVE) },
    { "metrics", "ADDRESS:PORT", NULL, N_("serve metrics for Prometheus on this address"),
      AT(metrics), FOR(SERVE) },
    { "metrics-web", "FILE", "AITHERION_METRICS_WEB",
      N_("TLS and passwords for the metrics: a web configuration file as Prometheus' exporters "
         "have it"),
      AT(metrics_web), FOR(SERVE) },
    { "identities", "FILE", "AITHERION_IDENTITIES",
      N_("file with the limits of each identity, which `aitherion start` writes; it is read again "
         "when it changes (default: 'identities' beside the socket)"),
      AT(identities), FOR(SERVE) },
    { "until-unused", "FILE", NULL,
      N_("end when no other process has locked this file for some seconds (flock); `aitherion run "
         "--local` starts a server so"),
      AT(until_unused), FOR(SERVE) },
    { "log-level", "error|warning|info|debug", ATH_LEVEL_VARIABLE,
      N_("the lines of the log: those of this level and of the levels before it (default: info)"),
      AT(log_level), FOR(SERVE) },
    { "timeout", "SECONDS", NULL, N_("wait at most this long (default: 5)"), AT(timeout),
      FOR(HEALTH) },
    { "json", NULL, NULL, N_("print JSON; the schema is aitherion.runtime-health/1"), AT(is_json),
      FOR(HEALTH) },
    { "help", NULL, NULL, N_("this help"), AT(wants_help), ~0u },
    { "version", NULL, NULL, N_("the version"), AT(wants_version), ~0u },
};

static const struct {
    enum ath_runtime_exit code;
    const char *meaning;
} exits[] = {
    { ATH_RUNTIME_DONE, N_("done; health: nothing is wrong") },
    { ATH_RUNTIME_FAILED, N_("failed") },
    { ATH_RUNTIME_USAGE, N_("the command line is wrong") },
    { ATH_RUNTIME_FAULTS, N_("health: the server has faults, or does not answer") },
    { ATH_RUNTIME_KEY_REFUSED, N_("health: the two sides do not have the same key") },
};

/* ---- help ---- */

enum { HELP_COLUMN = 28, HELP_WIDTH = 80 };

/* Prints "  term   meaning", wrapped. */
static void print_row(FILE *out, const char *term, const char *meaning)
{
    size_t column = 2 + ath_text_width(term);
    fprintf(out, "  %s", term);
    for (;;) {
        if (column + 1 >= HELP_COLUMN) {
            fputc('\n', out);
            column = 0;
        }
        fprintf(out, "%*s", (int)(HELP_COLUMN - column), "");
        size_t length = ath_text_fit(meaning, HELP_WIDTH - HELP_COLUMN);
        fprintf(out, "%.*s", (int)length, meaning);
        meaning += length;
        meaning += strspn(meaning, " ");
        if (!*meaning)
            break;
        column = HELP_WIDTH;
    }
    fputc('\n', out);
}

static void print_options(FILE *out, enum ath_runtime_command command)
{
    fprintf(out, "\n%s\n", _("Options:"));
    for (size_t i = 0; i < ATH_COUNT(options); i++) {
        const struct option *row = &options[i];
        bool is_general = row->commands == ~0u;
        if (command == ATH_RUNTIME_COMMANDS ? !is_general : !(row->commands & 1u << command))
            continue;
        ATH_AUTO(ath_text) term = { 0 }, meaning = { 0 };
        ath_text_add(&term, "--%s%s%s", row->name, row->value ? " " : "",
                     row->value ? row->value : "");
        ath_text_add(&meaning, "%s", _(row->help));
        if (row->variable)
            ath_text_add(&meaning, " [$%s]", row->variable);
        print_row(out, term.data, meaning.data);
    }
}

void ath_runtime_help(FILE *out, enum ath_runtime_command command)
{
    if (command < ATH_RUNTIME_COMMANDS) {
        fprintf(out, _("Usage: aitherion-runtime %s [OPTIONS]\n"), commands[command].name);
        fprintf(out, "\n%s\n", _(commands[command].summary));
        print_options(out, command);
        return;
    }
    fprintf(out, "%s", _("Usage: aitherion-runtime COMMAND [OPTIONS]\n"));
    fprintf(out, "\n%s\n", _("Commands:"));
    for (size_t i = 0; i < ATH_RUNTIME_COMMANDS; i++)
        print_row(out, commands[i].name, _(commands[i].summary));
    print_options(out, command);
    fprintf(out, "\n%s\n", _("Exit codes:"));
    for (size_t i = 0; i < ATH_COUNT(exits); i++) {
        char code[12];
        snprintf(code, sizeof code, "%d", exits[i].code);
        print_row(out, code, _(exits[i].meaning));
    }
}

/* ---- parsing ---- */

static int hint_at_help(struct ath_err *err, enum ath_runtime_command command)
{
    return command < ATH_RUNTIME_COMMANDS
               ? ath_err_hint(err, -EINVAL, "aitherion-runtime %s --help", commands[command].name)
               : ath_err_hint(err, -EINVAL, "aitherion-runtime --help");
}

static bool is_list(const struct option *row)
{
    return row->offset == AT(data_listen) || row->offset == AT(data_address);
}

/* Adds to a list. Values that have no room are counted only; ath_data_listen() refuses them. */
static void add(struct ath_runtime_list *list, const char *value)
{
    if (list->count < ATH_RUNTIME_LIST_MAX)
        list->items[list->count] = value;
    list->count++;
}

static void set(struct ath_runtime_options *out, const struct option *row, const char *value)
{
    char *at = (char *)out + row->offset;
    if (is_list(row))
        add((struct ath_runtime_list *)(void *)at, value);
    else if (row->value)
        memcpy(at, &value, sizeof value);
    else
        *(bool *)at = true;
}

/* Finds the option with a word's name, which "=" or the word's end ends. */
static const struct option *find_option(const char *word, enum ath_runtime_command command)
{
    size_t length = strcspn(word, "=");
    for (size_t i = 0; i < ATH_COUNT(options); i++)
        if (strlen(options[i].name) == length && !strncmp(options[i].name, word, length) &&
            (options[i].commands == ~0u ||
             (command < ATH_RUNTIME_COMMANDS && options[i].commands & 1u << command)))
            return &options[i];
    return NULL;
}

static int parse_option(char *const argv[], int *at, enum ath_runtime_command command,
                        struct ath_runtime_options *out, struct ath_err *err)
{
    const char *word = !strcmp(argv[*at], "-h")   ? "--help"
                       : !strcmp(argv[*at], "-V") ? "--version"
                                                  : argv[*at];
    const struct option *row = ath_starts_with(word, "--") ? find_option(word + 2, command) : NULL;
    const char *equals = strchr(word, '=');
    const char *value = equals ? equals + 1 : NULL;

    if (!row) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("unknown option '%s'"), word);
        return hint_at_help(err, command);
    }
    if (!row->value && value) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("the option '--%s' takes no value"), row->name);
        return hint_at_help(err, command);
    }
    if (row->value && !value && !(value = argv[++*at])) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("the option '--%s' wants a value"), row->name);
        return hint_at_help(err, command);
    }
    set(out, row, value);
    return 0;
}

static int find_command(const char *word, enum ath_runtime_command *out, struct ath_err *err)
{
    for (*out = 0; *out < ATH_RUNTIME_COMMANDS; (*out)++)
        if (!strcmp(commands[*out].name, word))
            return 0;
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("unknown command '%s'"), word);
    return hint_at_help(err, ATH_RUNTIME_COMMANDS);
}

static bool is_given(const struct ath_runtime_options *given, const struct option *row)
{
    const char *at = (const char *)given + row->offset;
    const char *value = NULL;
    if (is_list(row))
        return ((const struct ath_runtime_list *)(const void *)at)->count > 0;
    if (!row->value)
        return *(const bool *)at;
    memcpy(&value, at, sizeof value);
    return value != NULL;
}

/* Returns whether a flag makes an option's variable void, because the two options exclude each
 * other. */
static bool is_overruled(const struct ath_runtime_options *flags, const struct option *row)
{
    if (row->offset == AT(key))
        return flags->is_no_auth;
    return (row->offset == AT(server) && flags->socket) ||
           (row->offset == AT(socket) && flags->server);
}

/* Takes options without a flag from the environment. The variable of a flag counts unless it is
 * "0" or "false". */
static void take_unset_options(enum ath_runtime_command command, struct ath_runtime_options *out)
{
    const struct ath_runtime_options flags = *out;
    for (size_t i = 0; i < ATH_COUNT(options); i++) {
        const struct option *row = &options[i];
        const char *value = row->variable ? getenv(row->variable) : NULL;
        if (!value || !*value || !(row->commands & 1u << command) || is_given(&flags, row) ||
            is_overruled(&flags, row))
            continue;
        if (row->value || (strcmp(value, "0") != 0 && strcmp(value, "false") != 0))
            set(out, row, value);
    }
}

int ath_runtime_options_parse(int argc, char *const argv[], enum ath_runtime_command *out_command,
                              struct ath_runtime_options *out, struct ath_err *err)
{
    int at = 1;
    *out_command = ATH_RUNTIME_COMMANDS;
    *out = (struct ath_runtime_options){ 0 };
    if (at < argc && argv[at][0] != '-') {
        int status = find_command(argv[at++], out_command, err);
        if (status)
            return status;
    }
    for (; at < argc; at++) {
        if (argv[at][0] != '-') {
            ath_err_set(err, -EINVAL, ATH_E_USAGE, _("unexpected argument '%s'"), argv[at]);
            return hint_at_help(err, *out_command);
        }
        int status = parse_option(argv, &at, *out_command, out, err);
        if (status)
            return status;
    }
    if (*out_command == ATH_RUNTIME_COMMANDS && !out->wants_help && !out->wants_version) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("a command is missing"));
        return hint_at_help(err, *out_command);
    }
    if (out->key && out->is_no_auth) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'--key' and '--no-auth' exclude each other"));
        return hint_at_help(err, *out_command);
    }
    if (*out_command < ATH_RUNTIME_COMMANDS)
        take_unset_options(*out_command, out);
    return 0;
}
