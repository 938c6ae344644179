/*
 * GPU memory that a process hands to another by a file descriptor.
 *
 * The driver's descriptor stays in the server's session that exported it. The program gets one end
 * of a pair of sockets that holds a token. The program may pass this end on by SCM_RIGHTS, let it
 * be inherited, or have it taken by pidfd_getfd(2), and every process that has it may look at the
 * token. An importing process sends the token to its own session, which gets the descriptor from
 * the exporting session. So it works for all clients of one server, over every transport. The other
 * end tells when the program's end is closed everywhere; only then does the server close the
 * driver's descriptor.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum {
    ATH_CUDA_TOKEN_MAX = 64 /* bytes: as many as a CUmemFabricHandle has, which is one itself */
};

struct ath_cuda_session;

/* The server's side: closes the descriptors that a session keeps, and no longer answers requests
 * for them. */
void ath_cuda_shares_end(struct ath_cuda_session *session);

/* The client's side: has the server close descriptors whose tickets no process of the program has
 * any more. */
void ath_cuda_shares_sweep(void);

/* Forgets everything: the link is gone. */
void ath_cuda_shares_clear(void);
