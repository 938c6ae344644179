/* Shared by shm.c (the stream) and shm_share.c (memory that both processes map). */
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "remote/transport/ring.h"
#include "remote/transport/stream.h"

/* The first address to try for shared memory: far from the heap, the libraries and CUDA's
 * reservations, and below the end of every 64-bit Linux process. */
#define ATH_SHM_ADDRESS_FIRST UINT64_C(0x100000000000)

/* Memory that both processes map. */
struct ath_shm_piece {
    struct ath_shm_piece *next;
    uint64_t id;
    void *address;
    size_t bytes;
};

struct ath_shm {
    struct ath_stream stream;
    int fd;
    atomic_bool is_over;
    struct ath_ring in, out;
    struct ath_ring_shared *shared; /* of both rings */
    pthread_mutex_t lock; /* for the shares, and for the client's use of the socket for them */
    struct ath_shm_piece *shares;
    size_t share_count;
    uint64_t last_id, next_address;
};

/* Makes sealed memory. Returns 0 with a descriptor, or a negative errno. */
int ath_shm_make_memory(const char *name, size_t bytes, int *out_fd);

/* Returns whether the memory is sealed against shrinking and has this many bytes. */
bool ath_shm_is_sealed(int memory, size_t bytes);

/* The functions of ath_stream_ops for shared memory. */
int ath_shm_share(struct ath_stream *stream, size_t bytes, void *wanted, void **out_address,
                  uint64_t *out_id);
int ath_shm_share_file(struct ath_stream *stream, int fd, uint64_t offset, size_t bytes,
                       const void *wanted, uint64_t *out_id);
void ath_shm_unshare(struct ath_stream *stream, uint64_t id);

/* Unmaps all shared memory of a stream that is closed. */
void ath_shm_end_shares(struct ath_shm *shm);
