/* The server's encryption: which connections, and its certificate. */
#pragma once
#include "runtime/options.h"
#include "runtime/server.h"

/* Takes the options of encryption, checks the certificate, and loads GnuTLS, once for all sessions'
 * processes. server must have its key. The texts stay the options'. Returns 0, or a negative errno
 * with err. */
int ath_server_encryption_choose(const struct ath_runtime_options *options,
                                 struct ath_server *server, struct ath_err *err);
