/* The shared key as text and as data. */
#include "config.h"

#include "cli/output/key.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/unknown.h"
#include "cli/output/clean.h"
#include "cli/output/json.h"

static const char *const actions[] = { [ATH_KEY_SHOW] = "show",
                                       [ATH_KEY_NEW] = "new",
                                       [ATH_KEY_EXPORT] = "export",
                                       [ATH_KEY_IMPORT] = "import" };

static json_t *to_json(const void *data)
{
    const struct ath_key_report *report = data;
    ath_auto_free char *mode =
        report->mode == ATH_UNKNOWN ? NULL : ath_xasprintf("%04o", (unsigned int)report->mode);

    return json_pack("{s:s, s:b, s:o, s:b, s:o, s:o, s:o}", "action", actions[report->action],
                     "is_dry_run", report->is_dry_run, "file", ath_json_text(report->path),
                     "is_there", report->is_there, "sha256", ath_json_text(report->fingerprint),
                     "mode", ath_json_text(mode), "key_base64", ath_json_text(report->base64));
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    static const char *const done[] = { [ATH_KEY_SHOW] = N_("the shared key is '%s'\n"),
                                        [ATH_KEY_NEW] = N_("made the shared key '%s'\n"),
                                        [ATH_KEY_IMPORT] = N_("took the shared key into '%s'\n") };
    static const char *const planned[] = { [ATH_KEY_NEW] = N_("would make the shared key '%s'\n"),
                                           [ATH_KEY_IMPORT] =
                                               N_("would take the shared key into '%s'\n") };
    const struct ath_key_report *report = data;
    ath_auto_free char *path = ath_clean(report->path, style->is_utf8);
    bool is_planned = report->is_dry_run && report->action != ATH_KEY_SHOW;

    if (report->action == ATH_KEY_EXPORT) {
        fprintf(out, "%s\n", report->base64);
        return;
    }
    if (report->action == ATH_KEY_SHOW && !report->is_there)
        fprintf(out, _("there is no shared key yet; the first start makes '%s'\n"), path);
    else
        fprintf(out, _((is_planned ? planned : done)[report->action]), path);
    if (report->fingerprint)
        fprintf(out, "SHA-256  %s\n", report->fingerprint);
    if (report->mode != ATH_UNKNOWN && report->mode & 077)
        fprintf(out, _("warning: its mode is %04o, so others may read it: chmod 600 %s\n"),
                (unsigned int)report->mode, path);
    if (report->next)
        fprintf(out, "%s %s\n", _("Next:"), report->next);
}

const struct ath_view ath_key_view = { "aitherion.key/1", to_json, to_text, NULL, 0 };
