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
    def run_at(self, server, transport, *names):
        env = programs.environment(programs.library_folder("aitherion"), AITHERION_SERVER=place(server, transport),
                                   AITHERION_KEY_FILE=runtime.key_file())
        path = os.path.join(programs.build_folder(), "tests", "cuda_programs", "wrong")
        return subprocess.run([path, *names], env=env, text=True, stdout=subprocess.PIPE, timeout=5 * harness.PATIENCE_S, check=False)

    def test_a_full_gpu_is_out_of_memory(self):
        for transport in TRANSPORTS:
            with self.subTest(transport), Server("--sim", env=harness.environment(AITHERION_SIM_MEMORY="512K")) as server:
                result = self.run_at(server, transport, "a GPU without memory for a context")
                self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_no_wrong_handle_reaches_the_driver(self):
        for transport in TRANSPORTS:
            with self.subTest(transport), Server("--sim", env=harness.environment(AITHERION_SIM_HANDLES="trusted")) as server:
                result = self.run_at(server, transport)
                counts = programs.COUNTS.match(result.stdout.splitlines()[-1])
                self.assertTrue(counts and result.returncode == 0 and counts.group(2) == "0", result.stdout)
                self.assertNotIn("event=session-crashed", server.log())


if __name__ == "__main__":
    harness.main()
