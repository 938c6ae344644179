/* A table of the promised handles, and the keys of facts. */
#include "config.h"

#include "cuda/client/code_facts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "cuda/client/call_summary.h"
#include "cuda/client/connection.h"
#include "cuda/client/context_locals.h"
#include "cuda/client/device_facts.h"
#include "cuda/client/fact_file.h"
#include "cuda/client/kernel_attribute.h"
#include "cuda/client/prefetch.h"
#include "cuda/common/promise.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"
#include "remote/switches.h"

enum { DEVICES_MAX = 64 };

/* A handle that was promised. It stays when the code is unloaded. */
struct promise {
    struct ath_map_entry entry;         /* by the handle */
    struct ath_fingerprint_value print; /* of the code, or of a kernel's code and name */
    bool is_loaded;
    bool is_new;       /* no earlier run loaded it, and no kernel was asked for */
    bool is_large;     /* its kernels did not come with the first one */
    CUcontext context; /* of a kernel's function or of a module */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ath_map promises = ATH_MAP(10);

/* Fingerprints of devices, and of all of them; 0: not made yet. */
static _Atomic uint64_t devices[DEVICES_MAX], machine;

/* Methods whose answers are no longer those of a program's start. */
static atomic_bool is_stopped[ATH_CUDA_METHOD_COUNT];

/* ---- whether, and for which device ---- */

bool ath_cuda_promises_code(void)
{
    struct ath_fingerprint_value driver;
    if (ath_is_off(ATH_SWITCH_FACTS) || ath_is_off(ATH_SWITCH_CACHES) || !ath_cuda_is_line_slow())
        return false;
    ath_cuda_driver_fingerprint(&driver);
    if (!driver.a && !driver.b)
        return false;
    ath_cuda_fact_file_open(&driver);
    return true;
}

/* These answers are in the answer cache. Returns 0 on failure. */
static uint64_t fingerprint_device(CUdevice device)
{
    struct ath_fingerprint print = ATH_FINGERPRINT_START;
    char name[256] = "";
    CUuuid uuid;
    int value;
    ath_cuda_device_facts_fetch(device);
    if (ath_cuda_do_cuDeviceGetName(name, sizeof name, device) ||
        ath_cuda_do_cuDeviceGetUuid(&uuid, device))
        return 0;
    ath_fingerprint_add(&print, name, strlen(name));
    ath_fingerprint_add(&print, &uuid, sizeof uuid);
    for (int i = 1; i < (int)CU_DEVICE_ATTRIBUTE_MAX; i++) {
        CUresult status =
            ath_cuda_by_hand_cuDeviceGetAttribute(&value, (CUdevice_attribute)i, device);
        int numbers[] = { i, (int)status, status ? 0 : value };
        ath_fingerprint_add(&print, numbers, sizeof numbers);
    }
    return ath_fingerprint_end(&print).a | 1;
}

/* The device of the current context if that is a primary one. */
static bool find_device(CUdevice *device)
{
    return ath_cuda_device_of_primary(ath_cuda_current_context(), device) && *device >= 0 &&
           *device < DEVICES_MAX;
}

void ath_cuda_code_facts_begin(void)
{
    CUdevice device;
    if (find_device(&device) && !devices[device] && ath_cuda_promises_code())
        devices[device] = fingerprint_device(device);
}

/* All devices: the runtime loads code before it has a context. Their facts take one round trip. */
static uint64_t fingerprint_machine(void)
{
    ATH_AUTO(ath_cuda_prefetch) ahead = { 0 };
    struct ath_fingerprint print = ATH_FINGERPRINT_START;
    int count = 0;
    if (ath_cuda_do_cuDeviceGetCount(&count) || count < 1 || count > DEVICES_MAX)
        return 0;
    for (int i = 0; i < count; i++)
        ath_cuda_device_facts_begin(i, &ahead);
    ath_cuda_prefetch_wait(&ahead);
    for (int i = 0; i < count; i++) {
        uint64_t device = fingerprint_device(i);
        if (!device)
            return 0;
        ath_fingerprint_add(&print, &device, sizeof device);
    }
    return ath_fingerprint_end(&print).a | 1;
}

/* The fingerprint of the current context's device, if it has been made; 0: no facts are kept. */
static uint64_t known_device(void)
{
    CUdevice device;
    return find_device(&device) ? atomic_load(&devices[device]) : 0;
}

/* ---- copies ---- */

/*
 * Copies of code have the same facts, so keys and answers are kept with the handles of the first
 * copy. Sets the number of copies in all promised handles of a message or key, and returns the
 * number that was there. Messages are made of words of eight bytes (remote/wire).
 */
static uint64_t set_copies(void *bytes, size_t length, uint64_t copy_of)
{
    uint64_t word, found = 0;
    for (size_t i = 0; i + sizeof word <= length; i += sizeof word) {
        memcpy(&word, (uint8_t *)bytes + i, sizeof word);
        if (!ath_cuda_is_promise(word))
            continue;
        found |= word & ATH_CUDA_PROMISE_COPY;
        word = (word & ~ATH_CUDA_PROMISE_COPY) | (copy_of & ATH_CUDA_PROMISE_COPY);
        memcpy((uint8_t *)bytes + i, &word, sizeof word);
    }
    return found;
}

/* Keeps a value, which belongs to any copy. */
static void add_value(const void *key, size_t key_length, const void *value, size_t length,
                      bool is_used)
{
    ATH_AUTO(ath_frame) kept = { 0 };
    if (ath_frame_copy(&kept, value, length))
        return;
    (void)set_copies(kept.bytes, kept.length, 0);
    ath_cuda_fact_file_add(key, key_length, kept.bytes, kept.length, is_used);
}

/* Finds a value, as one of the copy to which a handle belongs. */
static bool find_value(const void *key, size_t key_length, uint64_t copy_of, struct ath_frame *out)
{
    bool is_found = ath_cuda_fact_file_find(key, key_length, out);
    if (is_found)
        (void)set_copies(out->bytes, out->length, copy_of);
    return is_found;
}

/* ---- facts that are no answers to questions ---- */

/* No message has such a beginning. */
struct key {
    uint64_t mark, device, settings;
    struct ath_cuda_code_fact fact;
};

static bool make_key(const struct ath_cuda_code_fact *fact, struct key *out)
{
    memset(out, 0, sizeof *out);
    out->mark = UINT64_MAX;
    out->device = fact->word == ATH_CUDA_CODE_LOADED ? machine : known_device();
    out->fact.word = fact->word;
    out->fact.handle = fact->handle;
    memcpy(out->fact.numbers, fact->numbers, sizeof fact->numbers);
    (void)set_copies(&out->fact, sizeof out->fact, 0);
    if (fact->word == ATH_CUDA_CODE_START) { /* its numbers name the device: the program may end in
                                              * another context */
        out->device = 0;
        return true;
    }
    return out->device && ath_cuda_is_promise(fact->handle) &&
           (fact->word == ATH_CUDA_CODE_LOADED ||
            (!is_stopped[ATH_CUDA_METHOD_cuKernelGetAttribute] &&
             ath_cuda_attributes_lasting_state(fact->handle, 0, &out->settings)));
}

static bool find_fact(const struct ath_cuda_code_fact *fact, struct ath_frame *value)
{
    struct key key;
    if (!make_key(fact, &key))
        return false;
    return ath_cuda_is_promise(fact->handle)
               ? find_value(&key, sizeof key, fact->handle, value)
               : ath_cuda_fact_file_find(&key, sizeof key, value); /* no message */
}

/* The fact is one of promised code. */
static void note_fact(const struct ath_cuda_code_fact *fact, const void *value, size_t length)
{
    struct key key;
    if (make_key(fact, &key))
        add_value(&key, sizeof key, value, length, true);
}

/* ---- promised handles ---- */

/* Returns the promise of a handle, or NULL if the handle belongs to other code, or if memory runs
 * out. The caller holds the lock. */
static struct promise *promise_of(uint64_t handle, struct ath_fingerprint_value print)
{
    struct promise *found = ath_map_find(&promises, handle);
    if (!found && (found = calloc(1, sizeof *found))) {
        found->print = print;
        ath_map_add(&promises, &found->entry, handle);
    }
    return found && found->print.a == print.a && found->print.b == print.b ? found : NULL;
}

static void set_new(uint64_t handle)
{
    pthread_mutex_lock(&lock);
    struct promise *promise = ath_map_find(&promises, handle);
    if (promise)
        promise->is_new = true;
    pthread_mutex_unlock(&lock);
}

void ath_cuda_promised_code_free(struct ath_cuda_promised_code *code)
{
    if (code)
        ath_frame_free(&code->answer);
}

/* The fact that code was loaded. A module belongs to a context: another device may refuse it. */
static struct ath_cuda_code_fact loaded(const struct ath_cuda_promised_code *code,
                                        struct ath_fingerprint_value print)
{
    return (struct ath_cuda_code_fact){ ATH_CUDA_CODE_LOADED,
                                        code->handle,
                                        { print.a, print.b, code->has_options,
                                          code->is_module ? known_device() : 0 } };
}

/* Looks whether an earlier run loaded the code, and what its options returned. */
static void find_loaded(struct ath_cuda_promised_code *code, struct ath_fingerprint_value print)
{
    const struct ath_cuda_code_fact fact = loaded(code, print);
    if (code->is_module && !known_device())
        return;
    code->is_known =
        code->has_options ? find_fact(&fact, &code->answer) : ath_cuda_code_facts_has(&fact);
}

/* Returns a handle for code that the program does not have loaded with this handle yet; 0: there
 * are too many copies of this code already. */
static uint64_t promise_copy(struct ath_fingerprint_value print, CUcontext context)
{
    uint64_t handle = 0;
    pthread_mutex_lock(&lock);
    for (uint32_t copy = 0; copy < ATH_CUDA_PROMISE_COPIES && !handle; copy++) {
        uint64_t next = ath_cuda_promise_copy(ath_cuda_promise_from_hash(print.a, 0), copy);
        struct promise *promise = promise_of(next, print);
        if (promise && !promise->is_loaded) {
            promise->is_loaded = true;
            promise->context = context;
            handle = next;
        }
    }
    pthread_mutex_unlock(&lock);
    return handle;
}

struct ath_cuda_promised_code ath_cuda_promise_code(enum ath_cuda_method method,
                                                    const struct ath_fingerprint *images,
                                                    bool has_options)
{
    struct ath_fingerprint print = *images;
    struct ath_fingerprint_value value;
    struct ath_cuda_promised_code code = {
        .has_options = has_options,
        .is_module = method == ATH_CUDA_METHOD_cuModuleLoadDataEx,
    };
    if (!machine)
        machine = fingerprint_machine();
    if (!machine)
        return code;
    ath_cuda_code_facts_begin();
    ath_fingerprint_add(&print, &method, sizeof method);
    value = ath_fingerprint_end(&print);
    code.handle = promise_copy(value, code.is_module ? ath_cuda_current_context() : NULL);
    if (code.handle)
        find_loaded(&code, value);
    if (code.handle && !code.is_known)
        set_new(code.handle);
    return code;
}

bool ath_cuda_promise_wants_kernels(uint64_t code, struct ath_cuda_promised_library *out)
{
    if (!ath_cuda_is_promise(code) || !known_device())
        return false;
    pthread_mutex_lock(&lock);
    struct promise *promise = ath_map_find(&promises, code);
    bool is_wanted = promise && (promise->is_new || promise->is_large);
    if (is_wanted) {
        *out = (struct ath_cuda_promised_library){ promise->print, promise->is_large };
        promise->is_new = false;
    }
    pthread_mutex_unlock(&lock);
    return is_wanted;
}

void ath_cuda_promise_note_large(uint64_t code)
{
    pthread_mutex_lock(&lock);
    struct promise *promise = ath_map_find(&promises, code);
    if (promise)
        promise->is_large = true;
    pthread_mutex_unlock(&lock);
}

bool ath_cuda_promise_holds(uint64_t handle)
{
    pthread_mutex_lock(&lock);
    const struct promise *promise =
        ath_cuda_is_promise(handle) ? ath_map_find(&promises, handle) : NULL;
    bool yes = promise && promise->is_loaded;
    pthread_mutex_unlock(&lock);
    return yes;
}

void ath_cuda_promise_end(uint64_t handle)
{
    pthread_mutex_lock(&lock);
    struct promise *promise = ath_map_find(&promises, handle);
    if (promise)
        promise->is_loaded = false;
    pthread_mutex_unlock(&lock);
}

void ath_cuda_promise_broken(const struct ath_cuda_promised_code *code)
{
    if (code->handle)
        ath_cuda_promise_end(code->handle);
}

void ath_cuda_promise_kept(const struct ath_cuda_promised_code *code, uint64_t handle,
                           const struct ath_frame *answer)
{
    if (!code->handle || code->is_known)
        return;
    if (handle != code->handle) { /* the server chose another one */
        ath_cuda_promise_end(code->handle);
        return;
    }
    pthread_mutex_lock(&lock);
    const struct promise *promise = ath_map_find(&promises, handle);
    struct ath_fingerprint_value print =
        promise ? promise->print : (struct ath_fingerprint_value){ 0 };
    pthread_mutex_unlock(&lock);
    const struct ath_cuda_code_fact fact = loaded(code, print);
    if (code->has_options)
        note_fact(&fact, answer->bytes, answer->length);
    else
        ath_cuda_code_facts_note(&fact);
}

uint64_t ath_cuda_promise_kernel(uint64_t code, const char *name)
{
    CUcontext context = ath_cuda_current_context();
    uint64_t handle = 0;
    if (!name || !ath_cuda_is_promise(code))
        return 0;
    ath_cuda_code_facts_begin();
    if (!known_device())
        return 0;
    pthread_mutex_lock(&lock);
    const struct promise *of = ath_map_find(&promises, code);
    if (of && of->is_loaded && (!of->context || of->context == context)) {
        struct ath_fingerprint print = ATH_FINGERPRINT_START;
        ath_fingerprint_add(&print, &of->print, sizeof of->print);
        ath_fingerprint_add(&print, name, strlen(name));
        struct ath_fingerprint_value value = ath_fingerprint_end(&print);
        uint64_t promised = ath_cuda_promise_from_hash(value.a, code);
        struct promise *promise = promise_of(promised, value);
        if (promise && !promise->context)
            promise->context = context;
        if (promise && promise->context == context)
            handle = promised;
    }
    pthread_mutex_unlock(&lock);
    return handle;
}

void ath_cuda_promises_clear(void)
{
    pthread_mutex_lock(&lock);
    ATH_MAP_EACH(&promises, at)
    free(ath_map_take(at));
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < DEVICES_MAX; i++)
        devices[i] = 0;
    machine = 0;
    for (size_t i = 0; i < ATH_CUDA_METHOD_COUNT; i++)
        is_stopped[i] = false;
    ath_cuda_fact_file_close();
}

