#!/usr/bin/env python3
"""The programs of tests/cuda_programs, and a program of nvcc, with their GPUs at a server: without any optimisation, with six sets of
optimisations, which cover every pair of settings (covering.py), and with all over plain TCP and with a GPU at each of two servers.
test_remote.py runs them with every optimisation otherwise, test_switches.py without each one alone."""
import covering
import remote


def six_sets():
    """[(transport, what is off)]. The transport is two of the factors; encryption is for TCP only."""
    rows = covering.rows(["tcp", "encrypted", *remote.switches()])
    return [("shm" if "tcp" not in row else "tls" if "encrypted" in row else "tcp", ",".join(sorted(row - {"tcp", "encrypted"}))) for row in rows]


def run(commands):
    print("== with no optimisation, with six sets of them (AITHERION_DISABLE), and by plain TCP: all programs each time")
    return remote.run_at_one(commands, [("shm", "all"), ("tls", "all"), *six_sets(), ("tcp", None)]) + remote.run_at_two(commands)


if __name__ == "__main__":
    remote.main(run)
