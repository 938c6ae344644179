/* CUDA's compute capabilities of GPUs, by their PCI device ids. */
#pragma once

/* Returns 70 for 7.0, or ATH_UNKNOWN if the table lacks the GPU. */
int ath_compute_capability(int vendor_id, int device_id);
