#!/usr/bin/env python3
"""The programs of tests/cuda_programs, and a program of nvcc, with their GPUs at a server, without each optimisation in turn, over the
transports that it is about. test_sets.py has every pair of settings in few passes; here a failure names its optimisation."""
import remote
import runtime


def run(commands):
    passes = [(transport, name) for name, transports in remote.switches().items() for transport in transports]
    if runtime.IS_SANITIZED:
        print("skipped: with a sanitizer it takes too long to leave out each optimisation alone")
        return [(0, 0, 1)]
    return remote.run_at_one(commands, passes)


if __name__ == "__main__":
    remote.main(run)