/* ---- questions ---- */

void ath_cuda_code_facts_stop(const short *methods)
{
    for (const short *at = methods; at && *at >= 0; at++)
        if (ath_cuda_methods[*at].of_code)
            is_stopped[*at] = true;
}

uint64_t ath_cuda_code_facts_to_wire(struct ath_cuda_side *side, enum ath_cuda_kind kind,
                                     uint64_t own)
{
    struct ath_cuda_exchange *exchange = (struct ath_cuda_exchange *)side;
    uint64_t wire = ath_cuda_client_to_wire(side, kind, own);
    CUdevice device;
    switch (kind) {
    case ATH_CUDA_KIND_DEVICE:
        exchange->is_unlike |= !find_device(&device) || device != (CUdevice)own;
        break;
    case ATH_CUDA_KIND_FUNCTION:
    case ATH_CUDA_KIND_KERNEL:
    case ATH_CUDA_KIND_LIBRARY:
    case ATH_CUDA_KIND_MODULE:
        exchange->is_unlike |= !ath_cuda_is_promise(wire);
        break;
    case ATH_CUDA_KIND_STREAM:
        exchange->is_unlike |= wire > (uintptr_t)CU_STREAM_PER_THREAD;
        break;
    default:
        exchange->is_unlike |= wire != 0;
        break;
    }
    return wire;
}

