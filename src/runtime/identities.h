/*
 * The limits and roles of identities: the rows that `aitherion start` writes from the document.
 *
 *     alice memory_bytes=4294967296 sessions=2 gpus=0004:04:00.0,0004:05:00.0
 *     team-a memory_percent=50
 *     team-b share=25 cap priority=normal
 *     team-c sm_share=50
 *     operator admin
 *
 * A row is a name and its words, with blanks between; lines that begin with # and empty lines are
 * ignored. An identity without a row has no limits of its own and is no administrator.
 *
 * The listening process reads the file when it starts and when the file changes. A session's
 * process has the rows of the time when its client connected.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/key_name.h"
#include "base/pci.h"
#include "base/time_claim.h"
#include "base/unknown.h"

enum { ATH_IDENTITIES_MAX = 256, ATH_IDENTITY_GPUS_MAX = 64 };

struct ath_identity {
    char name[ATH_KEY_NAME_BYTES];
    bool is_admin;         /* may list, limit and end sessions of others */
    int64_t memory_bytes;  /* of each GPU, for all its sessions together; ATH_UNKNOWN: no limit */
    double memory_percent; /* the same as a part of each GPU's memory; 0: no limit */
    struct ath_time_claim time; /* the most of the GPUs' time for all its sessions together, and
                                 * their highest priority: unset is any; a row with a share and
                                 * without a priority has normal */
    int sessions;               /* of programs at a time; ATH_UNKNOWN: no limit */
    bool has_gpus;              /* only these GPUs, otherwise all */
    struct ath_pci gpus[ATH_IDENTITY_GPUS_MAX];
    size_t gpu_count;
};

struct ath_identities {
    struct ath_identity items[ATH_IDENTITIES_MAX];
    size_t count;
};

/* Reads rows. Returns 0, or -EINVAL with err and *out untouched. */
int ath_identities_parse(const char *text, struct ath_identities *out, struct ath_err *err);

/* Reads a file of rows; a missing file has none. Returns 0, or a negative errno with err and *out
 * untouched. */
int ath_identities_load(const char *path, struct ath_identities *out, struct ath_err *err);

/* Returns the row of an identity; NULL if it has none. */
const struct ath_identity *ath_identities_find(const struct ath_identities *identities,
                                               const char *name);

/* The bytes of a GPU with so much memory (ATH_UNKNOWN: unknown) that all sessions of the identity
 * together may have. identity may be NULL. Returns ATH_UNKNOWN for no limit. */
int64_t ath_identity_limit_bytes(const struct ath_identity *identity, int64_t total_bytes);

/* Returns whether the identity may use the GPU with a PCI address as text (empty: a simulated GPU,
 * which everybody may use). identity may be NULL. */
bool ath_identity_has_gpu(const struct ath_identity *identity, const char *pci);
