/* What all sessions of a server share: made when it starts, and only read after that. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "runtime/server/board.h"
#include "runtime/server/devices.h"
#include "runtime/server/doors.h"
#include "runtime/wire/secret.h"

struct ath_server {
    struct ath_secret secret; /* no bytes: sessions need no key */
    struct ath_devices devices;
    double vram_fraction;
    bool is_simulated;
    char node[16]; /* the id of the document's entry; empty by hand */
    char hostname[65], boot_id[40];
    uint64_t net_namespace; /* 0: unknown */
    uint64_t started_ms;    /* ath_now_ms() */
    struct ath_board *board;
    struct ath_doors *doors; /* NULL: there are none, as in tests */
    int order_fd;            /* a session's id written here ends that session; -1: not in tests */
    /* How long a peer may take: for the whole handshake, between two questions, to take an answer.
     */
    int handshake_ms, idle_ms, answer_ms;
};
