/*
 * Brings words about turns from a program with the GPUs in its own process to the board, and back
 * (turns/private_page.h). Two threads of the session's process do it, each woken by the other side:
 * a turn comes some 20 us later than to a program at the server.
 */
#pragma once
#include "runtime/server.h"

struct ath_local_turns {
    int memory;            /* of the page */
    int read_fd, write_fd; /* of the pipe by which the program tells that its wish has changed. It
                            * gets both ends, so that writing never meets a pipe without readers */
};

/* Makes the page and starts the threads. devices: a bit for each device that the session may use.
 * Returns 0 or a negative errno; the caller closes the descriptors once the program has them. */
int ath_local_turns_begin(const struct ath_server *server, struct ath_session_board_entry *entry,
                          uint64_t devices, struct ath_local_turns *out);
