#!/usr/bin/env python3
"""Writes inputs for tests/fuzz/fuzz_cuda_client and fuzz_cuda_server: cuda_seeds.py TARGET LOOPBACK FOLDER. They are the calls
and answers of tests/cuda/loopback."""
import os
import struct
import subprocess
import sys
import tempfile

FUNCTIONS = 16  # functions of fuzz_cuda_client


def frames(path):
    found = []
    with open(path, "rb") as file:
        while head := file.read(8):
            found.append(file.read(8 * struct.unpack("<II", head)[1]))
    return found


def main():
    target, loopback, folder = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        calls, answers = os.path.join(scratch, "calls"), os.path.join(scratch, "answers")
        subprocess.run([loopback, calls, answers], stdout=subprocess.DEVNULL, check=False)
        if target == "fuzz_cuda_server":
            seeds = [b"\0" + struct.pack("<H", len(one) // 8) + one for one in frames(calls) if len(one) < 8 * 65536]
        else:
            seeds = [bytes([i % FUNCTIONS]) + one for i, one in enumerate(frames(answers))]
    for i, seed in enumerate(seeds):
        with open(os.path.join(folder, f"loopback-{i}"), "wb") as file:
            file.write(seed)


if __name__ == "__main__":
    main()
