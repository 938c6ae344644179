#!/usr/bin/env python3
"""The arbiter: the process of a server that gives turns on the GPUs. tests/unit/test_arbiter.c has its turns."""
import os
import signal
import time
import unittest

import runtime
from cuda import Program
from runtime import Server, Session, harness
from test_figures import ask, needs_capnp


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
    def test_a_session_has_a_turn_and_figures(self):
        with Server("--sim") as server, Program(server.socket) as program:
            program.do("fill 1000")

            def is_known():
                (session,) = sessions_of(server)
                return session if session["turn"]["state"] != "unknown" else None
            turn = harness.wait_until(is_known)["turn"]
            self.assertIn(turn["state"], ("idle", "free"))
            self.assertEqual((turn["waitsFor"], turn["sharePercent"], turn["shareSource"], turn["prioritySource"]), ("0", -1, "none", "none"))
            self.assertEqual(turn["claim"], {"sharePercent": 0, "isCapped": False, "priority": "normal"})
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
            claims = {"sharePercent": 30, "isCapped": True, "priority": "low"}
            self.assertTrue(harness.wait_until(lambda: sessions_of(server)[0]["turn"]["claim"] == claims), sessions_of(server))
            turn = sessions_of(server)[0]["turn"]
            self.assertEqual((turn["shareSource"], turn["prioritySource"]), ("identity", "identity"))
            with open(path, "w", encoding="utf-8") as file:
                file.write("default share=40\n")
            claims = {"sharePercent": 40, "isCapped": False, "priority": "normal"}
            self.assertTrue(harness.wait_until(lambda: sessions_of(server)[0]["turn"]["claim"] == claims), sessions_of(server))


if __name__ == "__main__":
    harness.main()
