/* Attributes of kernels. A value that is set already is not sent again. A value that the driver
 * accepted before for the same kernel, or must accept, is sent without waiting. cuDNN sets the
 * shared memory limit of a kernel before it launches it, some fifty times in a training step. */
#include "config.h"

#include "cuda/client/kernel_attribute.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/map.h"
#include "cuda/client/client.h"
#include "cuda/client/code_facts.h"
#include "cuda/common/promise.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"
#include "remote/switches.h"

enum { SETTINGS_MAX = 16384 };

/* The scope of a value: a function, which has one context (cuFuncSetAttribute()); a kernel in one
 * context (the same call with a CUkernel); a kernel on one device (cuKernelSetAttribute()). */
enum scope { OF_FUNCTION, OF_CONTEXT, OF_DEVICE };

struct subject {
    enum scope scope;
    uint64_t of; /* the function, context or device */
    CUfunction_attribute attribute;
};

/* A value that the driver accepted. */
struct setting {
    struct setting *next;
    struct subject subject;
    int value;
    bool is_set; /* it was set last */
};

/* A kernel; a function that is known to belong to a module; or a function that is another name of a
 * kernel. */
struct thing {
    struct ath_map_entry entry; /* by the handle */
    uint64_t kernel;            /* the kernel that this function names; 0: none */
    bool is_function;           /* belongs to a module, or names a kernel */
    CUcontext context;          /* in which it names the kernel */
    struct setting *settings;
    enum scope scope; /* of the last setting */
    uint64_t turns;   /* how often the scope changed: no document says which of two scopes wins */
};

enum known { UNKNOWN, TAKEN, SET };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ath_map things = ATH_MAP(10);
static size_t setting_count;
static uint64_t changes;       /* of any kernel */
static uint64_t age;           /* how often the known settings became stale */
static bool is_mixed, is_lost; /* is_lost: settings are no longer known that the driver has */

/* ---- the table; the caller holds the lock ---- */

/* Returns NULL if memory runs out. */
static struct thing *make_thing(uint64_t handle)
{
    struct thing *found = ath_map_find(&things, handle);
    if (!found && (found = calloc(1, sizeof *found)))
        ath_map_add(&things, &found->entry, handle);
    return found;
}

/* Returns NULL if memory runs out, or for a function that may be another name of any kernel. */
static struct thing *thing_of(uint64_t handle)
{
    struct thing *found = ath_map_find(&things, handle);
    if (found && found->kernel)
        found = make_thing(found->kernel);
    else if (!found && ath_cuda_is_kernel((const void *)(uintptr_t)handle))
        found = make_thing(handle);
    return is_mixed ? NULL : found;
}

static bool is_about(const struct subject *a, const struct subject *b)
{
    return a->scope == b->scope && a->of == b->of && a->attribute == b->attribute;
}

static struct setting *find_setting(const struct thing *thing, const struct subject *subject,
                                    int value)
{
    struct setting *at = thing->settings;
    while (at && !(is_about(&at->subject, subject) && at->value == value))
        at = at->next;
    return at;
}

