/* GnuTLS's functions, loaded late. For this folder only. */
#pragma once
#include <gnutls/gnutls.h>

#include "base/late.h"

#define ATH_GNUTLS_FUNCTIONS(F)                                                                    \
    F(gnutls_init)                                                                                 \
    F(gnutls_deinit)                                                                               \
    F(gnutls_priority_set_direct)                                                                  \
    F(gnutls_credentials_set)                                                                      \
    F(gnutls_handshake)                                                                            \
    F(gnutls_handshake_set_max_packet_length)                                                      \
    F(gnutls_record_get_direction)                                                                 \
    F(gnutls_record_send)                                                                          \
    F(gnutls_record_recv)                                                                          \
    F(gnutls_record_check_pending)                                                                 \
    F(gnutls_error_is_fatal)                                                                       \
    F(gnutls_strerror)                                                                             \
    F(gnutls_alert_get)                                                                            \
    F(gnutls_alert_send_appropriate)                                                               \
    F(gnutls_transport_set_ptr)                                                                    \
    F(gnutls_transport_set_pull_function)                                                          \
    F(gnutls_transport_set_vec_push_function)                                                      \
    F(gnutls_session_set_ptr)                                                                      \
    F(gnutls_session_get_ptr)                                                                      \
    F(gnutls_psk_allocate_client_credentials)                                                      \
    F(gnutls_psk_free_client_credentials)                                                          \
    F(gnutls_psk_set_client_credentials)                                                           \
    F(gnutls_psk_allocate_server_credentials)                                                      \
    F(gnutls_psk_free_server_credentials)                                                          \
    F(gnutls_psk_set_server_credentials_function)                                                  \
    F(gnutls_prf_rfc5705)

struct ath_gnutls {
    ATH_GNUTLS_FUNCTIONS(ATH_LATE_MEMBER)
};

/* Filled by ath_tls_load(). */
extern struct ath_gnutls ath_gnutls;
