/* Sessions in words. */
#include "config.h"

#include "cli/output/session_words.h"

#include <inttypes.h>
#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/time_claim.h"
#include "cli/output/words.h"
#include "config/schema.h"

/* Returns where a limit or a share comes from; NULL if there is none. */
static const char *source_words(enum ath_gpu_limit_source source)
{
    static const char *const words[] = { [ATH_GPU_LIMIT_SOURCE_NONE] = NULL,
                                         [ATH_GPU_LIMIT_SOURCE_ASKED] = N_("asked for"),
                                         [ATH_GPU_LIMIT_SOURCE_IDENTITY] = N_("of its key"),
                                         [ATH_GPU_LIMIT_SOURCE_SET] = N_("set later") };
    bool is_known = source > ATH_GPU_LIMIT_SOURCE_NONE && source <= ATH_GPU_LIMIT_SOURCE_SET;
    return is_known ? _(words[source]) : NULL;
}

/* Returns what kind of limit a session has, NULL if it has none. */
static const char *limit_words(const struct ath_runtime_use *use)
{
    return use->memory_limit_bytes != ATH_UNKNOWN ? source_words(use->limit_source) : NULL;
}

static void add_use(struct ath_text *text, const struct ath_runtime_use *use)
{
    const char *words = limit_words(use);
    ath_auto_free char *used =
        ath_words_size(use->memory_used_bytes == ATH_UNKNOWN ? 0 : use->memory_used_bytes);
    ath_auto_free char *limit =
        use->memory_limit_bytes == ATH_UNKNOWN ? NULL : ath_words_size(use->memory_limit_bytes);
    if (limit)
        ath_text_add_part(text, _(", "), _("GPU %d: %s of %s"), (int)use->device, used, limit);
    else
        ath_text_add_part(text, _(", "), _("GPU %d: %s"), (int)use->device, used);
    if (words && use->is_limit_enforced)
        ath_text_add(text, _(" (%s)"), words);
    else if (words)
        ath_text_add(text, _(" (%s, not enforced)"), words);
    if (use->processors != ATH_UNKNOWN)
        ath_text_add(text, _(", on %d of %d multiprocessors"), (int)use->processors,
                     (int)use->processors_total);
}

char *ath_session_memory_words(const struct ath_runtime_session *session)
{
    struct ath_text text = { 0 };
    for (size_t i = 0; i < session->use_count; i++)
        add_use(&text, &session->uses[i]);
    return text.data ? ath_text_take(&text) : NULL;
}

/* Returns what a session is due if that is less than its share, else NULL. Below 10 % with tenths.
 * The caller frees it. */
static char *less_due_words(const struct ath_runtime_turn *turn)
{
    double due = turn->share_percent;
    if (due == ATH_UNKNOWN || due > turn->claim.share_percent - 0.1)
        return NULL;
    return ath_xasprintf("%.*f", due < 9.95 && fabs(due - round(due)) >= 0.05, due);
}

static void add_share(struct ath_text *text, const struct ath_runtime_turn *turn)
{
    const char *source = source_words(turn->share_source);
    ath_auto_free char *due = less_due_words(turn);
    if (!turn->claim.share_percent)
        return;
    ath_auto_free char *share = ath_xasprintf(
        turn->claim.is_capped ? _("%d %% at most") : _("%d %%"), turn->claim.share_percent);
    if (due && turn->share_source == ATH_GPU_LIMIT_SOURCE_IDENTITY) {
        ath_text_add(text, _("%s %% of its key's %s"), due, share);
        return;
    }
    ath_text_add(text, "%s", share);
    if (source)
        ath_text_add(text, _(" (%s)"), source);
    if (due)
        ath_text_add_part(text, _(", "), _("due %s %%"), due);
}

static void add_state(struct ath_text *text, const struct ath_runtime_turn *turn)
{
    if (turn->state == ATH_GPU_TURN_STATE_HOLDS)
        ath_text_add_part(text, _(", "), "%s", _("has its turn"));
    else if (turn->reason == ATH_WAIT_CAP)
        ath_text_add_part(text, _(", "), "%s", _("waits for its cap"));
    else if (turn->waits_for)
        ath_text_add_part(text, _(", "), _("waits for session %" PRIu64), turn->waits_for);
    else if (turn->state == ATH_GPU_TURN_STATE_WAITS)
        ath_text_add_part(text, _(", "), "%s", _("waits"));
}

char *ath_session_turn_words(const struct ath_runtime_turn *turn)
{
    struct ath_text text = { 0 };
    add_share(&text, turn);
    if (turn->claim.priority == ATH_TIME_HIGH || turn->claim.priority == ATH_TIME_LOW)
        ath_text_add_part(&text, _(", "), _("priority %s"),
                          ath_time_priority_word((int)turn->claim.priority));
    add_state(&text, turn);
    return text.data ? ath_text_take(&text) : NULL;
}

