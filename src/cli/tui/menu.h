/*
 * Screens of rows, as tables: what a row is called, what it shows, what Enter does.
 *
 * A screen is about a subject: the id of a NUMA entry, a card's PCI address, a macvlan's name; ""
 * for none. In titles, labels and commands "{0}" stands for it. Whoever adds a row adds nothing
 * elsewhere. Private to tui.
 */
#pragma once
#include "cli/tui/tui.h"

struct ath_menu;
struct ath_menu_list;

struct ath_menu_row {
    const char *label; /* N_(); NULL where `list` makes rows */
    const char *help;  /* N_(), one line; NULL: that of the first field */
    /* Keys of the document, below the menu's list and the subject: changed one after the other. */
    const char *fields[2];
    const struct ath_menu *opens; /* a screen about the same subject (about the listed one) */
    const struct ath_page *shows;
    bool (*act)(struct ath_tui *tui, const char *subject); /* true: this screen is done */
    char *(*value)(const struct ath_tui *tui, const char *subject);
    bool (*is_shown)(const struct ath_tui *tui, const char *subject); /* NULL: always */
    void (*list)(const struct ath_tui *tui, struct ath_menu_list *out);
    const char *command; /* the same by command line, shown where there is that command; NULL: made
                            for fields */
    bool is_return;      /* only goes back */
};

struct ath_menu {
    const char *title; /* N_() */
    const char *list;  /* where its fields are: "numa", "roce.macvlans"; NULL without fields */
    const struct ath_menu_row *rows; /* ended by one without label and list */
    /* Text below the rows: what else is to be known of the subject. NULL: none. Freed. */
    char *(*about)(const struct ath_tui *tui, const char *subject);
    bool (*exists)(const struct ath_tui *tui, const char *subject); /* NULL: always; else it goes
                                                                       back when that ends */
};

/* Adds a row about a subject of its own; detail, or NULL, is its value. */
void ath_menu_list_add(struct ath_menu_list *list, const char *subject, const char *label,
                       const char *detail);

/* Shows a screen until the person goes back. */
void ath_menu_show(struct ath_tui *tui, const struct ath_menu *menu, const char *subject);
