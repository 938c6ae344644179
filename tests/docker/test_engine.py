#!/usr/bin/env python3
"""The Docker Engine client against a real daemon: every call, many at once, a daemon killed and restarted during calls."""
import json
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import engine  # noqa: E402
import harness  # noqa: E402

IMAGE = "aitherion-test:1"
LABEL = "aitherion.test"


def setUpModule():
    daemon = engine.shared()
    archive = os.path.join(harness.scratch(), "image.tar")
    engine.make_image(archive, IMAGE, labels={"from": "test_engine"})
    status, lines = engine.steps(daemon.host, "load", archive, "sized")
    if status:
        raise AssertionError(lines)


def ended(process, limit_s):
    try:
        process.wait(limit_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def body(command, **more):
    return json.dumps({"Image": IMAGE, "Cmd": ["/bin/sh", "-c", command], "Labels": {LABEL: "1"},
                       "NetworkDisabled": True, **more})


class EngineCase(unittest.TestCase):
    def setUp(self):
        self.daemon = engine.shared()
        self.addCleanup(self.remove_all)

    def remove_all(self):
        if not self.daemon.answers():
            return
        for container in self.ok("list", LABEL):
            self.steps("remove", container["name"], "force")

    def steps(self, *words, **options):
        return engine.steps(self.daemon.host, *words, **options)

    def ok(self, *words, **options):
        status, lines = self.steps(*words, **options)
        self.assertEqual(status, 0, lines)
        return lines

    def failure(self, code, *words, **options):
        _, lines = self.steps(*words, **options)
        self.assertEqual(lines[-1].get("error"), code, lines)
        return lines[-1]

    def run_one(self, name, command, **more):
        self.ok("create", name, body(command, **more))
        self.assertEqual(self.ok("start", name), [{"http": 204}])


class System(EngineCase):
    def test_agrees_on_a_version(self):
        self.assertRegex(self.ok("ping")[0]["api"], r"^1\.(4[1-9]|5[01])$")

    def test_reads_facts(self):
        facts = self.ok("facts")[0]
        self.assertRegex(facts["version"], r"^\d+\.\d+")
        self.assertIn(facts["cgroup_version"], (1, 2))
        self.assertIs(facts["has_bridge"], False)  # --bridge=none
        self.assertIs(facts["is_rootless"], False)
        self.assertIs(facts["has_nvidia_runtime"], False)
        self.assertIn("runc", facts["runtimes"])
        self.assertEqual(facts["cpu_count"], os.cpu_count())
        self.assertEqual(facts["data_folder"], self.daemon.folder + "/data")


class Containers(EngineCase):
    def test_creates_runs_and_removes(self):
        created = self.ok("create", "life", body("echo out; echo bad >&2; exec sleep 100"))
        self.assertRegex(created[0]["Id"], "^[0-9a-f]{64}$")
        before = self.ok("inspect", "life")[0]
        self.assertEqual((before["state"], before["is_running"], before["pid"], before["exit_code"]),
                         ("created", False, -1, -1))
        self.assertEqual(self.ok("start", "life"), [{"http": 204}])
        self.assertEqual(self.ok("start", "life"), [{"http": 304}])
        now = self.ok("inspect", "life")[0]
        self.assertTrue(now["is_running"])
        self.assertTrue(os.path.isdir(f"/proc/{now['pid']}"))
        self.assertEqual(now["labels"][LABEL], "1")
        self.assertEqual(self.ok("kill", "life", "SIGKILL"), [{"http": 204}])
        self.assertEqual(self.ok("wait", "life", "not-running"), [{"exit_code": 137}])
        self.failure("conflict", "kill", "life", "SIGKILL")
        self.assertEqual(self.ok("stop", "life", "1"), [{"http": 304}])
        after = self.ok("inspect", "life")[0]
        self.assertEqual((after["state"], after["exit_code"], after["pid"]), ("exited", 137, -1))
        self.assertEqual(self.ok("remove", "life"), [{"http": 204}])
        failed = self.failure("not-found", "inspect", "life")
        self.assertIn("cannot inspect the container 'life': Docker says: No such container", failed["message"])

    def test_stop_waits_for_the_end(self):
        self.run_one("slow", "trap '' TERM; while :; do sleep 1; done")
        begin = time.monotonic()
        self.assertEqual(self.ok("stop", "slow", "2"), [{"http": 204}])
        self.assertGreater(time.monotonic() - begin, 1.5)
        self.assertFalse(self.ok("inspect", "slow")[0]["is_running"])

    def test_refuses_a_taken_name(self):
        self.ok("create", "twice", body("true"))
        self.assertIn("already in use", self.failure("exists", "create", "twice", body("true"))["message"])

    def test_names_missing_objects(self):
        failed = self.failure("not-found", "create", "x", '{"Image": "no-such-image"}')
        self.assertIn("no-such-image", failed["message"])
        for words in (["start", "gone"], ["stop", "gone", "1"], ["kill", "gone", "SIGTERM"], ["remove", "gone"],
                      ["wait", "gone", "not-running"], ["logs", "gone"]):
            self.assertIn("gone", self.failure("not-found", *words)["message"])

    def test_a_body_that_docker_refuses(self):
        failed = self.failure("engine-error", "create", "bad", body("true", HostConfig={"CpusetMems": "900"}))
        self.assertIn("Docker says: ", failed["message"])
        self.assertIn("900", failed["message"])

    def test_reports_why_a_start_failed(self):
        self.ok("create", "wrong", json.dumps({"Image": IMAGE, "Cmd": ["/no/such/program"], "Labels": {LABEL: "1"}}))
        failed = self.steps("start", "wrong")[1][0]
        self.assertIn("/no/such/program", failed["message"])
        seen = self.ok("inspect", "wrong")[0]
        self.assertIn("/no/such/program", seen["error"])
        self.assertEqual((seen["is_running"], seen["exit_code"]), (False, 127))

    def test_removes_running_containers_only_by_force(self):
        self.run_one("busy", "exec sleep 100")
        self.failure("conflict", "remove", "busy")
        self.ok("remove", "busy", "force")

    def test_list_by_label(self):
        self.ok("create", "bb", body("true", Labels={LABEL: "1", "kind": "x y"}))
        self.run_one("aa", "exec sleep 100", Labels={LABEL: "2"})
        self.assertEqual([one["name"] for one in self.ok("list", LABEL)], ["aa", "bb"])
        self.assertEqual([one["name"] for one in self.ok("list", "kind=x y")], ["bb"])
        self.assertEqual(self.ok("list", "kind=z"), [])
        listed = self.ok("list", LABEL)[0]
        self.assertEqual((listed["state"], listed["is_running"], listed["pid"]), ("running", True, -1))

    def test_reports_health(self):
        self.run_one("healthy", "exec sleep 100", Healthcheck={"Test": ["CMD", "/bin/true"], "Interval": 10 ** 8 * 5})
        seen = {self.ok("inspect", "healthy")[0]["health"]}
        harness.wait_until(lambda: seen.add(self.ok("inspect", "healthy")[0]["health"]) or "healthy" in seen)
        self.assertLessEqual(seen, {"starting", "healthy"})
        self.assertIn("healthy", seen)

    def test_wait_for_the_next_end(self):
        self.ok("create", "ends", body("exit 7"))
        process = engine.begin(self.daemon.host, "wait", "ends", "next-exit")
        # There is no sign that the daemon has begun to wait, so the container ends again until the wait does. A pause between
        # the ends is needed: a start resets the exit code to 0, and the daemon may not have read it yet.
        harness.wait_until(lambda: self.ok("start", "ends") and self.ok("wait", "ends", "not-running") and ended(process, 1))
        self.assertEqual(engine.finish(process), (0, [{"exit_code": 7}]))
        self.failure("engine-timeout", "wait", "ends", "next-exit", env={"TIMEOUT_MS": "300"})


class Logs(EngineCase):
    def text(self, lines, stream):
        return "".join(line["text"] for line in lines if line["stream"] == stream)

    def test_both_streams(self):
        self.run_one("talks", "echo one; echo two >&2; echo three")
        self.ok("wait", "talks", "not-running")
        lines = self.ok("logs", "talks")
        self.assertEqual((self.text(lines, 1), self.text(lines, 2)), ("one\nthree\n", "two\n"))
        last = self.ok("logs", "talks", "last")  # two pipes, so the daemon decides which line is last
        self.assertIn("".join(line["text"] for line in last), ("two\n", "three\n"))

    def test_follow_until_the_end(self):
        """Lines arrive while the container runs: it ends only after the first line was seen."""
        self.run_one("counts", "trap 'echo end >&2; exit' TERM; echo 1; while :; do sleep 0.1; done")
        process = engine.begin(self.daemon.host, "logs", "counts", "follow")
        first = json.loads(process.stdout.readline())
        self.ok("kill", "counts", "SIGTERM")
        status, lines = engine.finish(process)
        self.assertEqual((status, self.text([first], 1), self.text(lines, 2)), (0, "1\n", "end\n"))

    def test_large_output(self):
        """The container lives until its log is whole: Engine 20.10 may lose the end of an output when the container ends."""
        everything = "".join(f"{i}\n" for i in range(1, 100001))
        self.run_one("much", "seq 100000; exec sleep 100000")
        harness.wait_until(lambda: self.text(self.ok("logs", "much", "last"), 1) == "100000\n")
        self.assertEqual(self.text(self.ok("logs", "much"), 1), everything)
        process = engine.begin(self.daemon.host, "logs", "much", "follow")
        self.ok("kill", "much", "SIGKILL")
        status, lines = engine.finish(process)
        self.assertEqual(status, 0, lines[-1])
        self.assertTrue(everything.startswith(self.text(lines, 1)))

    def test_terminal_has_one_stream(self):
        self.ok("create", "tty", body("echo out; echo bad >&2", Tty=True))
        self.ok("start", "tty")
        self.assertTrue(self.ok("inspect", "tty")[0]["is_tty"])
        self.ok("wait", "tty", "not-running")
        self.assertEqual(self.text(self.ok("logs", "tty", "tty"), 1), "out\r\nbad\r\n")

    def test_following_is_stopped_by_a_signal(self):
        self.run_one("silent", "echo is silent now; exec sleep 1000")
        process = engine.begin(self.daemon.host, "logs", "silent", "follow")
        self.assertIn("is silent now", process.stdout.readline())
        process.send_signal(signal.SIGINT)
        _, lines = engine.finish(process)
        self.assertEqual(lines[-1]["error"], "interrupted")


class ManyAtOnce(EngineCase):
    def test_chains_run_side_by_side(self):
        # Each start takes the daemon a moment; the second of sleep in one chain must not delay the others.
        lines = self.ok("parallel", "8", body("exec sleep 100"))
        self.assertEqual(sorted(line["name"] for line in lines), [f"parallel{i}" for i in range(8)])
        self.assertTrue(all(line["running"] for line in lines), lines)
        self.assertEqual(self.ok("list", LABEL), [])

    def test_one_failure_leaves_the_others_alone(self):
        self.ok("create", "parallel1", body("true"))
        _, lines = self.steps("parallel", "3", body("exec sleep 100"))
        self.assertEqual([line.get("error") for line in lines if "error" in line], ["exists"])
        self.assertEqual(sorted(line["name"] for line in lines if "name" in line), ["parallel0", "parallel2"])


class Networks(EngineCase):
    def test_networks(self):
        listed = [one["name"] for one in self.ok("network-list")]
        self.assertEqual(listed, ["host", "none"])
        self.assertEqual(self.ok("network-inspect", "host")[0]["driver"], "host")
        self.failure("not-found", "network-inspect", "gone")
        self.failure("not-found", "network-remove", "gone")
        self.failure("not-found", "network-connect", "gone", "nobody")
        self.assertEqual(self.steps("network-remove", "host")[1][0]["error"], "engine-denied")

    def test_makes_and_removes_a_network(self):
        """A bridge of its own, in a namespace where it disturbs no other test."""
        self.daemon = engine.Engine(isolated=True)
        self.addCleanup(self.daemon.stop)
        self.daemon.start()
        archive = os.path.join(harness.scratch(), "image.tar")
        self.ok("load", archive, "sized")
        status, lines = self.steps("network-create", "ath-net", json.dumps({
            "Driver": "bridge", "Labels": {LABEL: "1"}, "IPAM": {"Config": [{"Subnet": "10.213.77.0/29"}]}}))
        if status and any(word in lines[0]["message"] for word in ("not supported", "operation not permitted")):
            self.skipTest(f"no bridge in this kernel: {lines[0]['message']}")
        self.assertEqual(status, 0, lines)
        self.failure("exists", "network-create", "ath-net", '{"Driver": "bridge"}')
        self.assertEqual([one["name"] for one in self.ok("network-list", LABEL)], ["ath-net"])
        self.assertEqual(self.ok("network-list", LABEL + "=2"), [])
        self.ok("create", "linked", json.dumps({"Image": IMAGE, "Cmd": ["/bin/sleep", "100"], "Labels": {LABEL: "1"},
                                                "HostConfig": {"NetworkMode": "none"}}))
        self.ok("network-disconnect", "none", "linked")
        self.assertEqual(self.ok("network-connect", "ath-net", "linked"), [{"http": 200}])
        self.ok("start", "linked")
        self.assertEqual(self.ok("network-inspect", "ath-net")[0]["containers"], 1)
        self.assertIn(self.steps("network-remove", "ath-net")[1][0]["error"], ("engine-denied", "conflict"))
        self.ok("network-disconnect", "ath-net", "linked")
        self.assertEqual(self.ok("network-inspect", "ath-net")[0]["containers"], 0)
        self.assertEqual(self.ok("network-remove", "ath-net"), [{"http": 204}])
        self.failure("not-found", "network-inspect", "ath-net")


class Images(EngineCase):
    def setUp(self):
        super().setUp()
        self.archive = os.path.join(harness.scratch(), "big.tar")
        if not os.path.exists(self.archive):
            engine.make_image(self.archive, "aitherion-big:1", labels={"big": "yes"}, padding=8 << 20)
        self.addCleanup(self.steps, "image-remove", "aitherion-big:1", "force")

    def test_load_with_progress(self):
        size = os.path.getsize(self.archive)
        for way in ("sized", "chunked"):
            lines = self.ok("load", self.archive, way)
            self.assertEqual([line["loaded"] for line in lines if line["loaded"]], ["aitherion-big:1"])
            self.assertEqual(lines[-1]["sent"], size)
            # The second load finds the layer in Docker.
            if way == "sized":
                steps = [line for line in lines if line["done"] > 0]
                self.assertGreater(len(steps), 1)
                self.assertEqual(steps[-1]["done"], steps[-1]["total"])
        seen = self.ok("image-inspect", "aitherion-big:1")[0]
        self.assertEqual((seen["names"], seen["labels"]), (["aitherion-big:1"], {"big": "yes"}))
        self.assertGreater(seen["size"], 8 << 20)
        self.assertEqual([one["id"] for one in self.ok("image-list", "big=yes")], [seen["id"]])

    def test_names(self):
        self.ok("load", self.archive, "sized")
        self.ok("image-tag", "aitherion-big:1", "localhost:5000/deep/er:x")
        self.assertEqual(sorted(self.ok("image-inspect", "localhost:5000/deep/er:x")[0]["names"]),
                         ["aitherion-big:1", "localhost:5000/deep/er:x"])
        self.assertEqual(self.ok("image-remove", "localhost:5000/deep/er:x"),
                         [[{"Untagged": "localhost:5000/deep/er:x"}]])
        self.failure("not-found", "image-remove", "localhost:5000/deep/er:x")
        self.failure("not-found", "image-tag", "gone", "x:1")

    def test_keeps_an_image_in_use(self):
        self.run_one("uses", "exec sleep 100")
        self.failure("conflict", "image-remove", IMAGE)

    def test_refuses_invalid_archives(self):
        junk = os.path.join(harness.scratch(), "junk")
        for content in (b"", b"no archive", os.urandom(3 << 20)):
            with open(junk, "wb") as file:
                file.write(content)
            failed = self.steps("load", junk, "chunked")[1][-1]
            self.assertIn(failed["error"], ("engine-error",), failed)
            self.assertIn("cannot load the image into Docker: Docker says: ", failed["message"])

    def test_failed_upload_ends_the_load(self):
        failed = self.failure("io-error", "load", self.archive, "sized", "3000000")
        self.assertIn("cannot load the image into Docker: made to fail after", failed["message"])
        self.failure("io-error", "load", self.archive, "chunked", "3000000")
        failed = self.failure("io-error", "load", self.archive, "short")
        self.assertIn("bytes were announced", failed["message"])
        self.failure("not-found", "image-inspect", "aitherion-big:1")


class Events(EngineCase):
    def test_follows_until_enough(self):
        filters = json.dumps({"type": ["container"], "label": [LABEL], "container": ["lives"]})
        since = str(int(time.time()))  # the request may come after all events
        process = engine.begin(self.daemon.host, "events", filters, "destroy", since)
        self.run_one("lives", "exit 5")
        self.ok("wait", "lives", "not-running")
        self.ok("remove", "lives")
        status, lines = engine.finish(process)
        self.assertEqual(status, 0, lines)
        self.assertEqual([line["action"] for line in lines], ["create", "start", "die", "destroy"])
        self.assertEqual(lines[2]["exit_code"], 5)
        self.assertEqual({line["name"] for line in lines}, {"lives"})

    def test_reads_past_events(self):
        since = str(int(time.time()))
        self.ok("create", "past", body("true"))
        lines = self.ok("events", json.dumps({"container": ["past"], "event": ["create"]}), "create", since)
        self.assertEqual([line["name"] for line in lines], ["past"])

    def test_until_ends_the_events(self):
        self.failure("engine-timeout", "events", "{}", "never", env={"TIMEOUT_MS": "500"})


class DaemonGone(EngineCase):
    """Each test must leave the daemon running."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self.bring_back)

    def bring_back(self):
        if not self.daemon.answers():
            self.daemon.start()

    def test_daemon_killed_while_following(self):
        self.run_one("stays", "exec sleep 1000")
        place = os.path.getsize(self.daemon.log)
        processes = [engine.begin(self.daemon.host, *words) for words in (
            ["events", "{}", "never"], ["logs", "stays", "follow"], ["wait", "stays", "next-exit"])]
        for asked in ("GET /v[0-9.]+/events", "GET /v[0-9.]+/containers/stays/logs", "POST /v[0-9.]+/containers/stays/wait"):
            self.assertTrue(self.daemon.was_asked(asked, place), asked)
        self.daemon.kill()
        for process in processes:
            _, lines = engine.finish(process)
            self.assertEqual(lines[-1]["error"], "engine-unreachable", process.args)
            self.assertIn("closed the connection", lines[-1]["message"])

    def test_daemon_killed_during_a_load(self):
        archive = os.path.join(harness.scratch(), "huge.tar")
        engine.make_image(archive, "aitherion-huge:1", padding=64 << 20)
        place = os.path.getsize(self.daemon.log)
        process = engine.begin(self.daemon.host, "load", archive, "sized")
        self.daemon.was_asked("POST /v[0-9.]+/images/load", place)
        self.daemon.kill()
        status, lines = engine.finish(process)
        os.remove(archive)
        self.assertEqual(status, 1)
        self.assertEqual(lines[-1]["error"], "engine-unreachable", lines[-1])

    def test_daemon_stops_and_returns(self):
        self.daemon.kill()
        failed = self.failure("engine-unreachable", "ping")
        self.assertIn("no answer at 'unix:///", failed["message"])
        self.assertIn("systemctl start docker", failed["hint"])
        process = engine.begin(self.daemon.host, "ping", env={"WAIT_MS": str(1000 * harness.PATIENCE_S)})
        self.daemon.start(wait=False)
        status, lines = engine.finish(process)
        self.assertEqual((status, list(lines[0])), (0, ["api", "where"]), (lines, self.daemon.last_words()))

    def test_client_survives_a_restart(self):
        with engine.begin(self.daemon.host, "repeat", "1000000", "100") as process:
            try:
                self.assertIn("api", json.loads(process.stdout.readline()))
                self.daemon.kill()
                lines = iter(lambda: json.loads(process.stdout.readline()), {})
                self.assertEqual(next(line["error"] for line in lines if "error" in line), "engine-unreachable")
                self.daemon.start()
                self.assertTrue(next(line for line in lines if "api" in line))
            finally:
                process.kill()

    def test_daemon_hangs(self):
        self.daemon.signal(signal.SIGSTOP)
        try:
            process = engine.begin(self.daemon.host, "ping")
            self.assertTrue(harness.wait_for_handler(process, signal.SIGINT))
            process.send_signal(signal.SIGINT)
            _, lines = engine.finish(process)
            self.assertEqual(lines[-1]["error"], "interrupted")
            self.failure("engine-timeout", "ping")
        finally:
            self.daemon.signal(signal.SIGCONT)


class Access(EngineCase):
    def test_a_user_without_the_group(self):
        os.chmod(self.daemon.folder, 0o755)
        failed = self.failure("engine-denied", "ping", user=65534, group=65534, extra_groups=[], cwd="/")
        self.assertIn(self.daemon.socket, failed["message"])
        self.assertIn("group docker", failed["hint"])
        self.assertIn("sudo", failed["hint"])


class SideBySide(unittest.TestCase):
    def test_harness_leaves_nothing_behind(self):
        engine.shared()
        other = engine.Engine()
        try:
            other.start()
            pid = other.pid
        finally:
            other.stop()
        self.assertFalse(os.path.exists(other.folder))
        self.assertFalse(os.path.exists(f"/proc/{pid}"))
        self.assertNotIn(other.folder, subprocess.run(["mount"], stdout=subprocess.PIPE, text=True, check=True).stdout)


if __name__ == "__main__":
    harness.main()
