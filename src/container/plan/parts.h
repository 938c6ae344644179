/* Makes the parts of a plan. Private to the plan. */
#pragma once
#include "container/plan/plan.h"

struct ath_plan_making {
    const struct ath_document *document; /* only with the requested entries */
    const struct ath_machine *machine;
    const struct ath_plan_facts *facts;
    const struct ath_plan_options *options;
    struct ath_faults *faults;
};

/* Returns whether the GPUs of an entry are simulated. */
bool ath_plan_is_sim(const struct ath_document *document, const struct ath_plan_options *options,
                     int id);

/* Each function adds its part of an entry's plan; faults go to making->faults. Call them in this
 * order. */
void ath_plan_add_memory(const struct ath_plan_making *making, const struct ath_document_numa *numa,
                         struct ath_plan_node *node);
void ath_plan_add_gpus(const struct ath_plan_making *making, const struct ath_document_numa *numa,
                       struct ath_plan_node *node);
void ath_plan_add_network(const struct ath_plan_making *making,
                          const struct ath_document_numa *numa, struct ath_plan_node *node);
void ath_plan_add_data(const struct ath_plan_making *making, const struct ath_document_numa *numa,
                       struct ath_plan_node *node);
void ath_plan_add_rdma(const struct ath_plan_making *making, const struct ath_document_numa *numa,
                       struct ath_plan_node *node);
void ath_plan_add_runtime(const struct ath_plan_making *making, struct ath_plan_node *node);

/* Warns if the entries of a node together promise more memory than it has; all: the whole
 * document. */
void ath_plan_check_memory_sum(const struct ath_document *all, struct ath_plan_node *node);

/* Returns whether ports of the node are published on the host. */
bool ath_plan_is_published(const struct ath_plan_node *node);
/* Adds a port that is published on the host. purpose and protocol are not copied. */
void ath_plan_publish(struct ath_plan_node *node, const char *purpose, const char *protocol,
                      const char *address, int port);
/* Returns "10.0.0.11:50051" or "[fd00::1]:50051". The caller frees it. */
char *ath_plan_endpoint(const char *address, int port);

/* Adds a warning. hint is taken over; NULL: none. */
void ath_plan_warn(struct ath_plan_node *node, enum ath_plan_warning_code code, const char *object,
                   char *hint, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Returns the place in the document of a value, or of a list's element; otherwise the item's. */
enum { ATH_PLAN_WHOLE = -1 };
size_t ath_plan_place(const struct ath_document_item *item, const char *key, int index);

void ath_plan_add_device(struct ath_plan_node *node, const char *path);
void ath_plan_add_mount(struct ath_plan_node *node, const char *source, const char *target,
                        bool is_read_only);
