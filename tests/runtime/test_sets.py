#!/usr/bin/env python3
"""The programs of tests/cuda_programs, and a program of nvcc, with their GPUs at a server: without any optimisation over both transports,
and with six sets of optimisations, which cover every pair of settings (covering.py). test_remote.py runs them with every optimisation,
test_switches.py without each one alone."""
import covering
import remote


def six_sets():
    """[(transport, what is off)]. The transport is one of the factors."""
    rows = covering.rows(["tcp", *remote.switches()])
    return [("tcp" if "tcp" in row else "shm", ",".join(sorted(row - {"tcp"}))) for row in rows]


def run(commands):
    print("== with no optimisation, and with six sets of them (AITHERION_DISABLE): all programs each time")
    return remote.run_at_one(commands, [(transport, "all") for transport in remote.TRANSPORTS] + six_sets())


if __name__ == "__main__":
    remote.main(run)
