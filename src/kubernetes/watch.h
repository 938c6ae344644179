/*
 * Keeps the cache in step with the API server: lists a resource, then watches it from the list's
 * version on. A watch that fails goes on at the last version; a version that the server has
 * forgotten (410) begins a list again, and so does the cache if it wants a list. After failures the
 * waits grow to half a minute.
 */
#pragma once
#include <stdint.h>

#include "kubernetes/api.h"
#include "kubernetes/cache.h"

/* One thread at a time may use it. The members up to `kind` are the caller's. */
struct ath_kube_watch {
    const struct ath_kube_api *api;
    const char *path;     /* "/api/v1/pods" */
    const char *selector; /* of the query: "fieldSelector=..."; NULL: none */
    struct ath_kube_cache *cache;
    enum ath_kube_kind kind;
    bool is_optional; /* a server that does not know the kind (404) has no objects of it */

    char *version;                  /* of the last object; NULL: a list is due */
    bool has_no_bookmarks;          /* the server cannot send them */
    unsigned int failures;          /* since the last success */
    uint64_t lists, events, faults; /* since the start */
};

void ath_kube_watch_free(struct ath_kube_watch *watch);

/* Makes a list if it is due, else one watch until it ends. Returns how many milliseconds to wait
 * before the next step. err: the reason if the step failed, else its code is ATH_E_NONE. */
unsigned int ath_kube_watch_step(struct ath_kube_watch *watch, struct ath_err *err);
