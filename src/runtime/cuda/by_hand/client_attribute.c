/*
 * Attributes of kernels: what is set already is not set again, and what the driver took once for
 * the same kernel is set without waiting for its answer. cuDNN sets how much shared memory a kernel
 * may have before it launches it, some fifty times a training step.
 */
#include "config.h"

#include "runtime/cuda/by_hand/attribute.h"

#include <pthread.h>
#include <stdlib.h>

#include "proto/cuda-client.h"
#include "runtime/cuda/client.h"
#include "runtime/switches.h"

enum { BUCKETS = 1024, SETTINGS_MAX = 16384 };

/* For what a value is set: for a function, which has one context (cuFuncSetAttribute()), for a
 * kernel in one context (the same, of a kernel), for a kernel on one device
 * (cuKernelSetAttribute()). */
enum scope { OF_FUNCTION, OF_CONTEXT, OF_DEVICE };

struct subject {
    enum scope scope;
    uint64_t of; /* the function, context or device */
    CUfunction_attribute attribute;
};

/* A value that the driver took. */
struct setting {
    struct setting *next;
    struct subject subject;
    int value;
    bool is_set; /* it was the last */
};

/* A kernel, or a function that is known to be of a module, or a kernel's by another name. */
struct thing {
    struct thing *next;
    uint64_t handle;
    uint64_t kernel;  /* this is a name of; 0: none */
    bool is_function; /* a name, or of a module */
    struct setting *settings;
    enum scope scope; /* of what was set last */
    uint64_t turns;   /* how often that changed: which of two scopes holds, nobody says */
};

enum known { UNKNOWN, TAKEN, SET };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct thing *things[BUCKETS];
static size_t setting_count;
static uint64_t changes; /* of anything */
static uint64_t age;     /* how often what was known ceased to hold */
static bool is_mixed;

/* ---- the table; the caller has the lock ---- */

static struct thing **place_of(uint64_t handle)
{
    struct thing **at = &things[(size_t)(handle * UINT64_C(0x9e3779b97f4a7c15) >> 32) % BUCKETS];
    while (*at && (*at)->handle != handle)
        at = &(*at)->next;
    return at;
}

/* NULL without memory. */
static struct thing *make(uint64_t handle)
{
    struct thing **at = place_of(handle);
    if (!*at && (*at = calloc(1, sizeof **at)))
        (*at)->handle = handle;
    return *at;
}

/* NULL: a function of which it is not known whether it is a kernel's by another name (or no
 * memory). What is set of such a one may be any kernel's. */
static struct thing *thing_of(uint64_t handle)
{
    struct thing *found = *place_of(handle);
    if (found && found->kernel)
        found = make(found->kernel);
    else if (!found && ath_cuda_is_kernel((const void *)(uintptr_t)handle))
        found = make(handle);
    return is_mixed ? NULL : found;
}

static bool is_about(const struct subject *a, const struct subject *b)
{
    return a->scope == b->scope && a->of == b->of && a->attribute == b->attribute;
}

static struct setting *find(const struct thing *thing, const struct subject *subject, int value)
{
    struct setting *at = thing->settings;
    while (at && !(is_about(&at->subject, subject) && at->value == value))
        at = at->next;
    return at;
}

static uint64_t mixed(uint64_t hash, uint64_t number)
{
    hash = (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static uint64_t number_of(const struct setting *setting)
{
    uint64_t hash = mixed(mixed(1, setting->subject.scope), setting->subject.of);
    hash = mixed(hash, (uint64_t)setting->subject.attribute);
    return mixed(hash, (uint64_t)setting->value);
}

static void forget_settings(struct thing *thing)
{
    for (struct setting *at = thing->settings, *next; at; at = next) {
        next = at->next;
        free(at);
        setting_count--;
    }
    thing->settings = NULL;
}

static void forget_all_settings(void)
{
    age++;
    for (size_t i = 0; setting_count && i < BUCKETS; i++)
        for (struct thing *at = things[i]; at; at = at->next)
            forget_settings(at);
}

static void forget_things(void)
{
    forget_all_settings();
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct thing *at = things[i], *next; at; at = next) {
            next = at->next;
            free(at);
        }
        things[i] = NULL;
    }
}

/* ---- what others ask and tell ---- */

uint64_t ath_cuda_attributes_state(uint64_t kernel)
{
    pthread_mutex_lock(&lock);
    const struct thing *thing = thing_of(kernel);
    uint64_t state = mixed(mixed(thing != NULL, age), thing ? thing->turns : changes);
    for (const struct setting *at = thing ? thing->settings : NULL; at; at = at->next)
        state += at->is_set ? number_of(at) : 0;
    pthread_mutex_unlock(&lock);
    return state;
}

void ath_cuda_attributes_name(uint64_t kernel, uint64_t function)
{
    pthread_mutex_lock(&lock);
    struct thing *name = make(function);
    if (!name) {
        is_mixed = true;
    } else if (!name->is_function || name->kernel != kernel) {
        forget_settings(name);
        name->is_function = true;
        name->kernel = kernel;
    }
    pthread_mutex_unlock(&lock);
}

