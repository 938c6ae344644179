/* Proposes a first document for a machine. */
#pragma once
#include "config/document.h"
#include "numa/machine.h"

/*
 * Writes the text of a document in which every CPU node with GPUs serves them (every CPU node, if
 * the machine has no GPUs): its memory and its GPUs' memory nodes, the nearest RDMA ports (all
 * that are nearest to one of its GPUs), the management port, ports from 50051 and 5555 on. Values
 * that the machine does not tell are left out, with a comment.
 *
 * profile  NULL or "auto": from the machine; else the name of a shipped profile (machine may then
 *          be NULL)
 * Returns 0, or a negative errno with err: "profile-unknown". The caller frees *out.
 */
int ath_document_propose(const struct ath_machine *machine, const char *profile, char **out,
                         struct ath_err *err);
