/* Reads the network links that have hardware. Private to roce. */
#pragma once
#include "base/root.h"
#include "roce/port.h"

/*
 * Adds a port for every hardware link of sys/class/net, including those of virtual functions and
 * subfunctions. Virtual links and representors are left out. Returns 0 (also if the folder does not
 * exist), or a negative errno.
 */
int ath_netdevs_read(const struct ath_root *root, struct ath_ports *ports);
