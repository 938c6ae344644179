/* Boxes over the screen: a message, a choice, a line to type. Private to tui. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cli/tui/tui.h"

/* The items of a choice; owns its texts. */
struct ath_choice {
    char *value;  /* as in the document */
    char *label;  /* shown text */
    char *detail; /* shown after the label; cells separated by tabs; NULL: none */
    bool is_on;   /* chosen now */
};

struct ath_choices {
    struct ath_choice *items;
    size_t count;
};

void ath_choices_free(struct ath_choices *choices);

/* Adds a copy of the texts. label NULL: the value itself. The pointer is valid until the next
 * call. */
struct ath_choice *ath_choices_add(struct ath_choices *choices, const char *value,
                                   const char *label, const char *detail);
struct ath_choice *ath_choices_find(const struct ath_choices *choices, const char *value);

/* Shows a text until a key is pressed. The keys for scrolling scroll a text that does not fit. */
void ath_dialog_say(struct ath_tui *tui, const char *title, const char *text);

/*
 * Lets the user choose one item and returns its index; the item with is_on is selected first. With
 * is_many lets the user tick several, sets is_on, and returns 0. Returns -1 if the user goes back.
 * text may be NULL.
 */
int ath_dialog_choose(struct ath_tui *tui, const char *title, const char *text,
                      struct ath_choices *choices, bool is_many);

/*
 * Lets the user type a line. accept returns whether the line is valid; if not, it sets *out_reason,
 * which the dialog shows and frees, and the user can correct the line. Returns the line, or NULL if
 * the user goes back. The caller frees it.
 */
typedef bool (*ath_dialog_accept)(struct ath_tui *tui, const char *text, void *data,
                                  char **out_reason);
char *ath_dialog_input(struct ath_tui *tui, const char *title, const char *help,
                       const char *initial, ath_dialog_accept accept, void *data);
