/*
 * Keeps the books of a program that has the GPUs in its own process (`aitherion run --local`): the
 * session's process loads no driver, and answers what the program asks (BooksQuestion in
 * proto/control.capnp).
 */
#pragma once
#include "remote/wire/frame.h"
#include "runtime/server.h"

/* Serves a program until it ends. devices: a bit for each device that it may use. Returns a
 * negative errno: -ENODATA if it closed the connection between two questions. */
int ath_local_session_serve(struct ath_socket socket, const struct ath_server *server,
                            uint64_t devices);
