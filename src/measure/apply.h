/* Gives a machine the figures that were measured of its GPUs. */
#pragma once
#include "measure/measurement.h"

/*
 * Sets the figures of all GPUs that are still those of the measurement, under the same driver.
 * The machine is finished. Returns NULL, or the reason why some or all figures are left out: "GPU
 * '0000:41:00.0' is another one". The caller frees it.
 */
char *ath_measurement_apply(const struct ath_measurement *measurement, struct ath_machine *machine);

/*
 * The same from a file. A file that does not exist changes nothing; one that cannot be read, or is
 * of other GPUs or another driver, is a warning of the machine. Returns false if there is no file.
 */
bool ath_measurement_apply_file(const char *path, struct ath_machine *machine);
