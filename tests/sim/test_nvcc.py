#!/usr/bin/env python3
"""Programs built by nvcc, one of them in several ways, on the simulated driver. Skipped without nvcc."""
import hashlib
import os
import shutil
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "cuda_programs"))

import programs  # noqa: E402
from programs import harness  # noqa: E402

PROGRAM = os.path.join(SOURCE, "tests", "cuda_programs", "runtime_api.cu")
LIBRARIES = os.path.join(SOURCE, "tests", "cuda_programs", "library_calls.cu")
WAYS = {
    "static runtime": [],
    "not compressed": ["--no-compress"],
    "shared runtime": ["-cudart", "shared"],
    "default stream of each thread": ["--default-stream", "per-thread"],
    "relocatable device code": ["-rdc=true"],
    "relocatable, not compressed": ["-rdc=true", "--no-compress"],
}


def nvcc():
    """Returns the compiler's path, from PATH or CUDA's folder, or None."""
    return shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


def why_not():
    """Returns why the tests are skipped, or None."""
    if not nvcc():
        return "no nvcc (CUDA toolkit)"
    if not harness.copies_alone():
        return "programs of this machine are no use in a cross build"
    if os.environ.get("AITHERION_SANITIZED") == "1":
        return "nvcc's programs lack the sanitizers' runtime, which the simulated driver of this build needs"
    with open(os.path.join(harness.build(), "config.h"), encoding="utf-8") as config:
        if "#define ATH_RUNTIME_TABLES 1" not in config.read():
            return "this build is without the tables for the CUDA runtime (--disable-runtime-tables)"
    return None


def build(name, source, arguments):
    """Builds a program. Returns its path; prints why and returns None on failure. nvcc needs seconds for each, so with AITHERION_NVCC_KEEP
    (a folder) a program is kept there for other test files; the folder belongs to one state of the sources."""
    path = os.path.join(harness.scratch(), name.replace(",", "").replace(" ", "-"))
    kept = os.environ.get("AITHERION_NVCC_KEEP")
    kept = kept and os.path.join(kept, hashlib.sha256("\0".join([source, *arguments]).encode()).hexdigest())
    if kept and os.path.exists(kept):
        shutil.copy(kept, path)
        return path
    result = subprocess.run([nvcc(), "-std=c++17", "-o", path, source, *arguments], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, check=False)
    print(result.stdout, end="", flush=True)
    if result.returncode:
        return None
    if kept:
        shutil.copy(path, f"{kept}.{os.getpid()}")
        os.rename(f"{kept}.{os.getpid()}", kept)
    return path


def run_libraries(toolkit, env):
    """Runs the program that uses NVIDIA's libraries. Returns (passed, failed, skipped)."""
    print("-- libraries", flush=True)
    if not os.path.exists(os.path.join(toolkit, "libcublas.so")):
        print("skipped: the toolkit has no libcublas.so")
        return 0, 0, 1
    path = build("library_calls", LIBRARIES, ["-lcublas"])
    return programs.run([path], {**env, "AITHERION_SIM_UNKNOWN": "ignore"}) if path else (0, 1, 0)


def main():
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(harness.finish(0, 0, len(WAYS) + 1))
    toolkit = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(nvcc()))), "lib64")
    env = programs.environment(os.pathsep.join([programs.library_folder("aitherion/sim"), toolkit]))
    counts = []
    for way, arguments in WAYS.items():
        print(f"-- {way}", flush=True)
        path = build("runtime_api " + way, PROGRAM, arguments)
        counts.append(programs.run([path], env) if path else (0, 1, 0))
    counts.append(run_libraries(toolkit, env))
    sys.exit(harness.finish(*map(sum, zip(*counts))))


if __name__ == "__main__":
    main()
