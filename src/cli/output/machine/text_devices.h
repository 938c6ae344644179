/* The devices of a NUMA node as text. */
#pragma once
#include <stdio.h>

#include "cli/output/machine/outline.h"
#include "cli/output/style.h"

/* Prints the GPUs and the network ports of a group as branches of a tree. */
void ath_text_devices(const struct ath_style *style, FILE *out, const struct ath_outline *outline,
                      const struct ath_group *group);
