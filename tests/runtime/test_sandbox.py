#!/usr/bin/env python3
"""A session is locked in: code of an attacker (attacker.c) runs in a session's process, and gets nowhere."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import unittest

import attack
import runtime
import test_keys
from cuda import MIB, Program
from runtime import Server, harness
from test_cuda import GOOD, TRANSPORTS, Base, place

NOBODY = 65534
IS_ROOT = os.geteuid() == 0
HAS_SETPRIV = shutil.which("setpriv") is not None
FIRST_USER, LAST_USER = 0x70000000, 0x7ffdffff


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return {name: value.split() for name, value in (line.rstrip("\n").split(":", 1) for line in file)}


def is_running(pid):
    """Whether a process has not ended. One that has ended may wait for its new parent, as a zombie."""
    try:
        return status_of(pid)["State"][0] != "Z"
    except OSError:
        return False


class Attacks(Base):
    @contextlib.contextmanager
    def server(self, **options):
        """A server with the attacker in each of its processes."""
        open_folder = os.path.join(harness.scratch(), "open-to-all")
        os.makedirs(open_folder, exist_ok=True)
        os.chmod(open_folder, 0o777)
        self.listener = attack.Listener()
        variables = dict(attack.variables(self.listener, runtime.key_file(), [open_folder, harness.scratch(), "/etc", "/root"]),
                         AITHERION_SIM_MEMORY="64M", AITHERION_SIM_DEVICES="1")
        if runtime.IS_SANITIZED:
            variables["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        with Server("--sim", env=harness.environment(**variables), **options) as server:
            yield server
        self.assertEqual([name for name in os.listdir(open_folder)], [])

    def attack(self, server, transport, how):
        """A neighbour works before, during and after the attack, and so does the attacker's own session until it spoils its memory."""
        with Program(place(server, transport)) as neighbour:
            self.assertEqual(neighbour.do(f"take plain {MIB}"), GOOD)
            self.listener.neighbour = server.children()[0]
            with Program(place(server, transport), env={"CUDA_AUTO_BOOST": how}, wait=False) as program:
                results = self.listener.take()
                if how == "attack":
                    self.assertEqual(program.read(), GOOD)
                    self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
                self.assertEqual(neighbour.do("fill 1000"), f"{GOOD} right")
                self.assertEqual(neighbour.do(f"take plain {MIB}"), GOOD)
                with Program(place(server, transport)) as another:
                    self.assertEqual(another.do("fill 1000"), f"{GOOD} right")
                self.check_well(server)
        attack.check(self, results)
        self.check_alone(server)
        self.check_well(server)
        with Program(place(server, transport)) as last:
            self.assertEqual(last.do(f"take plain {32 * MIB}"), GOOD)
        self.assertNotIn("session-crashed", server.log() if how == "attack" else "")

    def test_root(self):
        if not IS_ROOT:
            self.skipTest("needs root")
        for transport in TRANSPORTS:
            for how in "attack", "spoil":
                with self.subTest(transport, how=how), self.server() as server:
                    self.attack(server, transport, how)

    def test_ordinary_user(self):
        """The tree may be closed to that user."""
        if not IS_ROOT:
            self.skipTest("needs root")
        if subprocess.run([runtime.binary(), "--version"], capture_output=True, check=False, cwd="/", **runtime.as_user(NOBODY)).returncode:
            self.skipTest("an ordinary user may not run the programs of this tree")
        os.chmod(harness.scratch(), 0o777)
        for how in "attack", "spoil":
            with self.subTest(how=how), open_key() as key, self.server(user=NOBODY) as server:
                del key
                self.attack(server, "tcp", how)


