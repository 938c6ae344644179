#!/usr/bin/env python3
"""start, stop, status, health and clean with a real Docker, beyond tests/docker/test_nodes.py."""
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
import authority  # noqa: E402
import harness  # noqa: E402
import nodes  # noqa: E402

IMAGE = "aitherion-runtime:latest"
KNOWN = {"no-gpu", "cpuset-limited", "distance-unknown", "runtime-problem", "memlock-low"}  # of this machine
RUNS_COMPARED = 7  # in a round; a busy machine gets more rounds
ROUNDS = 4


def setUpModule():
    engine.shared()


class StartCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.daemon = engine.shared()
        self.host = self.daemon.host
        self.folder = tempfile.mkdtemp(prefix="ath-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.document = os.path.join(self.folder, "topology.yaml")
        self.key = os.path.join(self.folder, "key")
        self.write_document()
        self.addCleanup(self.run_on, "clean", "--yes", "--images")

    def write_document(self, **options):
        self.ports = nodes.write_document(self.document, **options)
        with open(self.document, "a", encoding="utf-8") as file:
            file.write(f"key_file: {self.key}\n")

    def environment(self):
        return harness.environment(AITHERION_RUN_FOLDER=os.path.join(self.folder, "run"), DOCKER_HOST=self.host)

    def run_on(self, *words, command=None, **options):
        words = [*words, "-c", self.document]
        result = harness.run(*words, env=self.environment(), command=[*command, harness.binary(), *words] if command else None,
                             **options)
        self.assertIsNone(harness.crashed(result), result.stderr)
        return result

    def data(self, *words, code=0, **options):
        result = self.run_on(*words, "--json", **options)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        value, faults = harness.check_json(result.stdout)
        self.assertEqual(faults, [])
        return value

    def error(self, *words, code=1, **options):
        result = self.run_on(*words, "--json", **options)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return json.loads(result.stderr)

    def outcomes(self, *words, **options):
        return [node["outcome"] for node in self.data("start", *words, **options)["nodes"]]

    def ids(self):
        return [node["process"]["container_id"] for node in self.data("status")["nodes"]]

    def health(self, code=0):
        return {check["code"]: check["status"] for check in self.data("health", code=code)["checks"]
                if check["status"] != "ok" and check["code"] not in KNOWN}

    def names(self):
        status, lines = engine.steps(self.host, "list")
        self.assertEqual(status, 0, lines)
        return {one["name"] for one in lines}


class Life(StartCase):
    def test_first_start_to_clean(self):
        """Without an image and a key, the first start makes both."""
        first = self.data("start")
        self.assertEqual((first["engine"], first["is_image_built"], first["is_key_new"]), ("docker", True, True))
        self.assertEqual([(node["outcome"], node["is_healthy"]) for node in first["nodes"]], [("started", True)] * 2)
        ids = self.ids()
        second = self.data("start")
        self.assertEqual(([node["outcome"] for node in second["nodes"]], second["is_image_built"], self.ids()),
                         (["same", "same"], False, ids))
        for node in self.data("status")["nodes"]:
            self.assertEqual((node["state"], node["drift"], node["process"]["document"]), ("running", None, self.document))
            self.assertEqual(node["process"]["cpus"], nodes.node_cpus())
            self.assertEqual(node["process"]["memory_nodes"], str(nodes.first_node()))
        self.assertEqual(self.health(), {})
        self.assertEqual([node["was_running"] for node in self.data("stop")["nodes"]], [True, True])
        self.assertEqual(self.health(), {"runtime-not-started": "warning"})
        self.assertEqual(self.outcomes(), ["started", "started"])
        kinds = [step["kind"] for step in self.data("clean", "--yes", "--images")["steps"]]
        self.assertEqual(kinds, sorted(kinds, key=["process", "container", "macvlan", "network", "image", "cgroup",
                                                    "folder"].index))
        self.assertEqual(kinds.count("container"), 2)
        self.assertIn("image", kinds)
        self.assertEqual((self.names(), os.path.exists(os.path.join(self.folder, "run"))), (set(), False))

    def test_a_folder_of_keys(self):
        """Containers see keys and rows of identities that change while they run."""
        self.run_on("key", "add", "alice", "--memory", "4G")
        self.assertEqual(self.outcomes("--sim"), ["started", "started"])
        ids = self.ids()
        self.run_on("key", "add", "bob")
        result = self.run_on("session", "list", "--numa", "0", "--key-name", "bob")
        self.assertEqual(result.returncode, 0, result.stderr)
        shutil.copy(os.path.join(self.key, "bob"), os.path.join(self.folder, "bob"))
        example = os.path.join(harness.build(), "examples", "vector_add")
        result = harness.run("-c", self.document, "run", "--numa", "0", "--key-name", "alice", "--", example, env=self.environment())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.run_on("key", "remove", "bob", "--yes")
        refused = self.run_on("session", "list", "--numa", "0", "--key", os.path.join(self.folder, "bob"))
        self.assertIn("or none called 'bob'", refused.stderr)
        self.run_on("configure", "--set", "identities.alice.memory=2G")
        self.assertEqual([(node["drift"], node["needs_restart"]) for node in self.data("status")["nodes"]],
                         [("its identities have changed since it was started", False)] * 2)
        self.assertEqual(self.outcomes("--sim"), ["changed", "changed"])
        self.assertEqual([node["drift"] for node in self.data("status")["nodes"]], [None, None])
        self.assertEqual(self.ids(), ids)
        logs = self.run_on("logs", "0").stdout
        self.assertIn("identity=alice", logs)
        self.assertNotIn("unusable", logs)

    def test_logs_of_a_restarted_runtime(self):
        """`logs -f` goes on after a restart, in the same container or another one."""
        self.run_on("configure", "--log-level", "debug")
        self.assertEqual(self.outcomes("--sim"), ["started", "started"])
        self.assertIsNone(self.data("status", "0")["nodes"][0]["process"]["log_file"])
        self.assertIn("its log: kept by Docker", self.run_on("status", "0", "-v").stdout)
        self.assertIn("level=debug event=handshake", self.run_on("logs", "0").stdout)
        self.assertNotIn("level=debug", self.run_on("logs", "0", "--level", "info").stdout)
        watch = subprocess.Popen([harness.binary(), "logs", "0", "-f", "-n", "0", "--level", "info", "-c", self.document], env=self.environment(),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(watch.stdout.close)
        self.addCleanup(watch.kill)
        self.assertTrue(harness.wait_for_handler(watch, signal.SIGINT))
        lines = []
        for _ in range(2):
            self.assertEqual(self.run_on("restart", "0").returncode, 0)
            lines.append("")
            while "event=started" not in lines[-1]:
                lines.append(watch.stdout.readline())
                self.assertTrue(lines[-1], "it ended with the restart")
        self.run_on("stop")
        lines += watch.stdout.readlines()
        timed = [line for line in lines if line.startswith("time=")]
        self.assertEqual(len(set(timed)), len(timed), "no line is shown twice")
        self.assertEqual([sum(f"event={event}" in line for line in timed) for event in ("started", "stopped")], [2, 3])
        self.assertEqual(watch.wait(harness.PATIENCE_S), 0)

    def test_settings_of_the_document(self):
        """The server in a container gets them, and its health check, which asks over TCP, takes part in encryption."""
        self.assertEqual(self.outcomes("--sim"), ["started", "started"])
        self.run_on("configure", "--encrypt", "on", "--set", "limits.host_fraction=0.25")
        self.assertEqual([(node["drift"], node["needs_restart"]) for node in self.data("status")["nodes"]],
                         [("its settings have changed since it was started", True)] * 2)
        self.assertEqual(self.outcomes("--sim"), ["restarted", "restarted"])
        self.assertEqual([node["drift"] for node in self.data("status")["nodes"]], [None, None])
        pid = self.data("status", "0")["nodes"][0]["process"]["pid"]
        with open(f"/proc/{pid}/cmdline", encoding="ascii") as file:
            self.assertIn("--encrypt\0on\0--host-fraction\0" + "0.25\0", file.read())
        self.assertTrue(harness.wait_until(lambda: {node["state"] for node in self.data("status")["nodes"]} == {"running"}))
        server = ("session", "list", "--server", f"127.0.0.1:{self.ports[0]}")
        self.assertEqual(self.run_on(*server).returncode, 0)
        refused = harness.run(*server, "-c", self.document, env={**self.environment(), "AITHERION_ENCRYPT": "off"})
        self.assertIn("wants this connection to be encrypted", refused.stderr)
        self.assertEqual(refused.returncode, 1)

    def test_data_interfaces(self):
        """A container on the host's network listens for large copies at the addresses of the document's data interfaces."""
        links = [(link["ifname"], one["local"]) for link in nodes.links() for one in link["addr_info"]
                 if one["family"] == "inet" and link["ifname"] != "lo"]
        if not links:
            self.skipTest("this machine has no link with an IPv4 address beside lo")
        name, address = links[0]
        port = nodes.free_ports(4)[2]  # NUMA0's data port: nodes.write_document()
        self.assertEqual(self.run_on("configure", "0", "--data-iface", name).returncode, 0)
        first = self.data("start", "--sim")["nodes"]
        self.assertEqual([node["data_addresses"] for node in first], [[f"{address}:{port}"], []])
        self.assertIn(f"{address}:{port}", self.data("status", "0")["nodes"][0]["process"]["listening"])
        self.assertIn(f"{address}:{port} (data)", self.run_on("status").stdout)
        self.assertEqual(self.run_on("configure", "--udp", "on").returncode, 0)
        self.data("start", "0", "--sim")
        self.assertIn(f"{address}:{port}/udp", self.data("status", "0")["nodes"][0]["process"]["listening"])
        self.assertEqual(self.run_on("configure", "--udp", "off").returncode, 0)
        self.assertEqual(self.run_on("configure", "0", "--set", "data_iface=[]").returncode, 0)
        self.assertEqual(self.outcomes("--sim"), ["restarted", "same"])

    @unittest.skipIf(authority.LACKS, authority.LACKS)
    def test_a_certificate(self):
        """Containers get its files, and a file that their user could not read is refused before any is made."""
        maker = authority.Authority("here")
        certificate, key = maker.sign("server")
        self.assertEqual(self.run_on("configure", "--set", f"tls_certificate={certificate}", "--set", f"tls_key={key}").returncode, 0)
        os.chown(key, 65534, 65534)
        error = self.error("start", "--sim")
        self.assertEqual((error["code"], error["hint"]), ("no-access", f"chown 0 {key}"))
        self.assertEqual(self.names(), set())
        os.chown(key, 0, 0)
        self.assertEqual(self.outcomes("--sim"), ["started", "started"])
        for authorities, code in ((maker.file, 0), (authority.Authority("elsewhere").file, 1)):
            words = ["-c", self.document, "session", "list", "--server", f"127.0.0.1:{self.ports[0]}"]
            result = harness.run(*words, env={**self.environment(), "AITHERION_ENCRYPT": "on", "AITHERION_TLS_CA": authorities})
            self.assertEqual(result.returncode, code, result.stderr)

    def test_programs_of_this_machine(self):
        """Programs reach the runtime by the socket in the shared folder, and by the port that Docker publishes."""
        example = os.path.join(harness.build(), "examples", "vector_add")
        self.data("start", "--sim")
        for id_, words, transport in ((0, [], "shm"), (0, ["--transport", "tcp"], "tcp"), (1, [], "shm")):
            result = harness.run("-c", self.document, "run", "-v", "--numa", str(id_), *words, "--", example, env=self.environment())
            self.assertEqual((result.returncode, result.stdout.count("right")), (0, 1), result.stderr)
            self.assertIn("GPU 0: aitherion simulated GPU", result.stdout)
            self.assertIn(f"transport={transport}", result.stderr)
            self.assertIn(f": NUMA{id_} of ", result.stderr)
        several = harness.run("-c", self.document, "run", "--", example, env=self.environment())
        self.assertEqual((several.returncode, several.stdout), (2, ""))
        self.assertIn("several runtimes run here", several.stderr)
        for node in self.data("status")["nodes"]:
            self.assertEqual((node["service"]["error"], node["service"]["sessions"]), (None, []))
            self.assertEqual([one["is_simulated"] for one in node["service"]["devices"]], [True])

    def test_logs(self):
        self.data("start", "--sim")
        logs = self.data("logs")["logs"]
        self.assertEqual([(log["id"], log["engine"], log["name"], log["place"]) for log in logs],
                         [(id_, "docker", f"aitherion-numa{id_}", self.ids()[id_]) for id_ in (0, 1)])
        self.assertIn("event=started", "\n".join(logs[0]["lines"]))
        self.assertEqual(self.data("logs", "1", "-n", "1")["logs"][0]["lines"], logs[1]["lines"][-1:])
        self.assertEqual(self.data("logs", "1", "--since", "1d")["logs"][0]["lines"], logs[1]["lines"])
        self.assertEqual(self.data("logs", "1", "--since", "2100-01-01")["logs"][0]["lines"], [])
        words = [harness.binary(), "logs", "-f", "-n", "1", "-c", self.document]
        follow = subprocess.Popen(words, env=self.environment(), stdout=subprocess.PIPE, text=True)
        self.addCleanup(follow.stdout.close)
        self.addCleanup(follow.kill)
        seen = {follow.stdout.readline()[:8] for _ in range(2)}
        self.assertEqual(seen, {"NUMA0 | ", "NUMA1 | "})
        self.run_on("stop", "1")
        self.run_on("stop", "0")
        self.assertRegex(follow.stdout.read(), r"NUMA0 \| time=.* event=stopped")
        self.assertEqual(follow.wait(harness.PATIENCE_S), 0)
        self.assertIn("event=stopped", self.data("logs", "0")["logs"][0]["lines"][-1])
        follow = subprocess.Popen([*words, "1"], env=self.environment(), stdout=subprocess.PIPE, text=True)
        self.assertIn("event=stopped", follow.communicate(timeout=harness.PATIENCE_S)[0])

    def test_paused_container(self):
        self.data("start")
        subprocess.run(["docker", "-H", self.host, "pause", "aitherion-numa0"], check=True, stdout=subprocess.DEVNULL)
        process = self.data("status")["nodes"][0]["process"]
        self.assertEqual((process["problem"], process["hint"]), ("it was paused", "docker unpause aitherion-numa0"))
        subprocess.run(["docker", "-H", self.host, "unpause", "aitherion-numa0"], check=True, stdout=subprocess.DEVNULL)
        # Docker's health check may have failed meanwhile, and reports that until its next run.
        self.assertNotEqual(self.data("status")["nodes"][0]["process"]["problem"], "it was paused")

    def test_removes_an_old_image_with_its_last_container(self):
        self.data("start")
        old = self.data("image", "list")["images"][0]["id"]
        changed = os.path.join(self.folder, "aitherion-runtime")
        shutil.copy(nodes.runtime(), changed)
        with open(changed, "ab") as file:
            file.write(b"x")
        self.data("image", "build", "--runtime", changed)
        self.addCleanup(self.run_on, "image", "remove")
        self.assertIn(old, [image["id"] for image in self.data("image", "list")["images"]])
        self.assertEqual([node["outcome"] for node in self.data("start", "0")["nodes"]], ["restarted"])
        self.assertIn(old, [image["id"] for image in self.data("image", "list")["images"]])
        self.assertEqual(self.outcomes(), ["same", "restarted"])
        self.assertNotIn(old, [image["id"] for image in self.data("image", "list")["images"]])
        self.run_on("clean", "--yes")
        text = self.run_on("clean").stdout
        self.assertIn("the image 'aitherion-runtime:latest' is kept", text)
        self.assertIn(f"hint: aitherion -c {self.document} clean --images", text)

    def test_node_stays_in_its_engine(self):
        """Docker comes late at boot: the nodes run as processes, and stay so until they are stopped."""
        with_docker, self.host = self.host, f"unix://{self.folder}/late.sock"
        self.assertEqual(self.data("start")["engine"], "process")
        self.host = with_docker
        again = self.data("start")
        self.assertEqual((again["engine"], [node["outcome"] for node in again["nodes"]]), ("process", ["same", "same"]))
        error = self.error("start", "--engine", "docker")
        self.assertEqual(error["code"], "busy")
        self.assertTrue(error["hint"].endswith(" stop 0"), error)
        self.data("stop")
        self.assertEqual(self.data("start")["engine"], "docker")
        self.assertTrue(self.error("start", "1", "--engine", "process")["hint"].endswith(" stop 1"))

    def test_foreign_runtime_at_the_port(self):
        """The other runtime even has the same key."""
        self.assertEqual(self.data("start", "--engine", "process")["engine"], "process")
        with tempfile.TemporaryDirectory(prefix="ath-", dir="/tmp") as elsewhere:
            folder, self.folder = self.folder, elsewhere
            try:
                value = self.data("start", "--engine", "docker", code=1)
                self.assertEqual([node["error"]["code"] for node in value["nodes"]], ["port-in-use"] * 2)
                self.assertIn(str(self.ports[0]), value["nodes"][0]["error"]["message"])
                self.run_on("clean", "--yes")
            finally:
                self.folder = folder
        self.assertEqual([node["state"] for node in self.data("status")["nodes"]], ["running", "running"])

    def test_foreign_runtime_at_the_socket(self):
        """The other runtime has the key, the socket and the port. The start does not take its answer for the node's."""
        self.write_document(count=1)
        self.data("start")
        self.data("stop")
        socket = os.path.join(self.folder, "run", "numa0", "runtime.sock")
        other = subprocess.Popen([nodes.runtime(), "serve", "--sim", "--key", self.key, "--socket", socket, "--listen",
                                  f"127.0.0.1:{self.ports[0]}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            self.assertEqual([other.stdout.readline().split()[0] for _ in range(2)], ["listening"] * 2)
            value = self.data("start", code=1)
            self.assertEqual([node["outcome"] for node in value["nodes"]], ["failed"])
        finally:
            other.terminate()
            other.communicate()

    def test_changed_document_restarts_only_its_node(self):
        self.data("start")
        before = self.ids()
        nodes.change_document(self.document, 1)
        self.assertEqual(self.health(code=3), {"runtime-drift": "warning", "runtime-silent": "fault"})  # at the new port
        self.assertEqual(self.outcomes(), ["same", "restarted"])
        after = self.ids()
        self.assertEqual((after[0], after[1] == before[1]), (before[0], False))

    def test_limits_change_while_containers_run(self):
        """The memory limit and the share of GPU memory need no restart, and a container that starts again keeps them."""
        self.data("start")
        before = self.ids()
        for setting, percent in (("vram_fraction=0.25", 10), ("memory_percent=12.5", 12.5), ("memory_percent=10", 10)):
            self.assertEqual(self.run_on("configure", "--set", f"numa.1.{setting}").returncode, 0)
            drift = [(bool(node["drift"]), node["needs_restart"]) for node in self.data("status")["nodes"]]
            self.assertEqual(drift, [(False, False), (True, False)])
            self.assertEqual(self.health(), {"runtime-drift": "warning"})
            self.assertEqual(self.outcomes(), ["same", "changed"])
            self.assertEqual((self.outcomes(), self.health(), self.ids()), (["same", "same"], {}, before))
            limits = [node["process"]["memory_limit_bytes"] for node in self.data("status")["nodes"]]
            self.assertAlmostEqual(limits[1] / limits[0], percent / 10, 1)
        self.assertEqual([node["outcome"] for node in self.data("restart")["nodes"]], ["restarted", "restarted"])
        self.assertEqual((self.outcomes(), self.health(), self.ids()[0]), (["same", "same"], {}, before[0]))
        self.data("stop")
        self.assertEqual(self.outcomes(), ["started", "started"])
        self.assertEqual((self.outcomes(), self.health()), (["same", "same"], {}))

    def plan_lines(self):
        """The `docker run` lines of the plan of two entries."""
        if not shutil.which("docker"):
            self.skipTest("no docker client to compare with (package docker.io or docker-cli)")
        self.data("start")
        return [line for node in self.data("start", "--dry-run")["nodes"] for line in node["commands"] if line.startswith("docker")]

    def time_of(self, commands):
        """Seconds until the commands, which run at the same time, have made both containers."""
        for name in ("aitherion-numa0", "aitherion-numa1"):
            engine.steps(self.host, "remove", name, "force")
        began = time.monotonic()
        children = [subprocess.Popen(["sh", "-c", line], env=self.environment(), stdout=subprocess.DEVNULL) for line in commands]
        self.assertEqual([child.wait(harness.PATIENCE_S) for child in children], [0] * len(commands))
        return time.monotonic() - began

    def test_start_accepts_containers_made_by_the_plan_s_lines(self):
        self.time_of(self.plan_lines())
        self.assertEqual(self.outcomes(), ["same", "same"])

    @unittest.skipUnless(os.environ.get("AITHERION_SPEED"), "speed is measured alone, by the stage speed of ./check all")
    def test_as_fast_as_docker_run(self):
        """Compares start --no-wait of two entries with the docker run lines of its own plan, both for all nodes at once."""
        lines, ours, by_hand = self.plan_lines(), [], []
        while len(ours) < ROUNDS * RUNS_COMPARED and (not ours or len(ours) % RUNS_COMPARED or min(ours) > 1.5 * min(by_hand)):
            ours.append(self.time_of([f"{harness.binary()} start --no-wait -q -c {self.document}"]))
            by_hand.append(self.time_of(lines))
        print(f"two entries: aitherion {min(ours):.3f} s, docker run {min(by_hand):.3f} s, the best of {len(ours)}")
        self.assertLessEqual(min(ours), 1.5 * min(by_hand))


class ForeignContainers(StartCase):
    def test_clean_keeps_foreign_objects(self):
        self.data("start")
        body = json.dumps({"Image": IMAGE, "Entrypoint": ["aitherion-runtime"], "Cmd": ["pause"], "NetworkDisabled": True,
                           "Labels": {"aitherion": "no label of ours"}})
        self.assertEqual(engine.steps(self.host, "create", "aitherion-numa9", body)[0], 0)
        self.addCleanup(engine.steps, self.host, "remove", "aitherion-numa9", "force")
        archive = os.path.join(self.folder, "image.tar")
        engine.make_image(archive, "aitherion-runtime:others")
        self.assertEqual(engine.steps(self.host, "load", archive, "sized")[0], 0)
        result = self.run_on("clean", "--yes", "--images")
        self.assertIn(self.names(), [{"aitherion-numa9"}], result.stdout)
        self.assertEqual(engine.steps(self.host, "image-inspect", "aitherion-runtime:others")[0], 0)
        # The image of a foreign container stays, and is reported.
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn(IMAGE, result.stdout)

    def test_taken_name(self):
        self.data("start", "0")
        self.data("clean", "--yes")
        body = json.dumps({"Image": IMAGE, "Entrypoint": ["aitherion-runtime"], "Cmd": ["pause"], "NetworkDisabled": True})
        self.assertEqual(engine.steps(self.host, "create", "aitherion-numa0", body)[0], 0)
        self.addCleanup(engine.steps, self.host, "remove", "aitherion-numa0", "force")
        value = self.data("start", code=1)
        self.assertEqual([node["outcome"] for node in value["nodes"]], ["failed", "started"])
        self.assertEqual(value["nodes"][0]["error"]["code"], "foreign")


class Failures(StartCase):
    def test_foreign_image_is_not_built(self):
        self.write_document(image="example/runtime:1")
        error = self.error("start")
        self.assertEqual((error["code"], error["hint"]), ("image-missing", "docker pull example/runtime:1"))
        self.assertFalse(os.path.exists(os.path.join(self.folder, "run", "numa0")))

    def test_a_taken_port(self):
        with nodes.listener(self.ports[0]):
            value = self.data("start", "--timeout", str(harness.PATIENCE_S), code=1)
        self.assertEqual([node["outcome"] for node in value["nodes"]], ["failed", "started"])
        self.assertIn(str(self.ports[0]), json.dumps(value["nodes"][0]))

    def test_user_without_access(self):
        os.chmod(self.folder, 0o777)
        as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        os.chmod(self.daemon.folder, 0o711)
        os.chmod(self.daemon.socket, 0o660)
        error = self.error("start", "--engine", "docker", command=as_nobody)
        self.assertEqual(error["code"], "engine-denied")
        self.assertEqual(self.data("start", command=as_nobody)["engine"], "process")
        result = self.run_on("clean", "--yes", command=as_nobody)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("runtimes that other users run in Docker stay", result.stderr)
        self.assertIn("sudo", error["hint"])
        self.assertEqual(self.data("status", command=as_nobody)["docker_error"]["code"], "engine-denied")
        result = self.run_on("health", "--json", command=as_nobody)
        self.assertEqual(result.returncode, 4, result.stdout + result.stderr)
        self.assertIn("engine-unreachable", [check["code"] for check in json.loads(result.stdout)["checks"]
                                             if check["status"] == "unknown"])
        self.assertEqual(self.run_on("configure", "--set", "engine.kind=docker").returncode, 0)
        for words in (["stop"], ["clean", "--yes"]):
            self.assertEqual(self.error(*words, command=as_nobody)["code"], "engine-denied")

    def test_health_of_a_missing_image(self):
        self.assertEqual(self.health(), {"image-missing": "warning", "runtime-not-started": "warning"})

    def test_health_of_a_stopped_daemon(self):
        self.host = f"unix://{self.folder}/no-docker.sock"
        self.assertEqual(self.health(code=3), {"engine-unreachable": "fault", "runtime-not-started": "warning"})
        self.host = self.daemon.host

    def test_health_of_a_crashing_runtime(self):
        """The image's runtime ends after every start, because it has lost its folder."""
        self.data("start", "0")
        pid = self.data("status", "0")["nodes"][0]["process"]["pid"]
        os.kill(pid, 19)
        try:
            self.assertEqual(self.health(code=3).get("runtime-silent"), "fault")
        finally:
            os.kill(pid, 18)


if __name__ == "__main__":
    harness.isolate()
    harness.main()
