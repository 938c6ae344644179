/*
 * The transport between two processes of one host: two rings of bytes in shared memory, and the
 * unix socket of the handshake, which reports the peer's end and carries the descriptors of shared
 * memory.
 *
 * The server makes the rings, and the client makes pinned memory. Both are sealed against shrinking
 * (memfd_create(2)), so no process can take pages away from the server. A file that the program
 * shares with other programs and registers for the GPU cannot be sealed. A process that shortens
 * such a file ends the sessions that map it, by SIGBUS; each session is a process of its own. The
 * server trusts no content of any of these.
 */
#pragma once
#include "remote/transport/stream.h"

/* Makes the server's side with its rings. *out_memory is sent to the client and then closed by
 * the caller. The stream owns fd from then on. Returns 0 or a negative errno. */
int ath_shm_make(int fd, int *out_memory, struct ath_stream **out_stream);

/* Makes the client's side from the server's memory, which stays the caller's. The stream owns fd
 * on success. Returns 0 or a negative errno: -EBADMSG if the memory is not as it should be. */
int ath_shm_take(int fd, int memory, struct ath_stream **out_stream);

/* Send bytes with a descriptor (-1: none) over a unix socket, and receive them. Return 0 or a
 * negative errno; -ENODATA if the peer ended the connection. *out_memory is -1 if no descriptor
 * came. */
int ath_shm_send(int fd, const void *bytes, size_t length, int memory);
int ath_shm_receive(int fd, void *bytes, size_t length, int *out_memory);

/*
 * The server's side of ath_stream_ops.share: takes one request from the readable socket and answers
 * it. Returns 0, or a negative errno if the session is over (-ENODATA: the peer is done).
 */
int ath_shm_serve_share(struct ath_stream *stream);

/* The address and size of memory that the client shared; NULL if no memory has this number. Any
 * thread. */
void *ath_shm_find(struct ath_stream *stream, uint64_t id, size_t *out_bytes);
