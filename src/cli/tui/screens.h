/* The menus themselves. Private to tui. */
#pragma once
#include "cli/tui/menu.h"
#include "cli/tui/page.h"

/* The main menu, until the person leaves it with nothing unsaved or on purpose. entry: as
 * ath_tui_run() has it. */
void ath_screens_main(struct ath_tui *tui, const char *entry);

/* Rows that several screens have. */
bool ath_screens_save_and_return(struct ath_tui *tui, const char *subject);
bool ath_screens_save(struct ath_tui *tui, const char *subject);
bool ath_screens_has_document(const struct ath_tui *tui, const char *subject);

/* What does not fit the machine in an item of the document, a line each; NULL where all fits. The
 * caller frees it. */
char *ath_screens_warnings(const struct ath_tui *tui, const struct ath_yaml *item);

/* What a view shows as text; the caller frees it. */
char *ath_screens_text(const struct ath_view *view, const void *data,
                       const struct ath_style *style);

/* Asks whether to do something that takes something away. */
bool ath_screens_confirm(struct ath_tui *tui, const char *title, const char *yes);

/* Takes an item out of the document, and says so. True where it was. */
bool ath_screens_remove(struct ath_tui *tui, const char *list, const char *subject);

/* True where the command line has a command ("roce test") and the machine is the live one: what
 * acts on hardware has no row for a capture. */
bool ath_screens_can_run(const struct ath_tui *tui, const char *words);

/* Saves, then runs a command of ours on the plain terminal. words: ended by NULL. */
void ath_screens_run(struct ath_tui *tui, const char *const *words);

extern const struct ath_menu ath_menu_main, ath_menu_numa, ath_menu_entry, ath_menu_roce,
    ath_menu_card, ath_menu_macvlans, ath_menu_macvlan;
extern const struct ath_page ath_page_topology, ath_page_document, ath_page_status;
