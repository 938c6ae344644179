/* A program's session, once the client is proven: its transport, its driver, its calls. */
#pragma once
#include "runtime/server/server.h"

/* Serves the program at fd until it is gone, and ends the process then: with threads that wait for
 * the GPU, and a driver, there is no other way that is quick. */
void ath_channel_serve(int fd, const struct ath_server *server, struct ath_board_entry *entry,
                       const struct ath_ticket *ticket) __attribute__((noreturn));
