/* Many datagrams with one system call: the kernel cuts one large datagram into equal ones on its
 * way out (UDP_SEGMENT, Linux 4.18) and joins those that come in (UDP_GRO, Linux 5.0). */
#pragma once
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "remote/udp/datagram.h"

enum {
    ATH_BATCH_MESSAGES = 16,
    ATH_BATCH_SEGMENTS = 64, /* the kernel's limit for one message */
    ATH_BATCH_BYTES = 65000
};

/* The address of a peer. */
struct ath_peer {
    struct sockaddr_storage address;
    socklen_t length;
};

bool ath_peer_is(const struct ath_peer *peer, const struct ath_peer *other);

/* Datagrams to send. {} is empty, with the kernel's help. */
struct ath_outgoing {
    bool cuts_nothing; /* the kernel or the network card does not cut */
    size_t count;      /* messages */
    struct {
        struct ath_peer to;
        size_t segments, segment_bytes, bytes;
        bool is_full;
        uint8_t heads[ATH_BATCH_SEGMENTS][ATH_DATAGRAM_HEAD_BYTES];
        struct iovec parts[2 * ATH_BATCH_SEGMENTS];
    } messages[ATH_BATCH_MESSAGES];
};

/* Adds a datagram. Its payload must stay until the batch is sent. Returns false if the batch is
 * full: send it and add the datagram again. */
bool ath_outgoing_add(struct ath_outgoing *batch, const struct ath_peer *to,
                      const struct ath_datagram *datagram);

/* Sends all and empties the batch. Datagrams that the system refuses count as lost on the way. */
void ath_outgoing_send(struct ath_outgoing *batch, int fd);

/* Room for datagrams that come. */
struct ath_incoming;
struct ath_incoming *ath_incoming_make(void); /* NULL if memory runs out */
void ath_incoming_free(struct ath_incoming *incoming);

/* Takes the datagrams that are there. Returns whether there may be more. */
bool ath_incoming_take(struct ath_incoming *incoming, int fd,
                       void (*take)(void *context, const struct ath_peer *from,
                                    const uint8_t *bytes, size_t length),
                       void *context);

/* Sets a datagram socket's options: no fragments, joined datagrams, room. */
void ath_batch_tune(int fd);
