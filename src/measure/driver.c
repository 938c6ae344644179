/* Loads the table of driver functions. */
#include "config.h"

#include "measure/driver.h"

static const char *const names[] = { ATH_MEASURE_FUNCTIONS(ATH_LATE_NAME) NULL };

int ath_measure_driver_load(struct ath_measure_driver *out, struct ath_err *err)
{
    return ath_late_load("libcuda.so.1", "libcuda1", names, out, err);
}

const char *ath_measure_driver_error(const struct ath_measure_driver *driver, CUresult status)
{
    const char *name = NULL;
    if (driver->cuGetErrorName(status, &name) || !name)
        return "CUDA_ERROR_UNKNOWN";
    return name;
}
