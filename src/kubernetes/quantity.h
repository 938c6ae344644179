/* Quantities of Kubernetes: "4", "16Gi", "1.5k", "500m", "1e3". Pure computation. */
#pragma once
#include <stdint.h>

/* Reads a quantity that is not negative, and rounds up to a whole number. Returns 0, or -EINVAL or
 * -ERANGE with *out unchanged. */
int ath_kube_quantity_read(const char *text, int64_t *out);
