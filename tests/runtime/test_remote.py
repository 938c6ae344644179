#!/usr/bin/env python3
"""The programs of tests/cuda_programs, and what nvcc makes of one, with their GPUs at a server, over both transports: with every
optimisation, with none, and without each one in turn; and with one GPU at each of two servers. The servers have the simulated
driver."""
import os
import subprocess
import sys

import runtime

sys.path.insert(0, os.path.join(runtime.SOURCE, "tests", "cuda_programs"))
sys.path.insert(0, os.path.join(runtime.SOURCE, "tests", "sim"))

import programs  # noqa: E402
import test_nvcc  # noqa: E402
from runtime import harness  # noqa: E402

TRANSPORTS = ["shm", "tcp"]
WAYS = ("static runtime", "not compressed", "default stream of each thread")


def nvcc_built():
    """([commands], how many ways are skipped, how many could not be built)."""
    reason = test_nvcc.why_not()
    if reason:
        print(f"skipped: nvcc's programs: {reason}")
        return [], len(WAYS), 0
    paths = [test_nvcc.build(way, test_nvcc.PROGRAM, test_nvcc.WAYS[way]) for way in WAYS]
    return [[path] for path in paths if path], 0, paths.count(None)


def switches():
    """{name: the transports that it is about}, of what AITHERION_DISABLE can switch off."""
    lines = subprocess.run([runtime.binary(), "switches"], text=True, stdout=subprocess.PIPE, check=True,
                           env=harness.environment()).stdout.splitlines()
    said = dict(line.split(maxsplit=1) for line in lines)
    assert len(said) > 5, lines
    return {name: [word for word in TRANSPORTS if meaning.startswith(word + ":")] or TRANSPORTS for name, meaning in said.items()}


def run_all(servers, place, libraries, commands, off=None):
    """Every program with its GPUs at a place: [(passed, failed, skipped)]."""
    print(f"-- {place}" + (f" without: {off}" if off else ""), flush=True)
    folders = os.pathsep.join(programs.library_folder(name) for name in libraries)
    env = programs.environment(folders, AITHERION_SERVER=place, AITHERION_KEY_FILE=runtime.key_file(), AITHERION_DISABLE=off)
    if runtime.IS_SANITIZED and len(servers) > 1:  # its tracer stumbles over a library that is loaded from memory
        env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    names = programs.NAMES + ["several"] * (len(servers) > 1)
    return [programs.run_all(env, names), *(programs.run(command, env) for command in commands)]


def crashes(server):
    """Sessions that ended so: (0, how many, 0)."""
    crashed = [line for line in server.log().splitlines() if "event=session-crashed" in line]
    print("".join(line + "\n" for line in crashed), end="")
    return 0, len(crashed), 0


def run_at_one(commands):
    counts = []
    with runtime.Server("--sim", env=harness.environment(AITHERION_SIM_DEVICES="2")) as server:
        places = {"shm": "unix:" + server.socket, "tcp": server.address}
        print("== with every optimisation, with none, and without each one alone (AITHERION_DISABLE): the whole set each time")
        for off in (None, "all"):
            for transport in TRANSPORTS:
                counts += run_all([server], places[transport], ["aitherion"], commands, off)
        for name, transports in switches().items():
            if runtime.IS_SANITIZED:
                print(f"skipped: with a sanitizer it takes too long to leave out each optimisation alone: {name}")
                counts.append((0, 0, 1))
                continue
            for transport in transports:
                counts += run_all([server], places[transport], ["aitherion"], commands, name)
        return counts + [crashes(server)]


def run_at_two(commands):
    with runtime.Server("--sim", env=harness.environment(AITHERION_SIM_FIRST="0")) as first, \
            runtime.Server("--sim", env=harness.environment(AITHERION_SIM_FIRST="1")) as second:
        print("== one program, two servers")
        place = f"unix:{first.socket},{second.address}"
        counts = run_all([first, second], place, ["aitherion/several", "aitherion"], commands)
        return counts + [crashes(first), crashes(second)]


def main():
    if not harness.copies_alone():
        print("skipped: programs that an emulator runs find no library by LD_LIBRARY_PATH")
        sys.exit(harness.finish(0, 0, 1))
    commands, skipped, failed = nvcc_built()
    counts = [(0, failed, skipped)]
    counts += run_at_one(commands) + run_at_two(commands)
    sys.exit(harness.finish(*map(sum, zip(*counts))))


if __name__ == "__main__":
    main()
