/* Tables of exit codes and environment variables. */
#include "config.h"

#include "cli/facts.h"

#include "base/i18n.h"

const struct ath_fact ath_exit_codes[] = {
    { "0", N_("done") },
    { "1", N_("failed; the error says what, why and what mends it") },
    { "2", N_("the command line is wrong; nothing was done") },
    { "3", N_("a check found faults") },
    { "4", N_("a check could not tell") },
    { .name = NULL },
};

const struct ath_fact ath_environment[] = {
    { "XDG_CONFIG_HOME", N_("where a person's own document is looked for (default: ~/.config)") },
    { "DOCKER_HOST", N_("where Docker listens; goes before engine.docker_host of the document. "
                        "DOCKER_TLS_VERIFY and DOCKER_CERT_PATH as Docker's own client has them") },
    { "AITHERION_RUN_FOLDER", N_("where sockets, state and logs of runtimes lie (default: "
                                 "/run/aitherion, without root $XDG_RUNTIME_DIR/aitherion)") },
    { "AITHERION_SERVER, AITHERION_KEY_FILE, AITHERION_TRANSPORT",
      N_("what `aitherion run` tells its program: HOST:PORT or unix:PATH of the runtime (several "
         "with commas between), the shared key's file (empty: none), and auto, shm or tcp; set by "
         "hand they do for a program what it does") },
    { "AITHERION_CONNECT_TIMEOUT",
      N_("seconds for which a program tries to reach its runtime (default: 10)") },
    { "AITHERION_LOG", N_("\"info\": a program says on standard error which runtime, transport and "
                          "session it got") },
    { "AITHERION_DISABLE",
      N_("1: for programs with aitherion's libraries there is no GPU; or names of what is "
         "switched off in them, as `man aitherion-run` has them") },
    { "NO_COLOR", N_("set and not empty: no colour unless --color=always") },
    { "TERM", N_("\"dumb\": no colour, no pager") },
    { "COLUMNS", N_("the width to fit text into, where the terminal does not say") },
    { "PAGER", N_("shows text that is longer than the terminal (default: less -FRSX; \"cat\" or "
                  "empty: none)") },
    { "LANG, LC_ALL, LC_MESSAGES, LANGUAGE",
      N_("the language of messages: English, or Chinese (zh_CN)") },
    { .name = NULL },
};
