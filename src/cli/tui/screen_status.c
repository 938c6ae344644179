/* Status and health: the programs that use the runtimes, the current state of each NUMA entry, and
 * what is wrong. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

/* Adds a line for each row of the table that `session list` prints: the NUMA entry, the session's
 * number, and the row's cells, separated by tabs. */
static void add_sessions(const struct looked *looked, struct ath_text *out)
{
    ATH_AUTO(ath_table) table = { 0 };
    size_t row = 0;

    ath_sessions_table(looked->sessions.items, looked->sessions.count, &table);
    for (size_t group = 0; group < looked->sessions.count; group++)
        for (size_t i = 0; i < looked->sessions.items[group].sessions.count; i++, row++) {
            ath_text_add(out, "%d\t%" PRIu64, looked->reach.items[group].id,
                         looked->sessions.items[group].sessions.items[i].id);
            for (size_t column = 0; column < table.column_count; column++) {
                const char *text = table.cells[row * table.column_count + column].text;
                ath_text_add(out, "\t%s", text ? text : "-");
            }
            ath_text_add(out, "\n");
        }
}

static char *session_lines(void *context)
{
    const struct ath_tui *tui = context;
    ATH_AUTO(looked) looked = { .root.fd = -1 };
    struct ath_text lines = { 0 };
    struct ath_err err = { 0 };

    if (look(&tui->store, &looked, &err))
        return NULL;
    add_sessions(&looked, &lines);
    return ath_text_take(&lines);
}

/* One running program. Its texts are parts of a line of session_lines(). */
struct offer {
    char *numa, *session, *name, *cells;
};

static struct offer read_offer(char *line)
{
    struct offer offer = { .numa = strsep(&line, "\t") };
    offer.session = strsep(&line, "\t");
    offer.name = strsep(&line, "\t");
    offer.cells = line;
    return offer;
}

/* Shows the command that ends the session, and runs it if the user agrees. */
static void ask_and_end(struct ath_tui *tui, const struct offer *offer)
{
    const char *const words[] = { "session", "end", offer->session, "--numa", offer->numa, NULL };
    ath_auto_free char *plain =
        ath_xasprintf("session end %s --numa %s", offer->session, offer->numa);
    ath_auto_free char *command = ath_cli_suggest(tui->store.cli, plain);
    ath_auto_free char *text = ath_xasprintf("%s  %s\n%s", offer->name, offer->cells, command);
    ath_auto_free char *title = ath_tui_fill(_("End session {0}?"), offer->session);

    if (ath_screens_confirm(tui, title, text, _("Yes, end it")))
        ath_screens_run(tui, words);
}

static void choose_session(struct ath_tui *tui, char *lines)
{
    ATH_AUTO(ath_choices) sessions = { 0 };
    ath_auto_free struct offer *offers = NULL;
    size_t count = 0;

    for (char *line = strsep(&lines, "\n"); line && *line; line = strsep(&lines, "\n")) {
        struct offer *offer = ath_push(&offers, &count, sizeof *offer);
        *offer = read_offer(line);
        ath_choices_add(&sessions, offer->session, offer->name, offer->cells);
    }
    if (!count) {
        ath_tui_say(tui, ATH_ROLE_WARN, _("no program uses a runtime now"));
        return;
    }
    int chosen = ath_dialog_choose(tui, _("End a session"),
                                   _("Its GPU memory is free within a second; the program's next "
                                     "CUDA call fails."),
                                   &sessions, false);
    if (chosen >= 0)
        ask_and_end(tui, &offers[chosen]);
}

static bool act(struct ath_tui *tui, enum ath_action action)
{
    if (action != ATH_ACTION_END)
        return false;
    ath_tui_hush(tui);
    ath_auto_free char *lines = ath_screens_ask(
        tui, _("asking the runtimes which programs use them ..."), session_lines, tui);
    if (lines)
        choose_session(tui, lines);
    return true;
}

const struct ath_page ath_page_status = {
    N_("Status and health"),  "aitherion health -v",  make_status, .is_slow = true,
    .refresh_ms = REFRESH_MS, .place = ATH_IN_STATUS, .act = act
};
