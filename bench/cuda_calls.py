#!/usr/bin/env python3
"""What calls of CUDA's driver API cost through aitherion, beside the driver itself, round after round in turn; medians.

Without a GPU the driver is the simulated one (--gpu: the system's). Needs a build tree whose programs of the tests are built.
    cuda_calls.py [--rounds N] [--gpu] [--modes shm,tcp]
"""
import argparse
import os
import statistics
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(SOURCE, "tests", "cuda_programs"))
sys.path.insert(0, os.path.join(SOURCE, "tests", "runtime"))

import programs  # noqa: E402
import runtime  # noqa: E402
from runtime import harness  # noqa: E402

NATIVE = "native"


class Load:
    """The program in one mode, waiting for its turn."""

    def __init__(self, env):
        command = [os.path.join(programs.build_folder(), "bench", "cuda_calls")]
        self.process = subprocess.Popen(command, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdout.readline()

    def measure(self):
        """[(name, value, unit)]."""
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        rows = []
        for line in iter(self.process.stdout.readline, "done\n"):
            if not line:
                sys.exit(f"cuda_calls: exit code {self.process.wait()}")
            name, rest = line.split(" = ")
            value, unit = rest.split()
            rows.append((name, float(value), unit))
        return rows

    def end(self):
        self.process.stdin.close()
        self.process.wait(20)


def environments(options, server):
    remote = {"shm": "unix:" + server.socket, "tcp": server.address}
    env = {NATIVE: programs.environment(None if options.gpu else programs.library_folder("aitherion/sim"))}
    for mode in options.modes.split(","):
        env[mode] = programs.environment(programs.library_folder("aitherion"), AITHERION_SERVER=remote[mode],
                                         AITHERION_KEY_FILE=runtime.key_file(), AITHERION_TRANSPORT=mode)
    return env


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gpu", action="store_true", help="the system's driver instead of the simulated one")
    parser.add_argument("--modes", default="shm,tcp")
    options = parser.parse_args()
    found = {}
    with runtime.Server(*([] if options.gpu else ["--sim"]), env=harness.environment()) as server:
        loads = {mode: Load(env) for mode, env in environments(options, server).items()}
        for _ in range(options.rounds + 1):  # the first is for warming up
            for mode, load in loads.items():
                for name, value, unit in load.measure():
                    found.setdefault((name, unit), {}).setdefault(mode, []).append(value)
        for load in loads.values():
            load.end()
    print(f"{'':40}  unit " + "".join(f"{mode:>18}" for mode in loads))
    for (name, unit), values in found.items():
        middle = {mode: statistics.median(values[mode][1:]) for mode in loads}
        cells = [f"{value:.4g}" + (f" ({value / middle[NATIVE]:.2f}x)" if mode != NATIVE else "") for mode, value in middle.items()]
        print(f"{name:40}  {unit:4} " + "".join(f"{cell:>18}" for cell in cells))


if __name__ == "__main__":
    main()
