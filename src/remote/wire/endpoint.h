/* The address of a server: TCP or a unix socket. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { ATH_ENDPOINT_TEXT = 280 }; /* room for the text of any endpoint */

struct ath_endpoint {
    bool is_unix;
    char host[256]; /* an address or a name; for a unix socket its path */
    char port[8];   /* decimal */
};

/* Reads "10.0.0.1:50051", "[fd00::1]:50051", "name:50051" or "unix:/run/socket". Returns 0, or
 * -EINVAL with err. */
int ath_endpoint_parse(const char *text, struct ath_endpoint *out, struct ath_err *err);

/* Makes an endpoint of a unix socket's path. Returns 0, or -EINVAL with err if the path is
 * longer than a socket's may be (107 bytes). */
int ath_endpoint_of_path(const char *path, struct ath_endpoint *out, struct ath_err *err);

/* Writes the form that ath_endpoint_parse() reads. Returns out. */
const char *ath_endpoint_format(const struct ath_endpoint *endpoint, char out[ATH_ENDPOINT_TEXT]);

/*
 * Connects until deadline_ms (of ath_now_ms()), to the first of a name's addresses that answers.
 * Returns 0 with *out_fd, or a negative errno with err "peer-unreachable".
 */
int ath_endpoint_connect(const struct ath_endpoint *endpoint, uint64_t deadline_ms, int *out_fd,
                         struct ath_err *err);

/*
 * Listens at this address only. A name is refused; port "0" is any free port. A stale socket file
 * is replaced; mode is that of the new one. Returns 0 with *out_fd (non-blocking), or a negative
 * errno with err.
 */
int ath_endpoint_listen(const struct ath_endpoint *endpoint, unsigned int mode, int *out_fd,
                        struct ath_err *err);

/* The text of an IP address and its port; "?" for any other address. Returns out. */
struct sockaddr;
const char *ath_endpoint_of_address(const struct sockaddr *address, unsigned int length,
                                    char out[ATH_ENDPOINT_TEXT]);

/* The address to which a socket is bound, or (is_peer) connected. For the peer of a unix socket
 * it is "unix:PID:UID". Returns out. */
const char *ath_endpoint_of_socket(int fd, bool is_peer, char out[ATH_ENDPOINT_TEXT]);
