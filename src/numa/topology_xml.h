/*
 * Reads a machine from a topology file: XML of hwloc (`lstopo FILE.xml`, formats 1 to 3) or of NCCL
 * and RCCL (NCCL_TOPO_DUMP_FILE), where the root element decides, text of `nvidia-smi topo -m`
 * (topology_text.h), or JSON of `aitherion discover --json` (topology_json.h).
 */
#pragma once
#include <stddef.h>

#include "base/err.h"
#include "numa/machine.h"

enum { ATH_TOPOLOGY_BYTES_MAX = 64 << 20 };

/*
 * Reads the file into *out. path may name several texts, separated by commas. The caller calls
 * ath_machine_finish() afterwards. Returns 0, or a negative errno with err and *out unchanged (not
 * readable; "topology-invalid" with file, line and column; "library-missing").
 *
 * For a file of hwloc, the process forks once and replaces the library's environment variables
 * (HWLOC_...) for a moment: not for a program with several threads.
 */
int ath_topology_read(const char *path, struct ath_machine *out, struct ath_err *err);

/* Like ath_topology_read(), but from memory. name replaces the path in messages. */
int ath_topology_parse(const char *name, const char *data, size_t length, struct ath_machine *out,
                       struct ath_err *err);
