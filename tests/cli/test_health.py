#!/usr/bin/env python3
"""aitherion health: exit codes, findings in captures, JSON against its schema, --watch."""
import fcntl
import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

import cli
import harness

DOCUMENT = os.path.join(harness.SOURCE, "etc", "ac922_topology.yaml")
OPERSTATE = "sys/class/net/enP3p1s0f0/operstate"


class Base(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=harness.scratch())

    def root(self, name="ac922-4gpu", **files):
        """Returns a copy of a capture with some files changed."""
        root = os.path.join(self.folder, "root")
        shutil.copytree(harness.capture(name), root, symlinks=True)
        for path, text in files.items():
            self.write(os.path.join(root, path.replace("__", "/")), text)
        return root

    @staticmethod
    def write(path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def document(self, change=lambda text: text):
        with open(DOCUMENT, encoding="utf-8") as file:
            return self.write(os.path.join(self.folder, "topology.yaml"), change(file.read()))

    def health(self, *args, root=None, document=None, **options):
        words = ["health", "-c", document or self.document(), "--root", root or harness.capture("ac922-4gpu"), *args]
        return harness.run(*words, **options)

    def checks(self, *args, **options):
        """Returns {status: [check]} of a run with --json."""
        result = self.health("--json", *args, **options)
        value, faults = harness.check_json(result.stdout)
        self.assertEqual((faults, result.stderr), ([], ""))
        found = {"ok": [], "warning": [], "unknown": [], "fault": []}
        for check in value["checks"]:
            found[check["status"]].append(check)
        self.assertEqual({status: len(checks) for status, checks in found.items()}, value["counts"])
        order = ["fault", "unknown", "warning", "ok"]
        places = [order.index(check["status"]) for check in value["checks"]]
        self.assertEqual(places, sorted(places), "worst first")
        wanted = 3 if found["fault"] else 4 if found["unknown"] else 0
        self.assertEqual(result.returncode, wanted)
        return found

    def codes(self, found, status):
        return [check["code"] for check in found[status]]


def without_macvlans(text):
    return text.split("  macvlans:")[0]


NETNS_MODE = {"sys__module__ib_core__parameters__netns_mode": "Y\n"}


class Findings(Base):
    def test_all_is_well(self):
        root = self.root(**NETNS_MODE)
        document = self.document(without_macvlans)
        found = self.checks(root=root, document=document)
        self.assertEqual((found["fault"], found["unknown"], found["warning"]), ([], [], []))
        self.assertGreater(len(found["ok"]), 25)
        result = self.health(root=root, document=document)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("checks are fine", result.stdout)
        self.assertNotIn("warning", result.stdout)

    def test_macvlans_of_a_capture_are_unknown(self):
        found = self.checks(root=self.root(**NETNS_MODE))
        self.assertEqual(self.codes(found, "unknown"), ["macvlan-not-made"])
        self.assertEqual(found["fault"], [])

    def test_down(self):
        root = self.root(sys__class__net__enP3p1s0f0__operstate="down\n")
        found = self.checks(root=root)
        self.assertEqual([(check["code"], check["object"]) for check in found["fault"]],
                         [("interface-down", "enP3p1s0f0")] * 2 + [("gid-unusable", "mlx5_0")],
                         "a data interface, a parent, and the link of an RDMA device")
        self.assertIn("a data interface of NUMA0", found["fault"][0]["message"])
        self.assertIn("the parent of macvlan 'macvlan0'", found["fault"][1]["message"])

    def test_admin_down(self):
        found = self.checks(root=self.root(sys__class__net__enP5p1s0f0__operstate="down\n",
                                           sys__class__net__enP5p1s0f0__flags="0x1002\n"))
        self.assertEqual(found["fault"][0]["hint"], "ip link set enP5p1s0f0 up")

    def test_rdma(self):
        root = self.root(sys__class__infiniband__mlx5_0__ports__1__state="1: DOWN\n", **NETNS_MODE)
        found = self.checks(root=root, document=self.document(without_macvlans))
        self.assertEqual([(check["code"], check["object"]) for check in found["fault"]], [("rdma-port-down", "mlx5_0")])

    def test_exclusive_mode(self):
        root = self.root(sys__module__ib_core__parameters__netns_mode="N\n")
        found = self.checks(root=root, document=self.document(without_macvlans))
        self.assertEqual(self.codes(found, "fault"), ["rdma-netns-exclusive"])
        self.assertIn("rdma system set netns shared", found["fault"][0]["hint"])

    def test_gpu_memory_offline(self):
        found = self.checks(root=harness.capture("ac922-4gpu-memory-offline"))
        self.assertEqual(self.codes(found, "fault"), ["gpu-memory-offline"] * 4)
        self.assertEqual(found["fault"][0]["hint"], "systemctl enable nvidia-persistenced; systemctl restart nvidia-persistenced")

    def test_infiniband(self):
        def use_ib(text):
            return text.replace("parent: enP3p1s0f0", "parent: ib0")
        found = self.checks(root=harness.capture("ac922-4gpu-infiniband"), document=self.document(use_ib))
        faults = {check["code"]: check for check in found["fault"]}
        self.assertIn("mlxconfig", faults["parent-infiniband"]["hint"])
        self.assertNotIn("ib0", [check["object"] for check in found["warning"] if check["code"] == "infiniband-mode"],
                         "told once")

    def test_another_machine(self):
        found = self.checks(root=harness.capture("laptop"))
        codes = set(self.codes(found, "fault"))
        self.assertLessEqual({"node-missing", "gpu-missing", "interface-missing", "card-missing"}, codes)
        for check in found["fault"]:
            self.assertTrue(check["hint"], check)

    def test_mtu(self):
        found = self.checks(document=self.document(lambda text: text.replace("mtu: 9000", "mtu: 9600")))
        self.assertEqual(self.codes(found, "fault"), ["mtu-above-parent"] * 2)
        self.assertEqual(found["fault"][0]["hint"], "ip link set enP3p1s0f0 mtu 9600")

    def test_same_subnet_is_a_warning(self):
        found = self.checks(root=harness.capture("ac922-4gpu-same-subnet"))
        self.assertEqual(self.codes(found, "warning"), ["same-subnet"])

    def test_all_captures(self):
        document = self.document()
        for name in harness.capture_names():
            with self.subTest(capture=name):
                option = "--topology" if name.endswith(".xml") else "--root"
                result = harness.run("health", "--json", "-c", document, option, harness.capture(name))
                value, faults = harness.check_json(result.stdout)
                self.assertEqual((faults, result.stderr), ([], ""))
                self.assertIn(result.returncode, (3, 4))
                self.assertTrue(all(check["hint"] for check in value["checks"] if check["status"] == "fault"))


class Documents(Base):
    def test_missing(self):
        found = self.checks(document=os.path.join(self.folder, "none.yaml"))
        self.assertEqual(self.codes(found, "fault"), ["document-missing"])
        self.assertRegex(found["fault"][0]["hint"], r"^aitherion -c \S+ --root \S+ init$")

    def test_faults(self):
        path = self.write(os.path.join(self.folder, "bad.yaml"), "schema: aitherion.topology/1\nnumas: []\nnuma: 7\n")
        found = self.checks(document=path)
        self.assertEqual(self.codes(found, "fault"), ["document-invalid"] * 2)
        self.assertIn("bad.yaml:2:1", found["fault"][0]["object"])

    def test_unreadable(self):
        found = self.checks(document=self.folder)
        self.assertEqual(self.codes(found, "unknown")[0], "document-missing")

    def test_hints_name_the_document(self):
        document = os.path.join(self.folder, "topology.yaml")
        found = self.checks(root=harness.capture("laptop"))
        for check in found["fault"]:
            if "aitherion configure" in check["hint"] or "aitherion roce" in check["hint"]:
                self.fail(check["hint"])
        given = f"-c {document} --root {harness.capture('laptop')}"
        self.assertTrue(any(f"aitherion {given} configure 0 --data-iface IF" == check["hint"]
                            for check in found["fault"]))

    def test_nothing_is_written(self):
        document = self.document()
        before = sorted(os.listdir(self.folder))
        self.health(document=document)
        self.assertEqual(sorted(os.listdir(self.folder)), before)


class Text(Base):
    def test_verbose(self):
        plain, verbose = self.health(), self.health("-v")
        self.assertNotIn("fine  ", plain.stdout)
        for part in ("NUMA0  node 0", "memory node 255 online", "mlx5_0 port 1  active", "macvlan0  on enP3p1s0f0",
                     "fine     the document's interfaces are up"):
            self.assertIn(part, verbose.stdout)

    def test_narrow(self):
        for columns in (80, 40):
            result = self.health("-v", env=harness.environment(COLUMNS=str(columns)))
            long = [line for line in result.stdout.split("\n") if len(line) > columns and " " in line[columns - 12:columns]]
            self.assertEqual(long, [])

    def test_color(self):
        self.assertIn("\033[33munknown\033[0m", self.health("--color=always").stdout)
        self.assertNotIn("\033", self.health("--color=never").stdout)

    def test_ascii(self):
        self.assertTrue(self.health("-v", env=harness.environment(LANG="C")).stdout.isascii())

    def test_numa_spelling(self):
        document = self.document()
        both = [harness.run(*words, "-c", document, "--root", harness.capture("ac922-4gpu"))
                for words in (["health"], ["numa", "health"])]
        self.assertEqual((both[0].returncode, both[0].stdout), (both[1].returncode, both[1].stdout))


class Refused(Base):
    def test_watch_values(self):
        for value in ("0", "-1", "x", "1.5", "86401", ""):
            with self.subTest(value=value):
                result = self.health("--watch=" + value)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn("from 1 to 86400", result.stderr)

    def test_no_such_root(self):
        result = harness.run("health", "--root", "/nonexistent", "--json")
        self.assertEqual(result.returncode, 1)
        value, faults = harness.check_json(result.stderr)
        self.assertEqual((value["code"], faults), ("not-found", []))


class Watch(Base):
    def start(self, *args, root, **options):
        words = [harness.binary(), "health", "--watch", "1", "-c", self.document(), "--root", root, *args]
        options.setdefault("stdout", subprocess.PIPE)
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, env=options.pop("env", harness.environment()),
                                   cwd=harness.scratch(), **options)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def read(self, fd, text):
        """Reads output until a text comes."""
        got, end = b"", time.monotonic() + harness.PATIENCE_S
        while time.monotonic() < end:
            if text in got:
                return got
            if select.select([fd], [], [], 0.2)[0]:
                got += os.read(fd, 65536)
        self.fail(f"'{text}' did not come: {got}")

    def test_json_lines(self):
        root = self.root(**NETNS_MODE)
        process = self.start("--json", root=root)
        first = self.read(process.stdout.fileno(), b"\n")
        self.write(os.path.join(root, OPERSTATE), "down\n")
        second = self.read(process.stdout.fileno(), b"\n")
        values = []
        for line in (first, second):
            self.assertEqual(line.count(b"\n"), 1)
            value, faults = harness.check_json(line.decode())
            self.assertEqual(faults, [])
            values.append(value)
        self.assertEqual([value["counts"]["fault"] for value in values], [0, 3])
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=harness.PATIENCE_S)[0]
        self.assertEqual((process.returncode, rest), (3, b""), "the last state; nothing is printed twice")

    def test_text_only_when_changed(self):
        root = self.root(**NETNS_MODE)
        process = self.start(root=root)
        self.read(process.stdout.fileno(), b"checks are fine\n")
        time.sleep(2.5)
        more = select.select([process.stdout], [], [], 0)[0]
        self.assertFalse(more, more and f"nothing changed, yet: {os.read(process.stdout.fileno(), 65536)}, {process.poll()}")
        self.write(os.path.join(root, OPERSTATE), "down\n")
        self.assertIn(b"has no carrier", self.read(process.stdout.fileno(), b"checks are fine\n"))
        self.write(os.path.join(root, OPERSTATE), "up\n")
        self.assertNotIn(b"fault", self.read(process.stdout.fileno(), b"checks are fine\n"))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(process.returncode, 4)

    def test_yaml_documents(self):
        root = self.root()
        process = self.start("--yaml", root=root)
        self.assertTrue(self.read(process.stdout.fileno(), b"fault: ").startswith(b"---\n"))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(process.returncode, 4)

    def test_terminal(self):
        leader, follower = pty.openpty()
        self.addCleanup(os.close, leader)
        root = self.root()
        process = self.start(root=root, stdout=follower, env=harness.environment(TERM="xterm-256color", COLUMNS=None))
        os.close(follower)
        shown = self.read(leader, b"Ctrl-C ends")
        self.assertTrue(shown.startswith(b"\033[H"), shown)
        self.assertNotIn(b"\033[2J", shown, "a screen that is erased first flickers")
        self.assertTrue(all(line.endswith(b"\033[K") for line in shown.split(b"\r\n")[:-1]), shown)
        self.write(os.path.join(root, OPERSTATE), "down\n")
        self.read(leader, b"has no carrier")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(harness.PATIENCE_S), 3)

    def test_a_low_terminal(self):
        """A terminal of ten rows shows eight lines, the most important ones first, then dots and the last line."""
        leader, follower = pty.openpty()
        self.addCleanup(os.close, leader)
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 200, 0, 0))
        root = self.root()
        self.write(os.path.join(root, OPERSTATE), "down\n")
        process = self.start(root=root, stdout=follower, env=harness.environment(TERM="xterm-256color", COLUMNS=None, LINES=None))
        os.close(follower)
        shown = self.read(leader, b"Ctrl-C ends").split(b"\033[H")[-1].replace(b"\033[K", b"").decode().splitlines()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(harness.PATIENCE_S), 3)
        whole = harness.run("health", "-c", self.document(), "--root", root).stdout.splitlines()
        self.assertGreater(len(whole), 10)
        self.assertEqual((len(shown), shown[8]), (10, "..."), shown)
        self.assertIn("has no carrier", "".join(shown))

    def test_ignored_signals_stay_ignored(self):
        root = self.root()
        process = self.start("--json", root=root, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.read(process.stdout.fileno(), b"\n")
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        self.assertIsNone(process.poll(), "as nohup wants it")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=harness.PATIENCE_S)

    def test_a_machine_that_goes_away(self):
        root = self.root()
        process = self.start("--json", root=root, stderr=subprocess.PIPE)
        self.read(process.stdout.fileno(), b"\n")
        shutil.rmtree(root)
        error = process.communicate(timeout=harness.PATIENCE_S)[1]
        self.assertEqual(process.returncode, 1)
        self.assertEqual(json.loads(error)["code"], "not-found")


