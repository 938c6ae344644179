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
        server = self.entered(serve(memory="128M"))
        self.relay = self.entered(Relay(server.address, DELAY_S))

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
        begin = time.monotonic()
        with Program(self.relay.address, alone=True) as program:
            self.assertEqual(program.first, GOOD)
            # the connection, two for the proofs, the channel, cuInit(), the device's facts
            self.assertLess((time.monotonic() - begin) / ROUND_TRIP_S, 6 + 2)
            self.assertLess(self.round_trips(program, "facts", f"{GOOD} right"), 0.5)


if __name__ == "__main__":
    harness.main()
