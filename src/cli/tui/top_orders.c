/* Orders about the selected session of the live screen, and all about it. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/time_claim.h"
#include "cli/commands/session_id.h"
#include "cli/output/session_words.h"
#include "cli/output/words.h"
#include "cli/suggest.h"
#include "cli/top/short.h"
#include "cli/tui/dialog.h"
#include "cli/tui/top.h"

static const struct ath_top_session *needed(struct ath_tui *tui,
                                            const struct ath_top_screen *screen)
{
    const struct ath_top_session *session = ath_top_selected(screen);
    if (!session)
        ath_tui_say(tui, ATH_ROLE_WARN, _("select a session first: Up, Down or a click"));
    return session;
}

void ath_top_say_done(struct ath_tui *tui, const struct ath_top_command *done)
{
    ath_auto_free char *size =
        done->limit_bytes == ATH_UNKNOWN ? NULL : ath_words_size(done->limit_bytes);

    if (done->status)
        ath_tui_say_error(tui, &done->err);
    else if (done->kind == ATH_TOP_END_SESSION)
        ath_tui_say(tui, ATH_ROLE_GOOD, _("session %" PRIu64 " is ended"), done->id);
    else if (done->is_claim && done->claim.priority)
        ath_tui_say(tui, ATH_ROLE_GOOD, _("session %" PRIu64 " has the priority '%s'"), done->id,
                    ath_time_priority_word((int)done->claim.priority));
    else if (done->is_claim)
        ath_tui_say(tui, ATH_ROLE_GOOD,
                    _("session %" PRIu64 " has another share of the GPUs' time "
                      "now"),
                    done->id);
    else if (size)
        ath_tui_say(tui, ATH_ROLE_GOOD, _("session %" PRIu64 " may use %s of GPU %d"), done->id,
                    size, done->device);
    else
        ath_tui_say(tui, ATH_ROLE_GOOD, _("session %" PRIu64 " has no limit of its own on GPU %d"),
                    done->id, done->device);
}

/* ---- orders to servers ---- */

static char *command_line(const struct ath_tui *tui, const struct ath_top_screen *screen,
                          const char *words, size_t server)
{
    const struct ath_reach_server *to = ath_watcher_server(screen->watcher, server);
    struct ath_reach_options options = *screen->reach;
    ath_auto_free char *id = ath_xasprintf("%d", to->id);

    options.server = to->id == ATH_UNSET ? to->server : NULL;
    options.numa = to->id == ATH_UNSET ? NULL : id;
    ath_auto_free char *whole = ath_reach_suggest(&options, words);
    return ath_cli_suggest(tui->store.cli, whole);
}

static void give_order(struct ath_tui *tui, struct ath_top_screen *screen,
                       const struct ath_top_command *command)
{
    if (tui->store.cli->globals.is_dry_run)
        ath_tui_say(tui, ATH_ROLE_WARN, _("session %" PRIu64 " is unchanged (--dry-run)"),
                    command->id);
    else if (!ath_watcher_order(screen->watcher, command))
        ath_tui_say(tui, ATH_ROLE_WARN, _("the runtime has not answered the last order yet"));
    else
        ath_tui_say(tui, ATH_ROLE_PLAIN, _("session %" PRIu64 ": waiting for the runtime ..."),
                    command->id);
}

/* Returns what ends with a session: its memory, and the work of so long a time. */
static char *loss_text(const struct ath_top_session *session)
{
    ath_auto_free char *age = ath_words_duration((int64_t)(session->facts->age_ms / 1000));
    ath_auto_free char *size =
        session->memory_bytes < 0 ? NULL : ath_words_size(session->memory_bytes);
    const char *program = session->facts->program ? session->facts->program : "?";
    const char *from = ath_top_from(session);

    return ath_xasprintf(_("%s of %s has run for %s. Its GPU memory (%s) and all that is in it are "
                           "lost, and its next CUDA call fails. The program itself goes on."),
                         program, from ? from : "?", age, size ? size : _("of unknown size"));
}

