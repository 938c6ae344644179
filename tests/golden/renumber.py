#!/usr/bin/env python3
"""NUMA ids are keys: a captured machine with renumbered nodes must give the same output with other numbers.

The test rewrites the kernel's files with new ids (real AC922s exist with the sockets' ids swapped). Then it compares the
`discover --json` of both machines, with the ids mapped back.
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))

import harness  # noqa: E402
import mkroot  # noqa: E402

NODE = "sys/devices/system/node/"
# The new ids are neither sorted nor dense nor small.
NEW_IDS = [16, 3, 1023, 7, 255, 40, 0, 300, 8, 1]


def ids_of(text):
    """Returns the ids of the kernel's list form."""
    result = []
    for part in text.strip().split(","):
        if part:
            first, _, last = part.partition("-")
            result += range(int(first), int(last or first) + 1)
    return result


def list_form(ids):
    return ",".join(str(one) for one in sorted(ids)).encode() + b"\n"


def renumbered(entries, new):
    """Returns the entries of a .root file with the node ids mapped by `new`."""
    online = sorted(new)
    order = sorted(range(len(online)), key=lambda place: new[online[place]])
    result = {}
    for path, (kind, value) in entries.items():
        name = path[len(NODE):] if path.startswith(NODE) else ""
        match = re.match(r"node(\d+)(/.*)?$", name)
        if match and int(match.group(1)) in new:
            old = int(match.group(1))
            path = f"{NODE}node{new[old]}{match.group(2) or ''}"
            if path.endswith("/distance"):
                values = value.split()
                value = b" ".join(values[place] for place in order) + b"\n"
            elif path.endswith("/meminfo"):
                value = value.replace(b"Node %d " % old, b"Node %d " % new[old])
        elif name == "possible":
            value = b"0-1023\n"
        elif name:
            value = list_form(new[one] for one in ids_of(value.decode()))
        elif path.endswith("/numa_node") and int(value) in new:
            value = b"%d\n" % new[int(value)]
        elif path.endswith("/numa_status"):
            value = re.sub(rb"(Node:\s*)(\d+)", lambda found: found[1] + b"%d" % new.get(int(found[2]), int(found[2])), value)
        result[path] = (kind, value)
    return result


def discover(root):
    result = harness.run("discover", "--root", root, "--json")
    value, faults = harness.check_json(result.stdout)
    if result.returncode or faults:
        sys.exit(f"discover --root {root}: exit code {result.returncode}\n{result.stderr}" + "\n".join(faults))
    return value


def normal(machine, back):
    """Returns the machine with original node ids and sorted lists, so that two machines can be compared."""
    def old(one):
        return back.get(one, one)

    nodes = {}
    for node in machine["numa_nodes"]:
        node = dict(node, id=old(node["id"]))
        if node.get("distances"):
            node["distances"] = {str(old(int(other))): value for other, value in node["distances"].items()}
        nodes[node["id"]] = node
    gpus = [dict(gpu, numa_node=old(gpu["numa_node"]), memory_node=old(gpu["memory_node"])) for gpu in machine["gpus"]]
    nics = [dict(nic, numa_node=old(nic["numa_node"])) for nic in machine["nics"]]
    return {"nodes": nodes, "gpus": gpus, "nics": nics, "pairs": machine["pairs"],
            "warnings": sorted(warning["code"] for warning in machine["warnings"])}


def check(name):
    """Returns the differences for one capture, or None if the capture has no nodes."""
    entries = mkroot.load(os.path.join(harness.DATA, name + ".root"))
    if NODE + "online" not in entries:
        return None
    online = ids_of(entries[NODE + "online"][1].decode())
    new = dict(zip(online, NEW_IDS))
    folder = os.path.join(harness.scratch(), "renumbered", name)
    mkroot.write(renumbered(entries, new), folder)
    one = normal(discover(harness.capture(name)), {})
    other = normal(discover(folder), {value: key for key, value in new.items()})
    return [f"{part}:\n  as captured: {json.dumps(one[part], sort_keys=True)}\n  renumbered:  "
            f"{json.dumps(other[part], sort_keys=True)}" for part in one if one[part] != other[part]]


def main():
    passed = failed = 0
    for name in harness.capture_names():
        faults = None if name.endswith(".xml") else check(name)
        if faults is None:
            continue
        failed += bool(faults)
        passed += not faults
        for fault in faults:
            print(f"{name}: {fault}")
    sys.exit(harness.finish(passed, failed, 0))


if __name__ == "__main__":
    main()
