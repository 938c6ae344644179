/*
 * The state of the parts of each NUMA entry of a document: memory, GPUs, interfaces, RDMA devices,
 * macvlans. Unknown states are printed as unknown.
 */
#pragma once
#include <stdio.h>

#include "cli/output/style.h"
#include "health/facts.h"

/* Without a document, prints nothing: the caller reports that. */
void ath_health_nodes_print(const struct ath_style *style, FILE *out,
                            const struct ath_health_facts *facts);
