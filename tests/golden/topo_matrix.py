#!/usr/bin/env python3
"""`--format matrix` of the AC922 against the `nvidia-smi topo -m` captured on one, cell by cell.

Every GPU-to-NIC and NIC-to-NIC cell must be the same. GPU-to-GPU cells tell NVLinks, which a capture without NVML cannot know:
they must be `?`, also where the captured table says that there are none.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))

import harness  # noqa: E402

CLASSES = {"X", "PIX", "PXB", "PHB", "NODE", "SYS", "?"}


def captured():
    """{(row, column): class} of the captured table; columns are parted by tabs."""
    with open(os.path.join(harness.DATA, "ac922-4gpu.smi-topo.txt"), encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#")]
    head = [name.strip() for name in lines[0]]
    return {(line[0].strip(), head[place]): cell.strip() for line in lines[1:] for place, cell in enumerate(line)
            if place and (head[place].startswith(("GPU", "mlx5_")))}


def ours(text):
    """The same from our matrix: the columns are named in the first line that begins with none of the rows' names."""
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
    """Columns may go by the network link's name: both names of a port are the same to us."""
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
        if row != column and row.startswith("GPU") and column.startswith("GPU"):
            wanted = "?"
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
