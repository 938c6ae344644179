/*
 * Fuzzes the readers of topology files, XML and text, from the bytes to the finished machine.
 *
 * hwloc's own crashes stay in the child process where its import is tried first, as they do in the
 * program, so what is reported here is ours. That child costs most of the time of an hwloc
 * document; good seeds are tests/data/topologies, tests/data/hostile and tests/data/texts.
 */
#include "config.h"

#include <stdint.h>

#include "base/cleanup.h"
#include "numa/topology_xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    struct ath_err err;

    if (!ath_topology_parse("fuzz.xml", (const char *)data, size, &machine, &err))
        ath_machine_finish(&machine);
    return 0;
}
