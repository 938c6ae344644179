/*
 * libibverbs, loaded on first use, and opening a device. Private to roce.
 *
 * The data path (ibv_post_send, ibv_post_recv, ibv_poll_cq) is inline in the library's header and
 * calls the device's functions through its context, so only the other functions are in the table.
 * Some names are macros around inline functions that would have to be linked. Such functions are
 * called in parentheses, (verbs->ibv_query_port)(...), which bypasses the macros.
 */
#pragma once
#include <infiniband/verbs.h>

#include "base/err.h"
#include "base/late.h"

#define ATH_VERBS_FUNCTIONS(F)                                                                     \
    F(ibv_get_device_list)                                                                         \
    F(ibv_free_device_list)                                                                        \
    F(ibv_get_device_name)                                                                         \
    F(ibv_open_device)                                                                             \
    F(ibv_close_device)                                                                            \
    F(ibv_query_device)                                                                            \
    F(ibv_query_port)                                                                              \
    F(ibv_alloc_pd)                                                                                \
    F(ibv_dealloc_pd)                                                                              \
    F(ibv_reg_mr)                                                                                  \
    F(ibv_dereg_mr)                                                                                \
    F(ibv_create_cq)                                                                               \
    F(ibv_destroy_cq)                                                                              \
    F(ibv_create_qp)                                                                               \
    F(ibv_modify_qp)                                                                               \
    F(ibv_destroy_qp)                                                                              \
    F(ibv_wc_status_str)

struct ath_verbs {
    ATH_VERBS_FUNCTIONS(ATH_LATE_MEMBER)
};

/* Returns the library, which the first call loads; that call is not thread-safe. Returns NULL with
 * err "library-missing" on failure. */
const struct ath_verbs *ath_verbs_load(struct ath_err *err);

/*
 * Opens a device by name. The caller closes *out with ibv_close_device. Returns 0, or a negative
 * errno with err: "not-found", "no-access".
 */
int ath_verbs_open(const struct ath_verbs *verbs, const char *name, struct ibv_context **out,
                   struct ath_err *err);

/* Reads the attributes of a port. Returns 0, or a negative errno with err. */
int ath_verbs_query_port(const struct ath_verbs *verbs, struct ibv_context *context, int port,
                         struct ibv_port_attr *out, struct ath_err *err);
