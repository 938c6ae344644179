/* Searching. The text is kept in struct ath_tui, so that it can be searched for in other lists. */
#include "config.h"

#include "cli/tui/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/tui/dialog.h"

/* A search from a row: the row itself is looked at last. */
struct search {
    const struct ath_search_rows *rows;
    int at;
};

static bool contains(const struct ath_search_rows *rows, int index, const char *text)
{
    ath_auto_free char *row = rows->row(rows->data, index);
    return strcasestr(row, text) != NULL;
}

/* step: 1 or -1. Returns the row that was found, or -1. */
static int find(const struct search *search, const char *text, int step)
{
    int count = (int)*search->rows->count, begin = search->at < 0 && step < 0 ? 0 : search->at;

    for (int i = 1; i <= count; i++) {
        int index = ((begin + i * step) % count + count) % count;
        if (contains(search->rows, index, text))
            return index;
    }
    return -1;
}

static char *not_found(const char *text)
{
    return ath_xasprintf(_("nothing here contains '%s'"), text);
}

static bool accept(struct ath_tui *tui, const char *text, void *data, char **out_reason)
{
    (void)tui;
    if (*text && find(data, text, 1) >= 0)
        return true;
    *out_reason = not_found(text);
    return false;
}

/* Returns the text to search for, or NULL; it belongs to the menus. */
static const char *text_for(struct ath_tui *tui, enum ath_action action, struct search *search)
{
    if (action != ATH_ACTION_SEARCH && tui->sought)
        return tui->sought;
    char *text =
        ath_dialog_input(tui, _("Search"), _("n goes to the next match, N to the previous one"),
                         tui->sought, accept, search);
    if (text) {
        free(tui->sought);
        tui->sought = text;
    }
    return text;
}

bool ath_search_act(struct ath_tui *tui, enum ath_action action, const struct ath_search_rows *rows,
                    int *at)
{
    struct search search = { rows, *at };

    if (action != ATH_ACTION_SEARCH && action != ATH_ACTION_NEXT && action != ATH_ACTION_PREVIOUS)
        return false;
    const char *text = text_for(tui, action, &search);
    int found = text ? find(&search, text, action == ATH_ACTION_PREVIOUS ? -1 : 1) : -1;
    if (found >= 0) {
        *at = found;
        return true;
    }
    if (text) {
        ath_auto_free char *reason = not_found(text);
        ath_tui_say(tui, ATH_ROLE_WARN, "%s", reason);
    }
    return false;
}
