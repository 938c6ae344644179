/* Tables of exit codes and environment variables. */
#include "config.h"

#include "cli/facts.h"

#include "base/i18n.h"

const struct ath_fact ath_exit_codes[] = {
    { "0", N_("done") },
    { "1", N_("failed; the error says what happened, why, and what to do") },
    { "2", N_("wrong command line; nothing was done") },
    { "3", N_("a check found faults") },
    { "4", N_("a check could not find out") },
    { .name = NULL },
};

const struct ath_fact ath_environment[] = {
    { "XDG_CONFIG_HOME", N_("folder of the user's settings; the user's own document is "
                            "aitherion/topology.yaml in it (default: ~/.config)") },
    { "DOCKER_HOST", N_("address of Docker; overrides engine.docker_host of the document. "
                        "DOCKER_TLS_VERIFY and DOCKER_CERT_PATH work as in Docker's own client") },
    { "AITHERION_RUN_FOLDER", N_("folder for sockets, state and logs of runtimes (default: "
                                 "/run/aitherion; for users other than root "
                                 "$XDG_RUNTIME_DIR/aitherion, or /tmp/aitherion-UID without it)") },
    { "AITHERION_SERVER, AITHERION_KEY_FILE, AITHERION_TRANSPORT",
      N_("set by `aitherion run` for its program: the runtime as HOST:PORT or unix:PATH (several "
         "separated by commas), the file of the shared key (empty: none), and auto, shm, tcp or "
         "udp. A "
         "program with these variables set by hand works the same way") },
    { "AITHERION_MEMORY",
      N_("the most memory of each GPU that a program may have (4G or 25%), as `aitherion run "
         "--memory` sets it. HCS_VRAM_QUOTA does the same in bytes if AITHERION_MEMORY is not "
         "set") },
    { "AITHERION_SHARE, AITHERION_PRIORITY",
      N_("the share of the GPUs' time that each process of a program asks for (25, or 25,cap for "
         "no more than that), and high, normal or low, as `aitherion run --share --cap "
         "--priority` sets them") },
    { "AITHERION_SM_SHARE",
      N_("the part of each GPU's multiprocessors on which each process of a program runs, in "
         "percent, as `aitherion run --sm-share` sets it") },
    { "AITHERION_ENCRYPT",
      N_("auto (the default): TCP connections to runtimes of other machines are encrypted by TLS "
         "with the key; on: all TCP connections; off: none") },
    { "AITHERION_TLS_CA",
      N_("file of certificates of authorities (PEM), one of which must have signed the certificate "
         "of each runtime that is reached by TLS; it must be for the name or address by which the "
         "runtime is reached. Not set: the key is enough") },
    { "AITHERION_CONNECT_TIMEOUT",
      N_("seconds that a program tries to reach its runtime (default: 10)") },
    { "AITHERION_LOG_LEVEL",
      N_("messages on standard error: error, warning (the default), info or debug. For "
         "`aitherion` as --log-level, except that results stay the same. In a program, info prints "
         "the runtime, transport and session that it uses, and debug also calls that fail and why "
         "a call is not supported") },
    { "AITHERION_DISABLE",
      N_("1: programs with aitherion's libraries see no GPU. Or a list of optimisations to switch "
         "off, see `man aitherion-run`") },
    { "NO_COLOR", N_("if not empty: no colour unless --color=always") },
    { "TERM", N_("\"dumb\": no colour, no pager") },
    { "COLUMNS", N_("width of the output if the terminal does not report one") },
    { "PAGER", N_("program that shows text longer than the terminal (default: less -FRSX; \"cat\" "
                  "or empty: none)") },
    { "LANG, LC_ALL, LC_MESSAGES, LANGUAGE",
      N_("the language of messages: English, or Chinese (zh_CN)") },
    { .name = NULL },
};
