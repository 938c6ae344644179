/*
 * Asks servers, and reads this host's counts, again and again, each in a thread of its own: a
 * server that hangs holds up no other server and no key.
 *
 * A thread keeps its session open, and opens another one after a failure. Orders to a server go
 * through the same session. Results wait until the main thread takes them. Only the main thread
 * calls these functions.
 */
#pragma once
#include "cli/reach.h"
#include "cli/top/model.h"

struct ath_watcher;

enum ath_top_order_kind { ATH_TOP_END_SESSION, ATH_TOP_LIMIT_SESSION };

/* An order to a server, and its result. */
struct ath_top_command {
    enum ath_top_order_kind kind;
    size_t server;
    uint64_t id; /* of the session */
    int device;  /* for a limit of memory */
    int64_t limit_bytes;
    bool is_claim;                 /* the limit is of the GPUs' time: `claim` instead of bytes */
    struct ath_claim_change claim; /* of a result: its priority is the one that holds now */
    int status;                    /* 0, or a negative errno with err */
    struct ath_err err;
};

/* Starts asking the servers, and leaves *reach empty. The caller ends it with ath_watcher_end(). */
struct ath_watcher *ath_watcher_start(struct ath_reach *reach, int interval_ms);

/* Ends the threads. One that waits for a server is left behind and ends by itself. NULL:
 * nothing. */
void ath_watcher_end(struct ath_watcher *watcher);

/* Adds the servers to an empty model, in the watcher's order. */
void ath_watcher_describe(const struct ath_watcher *watcher, struct ath_top *top);

/* Returns a descriptor that is readable while results wait. */
int ath_watcher_fd(const struct ath_watcher *watcher);

/* Hands all results to the model. Returns whether there were any. */
bool ath_watcher_take(struct ath_watcher *watcher, struct ath_top *top);

/* Asks at this interval from now on, and at once. */
void ath_watcher_pace(struct ath_watcher *watcher, int interval_ms);

/* Gives a server an order. Returns false if it has not done the last one yet. */
bool ath_watcher_order(struct ath_watcher *watcher, const struct ath_top_command *command);

/* Moves the next order that is done into *out. Returns false if there is none. */
bool ath_watcher_done(struct ath_watcher *watcher, struct ath_top_command *out);

/* Returns the address and the entry's id of a server. */
const struct ath_reach_server *ath_watcher_server(const struct ath_watcher *watcher, size_t index);
