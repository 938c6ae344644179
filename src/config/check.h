/* Whether a document fits a machine. */
#pragma once
#include "config/document.h"
#include "numa/machine.h"

/*
 * Adds, placed at the values in the document's file, all that the machine does not have or has
 * otherwise. What the machine's source cannot tell (network ports of a capture without any) is no
 * fault. Returns how many were added.
 */
size_t ath_document_check(const struct ath_document *document, const struct ath_machine *machine,
                          struct ath_faults *faults);
