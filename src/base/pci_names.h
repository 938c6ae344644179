/* Names of the GPUs and network cards that one meets in GPU servers, for captures and machines
 * whose driver does not tell. */
#pragma once

/* "ConnectX-5 Ex", "Tesla V100 SXM2 16GB"; NULL for ids that are not in the table. Unknown ids may
 * be given as -1. */
const char *ath_pci_name(int vendor_id, int device_id);
