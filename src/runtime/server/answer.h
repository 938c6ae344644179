/* A control session's questions, and their answers. */
#pragma once
#include "proto/control.h"
#include "runtime/server/server.h"

/*
 * Fills the answer to a question. False where the message is no question (a second hello): the
 * session is to end.
 */
bool ath_answer(const struct ath_server *server, struct ath_control_message question,
                struct ath_control_message_builder answer);

/* Whether this process' session has sets of NVML's events, which go with it. */
bool ath_answer_awaits_events(void);