void ath_top_end_session(struct ath_tui *tui, struct ath_top_screen *screen)
{
    ATH_AUTO(ath_choices) answers = { 0 };
    const struct ath_top_session *session = needed(tui, screen);
    if (!session)
        return;
    const struct ath_top_command command = { .kind = ATH_TOP_END_SESSION,
                                             .server = session->server,
                                             .id = session->id,
                                             .limit_bytes = ATH_UNKNOWN };
    ath_auto_free char *words = ath_xasprintf("session end %" PRIu64, command.id);
    ath_auto_free char *line = command_line(tui, screen, words, command.server);
    ath_auto_free char *loss = loss_text(session);
    ath_auto_free char *text = ath_xasprintf("%s\n%s", loss, line);
    ath_auto_free char *name = ath_xasprintf("%" PRIu64, command.id);
    ath_auto_free char *title = ath_tui_fill(_("End session {0}?"), name);

    ath_choices_add(&answers, "", _("No, leave it"), NULL);
    ath_choices_add(&answers, "", _("Yes, end it"), NULL);
    if (ath_dialog_choose(tui, title, text, &answers, false) == 1)
        give_order(tui, screen, &command);
}

/* Returns the GPU that the user chooses of those of the session's server; -1: none. */
static int choose_gpu(struct ath_tui *tui, const struct ath_top_screen *screen,
                      const struct ath_top_session *session)
{
    ATH_AUTO(ath_choices) gpus = { 0 };

    for (size_t i = 0; i < screen->model.gpu_count; i++) {
        const struct ath_top_gpu *gpu = &screen->model.gpus[i];
        if (gpu->server != session->server)
            continue;
        ath_auto_free char *label = ath_xasprintf("GPU %d", gpu->number);
        ath_auto_free char *used = ath_words_size(ath_top_memory_on(session, gpu->number));
        ath_choices_add(&gpus, label, label, used)->is_on = gpu->number == session->gpu;
    }
    return gpus.count < 2
               ? (int)gpus.count - 1
               : ath_dialog_choose(tui, _("Limit the memory of which GPU?"), NULL, &gpus, false);
}

/* Reads "25%", "25%,cap" or a priority. */
static bool is_claim(const char *text, struct ath_claim_change *out)
{
    struct ath_time_claim claim = { 0 };
    const char *sign = strchr(text, '%');
    ath_auto_free char *share =
        sign ? ath_xasprintf("%.*s%s", (int)(sign - text), text, sign + 1) : NULL;

    *out = (struct ath_claim_change){ .share_percent = ATH_UNKNOWN, .cap = ATH_UNKNOWN };
    if (!ath_time_priority_parse(text, &out->priority))
        return true;
    if (!share || ath_time_share_parse(share, &claim))
        return false;
    out->share_percent = claim.share_percent;
    out->cap = claim.is_capped;
    return true;
}

static bool accept_limit(struct ath_tui *tui, const char *text, void *data, char **out_reason)
{
    struct ath_top_command *command = data;
    struct ath_err ignored = { 0 };
    (void)tui;
    command->is_claim = is_claim(text, &command->claim);
    if (command->is_claim || !ath_session_limit_parse(text, &command->limit_bytes, &ignored))
        return true;
    *out_reason = ath_xasprintf(_("'%s' is no limit: give a size like 512M or 4G, or none; a share "
                                  "like 25%% or 25%%,cap; or high, normal or low"),
                                text);
    return false;
}

void ath_top_limit_session(struct ath_tui *tui, struct ath_top_screen *screen)
{
    const struct ath_top_session *session = needed(tui, screen);
    if (!session)
        return;
    struct ath_top_command command = { .kind = ATH_TOP_LIMIT_SESSION,
                                       .server = session->server,
                                       .id = session->id };
    command.device = choose_gpu(tui, screen, session);
    if (command.device < 0)
        return;
    ath_auto_free char *words =
        ath_xasprintf("session limit %" PRIu64 " SIZE --device %d", command.id, command.device);
    ath_auto_free char *line = command_line(tui, screen, words, command.server);
    ath_auto_free char *title = ath_xasprintf(_("Limits of session %" PRIu64), command.id);
    ath_auto_free char *help =
        ath_xasprintf(_("Memory of GPU %d: a size like 512M or 4G, or none. Memory that the "
                        "program has stays; more is refused.\nOr a share of its GPUs' time: 25%%, "
                        "or 25%%,cap for no more; "
                        "or a priority: high, normal, low.\n%s"),
                      command.device, line);
    ath_auto_free char *text = ath_dialog_input(tui, title, help, NULL, accept_limit, &command);
    if (text)
        give_order(tui, screen, &command);
}

