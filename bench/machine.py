"""The machine on which the numbers were measured: the head of a result."""
import datetime
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys

import bed as beds
import catalogue

COMMIT = "commit"  # a file beside bench/, in what tests/gpu/pack fills
# The driver itself is asked, natively, in a process that ends.
ASK = """
import ctypes, json
cuda = ctypes.CDLL("libcuda.so.1")
number, name, size = ctypes.c_int(), ctypes.create_string_buffer(128), ctypes.c_size_t()
assert not cuda.cuInit(0) and not cuda.cuDriverGetVersion(ctypes.byref(number))
version = number.value
assert not cuda.cuDeviceGetCount(ctypes.byref(number)) and not cuda.cuDeviceGetName(name, 128, 0)
assert not cuda.cuDeviceTotalMem_v2(ctypes.byref(size), 0)
print(json.dumps({"gpu": name.value.decode(), "gpus": number.value, "gpu_memory_gib": round(size.value / 2**30, 1),
                  "cuda": f"{version // 1000}.{version % 1000 // 10}"}))
"""


def said(*command, **options):
    try:
        return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60, check=True,
                              **options).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def matched(pattern, text):
    found = re.search(pattern, text, re.M)
    return found.group(1) if found else ""


def gpu(bed):
    text = said(sys.executable, "-c", ASK, env=bed.environment(catalogue.NATIVE))
    return json.loads(text) if text else {}


def packages():
    found = {}
    for name in ["torch", "transformers", "triton"]:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def processors():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        return file.read()


def commit_of_tree():
    return said("git", "-C", beds.SOURCE, "describe", "--always", "--dirty", "--abbrev=10")


def facts(bed):
    """Facts about this machine and its software; unknown ones are left out."""
    commit = beds.tail(os.path.join(beds.SOURCE, COMMIT)).strip() or commit_of_tree()
    found = {
        "when": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "aitherion": " ".join(filter(None, [matched(r"(\d\S*)", said(os.path.join(bed.build, "aitherion"), "--version",
                                                                     env=bed.base_environment())), commit])),
        **gpu(bed),
        "driver": matched(r"Kernel Module(?: for \S+)? +(\S+)", beds.tail("/proc/driver/nvidia/version")),
        "cpu": matched(r"^(?:model name|cpu)\s*: (.*)", processors()),
        "processors": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        **packages(),
    }
    return {name: value for name, value in found.items() if value}
