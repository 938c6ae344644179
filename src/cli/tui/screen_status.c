/* Status and health: the programs that use the runtimes, the current state of each NUMA entry, and
 * what is wrong. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/nodes.h"
#include "cli/output/health.h"
#include "cli/output/session.h"
#include "cli/reach.h"
#include "cli/tui/dialog.h"
#include "cli/tui/screens.h"
#include "config/key_file.h"

enum { REFRESH_MS = 2000 };

/* The facts that the screen shows. */
struct looked {
    struct ath_root root;
    struct ath_health_facts facts;
    struct ath_reach reach; /* runtimes that answer */
    struct ath_session_report sessions;
};

static void looked_free(struct looked *looked)
{
    ath_session_report_free(&looked->sessions);
    ath_reach_free(&looked->reach);
    ath_health_facts_free(&looked->facts);
    ath_root_free(&looked->root);
}

/* Takes the document as it is in the menus, saved or not. */
static void take_document(const struct ath_store *store, struct ath_health_facts *facts)
{
    facts->document_path = store->path;
    if (store->has_document) {
        facts->document = &store->document;
        return;
    }
    ath_err_copy(&facts->document_err, &store->document_err);
    facts->document_faults = store->faults.count ? &store->faults : NULL;
}

/* Asks the runtimes that have answered the health's question. */
static void ask_sessions(struct looked *looked)
{
    const struct ath_health_runtimes *runtimes = &looked->facts.runtimes;
    const struct ath_document *document = looked->facts.document;
    struct ath_reach *reach = &looked->reach;
    bool has_key;

    reach->key = ath_key_file_find(document ? document->key_file : ATH_NODES_KEY, &has_key);
    if (!has_key)
        *reach->key = '\0';
    reach->items = ath_xalloc(runtimes->count * sizeof *reach->items);
    for (size_t i = 0; i < runtimes->count; i++)
        if (runtimes->items[i].has_told)
            ath_reach_node(runtimes->items[i].status, false, &reach->items[reach->count++]);
    looked->sessions.items = ath_xalloc(reach->count * sizeof *looked->sessions.items);
    looked->sessions.count = reach->count;
    ath_reach_ask(reach, looked->sessions.items);
}

static int look(const struct ath_store *store, struct looked *out, struct ath_err *err)
{
    if (!store->has_machine) {
        ath_err_copy(err, &store->machine_err);
        return -ENOENT;
    }
    int status = ath_cli_root(store->cli, &out->root, err);
    if (status)
        return status;
    ath_health_facts_read(out->root.path ? &out->root : NULL, &store->machine, &out->facts);
    take_document(store, &out->facts);
    ath_nodes_look(store->cli, &out->facts, &out->facts.runtimes);
    ask_sessions(out);
    return 0;
}

/* ---- the text ---- */

static char *sessions_text(const struct looked *looked, const struct ath_style *style)
{
    struct ath_err err = { 0 };
    char *text = NULL;
    size_t length = 0;

    if (!looked->sessions.count)
        return ath_xstrdup("");
    ath_output_make(&ath_session_list_view, &looked->sessions, ATH_FORMAT_TEXT, style, &text,
                    &length, &err);
    ath_auto_free char *list = text;
    return ath_xasprintf("%s\n", list ? list : "");
}

static char *make_status(struct ath_tui *tui, const struct ath_style *style)
{
    ATH_AUTO(looked) looked = { .root.fd = -1 };
    ATH_AUTO(ath_health_report) report = { 0 };
    struct ath_err err = { 0 };

    if (look(&tui->store, &looked, &err))
        return ath_xasprintf("%s\n%s", err.message, err.hint);
    ath_health_run(&looked.facts, &report);
    ath_auto_free char *sessions = sessions_text(&looked, style);
    ath_auto_free char *health =
        ath_screens_text(&ath_health_view,
                         &(struct ath_health_output){
                             .facts = &looked.facts, .report = &report, .shows_nodes = true },
                         style);
    return ath_xasprintf("%s%s", sessions, health);
}

/* ---- ending a session ---- */

/* Offers the rows of the table that `session list` prints. The value is the group's index and the
 * session's number. */
