#!/usr/bin/env python3
"""Each function of NVML that travels, from a program through the client and a server to a library that looks at what it is given."""
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
    def test_arguments_and_results_arrive(self):
        environment = harness.environment(AITHERION_SIM_FOLDER=sim_folder(FAKE), AITHERION_SIM_DEVICES="2")
        with runtime.Server("--sim", env=environment) as server:
            ran = subprocess.run([PROGRAM], env=client_environment(server), stdout=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(ran.returncode, 0, ran.stdout)
            functions, checks = re.search(r"(\d+) functions, (\d+) checks, 0 failures", ran.stdout).groups()
            self.assertGreater(int(functions), 220)
            self.assertGreater(int(checks), 450)
            server.stop()
            self.assertEqual([line for line in server.log().splitlines() if "did not come" in line or "crashed" in line], [])

    def test_the_client_library_needs_little(self):
        """It is loaded into strangers' programs."""
        needed = subprocess.run(["readelf", "-d", os.path.join(LIBRARIES, "libnvidia-ml.so.1")], stdout=subprocess.PIPE, text=True,
                                check=True).stdout
        names = set(re.findall(r"\(NEEDED\).*\[(\w[\w-]*)", needed)) - ({"libasan", "libubsan"} if runtime.IS_SANITIZED else set())
        self.assertLessEqual(names, {"libnettle", "libc", "libpthread", "libm", "ld-linux-x86-64", "ld64"})


if __name__ == "__main__":
    harness.main()
