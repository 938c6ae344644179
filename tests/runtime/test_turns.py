#!/usr/bin/env python3
"""The arbiter: the process of a server that gives turns on the GPUs. tests/unit/test_arbiter.c has its turns."""
import os
import signal
import sys
import time
import unittest

import runtime
from cuda import Program, alone_variables
from runtime import Server, Session, harness
from test_figures import ask, needs_capnp

sys.path.append(os.path.join(runtime.SOURCE, "bench"))
import sim_gpu  # noqa: E402
from parties import Party  # noqa: E402


def sessions_of(server):
    """The sessions of programs as a control session lists them."""
    with Session(server.connect()) as session:
        return [one for one in session.ask({"getSessions": None}, "sessions")["sessions"] if one["purpose"] == "cuda"]


def arbiter_of(server):
    return harness.wait_until(lambda: harness.arbiter_of(server.process.pid))


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def is_gone(pid):
    return not os.path.exists(f"/proc/{pid}")


class Life(unittest.TestCase):
    def test_it_has_a_pipe_and_no_rights(self):
        with Server("--sim") as server, Program(server.socket) as program:
            program.do("fill 1000")
            pid = arbiter_of(server)
            folder = f"/proc/{pid}/fd"
            files = {name: os.readlink(os.path.join(folder, name)) for name in os.listdir(folder)}
            others = [path for name, path in files.items() if int(name) > 2]
            self.assertEqual([path.split(":")[0] for path in others], ["pipe"], files)
            status = status_of(pid)
            self.assertEqual(int(status["CapEff"], 16), 0)
            self.assertEqual(status["NoNewPrivs"], "1")
            self.assertEqual(status["Seccomp"], "2")
            if os.geteuid() == 0:
                self.assertNotIn("0", status["Uid"].split())
                (session,) = server.children()
                self.assertNotEqual(status["Uid"], status_of(session)["Uid"])

    def test_it_sleeps_without_programs(self):
        with Server("--sim") as server:
            def switches():
                return int(status_of(arbiter_of(server))["voluntary_ctxt_switches"])

            def sleeps():
                before = switches()
                time.sleep(1.5)  # it would look at the board once a second
                return switches() == before
            self.assertTrue(harness.wait_until(sleeps), "it wakes up")
            with Program(server.socket) as program:
                program.do("fill 1000")
                self.assertFalse(sleeps(), "it gives no sign of life")
            self.assertTrue(harness.wait_until(sleeps), "it wakes up after the last session")

    def test_a_killed_one_is_replaced(self):
        with Server("--sim") as server, Program(server.socket) as program:
            program.do("fill 1000")
            first = arbiter_of(server)
            os.kill(first, signal.SIGKILL)
            self.assertTrue(harness.wait_until(lambda: harness.arbiter_of(server.process.pid) not in (None, first)), "no other arbiter")
            self.assertTrue(server.wait_for_log(f"level=warning event=arbiter-ended pid={first} reason=Killed\n"))
            program.do("fill 1000")

    def test_it_ends_with_the_server(self):
        for end in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(end), Server("--sim") as server:
                pid = arbiter_of(server)
                server.process.send_signal(end)
                self.assertTrue(harness.wait_until(lambda: is_gone(pid)), "the arbiter outlives the server")

    def test_no_devices_no_turns(self):
        with Server("--gpus", "none") as server:
            self.assertTrue(server.is_well())
            self.assertIsNone(harness.arbiter_of(server.process.pid))


@needs_capnp
class Lists(unittest.TestCase):
    def test_free_gpus_have_no_arbiter_and_no_figures(self):
        with Server("--sim", "--sharing", "free") as server, Program(server.socket) as program:
            program.do("fill 1000")
            self.assertIsNone(harness.arbiter_of(server.process.pid))
            (session,) = sessions_of(server)
            self.assertEqual(session["turn"]["state"], "unknown")
            (figures,) = ask(server)["sessions"]
            self.assertEqual((figures["heldUs"], figures["turns"]), ("-1", "-1"))

    def test_a_session_has_a_turn_and_figures(self):
        with Server("--sim") as server, Program(server.socket) as program:
            program.do("fill 1000")

            def is_known():
                (session,) = sessions_of(server)
                return session if session["turn"]["state"] != "unknown" else None
            turn = harness.wait_until(is_known)["turn"]
            self.assertIn(turn["state"], ("idle", "free"))
            self.assertEqual((turn["waitsFor"], turn["sharePercent"], turn["shareSource"], turn["prioritySource"]), ("0", -1, "none", "none"))
            self.assertEqual(turn["claim"], {"sharePercent": 0, "isCapped": False, "priority": "normal", "smPercent": 0})
            (figures,) = ask(server)["sessions"]
            self.assertGreaterEqual(int(figures["heldUs"]), 0)
            self.assertEqual((figures["turnWaitedUs"], figures["lentUs"]), ("0", "0"))
            with Session(server.connect()) as session:
                (control,) = [one for one in session.ask({"getSessions": None}, "sessions")["sessions"] if one["purpose"] == "control"]
            self.assertNotIn("turn", control)

    def test_rows_of_identities(self):
        path = os.path.join(harness.scratch(), "rows")
        with open(path, "w", encoding="utf-8") as file:
            file.write("default share=30 cap priority=low\n")
        with Server("--sim", "--identities", path, "--sharing", "turns") as server, Program(server.socket) as program:
            program.do("fill 1000")
            claims = {"sharePercent": 30, "isCapped": True, "priority": "low", "smPercent": 0}
            self.assertTrue(harness.wait_until(lambda: sessions_of(server)[0]["turn"]["claim"] == claims), sessions_of(server))
            turn = sessions_of(server)[0]["turn"]
            self.assertEqual((turn["shareSource"], turn["prioritySource"]), ("identity", "identity"))
            with open(path, "w", encoding="utf-8") as file:
                file.write("default share=40\n")
            claims = {"sharePercent": 40, "isCapped": False, "priority": "normal", "smPercent": 0}
            self.assertTrue(harness.wait_until(lambda: sessions_of(server)[0]["turn"]["claim"] == claims), sessions_of(server))


