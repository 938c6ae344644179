/*
 * Xids: the errors of a GPU that NVIDIA's driver writes to the kernel log.
 *
 *     NVRM: Xid (PCI:0000:17:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/pci.h"
#include "gpu/health.h"

enum ath_xid_kind {
    ATH_XID_UNLISTED,
    ATH_XID_APPLICATION, /* a program's own fault, or a consequence of another error */
    ATH_XID_MEMORY,      /* an error that the GPU contained or repaired */
    ATH_XID_FATAL,       /* the GPU needs a reset, a restart of the machine or a repair */
};

enum ath_xid_kind ath_xid_kind(int64_t number);

/* Returns what NVIDIA's catalogue calls the error, translated; "?" if it is not in the table. */
const char *ath_xid_meaning(int64_t number);

/* A line of the kernel log that tells an Xid. */
struct ath_xid_line {
    struct ath_pci pci; /* function 0: the log leaves it out */
    int number;
};

/*
 * Reads a line in the form of /dev/kmsg ("3,1234,56789,-;MESSAGE") or of dmesg ("[   12.345678]
 * MESSAGE"). *out_time_us is the line's time since the machine started, or ATH_UNKNOWN. Returns
 * true if the kernel itself tells an Xid in it, which *out then has.
 */
bool ath_xid_parse(const char *line, struct ath_xid_line *out, int64_t *out_time_us);

/* Counts an Xid; the newest one must come last. Unknown counts become 0 first. */
void ath_xid_count(struct ath_gpu_facts *facts, int64_t number);

/* Says that the log was read: counts that are unknown become 0. */
void ath_xid_none(struct ath_gpu_facts *facts);
