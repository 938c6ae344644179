/*
 * Screens of rows, as tables: the name of a row, its value, and what Enter does.
 *
 * A screen is about a subject: the id of a NUMA entry, a card's PCI address, a macvlan's name; ""
 * for none. "{0}" in titles, labels and commands is replaced by the subject. A new row needs
 * changes nowhere else. Private to tui.
 */
#pragma once
#include "cli/tui/field.h"
#include "cli/tui/tui.h"

struct ath_menu;
struct ath_menu_list;

struct ath_menu_row {
    const char *label; /* N_(); NULL if `list` makes the rows */
    const char *help;  /* N_(), one line; NULL: the help of the first field */
    /* Keys of the document, below the menu's list and the subject. Enter changes one after the
     * other. */
    const char *fields[ATH_FIELDS_MOST];
    const struct ath_menu *opens; /* a screen about the same subject, or about the listed one */
    const struct ath_page *shows;
    bool (*act)(struct ath_tui *tui, const char *subject); /* true: close this screen */
    char *(*value)(const struct ath_tui *tui, const char *subject);
    bool (*is_shown)(const struct ath_tui *tui, const char *subject); /* NULL: always */
    void (*list)(const struct ath_tui *tui, struct ath_menu_list *out);
    const char *command; /* the same on the command line, shown if the command exists; NULL: made
                            from fields */
    bool is_return;      /* only goes back */
};

struct ath_menu {
    const char *title; /* N_() */
    const char *list;  /* list of its fields: "numa", "roce.macvlans"; "": keys of the document
                          itself; NULL without fields */
    const struct ath_menu_row *rows; /* terminated by a row without label and list */
    /* Text below the rows with more about the subject, freed by the menu; NULL: none. */
    char *(*about)(const struct ath_tui *tui, const char *subject);
    bool (*exists)(const struct ath_tui *tui,
                   const char *subject); /* NULL: always; the screen closes when it returns false */
    const struct ath_page *below;        /* shown below the rows on a large screen; NULL: none */
};

/* Adds a row for a subject. detail is shown as its value; NULL: none. Texts are copied. */
void ath_menu_list_add(struct ath_menu_list *list, const char *subject, const char *label,
                       const char *detail);

/* Shows a screen until the user goes back. */
void ath_menu_show(struct ath_tui *tui, const struct ath_menu *menu, const char *subject);