@needs_capnp
@unittest.skipUnless(harness.copies_alone(), "programs that an emulator runs find no library by LD_LIBRARY_PATH")
class Programs(unittest.TestCase):
    """Programs whose kernels take time on one simulated GPU."""

    def setUp(self):
        self.file = os.path.join(harness.scratch(), self.id().rsplit(".", 1)[1])
        self.server = Server("--sim", "--sharing", "turns", env=harness.environment(AITHERION_SIM_GPU=self.file))
        self.addCleanup(self.server.__exit__)

    def party(self, number, kernel_ms=2, **variables):
        env = harness.environment(**alone_variables("unix:" + self.server.socket), **variables)
        party = Party(harness.build(), "kernels", number, env, patience_s=harness.PATIENCE_S, BENCH_KERNEL_US=kernel_ms * 1000)
        self.addCleanup(party.end)
        return party

    def pair(self, **options):
        """Two programs that work without end, and the process and number of the first one's session."""
        first = self.party(1, **options)
        (process,), (session,) = self.server.children(), sessions_of(self.server)
        second = self.party(2)
        for party in (first, second):
            party.go(1000)
        self.await_work(1, 2)
        return process, session["id"]

    def used(self, number):
        return sim_gpu.used(self.file).get(number, 0)

    def await_work(self, *numbers, seconds=0.02):
        """Waits until each program has had so much more of the GPU. Returns how long that took."""
        before, begin = {number: self.used(number) for number in numbers}, time.monotonic()

        def is_done():
            return all(self.used(number) - before[number] >= seconds for number in numbers)
        self.assertTrue(harness.wait_until(is_done), f"{before} {sim_gpu.used(self.file)} {self.server.log()}")
        return time.monotonic() - begin

    def test_shares(self):
        for number, share in ((1, "20"), (2, "80")):
            self.party(number, AITHERION_SHARE=share).go(1000)
        parts = []

        def has_share():
            """Over a while in which a busy machine let both programs work."""
            first, second = self.used(1), self.used(2)
            self.await_work(2, seconds=2)
            first, second = self.used(1) - first, self.used(2) - second
            parts.append(100 * first / (first + second))
            return abs(parts[-1] - 20) < 5
        self.assertTrue(harness.wait_until(has_share), parts)
        shares = {one["turn"]["claim"]["sharePercent"]: one["turn"]["sharePercent"] for one in sessions_of(self.server)}
        self.assertEqual(shares, {20: 20, 80: 80})

        def are_counted():
            rows = ask(self.server)["sessions"]
            return all(int(row["turns"]) > 10 and int(row["heldUs"]) > 500_000 and int(row["turnWaitedUs"]) > 500_000 for row in rows)
        self.assertTrue(harness.wait_until(are_counted), ask(self.server))

    def test_a_killed_arbiter(self):
        self.pair()
        for _ in range(2):
            arbiter = arbiter_of(self.server)
            os.kill(arbiter, signal.SIGKILL)
            self.assertTrue(harness.wait_until(lambda: harness.arbiter_of(self.server.process.pid) not in (None, arbiter)))
            self.await_work(1, 2)
        self.assertNotIn("turns-silent", self.server.log())

    def test_a_killed_holder(self):
        process, session = self.pair()

        def holds():
            return any(one["id"] == session and one["turn"]["state"] == "holds" for one in sessions_of(self.server))
        self.assertTrue(harness.wait_until(holds))
        os.kill(process, signal.SIGKILL)
        print(f"the other one worked again after {1000 * self.await_work(2, seconds=0.002):.0f} ms")
        self.await_work(2, seconds=1)
        (other,) = sessions_of(self.server)
        self.assertNotEqual(other["id"], session)

    def test_a_client_that_ends_while_it_waits(self):
        first = self.party(1, kernel_ms=1500)
        (session,) = sessions_of(self.server)
        second = self.party(2)
        for party in (first, second):
            party.go(1000)

        def waits():
            return any(one["turn"]["waitsFor"] == session["id"] for one in sessions_of(self.server))
        self.assertTrue(harness.wait_until(waits), sessions_of(self.server))
        second.kill()
        self.assertTrue(harness.wait_until(lambda: len(sessions_of(self.server)) == 1), "its session waits on")
        self.await_work(1)

    def test_a_kernel_of_seconds(self):
        """Others wait for it, because nothing can stop it, and the log tells once why."""
        _, session = self.pair(kernel_ms=2500)
        line = f"level=warning event=turn-overdue session={session} identity=default late_ms=2"
        self.assertTrue(self.server.wait_for_log(line), self.server.log())
        self.await_work(1, 2)
        self.await_work(1, 2)
        self.assertEqual(self.server.log().count("turn-overdue"), 1)


if __name__ == "__main__":
    harness.main()
