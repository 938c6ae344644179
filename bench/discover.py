#!/usr/bin/env python3
"""How fast `discover` is: live against `lstopo --of xml`, and on a made-up root of 1,024 nodes and 4,096 PCI functions.

Goals (issue 2): live within twice lstopo's time and peak memory; the made-up root under 1 s. Figures are medians; they are
printed, and only a figure far beyond its goal (ten times) makes the exit code 1, since machines differ.
    discover.py [--runs N] [--json]
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(SOURCE, "tests", "tools"))

import harness  # noqa: E402

FAR_BEYOND = 10
NODES, FUNCTIONS = 1024, 4096


def once(command):
    """(seconds, peak memory in KiB) of one run."""
    begin = time.monotonic()
    with open(os.devnull, "wb") as null:
        process = subprocess.Popen(command, stdout=null, stderr=null, stdin=null, env=harness.environment())
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit code {process.returncode}")
    return seconds, usage.ru_maxrss


def median(command, runs):
    once(command)  # warms the caches
    results = [once(command) for _ in range(runs)]
    return statistics.median(seconds for seconds, _ in results), statistics.median(memory for _, memory in results)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(text + "\n")


def make_root(folder):
    """A machine of the greatest size: nodes with two CPUs each, every eighth function a GPU, every eighth a network card."""
    node, cpu = os.path.join(folder, "sys/devices/system/node"), os.path.join(folder, "sys/devices/system/cpu")
    everything = f"0-{NODES - 1}"
    for name in ("online", "possible", "has_cpu", "has_memory"):
        write(f"{node}/{name}", everything)
    for name in ("online", "possible", "present"):
        write(f"{cpu}/{name}", f"0-{2 * NODES - 1}")
    for one in range(NODES):
        write(f"{node}/node{one}/cpulist", f"{2 * one}-{2 * one + 1}")
        write(f"{node}/node{one}/distance", " ".join("10" if other == one else "20" for other in range(NODES)))
        write(f"{node}/node{one}/meminfo", f"Node {one} MemTotal: 16777216 kB\nNode {one} MemFree: 8388608 kB")
    bus = os.path.join(folder, "sys/bus/pci/devices")
    os.makedirs(bus)
    for one in range(FUNCTIONS):
        domain, slot = divmod(one, 32)
        address = f"{domain:04x}:00:{slot:02x}.0"
        place = f"sys/devices/pci{domain:04x}:00/{address}"
        kind = {0: ("0x030200", "0x10de", "0x2330"), 1: ("0x020000", "0x15b3", "0x1021")}.get(
            one % 8, ("0x060400", "0x8086", "0x352a"))
        facts = zip(("class", "vendor", "device", "numa_node"), (*kind, str(one % NODES)))
        for name, text in facts:
            write(os.path.join(folder, place, name), text)
        os.symlink(f"../../../../{place}", os.path.join(bus, address))
        if one % 8 == 1:
            link = f"en{one}"
            for name, text in (("address", f"02:00:00:00:{one >> 8:02x}:{one & 255:02x}"), ("mtu", "9000"), ("type", "1"),
                               ("operstate", "up"), ("speed", "400000")):
                write(os.path.join(folder, place, "net", link, name), text)
            os.symlink(f"../../../{address}", os.path.join(folder, place, "net", link, "device"))
            net = os.path.join(folder, "sys/class/net")
            os.makedirs(net, exist_ok=True)
            os.symlink(f"../../../{place}/net/{link}", os.path.join(net, link))


def figures(runs):
    """[(what, value, unit, goal or None)]."""
    ours = median([harness.binary(), "discover"], runs)
    rows = [("discover, live", ours[0] * 1000, "ms", None), ("discover, live, peak memory", ours[1] / 1024, "MiB", None)]
    lstopo = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
    if lstopo:
        theirs = median([lstopo, "--of", "xml"], runs)
        rows += [("lstopo --of xml, live", theirs[0] * 1000, "ms", None),
                 ("time, of lstopo's", ours[0] / theirs[0], "x", 2),
                 ("peak memory, of lstopo's", ours[1] / theirs[1], "x", 2)]
    else:
        print("skipped: comparison with lstopo (package hwloc-nox)")
    version = median([harness.binary(), "--version"], runs)
    rows.append(("--version", version[0] * 1000, "ms", None))
    folder = tempfile.mkdtemp(prefix="aitherion-bench-")
    try:
        make_root(folder)
        for form in ("text", "json"):
            big = median([harness.binary(), "discover", "--root", folder, "--format", form], max(3, runs // 3))
            rows += [(f"{NODES} nodes, {FUNCTIONS} PCI functions, {form}", big[0], "s", 1),
                     (f"the same, {form}, peak memory", big[1] / 1024, "MiB", None)]
    finally:
        shutil.rmtree(folder)
    return rows


def main():
    parser = argparse.ArgumentParser(description="Measure discover.")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = figures(args.runs)
    if args.json:
        print(json.dumps([dict(zip(("what", "value", "unit", "goal"), row)) for row in rows], indent=2))
    else:
        for what, value, unit, goal in rows:
            verdict = "" if goal is None else f"   goal {goal} {unit}: {'met' if value <= goal else 'MISSED'}"
            print(f"{what:44} {value:8.2f} {unit:4}{verdict}")
    sys.exit(any(goal is not None and value > goal * FAR_BEYOND for _, value, _, goal in rows))


if __name__ == "__main__":
    main()
