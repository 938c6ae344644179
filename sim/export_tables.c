/* The tables for static CUDA runtimes, on the simulated driver. */
#include "config.h"

#include "sim/export_tables.h"

#ifdef ATH_RUNTIME_TABLES
#include "cuda/api/export_tables.h"
#include "sim/context_local.h"
#include "sim/device.h"
#include "sim/facts.h"
#include "sim/sim.h"

static size_t list_devices(struct ath_table_device *out, size_t room)
{
    SIM_LOCKED;
    size_t count = (size_t)sim_device_count();
    for (size_t i = 0; i < count && i < room; i++) {
        out[i] = (struct ath_table_device){ .pci_domain = SIM_PCI_DOMAIN,
                                            .pci_bus = sim_device_bus(sim_device_number((int)i)) };
        sim_device_uuid(sim_device_number((int)i), (char *)out[i].uuid);
    }
    return count;
}

static const struct ath_tables_driver driver = {
    .version = SIM_DRIVER_VERSION,
    .retain_primary = cuDevicePrimaryCtxRetain,
    .get_current = cuCtxGetCurrent,
    .get_id = cuCtxGetId,
    .get_stream_id = cuStreamGetId,
    .put_local = sim_local_put,
    .delete_local = sim_local_delete,
    .get_local = sim_local_get,
    .list_devices = list_devices,
};

const void *sim_table(const CUuuid *id)
{
    return ath_table_find(&driver, (const unsigned char *)id->bytes);
}
#else
const void *sim_table(const CUuuid *id)
{
    (void)id;
    return NULL;
}
#endif
