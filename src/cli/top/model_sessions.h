/* The sessions of the model. Private to model.c. */
#pragma once
#include "cli/top/model.h"

/* Replaces the server's sessions by those of its answer, and keeps the order of servers. Sessions
 * that were there keep their histories. */
void ath_top_take_sessions(struct ath_top *top, size_t server, const struct ath_top_answer *answer);
