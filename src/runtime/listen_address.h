/* Default addresses for listening and asking, and the default key of both sides. */
#pragma once
#include "remote/wire/endpoint.h"
#include "remote/wire/secret.h"
#include "runtime/options.h"

/*
 * The address to listen on: --listen, or else the address of the interface in CONTROL_IFACE
 * (127.0.0.1 if the variable is not set) with the port in CAPNP_PORT (50051). An interface without
 * an address here is an error, because the user asked for that interface and no other.
 */
int ath_listen_address_find(const char *listen, struct ath_endpoint *out, struct ath_err *err);

/* The address of a link, with a port. what names the link's use in an error: "control". */
int ath_listen_address_of_link(const char *name, const char *port, const char *what,
                               struct ath_endpoint *out, struct ath_err *err);

/* The server to ask: --server, --socket, or else the address that serve would listen on. */
int ath_listen_address_to_ask(const struct ath_runtime_options *options, struct ath_endpoint *out,
                              struct ath_err *err);

/* The path of the key file: --key, else the default. */
const char *ath_listen_address_key_path(const struct ath_runtime_options *options);

/* The key: --key, or else the default file. No key with --no-auth. */
int ath_listen_address_key(const struct ath_runtime_options *options, struct ath_secret *out,
                           struct ath_err *err);
