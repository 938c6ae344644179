#!/usr/bin/env python3
"""The programs of tests/cuda_programs, and a program of nvcc, with every optimisation: their GPUs at one server, on this host and as from
another one, and one GPU at each of two servers. test_sets.py and test_switches.py switch optimisations off."""
import remote
from remote import harness
from runtime import Server


def run_at_two(commands):
    with Server("--sim", env=harness.environment(AITHERION_SIM_FIRST="0")) as first, \
            Server("--sim", env=harness.environment(AITHERION_SIM_FIRST="1")) as second:
        print("== one program, two servers")
        place = f"unix:{first.socket},{second.address}"
        counts = remote.run_all([first, second], place, ["aitherion/several", "aitherion"], commands)
        return counts + [remote.crashes(first), remote.crashes(second)]


def run(commands):
    print("== with every optimisation")
    return remote.run_at_one(commands, [("shm", None), ("tls", None)]) + run_at_two(commands)


if __name__ == "__main__":
    remote.main(run)
