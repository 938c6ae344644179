#!/usr/bin/env python3
"""CUDA programs at a server behind a slow line (bench/relay.py): how many round trips things take, by the clock."""
import os
import sys
import time
import unittest

import runtime
from cuda import Program
from runtime import harness
from test_cuda import GOOD, serve

sys.path.insert(0, os.path.join(runtime.SOURCE, "bench"))

from relay import Relay  # noqa: E402

DELAY_S = 0.1
ROUND_TRIP_S = 2 * DELAY_S
TIMES = 5  # the best of so many: this machine may be busy


class Slow(unittest.TestCase):
    def setUp(self):
        self.server = self.entered(serve(memory="128M"))
        self.relay = self.entered(Relay(self.server.address, DELAY_S))

    def entered(self, context):
        self.addCleanup(context.__exit__, None, None, None)
        return context.__enter__()

    def round_trips(self, program, step, wanted=GOOD):
        """The fewest that a step took, of several tries."""
        def once():
            begin = time.monotonic()
            self.assertEqual(program.do(step, 30), wanted)
            return (time.monotonic() - begin) / ROUND_TRIP_S
        return min(once() for _ in range(TIMES))

    def test_a_training_step_takes_one(self):
        with Program(self.relay.address, alone=True) as program:
            for step in ["train 200", "train 200 mapped"]:
                with self.subTest(step):
                    self.assertEqual(program.do(step, 30), GOOD)  # modules, streams, memory
                    found = self.round_trips(program, step)
                    self.assertGreaterEqual(found, 1)
                    self.assertLess(found, 1.5)

    def test_a_device_is_known_after_cuInit(self):
        def once():
            begin = time.monotonic()
            with Program(self.relay.address, alone=True) as program:
                self.assertEqual(program.first, GOOD)
                taken = (time.monotonic() - begin) / ROUND_TRIP_S
                self.assertLess(self.round_trips(program, "facts", f"{GOOD} right"), 0.5)
                return taken
        # the connection, the challenge, the proofs with the channel, cuInit() with the device's facts, a context
        self.assertLess(min(once() for _ in range(TIMES)), 5 + 0.9)

    def test_its_connections_cost_no_round_trip(self):
        with Program(self.relay.address, alone=True) as program:
            self.assertEqual(program.first, GOOD)
            self.assertIn(" connections=4 ", self.server.log())

    def test_what_libraries_begin_with_costs_nothing_again(self):
        with Program(self.relay.address, alone=True) as program:
            self.assertEqual(program.do("fill 1000", 30), f"{GOOD} right")
            self.assertLess(self.round_trips(program, "begin"), 0.5)

    def test_streams_and_events_are_made_some_at_a_time(self):
        with Program(self.relay.address, alone=True) as program:
            self.assertEqual(program.do("several 1", 30), GOOD)
            # 64 of each in 2, 4, 8, 16, 16, 16 and 16, of which two are used and waited for
            self.assertLess(self.round_trips(program, "several 64"), 2 * 7 + 2 * 2 + 2)
        with Program(self.relay.address, alone=True, env={"AITHERION_DISABLE": "spares"}) as program:
            self.assertEqual(program.do("several 1", 30), GOOD)
            self.assertGreater(self.round_trips(program, "several 8"), 16)

    def test_a_refusal_arrives(self):
        """Although the first question is on its way, which nobody reads any more."""
        with Program(self.relay.address, key=b"x" * 32, alone=True) as program:
            self.assertEqual(program.first, "CUDA_ERROR_NOT_PERMITTED")
            self.assertIn("the server has another key", program.end())


if __name__ == "__main__":
    harness.main()
