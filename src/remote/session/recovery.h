/*
 * Makes channels again that a program has lost (remote/transport/channels.h): by the path that the
 * channel had, when retry.h says so, in a thread of its own that begins with the first loss. The
 * server takes the connection as it took the first one, under another number: that of the
 * channel and the number of the session's connections for each time.
 *
 * In the same way channels change from TCP to UDP by a path whose line loses segments on the way
 * to the server or from it (transport/line_loss.h), if the session may (may_change of the stripes).
 * They change back if no way by UDP is found, or if copies on that way are slower by it. Each path
 * changes once in a session.
 */
#pragma once
#include "remote/session/stripes.h"
#include "remote/transport/channels.h"

/* Watches the channels of a session until they are freed, and only if there are any (NULL: there
 * are none). Copies what it needs of the others. Returns 0 or -ENOMEM. */
int ath_recovery_begin(struct ath_channels *channels, const struct ath_stripes *stripes,
                       const struct ath_stripes_owner *owner);
