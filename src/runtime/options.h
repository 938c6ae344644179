/* The command line of aitherion-runtime. One table serves parsing, --help and the environment. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

enum ath_runtime_command {
    ATH_RUNTIME_SERVE,
    ATH_RUNTIME_HEALTH,
    ATH_RUNTIME_PAUSE,
    ATH_RUNTIME_SWITCHES,
    ATH_RUNTIME_COMMANDS
};

enum ath_runtime_exit {
    ATH_RUNTIME_DONE = 0,
    ATH_RUNTIME_FAILED = 1,
    ATH_RUNTIME_USAGE = 2,
    ATH_RUNTIME_FAULTS = 3,
    ATH_RUNTIME_KEY_REFUSED = 5,
};

/* The values of an option that may be given several times; each may be several with commas. */
enum { ATH_RUNTIME_LIST_MAX = 8 };
struct ath_runtime_list {
    const char *items[ATH_RUNTIME_LIST_MAX];
    size_t count;
};

/* Texts belong to argv or the environment. NULL: not given. */
struct ath_runtime_options {
    const char *listen, *socket, *key, *gpus, *vram_fraction, *host_fraction,
        *sessions_per_source; /* serve */
    struct ath_runtime_list data_listen, data_address;
    const char *metrics, *metrics_web, *identities, *log_level;
    const char *sharing;
    const char *udp;
    const char *until_unused;
    const char *encrypt;                   /* serve and health */
    const char *tls_certificate, *tls_key; /* serve */
    const char *tls_ca;                    /* health */
    bool is_no_auth, is_sim, is_no_enforce;
    const char *server, *timeout; /* health */
    bool is_json;
    bool wants_help, wants_version;
};

/*
 * Parses the command line and the environment; flags win. *out_command is ATH_RUNTIME_COMMANDS if
 * no command is given. Returns 0, or -EINVAL "usage" with err.
 */
int ath_runtime_options_parse(int argc, char *const argv[], enum ath_runtime_command *out_command,
                              struct ath_runtime_options *out, struct ath_err *err);

/* Prints the help of a command, or of the program (ATH_RUNTIME_COMMANDS). */
void ath_runtime_help(FILE *out, enum ath_runtime_command command);
