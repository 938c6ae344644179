/*
 * GPU memory that is handed from one process to another by a file descriptor.
 *
 * The driver's descriptor stays in the server's session that exported it. The program gets one end
 * of a pair of sockets in which a token lies: it may be passed on by SCM_RIGHTS, inherited, or
 * taken by pidfd_getfd(2), and every process that has it may look at the token. Who imports sends
 * the token to its own session, which gets the descriptor from the other one, so it works for all
 * clients of one server, over every transport. The other end tells when the program's is closed
 * everywhere: only then does the server close the driver's.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum {
    ATH_CUDA_TOKEN_MAX = 64 /* bytes: as many as a CUmemFabricHandle has, which is one itself */
};

struct ath_cuda_session;

/* The server's side: closes what a session keeps, and is reached no more. */
void ath_cuda_shares_end(struct ath_cuda_session *session);

/* The client's: has the server close what no process of the program's has any more. */
void ath_cuda_shares_sweep(void);

/* Forgets everything: the link is gone. */
void ath_cuda_shares_clear(void);
