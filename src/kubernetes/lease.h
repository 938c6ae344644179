/*
 * The Lease (coordination.k8s.io/v1) of the extender that may bind pods: one at a time in a
 * cluster.
 *
 * The lease follows the scheduler's requests: the extender that is asked takes it when it is free,
 * renews it while requests come, and gives it back when they have ceased. So the lease goes where
 * the leading kube-scheduler is. Times are compared on one clock only: an extender counts its own
 * lease from before it asked for it, and another's from when it first saw it.
 *
 * An extender that takes the lease lists the pods before it binds one, as the last holder may have
 * bound some that no watch has brought yet.
 */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "kubernetes/api.h"
#include "kubernetes/cache.h"

enum {
    ATH_KUBE_LEASE_MS = 15 * 1000,
    ATH_KUBE_LEASE_IDLE_MS = 12 * 1000, /* without requests until the lease is given back */
    ATH_KUBE_LEASE_MARGIN_MS = 2000,    /* for what a call takes beside its own time */
    ATH_KUBE_IDENTITY_MAX = 253,
};

/* A zeroed struct and the members up to `clock` make a lease. */
struct ath_kube_lease {
    const struct ath_kube_api *api;
    struct ath_kube_cache *cache;
    const char *space, *name; /* of the Lease object */
    const char *identity;     /* of one process at a time */
    uint64_t (*clock)(void);

    pthread_mutex_t lock; /* guards what follows, up to why */
    pthread_cond_t changed;
    bool is_ending;
    bool is_wanted;     /* a request has come */
    bool is_idle;       /* none has come for long, or since the last step */
    bool was_idle;      /* is_idle of the last step */
    bool is_kept;       /* the object names this process, unless it was lost */
    unsigned int users; /* bindings on their way */
    uint64_t wanted_ms; /* when the last request came */
    uint64_t until_ms;  /* held until then; 0: not held */
    uint64_t list;      /* of pods, which must end before a binding */
    char *why;          /* the lease is not held; NULL: held, or not tried */

    /* The thread that makes steps has these for itself. */
    char *version, *written; /* of the object as seen, and as written by this process last; NULL */
    uint64_t seen_ms, seen_lease_ms; /* when `version` was seen first, and how long it lasts */
    char acquired[40];
    long long transitions;
};

/* Begins: the lock exists from here on. */
void ath_kube_lease_begin(struct ath_kube_lease *lease);
void ath_kube_lease_free(struct ath_kube_lease *lease);

/* A request of the scheduler has come. Any thread. */
void ath_kube_lease_want(struct ath_kube_lease *lease);

/*
 * Waits, at most wait_ms, until a call of call_ms may be sent under the lease. Returns 0, and then
 * ath_kube_lease_leave() must follow; else -EBUSY with err, which names the holder. Any thread.
 */
int ath_kube_lease_enter(struct ath_kube_lease *lease, int call_ms, int wait_ms,
                         struct ath_err *err);
void ath_kube_lease_leave(struct ath_kube_lease *lease);

bool ath_kube_lease_is_held(struct ath_kube_lease *lease);

/* Refuses bindings from now on, and waits, at most so long, until the lease was given back. Another
 * thread must make steps meanwhile. */
void ath_kube_lease_end(struct ath_kube_lease *lease, unsigned int wait_ms);

/* Takes, renews or gives back the lease as needed. One thread calls it in a loop. Returns how many
 * milliseconds to give to ath_kube_lease_await() before the next step. err: the
 * reason if the step failed, else its code is ATH_E_NONE. */
unsigned int ath_kube_lease_step(struct ath_kube_lease *lease, struct ath_err *err);

/* Waits until the time is over, or the first request comes after a quiet time. */
void ath_kube_lease_await(struct ath_kube_lease *lease, unsigned int wait_ms);

/* Writes an identity that no other process can have at the same time: it names the kernel, the
 * network namespace and the address that this process listens at. So a process that was started
 * again at the same address takes its lease back at once. The caller frees the text. */
char *ath_kube_lease_identity(const char *address);
