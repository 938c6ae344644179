/* The session of a proven program: transport, driver and calls. */
#pragma once
#include "runtime/server.h"

/* Serves the program at the socket until it is gone, then ends the process. With a driver and
 * threads that wait for the GPU no other end is quick. */
void ath_program_session_serve(struct ath_socket socket, const struct ath_server *server,
                               struct ath_session_board_entry *entry,
                               const struct ath_ticket *ticket) __attribute__((noreturn));