void ath_cuda_attributes_mix(void)
{
    pthread_mutex_lock(&lock);
    is_mixed = true;
    pthread_mutex_unlock(&lock);
}

void ath_cuda_attributes_forget(bool with_names)
{
    pthread_mutex_lock(&lock);
    if (with_names)
        forget_things();
    else
        forget_all_settings();
    pthread_mutex_unlock(&lock);
}

/* ---- setting ---- */

static enum known look_up(uint64_t kernel, const struct subject *subject, int value)
{
    enum known known = UNKNOWN;
    if (ath_is_off(ATH_SWITCH_CACHES))
        return known;
    pthread_mutex_lock(&lock);
    const struct thing *thing = thing_of(kernel);
    const struct setting *found = thing ? find(thing, subject, value) : NULL;
    if (found)
        known = found->is_set ? SET : TAKEN;
    pthread_mutex_unlock(&lock);
    return known;
}

/* What was set before of the same is set no more; of another scope, whatever was. */
static void unset(struct thing *thing, const struct subject *subject)
{
    bool turns = thing->scope != subject->scope && thing->settings;
    thing->turns += turns;
    thing->scope = subject->scope;
    for (struct setting *at = thing->settings; at; at = at->next)
        if (turns || is_about(&at->subject, subject))
            at->is_set = false;
}

static struct setting *add(struct thing *thing, const struct subject *subject, int value)
{
    struct setting *setting = calloc(1, sizeof *setting);
    if (!setting)
        return NULL;
    *setting = (struct setting){ .next = thing->settings, .subject = *subject, .value = value };
    thing->settings = setting;
    setting_count++;
    return setting;
}

/* Without memory, and for what may be anything, it is as if all were new. */
static void note(uint64_t kernel, const struct subject *subject, int value)
{
    pthread_mutex_lock(&lock);
    changes++;
    if (setting_count >= SETTINGS_MAX)
        forget_all_settings();
    struct thing *thing = thing_of(kernel);
    if (thing)
        unset(thing, subject);
    struct setting *setting = thing ? find(thing, subject, value) : NULL;
    if (thing && !setting)
        setting = add(thing, subject, value);
    if (setting)
        setting->is_set = true;
    else
        forget_all_settings();
    pthread_mutex_unlock(&lock);
    ath_cuda_memo_forget();
}

/* Sends what was made of a setting. */
static CUresult send(struct ath_cuda_exchange *exchange, const struct subject *subject, int value,
                     enum known known)
{
    CUresult status = known == TAKEN ? ath_cuda_post(exchange) : ath_cuda_ask(exchange);
    if (!status)
        note(exchange->kernel, subject, value);
    return ath_cuda_end(exchange, status);
}

static struct subject function_subject(CUfunction function, CUfunction_attribute attribute)
{
    pthread_mutex_lock(&lock);
    const struct thing *found = *place_of((uintptr_t)function);
    bool is_kernel = ath_cuda_is_kernel(function) && (!found || !found->is_function);
    pthread_mutex_unlock(&lock);
    return is_kernel
               ? (struct subject){ OF_CONTEXT, (uintptr_t)ath_cuda_current_context(), attribute }
               : (struct subject){ OF_FUNCTION, (uintptr_t)function, attribute };
}

CUresult ath_cuda_by_hand_cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                                             int value)
{
    struct ath_cuda_exchange exchange;
    struct subject subject = function_subject(function, attribute);
    enum known known = look_up((uintptr_t)function, &subject, value);
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuFuncSetAttribute);
    if (status || known == SET)
        return status ? status : ath_cuda_end(&exchange, CUDA_SUCCESS);
    struct ath_cuda_wire_func_set_attribute_builder call =
        ath_cuda_wire_call_init_func_set_attribute(exchange.call);
    ath_cuda_wire_func_set_attribute_set_function(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_FUNCTION, (uintptr_t)function));
    ath_cuda_wire_func_set_attribute_set_attribute(call, (uint32_t)attribute);
    ath_cuda_wire_func_set_attribute_set_value(call, value);
    return send(&exchange, &subject, value, known);
}

CUresult ath_cuda_by_hand_cuKernelSetAttribute(CUfunction_attribute attribute, int value,
                                               CUkernel kernel, CUdevice device)
{
    struct ath_cuda_exchange exchange;
    struct subject subject = { OF_DEVICE, (uint64_t)device, attribute };
    enum known known = look_up((uintptr_t)kernel, &subject, value);
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuKernelSetAttribute);
    if (status || known == SET)
        return status ? status : ath_cuda_end(&exchange, CUDA_SUCCESS);
    struct ath_cuda_wire_kernel_set_attribute_builder call =
        ath_cuda_wire_call_init_kernel_set_attribute(exchange.call);
    ath_cuda_wire_kernel_set_attribute_set_attribute(call, (uint32_t)attribute);
    ath_cuda_wire_kernel_set_attribute_set_value(call, value);
    ath_cuda_wire_kernel_set_attribute_set_kernel(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_KERNEL, (uintptr_t)kernel));
    ath_cuda_wire_kernel_set_attribute_set_device(
        call, (int32_t)ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_DEVICE, (uint64_t)device));
    return send(&exchange, &subject, value, known);
}
