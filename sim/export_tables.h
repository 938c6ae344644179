/* The tables of the simulated driver's cuGetExportTable(). Takes no lock. */
#pragma once
#include "cuda/api/cuda_api.h"

/* Returns the table of an id, or NULL: the id is unknown, or the build has no tables. */
const void *sim_table(const CUuuid *id);
