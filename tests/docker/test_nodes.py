#!/usr/bin/env python3
"""Nodes in a real Docker: started, changed, crashed, with foreign containers; aitherion, the daemon or both killed meanwhile.

Macvlans and bridge networks are tested in the virtual machine (tests/vm/start.sh).
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import engine  # noqa: E402
import fake  # noqa: E402
import harness  # noqa: E402
import nodes  # noqa: E402

IMAGE = "aitherion-runtime:latest"
RUNNING = {0: "running", 1: "running"}
STEPS = ("look", "runtime", "wait")


def build_image(host):
    result = harness.run("image", "build", "--tag", IMAGE, env=harness.environment(DOCKER_HOST=host))
    if result.returncode:
        raise AssertionError(result.stderr)


def setUpModule():
    build_image(engine.shared().host)


class NodesCase(unittest.TestCase):
    def setUp(self):
        self.use(engine.shared())

    def use(self, daemon):
        self.daemon = daemon
        self.folder = tempfile.mkdtemp(prefix="ath-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.nodes = nodes.Nodes("docker", self.folder, DOCKER_HOST=daemon.host)
        self.ports = nodes.write_document(self.nodes.document)
        self.addCleanup(lambda: daemon.answers() and self.nodes.steps("clean"))

    def docker(self, *words):
        status, lines = engine.steps(self.daemon.host, *words)
        self.assertEqual(status, 0, lines)
        return lines

    def containers(self):
        """Returns {name: id} of all containers."""
        return {one["name"]: one["id"] for one in self.docker("list")}

    def started(self):
        self.assertEqual(self.nodes.outcomes(), {0: "started", 1: "started"})
        return self.nodes.survey()

    def foreign(self, name):
        """Makes a foreign container."""
        body = json.dumps({"Image": IMAGE, "Entrypoint": ["aitherion-runtime"], "Cmd": ["pause"],
                           "Labels": {"aitherion": "not ours", "com.example": "1"}, "NetworkDisabled": True})
        made = self.docker("create", name, body)[0]["Id"]
        self.addCleanup(engine.steps, self.daemon.host, "remove", name, "force")
        self.docker("start", name)
        return made

    def assert_nothing_left(self):
        self.assertEqual(self.nodes.survey(), {})
        self.assertFalse(os.path.exists(self.nodes.run_folder))


class Life(NodesCase):
    def test_from_start_to_clean(self):
        seen = self.started()
        self.assertEqual(self.nodes.states(), RUNNING)
        ids = self.containers()
        self.assertEqual(self.nodes.outcomes(), {0: "same", 1: "same"})
        self.assertEqual(self.containers(), ids)
        self.assertEqual(seen[0]["listening"], [f"127.0.0.1:{self.ports[0]}"])
        self.nodes.steps("stop", "1")
        self.assertEqual(self.nodes.states(), {0: "running", 1: "stopped"})
        self.assertIsNone(self.nodes.survey()[1]["problem"])
        self.assertEqual(self.nodes.outcomes(), {0: "same", 1: "started"})
        self.assertEqual(self.containers(), ids)
        planned = self.nodes.clean("dry")
        self.assertEqual(self.nodes.states(), RUNNING)
        self.assertEqual(self.nodes.clean(), planned)
        self.assert_nothing_left()
        self.assertEqual(self.nodes.clean(), [])

    def test_cpus_memory_and_rights(self):
        seen = self.started()[0]
        with open(f"/proc/{seen['pid']}/status", encoding="ascii") as file:
            status = dict(line.strip().split(":\t", 1) for line in file if ":\t" in line)
        self.assertEqual((status["Cpus_allowed_list"], status["Mems_allowed_list"]),
                         (nodes.node_cpus(), str(nodes.first_node())))
        self.assertEqual((seen["cpus"], seen["mems"]), (status["Cpus_allowed_list"], status["Mems_allowed_list"]))

    def test_changed_plan_restarts_only_its_node(self):
        self.started()
        ids = self.containers()
        nodes.change_document(self.nodes.document, 1)
        _, drift = self.nodes.steps("drift", self.nodes.document)
        self.assertIsNone(drift[0]["drift"])
        self.assertIn("have changed", drift[1]["drift"])
        results = self.nodes.start()
        self.assertEqual((results[0]["outcome"], results[1]["outcome"]), ("same", "restarted"))
        self.assertIn("have changed", results[1]["reason"])
        now = self.containers()
        self.assertEqual(now["aitherion-numa0"], ids["aitherion-numa0"])
        self.assertNotEqual(now["aitherion-numa1"], ids["aitherion-numa1"])

    def test_takes_a_rebuilt_image(self):
        self.started()
        archive = os.path.join(self.folder, "image.tar")
        self.addCleanup(build_image, self.daemon.host)
        self.docker("image-tag", IMAGE, "kept:1")
        self.addCleanup(engine.steps, self.daemon.host, "image-remove", "kept:1", "force")
        engine.make_image(archive, IMAGE)
        self.docker("load", archive, "sized")
        self.assertTrue(self.nodes.survey()[0]["is_image_old"])
        _, drift = self.nodes.steps("drift", self.nodes.document)
        self.assertIn("built again", drift[0]["drift"])
        self.docker("image-tag", "kept:1", IMAGE)
        self.assertFalse(self.nodes.survey()[0]["is_image_old"])
        self.assertEqual(self.nodes.outcomes(), {0: "same", 1: "same"})

    def test_nodes_start_side_by_side(self):
        # Three chains of requests: each begins before another ends.
        nodes.write_document(self.nodes.document, count=3)
        _, lines = self.nodes.steps("start", self.nodes.document, "no-wait")
        steps = [(line["node"], line["step"]) for line in lines if "step" in line]
        first_done = next(i for i, (_, step) in enumerate(steps) if step == "done")
        self.assertEqual({node for node, _ in steps[:first_done]}, {0, 1, 2})


class ForeignContainers(NodesCase):
    def test_taken_name(self):
        stranger = self.foreign("aitherion-numa0")
        results = self.nodes.start()
        self.assertEqual(results[0]["error"], "foreign")
        self.assertEqual(results[1]["outcome"], "started")
        self.nodes.clean()
        self.assertEqual(self.containers()["aitherion-numa0"], stranger)
        self.assertTrue(self.docker("inspect", "aitherion-numa0")[0]["is_running"])

    def test_clean_keeps_foreign_objects(self):
        strangers = {"stranger": self.foreign("stranger"), "aitherion-x": self.foreign("aitherion-x")}
        before = self.containers(), [one["id"] for one in self.docker("network-list")]
        self.started()
        archive = os.path.join(self.folder, "image.tar")
        engine.make_image(archive, "stranger:1", padding=1)
        self.docker("load", archive, "sized")
        self.addCleanup(engine.steps, self.daemon.host, "image-remove", "stranger:1", "force")
        self.nodes.clean()
        self.assertEqual((self.containers(), [one["id"] for one in self.docker("network-list")]), before)
        self.assertTrue(set(strangers.items()) <= set(self.containers().items()))
        # The image that a foreign container uses cannot be removed, and is reported. Foreign images are not touched.
        _, lines = self.nodes.steps("clean", "images")
        self.assertEqual([(line["object"], line["status"] != 0) for line in lines if line.get("kind") == "image"],
                         [(IMAGE, True)])
        self.docker("image-inspect", "stranger:1")

    def test_clean_removes_the_image_on_request(self):
        self.addCleanup(build_image, self.daemon.host)
        self.started()
        self.assertIn(("image", IMAGE), self.nodes.clean("images"))
        self.assertEqual(engine.steps(self.daemon.host, "image-inspect", IMAGE)[1][0]["error"], "not-found")


class Others(NodesCase):
    """Another document, or another run folder, in the same Docker: its nodes have the same names."""

    def other(self, folder=None):
        """Returns nodes of another document in another folder, or in `folder`."""
        one = nodes.Nodes("docker", folder or self.folder, DOCKER_HOST=self.daemon.host)
        one.document = os.path.join(one.folder, "other.yaml")
        nodes.write_document(one.document)
        return one

    def test_another_document(self):
        other = self.other()
        self.started()
        ids = self.containers()
        for result in other.start().values():
            self.assertEqual(result["error"], "foreign")
            self.assertIn(f"was started from another document, '{self.nodes.document}'", result["message"])
            self.assertIn(f"aitherion clean -c '{self.nodes.document}'", result["hint"])
        _, lines = other.steps("clean", "of=" + other.document)
        self.assertEqual([line.get("left") for line in lines], [0, 1])
        self.assertEqual(self.containers(), ids)
        self.assertEqual(self.nodes.states(), RUNNING)
        self.assertTrue(os.path.isdir(os.path.join(self.nodes.run_folder, "numa0")))
        # Given by its id, or with --yes, the node is taken.
        self.assertIn(("container", "aitherion-numa1"), other.clean("of=" + other.document, "1"))
        self.assertEqual(set(other.outcomes("over").values()), {"started", "restarted"})
        self.assertEqual(other.survey()[0]["document"], other.document)

    def test_missing_or_renamed_document(self):
        other = self.other()
        self.started()
        link = os.path.join(self.folder, "link.yaml")
        os.symlink(self.nodes.document, link)
        _, lines = self.nodes.steps("start", link)
        self.assertNotIn("foreign", [line.get("error") for line in lines])
        os.remove(link)
        os.remove(self.nodes.document)
        self.assertNotIn("failed", other.outcomes().values())
        os.remove(other.document)
        self.assertIn(("container", "aitherion-numa0"), self.nodes.clean("of=" + self.nodes.document))
        self.assert_nothing_left()

    def test_another_run_folder(self):
        folder = tempfile.mkdtemp(prefix="ath-", dir="/tmp")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        other = self.other(folder)
        other.document = self.nodes.document
        self.started()
        for result in other.start().values():
            self.assertEqual(result["error"], "foreign")
            self.assertIn(f"another run folder, '{self.nodes.run_folder}'", result["message"])
        _, lines = other.steps("clean", "of=" + other.document)
        self.assertEqual([line["left"] for line in lines if "left" in line], [0, 1])
        self.assertEqual(self.nodes.states(), RUNNING)


class Crashes(NodesCase):
    def test_killed_runtime_restarts(self):
        seen = self.started()[0]
        os.kill(seen["pid"], signal.SIGKILL)
        now = harness.wait_until(lambda: (one := self.nodes.survey()[0])["state"] == "running" and
                               one["pid"] != seen["pid"] and one)
        self.assertTrue(now)
        self.assertEqual((now["restarts"], now["container"]), (1, seen["container"]))
        self.assertEqual(self.nodes.outcomes(), {0: "same", 1: "same"})

    def test_runtime_that_keeps_ending(self):
        seen = self.started()[0]
        os.rename(self.nodes.key, self.nodes.key + ".x")
        with open(self.nodes.key, "w", encoding="ascii"):  # an empty key is no key
            pass
        os.kill(seen["pid"], signal.SIGKILL)
        # Docker binds the key's inode, so the container still has the old key; only a new container sees the empty one.
        self.docker("remove", "aitherion-numa0", "force")
        failed = self.nodes.start()[0]
        self.assertEqual(failed["error"], "start-failed", failed)
        self.assertTrue(failed["log"])
        self.assertNotIn("aitherion-numa0", self.containers())
        self.assertEqual(self.nodes.states(), {1: "running"})

    def test_start_after_a_kill_at_each_step(self):
        for step in STEPS:
            with self.subTest(step):
                code, _ = self.nodes.steps("start", self.nodes.document, env={"KILL_AT": step})
                self.assertEqual(code, -signal.SIGKILL)
                self.assertTrue(set(self.nodes.outcomes().values()) <= {"started", "same"})
                self.assertEqual(self.nodes.states(), RUNNING)
                self.nodes.clean()

    def test_killed_at_any_moment(self):
        for wait_ms in range(5, 400, 36):
            process = self.nodes.begin("start", self.nodes.document)
            time.sleep(wait_ms / 1000)
            process.kill()
            process.communicate()
            with self.subTest(wait_ms):
                if wait_ms % 2:
                    self.assertNotIn("failed", self.nodes.outcomes().values())
                    self.assertEqual(self.nodes.states(), RUNNING)
                self.nodes.clean()
                self.assert_nothing_left()

    def test_interrupted(self):
        process = self.nodes.begin("start", self.nodes.document, env={"PAUSE_AT": "wait"})
        self.assertTrue(nodes.stopped(process.pid))
        process.send_signal(signal.SIGINT)
        while process.poll() is None:
            process.send_signal(signal.SIGCONT)
            time.sleep(0.05)
        code, lines = self.nodes.finish(process)
        self.assertEqual(code, 1)
        self.assertIn("interrupted", {line["error"] for line in lines if "error" in line})
        healthy = {line["id"] for line in lines if line.get("outcome") == "started"}
        self.assertEqual(set(self.nodes.survey()), healthy)


class Failures(NodesCase):
    def test_taken_port(self):
        with nodes.listener(self.ports[0]):
            results = self.nodes.start()
        self.assertEqual((results[0]["error"], results[1]["outcome"]), ("port-in-use", "started"))
        self.assertIn(f"port {self.ports[0]} of 'aitherion-numa0' is taken by ", results[0]["message"])
        self.assertIn(f"(process {os.getpid()})", results[0]["message"])
        self.assertEqual(list(self.containers()), ["aitherion-numa1"])

    def test_missing_image(self):
        self.started()
        ids = self.containers()
        nodes.write_document(self.nodes.document, image="no-such-image:1")
        results = self.nodes.start()
        self.assertEqual({result["error"] for result in results.values()}, {"image-missing"})
        self.assertIn("'no-such-image:1'", results[0]["message"])
        self.assertEqual(results[0]["hint"], "docker pull no-such-image:1")
        self.assertEqual(self.containers(), ids, "what ran before was touched")

    def test_missing_key(self):
        os.remove(self.nodes.key)
        results = self.nodes.start()
        self.assertIn(self.nodes.key, results[0]["message"])
        self.assertEqual(self.containers(), {})


class DaemonCase(NodesCase):
    """With its own daemon."""

    def setUp(self):
        reason = engine.why_not()
        if reason:
            self.skipTest(reason)
        daemon = engine.Engine()
        self.addCleanup(daemon.stop)
        self.prepare(daemon)
        daemon.start()
        self.use(daemon)
        build_image(daemon.host)

    def prepare(self, daemon):
        """Runs before the daemon starts."""


class KilledDaemon(DaemonCase):
    def test_daemon_killed_during_each_step(self):
        for step in STEPS:
            with self.subTest(step):
                process = self.nodes.begin("start", self.nodes.document, "0", env={"PAUSE_AT": step})
                self.assertTrue(nodes.stopped(process.pid))
                self.daemon.kill()
                process.send_signal(signal.SIGCONT)
                code, lines = self.nodes.finish(process)
                self.assertEqual(code, 1)
                self.assertIn("engine-unreachable", [line.get("error") for line in lines])
                self.daemon.start()
                self.assertEqual(set(self.nodes.outcomes()), {0, 1})
                self.assertEqual(self.nodes.states(), RUNNING)
                self.nodes.clean()
                self.assert_nothing_left()


class HalfStarted(DaemonCase):
    """Docker is killed while it starts a container: its records lack the task that containerd keeps."""
    MOMENTS = (".", "address", "init.pid")  # containerd makes the task's folder, has a shim, has the waiting container

    def leave(self, moment):
        """Kills the daemon at a moment of a start, and starts the next one."""
        process = self.nodes.begin("start", self.nodes.document)
        self.daemon.kill_when_containerd_has(moment)
        self.nodes.finish(process)
        self.daemon.start()

    def leave_running(self):
        """Leaves runtimes that run, of which Docker says that they do not. Returns the ids of their containers."""
        while True:
            self.leave("init.pid")
            lost = {task: names for task, names in self.daemon.tasks().items() if names}
            if lost and not any("aitherion-runti" in names for names in lost.values()):  # else the daemon was killed too late
                break
            self.nodes.clean()
        for task in lost:
            self.daemon.run_task(task)
        self.assertTrue(harness.wait_until(lambda: all("aitherion-runti" in self.daemon.tasks()[task] for task in lost)))
        self.assertEqual({one["state"] for one in self.docker("list") if one["id"] in lost}, {"created"})
        return list(lost)

    def assert_nothing_left(self):
        super().assert_nothing_left()
        self.assertTrue(harness.wait_until(lambda: self.daemon.tasks() == {}), self.daemon.tasks())
        self.assertEqual(self.containers(), {})

    def assert_starts(self):
        """A runtime that ran before the daemon was killed is left alone, each other one is started."""
        expected = {number: "same" if state == "running" else "started" for number, state in self.nodes.states().items()}
        self.assertEqual(self.nodes.outcomes(), expected)
        self.assertEqual(self.nodes.states(), RUNNING)
        self.assertEqual(set(self.daemon.tasks()), set(self.containers().values()))

    def test_next_start_works(self):
        for moment in self.MOMENTS:
            with self.subTest(moment):
                self.leave(moment)
                self.assert_starts()
                self.nodes.clean()
                self.assert_nothing_left()

    def test_clean_leaves_nothing(self):
        for moment in self.MOMENTS:
            with self.subTest(moment):
                self.leave(moment)
                self.nodes.clean()
                self.assert_nothing_left()

    def test_start_ends_a_lost_runtime(self):
        lost = self.leave_running()
        problems = {status["container"]: status["problem"] for status in self.nodes.survey().values()}
        for task in lost:
            self.assertIn("Docker has lost it", problems[task])
        self.assert_starts()
        self.assertFalse(set(lost) & set(self.daemon.tasks()))

    def test_stop_ends_a_lost_runtime(self):
        lost = self.leave_running()
        code, lines = self.nodes.steps("stop")
        self.assertEqual((code, sum(line["was_running"] for line in lines)), (0, len(lost)))
        self.assertFalse(set(lost) & set(self.daemon.tasks()))
        self.nodes.clean()
        self.assert_nothing_left()

    def test_clean_ends_a_lost_runtime(self):
        self.leave_running()
        self.nodes.clean()
        self.assert_nothing_left()


class FullDisk(DaemonCase):
    def prepare(self, daemon):
        os.mkdir(daemon.folder + "/data")
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "none", daemon.folder + "/data"],
                          stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no right to mount here")

    def test_names_the_full_disk(self):
        filler = os.path.join(self.daemon.folder, "data", "filler")
        try:
            with open(filler, "wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
        except OSError:
            pass
        results = self.nodes.start()
        self.assertEqual({result["error"] for result in results.values()}, {"no-space"}, results)
        os.remove(filler)
        self.assertEqual(self.nodes.outcomes(), {0: "started", 1: "started"})


class FakeAnswers(unittest.TestCase):
    """A fake daemon gives answers that a real one cannot be made to give."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="ath-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.made = {}  # id: body of create, with its name
        self.labels = None  # of a container 'c0' that exists from the beginning and does not run

    def other(self, port):
        """A foreign container that publishes a port; None: the node's own."""
        return {"Id": f"c-{port}", "Names": [f"/web-{port}"], "State": "running", "Labels": {},
                "Ports": [{"PrivatePort": 80}, {"PublicPort": port or self.port}]}

    def start(self, **script):
        """Starts one node; script gives the answers to create and start, and the ports that foreign containers publish.
        Returns (result, requests)."""
        def answer(connection, method, path, body):
            path = path.partition("/v1.")[2].partition("/")[2]
            word = path.split("?")[0]
            if word in ("info", "version"):
                reply = {"Version": "20.10.1", "ApiVersion": "1.41"}
            elif word == "networks":
                reply = [{"Id": "n0", "Name": "bridge", "Driver": "bridge"}] if "published" in script else []
            elif word.startswith("images/"):
                reply = {"Id": "sha256:1"}
            elif word == "containers/json":
                reply = [{"Id": "c0", "Names": ["/aitherion-numa0"], "State": "exited", "Labels": self.labels}]
                reply = (reply if self.labels else []) + [self.other(port) for port in script.get("published", [])]
            elif word == "containers/c0/json" and self.labels:
                reply = {"Id": "c0", "Name": "/aitherion-numa0", "Image": "sha256:1", "State": {"Status": "exited"},
                         "Config": {"Labels": self.labels}}
            elif method == "DELETE":
                if script.get("delete"):
                    return connection.sendall(script["delete"])
                self.labels = None if word.endswith("/c0") else self.labels
                self.made.pop(word.split("/")[1], None)
                return connection.sendall(fake.answer(204))
            elif word == "containers/create":
                self.made["c1"] = json.loads(body)
                return connection.sendall(script.get("create") or fake.answer(201, b'{"Id":"c1","Warnings":[]}'))
            elif word.endswith("/start") and not self.made and script.get("start_c0"):
                return connection.sendall(script["start_c0"])
            elif word.endswith("/start"):
                return connection.sendall(script.get("start") or fake.answer(204))
            elif self.made:
                labels = script.get("labels", self.made["c1"]["Labels"])
                reply = {"Id": "c1", "Name": "/aitherion-numa0", "State": {"Status": "running", "Running": True},
                         "Config": {"Labels": labels}}
            else:
                return connection.sendall(fake.answer(404, b'{"message":"No such container"}'))
            return connection.sendall(fake.answer(200, json.dumps(reply).encode()))

        with fake.Fake(answer) as daemon:
            one = nodes.Nodes("docker", self.folder, DOCKER_HOST=daemon.host)
            self.port = nodes.write_document(one.document, count=1)[0]
            if "published" in script:  # Docker publishes a node's ports on a network of its own only
                with open(one.document, encoding="utf-8") as file:
                    text = file.read().replace("network: host", "network: bridge")
                with open(one.document, "w", encoding="utf-8") as file:
                    file.write(text)
            results = one.start()
            self.assertIn(0, results, results)
            return results[0], [(method, path.split("?")[0].partition("/v1.")[2].partition("/")[2])
                            for method, path, _, _ in daemon.requests]

    def test_start_succeeds(self):
        result, _ = self.start()
        self.assertEqual(result["outcome"], "started")

    def test_lost_answer_to_a_create(self):
        result, asked = self.start(create=b"HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{")
        self.assertIn(result["error"], ("engine-unreachable", "engine-invalid"))
        # The start looks for the container, finds that it is ours, and removes it.
        self.assertEqual(asked[-2:], [("GET", "containers/aitherion-numa0/json"), ("DELETE", "containers/c1")])
        self.assertEqual(self.made, {})

    def test_lost_answer_finds_a_foreign_container(self):
        result, asked = self.start(create=b"HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{", labels={})
        self.assertEqual(result["outcome"], "failed")
        self.assertNotIn("DELETE", [method for method, _ in asked])

    def test_answer_without_id(self):
        result, asked = self.start(create=fake.answer(201, b'{"Warnings":[]}'))
        self.assertEqual(result["error"], "engine-invalid")
        self.assertIn("DELETE", [method for method, _ in asked])

    def test_port_in_dockers_records(self):
        words = (b'{"message":"driver failed programming external connectivity on endpoint x: Bind for 0.0.0.0:50051 '
                 b'failed: port is already allocated"}')
        result, asked = self.start(start=fake.answer(500, words))
        self.assertEqual(result["error"], "port-in-use")
        self.assertIn("port is already allocated", result["message"])
        self.assertEqual(result["hint"], "systemctl restart docker")
        self.assertEqual(asked[-1], ("DELETE", "containers/c1"))
        self.assertEqual([path for _, path in asked].count("containers/create"), 1)

    def test_port_of_another_container(self):
        words = fake.answer(500, b'{"message":"Bind for 0.0.0.0:50051 failed: port is already allocated"}')
        for published, hint in (([80, 81], "systemctl restart docker"), ([80, None], "")):
            with self.subTest(published):
                result, _ = self.start(start=words, published=published)
                self.assertEqual((result["error"], result["hint"]), ("port-in-use", hint))

    def test_replaces_a_half_started_container(self):
        self.start()
        labels = self.made.pop("c1")["Labels"]
        for words in ("Bind for 0.0.0.0:50051 failed: port is already allocated", "task aitherion-numa0: id already in use",
                      "task aitherion-numa0: already exists", "failed to start shim: mkdir aitherion-numa0: file exists: unknown"):
            with self.subTest(words):
                self.labels = labels
                result, asked = self.start(start_c0=fake.answer(500, json.dumps({"message": words}).encode()))
                self.assertEqual(result["outcome"], "started", result)
                changes = [request for request in asked if request[0] != "GET"]
                self.assertEqual(changes, [("POST", "containers/aitherion-numa0/start"), ("DELETE", "containers/c0"),
                                           ("POST", "containers/create"), ("POST", "containers/aitherion-numa0/start")])
                self.made.clear()

    def test_replacement_fails_too(self):
        self.start()
        self.labels = self.made.pop("c1")["Labels"]
        words = fake.answer(500, b'{"message":"id already in use"}')
        result, asked = self.start(start_c0=words, start=words)
        self.assertEqual((result["outcome"], result["hint"]), ("failed", "systemctl restart docker"))
        self.assertEqual([path for _, path in asked].count("containers/create"), 1)

    def test_failed_undo_is_reported_once_by_name(self):
        words = fake.answer(500, b'{"message":"no luck"}')
        result, _ = self.start(start=words, delete=words)
        self.assertEqual(result["message"].count("undoing the start failed too"), 1)
        self.assertIn("cannot remove the container 'aitherion-numa0'", result["message"])
        self.assertNotIn("'c1'", result["message"])

    def test_a_full_disk(self):
        result, _ = self.start(create=fake.answer(500, b'{"message":"mkdir /x: no space left on device"}'))
        self.assertEqual((result["error"], result["hint"]), ("no-space", "docker system df"))


if __name__ == "__main__":
    harness.isolate()
    harness.main()
