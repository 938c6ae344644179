/* The result of ending or limiting a session, as text and as JSON. */
#include "config.h"

#include "cli/output/session_change.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/time_claim.h"
#include "cli/output/fields.h"
#include "cli/output/words.h"
#include "config/schema.h"

static const char *const actions[] = {
    [ATH_SESSION_END] = "end", [ATH_SESSION_LIMIT] = "limit", NULL
};

static const char *action_word(int action)
{
    return actions[action];
}

static const void *find_claim(const void *object)
{
    return ((const struct ath_session_change *)object)->action == ATH_SESSION_LIMIT ? object : NULL;
}

static const void *find_changed_key_share(const void *object)
{
    return ((const struct ath_session_change *)object)->key_percent ? object : NULL;
}

#define AT(member) ATH_AT(struct ath_session_change, member)
static const struct ath_field change_fields[] = {
    ATH_FIELD("action", AT(action), .word = action_word, .words = actions),
    ATH_FIELD("is_dry_run", AT(is_dry_run), .help = "true if nothing was changed"),
    ATH_FIELD("server", AT(server), .help = "address of the runtime, HOST:PORT or unix:PATH"),
    ATH_FIELD("sessions", ATH_AT_LIST(struct ath_session_change, ids, id_count),
              .help = "ids of the changed sessions",
              .rules = "{\"items\": {\"type\": \"integer\", \"minimum\": 1}, \"minItems\": 1}"),
    ATH_FIELD("device", AT(device),
              .help = "for a limit of memory: index of the GPU in the runtime's list",
              .is_nullable = true),
    ATH_FIELD("memory_limit_bytes", AT(limit_bytes), .help = "null for no limit",
              .is_nullable = true),
    ATH_FIELD("memory_used_bytes", AT(used_bytes),
              .help = "for a limit: memory that the session uses on the GPU", .is_nullable = true),
    ATH_FIELD("share_percent", AT(claim.share_percent), .find = find_claim,
              .help = "the new share of the GPUs' time, 0 for none; null if it was not changed",
              .is_nullable = true),
    ATH_FIELD("key_share_percent", AT(key_percent), .find = find_changed_key_share,
              .help = "that all sessions of its key have together, among which share_percent is a "
                      "weight; null for no such share",
              .is_nullable = true),
    ATH_FIELD("is_capped", ATH_AT_AS(ATH_FIELD_FLAG, struct ath_session_change, claim.cap),
              .find = find_claim, .help = "null if it was not changed", .is_nullable = true),
    ATH_FIELD("priority", AT(claim.priority), .word = ath_time_priority_word,
              .words = ath_time_priorities, .help = "null if it was not changed",
              .is_nullable = true),
    { .name = NULL },
};
#undef AT

static void print_share(FILE *out, const struct ath_session_change *change, const char *id)
{
    static const char *const shares[] = {
        N_("session %s has %d percent of its GPUs' time while others want them\n"),
        N_("would give session %s %d percent of its GPUs' time while others want them\n"),
    };
    static const char *const weights[] = {
        N_("session %s has the share %d\nnote: all sessions of its key together have %d percent; "
           "among them it weighs %d\n"),
        N_("would give session %s the share %d\nnote: all sessions of its key together have %d "
           "percent; among them it weighs %d\n"),
    };
    static const char *const none[] = { N_("session %s has no share of its own\n"),
                                        N_("would leave session %s no share of its own\n") };
    int share = change->claim.share_percent;
    if (share > 0 && change->key_percent)
        fprintf(out, _(weights[change->is_dry_run]), id, share, change->key_percent, share);
    else if (change->claim.share_percent > 0)
        fprintf(out, _(shares[change->is_dry_run]), id, change->claim.share_percent);
    else if (!change->claim.share_percent)
        fprintf(out, _(none[change->is_dry_run]), id);
}

static void print_claim(FILE *out, const struct ath_session_change *change, const char *id)
{
    static const char *const caps[][2] = {
        { N_("session %s may use time that others leave\n"),
          N_("would let session %s use time that others leave\n") },
        { N_("session %s gets no more than its share\n"),
          N_("would give session %s no more than its share\n") },
    };
    static const char *const priorities[] = { N_("session %s has the priority '%s'\n"),
                                              N_("would give session %s the priority '%s'\n") };
    enum ath_time_priority got =
        change->got_priority ? change->got_priority : change->claim.priority;

    print_share(out, change, id);
    if (change->keeps_cap)
        fprintf(out, _("note: its cap stays; `session limit %s --no-cap` removes it\n"), id);
    if (change->claim.cap != ATH_UNKNOWN)
        fprintf(out, _(caps[change->claim.cap][change->is_dry_run]), id);
    if (!change->claim.priority)
        return;
    fprintf(out, _(priorities[change->is_dry_run]), id, ath_time_priority_word((int)got));
    if (got != change->claim.priority)
        fprintf(out, _("note: its key allows no priority above '%s'\n"),
                ath_time_priority_word((int)got));
}

static void print_change(FILE *out, const struct ath_session_change *change, const char *id)
{
    static const char *const ends[] = { N_("ended session %s\n"), N_("would end session %s\n") };
    static const char *const limits[] = {
        N_("session %s may use %s of GPU %d\n"),
        N_("would allow session %s to use %s of GPU %d\n"),
    };
    ath_auto_free char *size = change->limit_bytes == ATH_UNKNOWN
                                   ? ath_xstrdup(_("all served memory"))
                                   : ath_words_size(change->limit_bytes);
    if (change->action == ATH_SESSION_END) {
        fprintf(out, _(ends[change->is_dry_run]), id);
        return;
    }
    print_claim(out, change, id);
    if (change->device != ATH_UNKNOWN)
        fprintf(out, _(limits[change->is_dry_run]), id, size, change->device);
}

/* A limit takes no memory away. */
static void print_excess(const struct ath_style *style, FILE *out,
                         const struct ath_session_change *change)
{
    if (change->limit_bytes == ATH_UNKNOWN || change->used_bytes <= change->limit_bytes)
        return;
    ath_auto_free char *used = ath_words_size(change->used_bytes);
    ath_auto_free char *text =
        ath_xasprintf(_("note: it uses %s now and keeps them; it gets no more memory while it uses "
                        "more than its limit"),
                      used);
    ath_style_print(style, out, &(struct ath_paragraph){ .text = text });
}

static void change_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_session_change *change = data;

    for (size_t i = 0; i < change->id_count; i++) {
        ath_auto_free char *id = ath_xasprintf("%" PRIu64, change->ids[i]);
        print_change(out, change, id);
    }
    print_excess(style, out, change);
}

const struct ath_view ath_session_change_view = {
    .schema = "aitherion.session-change/1",
    .title = "Output of `aitherion session end --json` and `aitherion session limit --json`",
    .fields = change_fields,
    .to_text = change_to_text,
};
