/* Checks whether a document fits a machine. */
#pragma once
#include "config/document.h"
#include "numa/machine.h"

/*
 * Adds a fault for each value that names something that the machine does not have, or has in
 * another form. Faults are placed at the values in the document's file. Things that the machine's
 * source cannot tell (network ports, if the capture has none) are not faults. Returns how many
 * faults were added.
 */
size_t ath_document_check_machine(const struct ath_document *document,
                                  const struct ath_machine *machine, struct ath_faults *faults);

/* Adds faults that do not depend on a machine: GPUs and addresses that are used twice, impossible
 * links on the host. Returns how many were added. */
size_t ath_document_check_alone(const struct ath_document *document, struct ath_faults *faults);

/* Both of the above. Returns how many faults were added. */
size_t ath_document_check(const struct ath_document *document, const struct ath_machine *machine,
                          struct ath_faults *faults);

/*
 * Moves faults from `all`, the faults of a changed document, to `out`: those in a part of the
 * document that `old`, the faults before the change, did not have in the same part. old_part is
 * NULL if the part is new.
 */
void ath_faults_take_new(const struct ath_faults *old, const struct ath_yaml *old_part,
                         struct ath_faults *all, const struct ath_yaml *part,
                         struct ath_faults *out);
