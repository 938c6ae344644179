/*
 * Tries at the server's start whether the driver works in a session that is locked in.
 *
 * The driver is closed, and each version may need something new: driver 570 writes the names of
 * its threads below /proc/self/task and does not start without. A GPU that no program can use is
 * worse than a session that is locked in a little less, and an administrator has to know of it.
 */
#pragma once
#include "runtime/server.h"

/*
 * Starts the driver in a process that is locked in as sessions are, and takes memory of a GPU. If
 * that fails, leaves out parts of the sandbox until it works, and adds the problem "sandbox-driver"
 * for them. A driver that does not work without a sandbox either changes nothing. user is any of
 * the users for identities. The caller has one thread.
 */
void ath_sandbox_try(const struct ath_server *server, uid_t user, struct ath_sandbox *sandbox,
                     struct ath_devices *problems);
