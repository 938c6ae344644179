/* The admission webhook: POST /mutate changes pods (inject.h), POST /validate refuses objects
 * (guard.h); GET /metrics, /healthz, /readyz. */
#pragma once
#include <stdint.h>

#include "kubernetes/guard.h"
#include "kubernetes/http.h"
#include "kubernetes/inject.h"

enum ath_kube_hook { ATH_KUBE_MUTATE, ATH_KUBE_VALIDATE, ATH_KUBE_HOOKS };

struct ath_kube_webhook {
    struct ath_kube_injection injection;
    struct ath_kube_guard guard;
    /* Changed by atomic operations. */
    struct {
        uint64_t requests, refused, sum_ns, longest_ns;
    } figures[ATH_KUBE_HOOKS];
    uint64_t bad_requests;
};

/* The `self` of their service is a struct ath_kube_webhook. */
extern const struct ath_kube_page ath_kube_webhook_pages[];