class Live(unittest.TestCase):
    def test_here(self):
        """The machine that runs the tests: whatever it is, the output is complete."""
        result = harness.run("health", "--json", "-c", os.path.join(harness.scratch(), "none.yaml"))
        value, faults = harness.check_json(result.stdout)
        self.assertEqual((faults, result.returncode, value["source"]), ([], 3, "live"))
        self.assertEqual([check["code"] for check in value["checks"] if check["status"] == "fault"][0],
                         "document-missing")

    def test_links_of_a_namespace(self):
        """Live links in a network namespace of the test: down, then without an address, then correct."""
        document = os.path.join(tempfile.mkdtemp(dir=harness.scratch()), "t.yaml")
        Base.write(document, "schema: aitherion.topology/1\nnuma:\n  - { id: 0, node: 0, control_iface: va, data_iface: vb, "
                             "control_port: 1, data_port: 2 }\n")
        script = "\n".join([
            "set -e", "ip link add va type veth peer name vb", f"h() {{ {harness.binary()} health --json -c {document} "
            "| python3 -c 'import json, sys; print(json.dumps([[c[\"code\"], c[\"object\"]] for c in json.load(sys.stdin)[\"checks\"] "
            "if c[\"status\"] == \"fault\"]))'; }",
            "h", "ip link set va up", "ip link set vb up",
            "until [ $(ip -o link | grep -c 'state UP') = 2 ]; do sleep 0.1; done", "h", "ip address add 10.9.8.1/24 dev va",
            "ip address add 10.9.7.1/24 dev vb", "h"])
        if os.geteuid() or not shutil.which("ip") or not shutil.which("unshare"):
            self.skipTest("needs root, ip and unshare (packages iproute2, util-linux)")
        result = subprocess.run(["unshare", "-n", "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env=harness.environment(), check=False)
        if result.returncode:
            self.skipTest(f"no network namespace or veth on this machine: {result.stderr.strip()}")
        down, without, mended = (json.loads(line) for line in result.stdout.splitlines())
        unaddressed = [["interface-without-address", name] for name in ("va", "vb")]
        self.assertEqual(down, [["interface-down", name] for name in ("va", "vb")] + unaddressed)
        self.assertEqual((without, mended), (unaddressed, []))


if __name__ == "__main__":
    del cli
    harness.main()
