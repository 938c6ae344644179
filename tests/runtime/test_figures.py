#!/usr/bin/env python3
"""The figures that a server measures: counts of each session, and what NVML says of the devices."""
import contextlib
import os
import unittest

import runtime
from cuda import MIB, Program
from runtime import Server, Session, harness
from test_cuda import TRANSPORTS, place

GOOD = "CUDA_SUCCESS"
COUNTS = ("calls", "receivedBytes", "sentBytes", "waitedUs")


def needs_capnp(test):
    return unittest.skipUnless(runtime.HAS_CAPNP, "no capnp (package capnproto)")(test)


def ask(server, **options):
    with Session(server.connect(), **options) as session:
        return session.ask({"getFigures": None}, "figures")


def counts_of(figures):
    """The counts of each session, with its waits of all durations together, by its id."""
    return {int(one["id"]): dict({name: int(one[name]) for name in COUNTS}, waits=sum(map(int, one["waits"])))
            for one in figures["sessions"]}


def change(server, program, *steps):
    """How steps of the only program change the counts of its session."""
    (before,) = counts_of(ask(server)).values()
    for step in steps:
        program.do(step)
    (after,) = counts_of(ask(server)).values()
    return {name: after[name] - before[name] for name in after}


@needs_capnp
class Counts(unittest.TestCase):
    def test_calls_bytes_and_waits(self):
        for transport in TRANSPORTS:
            with self.subTest(transport), Server("--sim") as server, Program(place(server, transport)) as program:
                program.do(f"take plain {8 * MIB}")
                for step in ("launch 100", "sync"):
                    program.do(step)  # what is asked once, is asked now
                few, many = (change(server, program, *steps) for steps in (("launch 100", "sync"), ("launch 300", "sync")))
                self.assertEqual(many["calls"] - few["calls"], 200)
                self.assertEqual(many["waits"] - few["waits"], 0)
                self.assertGreater(few["waits"], 0)
                self.assertGreater(many["receivedBytes"] - few["receivedBytes"], 200 * 64)
                self.assertLess(many["sentBytes"], 4096)
                (session,) = ask(server)["sessions"]
                self.assertEqual(session["transport"], transport)
                self.assertEqual(len(session["waits"]), 9)

    def test_bytes_of_copies(self):
        for transport in TRANSPORTS:
            with self.subTest(transport), Server("--sim") as server, Program(place(server, transport)) as program:
                program.do("fill 1000")
                read = change(server, program, f"fill {4 * MIB}")
                copied = 16 * MIB if transport == "tcp" else 0  # shm: both sides have the memory
                self.assertGreaterEqual(read["sentBytes"], copied)
                self.assertLess(read["sentBytes"], copied + MIB)

    def test_programs_come_and_go(self):
        with Server("--sim") as server, contextlib.ExitStack() as stack:
            programs = [stack.enter_context(Program(server.socket)) for _ in range(3)]
            for number, program in enumerate(programs):
                program.do(f"launch {1000 * (number + 1)}")
                program.do("sync")
            first = counts_of(ask(server))
            self.assertEqual(list(first), sorted(first))
            self.assertEqual([one["calls"] // 1000 for one in first.values()], [1, 2, 3])
            programs[1].kill()
            self.assertTrue(harness.wait_until(lambda: len(ask(server)["sessions"]) == 2), "a killed program leaves its figures behind")
            programs[0].end()
            self.assertTrue(harness.wait_until(lambda: len(ask(server)["sessions"]) == 1), "an ended program leaves its figures behind")
            with Program(server.socket) as another:
                another.do("sync")
                now = counts_of(ask(server))
                self.assertEqual(list(now)[0], list(first)[2])
                self.assertNotIn(list(now)[1], first)
                self.assertLess(list(now.values())[1]["calls"], 1000)
            figures = ask(server)
            self.assertGreaterEqual(int(figures["accepted"]), 4)
            self.assertEqual((figures["refused"], figures["broken"]), ("0", "0"))

    def test_an_identity_sees_its_own_sessions(self):
        folder = os.path.join(harness.scratch(), "figure-keys")
        os.makedirs(folder, mode=0o700)
        for name in ("alice", "bob"):
            with open(os.open(os.path.join(folder, name), os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
                file.write(name.encode() * 8)
        with Server("--sim", keys=folder) as server:
            with Program(server.address, key=b"alice" * 8, env={"AITHERION_KEY_NAME": "alice"}) as program:
                self.assertEqual(program.first, GOOD)
                self.assertEqual(len(ask(server, key=b"alice" * 8, name="alice")["sessions"]), 1)
                others = ask(server, key=b"bob" * 8, name="bob")
                self.assertEqual(others.get("sessions", []), [])
                self.assertEqual(len(others["devices"]), 1)


if __name__ == "__main__":
    harness.main()
