#!/usr/bin/env python3
"""Nodes without Docker: supervisors that bind and restart them, are found again, are killed in every way, and end."""
import glob
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))

import harness  # noqa: E402
import nodes  # noqa: E402

STEPS = ("look", "runtime", "wait")
RUNNING = {0: "running", 1: "running"}


def cgroups(run_folder):
    """Returns the control groups of a run folder: their names end in a number made from its path
    (src/container/engine/process_engine.c).
    """
    number = 5381
    for byte in run_folder.encode():
        number = (number * 33 & 0xffffffff) ^ byte
    return glob.glob(f"/sys/fs/cgroup/aitherion-*-{number:08x}") + glob.glob(f"/sys/fs/cgroup/*/aitherion-*-{number:08x}")


class ProcessCase(unittest.TestCase):
    def setUp(self):
        # The path of a socket has at most 107 characters.
        self.folder = tempfile.mkdtemp(prefix="ath-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.nodes = nodes.Nodes("process", self.folder)
        self.ports = nodes.write_document(self.nodes.document)
        self.addCleanup(self.nodes.steps, "clean")

    def script(self, text):
        """Returns a program that is used instead of the runtime."""
        path = os.path.join(self.folder, "program")
        with open(path, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n" + text + "\n")
        os.chmod(path, 0o755)
        self.nodes.environment["RUNTIME"] = path

    def state_path(self, node):
        return os.path.join(self.nodes.run_folder, "state", f"numa{node}", "state.json")

    def state_of(self, node):
        with open(self.state_path(node), encoding="utf-8") as file:
            return json.load(file)

    def pids(self):
        return [self.survey[node][key] for node in self.survey for key in ("pid", "supervisor")]

    def started(self):
        self.assertEqual(self.nodes.outcomes(), {0: "started", 1: "started"})
        self.survey = self.nodes.survey()
        return self.survey

    def assert_nothing_left(self, pids=()):
        self.assertEqual([pid for pid in pids if nodes.is_alive(pid)], [])
        self.assertEqual(self.nodes.survey(), {})
        self.assertFalse(os.path.exists(self.nodes.run_folder))
        self.assertEqual(cgroups(self.nodes.run_folder), [])


class Life(ProcessCase):
    def test_from_start_to_clean(self):
        seen = self.started()
        self.assertEqual(self.nodes.states(), RUNNING)
        self.assertEqual(seen[0]["listening"], [f"127.0.0.1:{self.ports[0]}"])
        self.assertEqual(self.nodes.outcomes(), {0: "same", 1: "same"})
        self.assertEqual([self.nodes.survey()[node]["pid"] for node in (0, 1)], [seen[node]["pid"] for node in (0, 1)])
        _, lines = self.nodes.steps("stop", "0")
        self.assertEqual(lines, [{"id": 0, "was_running": True}])
        self.assertEqual(self.nodes.states(), {0: "stopped", 1: "running"})
        _, lines = self.nodes.steps("stop")
        self.assertEqual([line["was_running"] for line in lines], [False, True])
        self.assertIsNone(self.nodes.survey()[0]["problem"])
        self.assertEqual(self.nodes.outcomes(), {0: "started", 1: "started"})
        pids = self.pids() + [status["pid"] for status in self.nodes.survey().values()]
        planned = self.nodes.clean("dry")
        self.assertEqual(self.nodes.states(), RUNNING)
        self.assertEqual(self.nodes.clean(), planned)
        self.assert_nothing_left(pids)
        self.assertEqual(self.nodes.clean(), [])

    def test_bound_as_asked(self):
        seen = self.started()[0]
        self.assertEqual(seen["cpus"], nodes.node_cpus())
        if not (seen["limits"] and "cpuset" in seen["limits"]):
            self.assertEqual(seen["mems"], str(nodes.first_node()))
            self.assertTrue(cgroups(self.nodes.run_folder))
        with open(f"/proc/{seen['pid']}/status", encoding="ascii") as file:
            status = dict(line.split(":\t", 1) for line in file if ":\t" in line)
        self.assertEqual(status["NoNewPrivs"].strip(), "1")
        # at most KILL, SETGID, SETUID, NET_BIND_SERVICE, IPC_LOCK, SYS_CHROOT and SYS_ADMIN
        allowed = sum(1 << number for number in (5, 6, 7, 10, 14, 18, 21))
        self.assertEqual(int(status["CapEff"], 16) & ~allowed, 0)

    def test_another_plan_restarts_that_node_only(self):
        seen = self.started()
        nodes.change_document(self.nodes.document, 1)
        _, drift = self.nodes.steps("drift", self.nodes.document)
        self.assertIsNone(drift[0]["drift"])
        self.assertIn("have changed", drift[1]["drift"])
        results = self.nodes.start()
        self.assertEqual((results[0]["outcome"], results[1]["outcome"]), ("same", "restarted"))
        self.assertIn("have changed", results[1]["reason"])
        now = self.nodes.survey()
        self.assertEqual(now[0]["pid"], seen[0]["pid"])
        self.assertNotEqual(now[1]["pid"], seen[1]["pid"])

    def test_stopping_nothing_leaves_nothing(self):
        self.assertEqual(self.nodes.steps("stop"), (0, []))
        self.assertFalse(os.path.exists(self.nodes.run_folder))

    def test_clean_of_one_leaves_the_other(self):
        self.started()
        self.nodes.clean("1")
        self.assertEqual(self.nodes.states(), {0: "running"})
        self.assertFalse(os.path.exists(os.path.join(self.nodes.run_folder, "numa1")))

    def test_foreign_objects_stay(self):
        self.started()
        foreign = os.path.join(self.nodes.run_folder, "numa1", "mine.txt")
        with open(foreign, "w", encoding="ascii"):
            pass
        code, lines = self.nodes.steps("clean")
        self.assertEqual(code, 1)
        self.assertTrue(os.path.exists(foreign))
        self.assertEqual(lines[-1]["error"], "io-error")
        self.assertFalse(os.path.exists(os.path.join(self.nodes.run_folder, "numa0")))
        os.remove(foreign)
        self.nodes.clean()
        self.assert_nothing_left(self.pids())


    def test_another_document_takes_nothing(self):
        seen = self.started()
        other = os.path.join(self.folder, "other.yaml")
        nodes.write_document(other)
        _, lines = self.nodes.steps("start", other)
        failed = [line for line in lines if "error" in line]
        self.assertEqual([line["error"] for line in failed], ["foreign", "foreign"])
        self.assertIn(f"'aitherion-numa0' was started from another document, '{self.nodes.document}'",
                      failed[0]["message"])
        _, lines = self.nodes.steps("clean", "of=" + other)
        self.assertEqual([line.get("left") for line in lines], [0, 1])
        self.assertEqual({node: one["pid"] for node, one in self.nodes.survey().items()},
                         {node: one["pid"] for node, one in seen.items()})
        _, lines = self.nodes.steps("start", other, "over")
        self.assertEqual({line["outcome"] for line in lines if "outcome" in line}, {"restarted"})


class Crashes(ProcessCase):
    def test_a_killed_runtime_comes_back(self):
        seen = self.started()[0]
        os.kill(seen["pid"], signal.SIGKILL)
        now = harness.wait_until(lambda: (one := self.nodes.survey()[0])["state"] == "running" and
                               one["pid"] != seen["pid"] and one)
        self.assertTrue(now)
        self.assertEqual((now["restarts"], now["supervisor"]), (1, seen["supervisor"]))
        with open(os.path.join(self.nodes.run_folder, "state", "numa0", "runtime.log"), encoding="utf-8") as file:
            self.assertRegex(file.read(), r"(?m)^time=\S+Z level=error event=ended exit_code=137 restart_in_ms=\d+$")

    def test_its_sessions_end_with_it(self):
        seen = self.started()[0]
        with socket.create_connection(("127.0.0.1", self.ports[0])) as client:
            client.sendall(b"\x16")  # a client that begins TLS has a process
            children = harness.wait_until(lambda: harness.children_of(seen["pid"]))
            self.assertTrue(children)
            os.kill(seen["pid"], signal.SIGKILL)
            self.assertTrue(harness.wait_until(lambda: not any(nodes.is_alive(child) for child in children)))

    def test_a_killed_supervisor_leaves_no_orphan(self):
        seen = self.started()[0]
        os.kill(seen["supervisor"], signal.SIGKILL)
        self.assertTrue(harness.wait_until(lambda: not nodes.is_alive(seen["pid"])))
        now = self.nodes.survey()[0]
        self.assertEqual(now["state"], "stopped")
        self.assertIn("supervisor was killed", now["problem"])
        self.assertEqual(self.nodes.outcomes(), {0: "started", 1: "same"})
        self.assertEqual(self.nodes.states(), RUNNING)

    def test_a_runtime_that_ends_repeatedly(self):
        self.script(f"[ -e {self.folder}/bad ] && echo 'aitherion-runtime: broken' >&2 && exit 9\n"
                    f"exec {nodes.runtime()} \"$@\"")
        seen = self.started()[0]
        with open(os.path.join(self.folder, "bad"), "w", encoding="ascii"):
            pass
        os.kill(seen["pid"], signal.SIGKILL)
        now = harness.wait_until(lambda: (one := self.nodes.survey()[0])["state"] == "restarting" and
                               one["exit_code"] == 9 and one)
        self.assertTrue(now)
        self.assertIn("aitherion-runtime: broken", now["log"])
        self.assertIn("exit code 9", now["problem"])
        os.remove(os.path.join(self.folder, "bad"))
        self.assertTrue(harness.wait_until(lambda: self.nodes.states() == RUNNING))

    def test_signals_to_a_supervisor(self):
        for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
            with self.subTest(number):
                seen = self.nodes.outcomes() and self.nodes.survey()
                for node, pids in seen.items():
                    os.kill(pids["supervisor"], number)
                    self.assertTrue(harness.wait_until(lambda: not nodes.is_alive(pids["supervisor"])), node)
                    self.assertFalse(nodes.is_alive(pids["pid"]))
                now = self.nodes.survey()
                self.assertEqual({(one["state"], one["problem"]) for one in now.values()}, {("stopped", None)})

    def test_signals_to_a_supervisor_that_waits(self):
        for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
            with self.subTest(number):
                self.script(f"[ -e {self.folder}/bad ] && exit 9\nexec {nodes.runtime()} \"$@\"")
                self.assertEqual(self.nodes.outcomes()[0], "started")
                with open(os.path.join(self.folder, "bad"), "w", encoding="ascii"):
                    pass
                seen = self.nodes.survey()[0]
                os.kill(seen["pid"], signal.SIGKILL)
                self.assertTrue(harness.wait_until(lambda: self.nodes.survey()[0]["state"] == "restarting"))
                os.kill(seen["supervisor"], number)
                self.assertTrue(harness.wait_until(lambda: not nodes.is_alive(seen["supervisor"])))
                os.remove(os.path.join(self.folder, "bad"))

    @staticmethod
    def ticks_of(pid):
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[19])

    def test_a_recycled_pid_is_not_ours(self):
        seen = self.started()[0]
        os.kill(seen["supervisor"], signal.SIGKILL)
        self.assertTrue(harness.wait_until(lambda: not nodes.is_alive(seen["pid"])))
        with subprocess.Popen(["sleep", "100"], start_new_session=True) as other:
            self.addCleanup(other.kill)
            state = self.state_of(0)
            state["supervisor"].update(pid=other.pid, session=other.pid)
            state["runtime"]["pid"] = other.pid
            # Even with the right start time it is no supervisor, because its name differs.
            for ticks in (state["supervisor"]["start_ticks"], self.ticks_of(other.pid)):
                state["supervisor"]["start_ticks"] = ticks
                with open(self.state_path(0), "w", encoding="utf-8") as file:
                    json.dump(state, file)
                self.assertEqual(self.nodes.states()[0], "stopped")
            self.nodes.steps("stop")
            self.nodes.clean()
            self.assertTrue(nodes.is_alive(other.pid))
            other.kill()


class Trust(ProcessCase):
    """Files that a container or another user can write are not trusted."""

    def setUp(self):
        super().setUp()
        self.victim = subprocess.Popen(["sleep", "100"], start_new_session=True)
        self.addCleanup(self.victim.wait)
        self.addCleanup(self.victim.kill)
        self.empty = os.path.join(self.folder, "empty")
        os.mkdir(self.empty)

    def forged(self):
        """Returns a state that names the victim as supervisor, and a foreign folder as control group."""
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot_id = file.read().strip()
        return {"schema": "aitherion.process-state/1", "id": 0, "name": "sleep", "boot_id": boot_id,
                "supervisor": {"pid": self.victim.pid, "start_ticks": Crashes.ticks_of(self.victim.pid),
                               "session": self.victim.pid},
                "runtime": {"pid": -1, "start_ticks": 0, "started_s": 1}, "restarts": 0, "exit_code": -1,
                "is_waiting": False, "socket": "/x", "cgroups": [self.empty]}

    def write(self, path, owner=0):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.forged(), file)
        os.chown(path, owner or os.geteuid(), -1)

    def assert_unharmed(self):
        self.assertIsNone(self.victim.poll())
        self.assertTrue(os.path.isdir(self.empty))

    def test_nothing_in_the_containers_folder_is_trusted(self):
        self.write(os.path.join(self.nodes.run_folder, "numa0", "state.json"))
        self.assertEqual(self.nodes.survey(), {})
        self.nodes.steps("stop", "0")
        self.assert_unharmed()
        # Files that an earlier aitherion wrote there are removed all the same.
        self.nodes.clean()
        self.assert_unharmed()
        self.assert_nothing_left()

    def test_nothing_written_by_another_user_is_trusted(self):
        if os.geteuid() != 0:
            self.skipTest("only root can write a file of another user")
        self.write(self.state_path(0), owner=65534)
        self.assertEqual(self.nodes.survey(), {})
        self.nodes.steps("stop", "0")
        self.assert_unharmed()
        self.nodes.clean()
        self.assert_unharmed()
        self.assert_nothing_left()

    def test_no_folder_is_removed_as_control_group(self):
        self.write(self.state_path(0))
        self.nodes.steps("stop", "0")
        self.assertTrue(os.path.isdir(self.empty))

    def test_a_run_folder_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("only root can change the owner of a folder")
        os.mkdir(self.nodes.run_folder)
        os.chown(self.nodes.run_folder, 65534, 65534)
        for words in (("survey",), ("stop",), ("clean",), ("start", self.nodes.document)):
            with self.subTest(words[0]):
                code, lines = self.nodes.steps(*words)
                self.assertEqual(code, 1)
                self.assertEqual(lines[-1]["error"], "foreign")
                self.assertIn("belongs to user 65534", lines[-1]["message"])
        self.assertEqual(os.listdir(self.nodes.run_folder), [])

    def test_a_link_instead_of_a_folder_is_not_followed(self):
        other = os.path.join(self.folder, "other")
        self.write(os.path.join(other, "state.json"))
        os.mkdir(self.nodes.run_folder, 0o755)
        os.symlink(other, os.path.join(self.nodes.run_folder, "numa0"))
        self.assertEqual(self.nodes.steps("clean")[0], 1)
        self.assertTrue(os.path.exists(os.path.join(other, "state.json")))
        os.remove(os.path.join(self.nodes.run_folder, "numa0"))

    def test_others_reach_the_sockets_whatever_the_umask(self):
        before = os.umask(0o077)
        try:
            self.started()
        finally:
            os.umask(before)
        for path in (self.nodes.run_folder, os.path.join(self.nodes.run_folder, "numa0")):
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o755)


