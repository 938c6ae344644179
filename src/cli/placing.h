/*
 * Placing GPUs of a machine by a user's request: the chosen groups of GPUs, with their CPUs, memory
 * and network ports. `aitherion place` and the menus use it.
 */
#pragma once
#include "cli/cli.h"
#include "cli/output/place.h"

/* The wishes of the user. Owns nothing; texts may be NULL. */
struct ath_placing_request {
    size_t size, group_count; /* at least 1 each */
    size_t cpu_count;         /* for each group; 0: all CPUs of the GPUs' nodes */
    enum ath_place_policy policy;
    const char *near; /* a port: its link, RDMA device or PCI address */
    const char *free_gpus, *avoided;
    bool binds_memory;
};

/* Owns its arrays; ath_placing_free() frees them. A zeroed struct is empty. */
struct ath_placing {
    const struct ath_machine *machine;
    struct ath_placing_request request;
    int64_t *bandwidths;
    bool *is_free;
    const struct ath_nic *near;
    struct ath_idset allowed;
    bool is_limited; /* only the CPUs of `allowed` */
    struct ath_place_answer answer;
    struct ath_place_group *groups;
    size_t group_count;
};

void ath_placing_free(struct ath_placing *placing);

/* Reads which CPUs are threads of one core, if the machine does not have it yet. Returns 0, or a
 * negative errno with err. */
int ath_placing_read_cores(const struct ath_cli *cli, struct ath_machine *machine,
                           struct ath_err *err);

/*
 * Chooses. On this machine only CPUs that this process may use count. The machine, and the texts of
 * the request, must outlive *out, which the caller releases with ath_placing_free(), after a
 * failure too. Returns 0, or a negative errno with err.
 */
int ath_placing_make(const struct ath_machine *machine, const struct ath_placing_request *request,
                     struct ath_placing *out, struct ath_err *err);

/* Returns the answer for output. It points into the placing. */
struct ath_place_report ath_placing_report(const struct ath_placing *placing);
