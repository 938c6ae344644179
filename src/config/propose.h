/* A first document for a machine. */
#pragma once
#include "config/document.h"
#include "numa/machine.h"

/*
 * The text of a document that makes every CPU node with GPUs serve them (all CPU nodes, where there
 * are no GPUs): its memory and its GPUs' memory nodes, the nearest RDMA port, the management port,
 * ports 50051 and 5555 and on. What the machine does not tell is left out, with a comment.
 *
 * profile  NULL or "auto": from the machine; else the shipped profile of that name (the machine may
 *          be NULL then)
 * Returns 0, or a negative errno with err: "profile-unknown". The caller frees *out.
 */
int ath_document_propose(const struct ath_machine *machine, const char *profile, char **out,
                         struct ath_err *err);
