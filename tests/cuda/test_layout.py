#!/usr/bin/env python3
"""Our header of CUDA's driver interface against NVIDIA's cuda.h, where that is installed: every size, offset, number and
prototype. Sizes and offsets are asked of the compiler, once with each header."""
import os
import re
import shutil
import subprocess
import sys
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "tools"))
sys.path.insert(0, os.path.join(SOURCE, "proto"))

import cuda_header  # noqa: E402
import harness  # noqa: E402

HEADER = cuda_header.Header(os.path.join(SOURCE, "src", "cuda", "api"))
OURS = '#include "cuda/api/cuda_api.h"\n'
# The first makes cuda.h show its older functions under their own names.
THEIRS = "#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n#include <cudaProfiler.h>\n"
SYMBOLS = os.path.join(SOURCE, "proto", "cuda-symbols.txt")


def cuda_include():
    """The folder of cuda.h of CUDA 13, or why there is none."""
    nvcc = shutil.which("nvcc")
    homes = [os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))] if nvcc else []
    for home in [os.environ.get("CUDA_HOME"), *homes, "/usr/local/cuda"]:
        folder = os.path.join(home or "", "include")
        if home and os.path.exists(os.path.join(folder, "cuda.h")):
            with open(os.path.join(folder, "cuda.h"), encoding="utf-8") as file:
                return (folder, None) if "#define CUDA_VERSION 13000" in file.read() else (None, "cuda.h is not that of CUDA 13.0")
    return None, "no cuda.h is installed"


INCLUDE, MISSING = cuda_include()
COMPILER = os.environ.get("CC", "cc").split()


def lines_of(name, members, path=""):
    """C that prints where each member of a structure lies."""
    for member in members:
        inner = path + member.name
        if member.name:
            place = f"(int)offsetof({name}, {inner}), (int)sizeof((({name} *)0)->{inner})"
            yield f'printf("{name}.{inner} %d %d\\n", {place});'
        if member.type.members is not None:
            yield from lines_of(name, member.type.members, inner + "." if member.name else path)


def program(include):
    body = [f'printf("{name} %d\\n", (int)sizeof({name}));' for name in [*HEADER.structs, *HEADER.enums]]
    body += [f'printf("{name} %d\\n", (int)sizeof({name}));' for name in [*HEADER.aliases, *HEADER.callbacks]]
    for name, members in HEADER.structs.items():
        body += lines_of(name, members)
    body += [f'printf("{name} %lld\\n", (long long)({name}));' for name in HEADER.values]
    return "\n".join([include, "#include <stddef.h>", "#include <stdio.h>", "int main(void)", "{", *body, "return 0;", "}"])


def compile_c(text, *options, link=True):
    folder = harness.scratch()
    source, output = os.path.join(folder, "layout.c"), os.path.join(folder, "layout")
    with open(source, "w", encoding="ascii") as file:
        file.write(text)
    made = subprocess.run([*COMPILER, "-w", "-std=gnu11", "-I", os.path.join(SOURCE, "src"), *options, source, "-o", output,
                           *([] if link else ["-fsyntax-only"])], stderr=subprocess.PIPE, text=True)
    return made, output


@unittest.skipUnless(INCLUDE, MISSING)
class AgainstNvidia(unittest.TestCase):
    maxDiff = 4000

    def facts(self, text, *options):
        made, path = compile_c(text, *options)
        self.assertEqual(made.returncode, 0, made.stderr[-4000:])
        return subprocess.run([path], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()

    def test_sizes_offsets_numbers(self):
        ours = self.facts(program(OURS))
        theirs = self.facts(program(THEIRS), "-I", INCLUDE)
        self.assertGreater(len(ours), 1600)
        self.assertEqual([pair for pair in zip(ours, theirs) if pair[0] != pair[1]], [])

    def test_prototypes(self):
        text = THEIRS + '#define ATH_CUDA_TYPES_KNOWN\n#include "cuda/api/cuda_functions.h"\n'
        made, _ = compile_c(text, "-I", INCLUDE, link=False)
        self.assertEqual(made.returncode, 0, made.stderr[-4000:])

    def test_a_wrong_prototype_is_seen(self):
        text = THEIRS + "CUresult cuMemAlloc_v2(CUdeviceptr *address, unsigned int bytes);\n"
        made, _ = compile_c(text, "-I", INCLUDE, link=False)
        self.assertNotEqual(made.returncode, 0)

    def test_no_number_left_out(self):
        """Every enumerator of cuda.h is in ours, except OpenCL's, which no function here takes."""
        with open(os.path.join(INCLUDE, "cuda.h"), encoding="utf-8") as file:
            text = file.read()
        named = set(re.findall(r"^\s+(CU\w+)\s*=", text, flags=re.M))
        self.assertGreater(len(named), 750)
        self.assertEqual(sorted(named - set(HEADER.values)), [])


    def test_versions(self):
        """cuGetProcAddress() answers for each version of CUDA as cudaTypedefs.h says, for all of its versions."""
        theirs = set()
        for name in ("cudaTypedefs.h", "cudaProfilerTypedefs.h"):
            with open(os.path.join(INCLUDE, name), encoding="utf-8") as file:
                found = re.findall(r"\*PFN_(cu\w+?)_v(\d+)(_ptsz|_ptds)?\)\(", file.read())
            theirs |= {(base, int(since), bool(word)) for base, since, word in found}
        with open(os.path.join(harness.build(), "proto", "cuda-symbols.c"), encoding="ascii") as file:
            rows = re.findall(r'\{ "(\w+)", "\w+", (\d+), (\d),', file.read())
        ours = [(base, int(since), thread == "1") for base, since, thread in rows]
        self.assertEqual(len(ours), 637)
        self.assertEqual(len(ours), len(set(ours)))
        self.assertEqual(sorted(set(ours) ^ theirs), [])


class Symbols(unittest.TestCase):
    def test_each_has_a_prototype(self):
        with open(SYMBOLS, encoding="ascii") as file:
            symbols = [line.strip() for line in file if line.strip() and not line.startswith("#")]
        self.assertEqual(symbols, list(HEADER.functions))
        self.assertEqual(len(symbols), 637)


if __name__ == "__main__":
    harness.main()
