/* The reader of hwloc's topology files (root element `topology`). */
#pragma once
#include "numa/xml_reader.h"

extern const struct ath_xml_reader ath_hwloc_xml_reader;
