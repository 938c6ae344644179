/* Which IPv4 subnets are straight behind which link. Private to roce. */
#pragma once
#include "base/root.h"
#include "roce/port.h"

/* Sets nic.subnets of the ports, their own and those of their master, from the kernel's main
 * routing table. */
void ath_subnets_read(const struct ath_root *root, struct ath_ports *ports);
