/*
 * The helper that serves UDP: programs' further connections (joins.h) may come by it. It runs the
 * carriers (remote/udp/carrier.h) in a process of its own, which is locked in, and hands each
 * channel to the listening process as a connected socket with the address of its peer.
 */
#pragma once
#include "remote/udp/batch.h"
#include "runtime/helper.h"
#include "runtime/options.h"
#include "runtime/udp_counts.h"

/* The way that a channel came by. */
struct ath_channel_origin {
    struct ath_peer peer;
    bool is_data; /* it came by a data address */
};

/* In the listening process. {} serves no UDP; its descriptors mean nothing then. */
struct ath_datagrams {
    struct ath_helper helper;
    uint16_t port; /* 0: UDP is not served at the address of calls */
    bool is_data;  /* it is served at the data addresses, and there alone */
    size_t socket_count;
    int sockets[ATH_DATAGRAMS_SOCKETS_MAX];
    int channel_fd; /* the helper's end of the socket that channels go through */
    uid_t user;     /* of the helper; (uid_t)-1: none is left */
};

extern const struct ath_helper_kind ath_datagrams_kind;

/* Opens the sockets that the option --udp asks for: at the data addresses, where the listener
 * listens already, or else at the address of --listen. Returns 0, or a negative errno with err. */
int ath_datagrams_open(struct ath_listener *listener, const struct ath_runtime_options *options,
                       struct ath_err *err);

/* Closes what the listening process has opened, in another process. */
void ath_datagrams_close(struct ath_datagrams *datagrams);

/* Takes a channel that the helper has handed over. Returns its descriptor, or -1 if there is
 * none. */
int ath_datagrams_take(int fd, struct ath_channel_origin *out);
