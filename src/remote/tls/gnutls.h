/* GnuTLS's functions, loaded late. For this folder only. */
#pragma once
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

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
    F(gnutls_free)                                                                                 \
    F(gnutls_prf_rfc5705)                                                                          \
    F(gnutls_certificate_allocate_credentials)                                                     \
    F(gnutls_certificate_free_credentials)                                                         \
    F(gnutls_certificate_set_x509_key_mem2)                                                        \
    F(gnutls_certificate_set_x509_trust_mem)                                                       \
    F(gnutls_credentials_clear)                                                                    \
    F(gnutls_session_set_verify_cert2)                                                             \
    F(gnutls_session_get_verify_cert_status)                                                       \
    F(gnutls_x509_crt_list_import2)                                                                \
    F(gnutls_x509_crt_deinit)                                                                      \
    F(gnutls_x509_crt_get_activation_time)                                                         \
    F(gnutls_x509_crt_get_expiration_time)

struct ath_gnutls {
    ATH_GNUTLS_FUNCTIONS(ATH_LATE_MEMBER)
};

/* Filled by ath_tls_load(). */
extern struct ath_gnutls ath_gnutls;
