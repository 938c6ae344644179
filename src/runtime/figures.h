/* Gathers what the server measures (remote/session/figures.h) from the board. */
#pragma once
#include "remote/session/figures.h"
#include "runtime/server.h"

/* Fills *out with the figures of all devices and of the sessions of all identities, in any process
 * of the server. Notes in the process's own entry that a client asks, so that
 * the sampler samples often for a while. The caller releases *out with ath_figures_free(). */
void ath_figures_collect(const struct ath_server *server, struct ath_figures *out);

/* The same. Calls visit with the slot and the board's entry of each session of the figures, as it
 * was read for them; the entry is gone after the call. */
typedef void ath_figures_visit(void *context, size_t slot,
                               const struct ath_session_board_entry *entry);
void ath_figures_collect_with(const struct ath_server *server, ath_figures_visit *visit,
                              void *context, struct ath_figures *out);
