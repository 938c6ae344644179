/* The reader of NCCL's and RCCL's topology files (root element `system`). */
#pragma once
#include "numa/xml_reader.h"

extern const struct ath_xml_reader ath_nccl_xml_reader;
