/* The table of what may be switched off, and reading a list of it. */
#include "config.h"

#include "runtime/switches.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/i18n.h"
#include "base/text.h"

enum { NAME_MAX_BYTES = 64 };

const struct ath_switch_row ath_switches[ATH_SWITCHES + 1] = {
    [ATH_SWITCH_SHARED_MEMORY] = { "shared-memory", "program",
                                   N_("shm: the GPU copies straight from and to pinned memory, "
                                      "which the program and the server both have") },
    [ATH_SWITCH_STAGING] = { "staging", "program",
                             N_("shm: large copies of pageable memory go through such "
                                "memory, part by part") },
    [ATH_SWITCH_STRIPES] = { "stripes", "program",
                             N_("tcp: large messages go by several connections") },
    [ATH_SWITCH_OVERLAP] = { "overlap", "server",
                             N_("the next call is read while the driver takes a large copy's "
                                "data") },
    [ATH_SWITCH_AHEAD] = { "ahead", "program",
                           N_("several parts of a large copy are under way at once") },
    [ATH_SWITCH_LENDING] = { "lending", "both", N_("large data is sent from where it lies") },
    [ATH_SWITCH_HELPERS] = { "helpers", "both",
                             N_("several processors copy large data to and from the "
                                "program's memory, and compare it") },
    [ATH_SWITCH_SPINNING] = { "spinning", "both",
                              N_("who waits looks for a while before he sleeps") },
    [ATH_SWITCH_BATCHING] = { "batching", "program",
                              N_("tcp: calls that nobody waits for are sent together") },
    [ATH_SWITCH_CACHES] = { "caches", "program",
                            N_("what cannot change is asked once, and answered by the program's "
                               "library after that") },
    [ATH_SWITCH_CAPTURES] = { "captures", "program",
                              N_("whether streams are captured is known to the "
                                 "program's library") },
    [ATH_SWITCH_RESTS] = { "rests", "program",
                           N_("a stream that a copy has waited for is not waited for "
                              "again") },
    [ATH_SWITCH_SPARES] = { "spares", "program", N_("streams and events are made some at a time") },
    [ATH_SWITCH_GPU] = { "gpu", "program", N_("there is a GPU") },
    [ATH_SWITCHES] = { .name = NULL },
};

_Atomic uint32_t ath_switches_off;

static int find(const char *name, uint32_t *out_off)
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

static int refuse(const char *name, struct ath_err *err)
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
        if (!find(name, &one))
            off |= one;
        else if (err)
            return refuse(name, err);
    }
    *out_off = off;
    return 0;
}
