/*
 * The file that keeps a measurement: JSON "aitherion.measured/1". GPUs are named by PCI address and
 * UUID, with the date and the version of the driver. It is written whole or not at all.
 */
#pragma once
#include "measure/measurement.h"

#define ATH_MEASURED_SCHEMA "aitherion.measured/1"

/* Missing folders are made. Returns 0, or a negative errno with err. */
int ath_measurement_save(const char *path, const struct ath_measurement *measurement,
                         struct ath_err *err);

/* The caller frees *out with free(). Returns 0, or a negative errno with err: not readable, or
 * -EINVAL if it is not such a file; err then has the fault without the path. */
int ath_measurement_load(const char *path, struct ath_measurement **out, struct ath_err *err);
