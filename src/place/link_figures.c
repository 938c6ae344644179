/* The rows of the table, with the source of each. */
#include "config.h"

#include "place/link_figures.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/unknown.h"

#define MB INT64_C(1000000)

/* NVIDIA's white papers give both directions of all links; here is one direction of one. The device
 * ids of a chip lie in one block (pci.ids). */
static const struct {
    int first, last;
    int64_t bytes_per_s;
} nvlinks[] = {
    { 0x15f0, 0x15ff, 20000 * MB }, /* GP100: 160 GB/s by 4 links (Tesla P100, WP-08019) */
    { 0x1d80, 0x1dff, 25000 * MB }, /* GV100: 300 GB/s by 6 links (Tesla V100, WP-08608) */
    { 0x2080, 0x20ff, 25000 * MB }, /* GA100: 600 GB/s by 12 links (A100 architecture paper) */
    { 0x2230, 0x223f, 14062 * MB }, /* GA102: 112.5 GB/s by 4 links (GA102 architecture paper) */
    { 0x2300, 0x23ff, 25000 * MB }, /* GH100: 900 GB/s by 18 links (H100 architecture paper) */
    { 0x2900, 0x29ff, 50000 * MB }, /* GB100: 1,800 GB/s by 18 links (Blackwell brief) */
    { 0x3180, 0x31ff, 50000 * MB }, /* GB110 (B300, GB300): the same (HGX B300 data sheet) */
};

/* Between sockets, by the machines whose profile tells the processor. Each GPU of an AC922 has two
 * or three NVLinks to its processor (IBM Redpapers REDP-5472 and REDP-5494): more than the
 * X-Bus. */
static const struct {
    const char *profile;
    int64_t bytes_per_s;
} sockets[] = {
    /* X-Bus of POWER9: NCCL's src/graph/topo.h, P9_BW; half of the 64 GB/s of REDP-5472 */
    { "ac922", 32000 * MB },
};

/* A step of NCCL's ring with the protocol LL (NCCL 2.22, src/graph/tuning.cc, hwLat). NCCL knows
 * one latency for all ways over PCIe, sockets included. */
static const int64_t latencies_ns[ATH_WAY_COUNT] = {
    [ATH_WAY_NVLINK] = 600,
    [ATH_WAY_PCI] = 1000,
};

int64_t ath_link_nvlink_bytes_per_s(int device_id)
{
    for (size_t i = 0; i < ATH_COUNT(nvlinks); i++)
        if (device_id >= nvlinks[i].first && device_id <= nvlinks[i].last)
            return nvlinks[i].bytes_per_s;
    return ATH_UNKNOWN;
}

int64_t ath_link_socket_bytes_per_s(const char *profile)
{
    for (size_t i = 0; profile && i < ATH_COUNT(sockets); i++)
        if (!strcmp(profile, sockets[i].profile))
            return sockets[i].bytes_per_s;
    return ATH_UNKNOWN;
}

int64_t ath_link_latency_ns(enum ath_link_way way)
{
    return latencies_ns[way];
}
