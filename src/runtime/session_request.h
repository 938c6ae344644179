/*
 * Questions of a session's process, answered by the listening process (session_report.h). The
 * listening process decides by its own table what an asker may change.
 */
#pragma once
#include "runtime/process_table.h"
#include "runtime/sandbox/users.h"
#include "runtime/session_report.h"
#include "runtime/share_table.h"

/* Answers a question; 0 for an unknown one. A process whose client has proven no key may
 * only ask for its user. */
uint64_t ath_session_request_answer(struct ath_process_table *processes,
                                    struct ath_share_table *shares, struct ath_sandbox_users *users,
                                    const struct ath_process *asker,
                                    const struct ath_session_report *question);

/* Returns whether a session may end and limit another one: an administrator may do so with all,
 * others with their own identity's. */
bool ath_session_request_may_change(const struct ath_process *asker,
                                    const struct ath_process *other);