class Killed(ProcessCase):
    """aitherion is killed by SIGKILL at each step of a node; then it starts again or cleans."""

    def test_then_start(self):
        for step in STEPS:
            with self.subTest(step):
                code, _ = self.nodes.steps("start", self.nodes.document, env={"KILL_AT": step})
                self.assertEqual(code, -signal.SIGKILL)
                self.assertTrue(set(self.nodes.outcomes().values()) <= {"started", "same"})
                self.assertEqual(self.nodes.states(), RUNNING)
                self.nodes.clean()

    def test_then_clean(self):
        for step in STEPS:
            with self.subTest(step):
                self.nodes.steps("start", self.nodes.document, env={"KILL_AT": step})
                pids = [pid for status in self.nodes.survey().values() for pid in (status["pid"], status["supervisor"])]
                self.nodes.clean()
                self.assert_nothing_left([pid for pid in pids if pid])

    def test_at_any_moment(self):
        for wait_ms in range(0, 50, 7):
            process = self.nodes.begin("start", self.nodes.document)
            time.sleep(wait_ms / 1000)
            process.kill()
            process.communicate()
            if wait_ms % 2:
                self.assertEqual(set(self.nodes.outcomes()), {0, 1})
                self.assertEqual(self.nodes.states(), RUNNING, wait_ms)
            self.nodes.clean()
            self.assert_nothing_left()

    def test_interrupted(self):
        process = self.nodes.begin("start", self.nodes.document, env={"PAUSE_AT": "wait"})
        self.assertTrue(nodes.stopped(process.pid))
        process.send_signal(signal.SIGINT)
        # Also with the second node.
        while process.poll() is None:
            process.send_signal(signal.SIGCONT)
            time.sleep(0.05)
        code, lines = self.nodes.finish(process)
        self.assertEqual(code, 1)
        self.assertEqual({line["error"] for line in lines if "error" in line}, {"interrupted"})
        self.assertEqual(self.nodes.survey(), {})

    def test_two_at_the_same_time(self):
        both = [self.nodes.begin("start", self.nodes.document) for _ in range(2)]
        results = [self.nodes.finish(process) for process in both]
        self.assertEqual([code for code, _ in results], [0, 0])
        outcomes = sorted(line["outcome"] for _, lines in results for line in lines if "outcome" in line)
        self.assertEqual(outcomes, ["same", "same", "started", "started"])


