/* Starts the threads of the extender. */
#include "config.h"

#include "kubernetes/scheduler.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "kubernetes/extender.h"
#include "kubernetes/extender_pages.h"
#include "kubernetes/watch.h"

enum {
    UNSURE_MS = 75 * 1000, /* an API server ends requests after 60 s if it is not told otherwise */
    END_MS = 3000,
};

static void *follow(void *argument)
{
    struct ath_kube_watch *watch = argument;

    for (;;) {
        struct ath_err err;
        uint64_t lists = watch->lists;
        unsigned int wait_ms = ath_kube_watch_step(watch, &err);
        if (err.code != ATH_E_NONE)
            ath_log(ATH_LOG_NORMAL, "%s", err.message);
        else if (watch->lists != lists)
            ath_log(ATH_LOG_VERBOSE, "'%s' was listed", watch->path);
        (void)poll(NULL, 0, (int)wait_ms);
    }
    return NULL;
}

static int start_watch(const struct ath_kube_watch *facts, struct ath_err *err)
{
    struct ath_kube_watch *watch = ath_xalloc(sizeof *watch);
    pthread_t thread;

    *watch = *facts;
    int status = pthread_create(&thread, NULL, follow, watch);
    if (status)
        return ath_err_system(err, -status, "cannot start a thread");
    pthread_detach(thread);
    return 0;
}

static void *hold_lease(void *argument)
{
    struct ath_kube_lease *lease = argument;
    char last[sizeof((struct ath_err *)NULL)->message] = "";
    bool was_held = false;

    for (;;) {
        struct ath_err err;
        unsigned int wait_ms = ath_kube_lease_step(lease, &err);
        bool is_held = ath_kube_lease_is_held(lease);
        if (err.code != ATH_E_NONE && strcmp(err.message, last) != 0)
            ath_log(ATH_LOG_NORMAL, "%s", err.message);
        snprintf(last, sizeof last, "%s", err.code != ATH_E_NONE ? err.message : "");
        if (is_held != was_held)
            ath_log(ATH_LOG_NORMAL,
                    is_held ? "this extender holds the Lease '%s' and binds pods"
                            : "this extender does not hold the Lease '%s' any more",
                    lease->name);
        was_held = is_held;
        ath_kube_lease_await(lease, wait_ms);
    }
    return NULL;
}

static int start_lease(struct ath_kube_lease *lease, struct ath_err *err)
{
    pthread_t thread;

    ath_kube_lease_begin(lease);
    int status = pthread_create(&thread, NULL, hold_lease, lease);
    if (status)
        return ath_err_system(err, -status, "cannot start a thread");
    pthread_detach(thread);
    return 0;
}

void ath_kube_scheduler_end(struct ath_kube_lease *lease)
{
    ath_kube_lease_end(lease, END_MS);
}

int ath_kube_scheduler_start(int listener, const struct ath_metrics_web *web,
                             const struct ath_kube_api *api, struct ath_kube_lease *lease,
                             struct ath_err *err)
{
    struct ath_kube_extender *extender = ath_xalloc(sizeof *extender);
    extender->cache = ath_kube_cache_make(ath_now_ms, UNSURE_MS);
    extender->api = api;
    extender->lease = lease;
    lease->api = api;
    lease->cache = extender->cache;
    lease->clock = ath_now_ms;

    const struct ath_kube_watch watches[ATH_KUBE_KINDS] = {
        { .api = api,
          .path = "/apis/aitherion.io/v1alpha1/computenodes",
          .cache = extender->cache,
          .kind = ATH_KUBE_NODES },
        { .api = api,
          .path = "/api/v1/pods",
          .selector = "fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed",
          .cache = extender->cache,
          .kind = ATH_KUBE_PODS },
        { .api = api,
          .path = "/apis/aitherion.io/v1alpha1/computequotas",
          .cache = extender->cache,
          .kind = ATH_KUBE_QUOTAS,
          .is_optional = true },
    };
    for (size_t i = 0; i < ATH_KUBE_KINDS; i++) {
        int status = start_watch(&watches[i], err);
        if (status)
            return status;
    }
    int status = start_lease(lease, err);
    if (status)
        return status;
    static struct ath_kube_service service = { .pages = ath_kube_extender_pages };
    service.self = extender;
    return ath_kube_http_start(listener, web, &service, err);
}
