#!/usr/bin/env python3
"""The generator of the NVML table refuses wrong tables, each with its message, and writes a complete one."""
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


def read(*path):
    with open(os.path.join(*path), encoding="ascii") as text:
        return text.read()


TABLE = read(PROTO, "nvml.capnp")
SYMBOLS = [line for line in read(PROTO, "nvml-symbols.txt").splitlines() if line and not line.startswith("#")]
# (text in the table, its replacement, the message).
REFUSALS = (
    (r'\$c\("nvmlDeviceGetName"\) \$class\(static\)', '$c("nvmlDeviceGetName")', "$c and $class must be there"),
    (r'\$c\("nvmlDeviceGetName"\)', '$c("nvmlDeviceGetNames")', "the header has no function 'nvmlDeviceGetNames'"),
    (r'\$c\("nvmlDeviceGetName"\) \$class\(static\)', '$c("nvmlDeviceGetName") $class(refused)', "a function that is refused has a reason"),
    (r'\$c\("nvmlDeviceGetName"\) \$class\(static\)', '$c("nvmlDeviceGetName") $class(refused) $reason(.lists)',
     "the header has it, and it is refused"),
    (r'\$c\("nvmlDeviceGetName"\)', '$c("nvmlDeviceGetName") $reason("none")', "a function that is refused has a reason"),
    (r'\$c\("nvmlUnitGetCount"\)', '$c("nvmlUnitGetCount") $byHand(client)', "$byHand belongs to a function that travels"),
    (r'\$c\("nvmlDeviceGetCount"\)', '$c("nvmlDeviceGetCount_v2")', "exported and not in the table"),
    (r' \$room\("version=64"\)', "", "nothing says how much room 'version' has"),
    (r'\$items\("pids=count"\)', '$items("pids=number")', "it has no parameter 'number'"),
    (r' \$apart\(5\)', "", "nvmlDeviceGetP2PStatus: $apart or $several says what handles of two servers are"),
    (r'\$c\("nvmlDeviceRegisterEvents"\) \$class\(live\) \$several\(sets\)', '$c("nvmlDeviceRegisterEvents") $class(live)',
     "nvmlDeviceRegisterEvents: $apart or $several says"),
    (r'\$c\("nvmlDeviceGetName"\)', '$c("nvmlDeviceGetName") $apart(0)', "nvmlDeviceGetName: $apart or $several says"),
    (r'\$c\("nvmlUnitGetCount"\)', '$c("nvmlUnitGetCount") $several(find)', "$several and $apart belong to a function that travels"),
    (r'\$holds\("info.device"\)', '$holds("info.id")', "'info.id' is no handle"),
)


def generate(table, symbols=None):
    """(the generator's output, the folder that it wrote into)."""
    folder = os.path.join(harness.scratch(), "generated")
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    schema, list_ = os.path.join(folder, "nvml.capnp"), os.path.join(folder, "symbols.txt")
    for path, text in ((schema, table), (list_, "\n".join(symbols or SYMBOLS))):
        with open(path, "w", encoding="ascii") as out:
            out.write(text)
    request = subprocess.run(["capnp", "compile", "-o-", schema], stdout=subprocess.PIPE, check=True).stdout
    ran = subprocess.run([sys.executable, "-B", os.path.join(PROTO, "nvml_generate.py"), os.path.join(SOURCE, "src", "nvml", "api"),
                          list_, folder], input=request, stderr=subprocess.PIPE)
    return ran.stderr.decode() if ran.returncode else None, folder


@unittest.skipUnless(shutil.which("capnp"), "no capnp (package capnproto)")
class Generator(unittest.TestCase):
    maxDiff = 4000

    def test_refusals(self):
        for pattern, other, said in REFUSALS:
            with self.subTest(said=said, other=other):
                changed, count = re.subn(pattern, lambda _, other=other: other, TABLE, count=1)
                self.assertEqual(count, 1, "the pattern is no longer in the table")
                self.assertIn(said, generate(changed)[0] or "nothing was refused")

    def test_a_symbol_that_is_missing(self):
        self.assertIn("'nvmlNewFunction' is exported and not in the table", generate(TABLE, [*SYMBOLS, "nvmlNewFunction"])[0])
        self.assertIn("'nvmlDeviceGetName' is not exported by the library",
                      generate(TABLE, [name for name in SYMBOLS if name != "nvmlDeviceGetName"])[0])

    def test_the_library_exports_all_symbols(self):
        path = os.path.join(harness.build(), "lib", "aitherion", "libnvidia-ml.so.1")
        if not os.path.exists(path):
            self.skipTest("the client's NVML library is not built")
        listed = subprocess.run(["nm", "-D", "--defined-only", path], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual(re.findall(r" T (\w+)$", listed, flags=re.M), SYMBOLS)

    def test_the_page_is_up_to_date(self):
        said, folder = generate(TABLE)
        self.assertIsNone(said)
        self.assertEqual(read(folder, "nvml.md"), read(SOURCE, "docs", "nvml.md"),
                         "docs/nvml.md is old: copy proto/nvml.md of a build there")


if __name__ == "__main__":
    harness.main()
