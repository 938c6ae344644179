/* Bandwidths and latencies of links that no driver says. A row each, with its source. */
#pragma once
#include <stdint.h>

enum ath_link_way { ATH_WAY_NVLINK, ATH_WAY_PCI, ATH_WAY_COUNT };

/* Bytes per second of one NVLink in one direction, by the GPU's device id; ATH_UNKNOWN if the table
 * lacks the GPU. */
int64_t ath_link_nvlink_bytes_per_s(int device_id);

/* Bytes per second between two sockets in one direction, by the machine's profile; ATH_UNKNOWN for
 * most. */
int64_t ath_link_socket_bytes_per_s(const char *profile);

/* Nanoseconds of a small message from GPU to GPU. */
int64_t ath_link_latency_ns(enum ath_link_way way);
