#!/usr/bin/env python3
"""The programs of tests/cuda_programs, and a program of nvcc, with their GPUs at a server: without any optimisation, with six sets of
optimisations, which cover every pair of settings (covering.py), and with all over plain TCP and with a GPU at each of two servers.
AITHERION_SETS=2,3 takes these sets alone, counted from 0. test_remote.py runs them with every optimisation otherwise, test_switches.py without each
one alone."""
import os

import covering
import remote


def sets():
    """[(transport, what is off)]. The transport is two of the factors; encryption is for TCP only."""
    rows = covering.rows(["tcp", "encrypted", *remote.switches()])
    taken = [int(number) for number in os.environ.get("AITHERION_SETS", "").split(",") if number] or range(len(rows))
    return [("shm" if "tcp" not in row else "tls" if "encrypted" in row else "tcp", ",".join(sorted(row - {"tcp", "encrypted"})))
            for row in (rows[number] for number in taken)]


def run(commands):
    some = sets()
    print(f"== with no optimisation, with {len(some)} sets of them (AITHERION_DISABLE), and by plain TCP: all programs each time")
    return remote.run_at_one(commands, [("shm", "all"), ("tls", "all"), *some, ("tcp", None)]) + remote.run_at_two(commands)


if __name__ == "__main__":
    remote.main(run)
