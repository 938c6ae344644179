/* Boxes over the screen: a word, a choice, a line to type. Private to tui. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cli/tui/tui.h"

/* What can be chosen; owns its texts. */
struct ath_choice {
    char *value; /* as the document says it */
    char *label; /* what is shown; its first word is the value where that is to be seen */
    bool is_on;  /* chosen now */
};

struct ath_choices {
    struct ath_choice *items;
    size_t count;
};

void ath_choices_free(struct ath_choices *choices);

/* label NULL: the value itself. detail, or NULL, stands behind the label. */
struct ath_choice *ath_choices_add(struct ath_choices *choices, const char *value,
                                   const char *label, const char *detail);
struct ath_choice *ath_choices_find(const struct ath_choices *choices, const char *value);

/* Shows a text until a key is pressed. */
void ath_dialog_say(struct ath_tui *tui, const char *title, const char *text);

/*
 * Lets the person choose one (returns its index; the one that is_on is offered first), or with
 * is_many tick several (is_on says which; returns 0). -1: went back. text may be NULL.
 */
int ath_dialog_choose(struct ath_tui *tui, const char *title, const char *text,
                      struct ath_choices *choices, bool is_many);

/*
 * Lets the person type a line. accept says whether it will do, else why not (*out_reason, which
 * the dialog shows and frees), and then the line can be mended. NULL: went back. The caller frees
 * it.
 */
typedef bool (*ath_dialog_accept)(struct ath_tui *tui, const char *text, void *data,
                                  char **out_reason);
char *ath_dialog_input(struct ath_tui *tui, const char *title, const char *help,
                       const char *initial, ath_dialog_accept accept, void *data);
