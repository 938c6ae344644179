/* Machine models with a profile. */
#pragma once
#include <stdbool.h>

/*
 * Returns the name of the profile ("ac922") for a machine's model or for the device tree's
 * `compatible`, or "generic". Both arguments may be NULL. The text is static.
 */
const char *ath_profile_of(const char *model, const char *compatible);

/* Returns the threads of each core of a profile's processors, numbered in a row; ATH_UNKNOWN if the
 * profile does not say it. */
int ath_profile_threads(const char *profile);

/*
 * True if the memory of a profile's GPUs is a NUMA node for each GPU. device_id is the PCI id of
 * one of NVIDIA's GPUs: false for cards that such a machine may have as well. ATH_UNKNOWN: any GPU.
 */
bool ath_profile_has_gpu_node(const char *profile, int device_id);
