/* Gathers what the server measures (remote/session/figures.h) from the board. */
#pragma once
#include "remote/session/figures.h"
#include "runtime/server.h"

/* Fills *out with the figures of all devices and of the sessions of all identities, in any process
 * of the server. Notes in the process's own entry that a client asks, so that
 * the sampler samples often for a while. The caller releases *out with ath_figures_free(). */
void ath_figures_collect(const struct ath_server *server, struct ath_figures *out);