/* The number that stands for the settings of the question's kernel. Returns false if they are not
 * known. */
static bool find_settings(const struct ath_cuda_exchange *exchange, uint64_t *settings)
{
    *settings = 0;
    return !ath_cuda_methods[exchange->method].of_settings ||
           (exchange->kernel &&
            ath_cuda_attributes_lasting_state(exchange->kernel, exchange->attribute, settings));
}

/* Returns whether the answer may be kept; counts why not. */
static bool may_keep(const struct ath_cuda_exchange *exchange, uint64_t device, uint64_t *settings)
{
    const struct ath_cuda_method_facts *facts = &ath_cuda_methods[exchange->method];
    bool is_gone = facts->gets && !exchange->promised;
    if (!facts->of_code || !machine || exchange->side.status)
        return false;
    bool is_known = find_settings(exchange, settings);
    if (device && !exchange->is_unlike && !is_gone && !is_stopped[exchange->method] && is_known)
        return true;
    ath_cuda_call_summary_not_kept(exchange->method, !device ? ATH_CUDA_NOT_KEPT_CONTEXT
                                                     : exchange->is_unlike || is_gone
                                                         ? ATH_CUDA_NOT_KEPT_HANDLE
                                                     : !is_known ? ATH_CUDA_NOT_KEPT_SETTINGS
                                                                 : ATH_CUDA_NOT_KEPT_CHANGED);
    return false;
}

