#!/usr/bin/env python3
"""The time of a simulated GPU that processes share (sim/gpu_time.h): one kernel at a time, books, and what a killed process leaves."""
import os
import sys
import time
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(SOURCE, name) for name in ("bench", "tests/tools", "tests/runtime")]

import harness  # noqa: E402
import runtime  # noqa: E402
import sim_gpu  # noqa: E402
from cuda import alone_variables  # noqa: E402
from parties import Party  # noqa: E402

SLICE_S = 0.01  # of the kernels below


@unittest.skipUnless(harness.copies_alone(), "programs that an emulator runs find no library by LD_LIBRARY_PATH")
class GpuTime(unittest.TestCase):
    def setUp(self):
        self.file = os.path.join(harness.scratch(), self.id().rsplit(".", 1)[1])

    def environment(self, **changes):
        path = [os.path.join(harness.build(), "lib", "aitherion", "sim"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        return harness.environment(AITHERION_SIM_GPU=self.file, LD_LIBRARY_PATH=os.pathsep.join(path), **changes)

    def party(self, kind, number, env=None, **variables):
        party = Party(harness.build(), kind, number, env or self.environment(), patience_s=harness.PATIENCE_S, **variables)
        self.addCleanup(party.end)
        return party

    def used(self, number):
        return sim_gpu.used(self.file).get(number, 0)

    def test_kernels_take_their_time_one_after_another(self):
        parties = [self.party("kernels", number, BENCH_KERNEL_US=SLICE_S * 1e6) for number in (1, 2)]
        first, begin = self.used(1) + self.used(2), time.monotonic()
        for party in parties:
            party.go(1)
        results = [party.result() for party in parties]
        passed = time.monotonic() - begin
        used = self.used(1) + self.used(2) - first
        self.assertLess(used, passed + SLICE_S)
        self.assertAlmostEqual(used, sum(result["work_us"] for result in results) / 1e6, delta=SLICE_S)
        self.assertGreater(min(result["work_us"] for result in results), 0)

    def test_kernels_of_microseconds_take_their_sum(self):
        party = self.party("issued", 1)
        begin = time.monotonic()
        party.go(0.2)
        result = party.result()
        self.assertGreater(time.monotonic() - begin, result["work_us"] / 1e6)
        self.assertGreater(result["work_us"], 0)

    def test_fills_count_for_the_party(self):
        party = self.party("clearing", 7)
        party.go(0.05)
        party.result()
        self.assertGreater(self.used(7), 0.005)  # 50 MiB at 10 GB/s

    def test_processes_have_rows_of_their_own(self):
        party = self.party("children", 3)
        party.go(0.05)
        party.result()
        self.assertEqual([number for _, number, _, _, _ in sim_gpu.books(self.file)], [3] * 4)

    def test_the_kernel_of_a_killed_process_ends(self):
        minute_us = 60 * 1000 * 1000
        other = self.party("kernels", 1)
        holder = self.party("kernels", 9, is_ready=False, BENCH_KERNEL_US=10 * minute_us)
        self.assertTrue(harness.wait_until(lambda: self.used(9) == 600))
        other.go(0.05)
        time.sleep(0.1)
        self.assertEqual(round(self.used(1), 3), 0.01)  # it waits
        holder.kill()
        self.assertGreater(other.result()["work_us"], 0)
        self.assertLess(self.used(9), harness.PATIENCE_S)

    def test_sessions_of_a_server_use_the_file(self):
        """Also sessions that are locked in and may not open it."""
        with runtime.Server("--sim", env=harness.environment(AITHERION_SIM_GPU=self.file)) as server:
            for number, place in enumerate([f"unix:{server.socket}", server.address], 1):
                party = self.party("kernels", number, env=harness.environment(**alone_variables(place)))
                party.go(0.05)
                self.assertGreater(party.result()["work_us"], 0)
                self.assertGreater(self.used(number), 0.04)


if __name__ == "__main__":
    harness.main()
