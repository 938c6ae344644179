#!/usr/bin/env python3
"""The programs of tests/cuda_programs, and a program of nvcc, with the driver in their own process and their books at a runtime: they get
the same results as on the driver alone. The driver is the simulated one."""
import os
import sys

import runtime

sys.path.insert(0, os.path.join(runtime.SOURCE, "tests", "cuda_programs"))

import programs  # noqa: E402
import remote  # noqa: E402
from runtime import harness  # noqa: E402


def run(commands):
    driver = os.path.join(programs.library_folder("aitherion/sim"), "libcuda.so.1")
    with runtime.Server("--sim", env=harness.environment(AITHERION_SIM_DEVICES="2")) as server:
        env = programs.environment(programs.library_folder("aitherion/local"), AITHERION_LOCAL="unix:" + server.socket,
                                   AITHERION_KEY_FILE=runtime.key_file(), AITHERION_DRIVER=driver, AITHERION_SIM_DEVICES="2")
        return [programs.run_all(env), *(programs.run(command, env) for command in commands), remote.crashes(server)]


if __name__ == "__main__":
    remote.main(run)
