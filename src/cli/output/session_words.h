/* Says what a session has, wants and waits for. */
#pragma once
#include "cli/output/session.h"

/* Returns the memory that a session uses on each GPU, with its limits; NULL for none. The caller
 * frees it. */
char *ath_session_memory_words(const struct ath_runtime_session *session);

/* Returns a session's claim and what it does now: "25 % at most (asked for), waits for session 7";
 * NULL if there is nothing to say. The caller frees it. */
char *ath_session_turn_words(const struct ath_runtime_turn *turn);

/* Returns why a session waits, as a sentence; NULL if it does not wait. The caller frees it. */
char *ath_session_wait_words(const struct ath_runtime_sessions *sessions,
                             const struct ath_runtime_session *session);

/* Returns how much of its time a session has held its GPUs, as a sentence; NULL if the group has no
 * figures of it, or if no turns are taken there. The caller frees it. */
char *ath_session_held_words(const struct ath_session_group *group,
                             const struct ath_runtime_session *session);

/* Returns the name of a runtime: "NUMA0", or its address if the user named it so. The caller frees
 * it. */
char *ath_session_group_name(const struct ath_session_group *group);

/* Returns a peer "unix:PID:UID" in words, another address as it is. The caller frees it. */
char *ath_session_peer_words(const struct ath_session_group *group, const char *peer);
