#!/usr/bin/env python3
"""The messages for the calls of a program, as AITHERION_CUDA_LOG=summary counts them; and large copies arrive whole."""
import re
import unittest

from cuda import MIB, Program
from runtime import harness
from test_cuda import GOOD, TRANSPORTS, place, serve

LINE = re.compile(r"^aitherion\[\d+\]: +(\d+) calls +(\d+) answers +\d+ round trips +(\d+) bytes out +(\d+) in +[\d.]+ ms  (\S+)$")


class Travel(unittest.TestCase):
    def counts(self, transport, *steps):
        """{function: (calls, answers, bytes out, bytes in)} of a program that does these steps without an error."""
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

    def test_nor_is_a_stream_with_memory_of_both_sides(self):
        with serve(memory="128M") as server:
            found = [self.counts_at(server.address, *steps).get("cuStreamSynchronize", (0,))[0]
                     for steps in [["train 1 mapped"], ["train 1 mapped", "fetch 50 4"]]]
        self.assertEqual(found[0], found[1])

    def test_a_wait_for_copies_to_the_gpu_has_no_answer(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                self.assertEqual(self.counts(transport, "bring 50 4096")["cuStreamSynchronize"][:2], (50, 1))
                self.assertEqual(self.counts(transport, "bring 3 20000000")["cuMemcpyHtoDAsync_v2"][1], 0)

    def test_it_has_one_where_other_processes_use_the_memory(self):
        found = self.counts("tcp", "bring 50 4096 exported")
        self.assertEqual(found["cuStreamSynchronize"][:2], (50, 50))

    def test_a_copy_that_failed_is_reported_by_the_next_answer(self):
        for transport in TRANSPORTS:
            with self.subTest(transport), serve(memory="128M") as server, Program(place(server, transport)) as program:
                self.assertEqual(program.do("lost"), "CUDA_ERROR_INVALID_VALUE")

    def test_calls_without_a_wait_have_no_answer(self):
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

    def test_clusters_that_fitted_fit_in_any_grid(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                # the first one, and the one of half a cluster
                self.assertEqual(self.counts(transport, "clusters 20")["cuLaunchKernelEx"][:2], (21, 2))
                found = self.counts(transport, "clusters 20 ask")
                # one size that fits and one that is too large; a loopback that is busy counts as a slow line, where the second
                # question is for rows of all lengths
                asked = [(2, 2)] if transport == "shm" else [(2, 2), (33, 33)]
                self.assertIn(found["cuOccupancyMaxActiveClusters"][:2], asked)
                self.assertEqual(found["cuLaunchKernelEx"][:2], (21, 1))

    def test_a_kernel_is_asked_about_once_for_each_setting(self):
        settable = 8  # of 16 attributes: the others are the code's, and a kernel's function has the kernel's code
        for transport in TRANSPORTS:
            with self.subTest(transport):
                once = self.counts(transport, "kernel fill 4096")
                again = self.counts(transport, "kernel fill 4096", "kernel fill 4096", "kernel fill 8192", "kernel fill 4096")
                self.assertEqual(once["cuFuncGetAttribute"][:2], (settable, settable))
                # the one that was set is another question; the kernel's is what was set
                self.assertEqual(again["cuFuncGetAttribute"][:2], (settable + 1, settable + 1))
                self.assertEqual(again["cuLibraryGetKernel"][:2], (1, 1))
                self.assertNotIn("cuKernelGetAttribute", again)

    def test_what_programs_ask_about_a_kernel_comes_with_it(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                found = self.counts(transport, "kernel fill")
                self.assertFalse({"cuKernelGetAttribute", "cuKernelGetFunction"} & set(found))

    def test_a_setting_that_must_fit_has_no_answer(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                self.assertEqual(self.counts(transport, "kernel fill 4096", "kernel fill 8192")["cuKernelSetAttribute"][:2], (2, 0))
                with serve(memory="128M") as server, Program(place(server, transport)) as program:
                    self.assertEqual(program.do("kernel fill 999999999"), "CUDA_ERROR_INVALID_VALUE wrong")

    def test_first_questions_of_libraries_are_asked_once(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                self.assertEqual(self.counts(transport, "begin", "begin", "begin")["cuCtxGetLimit"][:2], (1, 1))

    def test_recording_an_event_does_not_wait(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                found = self.counts(transport, "record 100")
                self.assertEqual(found["cuEventRecord"][:2], (100, 0))
                self.assertEqual(found["cuEventRecordWithFlags"][:2], (1, 1))

    def test_memory_that_a_stream_freed_is_taken_again_without_the_server(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                found = self.counts(transport, "cycle pooled 500", "sync")
                self.assertEqual((found["cuMemAllocAsync"][:2], found["cuMemFreeAsync"][:2]), ((1, 1), (1, 0)))

    def test_and_asked_for_after_each_wait_or_record(self):
        for transport in TRANSPORTS:
            for kind in ["pool", "marked"]:
                with self.subTest(transport=transport, kind=kind):
                    found = self.counts(transport, f"cycle {kind} 20", "sync")
                    self.assertEqual((found["cuMemAllocAsync"][:2], found["cuMemFreeAsync"][:2]), ((20, 20), (20, 0)))

    def test_a_function_of_the_program_comes_with_the_memory_that_it_sees(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                found = self.counts(transport, "cycle host 50")
                self.assertNotIn("athPullMemory", found)
                self.assertLessEqual(found["athNextCallback"][0], 51)

    def test_ending_a_stream_does_not_wait(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                self.assertEqual(self.counts(transport, "cycle stream 100", "sync")["cuStreamDestroy_v2"][:2], (100, 0))

    def test_spare_streams_end_with_their_context(self):
        for transport in TRANSPORTS:
            with self.subTest(transport), serve(memory="128M") as server, Program(place(server, transport)) as program:
                self.assertEqual(program.do("reset"), GOOD)

    def test_spare_streams_stay_while_their_context_does(self):
        rounds, streams, ahead = 20, 4, 15
        for transport in TRANSPORTS:
            with self.subTest(transport):
                found = self.counts(transport, f"pieces {rounds}")
                self.assertLessEqual(found["cuStreamCreate"][0], rounds * streams + ahead)

    def test_objects_that_ended_with_their_context_are_not_reused(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                found = self.counts(transport, "stale")
                self.assertFalse({"cuStreamIsCapturing", "cuStreamDestroy_v2", "cuEventDestroy_v2"} & set(found))

    def test_large_copies_arrive_whole(self):
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
