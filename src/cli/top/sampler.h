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

struct ath_sampler;

enum ath_top_order_kind { ATH_TOP_END_SESSION, ATH_TOP_LIMIT_SESSION };

/* An order to a server, and its result. */
struct ath_top_command {
    enum ath_top_order_kind kind;
    size_t server;
    uint64_t id; /* of the session */
    int device;  /* for a limit */
    int64_t limit_bytes;
    int status; /* 0, or a negative errno with err */
    struct ath_err err;
};

/* Starts asking the servers, and leaves *reach empty. The caller ends it with ath_sampler_end(). */
struct ath_sampler *ath_sampler_start(struct ath_reach *reach, int interval_ms);

/* Ends the threads. One that waits for a server is left behind and ends by itself. NULL: nothing.
 */
void ath_sampler_end(struct ath_sampler *sampler);

/* Adds the servers to an empty model, in the sampler's order. */
void ath_sampler_describe(const struct ath_sampler *sampler, struct ath_top *top);

/* Returns a descriptor that is readable while results wait. */
int ath_sampler_fd(const struct ath_sampler *sampler);

/* Hands all results to the model. Returns whether there were any. */
bool ath_sampler_take(struct ath_sampler *sampler, struct ath_top *top);

/* Asks at this interval from now on, and at once. */
void ath_sampler_pace(struct ath_sampler *sampler, int interval_ms);

/* Gives a server an order. Returns false if it has not done the last one yet. */
bool ath_sampler_order(struct ath_sampler *sampler, const struct ath_top_command *command);

/* Moves the next order that is done into *out. Returns false if there is none. */
bool ath_sampler_done(struct ath_sampler *sampler, struct ath_top_command *out);

/* Returns the address and the entry's id of a server. */
const struct ath_reach_server *ath_sampler_server(const struct ath_sampler *sampler, size_t index);
