#!/usr/bin/env python3
"""A captured root and the XML that hwloc makes of it must give the same machine."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))

import harness  # noqa: E402

# hwloc's XML contains only online CPUs, and no facts of /proc/driver/nvidia about the GPUs' memory.
NODE_FACTS = ("kind", "distances", "memory_total_bytes")
GPU_FACTS = ("numa_node",)


def facts(*source):
    result = harness.run("discover", *source, "--json")
    machine, faults = harness.check_json(result.stdout)
    if result.returncode or faults:
        sys.exit(f"discover {' '.join(source)}: {result.stderr}{faults}")
    return machine


def online(node):
    """Returns the online CPUs, or all CPUs if the source does not say which ones are online."""
    return node.get("cpus_online") or node["cpus"]


def main():
    root = facts("--root", harness.capture("ac922-6gpu"))
    xml = facts("--topology", harness.capture("ac922-8335gtw-6gpu.hwloc2.xml"))
    passed = failed = 0
    for what, key, names in (("numa_nodes", "id", NODE_FACTS), ("gpus", "pci", GPU_FACTS)):
        one, other = ({row[key]: row for row in machine[what]} for machine in (root, xml))
        checks = [(f"{what}: ids", sorted(map(str, one)), sorted(map(str, other)))]
        checks += [(f"{what} {row}: {name}", one[row][name], other.get(row, {}).get(name)) for row in one for name in names]
        if what == "numa_nodes":
            checks += [(f"node {row}: CPUs online", online(one[row]), online(other[row])) for row in one if row in other]
        for name, wanted, got in checks:
            passed += wanted == got
            failed += wanted != got
            if wanted != got:
                print(f"{name}: root has {wanted}, XML has {got}")
    sys.exit(harness.finish(passed, failed, 0))


if __name__ == "__main__":
    main()
