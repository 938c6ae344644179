/*
 * The GPUs of the runtimes that a program is to have, in the order in which the program sees them,
 * and the bandwidths between them.
 */
#pragma once
#include <stdint.h>

#include "numa/machine.h"
#include "remote/session/figures.h"
#include "remote/session/health.h"

struct ath_server_gpu {
    size_t server;      /* index in the list of servers */
    size_t device;      /* the server's number */
    char *name;         /* "NVIDIA H100" */
    char *uuid;         /* NULL if unknown */
    struct ath_pci pci; /* if has_pci */
    bool has_pci;
    bool is_visible;  /* CUDA_VISIBLE_DEVICES does not hide it */
    bool is_idle;     /* no session uses it now, and it is not reserved */
    int health_score; /* 0 to 100; ATH_UNKNOWN */
};

/* Owns its members. A zeroed struct is empty. */
struct ath_server_gpus {
    struct ath_server_gpu *items;
    size_t count;
    size_t server_count;
    size_t forbidden_count; /* further GPUs, which the key may not use */
};

void ath_server_gpus_free(struct ath_server_gpus *gpus);

/* Adds the GPUs of the next server, with its figures of them, or NULL. The environment variable
 * CUDA_DEVICE_ORDER decides the order, as it does for the program. */
void ath_server_gpus_add(struct ath_server_gpus *gpus, const struct ath_runtime_health *health,
                         const struct ath_figures *figures);

/* Clears is_visible of the GPUs that the environment variable CUDA_VISIBLE_DEVICES hides. */
void ath_server_gpus_hide(struct ath_server_gpus *gpus);

/*
 * Asks the NVML of each server for the links between its GPUs. Logs a warning if a server does not
 * tell them.
 *
 * servers  the addresses, in the form of AITHERION_SERVER; other variables of the environment name
 *          the key, as for ath_client_open()
 *
 * Returns count x count bandwidths for ath_set_best(), with the unknown ones of set.h. The caller
 * frees them.
 */
int64_t *ath_server_gpus_matrix(const struct ath_server_gpus *gpus, const char *const *servers);

/* Returns the value of CUDA_VISIBLE_DEVICES for some of the GPUs: their UUIDs, or their numbers if
 * a UUID is not known or not unique. The caller frees it. */
char *ath_server_gpus_value(const struct ath_server_gpus *gpus, const size_t *chosen, size_t count);
