#!/usr/bin/env python3
"""Writes a captured folder (a copy of a machine's sys/ and proc/) as one readable .root text, the opposite of mkroot.py.

Only files that discovery reads are kept: the patterns below.
    root_from_folder.py FOLDER [--comment TEXT] > tests/data/NAME.root
"""
import argparse
import os
import re
import sys

import mkroot

# Paths that discovery reads, as regular expressions over whole paths.
PCI = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
KEPT = [
    r"proc/(cpuinfo|meminfo|version|cmdline|hwloc-nofile-info)",
    r"proc/sys/kernel/(hostname|osrelease|arch)",
    r"proc/net/(route|dev)",
    r"proc/device-tree/(model|compatible)",
    r"proc/driver/nvidia/(version|gpus/[^/]+/(numa_status|information))",
    r"sys/class/dmi/id/(product_name|sys_vendor)",
    r"sys/devices/virtual/dmi/id/(product_name|sys_vendor)",
    r"sys/devices/system/cpu/(online|offline|present|possible)",
    r"sys/devices/system/node/(online|possible|has_cpu|has_memory|has_normal_memory)",
    r"sys/devices/system/node/node\d+/(cpulist|cpumap|distance|meminfo)",
    r"sys/devices/system/node/node\d+/hugepages/hugepages-\d+kB/(nr|free)_hugepages",
    r"sys/kernel/mm/hugepages/hugepages-\d+kB/(nr|free)_hugepages",
    r"sys/bus/pci/devices/[^/]+",
    rf"sys/(devices/.*|bus/pci/devices)/{PCI}/(vendor|device|class|numa_node|local_cpus|local_cpulist|"
    r"subsystem_vendor|subsystem_device|vpd|current_link_speed|current_link_width|max_link_speed|"
    r"max_link_width|driver|physfn|virtfn\d+|sriov_numvfs|sriov_totalvfs|revision)",
    r"sys/bus/pci/drivers/[^/]+/module",
    r"sys/class/(net|infiniband|infiniband_verbs)/[^/]+",
    r"sys/devices/.*/net/[^/]+/(address|mtu|operstate|carrier|speed|type|ifindex|iflink|dev_id|dev_port|"
    r"flags|phys_port_id|phys_port_name|phys_switch_id|device|lower_[^/]+|upper_[^/]+|master)",
    r"sys/devices/.*/infiniband/[^/]+/(node_guid|sys_image_guid|node_type|fw_ver|board_id|hca_type|device|parent)",
    r"sys/devices/.*/infiniband/[^/]+/ports/\d+/(state|phys_state|rate|link_layer|lid|"
    r"gids/\d+|gid_attrs/(types|ndevs)/\d+)",
    r"sys/devices/.*/infiniband_verbs/[^/]+/ibdev",
]
IS_KEPT = re.compile("|".join(f"(?:{pattern})" for pattern in KEPT))
# The file repeats itself for every CPU; only its end (platform, model) is read.
CPUINFO_TAIL = 400
MEMINFO_KEPT = re.compile(rb"^(?:Node \d+ )?(?:MemTotal|MemFree|MemAvailable|HugePages_\w+):.*\n", re.MULTILINE)


def natural(path):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path)]


def is_useless(name, data):
    """Leaves out all-zero GIDs beyond the first few, which only make the text long."""
    index = re.search(r"/gids/(\d+)$", name)
    return bool(index) and int(index.group(1)) > 3 and not data.strip(b"0:\n")


def content(folder, name):
    with open(os.path.join(folder, name), "rb") as file:
        data = file.read(1 << 16)
    if name == "proc/cpuinfo" and len(data) > 2 * CPUINFO_TAIL:
        data = data[data.index(b"\n", len(data) - CPUINFO_TAIL) + 1:]
    if name.endswith("/meminfo"):
        data = b"".join(MEMINFO_KEPT.findall(data))
    return data


def group_of(name):
    """Sorts lines of one object together: a node, a PCI function, a class."""
    parts = name.split("/")
    is_one_of_many = re.match(r"sys/(devices/system/node/node\d|bus/pci/devices/.*/)", name)
    return parts[: 5 if is_one_of_many else 4]


def walk(folder):
    """Yields (path, line) for every file that is kept."""
    for base, folders, files in os.walk(folder):
        inside = os.path.relpath(base, folder)
        for entry in folders + files:
            name = entry if inside == "." else f"{inside}/{entry}"
            whole = os.path.join(base, entry)
            if not IS_KEPT.fullmatch(name):
                continue
            if os.path.islink(whole):
                yield name, f"{name} -> {os.readlink(whole)}"
            elif os.path.isdir(whole):
                if not os.listdir(whole):
                    yield name, f"{name}/"
            elif os.path.isfile(whole):
                try:
                    data = content(folder, name)
                except OSError:
                    continue  # sysfs fails like this for "not now"
                if not is_useless(name, data):
                    text = mkroot.escape(data)
                    yield name, f"{name} = {text}" if text else f"{name} ="


def main():
    parser = argparse.ArgumentParser(description="Write a captured folder as a .root text.")
    parser.add_argument("folder", help="holds sys/ and proc/")
    parser.add_argument("--comment", action="append", default=[], help="a line for the top (repeatable)")
    args = parser.parse_args()
    if not os.path.isdir(os.path.join(args.folder, "sys")):
        sys.exit(f"root_from_folder: '{args.folder}' has no sys/ in it")
    for comment in args.comment:
        print(f"# {comment}".rstrip())
    group = []
    for name, line in sorted(walk(args.folder), key=lambda pair: natural(pair[0])):
        if group_of(name) != group:
            print()
        group = group_of(name)
        print(line)


if __name__ == "__main__":
    main()
