/* Recognising virtual functions of network cards (SR-IOV) by their PCI ids. */
#pragma once
#include <stdbool.h>

/* Returns true if a driver calls functions with these ids virtual. */
bool ath_pci_is_virtual_id(int vendor_id, int device_id);
