/*
 * The threads of each core, for choosing CPUs. A topology file of hwloc has them; from a root they
 * are read on demand, because that takes a file for each CPU.
 */
#pragma once
#include "base/root.h"
#include "numa/machine.h"

/* Frees and forgets the cores. */
void ath_cores_forget(struct ath_machine *machine);

/* Adds a core with these threads, which are copied. */
void ath_cores_add(struct ath_machine *machine, const struct ath_idset *threads);

/*
 * Fills machine->cores with the cores that have an online CPU of a node, unless the machine has its
 * cores already. Without the kernel's files, the profile may say how many threads a core has. If
 * neither says anything, no core is known.
 *
 * root  the machine's root; NULL for a topology file
 */
void ath_cores_read(const struct ath_root *root, struct ath_machine *machine);
