/* The sections below the cards in the text of `aitherion roce list`. Private to roce_list*.c. */
#pragma once
#include "cli/output/roce_list.h"

/* Prints the sections that have something to say: RDMA devices without a network card of their own,
 * cards and devices that only the document has, how RDMA devices and network namespaces go
 * together, and warnings. */
void ath_roce_list_print_sections(const struct ath_roce_list *list, const struct ath_style *style,
                                  FILE *out);
