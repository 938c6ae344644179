/* The facts that a CUDA runtime asks about each device at its start, and libraries later: more than
 * a hundred questions, sent together. */
#include "config.h"

#include <stdatomic.h>

#include "base/cleanup.h"
#include "cuda/client/client.h"
#include "cuda/client/device_facts.h"
#include "cuda/client/prefetch.h"
#include "proto/cuda-wire.h"

enum {
    DEVICES_MAX = ATH_CUDA_DEVICE_FACTS_MAX,
    NAME_BYTES = 256 /* the runtime's cudaDeviceProp.name */
};

static void ask_attributes(struct ath_cuda_prefetch *ahead, int32_t device)
{
    struct ath_cuda_exchange exchange;
    for (uint32_t attribute = 1; attribute < CU_DEVICE_ATTRIBUTE_MAX; attribute++) {
        if (ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuDeviceGetAttribute))
            return;
        struct ath_cuda_wire_device_get_attribute_builder call =
            ath_cuda_wire_call_init_device_get_attribute(exchange.call);
        ath_cuda_wire_device_get_attribute_set_attribute(call, attribute);
        ath_cuda_wire_device_get_attribute_set_device(call, device);
        ath_cuda_prefetch_ask(ahead, &exchange);
    }
}

static void ask_what_it_is(struct ath_cuda_prefetch *ahead, int32_t device)
{
    struct ath_cuda_exchange exchange;
    if (!ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuDeviceGetName)) {
        struct ath_cuda_wire_device_get_name_builder call =
            ath_cuda_wire_call_init_device_get_name(exchange.call);
        ath_cuda_wire_device_get_name_set_len(call, NAME_BYTES);
        ath_cuda_wire_device_get_name_set_device(call, device);
        ath_cuda_prefetch_ask(ahead, &exchange);
    }
    if (!ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuDeviceGetUuid)) {
        ath_cuda_wire_device_get_uuid_set_device(
            ath_cuda_wire_call_init_device_get_uuid(exchange.call), device);
        ath_cuda_prefetch_ask(ahead, &exchange);
    }
    if (!ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuDeviceTotalMem_v2)) {
        ath_cuda_wire_device_total_mem_v2_set_device(
            ath_cuda_wire_call_init_device_total_mem_v2(exchange.call), device);
        ath_cuda_prefetch_ask(ahead, &exchange);
    }
}

static void ask_which(struct ath_cuda_prefetch *ahead, int32_t device)
{
    struct ath_cuda_exchange exchange;
    if (!ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuDeviceGetCount)) {
        ath_cuda_wire_call_set_device_get_count(exchange.call);
        ath_cuda_prefetch_ask(ahead, &exchange);
    }
    if (!ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuDeviceGet)) {
        ath_cuda_wire_device_get_set_ordinal(ath_cuda_wire_call_init_device_get(exchange.call),
                                             device);
        ath_cuda_prefetch_ask(ahead, &exchange);
    }
    if (!ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuModuleGetLoadingMode)) {
        ath_cuda_wire_call_set_module_get_loading_mode(exchange.call);
        ath_cuda_prefetch_ask(ahead, &exchange);
    }
}

static atomic_ullong taken[DEVICES_MAX]; /* ath_cuda_forgotten() plus 1 at that time */

void ath_cuda_device_facts_begin(int device, struct ath_cuda_prefetch *ahead)
{
    uint64_t now = ath_cuda_forgotten() + 1;
    if (device < 0 || device >= DEVICES_MAX || taken[device] == now ||
        atomic_exchange(&taken[device], now) == now)
        return;
    ask_which(ahead, device);
    ask_what_it_is(ahead, device);
    ask_attributes(ahead, device);
}

void ath_cuda_device_facts_undo(int device)
{
    taken[device] = 0;
}

void ath_cuda_device_facts_fetch(int device)
{
    ATH_AUTO(ath_cuda_prefetch) ahead = { 0 };
    ath_cuda_device_facts_begin(device, &ahead);
    ath_cuda_prefetch_wait(&ahead);
}