class Staying(test_keys.Base):
    def test_a_session_that_ignores_signals_is_ended(self):
        """At an order, when its key is removed, and while it is stopped."""
        variables = dict(LD_PRELOAD=os.path.join(harness.build(), attack.LIBRARY), AITHERION_SIM_MEMORY="64M")
        if runtime.IS_SANITIZED:
            variables["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        with Server("--sim", keys=self.folder, env=harness.environment(**variables)) as server:
            for end in (lambda: self.cli(server, "alice", "session", "end", str(self.ids(server, "alice")["alice"])),
                        lambda: os.unlink(self.path("alice"))):
                with self.program(server, "alice", CUDA_AUTO_BOOST="stay") as program:
                    self.assertEqual(program.first, GOOD)
                    pid = server.children()[0]
                    self.assertTrue(int(status_of(pid)["SigIgn"][0], 16) & 1 << signal.SIGTERM - 1)
                    os.kill(pid, signal.SIGSTOP)
                    end()
                    self.assertTrue(harness.wait_until(lambda: not is_running(pid)))
            self.assertNotIn("session-crashed", server.log())


@contextlib.contextmanager
def open_key():
    """The server's key belongs to the user of the server meanwhile."""
    path = runtime.key_file()
    os.chown(path, NOBODY, NOBODY)
    try:
        yield path
    finally:
        os.chown(path, 0, 0)


class Locked(Base):
    @unittest.skipUnless(IS_ROOT, "needs root")
    def test_a_session_has_no_rights(self):
        with Server("--sim", env=harness.environment(AITHERION_SIM_MEMORY="64M")) as server, Program(server.socket) as program:
            self.assertEqual(program.first, GOOD)
            status = status_of(server.children()[0])
            users = {int(text) for name in ("Uid", "Gid") for text in status[name]}
            self.assertEqual(len(users), 1)
            self.assertTrue(FIRST_USER <= users.pop() <= LAST_USER)
            self.assertEqual((status["NoNewPrivs"], status["Seccomp"], status["Groups"]), (["1"], ["2"], []))
            for name in "CapEff", "CapPrm", "CapInh", "CapAmb":
                self.assertEqual(int(status[name][0], 16), 0, name)
            with Program(server.address) as other:  # of the same identity
                self.assertEqual(other.first, GOOD)
                self.assertEqual({tuple(status_of(pid)["Uid"]) for pid in server.children()}, {tuple(status["Uid"])})

    @unittest.skipUnless(IS_ROOT, "needs root")
    def test_it_has_its_own_descriptors_only(self):
        with Server("--sim", "--metrics", "127.0.0.1:0", env=harness.environment(AITHERION_SIM_MEMORY="64M")) as server, \
                contextlib.ExitStack() as stack:
            for _ in range(4):
                stack.enter_context(Program(server.address))
            for pid in server.children():
                links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
                self.assertLessEqual(len([link for link in links if link.startswith("socket:")]), 6, links)
                self.assertFalse([link for link in links if "board" in link or "ns" in link.split("/")], links)

    @unittest.skipUnless(IS_ROOT, "needs root")
    def test_the_problems_of_the_host(self):
        with Server("--sim") as server:
            told = json.loads(server.health("--json").stdout)["server"]["problems"]
            self.assertEqual([one for one in told if one["code"].startswith("sandbox")], [])
        if not HAS_SETPRIV:
            self.skipTest("needs setpriv (package util-linux)")
        without = ["setpriv", "--inh-caps=-all", "--bounding-set=-setuid,-sys_admin"]
        with Server("--sim", prefix=without) as server:
            told = json.loads(server.health("--json").stdout)["server"]["problems"]
            self.assertIn("sandbox-users", [one["code"] for one in told])
            with Program(server.socket) as program:
                self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
                status = status_of(server.children()[0])
                self.assertEqual(int(status["CapEff"][0], 16), 0)

    @unittest.skipUnless(IS_ROOT, "needs root")
    def test_threads_of_an_identity(self):
        """They leave some of those that a runtime may have to the listening process and to others."""
        with Server("--sim", env=harness.environment(AITHERION_SIM_MEMORY="64M")) as server, Program(server.address) as program:
            self.assertEqual(program.first, GOOD)
            with open(f"/proc/{server.children()[0]}/limits", encoding="ascii") as file:
                most = next(line.split()[2:4] for line in file if line.startswith("Max processes"))
            self.assertTrue(all(text != "unlimited" and int(text) <= 12288 for text in most), most)

    @unittest.skipUnless(IS_ROOT, "needs root")
    def test_sessions_end_with_the_listener(self):
        with Server("--sim") as server, Program(server.socket) as program:
            self.assertEqual(program.first, GOOD)
            children = server.children()
            server.process.kill()
            server.process.wait(harness.PATIENCE_S)
            self.assertTrue(harness.wait_until(lambda: not [pid for pid in children if is_running(pid)]))


@unittest.skipUnless(IS_ROOT, "needs root")
class Identities(test_keys.Base):
    def test_each_identity_has_a_user(self):
        users = []
        with Server("--sim", keys=self.folder) as server, contextlib.ExitStack() as stack:
            for name in "alice", "bob", "alice":
                before = set(server.children())
                stack.enter_context(self.program(server, name))
                new = set(server.children()) - before
                self.assertEqual(len(new), 1)
                users.append(status_of(new.pop())["Uid"][0])
        self.assertEqual(users[0], users[2])
        self.assertNotEqual(users[0], users[1])


if __name__ == "__main__":
    harness.main()
