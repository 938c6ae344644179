/* The wrapping functions' places in the driver's table. */
#include "config.h"

#include "runtime/quota/quota.h"

#include <string.h>

#include "runtime/quota/pool_usage.h"
#include "runtime/quota/session_quota.h"
#include "runtime/quota/wrappers.h"

void ath_quota_set_devices(const struct ath_books *books, const size_t *devices, size_t count)
{
    ath_quota.books = books;
    ath_quota.count = count < ATH_DEVICES_MAX ? count : ATH_DEVICES_MAX;
    memcpy(ath_quota.devices, devices, ath_quota.count * sizeof *devices);
}

const struct ath_cuda_driver *ath_quota_wrap(const atomic_uint *captures,
                                             struct ath_cuda_driver *driver)
{
    ath_quota.captures = captures;
    ath_quota.driver = *driver;
    ath_pool_usage_begin(driver, ath_quota_charge_pool);
    ath_quota_wrap_driver(driver);
    return &ath_quota.driver;
}
