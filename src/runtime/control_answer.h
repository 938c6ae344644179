/* The answers to a control session's questions. */
#pragma once
#include "proto/control.h"
#include "runtime/server.h"

/*
 * Fills the answer to a question that came by the connection fd. Returns false if the message is no
 * question (a second hello, for example); the caller then ends the session.
 */
bool ath_control_answer(const struct ath_server *server, int fd,
                        struct ath_control_message question,
                        struct ath_control_message_builder answer);

/* Returns whether the session of this process has event sets of NVML, which would end with it. */
bool ath_control_answer_awaits_events(void);
