/* The machine's identity: host name, model, architecture, kernel. */
#pragma once
#include "base/root.h"
#include "numa/machine.h"

/* Fills hostname, model, arch, kernel and profile. Facts that a capture lacks stay NULL. */
void ath_host_read(const struct ath_root *root, struct ath_machine *machine);
