#!/usr/bin/env python3
"""The programs of tests/cuda_programs on the simulated driver, with two devices."""
import os
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "cuda_programs"))

import programs  # noqa: E402
from programs import harness  # noqa: E402


def main():
    if not harness.copies_alone():
        print("skipped: programs that an emulator runs find no library by LD_LIBRARY_PATH")
        sys.exit(harness.finish(0, 0, 1))
    env = programs.environment(programs.library_folder("aitherion/sim"), AITHERION_SIM_DEVICES="2")
    sys.exit(harness.finish(*programs.run_all(env)))


if __name__ == "__main__":
    main()
