/* The devices of a server that a program sees. */
#pragma once
#include <stddef.h>

#include "remote/session/device_list.h"

/*
 * The devices of a program by CUDA's rules for CUDA_VISIBLE_DEVICES (CUDA programming guide,
 * "CUDA Environment Variables"): numbers or beginnings of UUIDs, up to the first word
 * that names no device.
 *
 * wanted  NULL: all
 * by_pci  numbers count by PCI address (CUDA_DEVICE_ORDER=PCI_BUS_ID), not in the server's order
 * out     their places in devices->items; returns how many
 */
size_t ath_visible_devices(const struct ath_devices *devices, const char *wanted, bool by_pci,
                           size_t out[ATH_DEVICES_MAX]);

/* Returns the same choice in the form of the driver's own CUDA_VISIBLE_DEVICES, by UUIDs; "-1" for
 * no device. Returns NULL if a device has no UUID. The caller frees the text. */
char *ath_visible_value(const struct ath_devices *devices, const size_t *chosen, size_t count);
