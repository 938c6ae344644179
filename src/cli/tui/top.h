/* The live screen of `aitherion top`: its state, which top_screen.c and top_orders.c change and
 * top_draw.c draws. Private to tui, except ath_top_show(). */
#pragma once
#include "cli/reach.h"
#include "cli/top/columns.h"
#include "cli/top/slots.h"
#include "cli/top/watcher.h"
#include "cli/tui/tui.h"

/* The smallest screen that is still of use. */
enum { ATH_TOP_ROWS = 10, ATH_TOP_COLUMNS = 50 };

enum { ATH_TOP_COLUMNS_MAX = 24 };

/* The parts that the user can hide. */
enum ath_top_part { ATH_TOP_GPUS, ATH_TOP_PORTS, ATH_TOP_CHARTS, ATH_TOP_PART_COUNT };

struct ath_top_screen {
    struct ath_top model;
    struct ath_watcher *watcher;
    const struct ath_reach_options *reach; /* of the command line */
    struct ath_top_order order;
    char *filter; /* order.filter points to it; NULL: none */
    int interval_s;
    bool is_paused;
    uint64_t looked_ms; /* when runtimes were looked for */
    bool is_hidden[ATH_TOP_PART_COUNT];

    /* The selection is a session, not a row: rows move while the user looks. */
    bool has_selection;
    size_t selected_server;
    uint64_t selected_id;

    /* The last drawing, for keys and clicks. */
    size_t *shown; /* indexes of the model's sessions in the order of the rows */
    size_t shown_count;
    int first;                                  /* row of `shown` at the top of the table */
    int head_row;                               /* of the screen: the heads of the columns */
    int table_rows;                             /* rows below it */
    struct ath_slot slots[ATH_TOP_COLUMNS_MAX]; /* of ath_top_columns */
};

/*
 * Shows the live screen until the user leaves it. reach: moved from; order: how to begin. Returns
 * 0, or a negative errno with err: "no-terminal", "library-missing", "interrupted".
 */
int ath_top_show(struct ath_cli *cli, const struct ath_reach_options *options,
                 struct ath_reach *reach, int interval_s, const struct ath_top_order *order,
                 struct ath_err *err);

/* Draws the screen, and stores what was drawn. */
void ath_top_draw(struct ath_tui *tui, void *screen);

/* Returns the selected session, or NULL. */
const struct ath_top_session *ath_top_selected(const struct ath_top_screen *screen);

/* Returns the row of the selected session in `shown`, or -1. */
int ath_top_selected_row(const struct ath_top_screen *screen);

/*
 * Show all about the selected session; end it or limit its memory after a question. The server gets
 * the order from its thread, and ath_top_say_done() tells the result later.
 */
void ath_top_show_session(struct ath_tui *tui, const struct ath_top_screen *screen);
void ath_top_end_session(struct ath_tui *tui, struct ath_top_screen *screen);
void ath_top_limit_session(struct ath_tui *tui, struct ath_top_screen *screen);
void ath_top_say_done(struct ath_tui *tui, const struct ath_top_command *done);
