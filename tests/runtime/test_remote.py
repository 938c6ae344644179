#!/usr/bin/env python3
"""The programs of tests/cuda_programs, and a program of nvcc, with every optimisation: their GPUs at one server, over both transports,
encrypted, and one GPU at each of two servers. test_sets.py and test_switches.py switch optimisations off."""
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


def run_encrypted(commands):
    """One pass over TCP with TLS; every session of it must be encrypted."""
    with Server("--sim", "--encrypt", "on", env=harness.environment(AITHERION_SIM_DEVICES="2")) as server:
        print("== encrypted")
        counts = remote.run_all([server], server.address, ["aitherion"], commands, encrypt="on")
        plain = server.log().count("encrypted=no")
        return counts + [remote.crashes(server), (1, 0, 0) if not plain and "encrypted=yes" in server.log() else (0, 1, 0)]


def run(commands):
    print("== with every optimisation")
    return remote.run_at_one(commands, [(transport, None) for transport in remote.TRANSPORTS]) + run_at_two(commands) + \
        run_encrypted(commands)


if __name__ == "__main__":
    remote.main(run)
