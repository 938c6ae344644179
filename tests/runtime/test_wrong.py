#!/usr/bin/env python3
"""Wrong calls at a driver that reads through each handle without a check, as NVIDIA's does: no wrong handle may reach it.
tests/cuda_programs/wrong.c makes the calls."""
import os
import subprocess
import sys
import unittest

import runtime
from runtime import Server, harness
from test_cuda import TRANSPORTS, place

sys.path.insert(0, os.path.join(runtime.SOURCE, "tests", "cuda_programs"))

import programs  # noqa: E402


@unittest.skipUnless(harness.copies_alone(), "programs that an emulator runs find no library by LD_LIBRARY_PATH")
class Wrong(unittest.TestCase):
    def run_at(self, server, transport, *names, program="wrong"):
        env = programs.environment(programs.library_folder("aitherion"), AITHERION_SERVER=place(server, transport),
                                   AITHERION_KEY_FILE=runtime.key_file())
        path = os.path.join(harness.build(), "tests", "cuda_programs", program)
        return subprocess.run([path, *names], env=env, text=True, stdout=subprocess.PIPE, timeout=5 * harness.PATIENCE_S, check=False)

    def test_a_full_gpu_is_out_of_memory(self):
        for transport in TRANSPORTS:
            with self.subTest(transport), Server("--sim", env=harness.environment(AITHERION_SIM_MEMORY="512K")) as server:
                result = self.run_at(server, transport, "a GPU without memory for a context")
                self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_what_a_kernel_complains_about_is_one_event_of_the_log(self):
        for transport in TRANSPORTS:
            with self.subTest(transport), Server("--sim") as server:
                result = self.run_at(server, transport, "errors of kernels go to standard error", program="modules")
                self.assertEqual(result.returncode, 0, result.stdout)
                lines = server.log().splitlines()
                self.assertEqual([line for line in lines if not line.startswith("time=")], [])  # nothing raw between them
                told = [line for line in lines if "event=driver-message" in line]
                self.assertEqual(len(told), 2)
                self.assertRegex(told[0], r'level=warning event=driver-message peer=\S+ text="thread 0 of block 0 says -3\\x0a"$')

    def test_no_wrong_handle_reaches_the_driver(self):
        for transport in TRANSPORTS:
            with self.subTest(transport), Server("--sim", env=harness.environment(AITHERION_SIM_HANDLES="trusted")) as server:
                result = self.run_at(server, transport)
                counts = programs.COUNTS.match(result.stdout.splitlines()[-1])
                self.assertTrue(counts and result.returncode == 0 and counts.group(2) == "0", result.stdout)
                self.assertNotIn("event=session-crashed", server.log())


if __name__ == "__main__":
    harness.main()
