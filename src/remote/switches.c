/* The table of optimisations, and reading a list of their names. */
#include "config.h"

#include "remote/switches.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/i18n.h"
#include "base/text.h"

enum { NAME_MAX_BYTES = 64 };

const struct ath_switch_row ath_switches[ATH_SWITCHES + 1] = {
    [ATH_SWITCH_SHARED_MEMORY] = { "shared-memory", "program",
                                   N_("shm: the GPU copies directly from and to pinned memory, "
                                      "which the program and the server share") },
    [ATH_SWITCH_STAGING] = { "staging", "program",
                             N_("shm: large copies of pageable memory go through shared memory, "
                                "part by part") },
    [ATH_SWITCH_STRIPES] = { "stripes", "program",
                             N_("tcp: large messages use several connections") },
    [ATH_SWITCH_OVERLAP] = { "overlap", "server",
                             N_("the server reads the next call while the driver takes a large "
                                "copy's data") },
    [ATH_SWITCH_AHEAD] = { "ahead", "program",
                           N_("several parts of a large copy are in flight at the same time") },
    [ATH_SWITCH_LENDING] = { "lending", "both", N_("large data is sent without copying it first") },
    [ATH_SWITCH_HELPERS] = { "helpers", "both",
                             N_("several processors copy large data to and from the "
                                "program's memory, and compare it") },
    [ATH_SWITCH_SPINNING] = { "spinning", "both",
                              N_("a thread that waits polls for a while before it sleeps") },
    [ATH_SWITCH_BATCHING] = { "batching", "program",
                              N_("tcp: calls that need no answer are sent together") },
    [ATH_SWITCH_CACHES] = { "caches", "program",
                            N_("the program's library asks once for facts that cannot change, and "
                               "then answers them itself") },
    [ATH_SWITCH_CAPTURES] = { "captures", "program",
                              N_("the program's library knows which streams are being captured") },
    [ATH_SWITCH_RESTS] = { "rests", "program",
                           N_("a wait for a stream that is empty, or has received only copies, "
                              "is not sent as a question") },
    [ATH_SWITCH_SPARES] = { "spares", "program",
                            N_("streams and events, and on a slow line blocks of memory, are made "
                               "several at a time") },
    [ATH_SWITCH_REUSE] = { "reuse", "program",
                           N_("memory that a stream freed is given to the same stream again "
                              "without asking the server") },
    [ATH_SWITCH_FACTS] = { "facts", "program",
                           N_("tcp: on a slow line, what the driver says about the program's code "
                              "is kept on disk for its next start") },
    [ATH_SWITCH_GPU] = { "gpu", "program", N_("there is a GPU") },
    [ATH_SWITCHES] = { .name = NULL },
};

_Atomic uint32_t ath_switches_off;

static int find_switch(const char *name, uint32_t *out_off)
{
    static const uint32_t every = (1u << ATH_SWITCHES) - 1;
    if (!strcmp(name, "all"))
        *out_off = every & ~(1u << ATH_SWITCH_GPU);
    else if (!strcmp(name, "1"))
        *out_off = 1u << ATH_SWITCH_GPU;
    else if (!*name || !strcmp(name, "0"))
        *out_off = 0;
    else
        for (uint32_t i = 0; i <= ATH_SWITCHES; i++) {
            if (!ath_switches[i].name)
                return -EINVAL;
            *out_off = 1u << i;
            if (!strcmp(name, ath_switches[i].name))
                break;
        }
    return 0;
}

static int refuse_name(const char *name, struct ath_err *err)
{
    const char *names[ATH_SWITCHES];
    for (size_t i = 0; i < ATH_SWITCHES; i++)
        names[i] = ath_switches[i].name;
    const char *nearest = ath_text_nearest(name, names, ATH_SWITCHES);
    ath_err_set(err, -EINVAL, ATH_E_USAGE,
                _("AITHERION_DISABLE has '%s', which cannot be switched "
                  "off"),
                name);
    return nearest ? ath_err_hint(err, -EINVAL, _("did you mean '%s'?"), nearest)
                   : ath_err_hint(err, -EINVAL, "aitherion-runtime switches");
}

int ath_switches_read(const char *names, uint32_t *out_off, struct ath_err *err)
{
    uint32_t off = 0;
    size_t length;
    for (const char *at; (at = ath_text_next_part(&names, &length));) {
        char name[NAME_MAX_BYTES];
        uint32_t one = 0;
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        if (!find_switch(name, &one))
            off |= one;
        else if (err)
            return refuse_name(name, err);
    }
    *out_off = off;
    return 0;
}
