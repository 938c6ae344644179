/* RDMA devices and which network link each of their ports belongs to. Private to roce. */
#pragma once
#include "base/root.h"
#include "roce/port.h"

/*
 * Ties every port of every RDMA device to its link, and adds a port for those that have none. ports
 * must be sorted and are unsorted afterwards. Returns 0 (also without such devices), or a negative
 * errno.
 */
int ath_rdma_read(const struct ath_root *root, struct ath_ports *ports);
