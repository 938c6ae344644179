/*
 * The transport of two processes on one host: two rings of bytes in memory that both have, and the
 * unix socket of the handshake, which says when the other side is gone and carries the descriptors
 * of shared memory.
 *
 * The rings are the server's to make, and pinned memory is the client's: both are sealed against
 * shrinking (memfd_create(2)), so that nobody can take pages away from under the server. A file
 * that the program shares with other programs, and has the GPU see, cannot be: who shortens it ends
 * the sessions that have it, by SIGBUS, and each is a process of its own. The server trusts nothing
 * that lies in any of them.
 */
#pragma once
#include "runtime/transport/stream.h"

/* The server's side makes the rings, and *out_memory (to be sent, then closed). fd is the stream's
 * from then on. Returns 0 or a negative errno. */
int ath_shm_make(int fd, int *out_memory, struct ath_stream **out_stream);

/* The client's side takes them. memory stays the caller's; fd is the stream's on success. Returns 0
 * or a negative errno: -EBADMSG where the memory is not what it should be. */
int ath_shm_take(int fd, int memory, struct ath_stream **out_stream);

/* Sends bytes with a descriptor (-1: none) over a unix socket; takes them. Return 0 or a negative
 * errno, -ENODATA where the peer ended the connection. *out_memory is -1 where none came. */
int ath_shm_send(int fd, const void *bytes, size_t length, int memory);
int ath_shm_receive(int fd, void *bytes, size_t length, int *out_memory);

/*
 * The server's side of ath_stream_ops.share: takes one request from the socket, which is readable,
 * and answers it. Returns 0, or a negative errno where the session is over (-ENODATA: the peer is
 * done).
 */
int ath_shm_serve_share(struct ath_stream *stream);

/* The address and size of memory that the client shared; NULL where there is none of this number.
 * Any thread. */
void *ath_shm_find(struct ath_stream *stream, uint64_t id, size_t *out_bytes);
