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

/* Adds what `start` accepts, but is hardly meant: shares of identities beyond a GPU's time. Returns
 * how many faults were added. */
size_t ath_document_check_doubts(const struct ath_document *document, struct ath_faults *faults);

/* All of the above. Returns how many faults were added. */
size_t ath_document_check(const struct ath_document *document, const struct ath_machine *machine,
                          struct ath_faults *faults);
