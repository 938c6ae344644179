#include "config.h"

#include "kubernetes/scheduler.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "kubernetes/extender.h"
#include "kubernetes/extender_pages.h"
#include "kubernetes/watch.h"

/* Longer than all tries of a binding. */
enum { RESERVATION_MS = 30 * 1000 };

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

int ath_kube_scheduler_start(int listener, const struct ath_metrics_web *web,
                             const struct ath_kube_api *api, struct ath_err *err)
{
    struct ath_kube_extender *extender = ath_xalloc(sizeof *extender);
    extender->cache = ath_kube_cache_make(ath_now_ms, RESERVATION_MS);
    extender->api = api;

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
    };
    for (size_t i = 0; i < ATH_KUBE_KINDS; i++) {
        int status = start_watch(&watches[i], err);
        if (status)
            return status;
    }
    static struct ath_kube_service service = { .pages = ath_kube_extender_pages };
    service.self = extender;
    return ath_kube_http_start(listener, web, &service, err);
}
