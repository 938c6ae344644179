/*
 * The size of datagrams that the path carries (RFC 8899). A channel begins with
 * ATH_DATAGRAM_BYTES_MIN and tries the sizes of common networks upwards with datagrams that carry
 * only padding, so no data is lost with them. If a size stops to work, it falls back.
 *
 * Pure functions; times are nanoseconds.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ath_path_mtu {
    size_t size;      /* of datagrams that came through */
    size_t most;      /* that the first hop carries */
    size_t trying;    /* size of the probe on its way; 0: none */
    uint64_t number;  /* of that probe */
    int losses;       /* of probes of the next size, one behind the other */
    int large_losses; /* of other datagrams above the least size, since one came */
    int64_t again_ns; /* before it, no probe */
};

void ath_path_mtu_begin(struct ath_path_mtu *path, size_t most);

/* Returns the size of the probe that is due, or 0. */
size_t ath_path_mtu_due(const struct ath_path_mtu *path, int64_t now_ns);

void ath_path_mtu_sent(struct ath_path_mtu *path, size_t size, uint64_t number);

/* A datagram with this number and size came, or is lost. Returns whether it was the probe. If many
 * datagrams that are larger than the least size are lost and none comes, the path has become
 * narrower. */
bool ath_path_mtu_came(struct ath_path_mtu *path, uint64_t number, size_t size);
bool ath_path_mtu_lost(struct ath_path_mtu *path, uint64_t number, size_t size, int64_t now_ns);

/* The channel has no answers any more: the path may have changed. */
void ath_path_mtu_silent(struct ath_path_mtu *path, int64_t now_ns);
