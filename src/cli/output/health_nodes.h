/* The state of what each NUMA entry of a document serves: memory, GPUs, interfaces, RDMA devices,
 * macvlans. Unknown is shown as such. */
#pragma once
#include <stdio.h>

#include "cli/output/style.h"
#include "health/facts.h"

/* Prints nothing without a document; a line to say so is the caller's. */
void ath_health_nodes_print(const struct ath_style *style, FILE *out,
                            const struct ath_health_facts *facts);
