/* What cuGetExportTable() of the simulated driver hands out. Takes no lock. */
#pragma once
#include "runtime/cuda/cuda_api.h"

/* NULL: none of this id, or the build has no tables. */
const void *sim_table(const CUuuid *id);
