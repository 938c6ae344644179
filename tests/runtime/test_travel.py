#!/usr/bin/env python3
"""What travels for the calls of a program, as AITHERION_CUDA_LOG=summary counts it, and that large copies come whole."""
import re
import unittest

from cuda import MIB, Program
from runtime import harness
from test_cuda import GOOD, TRANSPORTS, place, serve

LINE = re.compile(r"^aitherion\[\d+\]: +(\d+) calls +(\d+) answers +(\d+) bytes out +(\d+) in +[\d.]+ ms  (\S+)$")


class Travel(unittest.TestCase):
    def counts(self, transport, *steps):
        """{function: (calls, answers, bytes out, bytes in)} of a program that does these steps well."""
        with serve(memory="128M") as server:
            return self.counts_at(place(server, transport), *steps)

    def counts_at(self, server, *steps):
        with Program(server, env={"AITHERION_CUDA_LOG": "summary"}) as program:
            for step in steps:
                self.assertIn(program.do(step), [GOOD, f"{GOOD} right"])
            lines = [LINE.match(line) for line in program.end().splitlines()]
        self.assertTrue(lines and all(lines))
        return {line.group(5): tuple(map(int, line.groups()[:4])) for line in lines}

    def test_a_stream_that_a_copy_waited_for_is_not_waited_for_again(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                found = self.counts(transport, "fetch 50 4")
                self.assertEqual(found["cuMemcpyDtoHAsync_v2"][:2], (50, 50))
                self.assertNotIn("cuStreamSynchronize", found)

    def test_nor_is_it_where_both_sides_have_memory(self):
        with serve(memory="128M") as server:
            found = [self.counts_at(server.address, *steps).get("cuStreamSynchronize", (0,))[0]
                     for steps in [["train 1 mapped"], ["train 1 mapped", "fetch 50 4"]]]
        self.assertEqual(found[0], found[1])

    def test_what_nobody_waits_for_has_no_answer(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                found = self.counts(transport, "fill 1000")
                self.assertEqual(found["cuLaunchKernel"][:2], (1, 0))
                self.assertEqual(found["altogether"][0], sum(count for name, (count, *_) in found.items() if name != "altogether"))

    def test_a_launch_that_must_fit_is_asked_about_once(self):
        shapes, times = 1500, 3
        for transport in TRANSPORTS:
            with self.subTest(transport):
                found = self.counts(transport, f"shapes {shapes} {times}")
                self.assertEqual(found["cuLaunchKernelEx"][:2], (shapes * times, shapes))

    def test_a_kernel_is_asked_about_once_for_each_setting(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                once = self.counts(transport, "kernel fill 4096")["cuKernelGetAttribute"]
                again = self.counts(transport, "kernel fill 4096", "kernel fill 4096", "kernel fill 8192", "kernel fill 4096")
                self.assertEqual(again["cuKernelGetAttribute"][:2], (2 * once[0], 2 * once[1]))
                self.assertEqual(again["cuKernelGetFunction"][0], 1)

    def test_what_each_library_asks_first_is_asked_once(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                self.assertEqual(self.counts(transport, "begin", "begin", "begin")["cuCtxGetLimit"][:2], (1, 1))

    def test_nobody_waits_for_the_record_of_an_event(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                found = self.counts(transport, "record 100")
                self.assertEqual(found["cuEventRecord"][:2], (100, 0))
                self.assertEqual(found["cuEventRecordWithFlags"][:2], (1, 1))

    def test_what_is_made_ahead_ends_with_its_context(self):
        for transport in TRANSPORTS:
            with self.subTest(transport), serve(memory="128M") as server, Program(place(server, transport)) as program:
                self.assertEqual(program.do("anew"), GOOD)

    def test_what_is_made_ahead_stays_while_its_context_does(self):
        rounds, streams, ahead = 20, 4, 15
        for transport in TRANSPORTS:
            with self.subTest(transport):
                found = self.counts(transport, f"pieces {rounds}")
                self.assertLessEqual(found["cuStreamCreate"][0], rounds * streams + ahead)

    def test_what_ended_with_its_context_is_nobody_elses(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                found = self.counts(transport, "stale")
                self.assertFalse({"cuStreamIsCapturing", "cuStreamDestroy_v2", "cuEventDestroy_v2"} & set(found))

    def test_large_copies_come_whole(self):
        for transport in TRANSPORTS:
            for size in [32767, 32768, 32769, 65537, 8 * MIB + 1, 40 * MIB + 5]:
                with self.subTest(transport=transport, size=size):
                    self.counts(transport, f"fetch 2 {size}")

    def test_the_bytes_of_a_large_copy_are_counted(self):
        found = self.counts("tcp", f"fetch 1 {20 * MIB}")
        self.assertGreater(found["cuMemcpyHtoDAsync_v2"][2], 20 * MIB)
        self.assertGreater(found["cuMemcpyDtoHAsync_v2"][3], 20 * MIB)
        self.assertLess(found["altogether"][3], 21 * MIB)


if __name__ == "__main__":
    harness.main()
