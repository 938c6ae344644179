/* Conversion between our macvlan modes and the kernel's. Shared by link.c and link_change.c. */
#pragma once
#include <stdint.h>

/* Convert between enum ath_macvlan_mode and MACVLAN_MODE_* of linux/if_link.h. to_kernel returns 0
 * for an invalid mode, from_kernel ATH_UNKNOWN for an unknown number. */
uint32_t ath_macvlan_mode_to_kernel(int mode);
int ath_macvlan_mode_from_kernel(uint32_t number);