class Failures(ProcessCase):
    def failed(self, code, node=0, others=None):
        results = self.nodes.start()
        self.assertEqual(results[node].get("error"), code, results)
        if others:
            self.assertEqual(results[1]["outcome"], others)
        return results[node]

    def test_a_taken_port(self):
        with nodes.listener(self.ports[0]):
            failed = self.failed("port-in-use", others="started")
        self.assertIn(f"port {self.ports[0]} of 'aitherion-numa0' is taken by ", failed["message"])
        self.assertIn(f"(process {os.getpid()})", failed["message"])
        self.assertEqual(self.nodes.states(), {1: "running"})

    def test_a_missing_program(self):
        self.nodes.environment["RUNTIME"] = "/no/such/program"
        self.assertIn("/no/such/program", self.failed("not-found")["message"])
        self.assertEqual(self.nodes.survey(), {})

    def test_a_program_that_cannot_be_run(self):
        self.script("")
        with open(os.path.join(self.folder, "program"), "w", encoding="ascii") as file:
            file.write("#!/no/such/shell\n")
        self.assertIn("cannot run ", self.failed("not-found")["message"])
        self.assertEqual(self.nodes.survey(), {})

    def test_a_runtime_that_ends_at_once(self):
        self.script("echo 'aitherion-runtime: no luck' >&2; echo '  a hint' >&2; exit 7")
        failed = self.failed("start-failed")
        self.assertEqual(failed["message"], "'aitherion-numa0' ended with exit code 7: no luck")
        self.assertIn("  a hint", failed["log"])
        self.assertEqual(self.nodes.survey(), {})

    def test_a_runtime_that_never_answers(self):
        self.nodes.environment["TIMEOUT_MS"] = "1000"
        self.script("echo waits; exec sleep 1000")
        failed = self.failed("start-timeout")
        self.assertIn("does not answer after 1 s", failed["message"])
        self.assertEqual(failed["log"], ["waits"])
        self.assertEqual(self.nodes.survey(), {})

    def test_how_a_stopped_one_ended(self):
        self.started()
        self.nodes.steps("stop", "0")
        state = self.state_of(0)
        for code, problem in (0, None), (128 + signal.SIGTERM, None), (128 + signal.SIGKILL, "exit code 137"), (1, "exit code 1"):
            with self.subTest(code=code):
                state["exit_code"] = code
                with open(self.state_path(0), "w", encoding="utf-8") as file:
                    json.dump(state, file)
                found = self.nodes.survey()[0]
                self.assertEqual(found["state"], "stopped")
                if problem:
                    self.assertIn(problem, found["problem"])
                else:
                    self.assertIsNone(found["problem"])

    def test_a_full_disk(self):
        if os.geteuid() != 0:
            self.skipTest("only root can mount a small file system")
        os.mkdir(self.nodes.run_folder)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k,mode=755", "none", self.nodes.run_folder],
                          stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no right to mount here")
        try:
            with open(os.path.join(self.nodes.run_folder, "filler"), "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(1024))
                except OSError:
                    pass
            results = self.nodes.start()
            self.assertEqual({result["error"] for result in results.values()}, {"no-space"})
        finally:
            subprocess.run(["umount", "-l", self.nodes.run_folder], check=True)
            os.rmdir(self.nodes.run_folder)

    def test_a_user_without_rights(self):
        if os.geteuid() != 0:
            self.skipTest("only root can change to another user")
        nobody = {"user": 65534, "group": 65534, "extra_groups": []}
        if subprocess.run([nodes.tool("engine_steps"), "process", "survey"], check=False, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, env=harness.environment(), cwd="/", **nobody).returncode:
            self.skipTest("the build is in a folder that other users cannot read")
        os.chmod(self.folder, stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO)
        try:
            _, lines = self.nodes.steps("start", self.nodes.document, **nobody)
            results = {line["id"]: line for line in lines if "outcome" in line}
            self.assertEqual(results[0]["outcome"], "started", lines)
            seen = self.nodes.survey(**nobody)[0]
            self.assertEqual(seen["state"], "running")
            self.assertIn("no cpuset", seen["limits"])
            self.assertEqual(seen["cpus"], nodes.node_cpus())
        finally:
            self.nodes.steps("clean", **nobody)
        self.assert_nothing_left()


if __name__ == "__main__":
    if not harness.copies_alone():
        print(f"skipped: tests/cli/test_process.py: {nodes.NO_BINDING}\n0 passed, 0 failed, 1 skipped")
        sys.exit(77)
    harness.isolate()
    harness.main()
