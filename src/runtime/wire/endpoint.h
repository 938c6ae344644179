/* Where a server is: a TCP address or a unix socket. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { ATH_ENDPOINT_TEXT = 280 }; /* room for any as text */

struct ath_endpoint {
    bool is_unix;
    char host[256]; /* an address or a name; of a unix socket its path */
    char port[8];   /* decimal */
};

/* Reads "10.0.0.1:50051", "[fd00::1]:50051", "name:50051" or "unix:/run/socket". Returns 0, or
 * -EINVAL with err. */
int ath_endpoint_parse(const char *text, struct ath_endpoint *out, struct ath_err *err);

/* A unix socket's path as an endpoint. Returns 0, or -EINVAL with err (longer than a socket's path
 * may be: 107 bytes). */
int ath_endpoint_of_path(const char *path, struct ath_endpoint *out, struct ath_err *err);

/* The form that ath_endpoint_parse() reads; returns out. */
const char *ath_endpoint_format(const struct ath_endpoint *endpoint, char out[ATH_ENDPOINT_TEXT]);

/*
 * Connects until deadline_ms (of ath_now_ms()), to the first of a name's addresses that answers.
 * Returns 0 with *out_fd, or a negative errno with err "peer-unreachable".
 */
int ath_endpoint_connect(const struct ath_endpoint *endpoint, uint64_t deadline_ms, int *out_fd,
                         struct ath_err *err);

/*
 * Listens there and nowhere else; a name is not taken, port "0" is any free one. A socket file that
 * nobody listens on any more is replaced; mode is that of a new one. Returns 0 with *out_fd (not
 * blocking), or a negative errno with err.
 */
int ath_endpoint_listen(const struct ath_endpoint *endpoint, unsigned int mode, int *out_fd,
                        struct ath_err *err);

/* The address that a socket is bound to, or (is_peer) is connected with; "unix:PID" for the peer of
 * a unix socket. Returns out. */
const char *ath_endpoint_of_socket(int fd, bool is_peer, char out[ATH_ENDPOINT_TEXT]);
