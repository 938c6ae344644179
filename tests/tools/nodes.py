"""Helpers for the tests of nodes: a document for this machine, and tests/tools/engine_steps, which starts and stops nodes."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

import harness
import ports

NO_BINDING = "qemu's user emulation has no set_mempolicy(2), which binds processes to memory nodes"
_ports = []  # ports that this run has taken
DOCUMENT = """schema: aitherion.topology/1
node: {{ name: test }}
engine: {{ network: host, image: "{image}", sim: true }}
numa:
"""
ENTRY = ("  - {{ id: {id}, node: {node}, memory_nodes: [{node}], memory_percent: 10.0, vram_fraction: 0.5, "
         "control_port: {port}, data_port: {data} }}\n")


def tool(name):
    path = os.path.join(harness.build(), "tests", "tools", name)
    if not os.access(path, os.X_OK):
        sys.exit(f"no {name} to test with: make check TESTS=")
    return path


def runtime():
    path = os.path.join(harness.build(), "aitherion-runtime")
    if not os.access(path, os.X_OK):
        sys.exit("no aitherion-runtime to test with: make")
    return path


def first_node():
    with open("/sys/devices/system/node/online", encoding="ascii") as file:
        return int(file.read().strip().replace("-", ",").split(",")[0])


def node_cpus():
    with open(f"/sys/devices/system/node/node{first_node()}/cpulist", encoding="ascii") as file:
        return file.read().strip()


def links():
    """Returns the links of this machine with their addresses, as `ip -j address` prints them."""
    if not shutil.which("ip"):
        return []
    return json.loads(subprocess.run(["ip", "-j", "address"], stdout=subprocess.PIPE, check=True).stdout)


def free_ports(count):
    """Returns ports of this test program, the same ones each time."""
    while len(_ports) < count:
        _ports.append(ports.take(1))
    return _ports[:count]


def write_document(path, count=2, image="aitherion-runtime:latest"):
    """Writes a document with so many entries, all on this machine's first node. Returns their control ports."""
    numbers = free_ports(2 * count)
    ports = numbers[:count]
    with open(path, "w", encoding="utf-8") as file:
        file.write(DOCUMENT.format(image=image))
        for i, (port, data) in enumerate(zip(ports, numbers[count:])):
            file.write(ENTRY.format(id=i, node=first_node(), port=port, data=data))
    return ports


def change_document(path, node):
    """Changes a setting of an entry that its runtime takes only at its start."""
    with open(path, encoding="utf-8") as file:
        lines = file.readlines()
    with open(path, "w", encoding="utf-8") as file:
        for line in lines:
            if f"id: {node}," in line:
                line = re.sub(r"control_port: \d+", f"control_port: {free_ports(5)[4]}", line)
            file.write(line)


def is_alive(pid):
    """True if a process has ended. A zombie counts as dead: perhaps nothing here reaps it."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def stopped(pid):
    """Waits until a process has stopped itself (SIGSTOP); returns False if it ended instead."""
    def is_so():
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                return file.read().rpartition(")")[2].split()[0] in "TZX"
        except OSError:
            return True
    harness.wait_until(is_so)
    return is_alive(pid)


def listener(port):
    """A server that occupies a port."""
    one = socket.create_server(("127.0.0.1", port))
    one.listen()
    return one


class Nodes:
    """engine_steps with an engine, in its own run folder."""

    def __init__(self, engine, folder, **environment):
        self.engine, self.folder = engine, folder
        self.run_folder = os.path.join(folder, "run")
        self.document = os.path.join(folder, "doc.yaml")
        self.key = os.path.join(folder, "key")
        with open(self.key, "w", encoding="ascii") as file:
            file.write("a key for tests, of no other use\n")
        self.environment = {"AITHERION_RUN_FOLDER": self.run_folder, "KEY": self.key, "RUNTIME": runtime(),
                            "TIMEOUT_MS": str(1000 * harness.PATIENCE_S), **environment}

    def begin(self, *words, env=None, **options):
        return subprocess.Popen([tool("engine_steps"), self.engine, *words], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=harness.environment(**{**self.environment, **(env or {})}), **options)

    def finish(self, process):
        """Runs engine_steps; returns (exit code, [the object of each output line])."""
        try:
            output, errors = process.communicate(timeout=3 * harness.PATIENCE_S)  # longer than its own limits
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        if errors or process.returncode not in (0, 1, -signal.SIGKILL):
            raise AssertionError(f"engine_steps: exit code {process.returncode}: {errors}{output}")
        return process.returncode, [json.loads(line) for line in output.splitlines()]

    def steps(self, *words, env=None, **options):
        return self.finish(self.begin(*words, env=env, **options))

    def start(self, *words, env=None):
        """Returns {id: result}; a failure of the whole run has the id None."""
        _, lines = self.steps("start", self.document, *words, env=env)
        return {line.get("id"): line for line in lines if "outcome" in line or "error" in line}

    def outcomes(self, *words):
        return {node: result["outcome"] for node, result in self.start(*words).items()}

    def survey(self, **options):
        """Returns {id: status}."""
        code, lines = self.steps("survey", **options)
        if code:
            raise AssertionError(lines)
        return {line["id"]: line for line in lines}

    def states(self):
        return {node: status["state"] for node, status in self.survey().items()}

    def clean(self, *words):
        code, lines = self.steps("clean", *words)
        if code:
            raise AssertionError(lines)
        return [(line["kind"], line["object"]) for line in lines]
