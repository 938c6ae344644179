#!/usr/bin/env python3
"""A session in a runtime's container is locked in: the attacks of tests/runtime/attacker.c, and what the process may do."""
import copy
import http.client
import json
import os
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "runtime"))

import engine  # noqa: E402
import harness  # noqa: E402
import test_start  # noqa: E402

import attack  # noqa: E402
import cuda  # noqa: E402
import runtime  # noqa: E402

GOOD = "CUDA_SUCCESS"
FIRST_USER, LAST_USER = 0x70000000, 0x7ffdffff
NAME = "aitherion-numa0"


class Connection(http.client.HTTPConnection):
    """Docker's API on a unix socket."""

    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class LockedIn(test_start.StartCase):
    def write_document(self, **options):
        super().write_document(count=1, **options)

    def docker(self, *words):
        return subprocess.run(["docker", "-H", self.host, *words], stdout=subprocess.PIPE, text=True, check=True).stdout

    def attacked(self, facts, listener):
        """Makes the container again, with the attacker in it and otherwise the same."""
        self.docker("rm", "-f", NAME)
        body = copy.deepcopy(dict(facts["Config"], HostConfig=facts["HostConfig"]))
        words = attack.variables(listener, self.key, ["/tmp", "/etc", "/run", os.path.join(self.folder, "run", "numa0")],
                                 library="/attacker.so")
        body["Env"] = [*body["Env"], *(f"{name}={value}" for name, value in words.items())]
        library = os.path.join(harness.build(), attack.LIBRARY)
        body["HostConfig"]["Mounts"].append({"Type": "bind", "Source": library, "Target": "/attacker.so", "ReadOnly": True})
        connection = Connection(self.host.removeprefix("unix://"))
        connection.request("POST", f"/containers/create?name={NAME}", json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        self.assertEqual(answer.status, 201, answer.read())
        connection.close()
        self.docker("start", NAME)

    def program(self, **variables):
        """The key's file belongs to this test's user, and has another name than runtime.key_file()."""
        place = "unix:" + os.path.join(self.folder, "run", "numa0", "runtime.sock")
        return cuda.Program(place, key=None, words=["--key", self.key], env=dict(variables, AITHERION_KEY_FILE=self.key))

    @staticmethod
    def inside(pid):
        """The id of a process in its own namespace."""
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return next(line.split()[-1] for line in file if line.startswith("NSpid:"))

    def sessions(self):
        pid = int(json.loads(self.docker("inspect", NAME))[0]["State"]["Pid"])
        return harness.children_of(pid)

    def test_attacks(self):
        self.data("start", "--sim")
        facts = json.loads(self.docker("inspect", NAME))[0]
        for how in "attack", "spoil":
            with self.subTest(how):
                listener = attack.Listener()
                self.attacked(facts, listener)
                self.assertTrue(harness.wait_until(self.is_healthy))
                with self.program() as neighbour:
                    self.assertEqual(neighbour.first, GOOD)
                    listener.neighbour = self.inside(self.sessions()[0])
                    with self.program(CUDA_AUTO_BOOST=how):
                        results = listener.take()
                    # A spoiler claims all memory of the share, until its session has ended.
                    self.assertTrue(harness.wait_until(lambda: neighbour.do("fill 1000") == f"{GOOD} right"))
                attack.check(self, results)
                with self.program() as last:
                    self.assertEqual(last.do("fill 1000"), f"{GOOD} right")

    def health_of_runtime(self, *words):
        path = os.path.join(self.folder, "run", "numa0", "runtime.sock")
        return runtime.run("health", "--socket", path, "--key", self.key, *words)

    def is_healthy(self):
        return self.health_of_runtime().returncode == 0

    def test_rights(self):
        self.data("start", "--sim")
        with self.program() as program:
            self.assertEqual(program.first, GOOD)
            with open(f"/proc/{self.sessions()[0]}/status", encoding="ascii") as file:
                status = {name: value.split() for name, value in (line.split(":", 1) for line in file)}
            self.assertTrue(FIRST_USER <= int(status["Uid"][0]) <= LAST_USER)
            self.assertEqual([int(status[name][0], 16) for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")], [0] * 4)
        told = json.loads(self.health_of_runtime("--json").stdout)["server"]["problems"]
        self.assertEqual([one for one in told if one["code"].startswith("sandbox")], [])


def setUpModule():
    engine.shared()


if __name__ == "__main__":
    harness.main()
