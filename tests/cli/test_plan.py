#!/usr/bin/env python3
"""Plans of runtimes: what is shown, what they may use of Docker, and that Docker's own client makes the same requests from our `docker run` lines.

    test_plan.py [--update]

--update writes the results into tests/golden/plans: read the diff
"""
import http.server
import json
import os
import re
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
import unittest

import cli  # noqa: F401 - finds harness
import harness
import nodes

GOLDEN = os.path.join(harness.SOURCE, "tests", "golden", "plans")
# The shipped document has macvlans; this one has a bridge, and GPUs that share a node.
BRIDGED = """\
schema: aitherion.topology/1
engine: { network: bridge, image: "example/runtime:1" }
key_file: "/etc/a folder, with 'marks'/key"
numa:
  - id: 7
    node: 8
    memory_nodes: [8, 252, 253]
    memory_percent: 12.5
    vram_fraction: 0.25
    control_iface: enP5p1s0f0
    data_iface: enP51p1s0f0
    gpus: ["0035:03:00.0", "0035:04:00.0"]
    control_port: 50051
    data_port: 5555
"""
HOST = BRIDGED.replace("network: bridge", "network: host").replace("    control_port", "    rdma_devices: [mlx5_4]\n    control_port")
UDP = BRIDGED.replace("numa:", "udp: on\nnuma:")
UDP_AT_ONE_PORT = HOST.replace("numa:", "udp: on\nnuma:").replace("    data_iface: enP51p1s0f0\n", "")
WRONG = HOST.replace("node: 8\n", "node: 9\n").replace("mlx5_4", "mlx5_9").replace('"0035:03:00.0", ', "").replace("12.5", "0.01")
INFINIBAND = open(os.path.join(harness.SOURCE, "etc", "ac922_topology.yaml"), encoding="utf-8").read().replace(
    "parent: enP3p1s0f0", "parent: ib0").replace("data_iface: enP3p1s0f0", "data_iface: ib0")
SHIPPED = "etc/ac922_topology.yaml"

# name: (capture, document, words for plan_show)
CASES = {
    "macvlan": ("ac922-4gpu-host", SHIPPED, "typical 0"),
    "bridge": ("ac922-4gpu-host", BRIDGED, "typical"),
    "host": ("ac922-4gpu-host", HOST, "typical user=1000:1000"),
    "nvidia-runtime": ("ac922-4gpu-host", BRIDGED, "nvidia-runtime"),
    "sim": ("ac922-4gpu", SHIPPED, "typical sim"),
    "process": ("ac922-4gpu-host", HOST, "process"),
    "udp": ("ac922-4gpu-host", UDP, "typical"),
    "udp-at-one-port": ("ac922-4gpu-host", UDP_AT_ONE_PORT, "process"),
    "process-macvlan": ("ac922-4gpu-host", SHIPPED, "process sim 1"),
    "no-bridge": ("ac922-4gpu-host", SHIPPED, "no-bridge 0"),
    "rootless": ("ac922-4gpu-host", SHIPPED, "rootless 0"),
    "memory-offline": ("ac922-4gpu-memory-offline", SHIPPED, "typical 0"),
}
REFUSED = {
    "wrong": ("ac922-4gpu-host", WRONG, "typical"),
    "bridge-missing": ("ac922-4gpu-host", BRIDGED, "no-bridge"),
    "infiniband": ("ac922-4gpu-infiniband", INFINIBAND, "typical 0"),
    "other-machine": ("laptop", SHIPPED, "typical"),
}


def plan_show():
    return os.path.join(harness.build(), "tests", "tools", "plan_show")


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.assertTrue(os.access(plan_show(), os.X_OK), "make check builds tests/tools/plan_show")

    def show(self, capture, document, words, form, code=0):
        """Runs in the document's folder, so that the document's name is short and the same everywhere."""
        with tempfile.TemporaryDirectory(dir=harness.scratch()) as folder:
            path = os.path.join(folder, "topology.yaml")
            if document == SHIPPED:
                shutil.copy(os.path.join(harness.SOURCE, SHIPPED), path)
            else:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(document)
            result = harness.run(command=[*harness.emulated(plan_show()), harness.capture(capture), "topology.yaml", form, *words.split()],
                                 cwd=folder)
        self.assertIsNone(harness.crashed(result), result.stderr)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout

    def plan(self, name):
        value, faults = harness.check_json(self.show(*CASES[name], "json"))
        self.assertEqual(faults, [])
        return value


