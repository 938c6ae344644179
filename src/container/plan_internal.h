/* Making a plan, part by part. Private to the plan. */
#pragma once
#include "container/plan.h"

struct ath_plan_making {
    const struct ath_document *document; /* with the entries asked for alone */
    const struct ath_machine *machine;
    const struct ath_plan_facts *facts;
    const struct ath_plan_options *options;
    bool is_sim;
    struct ath_faults *faults;
};

/* Each adds its part of an entry's plan; what does not fit goes to making->faults. In this order.
 */
void ath_plan_add_memory(const struct ath_plan_making *making, const struct ath_document_numa *numa,
                         struct ath_plan_node *node);
void ath_plan_add_gpus(const struct ath_plan_making *making, const struct ath_document_numa *numa,
                       struct ath_plan_node *node);
void ath_plan_add_network(const struct ath_plan_making *making,
                          const struct ath_document_numa *numa, struct ath_plan_node *node);
void ath_plan_add_rdma(const struct ath_plan_making *making, const struct ath_document_numa *numa,
                       struct ath_plan_node *node);
void ath_plan_add_runtime(const struct ath_plan_making *making, struct ath_plan_node *node);

/* Warnings about what entries promise together; all: the whole document. */
void ath_plan_check_memory_sum(const struct ath_document *all, struct ath_plan_node *node);

/* hint is taken over; NULL: none. */
void ath_plan_warn(struct ath_plan_node *node, enum ath_plan_warning_code code, const char *object,
                   char *hint, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Where a value stands in the document, or one of a list's entries; else the item itself. */
enum { ATH_PLAN_WHOLE = -1 };
size_t ath_plan_place(const struct ath_document_item *item, const char *key, int index);

void ath_plan_add_device(struct ath_plan_node *node, const char *path);
void ath_plan_add_mount(struct ath_plan_node *node, const char *source, const char *target,
                        bool is_read_only);
