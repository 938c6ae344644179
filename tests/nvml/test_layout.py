#!/usr/bin/env python3
"""Our header of NVML against NVIDIA's nvml.h, where that of CUDA 13.0 is installed: sizes, offsets, numbers and prototypes."""
import os
import re
import shutil
import subprocess
import sys
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(SOURCE, "proto"), os.path.join(SOURCE, "tests", "tools")]

import harness  # noqa: E402
import nvml_generate  # noqa: E402

HEADER = nvml_generate.Header(os.path.join(SOURCE, "src", "nvml", "api"))
COMPILER = os.environ.get("CC", "cc").split()
VERSION = "#define NVML_API_VERSION            13"
# Members that are one member here and several there, or that have another name.
OTHERWISE = {"nvmlGpuInstanceInfo_t.placementStart": "placement.start", "nvmlGpuInstanceInfo_t.placementSize": "placement.size",
             "nvmlComputeInstanceInfo_t.placementStart": "placement.start",
             "nvmlComputeInstanceInfo_t.placementSize": "placement.size", "nvmlUUID_t.value": "value.str"}


def nvml_include():
    """The folder of nvml.h of CUDA 13, or the reason why there is none."""
    nvcc = shutil.which("nvcc")
    homes = [os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))] if nvcc else []
    for home in [os.environ.get("CUDA_HOME"), *homes, "/usr/local/cuda"]:
        folder = os.path.join(home or "", "include")
        if home and os.path.exists(os.path.join(folder, "nvml.h")):
            with open(os.path.join(folder, "nvml.h"), encoding="utf-8") as file:
                return (folder, None) if VERSION in file.read() else (None, "nvml.h is not that of CUDA 13")
    return None, "no nvml.h is installed"


INCLUDE, MISSING = nvml_include()


def program(include, is_ours):
    lines = [include, "#include <stddef.h>", "#include <stdio.h>", "int main(void)", "{"]
    lines += [f'printf("{name} %d\\n", (int)sizeof({name}));' for name in [*HEADER.structs, *HEADER.enums, *HEADER.aliases]]
    for name, members in HEADER.structs.items():
        for member in members:
            if member.name not in ("rest", "bytes"):
                inner = member.name if is_ours else OTHERWISE.get(f"{name}.{member.name}", member.name)
                lines.append(f'printf("{name}.{member.name} %d %d\\n", (int)offsetof({name}, {inner}), (int)sizeof((({name} *)0)->{inner}));')
    lines += [f'printf("{name} %d\\n", (int)({name}));' for name in HEADER.values]
    return "\n".join([*lines, "return 0;", "}"])


def plain(text):
    """A prototype's parameters as the calling convention sees them, and their names."""
    found = []
    for word in filter(None, (one.strip() for one in text.split(","))):
        if word == "void":
            continue
        type_, name = re.match(r"(.*?)(\w+)$", word).groups()
        found.append((re.sub(r"\s+", "", type_), name))
    return found


@unittest.skipUnless(INCLUDE, MISSING)
class AgainstNvidia(unittest.TestCase):
    maxDiff = 4000

    def facts(self, text, *options):
        folder = harness.scratch()
        source, output = os.path.join(folder, "layout.c"), os.path.join(folder, "layout")
        with open(source, "w", encoding="ascii") as file:
            file.write(text)
        made = subprocess.run([*COMPILER, "-w", "-std=gnu11", "-I", os.path.join(SOURCE, "src"), *options, source, "-o", output],
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual(made.returncode, 0, made.stderr[-4000:])
        return subprocess.run([output], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()

    def test_sizes_offsets_numbers(self):
        ours = self.facts(program('#include "nvml/api/nvml_functions.h"', True))
        theirs = self.facts(program("#include <nvml.h>", False), "-I", INCLUDE)
        self.assertGreater(len(ours), 200)
        self.assertEqual([pair for pair in zip(ours, theirs) if pair[0] != pair[1]], [])

    def test_prototypes(self):
        with open(os.path.join(INCLUDE, "nvml.h"), encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", file.read(), flags=re.S)
        theirs = {name: plain(parameters) for name, parameters in
                  re.findall(r"nvmlReturn_t\s+DECLDIR\s+(nvml\w+)\s*\(([^)]*)\)", text)}
        older = {"nvmlGetBlacklistDeviceCount": "nvmlGetExcludedDeviceCount",
                 "nvmlGetBlacklistDeviceInfoByIndex": "nvmlGetExcludedDeviceInfoByIndex"}  # those names are macros there
        with open(os.path.join(SOURCE, "src", "nvml", "api", "nvml_functions.h"), encoding="ascii") as file:
            ours = re.findall(r"nvmlReturn_t (nvml\w+)\(([^)]*)\);", file.read())
        self.assertGreater(len(ours), 230)
        for name, parameters in ours:
            self.assertEqual(plain(parameters), theirs[older.get(name, name)], name)


if __name__ == "__main__":
    harness.main()
