/* The pages of the extender's server: POST /filter, /prioritize, /bind; GET /metrics, /healthz,
 * /readyz. */
#pragma once
#include "kubernetes/http.h"

/* The `self` of their service is a struct ath_kube_extender. */
extern const struct ath_kube_page ath_kube_extender_pages[];
