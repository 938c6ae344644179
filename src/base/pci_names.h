/* Names of GPUs and network cards that are common in GPU servers, for captures and for machines
 * whose driver does not report a name. */
#pragma once

/* Returns "ConnectX-5 Ex", "Tesla V100 SXM2 16GB" and so on; NULL for ids that are not in the
 * table. Unknown ids may be given as -1. The text is static. */
const char *ath_pci_name(int vendor_id, int device_id);