/* Returns "session 7 (train.py, key alice)", or "session 7" for one that this user may not see. */
static char *session_words(const struct ath_runtime_sessions *sessions, uint64_t id)
{
    const struct ath_runtime_session *one = sessions->items, *end = one + sessions->count;
    while (one < end && one->id != id)
        one++;
    if (one < end && one->program && one->identity)
        return ath_xasprintf(_("session %" PRIu64 " (%s, key %s)"), id, one->program,
                             one->identity);
    if (one < end && one->program)
        return ath_xasprintf(_("session %" PRIu64 " (%s)"), id, one->program);
    if (one < end && one->identity)
        return ath_xasprintf(_("session %" PRIu64 " (key %s)"), id, one->identity);
    return ath_xasprintf(_("session %" PRIu64), id);
}

/* Returns "has waited for 1.234 s". The caller frees it. */
static char *waited_words(int64_t state_ms)
{
    if (state_ms < 0)
        return ath_xstrdup(_("waits"));
    return state_ms ? ath_xasprintf(_("has waited for %.3f s"), (double)state_ms / 1000)
                    : ath_xstrdup(_("just began to wait"));
}

char *ath_session_wait_words(const struct ath_runtime_sessions *sessions,
                             const struct ath_runtime_session *session)
{
    const struct ath_runtime_turn *turn = &session->turn;
    ath_auto_free char *own = session_words(sessions, session->id);
    ath_auto_free char *other = session_words(sessions, turn->waits_for);
    ath_auto_free char *waits = waited_words(turn->state_ms);

    switch (turn->reason) {
    case ATH_WAIT_TURN:
        return ath_xasprintf(_("%s %s for %s, which has its turn"), own, waits, other);
    case ATH_WAIT_PRIORITY:
        return ath_xasprintf(_("%s %s for %s, which has a higher priority"), own, waits, other);
    case ATH_WAIT_CAP:
        return ath_xasprintf(_("%s %s for its own cap: it has had its %d "
                               "percent for now"),
                             own, waits, turn->claim.share_percent);
    case ATH_WAIT_NEXT:
        return ath_xasprintf(_("%s %s, for no other session: its turn comes "
                               "next"),
                             own, waits);
    default:
        return NULL;
    }
}

char *ath_session_held_words(const struct ath_session_group *group,
                             const struct ath_runtime_session *session)
{
    const struct ath_figures *figures = &group->figures;
    const struct ath_session_figures *one = figures->sessions, *end = one + figures->session_count;
    while (one < end && one->id != session->id)
        one++;
    if (one == end || one->held_us == ATH_UNKNOWN || session->turn.share_percent == ATH_UNKNOWN ||
        !session->age_ms)
        return NULL;
    ath_auto_free char *own = session_words(&group->sessions, session->id);
    double held = (double)one->held_us / 10 / (double)session->age_ms;
    return ath_xasprintf(_("%s has held its GPUs for %.0f %% of the time since it began; its part "
                           "is %.0f %%"),
                         own, held < 100 ? held : 100, session->turn.share_percent);
}

/* Returns the name of a user of the runtime's machine if that is this one, else the id. */
static char *user_words(const struct ath_session_group *group, unsigned int uid)
{
    bool is_here = group->id != ATH_UNSET || ath_starts_with(group->server, "unix:");
    const struct passwd *user = is_here ? getpwuid(uid) : NULL;
    return user ? ath_xstrdup(user->pw_name) : ath_xasprintf("%u", uid);
}

char *ath_session_group_name(const struct ath_session_group *group)
{
    return group->id == ATH_UNSET ? ath_xstrdup(group->server) : ath_xasprintf("NUMA%d", group->id);
}

/* The kernel says process 0 if the process is in a namespace that the runtime cannot see. */
char *ath_session_peer_words(const struct ath_session_group *group, const char *peer)
{
    const char *numbers = peer && ath_starts_with(peer, "unix:") ? peer + strlen("unix:") : NULL;
    char *rest = NULL;
    unsigned long pid = numbers ? strtoul(numbers, &rest, 10) : 0;

    if (!rest || rest == numbers || *rest != ':')
        return ath_xstrdup(peer);
    ath_auto_free char *user = user_words(group, (unsigned int)strtoul(rest + 1, NULL, 10));
    return pid ? ath_xasprintf(_("process %lu, user %s"), pid, user)
               : ath_xasprintf(_("user %s"), user);
}
