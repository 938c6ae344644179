/*
 * A look at the first message of a connection, without taking it from the socket, except a join.
 * The listening process looks before it forks, so that silence, other protocols and joins cost no
 * process. It uses no part of a message except the fields of a join.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "runtime/fd_passing.h"

enum ath_first_message_kind {
    ATH_FIRST_MESSAGE_INCOMPLETE, /* more bytes must come */
    ATH_FIRST_MESSAGE_GONE,       /* the peer ended the connection first */
    ATH_FIRST_MESSAGE_WRONG,      /* no first message of any version */
    ATH_FIRST_MESSAGE_HELLO,      /* or the first record of TLS */
    ATH_FIRST_MESSAGE_JOIN,
};

struct ath_first_message {
    enum ath_first_message_kind kind;
    uint64_t session; /* of a join, as joining is */
    struct ath_joining joining;
};

/* Looks at what has come. After INCOMPLETE, poll(2) reports a TCP socket again when the whole
 * message is there; after HELLO and JOIN it reports every byte again. */
struct ath_first_message ath_first_message_look(int fd);

/* The same for other sockets, where any byte counts as HELLO. */
struct ath_first_message ath_first_message_any(int fd);
