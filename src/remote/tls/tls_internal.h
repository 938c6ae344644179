/* Shared by tls.c (makes an end), tls_handshake.c and tls_bytes.c (after the handshake). */
#pragma once
#include "remote/tls/gnutls.h"
#include "remote/tls/tls.h"

enum {
    ATH_TLS_READ_AHEAD = 64 * 1024,
    ATH_TLS_RECORD_BYTES = 16384, /* the most that a record carries (RFC 8446, 5.1) */
};

struct ath_tls {
    int fd;
    bool is_server;
    gnutls_session_t session;
    gnutls_psk_client_credentials_t client;        /* NULL at a server */
    gnutls_psk_server_credentials_t server;        /* NULL at a client */
    gnutls_certificate_credentials_t certificates; /* the server's, or a client's authorities */
    ath_tls_find_key *find;
    void *context;
    struct ath_tls_trust trust; /* of a client that wants a certificate */
    gnutls_typed_vdata_st checked[2];
    char identity[ATH_TLS_IDENTITY_BYTES];

    /* of the thread that receives */
    bool has_answer, is_frame, is_at_end;
    int pull_flags, pull_error;
    size_t begin, end; /* of the bytes that were read ahead */
    uint8_t ahead[ATH_TLS_READ_AHEAD];

    /* of the thread that sends */
    int push_flags, push_error;
    bool has_more; /* another record follows the next one at once */
    size_t unsent; /* bytes of a record that was made and did not go yet */
    uint8_t gathered[ATH_TLS_RECORD_BYTES];
};

/* GnuTLS receives and sends by these. They return -1 with errno on failure. */
ssize_t ath_tls_pull(gnutls_transport_ptr_t context, void *to, size_t length);
ssize_t ath_tls_push(gnutls_transport_ptr_t context, const giovec_t *parts, int count);
