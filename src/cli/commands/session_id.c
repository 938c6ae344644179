/* Session numbers and limits. */
#include "config.h"

#include "cli/commands/session_id.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"

#define LIST "aitherion session list"

int ath_session_id_parse(const char *text, uint64_t *out, struct ath_err *err)
{
    char *end = NULL;
    errno = 0;
    unsigned long long id = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (!id || errno || *end) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not the number of a session"), text);
        return ath_err_hint(err, -EINVAL, LIST);
    }
    *out = id;
    return 0;
}

int ath_session_id_check(const struct ath_runtime_sessions *sessions, uint64_t id,
                         const struct ath_reach_options *options, struct ath_err *err)
{
    char text[24];
    for (size_t i = 0; i < sessions->count; i++)
        if (sessions->items[i].id == id)
            return 0;
    snprintf(text, sizeof text, "%" PRIu64, id);
    ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND, _("the runtime has no session '%s'"), text);
    ath_auto_free char *list = ath_reach_suggest(options, LIST);
    return ath_err_hint(err, -ENOENT, "%s", list);
}

int ath_session_limit_parse(const char *text, int64_t *out_bytes, struct ath_err *err)
{
    uint64_t bytes;
    if (!strcmp(text, "none")) {
        *out_bytes = ATH_UNKNOWN;
        return 0;
    }
    if (ath_parse_size(text, &bytes) || bytes > INT64_MAX) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not a memory size"), text);
        return ath_err_hint(err, -EINVAL, _("give a size like 512M or 4G, or none"));
    }
    *out_bytes = (int64_t)bytes;
    return 0;
}
