/* Whether a document fits a machine. */
#pragma once
#include "config/document.h"
#include "numa/machine.h"

/*
 * Adds, placed at the values in the document's file, all that the machine does not have or has
 * otherwise. What the machine's source cannot tell (network ports of a capture without any) is no
 * fault. Returns how many were added.
 */
size_t ath_document_check_machine(const struct ath_document *document,
                                  const struct ath_machine *machine, struct ath_faults *faults);

/* Likewise what no machine is needed for: GPUs and addresses that two have, links on the host that
 * cannot be. */
size_t ath_document_check_alone(const struct ath_document *document, struct ath_faults *faults);

/* Both. */
size_t ath_document_check(const struct ath_document *document, const struct ath_machine *machine,
                          struct ath_faults *faults);

/*
 * Moves from `all`, the faults of a changed document, to `out` those that lie in a part of it and
 * that `old`, the faults before the change, did not have in the same part (NULL: which was not
 * there).
 */
void ath_faults_take_new(const struct ath_faults *old, const struct ath_yaml *old_part,
                         struct ath_faults *all, const struct ath_yaml *part,
                         struct ath_faults *out);