class Golden(Case):
    def compare(self, name, got):
        path = os.path.join(GOLDEN, name + ".txt")
        if "--update" in sys.argv:
            with open(path, "w", encoding="utf-8") as file:
                file.write(got)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(got, file.read(), f"{name}: test_plan.py --update rewrites it")

    def test_texts(self):
        for name, case in CASES.items():
            with self.subTest(name):
                self.compare(name, self.show(*case, "text"))

    def test_refusals(self):
        for name, case in REFUSED.items():
            with self.subTest(name):
                self.compare(name, self.show(*case, "text", code=1))

    def test_all_are_looked_at(self):
        self.assertEqual({name[:-4] for name in os.listdir(GOLDEN)}, set(CASES) | set(REFUSED))


class Json(Case):
    def test_each_fits_its_schema_and_repeats(self):
        for name, case in CASES.items():
            with self.subTest(name):
                self.assertEqual(self.plan(name), json.loads(self.show(*case, "json")))

    def test_requests_for_docker_alone(self):
        self.assertEqual([node["requests"] for node in self.plan("process")["nodes"]], [[]])
        self.assertIsNone(self.plan("process")["image"])
        roles = [request["role"] for request in self.plan("macvlan")["nodes"][0]["requests"]]
        self.assertEqual(roles, ["pause", "runtime"])

    def test_of_machines_from_xml(self):
        """Without a root nothing is known about devices, and none is reported as missing."""
        xml = harness.capture("azure-ndv5-8gpu-8nic.nccl.xml")
        with tempfile.TemporaryDirectory(dir=harness.scratch()) as folder:
            path = os.path.join(folder, "topology.yaml")
            self.assertEqual(harness.run("init", "--topology", xml, "-c", path).returncode, 0)
            result = harness.run(command=[*harness.emulated(plan_show()), "xml:" + xml, path, "json", "typical"])
        self.assertEqual(result.returncode, 0, result.stdout)
        plan, faults = harness.check_json(result.stdout)
        self.assertEqual(faults, [])
        self.assertNotIn("gpu-driver-missing", [warning["code"] for node in plan["nodes"] for warning in node["warnings"]])


