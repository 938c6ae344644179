/* Decides which paths a session may use, in the order of preference, with the reasons for the
 * others. */
#include "config.h"

#include "remote/session/paths.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/i18n.h"

const enum ath_control_transport ath_paths[ATH_PATHS] = {
    ATH_CONTROL_TRANSPORT_SHM,
    ATH_CONTROL_TRANSPORT_UDP,
    ATH_CONTROL_TRANSPORT_TCP,
};

static bool is_auto(const struct ath_path_facts *facts)
{
    return !facts->wanted || !strcmp(facts->wanted, "auto");
}

bool ath_path_is_wanted(enum ath_control_transport path, const struct ath_path_facts *facts)
{
    return !is_auto(facts) && !strcmp(facts->wanted, ath_control_transport_word(path));
}

__attribute__((format(printf, 2, 3))) static const char *say(char out[ATH_PATH_REASON_BYTES],
                                                             const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out, ATH_PATH_REASON_BYTES, format, arguments);
    va_end(arguments);
    return out;
}

static const char *shm_reason(const struct ath_path_facts *facts, char out[ATH_PATH_REASON_BYTES])
{
    if (!is_auto(facts) && !ath_path_is_wanted(ATH_CONTROL_TRANSPORT_SHM, facts))
        return say(out, _("the transport '%s' is asked for"), facts->wanted);
    return facts->is_unix ? NULL : say(out, "%s", _("the server is reached by an address"));
}

bool ath_path_may_change(const struct ath_path_facts *facts)
{
    return is_auto(facts) && !facts->is_unix && facts->has_data_addresses && facts->serves_udp &&
           !facts->would_leak;
}

/* Whether UDP is faster shows only while copies go on, and on a path without loss it is not. So a
 * session begins with TCP unless UDP is asked for (docs/fabric.md). */
static const char *udp_reason(const struct ath_path_facts *facts, char out[ATH_PATH_REASON_BYTES])
{
    if (facts->is_unix)
        return say(out, "%s", _("the server is reached by its unix socket"));
    if (ath_path_may_change(facts))
        return say(out, "%s", _("TCP has lost nothing yet; --transport udp begins with UDP"));
    if (!ath_path_is_wanted(ATH_CONTROL_TRANSPORT_UDP, facts))
        return say(out, "%s",
                   facts->serves_udp ? _("only on request (--transport udp)")
                                     : _("the server does not take UDP"));
    if (!facts->serves_udp)
        return say(out, "%s", _("the server does not take UDP"));
    if (facts->would_leak)
        return say(out, "%s",
                   _("this connection stays on this host and is not encrypted, so UDP would not "
                     "be, either (--encrypt on)"));
    if (facts->udp_status && facts->has_data_addresses)
        return say(out, _("no way by UDP to the server's data addresses: %s"),
                   strerror(-facts->udp_status));
    if (facts->udp_status)
        return say(out, _("no way by UDP to the server's port %d: %s"), facts->udp_port,
                   strerror(-facts->udp_status));
    return NULL;
}

const char *ath_path_reason(enum ath_control_transport path, const struct ath_path_facts *facts,
                            char out[ATH_PATH_REASON_BYTES])
{
    return path == ATH_CONTROL_TRANSPORT_SHM   ? shm_reason(facts, out)
           : path == ATH_CONTROL_TRANSPORT_UDP ? udp_reason(facts, out)
                                               : NULL;
}

enum ath_control_transport ath_path_choose(const struct ath_path_facts *facts)
{
    char reason[ATH_PATH_REASON_BYTES];
    size_t path = 0;
    while (ath_path_reason(ath_paths[path], facts, reason))
        path++;
    return ath_paths[path];
}
