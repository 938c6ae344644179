#!/usr/bin/env python3
"""What the generator of the CUDA table refuses, each with the line that it says; and that what it writes is complete."""
import os
import re
import shutil
import subprocess
import sys
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "tools"))
PROTO = os.path.join(SOURCE, "proto")

import harness  # noqa: E402

with open(os.path.join(PROTO, "cuda.capnp"), encoding="ascii") as file:
    TABLE = file.read()

# What is changed in the table, into what, and what is said. A pattern must be there, or the case tests nothing.
REFUSALS = (
    (r'\$c\("cuMemGetInfo_v2"\) \$class\(sync\)', '$c("cuMemGetInfo_v2") $class(async)', "an async method has no results"),
    (r'\$c\("cuMemGetInfo_v2"\) \$class\(sync\)', '$c("cuMemGetInfo_v2") $class(local)', "nothing of a local method travels"),
    (r'\$c\("cuMemGetInfo_v2"\) \$class\(sync\)', '$c("cuMemGetInfo_v2") $class(custom)', "$byHand belongs to a custom method"),
    (r'\$c\("cuMemGetInfo_v2"\) \$class\(sync\) \$since\(\d+\)', '$c("cuMemGetInfo_v2") $class(sync)', "must be there"),
    (r'\$c\("cuMemGetInfo_v2"\)', '$c("cuMemGetInfos_v2")', "the header has no function 'cuMemGetInfos_v2'"),
    (r'\$c\("cuArrayDestroy"\)', '$c("cuArrayDestroy") $reason("none")', "a refused method has a reason"),
    (r'\$c\("cuCoredumpGetAttribute"\) \$class\(refused\) \$reason\(.coredump\)', '$c("cuCoredumpGetAttribute") $class(refused)',
     "a refused method has a reason"),
    (r'\$c\("cuArrayDestroy"\)', '$c("cuArrayDestroy") $forgets("arrayGetPlane")', "no cached method"),
    (r'\$c\("cuDevicePrimaryCtxRelease_v2"\)', '$c("cuDevicePrimaryCtxRelease")', "is in the table twice"),
    (r'arrayDestroy @6 \(array :UInt64 \$handle\)', "arrayDestroy @6 (array :UInt64)", "is a handle; mark it so"),
    (r'arrayDestroy @6 \(array :UInt64 \$handle\)', "arrayDestroy @6 (array :UInt32 $handle)", "travels as uint64, not as uint32"),
    (r'arrayDestroy @6 \(array :UInt64 \$handle\)', "arrayDestroy @6 (plane :UInt64 $handle)", "has no such parameter"),
    (r'arrayDestroy @6 \(array :UInt64 \$handle\)', "arrayDestroy @6 ()", "the parameter 'array' of cuArrayDestroy() does not travel"),
    (r'arrayGetPlane @10 \(array :UInt64 \$handle, planeIdx :UInt32\)', "arrayGetPlane @10 (array :UInt64 $handle, planeIdx :UInt64)",
     "travels as uint32, not as uint64"),
    (r'\(luid :Data \$bytesOf\("8"\)', "(luid :Data", "bytes say how many there are"),
    (r'struct ArrayDescriptor \$c\("CUDA_ARRAY_DESCRIPTOR"\) \{\n  width @0 :UInt64;\n  height @1 :UInt64;',
     'struct ArrayDescriptor $c("CUDA_ARRAY_DESCRIPTOR") {\n  width @0 :UInt64;\n  tall @1 :UInt64;', "C has no such member"),
    (r' \$omits\("win32HandleMetaData"\)', "", "the member 'win32HandleMetaData' of C does not travel"),
    (r'param :union \$by\("type"\)', "param :union", "which member is there must be said"),
    (r'\$when\("CU_EXEC_AFFINITY_TYPE_SM_COUNT"\)', '$when("CU_EXEC_NOTHING")', "which the header does not have"),
)


def generate(table, symbols=None):
    """(what it says, the folder that it wrote into)."""
    folder = os.path.join(harness.scratch(), "generated")
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    schema = os.path.join(folder, "cuda.capnp")
    with open(schema, "w", encoding="ascii") as out:
        out.write(table)
    shutil.copy(os.path.join(PROTO, "common.capnp"), folder)
    request = subprocess.run(["capnp", "compile", "-o-", schema], stdout=subprocess.PIPE, check=True).stdout
    list_ = os.path.join(PROTO, "cuda-symbols.txt")
    if symbols is not None:
        list_ = os.path.join(folder, "symbols.txt")
        with open(list_, "w", encoding="ascii") as out:
            out.write("\n".join(symbols))
    ran = subprocess.run([sys.executable, "-B", os.path.join(PROTO, "cuda_generate.py"),
                          os.path.join(SOURCE, "src", "runtime", "cuda"), list_, folder], input=request, stderr=subprocess.PIPE)
    return ran.stderr.decode() if ran.returncode else None, folder


def read(*path):
    with open(os.path.join(*path), encoding="ascii") as text:
        return text.read()


@unittest.skipUnless(shutil.which("capnp"), "no capnp (package capnproto)")
class Generator(unittest.TestCase):
    maxDiff = 4000

    def test_refusals(self):
        for pattern, other, said in REFUSALS:
            with self.subTest(said=said):
                changed, count = re.subn(pattern, lambda _, other=other: other, TABLE, count=1)
                self.assertEqual(count, 1, "the pattern is no longer in the table")
                self.assertIn(said, generate(changed)[0] or "nothing was refused")

    def test_a_symbol_that_is_missing(self):
        symbols = [line for line in read(PROTO, "cuda-symbols.txt").splitlines() if line and not line.startswith("#")]
        self.assertIn("'cuNewFunction' is exported by the driver and not in the table", generate(TABLE, [*symbols, "cuNewFunction"])[0])
        self.assertIn("the driver does not export 'cuMemAlloc_v2'",
                      generate(TABLE, [name for name in symbols if name != "cuMemAlloc_v2"])[0])

    def test_all_symbols_are_exported(self):
        said, folder = generate(TABLE)
        self.assertIsNone(said)
        symbols = [line for line in read(PROTO, "cuda-symbols.txt").splitlines() if line and not line.startswith("#")]
        self.assertEqual(re.findall(r"^    (cu\w+);", read(folder, "cuda.map"), flags=re.M), symbols)
        defined = set(re.findall(r"^CUresult (cu\w+)\(", read(folder, "cuda-symbols.c"), flags=re.M))
        self.assertEqual(defined, set(symbols))

    def test_the_page_is_up_to_date(self):
        said, folder = generate(TABLE)
        self.assertIsNone(said)
        self.assertEqual(read(folder, "coverage.md"), read(SOURCE, "docs", "coverage.md"),
                         "docs/coverage.md is old: copy proto/coverage.md of a build there")


if __name__ == "__main__":
    harness.main()