class Refused(unittest.TestCase):
    def hint(self, *changes):
        with open(os.path.join(harness.SOURCE, SHIPPED), encoding="utf-8") as file:
            text = file.read()
        for before, after in changes:
            text = text.replace(before, after, 1)
        path = os.path.join(harness.scratch(), "refused.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        result = harness.run("start", "--dry-run", "--json", "--root", "ac922-4gpu", "-c", path)
        error = json.loads(result.stderr)
        self.assertEqual((result.returncode, error["code"]), (1, "document-invalid"), error)
        return error["hint"]

    def test_the_entries_that_fit_are_named(self):
        """One GPU that is gone must not keep the user from the other entries."""
        dead, other = ("0004:05:00.0", "0004:07:00.0"), ("0035:04:00.0", "0035:07:00.0")
        self.assertRegex(self.hint(dead), r"the entries that fit: aitherion .*start 1$")
        self.assertRegex(self.hint(other), r"the entries that fit: aitherion .*start 0$")
        self.assertNotIn("start", self.hint(dead, other))
        self.assertNotIn("start", self.hint(dead, ("parent: enP51p1s0f0", "parent: eth9")), "a macvlan of NUMA1 does not fit either")


class FakeDocker(socketserver.ThreadingUnixStreamServer):
    """Answers like an Engine with API 1.41 and keeps the bodies of containers/create."""
    daemon_threads = True

    def __init__(self, path, handler=None):
        self.created, self.unknown = [], []
        super().__init__(path, handler or FakeHandler)

    def handle_error(self, request, client_address):
        """A client that has its answer closes the connection; it reports other errors itself."""


class FakeHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "unix"

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass

    def answer(self, code, value=None):
        text = b"" if value is None else json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Api-Version", "1.41")
        self.send_header("Ostype", "linux")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def do_HEAD(self):
        self.answer(200)

    do_GET = do_HEAD

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        match = re.fullmatch(r"/v1\.41/containers/create\?name=(\S+)", self.path)
        if match:
            self.server.created.append((match.group(1), json.loads(body)))
            self.answer(201, {"Id": "0" * 64, "Warnings": []})
        elif re.fullmatch(r"/v1\.41/containers/0{64}/start", self.path):
            self.answer(204)
        else:
            self.server.unknown.append(self.path)
            self.answer(500, {"message": "not expected"})


class AbilitiesHandler(FakeHandler):
    """A Docker with the parts that `answers` of the server names."""

    def do_GET(self):
        self.answer(200, self.server.answers.get(self.path.removeprefix("/v1.41").split("?")[0], {}))


class Abilities(unittest.TestCase):
    """The parts of Docker that a plan may use."""

    PLAIN = {"/version": {"Version": "20.10", "ApiVersion": "1.41"}, "/info": {}, "/networks": []}

    def abilities(self, answers, *prefix):
        with tempfile.TemporaryDirectory(dir=harness.scratch()) as folder:
            path = os.path.join(folder, "docker.sock")
            with FakeDocker(path, AbilitiesHandler) as server:
                server.answers = {**self.PLAIN, **answers}
                threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
                result = harness.run(command=[*prefix, nodes.tool("engine_steps"), "docker", "abilities"],
                                     env=harness.environment(DOCKER_HOST="unix://" + path))
                server.shutdown()
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        return {name for name, value in json.loads(result.stdout).items() if value} - ({"is_limited"} if not prefix else set())

    def test_what_docker_says(self):
        for answers, wanted in (
                ({}, set()),
                ({"/info": {"Runtimes": {"nvidia": {}}}}, {"has_nvidia_runtime"}),
                ({"/info": {"Runtimes": {"runc": {}}}}, set()),
                ({"/info": {"CDISpecDirs": ["/etc/cdi"]}}, {"has_cdi"}),
                ({"/networks": [{"Name": "bridge"}]}, {"has_bridge"}),
                ({"/networks": [{"Name": "none"}]}, set()),
                ({"/info": {"SecurityOptions": ["name=seccomp,profile=default", "name=rootless"]}}, {"is_rootless"}),
                ({"/info": {"LoggingDriver": "json-file"}}, {"limits_logs"}),
                ({"/info": {"LoggingDriver": "local"}}, {"limits_logs"}),
                ({"/info": {"LoggingDriver": "journald"}}, set())):
            with self.subTest(answers):
                self.assertEqual(self.abilities(answers), wanted)

    def test_root_without_a_capability_cannot_raise_limits(self):
        """Root of a new namespace has all capabilities there."""
        root = ["unshare", "--user", "--map-root-user"]
        limited = [*root, "setpriv", "--bounding-set=-sys_resource"]
        if not shutil.which("unshare") or subprocess.run([*limited, "true"], capture_output=True, check=False).returncode:
            self.skipTest("no namespace of users here, or no setpriv (package util-linux)")
        self.assertEqual(self.abilities({}, *root), set())
        self.assertEqual(self.abilities({}, *limited), {"is_limited"})


def docker_client():
    """Returns (path, None), or (None, why not)."""
    path = shutil.which("docker")
    if not path:
        return None, "no docker client (package docker.io)"
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    return (path, None) if version.startswith("Docker version") else (None, f"'{path}' is not Docker's client")


# Parts that the client adds by itself.
CLIENTS_OWN = {"AttachStdin", "AttachStdout", "AttachStderr", "NetworkingConfig", "HostConfig.MemorySwappiness",
               "HostConfig.LogConfig", "HostConfig.ConsoleSize"}


def settled(body):
    """Sorts variables, and restores the short names of capabilities, which the client writes in full."""
    body["Env"] = sorted(body.get("Env") or [])
    body["HostConfig"]["CapAdd"] = [name.removeprefix("CAP_") for name in body["HostConfig"].get("CapAdd") or []]
    return body


def differences(ours, theirs, path=""):
    """Lists differences between the client's body and ours, except empty values that only the client has."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            where = f"{path}.{key}" if path else key
            if key not in ours:
                if theirs[key] and where not in CLIENTS_OWN:
                    yield f"{where}: only the client has {theirs[key]!r}"
            elif key not in theirs:
                yield f"{where}: only ours has {ours[key]!r}"
            else:
                yield from differences(ours[key], theirs[key], where)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, pair in enumerate(zip(ours, theirs)):
            yield from differences(*pair, f"{path}[{index}]")
    elif ours != theirs:
        yield f"{path}: {ours!r} is {theirs!r} for the client"


class RunLines(Case):
    def run_lines(self, plan):
        """Returns the bodies that Docker's client makes from the plan's docker lines, by container name."""
        client, why_not = docker_client()
        if not client:
            self.skipTest(why_not)
        with tempfile.TemporaryDirectory(dir=harness.scratch()) as folder:
            socket = os.path.join(folder, "docker.sock")
            with FakeDocker(socket) as server:
                threading.Thread(target=server.serve_forever, daemon=True).start()
                env = harness.environment(DOCKER_HOST="unix://" + socket, DOCKER_CONFIG=folder)
                for node in plan["nodes"]:
                    for line in node["commands"]:
                        if line.startswith("docker run "):
                            result = harness.run(command=["sh", "-c", line], env=env)
                            self.assertEqual(result.returncode, 0, f"{line}\n{result.stderr}\n{server.unknown}")
                server.shutdown()
                return dict(server.created)

    def check(self, name):
        plan = self.plan(name)
        made = self.run_lines(plan)
        requests = [request for node in plan["nodes"] for request in node["requests"]]
        self.assertEqual({request["path"].split("=")[1] for request in requests}, set(made))
        for request in requests:
            body, theirs = request["body"], made[request["path"].split("=")[1]]
            if body["Healthcheck"]["Test"] != ["NONE"]:
                body["Healthcheck"].pop("Test")  # only the client sets it, for a shell
            self.assertEqual(list(differences(settled(body), settled(theirs))), [])

    def test_the_client_makes_the_same_requests(self):
        for name in CASES:
            if not name.startswith("process"):
                with self.subTest(name):
                    self.check(name)

    def test_the_comparison_notices(self):
        self.assertEqual(list(differences({"a": [1]}, {"a": [2], "b": 0})), ["a[0]: 1 is 2 for the client"])
        self.assertEqual(len(list(differences({"a": 1}, {"b": 1}))), 2)

    def test_the_pause_container_publishes_the_ports(self):
        """The pause container publishes ports, the runtime joins its network and publishes none; no folder of devices is
        bound.
        """
        lines = [line for line in self.plan("macvlan")["nodes"][0]["commands"] if line.startswith("docker")]
        self.assertIn("-p 10.0.0.11:50051:50051/tcp", lines[0])
        self.assertIn("--network container:aitherion-numa0-net", lines[1])
        self.assertNotRegex(lines[1], r"\s-p\s")
        self.assertNotIn("/dev:/dev", "".join(lines))

    def test_bound_folders_are_made_first(self):
        node = self.plan("macvlan")["nodes"][0]
        self.assertEqual(node["commands"][:2], ['mkdir -p /run/aitherion/numa0 "$(dirname /etc/aitherion/key)"',
                                                "[ -s /etc/aitherion/key ] || (umask 077 && head -c 32 /dev/urandom >/etc/aitherion/key)"])

    def test_a_shell_parses_them(self):
        for name in CASES:
            for node in self.plan(name)["nodes"]:
                for line in node["commands"]:
                    self.assertEqual(harness.run(command=["sh", "-n", "-c", line]).returncode, 0, line)

    def test_ip_parses_the_macvlan_lines(self):
        """Runs at least ip's parser: the link does not exist here, which gives another error than a wrong option."""
        if not shutil.which("ip"):
            self.skipTest("no ip (package iproute2)")
        lines = [line for line in self.plan("process-macvlan")["nodes"][0]["commands"] if line.startswith("ip link add")]
        self.assertTrue(lines)
        for line in lines:
            result = harness.run(command=["sh", "-c", re.sub(r" netns \S+", " netns 1", line)])
            self.assertIn("Cannot find device", result.stderr + result.stdout)


if __name__ == "__main__":
    if "--update" in sys.argv:
        unittest.TestCase.longMessage = False
    harness.main()
