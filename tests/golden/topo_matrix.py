#!/usr/bin/env python3
"""Compares `--format matrix` of the AC922 with the `nvidia-smi topo -m` that was captured on one, cell by cell.

The capture holds that output as nvidia-smi-topo.txt, for its NVLinks. All other cells come from sysfs.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))

import harness  # noqa: E402

CLASSES = {"X", "PIX", "PXB", "PHB", "NODE", "SYS", "?"}


def captured():
    """Returns {(row, column): class} of the captured table, whose columns are separated by tabs."""
    with open(os.path.join(harness.DATA, "ac922-4gpu.smi-topo.txt"), encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#")]
    head = [name.strip() for name in lines[0]]
    return {(line[0].strip(), head[place]): cell.strip() for line in lines[1:] for place, cell in enumerate(line)
            if place and (head[place].startswith(("GPU", "mlx5_")))}


def ours(text):
    """Returns the same from our matrix, whose first line has the names of the columns."""
    cells, head = {}, None
    for line in text.splitlines():
        words = line.split()
        if not words:
            if cells:
                break
            continue
        if head is None:
            head = [word for word in words if re.fullmatch(r"GPU\d+|mlx5_\d+|en\w+|ib\d+", word)]
            continue
        row = words[0]
        values = [word for word in words[1:] if word in CLASSES or re.fullmatch(r"NV\d+", word)]
        for place, value in enumerate(values[:len(head)]):
            cells[row, head[place]] = value
    return cells


def rename(cells, machine):
    """Renames columns: a column may have the network link's name instead of the RDMA device's."""
    names = {nic["netdev"]: nic["rdma_device"] for nic in machine["nics"] if nic["netdev"] and nic["rdma_device"]}
    return {(names.get(row, row), names.get(column, column)): value for (row, column), value in cells.items()}


def main():
    root = harness.capture("ac922-4gpu")
    machine, faults = harness.check_json(harness.run("discover", "--root", root, "--json").stdout)
    if faults:
        sys.exit("\n".join(faults))
    matrix = harness.run("discover", "--root", root, "--format", "matrix", env=harness.environment(COLUMNS="400")).stdout
    got = rename(ours(matrix), machine)
    passed = failed = 0
    for (row, column), wanted in captured().items():
        if got.get((row, column)) == wanted:
            passed += 1
        else:
            failed += 1
            print(f"{row} to {column}: {got.get((row, column))}, captured {wanted}")
    if failed:
        print(matrix)
    sys.exit(harness.finish(passed, failed, 0))


if __name__ == "__main__":
    main()
