/* Facts about the server, for all its sessions. Written when the server starts, and only read
 * after that. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "remote/tls/policy.h"
#include "remote/tls/tls.h"
#include "remote/wire/endpoint.h"
#include "remote/wire/secret.h"
#include "runtime/devices.h"
#include "runtime/fd_passing.h"
#include "runtime/identities.h"
#include "runtime/options.h"
#include "runtime/sandbox/sandbox.h"
#include "runtime/session_board.h"

/* Addresses for data alone: how many, and room for them with commas between. */
enum { ATH_DATA_ADDRESSES_MAX = ATH_RUNTIME_LIST_MAX, ATH_DATA_ADDRESSES_TEXT = 1024 };

struct ath_server {
    struct ath_secret secret; /* the only key; no bytes: there is a folder, or none is needed */
    const char *key_folder;   /* with a key for each identity (server_keys.h); NULL: none */
    enum ath_encrypt encrypt; /* the connections that must be encrypted */
    struct ath_tls_certificate certificate; /* for clients that want one; file NULL: none */
    struct ath_devices devices;
    const struct ath_identities *identities; /* NULL: none have limits */
    double vram_fraction; /* at its start; ath_memory_limits_fraction() has the current one */
    double host_fraction; /* of the host's memory, that a session may have */
    enum ath_gpu_sharing sharing; /* of the GPUs' time */
    bool only_counts;             /* limits of GPU memory are counted, and refuse nothing */
    uid_t owner;                  /* the user that runs the server */
    bool is_simulated;
    char node[16]; /* the id of the document's entry; empty without a document */
    char hostname[65], boot_id[40];
    char address[ATH_ENDPOINT_TEXT];              /* where it listens for TCP; "" before it does */
    char data_addresses[ATH_DATA_ADDRESSES_TEXT]; /* that clients get; "": none */
    uint64_t net_namespace;                       /* 0: unknown */
    uint64_t started_ms;                          /* ath_now_ms() */
    struct ath_session_board *board;
    struct ath_fd_passing *fd_passing;     /* NULL: none, in tests */
    const struct ath_sandbox *sandbox;     /* NULL: sessions are not locked in, in tests */
    char identity[ATH_KEY_NAME_BYTES];     /* of this process's session, once it is proven */
    struct ath_session_board_entry *entry; /* of that session, not owned; NULL before */
    int report_fd;     /* of a session's process, for session_report.h; -1 in tests */
    uint16_t udp_port; /* at which UDP is served at this address; 0: not at all */
    bool has_data_udp; /* UDP is served at the data addresses */
    int turns_fd;      /* a byte into it wakes the arbiter (turns/slot.h); -1: there is none */
    /* Limits in milliseconds: for the whole handshake, between two questions, and for taking an
     * answer. */
    int handshake_ms, idle_ms, answer_ms;
};

/* Fills in what the options, the machine and its devices say. The caller sets fd_passing, sandbox
 * and identities. Returns 0, or a negative errno with err. */
int ath_server_init(const struct ath_runtime_options *options, struct ath_server *server,
                    struct ath_err *err);
