/* What machine it is: host name, model, architecture, kernel. */
#pragma once
#include "base/root.h"
#include "numa/machine.h"

/* Fills hostname, model, arch, kernel and profile; what a capture does not hold stays NULL. */
void ath_host_read(const struct ath_root *root, struct ath_machine *machine);
