"""Runs the programs of tests/cuda_programs, and a program of nvcc, with their GPUs at servers that have the simulated driver."""
import os
import subprocess
import sys

import runtime

sys.path.insert(0, os.path.join(runtime.SOURCE, "tests", "cuda_programs"))
sys.path.insert(0, os.path.join(runtime.SOURCE, "tests", "sim"))

import programs  # noqa: E402
import test_nvcc  # noqa: E402
from runtime import harness  # noqa: E402

TRANSPORTS = ["shm", "tcp"]  # beside them, "tls" is tcp with encryption, as from another host
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
    """{name: the transports that it is about}, of the optimisations that AITHERION_DISABLE can switch off."""
    lines = subprocess.run([runtime.binary(), "switches"], text=True, stdout=subprocess.PIPE, check=True,
                           env=harness.environment()).stdout.splitlines()
    meanings = dict(line.split(maxsplit=1) for line in lines)
    assert len(meanings) > 5, lines
    return {name: [word for word in TRANSPORTS if meaning.startswith(word + ":")] or TRANSPORTS for name, meaning in meanings.items()}


def run_all(servers, place, libraries, commands, off=None, encrypt=None, names=programs.NAMES):
    """Runs the programs with their GPUs at a place: [(passed, failed, skipped)]."""
    print(f"-- {place}" + (", encrypted" if encrypt == "on" else "") + (f" without: {off}" if off else ""), flush=True)
    folders = os.pathsep.join(programs.library_folder(name) for name in libraries)
    env = programs.environment(folders, AITHERION_SERVER=place, AITHERION_KEY_FILE=runtime.key_file(), AITHERION_DISABLE=off,
                               AITHERION_ENCRYPT=encrypt)
    if runtime.IS_SANITIZED and len(servers) > 1:  # its tracer stumbles over a library that is loaded from memory
        env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    if len(servers) == 1:
        return [programs.run_all(env, names), *(programs.run(command, env) for command in commands)]
    counts = []
    if "wrong" in names:
        print("skipped: the library for several servers does not survive all wrong calls")
        counts.append((0, 0, 1))
    names = [name for name in names if name != "wrong"] + ["several"]
    return counts + [programs.run_all(env, names), *(programs.run(command, env) for command in commands)]


def crashes(server):
    """Sessions that crashed: (0, how many, 0)."""
    crashed = [line for line in server.log().splitlines() if "event=session-crashed" in line]
    print("".join(line + "\n" for line in crashed), end="")
    return 0, len(crashed), 0


def run_at_one(commands, passes):
    """Passes at one server with two GPUs: each is a transport and what is switched off there (None: nothing)."""
    counts = []
    with runtime.Server("--sim", env=harness.environment(AITHERION_SIM_DEVICES="2")) as server:
        places = {"shm": ("unix:" + server.socket, "off"), "tcp": (server.address, "off"), "tls": (server.address, "on")}
        for transport, off in passes:
            place, encrypt = places[transport]
            before = len(server.log())
            counts += run_all([server], place, ["aitherion"], commands, off, encrypt)
            counts.append(encrypted_as_asked(encrypt, server.log()[before:]))
        return counts + [crashes(server)]


def run_at_two(commands, names=programs.NAMES):
    """A pass at two servers with a GPU each."""
    with runtime.Server("--sim", env=harness.environment(AITHERION_SIM_FIRST="0")) as first, \
            runtime.Server("--sim", env=harness.environment(AITHERION_SIM_FIRST="1")) as second:
        print("== one program, two servers")
        place = f"unix:{first.socket},{second.address}"
        counts = run_all([first, second], place, ["aitherion/several", "aitherion"], commands, names=names)
        return counts + [crashes(first), crashes(second)]


def encrypted_as_asked(encrypt, log):
    """Whether all sessions of a pass were encrypted, or none: (1, 0, 0) or (0, 1, 0)."""
    right, wrong = ("encrypted=yes", "encrypted=no") if encrypt == "on" else ("encrypted=no", "encrypted=yes")
    if right in log and wrong not in log:
        return 1, 0, 0
    print(f"FAIL: {log.count(right)} sessions had {right}, and {log.count(wrong)} had {wrong}")
    return 0, 1, 0


def main(run):
    """Ends the test file with the counts of run(commands of nvcc's programs)."""
    if not harness.copies_alone():
        print("skipped: programs that an emulator runs find no library by LD_LIBRARY_PATH")
        sys.exit(harness.finish(0, 0, 1))
    commands, skipped, failed = nvcc_built()
    counts = [(0, failed, skipped), *run(commands)]
    sys.exit(harness.finish(*map(sum, zip(*counts))))
