/*
 * The columns of the table of sessions: for the screen, for text and for the choice of an order. A
 * new column is one row of the table, and a key in model.h if the table can be sorted by it.
 */
#pragma once
#include "cli/output/style.h"
#include "cli/top/order.h"

struct ath_top_column {
    const char *title; /* N_(); NULL ends the table */
    const char *help;  /* N_(): for the choice of an order */
    enum ath_top_sort key;
    int least, most;           /* columns of the screen */
    int importance;            /* a narrow screen leaves out the least important ones */
    int importance_with_turns; /* the same if a session has a claim or takes turns; 0: the same */
    bool is_left;              /* text; numbers end at the right edge */
    bool is_address;           /* cut in its middle if it does not fit */
    bool is_wide_only;         /* says little that is new: not in the table of text */
    bool (*is_shown)(const struct ath_top *top); /* NULL: always */
    char *(*text)(const struct ath_top *top, const struct ath_top_session *session); /* freed by the
                                                                                        caller */
    enum ath_role (*role)(const struct ath_top_session *session); /* NULL: plain */
};

extern const struct ath_top_column ath_top_columns[];

/* Returns how important a column is for these sessions. */
int ath_top_column_importance(const struct ath_top_column *column, const struct ath_top *top);

/* Returns the column of a key. */
const struct ath_top_column *ath_top_column(enum ath_top_sort key);

/* Reads the word of a key. Returns 0, or -EINVAL with err (code word "usage"). */
int ath_top_sort_parse(const char *word, enum ath_top_sort *out, struct ath_err *err);

/* The words of the keys for the command line, terminated by NULL. */
extern const char *const ath_top_sort_words[];
