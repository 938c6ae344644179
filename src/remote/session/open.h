/*
 * Opens a session with the server that the environment names.
 *
 *     AITHERION_SERVER           HOST:PORT, unix:PATH or a path; several with commas between
 *     AITHERION_KEY_FILE         the shared key; empty: none. If it is not set: the user's own key,
 *                                or else the machine's
 *     AITHERION_KEY_NAME         the key's name, if it is not the file's; the file in a folder
 *     AITHERION_TRANSPORT        auto, shm, tcp or udp
 *     AITHERION_ENCRYPT          auto, on or off (remote/tls/policy.h)
 *     AITHERION_TLS_CA           file of certificates of authorities, one of which must have signed
 *                                the server's certificate (remote/tls/policy.h)
 *     AITHERION_CONNECT_TIMEOUT  seconds to wait for the server (10)
 *     AITHERION_MEMORY           the most GPU memory of the program: 4G or 25% of each GPU's
 *     HCS_VRAM_QUOTA             the same in bytes, if AITHERION_MEMORY is not set
 *     AITHERION_SHARE            the share of the GPUs' time that each process of the program asks
 *                                for: 25, or "25,cap" for no more than that
 *     AITHERION_PRIORITY         high, normal or low: who goes first when several want a GPU
 *     AITHERION_SM_SHARE         the part of each GPU's multiprocessors that each process of the
 *                                program gets: 25 percent
 *     AITHERION_LOG_LEVEL        error, warning, info or debug: the messages on standard error
 *                                (base/log.h). info: server and transport. debug: also calls that
 *                                fail, and why calls are refused
 *     AITHERION_LOG              its older name
 *     AITHERION_CUDA_LOG         messages about calls alone: errors (calls that fail) or summary
 *                                (cuda/client/call_summary.h). With any value: why calls are
 * refused AITHERION_DISABLE          1: there is no GPU; or optimisations to switch off
 *                                (remote/switches.h)
 *     AITHERION_RECORD           cuda/client/recording.h
 *
 * This code runs in foreign programs, so an error is printed once, as one line on standard error.
 */
#pragma once
#include "base/memory_limit.h"
#include "base/time_claim.h"
#include "remote/session/servers.h"
#include "remote/session/session.h"

/* Reads the servers that AITHERION_SERVER names. Returns 0, or a negative errno with err:
 * -ENODEV if the variable is not set or AITHERION_DISABLE is 1, or the errors of
 * ath_servers_read(). */
int ath_client_servers(struct ath_servers *out, struct ath_err *err);

/* The same of the runtime that AITHERION_LOCAL names: the program has the GPUs in its own
 * process. */
int ath_client_local_server(struct ath_servers *out, struct ath_err *err);

/*
 * Opens a session with a server, and tries again while no server answers. server has the form of
 * struct ath_servers; NULL means the one in AITHERION_SERVER. For first see ath_session_open().
 * Returns 0, or a negative errno with err, as ath_client_servers() or ath_session_open() do.
 */
int ath_client_open(const char *server, const struct ath_session_first *first,
                    struct ath_session *out, struct ath_err *err);

/* Tells why a program's session has ended, if the server now refuses the key, which may have been
 * removed. Takes at most a second. server: as for ath_client_open(). */
void ath_client_explain_loss(const char *server);

/* Returns whether a server takes a session within two seconds. server: as for ath_client_open(). */
bool ath_client_answers(const char *server);

/* Reads AITHERION_CONNECT_TIMEOUT. Returns 0, or -EINVAL with err "usage". */
int ath_client_timeout(uint64_t *out_ms, struct ath_err *err);

/* Reads AITHERION_MEMORY or HCS_VRAM_QUOTA. *out is no limit if neither is set. Returns 0, or
 * -EINVAL "usage" with err. */
int ath_client_memory_limit(struct ath_memory_limit *out, struct ath_err *err);

/* Reads AITHERION_SHARE, AITHERION_PRIORITY and AITHERION_SM_SHARE. *out is no claim if none is
 * set. Returns 0, or -EINVAL "usage" with err. */
int ath_client_time_claim(struct ath_time_claim *out, struct ath_err *err);

/* Reads AITHERION_ENCRYPT and AITHERION_TLS_CA. Returns 0, or -EINVAL with err. */
int ath_client_encryption(struct ath_encryption *out, struct ath_err *err);

/* Prints an error on standard error. */
void ath_client_complain(const struct ath_err *err);

/* The value of a variable; NULL if it is not set or empty. */
const char *ath_client_variable(const char *name);

/* Returns whether messages say why a call is refused: at level debug, or with
 * AITHERION_CUDA_LOG. */
bool ath_client_logs_calls(void);

/* Returns whether AITHERION_DISABLE says that there is no GPU. */
bool ath_client_is_disabled(void);
