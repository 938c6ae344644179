/* cuGetExportTable(): the functions that src/cuda/api/export_tables.c needs from this library.
 * Values that libraries store with a context stay on the client. Their end functions are called
 * when the context ends. */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/api/export_tables.h"
#include "cuda/client/client.h"
#include "cuda/client/context_locals.h"
#include "cuda/client/function_proxy.h"
#include "proto/cuda-client.h"

struct local {
    struct local *next;
    CUcontext context;
    void *key, *value;
    void (*end)(CUcontext context, void *key, void *value);
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct local *locals;

/* Removes a value from the list; key NULL: the first value of the context. */
static struct local *take_local(CUcontext context, void *key)
{
    pthread_mutex_lock(&lock);
    struct local **at = &locals;
    while (*at && ((*at)->context != context || (key && (*at)->key != key)))
        at = &(*at)->next;
    struct local *taken = *at;
    if (taken)
        *at = taken->next;
    pthread_mutex_unlock(&lock);
    return taken;
}

void ath_cuda_locals_end(CUcontext context)
{
    for (struct local *one; (one = take_local(context, NULL));) {
        if (one->end)
            one->end(context, one->key, one->value);
        free(one);
    }
}

#ifdef ATH_RUNTIME_TABLES

static struct local **local_at(CUcontext context, void *key)
{
    struct local **at = &locals;
    while (*at && ((*at)->context != context || (*at)->key != key))
        at = &(*at)->next;
    return at;
}

static CUresult put_local(CUcontext context, void *key, void *value,
                          void (*end)(CUcontext, void *key, void *value))
{
    if (!context && !(context = ath_cuda_current_context()))
        return CUDA_ERROR_INVALID_CONTEXT;
    struct local *made = calloc(1, sizeof *made);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    struct local **at = local_at(context, key);
    bool is_new = !*at;
    if (is_new) {
        *made = (struct local){ locals, context, key, value, end };
        locals = made;
    }
    pthread_mutex_unlock(&lock);
    if (!is_new)
        free(made);
    return is_new ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult delete_local(CUcontext context, void *key)
{
    struct local *taken = take_local(context ? context : ath_cuda_current_context(), key);
    free(taken);
    return taken ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult get_local(CUcontext context, void *key, void **out)
{
    if (!context && !(context = ath_cuda_current_context()))
        return CUDA_ERROR_INVALID_CONTEXT;
    pthread_mutex_lock(&lock);
    const struct local *found = *local_at(context, key);
    *out = found ? found->value : NULL;
    pthread_mutex_unlock(&lock);
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static size_t list_devices(struct ath_table_device *out, size_t room)
{
    int count = 0;
    if (ath_cuda_do_cuDeviceGetCount(&count))
        return 0;
    for (int i = 0; i < count && (size_t)i < room; i++) {
        CUdevice device = 0;
        CUuuid uuid = { { 0 } };
        memset(&out[i], 0, sizeof out[i]);
        if (ath_cuda_do_cuDeviceGet(&device, i))
            continue;
        ath_cuda_do_cuDeviceGetUuid(&uuid, device);
        memcpy(out[i].uuid, &uuid, sizeof out[i].uuid);
        ath_cuda_by_hand_cuDeviceGetAttribute(&out[i].pci_domain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID,
                                              device);
        ath_cuda_by_hand_cuDeviceGetAttribute(&out[i].pci_bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
                                              device);
        ath_cuda_by_hand_cuDeviceGetAttribute(&out[i].pci_device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID,
                                              device);
    }
    return (size_t)count;
}

/* For the runtime: see ath_cuda_unmade_primary(). */
static CUresult get_primary_context(CUcontext *out, CUdevice device)
{
    CUresult status = ath_cuda_by_hand_cuDevicePrimaryCtxRetain(out, device);
    if (status != CUDA_ERROR_OUT_OF_MEMORY)
        return status;
    *out = ath_cuda_unmade_primary(device);
    return *out ? CUDA_SUCCESS : status;
}

CUresult ath_cuda_by_hand_cuGetExportTable(const void **table, const CUuuid *id)
{
    static struct ath_tables_driver driver = {
        .retain_primary = get_primary_context,
        .get_current = ath_cuda_by_hand_cuCtxGetCurrent,
        .get_id = ath_cuda_do_cuCtxGetId,
        .get_stream_id = ath_cuda_do_cuStreamGetId,
        .put_local = put_local,
        .delete_local = delete_local,
        .get_local = get_local,
        .find_function = ath_cuda_function_proxy,
        .list_devices = list_devices,
    };
    int version = 0;
    if (!table || !id)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = ath_cuda_by_hand_cuDriverGetVersion(&version);
    if (status)
        return status;
    __atomic_store_n(&driver.version, (uint32_t)version, __ATOMIC_RELAXED);
    *table = ath_table_find(&driver, (const unsigned char *)id);
    return *table ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

#else

CUresult ath_cuda_by_hand_cuGetExportTable(const void **table, const CUuuid *id)
{
    if (!table || !id)
        return CUDA_ERROR_INVALID_VALUE;
    *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}

#endif
