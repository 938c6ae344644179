#!/usr/bin/env python3
"""Shares of a GPU's time, from `aitherion run --share` to the simulated GPU, whose own books say who used it (sim/gpu_time.h)."""
import os
import sys
import time
import unittest

import runtime
import test_keys
from runtime import Server, harness

sys.path.insert(0, os.path.join(runtime.SOURCE, "bench"))

import sim_gpu  # noqa: E402
from parties import Party  # noqa: E402

POINTS = 5  # that a share may be wrong by
# Only windows count in which the GPU worked for most of the time: in others the machine was too busy to give the GPU work.
WINDOW_S, WINDOWS, BUSY = 0.4, 7, 0.85
WARM_S, WORK_S = 0.5, 3600
KERNEL_US = 5000  # four of them are with the server, as long as a turn


@unittest.skipUnless(harness.copies_alone(), "programs that an emulator runs find no library by LD_LIBRARY_PATH")
class Shares(test_keys.Base):
    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.folder, ".gpu")
        self.at_work = []

    def server(self, *words, **options):
        return Server("--sim", *words, env=harness.environment(AITHERION_SIM_GPU=self.file), **options)

    def party(self, server, number, *claim, kind="kernels", key=None, place=None, **variables):
        """A program with a claim, in words of `aitherion run`."""
        prefix = [harness.binary(), "run", "--server", place or f"unix:{server.socket}", "--key", key or runtime.key_file(), *claim, "--"]
        variables.setdefault("BENCH_KERNEL_US", KERNEL_US)
        party = Party(harness.build(), kind, number, harness.environment(), prefix, harness.PATIENCE_S, folder=harness.scratch(), **variables)
        self.addCleanup(party.end)
        return party

    def used(self):
        return sim_gpu.used(self.file)

    def window(self, parties, seconds=WINDOW_S):
        """The part of a time that each party used."""
        before, begin = self.used(), time.monotonic()
        time.sleep(seconds)
        after, passed = self.used(), time.monotonic() - begin
        return [(after.get(party.number, 0) - before.get(party.number, 0)) / passed for party in parties]

    def used_meanwhile(self, parties):
        """The same of the windows that count, while all parties work."""
        for party in parties:
            if party not in self.at_work:
                party.go(WORK_S)
                self.at_work.append(party)
        time.sleep(WARM_S)
        found, end = [], time.monotonic() + harness.PATIENCE_S
        while len(found) < WINDOWS:
            self.assertLess(time.monotonic(), end, f"the GPU rests: {found}")
            one = self.window(parties)
            if sum(one) >= BUSY:
                found.append(one)
        return [sum(column) / WINDOWS for column in zip(*found)]

    def check_shares(self, parties, wanted):
        """In percent of what all use, over a while in which a busy machine let all of them work."""
        parts = []

        def are_kept():
            used = self.used_meanwhile(parties)
            parts.append([100 * one / sum(used) for one in used])
            return all(abs(share - wish) < POINTS for share, wish in zip(parts[-1], wanted))
        self.assertTrue(harness.wait_until(are_kept), f"{parts} instead of {wanted}")

    def check_honest(self, honest, cheater, wanted=50):
        """In percent, as above: the cheater may have less."""
        parts = []

        def has_its_share():
            used = self.used_meanwhile([honest, cheater])
            parts.append(100 * used[0] / sum(used))
            return parts[-1] > wanted - POINTS
        self.assertTrue(harness.wait_until(has_its_share), f"{parts} instead of {wanted}")

    def test_shares_of_programs(self):
        for number, wanted in enumerate([(25, 75), (10, 90)]):
            with self.subTest(wanted), self.server() as server:
                self.check_shares([self.party(server, 10 * number + i, "--share", str(share)) for i, share in enumerate(wanted, 1)], wanted)

    def test_shares_of_graphs_over_tcp(self):
        """Graphs of 100 kernels beside single ones."""
        with self.server() as server:
            small = self.party(server, 1, "--share", "30", kind="graphs", place=server.address, BENCH_KERNEL_US=100)
            self.check_shares([small, self.party(server, 2, "--share", "70")], [30, 70])

    def test_an_unused_share_is_lent(self):
        with self.server() as server:
            small, large = self.party(server, 1, "--share", "10"), self.party(server, 2, "--share", "90")
            self.assertLess(self.used_meanwhile([small, large])[0], 0.2)
            large.kill()
            self.assertTrue(harness.wait_until(lambda: self.window([small])[0] > 0.6))

    def test_a_capped_program_stays_below_its_share(self):
        with self.server() as server:
            program = self.party(server, 1, "--share", "25", "--cap")
            program.go(WORK_S)
            (used,) = self.window([program], WINDOW_S * WINDOWS)
            self.assertLess(100 * used, 25 + POINTS)
            self.assertGreater(100 * used, 5)

    def test_a_higher_priority_goes_first(self):
        """With the smaller share, too."""
        with self.server() as server:
            low, high = self.party(server, 1, "--share", "90"), self.party(server, 2, "--share", "10", "--priority", "high")
            parts = []

            def goes_first():  # a busy machine may keep the program of the higher priority from working
                after, before = self.used_meanwhile([low, high])
                parts.append((before, after))
                return before > 10 * after
            self.assertTrue(harness.wait_until(goes_first), parts)

    def test_a_killed_holder_gives_its_turn_back(self):
        """Whether its program or its session is killed, in a kernel that never ends."""
        hour_us = 3600 * 1000 * 1000
        for number, kills_session in enumerate([False, True]):
            with self.subTest(kills_session=kills_session), self.server() as server:
                other = self.party(server, 10 * number + 1, "--share", "50")
                known = server.children()
                holder = self.party(server, 10 * number + 2, "--share", "50", is_ready=False, BENCH_KERNEL_US=hour_us)
                self.assertTrue(harness.wait_until(lambda: self.used().get(holder.number) == 3600))
                other.go(0.1)
                if kills_session:
                    for pid in set(server.children()) - set(known):
                        os.kill(pid, 9)
                else:
                    holder.kill()
                self.assertGreater(other.result()["work_us"], 0)

    def rows_of_two(self):
        return self.rows("alice share=50\nbob share=50\n")

    def test_more_processes_of_an_identity_get_no_more(self):
        with self.server("--identities", self.rows_of_two(), keys=self.folder) as server:
            honest = self.party(server, 1, key=self.path("alice"))
            cheater = self.party(server, 2, "--share", "100", kind="children", key=self.path("bob"))
            self.check_shares([honest, cheater], [50, 50])

    def test_cheaters_get_no_more(self):
        """Many streams, threads, contexts, graphs, loops of fills, events that are never waited for, loops of launch and wait."""
        kinds = {"streams": 1000, "threads": 1000, "contexts": 1000, "graphs": 100, "clearing": 0, "unwaited": 500, "loop": 5000}
        with self.server("--identities", self.rows_of_two(), keys=self.folder) as server:
            honest = self.party(server, 1, key=self.path("alice"))
            for number, (kind, kernel_us) in enumerate(kinds.items(), 2):
                with self.subTest(kind):
                    cheater = self.party(server, number, "--share", "100", kind=kind, key=self.path("bob"), BENCH_KERNEL_US=kernel_us)
                    self.check_honest(honest, cheater)
                    cheater.kill()

    def test_long_kernels_with_functions_behind_them_get_no_more(self):
        """Though their end may need the program, so others do not wait for it for long."""
        for kind in ("callbacks", "called"):
            with self.subTest(kind), self.server() as server:
                honest = self.party(server, 1, "--share", "50")
                self.check_honest(honest, self.party(server, 2, "--share", "50", kind=kind, BENCH_KERNEL_US=30000))

    def test_without_turns_more_processes_get_more(self):
        """So the test above can fail."""
        with self.server("--identities", self.rows_of_two(), "--sharing", "free", keys=self.folder) as server:
            honest = self.party(server, 1, key=self.path("alice"))
            used = self.used_meanwhile([honest, self.party(server, 2, kind="children", key=self.path("bob"))])
            self.assertGreater(used[1], 2 * used[0])


if __name__ == "__main__":
    harness.main()
