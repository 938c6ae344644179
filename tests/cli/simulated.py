"""A machine whose GPUs are the simulated driver's: a /sys of a test's own, which a mount namespace shows to a program."""
import os
import shutil
import subprocess
import tempfile

from cli import harness

SIM = os.path.join(os.path.dirname(os.path.abspath(harness.binary())), "lib", "aitherion", "sim")
INSIDE = 'mount --bind "$1" /sys && shift && exec "$@"'


def can_mount():
    if os.geteuid() or not shutil.which("unshare"):
        return False
    return not subprocess.run(["unshare", "--mount", "sh", "-c", 'mount --bind "$1" /sys', "sh", tempfile.gettempdir()],
                              capture_output=True, check=False).returncode


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")


def make_sys(gpus, version="550.54.14"):
    """Makes the sysfs of a machine with two nodes and the simulated driver's GPUs."""
    folder = tempfile.mkdtemp(dir=harness.scratch())
    os.chmod(harness.scratch(), 0o755)
    os.chmod(folder, 0o755)
    cpus = sorted(os.sched_getaffinity(0))
    for node, cpu in enumerate((cpus[0], cpus[-1])):
        for name, value in (("cpulist", f"{cpu}"), ("cpumap", f"{1 << cpu:x}"), ("distance", "10 21" if node == 0 else "21 10"),
                            ("meminfo", f"Node {node} MemTotal: 32594344 kB\nNode {node} MemFree: 20130240 kB")):
            write(f"{folder}/devices/system/node/node{node}/{name}", value)
    for name, value in (("online", "0-1"), ("possible", "0-1"), ("has_cpu", "0-1"), ("has_memory", "0-1")):
        write(f"{folder}/devices/system/node/{name}", value)
    for name in ("online", "possible", "present"):
        write(f"{folder}/devices/system/cpu/{name}", f"{cpus[0]}-{cpus[-1]}")
    os.makedirs(f"{folder}/bus/pci/devices")
    os.makedirs(f"{folder}/bus/pci/drivers/nvidia")
    os.makedirs(f"{folder}/class/net")
    write(f"{folder}/module/nvidia/version", version)
    for i in range(gpus):
        address = f"fffe:{i + 1:02x}:00.0"
        place = f"{folder}/devices/pci{i:04x}:00/{address}"
        for name, value in (("class", "0x030200"), ("vendor", "0x10de"), ("device", "0x2330"), ("numa_node", f"{i % 2}"),
                            ("local_cpulist", f"{cpus[0]}")):
            write(f"{place}/{name}", value)
        os.symlink("../../../bus/pci/drivers/nvidia", f"{place}/driver")
        os.symlink(f"../../../devices/pci{i:04x}:00/{address}", f"{folder}/bus/pci/devices/{address}")
    return folder
