/* What the checks use, and the checks themselves, in one list for the table. Private to health. */
#pragma once
#include "health/health.h"
#include "roce/macvlan.h"

/* Adds a finding of the running check: what is wrong (the row's severity), and why. object may be
 * NULL. The texts are translated already. Returns it for ath_health_hint(). */
struct ath_health_finding *ath_health_wrong(struct ath_health *health, const char *object,
                                            const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for what could not be told, and for what is worth a warning only. */
struct ath_health_finding *ath_health_unsure(struct ath_health *health, const char *object,
                                             const char *format, ...)
    __attribute__((format(printf, 3, 4)));
struct ath_health_finding *ath_health_warn(struct ath_health *health, const char *object,
                                           const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The mend. */
void ath_health_hint(struct ath_health_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A link that the document names, and what for. */
enum ath_health_use { ATH_USE_CONTROL, ATH_USE_DATA, ATH_USE_PARENT, ATH_USE_COUNT };

struct ath_health_named_link {
    enum ath_health_use use;
    const char *name;
    const struct ath_document_numa *entry;      /* of control and data; else NULL */
    const struct ath_document_macvlan *macvlan; /* of a parent; else NULL */
    struct ath_health_link link;
};

/* Looks at one of them. False where it could not be looked at, which another check tells. */
typedef bool ath_health_look_link(struct ath_health *health,
                                  const struct ath_health_named_link *named);

/* Looks at all of them, or at those of one use (ATH_USE_COUNT: all). True where there are some, and
 * all of them could be looked at. */
bool ath_health_each_link(struct ath_health *health, enum ath_health_use use,
                          ath_health_look_link *look);

/* "the data interface of NUMA0", "the parent of macvlan 'macvlan0'"; the caller frees it. */
char *ath_health_use_text(const struct ath_health_named_link *named);

/* True where an entry of the document is given the RDMA device. */
bool ath_health_is_bound(const struct ath_health_facts *facts, const char *device);

/* One function a check, as in the table. */
#define ATH_HEALTH_FUNCTIONS(F)                                                                    \
    F(document)                                                                                    \
    F(document_faults)                                                                             \
    F(from_fault)                                                                                  \
    F(from_warning)                                                                                \
    F(gpu_memory)                                                                                  \
    F(node_offline)                                                                                \
    F(interface_missing)                                                                           \
    F(interface_down)                                                                              \
    F(interface_address)                                                                           \
    F(address_duplicate)                                                                           \
    F(parent_infiniband)                                                                           \
    F(parent_mtu)                                                                                  \
    F(rdma_missing)                                                                                \
    F(rdma_port_down)                                                                              \
    F(rdma_gid)                                                                                    \
    F(rdma_ready)                                                                                  \
    F(rdma_netns)                                                                                  \
    F(memlock)                                                                                     \
    F(macvlan_recorded)                                                                            \
    F(macvlan_gone)                                                                                \
    F(macvlan_impossible)                                                                          \
    F(macvlan_drift)                                                                               \
    F(macvlan_unrecorded)                                                                          \
    F(from_plan)                                                                                   \
    F(from_plan_warning)                                                                           \
    F(engine)                                                                                      \
    F(key_open)                                                                                    \
    F(key)                                                                                         \
    F(image)                                                                                       \
    F(runtime_absent)                                                                              \
    F(runtime_failed)                                                                              \
    F(network_lost)                                                                                \
    F(runtime_silent)                                                                              \
    F(key_refused)                                                                                 \
    F(runtime_problem)                                                                             \
    F(runtime_mems)                                                                                \
    F(runtime_cpus)                                                                                \
    F(runtime_memlock)                                                                             \
    F(runtime_drift)                                                                               \
    F(runtime_unrecorded)

#define F(name) bool ath_health_check_##name(struct ath_health *health);
ATH_HEALTH_FUNCTIONS(F)
#undef F
