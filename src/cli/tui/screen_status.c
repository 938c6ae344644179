/* Status and health: what each NUMA entry serves, as it is now, and what is wrong with it. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/nodes.h"
#include "cli/output/health.h"
#include "cli/tui/screens.h"

enum { REFRESH_MS = 2000 };

/* The document as it is here, saved or not. */
static void take_document(const struct ath_store *store, struct ath_health_facts *facts)
{
    facts->document_path = store->path;
    if (store->has_document) {
        facts->document = &store->document;
        return;
    }
    ath_err_set(&facts->document_err, -ENOENT, ATH_E_DOCUMENT_MISSING,
                _("there is no topology document '%s'"), store->path);
    ath_err_hint(&facts->document_err, -ENOENT, "aitherion init");
}

static char *make_status(struct ath_tui *tui, const struct ath_style *style)
{
    const struct ath_store *store = &tui->store;
    ATH_AUTO(ath_root) root = { .fd = -1 };
    ATH_AUTO(ath_health_facts) facts = { 0 };
    ATH_AUTO(ath_health_report) report = { 0 };
    struct ath_err err = { 0 };

    if (!store->has_machine)
        return ath_xasprintf("%s\n%s", store->machine_err.message, store->machine_err.hint);
    if (ath_cli_root(store->cli, &root, &err))
        return ath_xasprintf("%s\n%s", err.message, err.hint);
    ath_health_facts_read(root.path ? &root : NULL, &store->machine, &facts);
    take_document(store, &facts);
    ath_nodes_look(store->cli, &facts, &facts.runtimes);
    ath_health_run(&facts, &report);
    return ath_screens_text(&ath_health_view,
                            &(struct ath_health_output){ .facts = &facts,
                                                         .report = &report,
                                                         .globals = &store->cli->globals,
                                                         .shows_nodes = true },
                            style);
}

const struct ath_page ath_page_status = { N_("Status and health"), "aitherion health -v",
                                          make_status, REFRESH_MS };
