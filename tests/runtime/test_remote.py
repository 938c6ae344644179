#!/usr/bin/env python3
"""The programs of tests/cuda_programs, and a program of nvcc, with every optimisation: their GPUs at one server, on this host and as from
another one; and some of them with a GPU at each of two servers. test_sets.py has all of them there, and switches optimisations off."""
import remote


def run(commands):
    print("== with every optimisation")
    return remote.run_at_one(commands, [("shm", None), ("tls", None)]) + remote.run_at_two([], ["contexts", "memory"])


if __name__ == "__main__":
    remote.main(run)
