/* Finds the devices of this server and their problems, once, when the server starts. */
#pragma once
#include "remote/session/device_list.h"

/*
 * Finds the GPUs of this machine or container through the CUDA driver's libcuda.so.1. A child
 * process asks the driver, because a broken driver may hang, and because a process that has used
 * CUDA cannot fork.
 *
 *     is_simulated  use the simulator instead of the driver
 *     wanted        addresses to serve; each missing one is a problem; count 0: serve all
 *
 * Never fails: without a driver or a GPU the list is empty, and a problem says why.
 */
void ath_devices_find(bool is_simulated, const struct ath_pci *wanted, size_t wanted_count,
                      struct ath_devices *out);

__attribute__((format(printf, 5, 6))) void ath_devices_add_problem(struct ath_devices *devices,
                                                                   bool is_fault, const char *code,
                                                                   const char *object,
                                                                   const char *format, ...);