/* ---- all about a session ---- */

static void add_fact(struct ath_text *text, const char *label, const char *value)
{
    int width = (int)ath_text_width(label);
    if (value)
        ath_text_add(text, "%s%*s  %s\n", label, width < 14 ? 14 - width : 0, "", value);
}

static void add_uses(struct ath_text *text, const struct ath_top_session *session)
{
    for (size_t i = 0; i < session->facts->use_count; i++) {
        const struct ath_runtime_use *use = &session->facts->uses[i];
        ath_auto_free char *label = ath_xasprintf("GPU %u", use->device);
        ath_auto_free char *used = ath_short_size(use->memory_used_bytes);
        ath_auto_free char *limit =
            use->memory_limit_bytes < 0 ? NULL : ath_short_size(use->memory_limit_bytes);
        ath_auto_free char *value =
            limit ? ath_xasprintf(_("%s of %s"), used, limit) : ath_steal(&used);
        add_fact(text, label, value);
    }
}

void ath_top_show_session(struct ath_tui *tui, const struct ath_top_screen *screen)
{
    const struct ath_top_session *session = needed(tui, screen);
    ATH_AUTO(ath_text) text = { 0 };
    if (!session)
        return;
    const struct ath_top_server *server = &screen->model.servers[session->server];
    ath_auto_free char *peer = ath_session_peer_words(&server->answer.group, session->facts->peer);
    ath_auto_free char *process =
        session->facts->process ? ath_xasprintf("%u", session->facts->process) : NULL;
    ath_auto_free char *age = ath_words_duration((int64_t)(session->facts->age_ms / 1000));
    ath_auto_free char *received = ath_short_rate(session->received_bytes_s);
    ath_auto_free char *sent = ath_short_rate(session->sent_bytes_s);
    ath_auto_free char *calls = ath_short_rate(session->calls);
    ath_auto_free char *calls_s = ath_short_rate(session->calls_s);
    ath_auto_free char *gpu_time = ath_short_time(session->gpu_time_us);
    ath_auto_free char *wait = ath_short_wait(session->wait_us);
    ath_auto_free char *turn = ath_session_turn_words(&session->facts->turn);
    ath_auto_free char *held = ath_short_percent(session->held_percent);
    ath_auto_free char *queued = ath_short_percent(session->queued_percent);
    ath_auto_free char *call_text = ath_xasprintf(_("%s, %s in a second"), calls, calls_s);
    const struct {
        const char *label, *value;
    } facts[] = {
        { _("Program"), session->facts->program },
        { _("Key"), session->facts->identity },
        { _("Host"), session->facts->host },
        { _("Process"), process },
        { _("From"), peer },
        { _("Runtime"), server->name },
        { _("Transport"), session->transport },
        { _("Encrypted"), session->facts->is_encrypted ? _("yes, by TLS") : _("no") },
        { _("Age"), age },
        { _("GPU time"), gpu_time },
        { _("Calls"), call_text },
        { _("Wait"), wait },
        { _("Turns"), turn },
        { _("Held"), turn ? held : NULL },
        { _("Queued"), turn ? queued : NULL },
        { _("Received/s"), received },
        { _("Sent/s"), sent },
    };
    for (size_t i = 0; i < ATH_COUNT(facts); i++)
        add_fact(&text, facts[i].label, facts[i].value);
    add_uses(&text, session);
    ath_auto_free char *name = ath_xasprintf("%" PRIu64, session->id);
    ath_auto_free char *title = ath_tui_fill(_("Session {0}"), name);
    ath_dialog_say(tui, title, text.data);
}
