/* Reading a machine, live or from a capture. */
#pragma once
#include "base/err.h"
#include "numa/machine.h"

/* Where to read from; both NULL: this machine, now. */
struct ath_machine_source {
    const char *root;     /* a folder that holds a captured sys/ and proc/ */
    const char *topology; /* an hwloc 2 XML or an NCCL topology XML file */
};

/*
 * Reads a machine. Returns 0 with *out filled and finished (release with ath_machine_free()), or a
 * negative errno with err: a root without sys/, an XML that cannot be read, a system in which not
 * one NUMA node can be seen. What is merely missing or unreadable becomes an unknown value or a
 * warning.
 */
int ath_machine_discover(const struct ath_machine_source *source, struct ath_machine *out,
                         struct ath_err *err);