static uint64_t mix_in(uint64_t hash, uint64_t number)
{
    hash = (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

/* Equal settings of copies of equal code have the same number. */
static uint64_t hash_of_setting(const struct setting *setting)
{
    uint64_t of = setting->subject.of;
    if (ath_cuda_is_promise(of))
        of = ath_cuda_promise_copy(of, 0);
    uint64_t hash = mix_in(mix_in(1, setting->subject.scope), of);
    hash = mix_in(hash, (uint64_t)setting->subject.attribute);
    return mix_in(hash, (uint64_t)setting->value);
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
    if (!setting_count)
        return;
    is_lost = true;
    ATH_MAP_EACH(&things, at)
    forget_settings((struct thing *)*at);
}

static void forget_things(void)
{
    forget_all_settings();
    ATH_MAP_EACH(&things, at)
    free(ath_map_take(at));
}

/* ---- the state, for other files ---- */

/* Returns whether an attribute is about the size of clusters: whether the kernel needs one, and
 * which one. */
static bool is_of_clusters(uint64_t attribute)
{
    return attribute >= CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET &&
           attribute <= CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH;
}

/* Returns whether the answer to a question depends on a setting. Only the sizes of clusters depend
 * on each other. */
static bool matters(const struct setting *setting, uint64_t question)
{
    uint64_t set = (uint64_t)setting->subject.attribute, asked = question - 1;
    return setting->is_set &&
           (!question || set == asked || (is_of_clusters(set) && is_of_clusters(asked)));
}

uint64_t ath_cuda_attributes_state(uint64_t kernel, uint64_t attribute)
{
    pthread_mutex_lock(&lock);
    const struct thing *thing = thing_of(kernel);
    uint64_t state = mix_in(mix_in(thing != NULL, age), thing ? thing->turns : changes);
    for (const struct setting *at = thing ? thing->settings : NULL; at; at = at->next)
        state += matters(at, attribute) ? hash_of_setting(at) : 0;
    pthread_mutex_unlock(&lock);
    return state;
}

bool ath_cuda_attributes_lasting_state(uint64_t kernel, uint64_t attribute, uint64_t *out)
{
    pthread_mutex_lock(&lock);
    const struct thing *thing = thing_of(kernel);
    bool is_known = thing && !is_lost && !thing->turns;
    *out = 1;
    for (const struct setting *at = is_known ? thing->settings : NULL; at; at = at->next) {
        is_known &= !at->is_set || at->subject.scope != OF_CONTEXT;
        *out += matters(at, attribute) ? hash_of_setting(at) : 0;
    }
    pthread_mutex_unlock(&lock);
    return is_known;
}

/* Returns whether the attribute of a kernel's function is the kernel's: one of the code always, the
 * limit of shared memory before anything was set. The caller holds the lock. */
static bool is_as_the_kernels(uint64_t kernel, CUfunction_attribute attribute)
{
    const struct thing *thing = ath_map_find(&things, kernel);
    bool is_set = is_lost || (thing && thing->settings);
    return ath_cuda_is_attribute_of_code(attribute) ||
           (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && !is_set);
}

uint64_t ath_cuda_attributes_kernel_with(uint64_t function, CUfunction_attribute attribute)
{
    uint64_t kernel = ath_cuda_attributes_kernel_here(function);
    pthread_mutex_lock(&lock);
    bool is_alike = kernel && is_as_the_kernels(kernel, attribute);
    pthread_mutex_unlock(&lock);
    return is_alike ? kernel : 0;
}

uint64_t ath_cuda_attributes_kernel_here(uint64_t function)
{
    CUcontext context = ath_cuda_current_context();
    pthread_mutex_lock(&lock);
    const struct thing *name =
        is_mixed || ath_is_off(ATH_SWITCH_CACHES) ? NULL : ath_map_find(&things, function);
    uint64_t kernel = name && context && name->context == context ? name->kernel : 0;
    pthread_mutex_unlock(&lock);
    return kernel;
}

void ath_cuda_attributes_name(uint64_t kernel, uint64_t function)
{
    pthread_mutex_lock(&lock);
    struct thing *name = make_thing(function);
    if (!name) {
        is_mixed = true;
    } else if (!name->is_function || name->kernel != kernel) {
        forget_settings(name);
        name->is_function = true;
        name->kernel = kernel;
        name->context = ath_cuda_current_context();
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

static enum known look_up_setting(uint64_t kernel, const struct subject *subject, int value)
{
    enum known known = UNKNOWN;
    if (ath_is_off(ATH_SWITCH_CACHES))
        return known;
    pthread_mutex_lock(&lock);
    const struct thing *thing = thing_of(kernel);
    const struct setting *found = thing ? find_setting(thing, subject, value) : NULL;
    if (found)
        known = found->is_set ? SET : TAKEN;
    pthread_mutex_unlock(&lock);
    return known;
}

/* Marks older settings of the same subject as not set; after a change of scope, all settings. */
static void unset(struct thing *thing, const struct subject *subject)
{
    bool turns = thing->scope != subject->scope && thing->settings;
    thing->turns += turns;
    thing->scope = subject->scope;
    for (struct setting *at = thing->settings; at; at = at->next)
        if (turns || is_about(&at->subject, subject))
            at->is_set = false;
}

static struct setting *add_setting(struct thing *thing, const struct subject *subject, int value)
{
    struct setting *setting = calloc(1, sizeof *setting);
    if (!setting)
        return NULL;
    *setting = (struct setting){ .next = thing->settings, .subject = *subject, .value = value };
    thing->settings = setting;
    setting_count++;
    return setting;
}

/* Forgets all settings if memory runs out, or for a function that may name any kernel. */
static void note(uint64_t kernel, const struct subject *subject, int value)
{
    pthread_mutex_lock(&lock);
    changes++;
    if (setting_count >= SETTINGS_MAX)
        forget_all_settings();
    struct thing *thing = thing_of(kernel);
    if (thing)
        unset(thing, subject);
    struct setting *setting = thing ? find_setting(thing, subject, value) : NULL;
    if (thing && !setting)
        setting = add_setting(thing, subject, value);
    if (setting)
        setting->is_set = true;
    else
        forget_all_settings();
    pthread_mutex_unlock(&lock);
    ath_cuda_thread_cache_forget();
}

/* A setting that the program asks for. */
struct request {
    enum ath_cuda_method method;
    uint64_t handle; /* of the function or kernel */
    struct subject subject;
    int value;
    /* Fills the call of the exchange. */
    void (*fill)(struct ath_cuda_exchange *exchange, const struct request *request);
    /* Asks how much shared memory the kernel declares, and for which device it is. */
    CUresult (*ask_declared)(const struct request *request, int *out_bytes, CUdevice *out_device);
};

/* NVIDIA's driver reads beyond its table for a number that no attribute has, and crashes. */
static bool is_attribute(CUfunction_attribute attribute)
{
    enum { MOST = 1024 }; /* more than any driver has */
    return (unsigned int)attribute < MOST;
}

/* Returns whether a limit of dynamic shared memory is, with the memory that the kernel declares, no
 * more than a block can have (docs.nvidia.com/cuda/cuda-driver-api, "cuFuncSetAttribute"). */
static bool is_shared_limit_right(const struct request *request)
{
    int declared, most;
    CUdevice device;
    return request->value >= 0 && !request->ask_declared(request, &declared, &device) &&
           !ath_cuda_by_hand_cuDeviceGetAttribute(
               &most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device) &&
           request->value <= most - declared;
}

/* Returns whether the kernel's facts say that kernel and device are right. */
static bool is_of_a_device(const struct request *request, CUdevice *out_device)
{
    int declared;
    return !request->ask_declared(request, &declared, out_device);
}

/* Returns whether the driver must accept a request. The carveout is a hint in percent, or -1. Large
 * clusters may be allowed on every device that has clusters. Other attributes are not judged
 * (tests/gpu/programs/hopper.cu, driver 580). */
static bool must_be_accepted(const struct request *request)
{
    int has_clusters;
    CUdevice device;
    if (ath_is_off(ATH_SWITCH_CACHES))
        return false;
    switch ((int)request->subject.attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        return is_shared_limit_right(request);
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        return request->value >= -1 && request->value <= 100 && is_of_a_device(request, &device);
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        return (request->value == 0 || request->value == 1) && is_of_a_device(request, &device) &&
               !ath_cuda_by_hand_cuDeviceGetAttribute(&has_clusters,
                                                      CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, device) &&
               has_clusters;
    default:
        return false;
    }
}

/* The fact that the driver accepts a request. Its settings are those before the request. */
static struct ath_cuda_code_fact fact_of(const struct request *request)
{
    bool is_kept = request->subject.scope != OF_CONTEXT;
    return (struct ath_cuda_code_fact){ ATH_CUDA_CODE_SETTING,
                                        is_kept ? request->handle : 0,
                                        { request->subject.scope, request->subject.of,
                                          (uint64_t)request->subject.attribute,
                                          (uint64_t)request->value } };
}

/* Returns the value of a subject that was set, if no setting of another scope was. */
static bool find_value(uint64_t handle, const struct subject *subject, int *out)
{
    pthread_mutex_lock(&lock);
    const struct thing *thing = ath_is_off(ATH_SWITCH_CACHES) ? NULL : thing_of(handle);
    const struct setting *at = thing && !thing->turns ? thing->settings : NULL;
    while (at && !(at->is_set && is_about(&at->subject, subject)))
        at = at->next;
    if (at)
        *out = at->value;
    pthread_mutex_unlock(&lock);
    return at;
}

/* Returns whether an attribute is read as it was set. */
static bool is_read_as_set(CUfunction_attribute attribute)
{
    return attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
           attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT ||
           attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
}

bool ath_cuda_attributes_setting(uint64_t kernel, CUdevice device, CUfunction_attribute attribute,
                                 int *out)
{
    const struct subject subject = { OF_DEVICE, (uint64_t)device, attribute };
    return is_read_as_set(attribute) && find_value(kernel, &subject, out);
}

static CUresult set(const struct request *request)
{
    struct ath_cuda_exchange exchange;
    enum known known = look_up_setting(request->handle, &request->subject, request->value);
    const struct ath_cuda_code_fact fact = fact_of(request);
    bool is_fact = known == UNKNOWN && ath_cuda_code_facts_has(&fact);
    if (is_fact || (known == UNKNOWN && must_be_accepted(request)))
        known = TAKEN;
    CUresult status = ath_cuda_begin(&exchange, request->method);
    if (status)
        return status;
    if (known == SET || !is_attribute(request->subject.attribute))
        return ath_cuda_end(&exchange, known == SET ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    exchange.kernel = request->handle;
    request->fill(&exchange, request);
    status = known == TAKEN ? ath_cuda_post(&exchange) : ath_cuda_ask(&exchange);
    if (!status && known == UNKNOWN)
        ath_cuda_code_facts_note(&fact);
    if (!status)
        note(request->handle, &request->subject, request->value);
    return ath_cuda_end(&exchange, status);
}

/* ---- functions ---- */

static struct subject function_subject(CUfunction function, CUfunction_attribute attribute)
{
    pthread_mutex_lock(&lock);
    const struct thing *found = ath_map_find(&things, (uintptr_t)function);
    bool is_kernel = ath_cuda_is_kernel(function) && (!found || !found->is_function);
    pthread_mutex_unlock(&lock);
    return is_kernel
               ? (struct subject){ OF_CONTEXT, (uintptr_t)ath_cuda_current_context(), attribute }
               : (struct subject){ OF_FUNCTION, (uintptr_t)function, attribute };
}

bool ath_cuda_attributes_setting_of_function(CUfunction function, CUfunction_attribute attribute,
                                             int *out)
{
    const struct subject subject = function_subject(function, attribute);
    return is_read_as_set(attribute) && find_value((uintptr_t)function, &subject, out);
}

static CUresult ask_function(const struct request *request, int *out_bytes, CUdevice *out_device)
{
    CUresult status = ath_cuda_by_hand_cuCtxGetDevice(out_device);
    return status
               ? status
               : ath_cuda_by_hand_cuFuncGetAttribute(out_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                                                     (CUfunction)(uintptr_t)request->handle);
}

static void fill_for_function(struct ath_cuda_exchange *exchange, const struct request *request)
{
    struct ath_cuda_wire_func_set_attribute_builder call =
        ath_cuda_wire_call_init_func_set_attribute(exchange->call);
    ath_cuda_wire_func_set_attribute_set_function(
        call, ath_cuda_to_wire(&exchange->side, ATH_CUDA_KIND_FUNCTION, request->handle));
    ath_cuda_wire_func_set_attribute_set_attribute(call, (uint32_t)request->subject.attribute);
    ath_cuda_wire_func_set_attribute_set_value(call, request->value);
}

CUresult ath_cuda_by_hand_cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                                             int value)
{
    return set(&(struct request){ .method = ATH_CUDA_METHOD_cuFuncSetAttribute,
                                  .handle = (uintptr_t)function,
                                  .subject = function_subject(function, attribute),
                                  .value = value,
                                  .fill = fill_for_function,
                                  .ask_declared = ask_function });
}

/* ---- kernels ---- */

static CUresult ask_kernel(const struct request *request, int *out_bytes, CUdevice *out_device)
{
    *out_device = (CUdevice)request->subject.of;
    return ath_cuda_by_hand_cuKernelGetAttribute(out_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                                                 (CUkernel)(uintptr_t)request->handle, *out_device);
}

static void fill_for_kernel(struct ath_cuda_exchange *exchange, const struct request *request)
{
    struct ath_cuda_wire_kernel_set_attribute_builder call =
        ath_cuda_wire_call_init_kernel_set_attribute(exchange->call);
    ath_cuda_wire_kernel_set_attribute_set_attribute(call, (uint32_t)request->subject.attribute);
    ath_cuda_wire_kernel_set_attribute_set_value(call, request->value);
    ath_cuda_wire_kernel_set_attribute_set_kernel(
        call, ath_cuda_to_wire(&exchange->side, ATH_CUDA_KIND_KERNEL, request->handle));
    ath_cuda_wire_kernel_set_attribute_set_device(
        call,
        (int32_t)ath_cuda_to_wire(&exchange->side, ATH_CUDA_KIND_DEVICE, request->subject.of));
}

CUresult ath_cuda_by_hand_cuKernelSetAttribute(CUfunction_attribute attribute, int value,
                                               CUkernel kernel, CUdevice device)
{
    return set(&(struct request){ .method = ATH_CUDA_METHOD_cuKernelSetAttribute,
                                  .handle = (uintptr_t)kernel,
                                  .subject = { OF_DEVICE, (uint64_t)device, attribute },
                                  .value = value,
                                  .fill = fill_for_kernel,
                                  .ask_declared = ask_kernel });
}
