/* Where the server listens and is asked, as far as nobody says it; and which key both sides take.
 */
#pragma once
#include "runtime/server/options.h"
#include "runtime/wire/endpoint.h"
#include "runtime/wire/secret.h"

/*
 * The address to listen on: --listen, else that of the interface in CONTROL_IFACE (127.0.0.1 where
 * none is named) with the port in CAPNP_PORT (50051). An interface without an address here is an
 * error: listening elsewhere would not be what was asked for.
 */
int ath_place_listen(const char *listen, struct ath_endpoint *out, struct ath_err *err);

/* The server to ask: --server, --socket, else where one would listen. */
int ath_place_ask(const struct ath_runtime_options *options, struct ath_endpoint *out,
                  struct ath_err *err);

/* The key: --key, else the default file; none with --no-auth. */
int ath_place_key(const struct ath_runtime_options *options, struct ath_secret *out,
                  struct ath_err *err);
