/* Answers and checks that the files control_answer*.c share. Private to them. One thread. */
#pragma once
#include "runtime/control_answer.h"

/* ---- control_answer.c ---- */

void ath_control_answer_failure(struct ath_control_message_builder answer,
                                enum ath_common_failure_code code, const char *message);

/* ---- control_answer_sessions.c ---- */

/* Returns whether the peer is the server's own user or root, on the unix socket. Others with a key
 * may use the GPUs, and may not decide how much of them is served. */
bool ath_control_is_owner(const struct ath_server *server, int fd);

/* Copies the entry of a session that the client may reach. Returns false if there is none. */
bool ath_control_find_session(const struct ath_server *server, int fd, uint64_t id,
                              struct ath_session_board_entry *out);

void ath_control_answer_sessions(const struct ath_server *server, int fd,
                                 struct ath_control_message question,
                                 struct ath_control_message_builder answer);
void ath_control_answer_figures(const struct ath_server *server, int fd,
                                struct ath_control_message question,
                                struct ath_control_message_builder answer);

/* ---- control_answer_changes.c ---- */

void ath_control_answer_end(const struct ath_server *server, int fd,
                            struct ath_control_message question,
                            struct ath_control_message_builder answer);
void ath_control_answer_limit(const struct ath_server *server, int fd,
                              struct ath_control_message question,
                              struct ath_control_message_builder answer);
void ath_control_answer_claim(const struct ath_server *server, int fd,
                              struct ath_control_message question,
                              struct ath_control_message_builder answer);
void ath_control_answer_reserve(const struct ath_server *server, int fd,
                                struct ath_control_message question,
                                struct ath_control_message_builder answer);
void ath_control_answer_server_limit(const struct ath_server *server, int fd,
                                     struct ath_control_message question,
                                     struct ath_control_message_builder answer);
