/* Takes, renews and gives back the Lease, and lists the pods after taking it. */
#include "config.h"

#include "kubernetes/lease.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/thread.h"
#include "kubernetes/pod.h"

enum {
    ANSWER_MAX = 1 << 20,
    CALL_MS = 3000,
    RENEW_MS = ATH_KUBE_LEASE_MS / 3,
    LOOK_MS = 1000,   /* between two looks at another one's lease, and after failures */
    SETTLE_MS = 1000, /* for calls of this identity's last process, which the server still has */
    SLICE_MS = 20,
    LEASE_MS_MAX = 60 * 1000, /* another one's lease */
    VERSION_MAX = 256,
    TIME_TEXT = 40,
};

void ath_kube_lease_begin(struct ath_kube_lease *lease)
{
    pthread_mutex_init(&lease->lock, NULL);
    ath_cond_init(&lease->changed);
}

void ath_kube_lease_free(struct ath_kube_lease *lease)
{
    free(lease->version);
    free(lease->written);
    free(lease->why);
    pthread_cond_destroy(&lease->changed);
    pthread_mutex_destroy(&lease->lock);
}

/* ---- for the scheduler's requests ---- */

/* Waits for a change, at most so long. */
static void sleep_on(struct ath_kube_lease *lease, uint64_t wait_ms)
{
    const struct timespec end = ath_moment(ath_now_ms() + wait_ms);
    pthread_cond_timedwait(&lease->changed, &lease->lock, &end);
}

void ath_kube_lease_want(struct ath_kube_lease *lease)
{
    pthread_mutex_lock(&lease->lock);
    lease->is_wanted = true;
    lease->wanted_ms = lease->clock();
    if (lease->is_idle)
        pthread_cond_broadcast(&lease->changed);
    lease->is_idle = false;
    pthread_mutex_unlock(&lease->lock);
}

void ath_kube_lease_await(struct ath_kube_lease *lease, unsigned int wait_ms)
{
    uint64_t now_ms = ath_now_ms(), end_ms = now_ms + wait_ms;

    pthread_mutex_lock(&lease->lock);
    /* A request may also have come while the last step was made. */
    for (; now_ms < end_ms && lease->is_idle == lease->was_idle &&
           !(lease->is_ending && lease->is_kept);
         now_ms = ath_now_ms())
        sleep_on(lease, end_ms - now_ms);
    pthread_mutex_unlock(&lease->lock);
}

/* Returns whether a call of so many milliseconds ends before another extender may take the
 * lease. */
static bool may_call(const struct ath_kube_lease *lease, int call_ms)
{
    return !lease->is_ending && lease->until_ms &&
           lease->clock() + (uint64_t)call_ms + ATH_KUBE_LEASE_MARGIN_MS <= lease->until_ms &&
           ath_kube_cache_has_list(lease->cache, ATH_KUBE_PODS, lease->list);
}

int ath_kube_lease_enter(struct ath_kube_lease *lease, int call_ms, int wait_ms,
                         struct ath_err *err)
{
    uint64_t end_ms = ath_now_ms() + (uint64_t)wait_ms;
    int status = 0;

    pthread_mutex_lock(&lease->lock);
    while (!may_call(lease, call_ms) && !lease->is_ending && ath_now_ms() < end_ms)
        sleep_on(lease, SLICE_MS);
    if (may_call(lease, call_ms))
        lease->users++;
    else
        status = ath_err_set(err, -EBUSY, ATH_E_BUSY,
                             "this extender may not bind pods now, as it does not hold the Lease "
                             "'%s' in the namespace '%s': %s",
                             lease->name, lease->space,
                             lease->why        ? lease->why
                             : lease->until_ms ? "the pods are being listed"
                                               : "it is being taken");
    pthread_mutex_unlock(&lease->lock);
    return status;
}

void ath_kube_lease_leave(struct ath_kube_lease *lease)
{
    pthread_mutex_lock(&lease->lock);
    lease->users--;
    pthread_mutex_unlock(&lease->lock);
}

bool ath_kube_lease_is_held(struct ath_kube_lease *lease)
{
    pthread_mutex_lock(&lease->lock);
    bool is_held = lease->until_ms && lease->clock() < lease->until_ms;
    pthread_mutex_unlock(&lease->lock);
    return is_held;
}

void ath_kube_lease_end(struct ath_kube_lease *lease, unsigned int wait_ms)
{
    uint64_t end_ms = ath_now_ms() + wait_ms;

    pthread_mutex_lock(&lease->lock);
    lease->is_ending = true;
    pthread_cond_broadcast(&lease->changed);
    while (lease->is_kept && ath_now_ms() < end_ms)
        sleep_on(lease, SLICE_MS);
    pthread_mutex_unlock(&lease->lock);
}

/* ---- the object ---- */

/* Replaces a text under the lock; takes value. */
static void set_text(struct ath_kube_lease *lease, char **at, char *value)
{
    pthread_mutex_lock(&lease->lock);
    free(*at);
    *at = value;
    pthread_mutex_unlock(&lease->lock);
}

