"""Runs the programs of this folder on a libcuda.so.1: the simulated one, the remoting client, or a GPU's own.

Each program counts its tests; what it says of those that failed or were skipped is shown, and the counts are added up.
"""
import os
import re
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "tools"))

import harness  # noqa: E402

NAMES = ["callbacks", "coherence", "contexts", "faults", "graph_memory", "graph_nodes", "graphs", "linker", "memory", "modules", "pinned", "pools",
         "sharing", "streams", "threads", "training", "virtual", "wrong"]
LIMIT_S = 10 * harness.PATIENCE_S  # of a program; each of its tests has a limit of its own
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$")


def library_folder(name):
    """A folder of the build tree: "aitherion" or "aitherion/sim"."""
    return os.path.join(harness.build(), "lib", name)


def environment(libraries, **changes):
    """One in which programs find libcuda.so.1 in a folder; None: where the system has it. Programs do fewer rounds with sanitizers."""
    path = [libraries] if libraries else []
    path += [os.environ[name] for name in ["LD_LIBRARY_PATH"] if os.environ.get(name)]
    return harness.environment(srcdir=SOURCE, LD_LIBRARY_PATH=os.pathsep.join(path) or None,
                               AITHERION_SANITIZED=os.environ.get("AITHERION_SANITIZED"), **changes)


def run(command, env):
    """One program to its end: (passed, failed, skipped)."""
    print(f"== {os.path.basename(command[0])}", flush=True)
    try:
        result = subprocess.run(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                errors="surrogateescape", timeout=LIMIT_S, check=False)
        code, output = result.returncode, result.stdout
    except subprocess.TimeoutExpired as expired:
        code, output = f"none within {LIMIT_S} s", (expired.stdout or b"").decode(errors="replace")
    lines = output.splitlines()
    counts = COUNTS.match(lines.pop()) if lines else None
    print("".join(line + "\n" for line in lines), end="", flush=True)
    if not counts:
        print(f"{command[0]}: no count of its tests; exit code {code}")
    passed, failed, skipped = map(int, counts.groups()) if counts else (0, 1, 0)
    failed = failed or int(code != 0)
    if failed and harness.ENDS_EARLY:
        sys.exit(harness.finish(passed, failed, skipped))
    return passed, failed, skipped


def run_all(env, names=NAMES):
    """All programs: (passed, failed, skipped)."""
    folder = os.path.join(harness.build(), "tests", "cuda_programs")
    counts = [run([os.path.join(folder, name)], env) for name in names]
    return tuple(map(sum, zip(*counts)))
