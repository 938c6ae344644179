#!/usr/bin/env python3
"""The programs of tests/cuda_programs, and what nvcc makes of one, with their GPUs at a server, over both transports. The server
has the simulated driver."""
import os
import sys

import runtime

sys.path.insert(0, os.path.join(runtime.SOURCE, "tests", "cuda_programs"))
sys.path.insert(0, os.path.join(runtime.SOURCE, "tests", "sim"))

import programs  # noqa: E402
import test_nvcc  # noqa: E402
from runtime import harness  # noqa: E402

WAYS = ("static runtime", "default stream of each thread")


def nvcc_built():
    """([commands], how many ways are skipped, how many could not be built)."""
    reason = test_nvcc.why_not()
    if reason:
        print(f"skipped: nvcc's programs: {reason}")
        return [], len(WAYS), 0
    paths = [test_nvcc.build(way, test_nvcc.PROGRAM, test_nvcc.WAYS[way]) for way in WAYS]
    return [[path] for path in paths if path], 0, paths.count(None)


def main():
    if not harness.copies_alone():
        print("skipped: programs that an emulator runs find no library by LD_LIBRARY_PATH")
        sys.exit(harness.finish(0, 0, 1))
    commands, skipped, failed = nvcc_built()
    counts = [(0, failed, skipped)]
    env = harness.environment(AITHERION_SIM_DEVICES="2")
    with runtime.Server("--sim", env=env) as server:
        for place in ("unix:" + server.socket, server.address):
            print(f"-- {place}", flush=True)
            env = programs.environment(programs.library_folder("aitherion"), AITHERION_SERVER=place,
                                       AITHERION_KEY_FILE=runtime.key_file())
            counts.append(programs.run_all(env))
            counts += [programs.run(command, env) for command in commands]
        crashed = [line for line in server.log().splitlines() if "event=session-crashed" in line]
        print("".join(line + "\n" for line in crashed), end="")
        counts.append((0, len(crashed), 0))
    sys.exit(harness.finish(*map(sum, zip(*counts))))


if __name__ == "__main__":
    main()