static void offer_sessions(const struct looked *looked, struct ath_choices *out)
{
    ATH_AUTO(ath_table) table = { 0 };
    size_t row = 0;

    ath_sessions_table(looked->sessions.items, looked->sessions.count, &table);
    for (size_t group = 0; group < looked->sessions.count; group++)
        for (size_t i = 0; i < looked->sessions.items[group].sessions.count; i++, row++) {
            ATH_AUTO(ath_text) cells = { 0 };
            uint64_t id = looked->sessions.items[group].sessions.items[i].id;
            ath_auto_free char *value = ath_xasprintf("%zu %" PRIu64, group, id);
            for (size_t column = 1; column < table.column_count; column++) {
                const char *text = table.cells[row * table.column_count + column].text;
                ath_text_add(&cells, "%s%s", column > 1 ? "\t" : "", text ? text : "-");
            }
            ath_choices_add(out, value, table.cells[row * table.column_count].text, cells.data);
        }
}

static void end_session(struct ath_tui *tui, const struct looked *looked, size_t group, uint64_t id)
{
    ATH_AUTO(ath_session) session = { .fd = -1 };
    struct ath_err err = { 0 };
    ath_auto_free char *name = ath_xasprintf("%" PRIu64, id);

    if (tui->store.cli->globals.is_dry_run) {
        ath_tui_say(tui, ATH_ROLE_WARN, _("session %s goes on (--dry-run)"), name);
        return;
    }
    int status = ath_reach_session(&looked->reach, &looked->reach.items[group], &session, &err);
    if (!status)
        status = ath_session_end(&session, id, &err);
    if (status)
        ath_tui_say_error(tui, &err);
    else
        ath_tui_say(tui, ATH_ROLE_GOOD, _("session %s is ended"), name);
}

/* Returns the command that ends the session. The caller frees it. */
static char *end_command(const struct ath_tui *tui, const struct looked *looked, size_t group,
                         uint64_t id)
{
    ath_auto_free char *words =
        ath_xasprintf("session end %" PRIu64 " --numa %d", id, looked->reach.items[group].id);
    return ath_cli_suggest(tui->store.cli, words);
}

static void choose_session(struct ath_tui *tui, const struct looked *looked)
{
    ATH_AUTO(ath_choices) sessions = { 0 }, answers = { 0 };
    uint64_t id;

    offer_sessions(looked, &sessions);
    if (!sessions.count) {
        ath_tui_say(tui, ATH_ROLE_WARN, _("no program uses a runtime now"));
        return;
    }
    int chosen = ath_dialog_choose(tui, _("End a session"),
                                   _("Its GPU memory is free within a second; the program's next "
                                     "CUDA call fails."),
                                   &sessions, false);
    if (chosen < 0)
        return;
    char *rest;
    size_t group = strtoul(sessions.items[chosen].value, &rest, 10);
    id = strtoull(rest, NULL, 10);
    ath_auto_free char *command = end_command(tui, looked, group, id);
    ath_auto_free char *text = ath_xasprintf("%s  %s\n%s", sessions.items[chosen].label,
                                             sessions.items[chosen].detail, command);
    ath_auto_free char *name = ath_xasprintf("%" PRIu64, id);
    ath_auto_free char *title = ath_tui_fill(_("End session {0}?"), name);
    ath_choices_add(&answers, "", _("No, leave it"), NULL);
    ath_choices_add(&answers, "", _("Yes, end it"), NULL);
    if (ath_dialog_choose(tui, title, text, &answers, false) == 1)
        end_session(tui, looked, group, id);
}

static bool act(struct ath_tui *tui, enum ath_action action)
{
    ATH_AUTO(looked) looked = { .root.fd = -1 };
    struct ath_err err = { 0 };

    if (action != ATH_ACTION_END)
        return false;
    ath_tui_hush(tui);
    if (look(&tui->store, &looked, &err))
        ath_tui_say_error(tui, &err);
    else
        choose_session(tui, &looked);
    return true;
}

const struct ath_page ath_page_status = {
    N_("Status and health"),  "aitherion health -v",  make_status, .is_slow = true,
    .refresh_ms = REFRESH_MS, .place = ATH_IN_STATUS, .act = act
};
