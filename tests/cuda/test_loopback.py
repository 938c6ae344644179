#!/usr/bin/env python3
"""Every generated call of the CUDA table, with random arguments and results: from the client's function through the wire and the
dispatch to a recording driver and back. Cap'n Proto's own tool then reads and writes all messages again."""
import os
import re
import shutil
import subprocess
import sys
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "tools"))

import harness  # noqa: E402

BUILD = harness.build()
PROGRAM = os.path.join(BUILD, "tests", "cuda", "loopback")
SCHEMA = os.path.join(BUILD, "proto", "cuda-wire.capnp")
SEGMENT = "--segment-size=100000"  # in words: one for each message


def convert(forms, type_, data, *options):
    command = ["capnp", "convert", "-I", os.path.join(SOURCE, "proto"), *options, forms, SCHEMA, type_]
    return subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True, timeout=5 * harness.PATIENCE_S).stdout


@unittest.skipUnless(os.access(PROGRAM, os.X_OK), "tests/cuda/loopback is not built: make check")
class Loopback(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = [os.path.join(harness.scratch(), name) for name in ("calls", "answers")]
        cls.ran = subprocess.run([PROGRAM, *cls.files], stdout=subprocess.PIPE, text=True, timeout=5 * harness.PATIENCE_S)

    def test_arguments_and_results_arrive(self):
        self.assertEqual(self.ran.returncode, 0, self.ran.stdout)
        functions, checks = re.search(r"(\d+) functions, (\d+) checks, 0 failures", self.ran.stdout).groups()
        self.assertGreater(int(functions), 300)
        self.assertGreater(int(checks), 10000)

    @unittest.skipUnless(shutil.which("capnp"), "no capnp (package capnproto)")
    def test_capnp_reads_and_writes_the_same(self):
        """Compares the values that capnp reads, since capnp lays a message out in another way."""
        for path, type_ in zip(self.files, ("Call", "Answer")):
            with open(path, "rb") as file:
                recorded = file.read()
            read = convert("binary:json", type_, recorded)
            self.assertGreater(read.count(b'"number":'), 1000)
            again = convert("json:binary", type_, read, SEGMENT)
            self.assertEqual(convert("binary:json", type_, again), read)


if __name__ == "__main__":
    harness.main()