bool ath_cuda_code_facts_key(struct ath_cuda_exchange *exchange, struct ath_frame *key)
{
    uint64_t device = known_device(), settings;
    size_t length;
    int status;
    if (!may_keep(exchange, device, &settings))
        return false;
    ath_cuda_wire_call_set_context(exchange->call, device);
    ath_cuda_wire_call_set_number(exchange->call, settings);
    const uint8_t *frame = ath_wire_finish(&exchange->thread->builder, &length, &status);
    bool is_made = frame && !ath_frame_copy(key, frame, length);
    if (is_made)
        exchange->copy = set_copies(key->bytes, key->length, 0);
    ath_cuda_put_context(exchange);
    return is_made;
}

bool ath_cuda_code_facts_find(const struct ath_cuda_exchange *exchange, const struct ath_frame *key,
                              struct ath_frame *answer)
{
    return find_value(key->bytes, key->length, exchange->copy, answer);
}

/* Returns whether the server gave the handles that were promised. */
static bool keeps_promise(const struct ath_cuda_exchange *exchange)
{
    uint64_t promised = exchange->promised;
    if (exchange->method == ATH_CUDA_METHOD_cuModuleGetFunction)
        return ath_cuda_wire_module_get_function_result_function(
                   ath_cuda_wire_answer_module_get_function(exchange->answer)) ==
               ath_cuda_promise_function(promised);
    if (exchange->method != ATH_CUDA_METHOD_cuLibraryGetKernel)
        return true;
    struct ath_cuda_wire_library_get_kernel_result answer =
        ath_cuda_wire_answer_library_get_kernel(exchange->answer);
    uint64_t function = ath_cuda_wire_library_get_kernel_result_function(answer);
    return ath_cuda_wire_library_get_kernel_result_kernel(answer) == promised &&
           (!function || function == ath_cuda_promise_function(promised));
}

void ath_cuda_code_facts_add(const struct ath_cuda_exchange *exchange, const struct ath_frame *key,
                             bool is_used)
{
    const struct ath_frame *answer = &exchange->thread->answer;
    if (keeps_promise(exchange))
        add_value(key->bytes, key->length, answer->bytes, answer->length, is_used);
}

/* ---- facts that are no answers, for other files ---- */

bool ath_cuda_code_facts_bytes(const struct ath_cuda_code_fact *fact, struct ath_frame *out)
{
    return find_fact(fact, out);
}

void ath_cuda_code_facts_replace(const struct ath_cuda_code_fact *fact,
                                 const struct ath_frame *value)
{
    struct key key;
    if (make_key(fact, &key))
        ath_cuda_fact_file_replace(&key, sizeof key, value->bytes, value->length);
}

bool ath_cuda_code_facts_has(const struct ath_cuda_code_fact *fact)
{
    ATH_AUTO(ath_frame) value = { 0 };
    return find_fact(fact, &value);
}

void ath_cuda_code_facts_note(const struct ath_cuda_code_fact *fact)
{
    const uint64_t value = 1;
    note_fact(fact, &value, sizeof value);
}

uint64_t ath_cuda_code_facts_device(void)
{
    return known_device();
}