static void set_until(struct ath_kube_lease *lease, uint64_t until_ms)
{
    pthread_mutex_lock(&lease->lock);
    lease->until_ms = until_ms;
    lease->is_kept = until_ms != 0;
    pthread_cond_broadcast(&lease->changed);
    pthread_mutex_unlock(&lease->lock);
}

/* The form that Kubernetes calls MicroTime. */
static void write_time(char out[TIME_TEXT])
{
    struct timespec now;
    struct tm utc;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t length = strftime(out, TIME_TEXT, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(out + length, TIME_TEXT - length, ".%06ldZ", now.tv_nsec / 1000);
}

/* Returns the object with this process as its holder, or with none. The caller frees the text. */
static char *body_of(const struct ath_kube_lease *lease, bool is_held)
{
    char time[TIME_TEXT];
    write_time(time);

    json_auto_t *body = json_pack(
        "{s:s, s:s, s:{s:s, s:s, s:s*}, s:{s:s*, s:i, s:s, s:s*, s:I}}", "apiVersion",
        "coordination.k8s.io/v1", "kind", "Lease", "metadata", "name", lease->name, "namespace",
        lease->space, "resourceVersion", lease->version, "spec", "holderIdentity",
        is_held ? lease->identity : NULL, "leaseDurationSeconds", ATH_KUBE_LEASE_MS / 1000,
        "renewTime", time, "acquireTime", lease->acquired[0] ? lease->acquired : NULL,
        "leaseTransitions", (json_int_t)lease->transitions);
    return json_dumps(body, JSON_COMPACT);
}

static int call(const struct ath_kube_lease *lease, const char *method, const char *body,
                struct ath_kube_reply *reply, struct ath_err *err)
{
    bool is_new = !strcmp(method, "POST");
    ath_auto_free char *path =
        ath_xasprintf("/apis/coordination.k8s.io/v1/namespaces/%s/leases%s%s", lease->space,
                      is_new ? "" : "/", is_new ? "" : lease->name);
    const struct ath_kube_call one = { .method = method,
                                       .path = path,
                                       .body = body,
                                       .answer_max = ANSWER_MAX,
                                       .timeout_ms = CALL_MS };
    return lease->api->call(lease->api->self, &one, reply, err);
}

/* Keeps the reason why the lease is not held, for bindings that wait for it. */
static int fail(struct ath_kube_lease *lease, int status, struct ath_err *err)
{
    set_text(lease, &lease->why, ath_xstrdup(err->message));
    return status;
}

static int refused(struct ath_kube_lease *lease, const struct ath_kube_reply *reply,
                   struct ath_err *err)
{
    ath_auto_free char *message = ath_kube_reply_message(reply);
    return fail(lease,
                ath_err_set(err, -EPROTO, ATH_E_PEER_FAILED,
                            "the API server refuses the Lease '%s' in the namespace '%s': %s",
                            lease->name, lease->space, message),
                err);
}

static json_t *json_of(const struct ath_kube_reply *reply)
{
    return reply->body.length
               ? json_loadb(reply->body.data, reply->body.length, JSON_ALLOW_NUL, NULL)
               : NULL;
}

static const char *version_of(const json_t *object)
{
    return ath_kube_text(json_object_get(object, "metadata"), "resourceVersion", VERSION_MAX);
}

/* Writes the object. Returns 0; 1 if another one was quicker; a negative errno with err. */
static int write_object(struct ath_kube_lease *lease, bool is_held, struct ath_err *err)
{
    ATH_AUTO(ath_kube_reply) reply = { 0 };
    ath_auto_free char *body = body_of(lease, is_held);

    int status = call(lease, lease->version ? "PUT" : "POST", body, &reply, err);
    if (status)
        return fail(lease, status, err);
    if (reply.status == 409 || reply.status == 404)
        return 1;
    if (reply.status != 200 && reply.status != 201)
        return refused(lease, &reply, err);
    json_auto_t *object = json_of(&reply);
    const char *version = version_of(object);
    if (!version)
        return fail(lease,
                    ath_err_set(err, -EBADMSG, ATH_E_PEER_PROTOCOL,
                                "the API server's Lease has no resourceVersion"),
                    err);
    set_text(lease, &lease->version, ath_xstrdup(version));
    set_text(lease, &lease->written, ath_xstrdup(version));
    set_text(lease, &lease->why, NULL);
    return 0;
}

/* ---- another one's lease ---- */

/* Remembers when a version was seen first. Returns the holder, NULL if there is none. */
static const char *look_at(struct ath_kube_lease *lease, const json_t *object)
{
    const json_t *spec = json_object_get(object, "spec");
    const char *holder = ath_kube_text(spec, "holderIdentity", ATH_KUBE_IDENTITY_MAX);
    const char *version = version_of(object);
    json_int_t seconds = json_integer_value(json_object_get(spec, "leaseDurationSeconds"));

    lease->transitions = json_integer_value(json_object_get(spec, "leaseTransitions"));
    if (lease->transitions < 0 || lease->transitions > INT32_MAX - 1)
        lease->transitions = 0;
    if (lease->version && version && !strcmp(lease->version, version))
        return holder;
    lease->seen_ms = lease->clock();
    lease->seen_lease_ms = ATH_KUBE_LEASE_MS;
    if (holder && !strcmp(holder, lease->identity))
        lease->seen_lease_ms = SETTLE_MS;
    else if (seconds > ATH_KUBE_LEASE_MS / 1000)
        lease->seen_lease_ms =
            seconds < LEASE_MS_MAX / 1000 ? (uint64_t)seconds * 1000 : (uint64_t)LEASE_MS_MAX;
    set_text(lease, &lease->version, version ? ath_xstrdup(version) : NULL);
    return holder;
}

/* Reads the object. Returns 0 if the lease is free; 1 if another one has it; a negative errno with
 * err. */
static int look(struct ath_kube_lease *lease, struct ath_err *err)
{
    ATH_AUTO(ath_kube_reply) reply = { 0 };

    int status = call(lease, "GET", NULL, &reply, err);
    if (status)
        return fail(lease, status, err);
    if (reply.status == 404) {
        set_text(lease, &lease->version, NULL);
        lease->transitions = 0;
        return 0;
    }
    if (reply.status != 200)
        return refused(lease, &reply, err);
    json_auto_t *object = json_of(&reply);
    if (!version_of(object))
        return refused(lease, &reply, err);
    const char *holder = look_at(lease, object);
    if (!holder || lease->clock() - lease->seen_ms >= lease->seen_lease_ms)
        return 0;
    set_text(lease, &lease->why, ath_xasprintf("the extender '%s' holds it", holder));
    return 1;
}

static int take(struct ath_kube_lease *lease, struct ath_err *err)
{
    uint64_t sent_ms = lease->clock();
    bool is_next = lease->version && lease->written && !strcmp(lease->version, lease->written);

    write_time(lease->acquired);
    lease->transitions++;
    int status = write_object(lease, true, err);
    if (status)
        return status;
    /* No other process has held the lease if the last version was this process's. */
    if (!is_next)
        lease->list = ath_kube_cache_want_list(lease->cache, ATH_KUBE_PODS);
    set_until(lease, sent_ms + ATH_KUBE_LEASE_MS);
    return 0;
}

/* ---- steps ---- */

/* Looks in any case: how long another one's lease lasts counts from the first look at it. */
static unsigned int step_without(struct ath_kube_lease *lease, bool is_wanted, struct ath_err *err)
{
    int status = look(lease, err);
    if (!status && is_wanted)
        status = take(lease, err);
    return status && is_wanted ? LOOK_MS : RENEW_MS;
}

static unsigned int step_with(struct ath_kube_lease *lease, struct ath_err *err)
{
    uint64_t sent_ms = lease->clock();
    int status = write_object(lease, true, err);

    if (!status)
        set_until(lease, sent_ms + ATH_KUBE_LEASE_MS);
    else if (status > 0 || lease->clock() >= lease->until_ms)
        set_until(lease, 0);
    return status ? LOOK_MS : RENEW_MS;
}

/* Another extender need not wait then. */
static unsigned int give_back(struct ath_kube_lease *lease, struct ath_err *err)
{
    write_object(lease, false, err);
    pthread_mutex_lock(&lease->lock);
    lease->is_kept = false;
    pthread_cond_broadcast(&lease->changed);
    pthread_mutex_unlock(&lease->lock);
    return RENEW_MS;
}

unsigned int ath_kube_lease_step(struct ath_kube_lease *lease, struct ath_err *err)
{
    *err = (struct ath_err){ 0 };
    pthread_mutex_lock(&lease->lock);
    bool is_held = lease->until_ms != 0;
    bool is_wanted = !lease->is_ending && lease->is_wanted &&
                     (lease->users || lease->clock() - lease->wanted_ms < ATH_KUBE_LEASE_IDLE_MS);
    bool is_due = is_held && !is_wanted && !lease->users;
    if (is_due)
        lease->until_ms = 0; /* before others can see that the lease is free */
    lease->is_idle = lease->was_idle = !is_wanted;
    pthread_mutex_unlock(&lease->lock);
    if (is_due)
        return give_back(lease, err);
    return is_held ? step_with(lease, err) : step_without(lease, is_wanted, err);
}

/* ---- the identity ---- */

char *ath_kube_lease_identity(const char *address)
{
    char host[65] = "", space[64] = "";
    ath_auto_free char *boot = NULL;
    size_t length;

    if (gethostname(host, sizeof host - 1))
        host[0] = '\0';
    if (readlink("/proc/self/ns/net", space, sizeof space - 1) < 0)
        space[0] = '\0';
    if (ath_file_read("/proc/sys/kernel/random/boot_id", 64, &boot, &length, NULL))
        boot = ath_xstrdup("");
    boot[strcspn(boot, "\n")] = '\0';
    return ath_xasprintf("%s_%s_%s_%s", host, address, space, boot);
}
