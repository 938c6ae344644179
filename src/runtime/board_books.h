/*
 * A session's books on the board (quota/books.h). A server that does not enforce limits takes
 * memory beyond them, too, and logs that once for each session.
 *
 * One session for the process.
 */
#pragma once
#include "runtime/quota/books.h"
#include "runtime/server.h"

/* The books of this process's session. server->entry is its entry. */
const struct ath_books *ath_board_books(const struct ath_server *server);
