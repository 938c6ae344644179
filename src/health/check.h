/* Helpers for the checks, and the check functions in one list for the table. Private to health. */
#pragma once
#include "health/health.h"
#include "roce/macvlan.h"

/* Adds a finding with the severity of the running check's row: object, which may be NULL, and what
 * is wrong with it. The texts are already translated. Returns the finding for ath_health_hint(). */
struct ath_health_finding *ath_health_wrong(struct ath_health *health, const char *object,
                                            const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with the status "unknown" (a check could not look), and with the status "warning". */
struct ath_health_finding *ath_health_unsure(struct ath_health *health, const char *object,
                                             const char *format, ...)
    __attribute__((format(printf, 3, 4)));
struct ath_health_finding *ath_health_warn(struct ath_health *health, const char *object,
                                           const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with the status "ok": a fact that `health -v` shows. */
struct ath_health_finding *ath_health_fine(struct ath_health *health, const char *object,
                                           const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets the hint: the command that fixes the finding. */
void ath_health_hint(struct ath_health_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A link that the document names, and its purpose. */
enum ath_health_use { ATH_USE_CONTROL, ATH_USE_DATA, ATH_USE_PARENT, ATH_USE_COUNT };

struct ath_health_named_link {
    enum ath_health_use use;
    const char *name;
    const struct ath_document_numa *entry;      /* of control and data interfaces; else NULL */
    const struct ath_document_macvlan *macvlan; /* of a parent; else NULL */
    struct ath_health_link link;
};

/* Looks at one link. Returns false if it could not look; another check reports the reason. */
typedef bool ath_health_look_link(struct ath_health *health,
                                  const struct ath_health_named_link *named);

/* Looks at all links of one use (ATH_USE_COUNT: of every use). Returns true if there are any and
 * all of them could be looked at. */
bool ath_health_each_link(struct ath_health *health, enum ath_health_use use,
                          ath_health_look_link *look);

/* Returns "the data interface of NUMA0", "the parent of macvlan 'macvlan0'"; the caller frees
 * it. */
char *ath_health_use_text(const struct ath_health_named_link *named);

/* True if the document gives the RDMA device to an entry. */
bool ath_health_is_bound(const struct ath_health_facts *facts, const char *device);

/* One function for each check, as in the table. */
#define ATH_HEALTH_FUNCTIONS(F)                                                                    \
    F(document)                                                                                    \
    F(document_faults)                                                                             \
    F(from_fault)                                                                                  \
    F(from_warning)                                                                                \
    F(gpu_usable)                                                                                  \
    F(gpu_health)                                                                                  \
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
    F(certificate)                                                                                 \
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
    F(runtime_other)                                                                               \
    F(runtime_unrecorded)

#define F(name) bool ath_health_check_##name(struct ath_health *health);
ATH_HEALTH_FUNCTIONS(F)
#undef F
