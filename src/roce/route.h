/* The connected IPv4 subnets of each link. Private to roce. */
#pragma once
#include "base/root.h"
#include "roce/port.h"

/* Sets nic.subnets of every port, from the routes of its link and of its master in the kernel's
 * main routing table. */
void ath_subnets_read(const struct ath_root *root, struct ath_ports *ports);
