#!/usr/bin/env python3
"""Each function of NVML that travels, from a program through the client and a server to a library that checks its arguments."""
import os
import re
import subprocess
import sys
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(SOURCE, "tests", "runtime"), os.path.dirname(os.path.abspath(__file__)),
                os.path.join(SOURCE, "tests", "tools")]

import harness  # noqa: E402
import runtime  # noqa: E402
from serving import BUILD, LIBRARIES, client_environment, sim_folder  # noqa: E402

PROGRAM = os.path.join(BUILD, "tests", "nvml", "loopback")
FAKE = os.path.join(BUILD, "tests", "nvml", "fake", "libnvidia-ml.so.1")


@unittest.skipUnless(os.access(PROGRAM, os.X_OK) and os.access(FAKE, os.X_OK), "tests/nvml/loopback is not built: make check")
class Loopback(unittest.TestCase):
    @staticmethod
    def serve(**changes):
        return runtime.Server("--sim", env=harness.environment(AITHERION_SIM_FOLDER=sim_folder(FAKE), AITHERION_SIM_DEVICES="2", **changes))

    def check(self, *servers):
        ran = subprocess.run([PROGRAM], env=client_environment(*servers), stdout=subprocess.PIPE, text=True, timeout=harness.PATIENCE_S)
        self.assertEqual(ran.returncode, 0, ran.stdout)
        functions, checks = re.search(r"(\d+) functions, (\d+) checks, 0 failures", ran.stdout).groups()
        self.assertGreater(int(functions), 220)
        self.assertGreater(int(checks), 450)
        for server in servers:
            server.stop()
            self.assertEqual([line for line in server.log().splitlines() if "did not come" in line or "crashed" in line], [])

    def test_arguments_and_results_arrive(self):
        with self.serve() as server:
            self.check(server)

    def test_arguments_and_results_arrive_at_the_second_of_two_servers(self):
        """The program's device belongs to the second server, and so do all objects made from it."""
        with self.serve(FAKE_IS_FIRST="1") as first, self.serve() as second:
            self.check(first, second)

    def test_the_client_library_needs_little(self):
        """The library is loaded into foreign programs, so it exports NVML's names only."""
        needed = subprocess.run(["readelf", "-d", os.path.join(LIBRARIES, "libnvidia-ml.so.1")], stdout=subprocess.PIPE, text=True,
                                check=True).stdout
        names = set(re.findall(r"\(NEEDED\).*\[(\w[\w-]*)", needed)) - ({"libasan", "libubsan"} if runtime.IS_SANITIZED else set())
        self.assertLessEqual(names, {"libnettle", "libc", "libpthread", "libm", "ld-linux-x86-64", "ld64"})


if __name__ == "__main__":
    harness.main()
