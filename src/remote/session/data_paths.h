/*
 * The paths from this host to a server's addresses for data: to each address, from each link of
 * this host whose network has that address. Any thread.
 */
#pragma once
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "remote/wire/endpoint.h"

enum { ATH_DATA_PATHS_MAX = 8 };

struct ath_data_path {
    struct sockaddr_storage to, from; /* from: family AF_UNSPEC if the kernel chooses */
    socklen_t length;                 /* of both */
    char link[IF_NAMESIZE];           /* of from; empty if the kernel chooses */
    bool is_udp;                      /* by a channel of UDP (remote/udp/carrier.h) */
};

/*
 * Finds the paths to addresses, a list with commas as proto/control.capnp has it. Words that
 * are not addresses are left out, and so are loopback addresses unless is_near says that the server
 * may be on this host. Returns their number. Each address has its first path before any has its
 * second.
 */
size_t ath_data_paths_find(const char *addresses, bool is_near,
                           struct ath_data_path out[ATH_DATA_PATHS_MAX]);

/* Begins a TCP connection by a path. Returns a socket that does not block, or a negative errno. */
int ath_data_path_connect(const struct ath_data_path *path);

/* The same for datagrams: a socket that is bound as the path wants. */
int ath_data_path_bind(const struct ath_data_path *path);

/* Writes the address and the port that a path leads to, and returns out. */
const char *ath_data_path_text(const struct ath_data_path *path, char out[ATH_ENDPOINT_TEXT]);

/* Writes the address of this host that a path's connections have, without a port, and returns out;
 * empty if no link leads there. No packet is sent. */
const char *ath_data_path_source(const struct ath_data_path *path, char out[ATH_ENDPOINT_TEXT]);

/* Returns whether no packet from or to another host can have this address. */
bool ath_data_path_is_loopback(const struct sockaddr_storage *address);
