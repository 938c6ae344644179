/* Counts the memory that jansson takes while it reads JSON of requests. */
#include "config.h"

#include "kubernetes/review_json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

enum { JSON_MAX = 256 << 20, STEP = 64 << 10 };

static size_t taken_by_all; /* changed by atomic operations */

/* The thread's reading. */
static _Thread_local struct {
    bool is_on, is_refused;
    size_t taken, left; /* left: of what was taken */
} reading;

static void give_back(size_t bytes)
{
    __atomic_fetch_sub(&taken_by_all, bytes, __ATOMIC_RELAXED);
}

static bool take(size_t size)
{
    size_t more = size > STEP ? size : STEP;
    if (__atomic_add_fetch(&taken_by_all, more, __ATOMIC_RELAXED) > (size_t)JSON_MAX) {
        give_back(more);
        reading.is_refused = true;
        return false;
    }
    reading.taken += more;
    reading.left = more;
    return true;
}

/* Memory that is freed while the text is read stays counted. */
static void *allocate(size_t size)
{
    if (reading.is_on) {
        if (size > reading.left && !take(size))
            return NULL;
        reading.left -= size;
    }
    return malloc(size);
}

void ath_kube_json_limit(void)
{
    json_set_alloc_funcs(allocate, free);
}

int ath_kube_json_read(const char *text, size_t length, struct ath_kube_json *out)
{
    reading.is_on = true;
    out->value = json_loadb(text, length, JSON_ALLOW_NUL, NULL);
    reading.is_on = false;
    out->taken = reading.taken;
    bool is_refused = reading.is_refused;
    reading.is_refused = false;
    reading.taken = reading.left = 0;
    return is_refused ? -EAGAIN : out->value ? 0 : -EBADMSG;
}

void ath_kube_json_free(struct ath_kube_json *json)
{
    json_decref(json->value);
    give_back(json->taken);
    *json = (struct ath_kube_json){ 0 };
}
