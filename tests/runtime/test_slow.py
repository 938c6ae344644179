#!/usr/bin/env python3
"""CUDA programs at a server behind a slow line (bench/relay.c): the number of round trips, by the clock."""
import contextlib
import math
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

DELAYS_S = (0.1, 0.4, 1.6)  # one way; compared with the last one, the time of a busy machine itself is small
TIMES = 5              # takes the best of this many


def by_the_clock(test):
    """A test of the number of round trips. It is repeated behind a slower line if the first try fails."""
    def run(self):
        for delay_s in DELAYS_S[:-1]:
            self.open(delay_s)
            with contextlib.suppress(AssertionError):
                return test(self)
        self.open(DELAYS_S[-1])
        return test(self)
    return run


class Slow(unittest.TestCase):
    def setUp(self):
        self.server = self.entered(serve(memory="128M"))
        self.open(DELAYS_S[0])

    def open(self, delay_s):
        self.round_trip_s = 2 * delay_s
        self.relay = self.entered(Relay(harness.build(), self.server.address, delay_s))

    def entered(self, context):
        self.addCleanup(context.__exit__, None, None, None)
        return context.__enter__()

    def round_trips(self, program, step, wanted=GOOD, below=0):
        """The smallest number of round trips of several tries; stops at a try that is good enough."""
        fewest = math.inf
        for _ in range(TIMES):
            begin = time.monotonic()
            self.assertEqual(program.do(step), wanted)
            fewest = min(fewest, (time.monotonic() - begin) / self.round_trip_s)
            if fewest < below:
                break
        return fewest

    @by_the_clock
    def test_a_training_step_takes_one(self):
        with Program(self.relay.address, alone=True) as program:
            for step in ["train 200", "train 200 mapped"]:
                self.assertEqual(program.do(step), GOOD)  # modules, streams, memory
                found = self.round_trips(program, step, below=1.5)
                self.assertGreaterEqual(found, 1, step)
                self.assertLess(found, 1.5, step)

    @by_the_clock
    def test_a_device_is_known_after_cuInit(self):
        # the connection, the challenge, the proofs with the channel, cuInit() with the device's facts, a context
        most, fewest = 5 + 0.9, math.inf
        for _ in range(TIMES):
            begin = time.monotonic()
            with Program(self.relay.address, alone=True) as program:
                self.assertEqual(program.first, GOOD)
                fewest = min(fewest, (time.monotonic() - begin) / self.round_trip_s)
                self.assertLess(self.round_trips(program, "facts", f"{GOOD} right", below=0.5), 0.5)
            if fewest < most:
                break
        self.assertLess(fewest, most)

    def test_further_connections_cost_no_round_trip(self):
        with Program(self.relay.address, alone=True) as program:
            self.assertEqual(program.first, GOOD)
            self.assertIn(" connections=4 ", self.server.log())

    @by_the_clock
    def test_first_calls_of_libraries_cost_nothing_again(self):
        with Program(self.relay.address, alone=True) as program:
            self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
            self.assertLess(self.round_trips(program, "begin", below=0.5), 0.5)

    @by_the_clock
    def test_all_facts_of_a_kernel_are_asked_at_once(self):
        # the kernel, its limit, its attributes, its function, and each of the function's 16 attributes
        most = 1 + 1 + 1 + 1 + 16 + 0.9
        with Program(self.relay.address, alone=True) as program:
            self.assertEqual(program.do("kernel fill 1024"), f"{GOOD} right")
            found = []
            for kernel in ["saxpy", "vector_add", "matmul", "gather", "say"]:
                begin = time.monotonic()
                self.assertEqual(program.do(f"kernel {kernel} 4096"), f"{GOOD} right")
                found.append((time.monotonic() - begin) / self.round_trip_s)
                if found[-1] < most:
                    break
            self.assertLess(min(found), most)

    @by_the_clock
    def test_all_sizes_of_a_block_are_asked_at_once(self):
        # the module, the function, its attribute, and 32 sizes together
        most = 1 + 1 + 1 + 1 + 0.9
        fewest = math.inf
        for _ in range(TIMES):
            with Program(self.relay.address, alone=True) as program:
                fewest = min(fewest, self.round_trips(program, "search", f"{GOOD} right", below=most))
            if fewest < most:
                break
        self.assertLess(fewest, most)

    @by_the_clock
    def test_streams_and_events_are_made_several_at_a_time(self):
        with Program(self.relay.address, alone=True) as program:
            self.assertEqual(program.do("several 1"), GOOD)
            # 64 of each in 2, 4, 8, 16, 16, 16 and 16, of which two are used and waited for
            most = 2 * 7 + 2 * 2 + 2
            self.assertLess(self.round_trips(program, "several 64", below=most), most)
        with Program(self.relay.address, alone=True, env={"AITHERION_DISABLE": "spares"}) as program:
            self.assertEqual(program.do("several 1"), GOOD)
            self.assertGreater(self.round_trips(program, "several 8", below=math.inf), 16)

    @by_the_clock
    def test_a_node_that_took_a_kernel_takes_it_again_at_once(self):
        # 20 nodes once, one that is refused, and the copy of the result
        most = 1 + 1 + 0.9
        with Program(self.relay.address, alone=True) as program:
            self.assertGreater(self.round_trips(program, "nodes 1", f"{GOOD} right", below=math.inf), 20)
            self.assertLess(self.round_trips(program, "nodes 100", f"{GOOD} right", below=most), most)

    @by_the_clock
    def test_what_an_address_is_is_asked_once(self):
        with Program(self.relay.address, alone=True) as program:
            for _ in range(2):
                self.assertGreater(self.round_trips(program, "addresses", f"{GOOD} right", below=math.inf), 16)
                self.assertLess(self.round_trips(program, "addresses", f"{GOOD} right", below=0.5), 0.5)
                self.assertEqual(program.do("addresses ended"), f"{GOOD} right")

    def test_a_refusal_arrives(self):
        """Although the first question is in flight, which no server reads any more."""
        with Program(self.relay.address, key=b"x" * 32, alone=True) as program:
            self.assertEqual(program.first, "CUDA_ERROR_NOT_PERMITTED")
            self.assertIn("the server has another key", program.end())


if __name__ == "__main__":
    harness.main()
