/* macvlan modes as document and kernel number them; between link.c and link_change.c. */
#pragma once
#include <stdint.h>

/* MACVLAN_MODE_* of linux/if_link.h, 0 for what is no mode; ATH_UNKNOWN for a number we lack. */
uint32_t ath_macvlan_mode_to_kernel(int mode);
int ath_macvlan_mode_from_kernel(uint32_t number);
