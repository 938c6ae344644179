/* The programs that a command ends, as text and as data. */
#include "config.h"

#include "cli/output/ending.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/session_words.h"
#include "cli/output/words.h"

#define AT(member) ATH_AT(struct ath_session_group, member)
const struct ath_field ath_ending_fields[] = {
    ATH_FIELD("id", AT(id), .help = "id of the runtime's entry"),
    ATH_FIELD("error", ATH_AT(struct ath_session_group, err),
              .help = "why the runtime could not be asked, so its programs are not known; null if "
                      "it answered",
              .failed = ATH_FAILED(struct ath_session_group, status), .fields = ath_error_fields),
    ATH_FIELD("sessions", ATH_AT_LIST(struct ath_session_group, sessions.items, sessions.count),
              .fields = ath_session_fields),
    { .name = NULL },
};
#undef AT

/* A runtime that does not say which programs it has. The caller frees it. */
static char *silent_words(const struct ath_session_group *group, bool is_utf8)
{
    ath_auto_free char *reason = ath_clean(group->err.message, is_utf8);
    return ath_xasprintf(_("NUMA%d does not say which programs use it: %s"), group->id, reason);
}

/* Adds the GPU memory that is lost with a session. */
static void add_memory(struct ath_text *text, const struct ath_runtime_session *session)
{
    int64_t sum = 0;
    for (size_t i = 0; i < session->use_count; i++)
        sum += session->uses[i].memory_used_bytes > 0 ? session->uses[i].memory_used_bytes : 0;
    if (!sum)
        return;
    ath_auto_free char *size = ath_words_size(sum);
    ath_text_add(text, _(" with %s of GPU memory"), size);
}

char *ath_ending_words(const struct ath_session_report *report)
{
    struct ath_text text = { 0 };

    for (size_t i = 0; i < report->count; i++) {
        const struct ath_session_group *group = &report->items[i];
        for (size_t j = 0; j < group->sessions.count; j++) {
            const struct ath_runtime_session *one = &group->sessions.items[j];
            ath_auto_free char *program = ath_clean(one->program ? one->program : "?", true);
            ath_auto_free char *words = ath_session_peer_words(group, one->peer);
            ath_auto_free char *peer = ath_clean(words, true);
            ath_text_add_part(&text, "; ", _("session %llu (%s, %s) of NUMA%d"),
                              (unsigned long long)one->id, program, peer, group->id);
            add_memory(&text, one);
        }
        if (group->status) {
            ath_auto_free char *words = silent_words(group, true);
            ath_text_add_part(&text, "; ", "%s", words);
        }
    }
    return ath_text_take(&text);
}

void ath_ending_print(const struct ath_style *style, FILE *out,
                      const struct ath_session_report *report)
{
    if (!report || !report->count)
        return;
    ath_style_print(style, out,
                    &(struct ath_paragraph){ .text = _("Running programs that would end:"),
                                             .role = ATH_ROLE_WARN });
    ath_sessions_print(style, out, report->items, report->count);
    for (size_t i = 0; i < report->count; i++) {
        if (!report->items[i].status)
            continue;
        ath_auto_free char *words = silent_words(&report->items[i], style->is_utf8);
        ath_style_print(style, out,
                        &(struct ath_paragraph){ .text = words, .role = ATH_ROLE_WARN });
    }
}
