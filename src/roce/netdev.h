/* Network links that are backed by hardware. Private to roce. */
#pragma once
#include "base/root.h"
#include "roce/port.h"

/*
 * Adds a port for every hardware link of sys/class/net, also of virtual functions and subfunctions:
 * no virtual ones, no representors. Returns 0 (also where there is no such folder), or a negative
 * errno.
 */
int ath_netdevs_read(const struct ath_root *root, struct ath_ports *ports);
