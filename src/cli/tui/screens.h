/* The menus themselves. Private to tui. */
#pragma once
#include "cli/tui/menu.h"
#include "cli/tui/page.h"

/* Shows the main menu until the user leaves it, saved or on purpose. entry: as in ath_tui_run(). */
void ath_screens_main(struct ath_tui *tui, const char *entry);

/* Functions of rows that several screens have. */
bool ath_screens_save_and_return(struct ath_tui *tui, const char *subject);
bool ath_screens_save(struct ath_tui *tui, const char *subject);
bool ath_screens_has_document(const struct ath_tui *tui, const char *subject);
bool ath_screens_is_faulty(const struct ath_tui *tui, const char *subject);
bool ath_screens_can_start(const struct ath_tui *tui, const char *subject);
bool ath_screens_start(struct ath_tui *tui, const char *subject);
bool ath_screens_can_change_machine(const struct ath_tui *tui, const char *subject);
bool ath_screens_can_run_program(const struct ath_tui *tui, const char *subject);
bool ath_screens_run_program(struct ath_tui *tui, const char *subject);
bool ath_screens_has_gpus(const struct ath_tui *tui, const char *subject);

/* Returns what does not fit the machine in an item of the document, one on each line; NULL:
 * everything fits. The caller frees it. */
char *ath_screens_warnings(const struct ath_tui *tui, const struct ath_yaml *item);

/* Returns what a view shows as text. The caller frees it. */
char *ath_screens_text(const struct ath_view *view, const void *data,
                       const struct ath_style *style);

/*
 * Makes a text in a child process (look.h), because daemons or runtimes must answer first. Shows
 * the message meanwhile if that takes long. Returns the text, which the caller frees, or NULL if
 * the user does not wait for it or if it cannot be made.
 */
char *ath_screens_ask(struct ath_tui *tui, const char *message, char *(*make)(void *context),
                      void *context);

/* Asks before something is removed or stopped; text may be NULL or empty. Returns whether the user
 * agrees. */
bool ath_screens_confirm(struct ath_tui *tui, const char *title, const char *text, const char *yes);

/* Asks for the path of a new file. Returns NULL if the user goes back. The caller frees it. */
char *ath_screens_ask_file(struct ath_tui *tui, const char *title);

/* Removes an item from the document and shows that. Returns whether it was removed. */
bool ath_screens_remove(struct ath_tui *tui, const char *list, const char *subject);

/* Returns whether the command ("roce test") exists and the machine is the live one. Rows that
 * change hardware are not shown for a capture. */
bool ath_screens_can_run(const struct ath_tui *tui, const char *words);

/* Saves, then runs an aitherion command in a pane. words: terminated by NULL. */
void ath_screens_run(struct ath_tui *tui, const char *const *words);

extern const struct ath_menu ath_menu_main, ath_menu_numa, ath_menu_entry, ath_menu_roce,
    ath_menu_card, ath_menu_macvlans, ath_menu_macvlan, ath_menu_faults, ath_menu_key,
    ath_menu_image, ath_menu_access, ath_menu_identity, ath_menu_place;
extern const struct ath_page ath_page_topology, ath_page_document, ath_page_status;
