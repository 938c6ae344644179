#!/usr/bin/env python3
"""Broken and malicious captures: a clear error or useful output, quickly, and never a crash."""
import contextlib
import os
import re
import unittest

import cli  # noqa: F401  (finds tests/tools)
import harness
import mkroot

NODE = "sys/devices/system/node/"
PLACE = re.compile(r"(?m)[^\s:']+\.xml:\d+:\d+\b")


def scratch_file(name, data):
    path = os.path.join(harness.scratch(), name)
    with open(path, "wb") as file:
        file.write(data)
    return path


class Case(unittest.TestCase):
    def discover(self, *args):
        result = harness.run("discover", *args)
        self.assertIsNone(harness.crashed(result), f"{args}: {result.stderr}")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        self.assertFalse(re.search(r"[\x00-\x08\x0b-\x1f\x7f]", result.stdout + result.stderr), args)
        return result


class Xml(Case):
    def refused(self, name, data):
        path = scratch_file(name, data)
        result = self.discover("--topology", path)
        self.assertEqual(result.returncode, 1, f"{name}: {result.stdout[:200]}")
        self.assertIn(path, result.stderr)
        as_json = harness.run("discover", "--topology", path, "--json")
        value, faults = harness.check_json(as_json.stderr)
        self.assertEqual((faults, value["code"]), ([], "topology-invalid"))
        return result.stderr

    def test_cut_off_anywhere(self):
        for name in harness.capture_names():
            if not name.endswith(".xml"):
                continue
            with open(harness.capture(name), "rb") as file:
                data = file.read().rstrip()
            for part in (1, 10, 25, 50, 75, 90, 99):
                text = self.refused(f"cut-{part}-{name}", data[:len(data) * part // 100])
                self.assertRegex(text, PLACE, f"{name} {part}")
            self.assertRegex(self.refused(f"cut-end-{name}", data[:-1]), PLACE)

    def test_each_hostile_file(self):
        folder = os.path.join(harness.DATA, "hostile")
        names = [name for name in os.listdir(folder) if name.endswith(".xml")]
        self.assertGreater(len(names), 10)
        for name in names:
            result = self.discover("--topology", os.path.join(folder, name))
            self.assertEqual(result.returncode, 1, name)
            self.assertIn(name, result.stderr)

    def test_no_xml(self):
        for name, data in (("empty.xml", b""), ("text.xml", b"hello"), ("zeros.xml", bytes(4096)),
                           ("binary.xml", bytes(range(256)) * 16), ("html.xml", b"<html><body/></html>"),
                           ("half.xml", b"<topology"), ("two.xml", b"<topology/><topology/>")):
            self.refused(name, data)

    def test_entities(self):
        bomb = b'<?xml version="1.0"?><!DOCTYPE t [<!ENTITY a "aaaaaaaaaa">' + b"".join(
            b'<!ENTITY %c "&%c;&%c;&%c;&%c;&%c;&%c;&%c;&%c;&%c;&%c;">' % ((98 + i,) + (97 + i,) * 10) for i in range(9))
        self.refused("bomb.xml", bomb + b']><topology version="2.0"><object type="&j;"/></topology>')
        self.refused("outside.xml", b'<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/passwd">]><topology version="2.0">&x;</topology>')

    def test_depth_and_width(self):
        deep = b'<topology version="2.0">' + b'<object type="Bridge">' * 100000
        self.refused("deep.xml", deep)
        self.refused("long.xml", b'<topology version="2.0" x="' + b"a" * 5000000 + b'">')

    def test_not_a_file(self):
        for path in ("/nonexistent.xml", harness.scratch(), "/dev/null", "/dev/zero"):
            self.assertEqual(self.discover("--topology", path).returncode, 1, path)
        fifo = os.path.join(harness.scratch(), "fifo.xml")
        os.mkfifo(fifo)
        self.assertEqual(self.discover("--topology", fifo).returncode, 1)


class Root(Case):
    """Expands one capture; each test changes some of its files and restores them."""

    BASE = "ac922-4gpu"

    @classmethod
    def setUpClass(cls):
        cls.entries = mkroot.load(os.path.join(harness.DATA, cls.BASE + ".root"))
        cls.folder = os.path.join(harness.scratch(), "hostile")
        mkroot.write(cls.entries, cls.folder)

    def files(self):
        return [path for path, (kind, _) in self.entries.items() if kind == "file"]

    @contextlib.contextmanager
    def changed(self, paths, make):
        """Changes the root: at each path a file or folder made by make(path)."""
        kept = []
        for number, path in enumerate(paths):
            whole, aside = os.path.join(self.folder, path), os.path.join(harness.scratch(), f"aside-{number}")
            if os.path.lexists(whole):
                os.rename(whole, aside)
                kept.append((aside, whole))
            make(whole)
        yield self.folder
        for path in paths:
            whole = os.path.join(self.folder, path)
            if os.path.isdir(whole) and not os.path.islink(whole):
                os.rmdir(whole)
            elif os.path.lexists(whole):
                os.unlink(whole)
        for aside, whole in kept:
            os.rename(aside, whole)

    def contents(self, paths, data):
        def make(path):
            with open(path, "wb") as file:
                file.write(data)

        return self.changed(paths, make)

    def test_not_a_root(self):
        for path in ("/nonexistent", "/dev/null", os.path.abspath(__file__)):
            self.assertEqual(self.discover("--root", path).returncode, 1, path)
        empty = os.path.join(harness.scratch(), "empty")
        os.mkdir(empty)
        result = self.discover("--root", empty)
        self.assertEqual(result.returncode, 1)
        self.assertIn(empty, result.stderr)

    def test_each_file_as_junk(self):
        kinds = {re.sub(r"[0-9a-f]+", "N", path): path for path in self.files()}
        junk = (b"", b"\n", b"-1\n", b"99999999999999999999\n", b"\xff\xfe\x00\x01" * 64, b"%s%n" * 20, b"0-4294967295\n",
                b"0x" + b"f" * 40 + b"\n", b"a" * 70000)
        for place, path in enumerate(kinds.values()):
            for data in (junk[place % len(junk)], junk[(place + 4) % len(junk)]):
                with self.contents([path], data) as root:
                    self.discover("--root", root, "--json")

    def test_everything_as_the_same_junk(self):
        for data in (b"", b"-5\n", b"18446744073709551616\n", b"\x1b[31mred\n", b"../../../../etc/passwd\n"):
            with self.contents(self.files(), data) as root:
                self.discover("--root", root)

    def test_wide_and_wild_lists(self):
        for data in (b"0-16777216\n", b"0-99999999999\n", b"5-1\n", b",,,\n", b"1,1,1,1\n", b"0-1-2\n", b"-\n"):
            for name in ("online", "node0/cpulist", "node0/distance"):
                with self.contents([NODE + name], data) as root:
                    self.discover("--root", root)

    def test_special_files(self):
        for make in (os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path), lambda path: os.symlink(path, path)):
            for name in (NODE + "online", NODE + "node8/meminfo", "proc/net/route", "sys/class/net",
                         "proc/driver/nvidia/gpus/0004:04:00.0/numa_status"):
                with self.changed([name], make) as root:
                    self.discover("--root", root, "--json")

    def test_links_do_not_lead_outside(self):
        secret = scratch_file("secret", b"do-not-tell-this\n")
        names = ["proc/sys/kernel/hostname", "proc/device-tree/model"]
        with self.changed(names, lambda path: os.symlink(secret, path)) as root:
            self.assertNotIn("do-not-tell-this", self.discover("--root", root, "--json").stdout)

    def test_names_cannot_send_escape_sequences(self):
        root = os.path.join(harness.scratch(), "evil")
        mkroot.expand(os.path.join(harness.DATA, "laptop.root"), root)
        evil = "\x1b]0;pwned\x07<script>&\"'\\"
        place = "devices/pci0000:00/0000:00:1f.6/net/"
        os.symlink("../../" + place + evil, os.path.join(root, "sys/class/net", evil))
        os.rename(os.path.join(root, "sys", place, "enp0s31f6"), os.path.join(root, "sys", place, evil))
        for form in ("text", "json", "yaml", "matrix", "dot", "svg"):
            text = self.discover("--root", root, "--format", form).stdout
            self.assertNotIn("\x1b", text, form)
            if form == "svg":
                self.assertNotIn("<script>", text)

    def test_many_functions(self):
        entries = mkroot.load(os.path.join(harness.DATA, "laptop.root"))
        for bus in range(32):
            for slot in range(32):
                address = f"0001:{bus:02x}:{slot:02x}.0"
                for name, text in (("class", b"0x020000\n"), ("vendor", b"0x15b3\n"), ("device", b"0x1019\n"),
                                   ("numa_node", b"0\n")):
                    entries[f"sys/bus/pci/devices/{address}/{name}"] = ("file", text)
        folder = os.path.join(harness.scratch(), "many")
        mkroot.write(entries, folder)
        self.discover("--root", folder)


if __name__ == "__main__":
    harness.main()
