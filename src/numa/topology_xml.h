/*
 * A machine from a topology XML file: hwloc's (`lstopo FILE.xml`; format 2, and 1 as far as hwloc
 * takes it) or NCCL's and RCCL's (NCCL_TOPO_DUMP_FILE). The root element tells which.
 */
#pragma once
#include <stddef.h>

#include "base/err.h"
#include "numa/machine.h"

enum { ATH_TOPOLOGY_BYTES_MAX = 64 << 20 };

/*
 * Reads the file into *out, which must be all zero; ath_machine_finish() is left to the caller.
 * Returns 0, or a negative errno with err (not readable; topology-invalid with file, line and
 * column; library-missing), *out untouched then.
 *
 * For hwloc's kind the process forks once and has the library's environment variables (HWLOC_...)
 * set aside for a moment: not for a program with several threads.
 */
int ath_topology_read(const char *path, struct ath_machine *out, struct ath_err *err);

/* The same from memory; name stands in messages where the path would. */
int ath_topology_parse(const char *name, const char *data, size_t length, struct ath_machine *out,
                       struct ath_err *err);
