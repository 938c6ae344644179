#!/usr/bin/env python3
"""`configure N --memory-percent ...` is strict, --set is lenient."""
import json
import os
import shlex
import tempfile
import unittest

import cli  # noqa: F401 - finds harness
import harness

ROOT = ("--root", "ac922-4gpu")
# Flag, value, and the key and value in the document afterwards.
FLAGS = [
    ("--memory-percent", "70.5", "numa.0.memory_percent", 70.5),
    ("--vram-fraction", "0.5", "numa.0.vram_fraction", 0.5),
    ("--control-iface", "enP51p1s0f0", "numa.0.control_iface", "enP51p1s0f0"),
    ("--data-iface", "enP3p1s0f1,enP51p1s0f0", "numa.0.data_iface", ["enP3p1s0f1", "enP51p1s0f0"]),
    ("--gpus", "0004:05:00.0", "numa.0.gpus", ["0004:05:00.0"]),
    ("--rdma-devices", "mlx5_1,mlx5_0", "numa.0.rdma_devices", ["mlx5_1", "mlx5_0"]),
    ("--control-port", "6000", "numa.0.control_port", 6000),
    ("--data-port", "6001", "numa.0.data_port", 6001),
    ("--metrics", "127.0.0.1:6002", "numa.0.metrics", "127.0.0.1:6002"),
    ("--encrypt", "on", "encrypt", "on"),
    ("--sharing", "turns", "sharing", "turns"),
    ("--log-level", "debug", "log_level", "debug"),
    ("--udp", "on", "udp", "on"),
]
# Arguments, the code word of the fault, and texts in its message and its hint.
MISFITS = [
    (("--data-iface", "enP3p1s0f9"), "interface-missing", "enP3p1s0f9", "did you mean 'enP3p1s0f0'?"),
    (("--data-iface", "enP3p1s0f0,enP3p1s0f9"), "interface-missing", "'enP3p1s0f9'", "this machine has enP3p1s0f0, enP3p1s0f1"),
    (("--control-iface", "wlan0"), "interface-missing", "wlan0", "this machine has enP3p1s0f0, enP3p1s0f1"),
    (("--data-iface", "lo"), "interface-loopback", "'lo' is the loopback", "this machine has enP"),
    (("--gpus", "0035:03:00.0"), "gpu-other-node", "belongs to NUMA node 8", "has the GPUs 0004:04:00.0, 0004:05:00.0"),
    (("--gpus", "0035:09:00.0"), "gpu-missing", "0035:09:00.0", "has the GPUs 0004:04:00.0, 0004:05:00.0"),
    (("--rdma-devices", "mlx5_9"), "rdma-device-missing", "mlx5_9", "did you mean 'mlx5_0'?"),
    (("--rdma-devices", "ib7"), "rdma-device-missing", "'ib7'", "this machine has mlx5_0, mlx5_1"),
]


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(dir=harness.scratch())
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "topology.yaml")
        self.configure("init", *ROOT)
        self.original = self.text()

    def configure(self, *args, code=0):
        result = harness.run("-c", self.path, *args)
        self.assertEqual(result.returncode, code, f"{args}: {result.stdout}{result.stderr}")
        return result

    def text(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def refused(self, *args, code=1):
        """Returns the error as data, and checks that nothing was written."""
        result = self.configure("configure", *args, "--json", code=code)
        value, faults = harness.check_json(result.stderr)
        self.assertEqual(faults, [])
        self.assertEqual(self.text(), self.original)
        return value


class Flags(Case):
    def test_each_sets_its_key(self):
        for flag, value, key, said in FLAGS:
            result = self.configure("configure", "0", flag, value, *ROOT, "--json")
            changes = json.loads(result.stdout)["changes"]
            self.assertEqual([(change["key"], change["new"]) for change in changes], [(key, said)], flag)

    def test_every_text_option_is_covered(self):
        row = next(row for words, row in cli.commands() if words == ["configure"])
        texts = {"--" + option["name"] for option in row["options"] if (option.get("value") or option.get("choices")) and not option["is_repeated"]}
        self.assertEqual(texts, {flag for flag, *_ in FLAGS})

    def test_a_key_of_the_document_needs_no_entry(self):
        self.configure("configure", "--encrypt", "off")
        self.assertIn('encrypt: "off"', self.text())
        report = json.loads(self.configure("configure", "--encrypt", "auto", "--set", "limits.host_fraction=0.25", "--json").stdout)
        self.assertEqual({change["key"]: (change["old"], change["new"]) for change in report["changes"]},
                         {"encrypt": ("off", "auto"), "limits.host_fraction": (0.5, 0.25)})
        self.original = self.text()
        self.refused("--encrypt", "yes")
        self.refused("--encrypt", "on", "--metrics", "9", code=2)
        self.refused("--log-level", "loud", code=2)
        self.refused("--sharing", "fair")

    def test_every_name_of_an_entry(self):
        for name in "NUMA0", "numa0", "aitherion-numa0":
            report = json.loads(self.configure("configure", name, "--memory-percent", "70", "--dry-run", *ROOT, "--json").stdout)
            self.assertEqual(report["changes"][0]["key"], "numa.0.memory_percent")
            self.assertIn("NUMA entry 0  numa.0", self.configure("configure", name, "--show", *ROOT).stdout)
        self.refused("NUMA7", "--memory-percent", "70", *ROOT)
        self.refused("NUMA", "--memory-percent", "70", *ROOT, code=2)

    def test_several_at_once_with_set(self):
        words = [word for flag, value, *_ in FLAGS for word in (flag, value)]
        result = self.configure("configure", "0", *words, "--set", "memory_nodes=0,254,255", *ROOT, "--json")
        report = json.loads(result.stdout)
        self.assertTrue(report["is_saved"])
        self.assertEqual(len(report["changes"]), len(FLAGS))  # memory_nodes has this value already
        again = json.loads(self.configure("configure", "0", *words, *ROOT, "--json").stdout)
        self.assertEqual((again["is_saved"], again["changes"]), (False, []))
        one = json.loads(self.configure("configure", "0", *words, "--memory-percent", "71", *ROOT, "--json").stdout)
        self.assertEqual(one["changes"], [{"key": "numa.0.memory_percent", "old": 70.5, "new": 71}])

    def test_comments_stay(self):
        self.configure("configure", "0", "--memory-percent", "70", *ROOT)
        self.assertEqual(self.text(), self.original.replace("memory_percent: 80", "memory_percent: 70", 1))
        self.assertNotEqual(self.text(), self.original)

    def test_null_removes_an_optional_key(self):
        self.configure("configure", "0", "--control-iface", "null", *ROOT)
        shown = json.loads(self.configure("configure", "--show", "--json", *ROOT).stdout)
        self.assertIsNone(shown["document"]["numa"][0]["control_iface"])

    def test_dry_run_writes_nothing(self):
        result = self.configure("configure", "0", "--memory-percent", "70", "--dry-run", *ROOT)
        self.assertIn("80 -> 70", result.stdout)
        self.assertEqual(self.text(), self.original)

    def test_a_macvlan_of_the_document_is_an_interface(self):
        self.configure("roce", "macvlan", "mv0", "--parent", "enP3p1s0f0", *ROOT)
        self.configure("configure", "0", "--data-iface", "mv0", *ROOT)


class Refused(Case):
    def test_values_that_do_not_fit_the_machine(self):
        for args, code, text, hint in MISFITS:
            with self.subTest(args):
                error = self.refused("0", *args, *ROOT)
                self.assertEqual(error["code"], "machine-mismatch")
                self.assertEqual(error["faults"][0]["code"], code)
                self.assertIn(text, error["faults"][0]["message"])
                self.assertIn(hint, error["hint"])
                self.assertEqual(self.refused("0", *args, *ROOT, "--dry-run"), error)

    def test_the_memory_of_a_gpu(self):
        self.configure("configure", "1", "--set", "memory_nodes=8", "--set", "gpus=[]", *ROOT)
        self.original = self.text()
        error = self.refused("1", "--gpus", "0035:03:00.0,0035:04:00.0", *ROOT)
        self.assertEqual([fault["code"] for fault in error["faults"]], ["gpu-memory-left-out"] * 2)
        self.assertIn("--set memory_nodes=8,252,253", error["hint"])
        self.configure("configure", "1", "--gpus", "0035:03:00.0,0035:04:00.0", "--set", "memory_nodes=8,252,253", *ROOT)

    def test_an_empty_value_is_refused(self):
        for flag, value in ("--gpus", ""), ("--gpus", " "), ("--rdma-devices", ""), ("--data-iface", ""):
            error = self.refused("0", flag, value, *ROOT)
            self.assertEqual(error["code"], "value-invalid")
            self.configure(*shlex.split(error["hint"].split("aitherion ")[1]), *ROOT, "--dry-run")

    def test_the_command_in_the_hint_works(self):
        for args, *_ in MISFITS:
            words = self.refused("0", *args, *ROOT)["hint"].split("set it anyway: aitherion ")[1].rstrip(")").split()
            result = self.configure(*words, *ROOT, "--dry-run")
            self.assertIn("warning:", result.stdout)

    def test_set_stays_lenient_beside_flags(self):
        result = self.configure("configure", "0", "--memory-percent", "70", "--set", "data_iface=eth9", *ROOT)
        self.assertIn("warning:", result.stdout)
        self.original = self.text()
        # A fault that was there before does not stop a flag, unless the flag sets the faulty value.
        self.configure("configure", "0", "--data-iface", "eth9", "--memory-percent", "60", *ROOT)
        self.original = self.text()
        self.refused("1", "--data-iface", "eth9", *ROOT)

    def test_values_out_of_range(self):
        for args in ("--memory-percent", "120"), ("--memory-percent", "0"), ("--vram-fraction", "1.5"), \
                ("--control-port", "70000"), ("--gpus", "gpu0"), ("--data-iface", "a/b"):
            with self.subTest(args):
                error = self.refused("0", *args, *ROOT)
                self.assertEqual(error["code"], "value-invalid")
                self.assertIn(args[1], error["message"])
        error = self.refused("0", "--control-port", "50052", *ROOT)
        self.assertIn("50052", error["message"])

    def test_missing_entry(self):
        error = self.refused("7", "--memory-percent", "70", *ROOT)
        self.assertEqual(error["code"], "key-unknown")
        self.assertIn("NUMA entry 7", error["message"])
        self.assertIn("0-1", error["message"])

    def test_usage(self):
        self.assertIn("configure 0 --memory-percent", self.refused("--memory-percent", "70", *ROOT, code=2)["hint"])
        self.assertEqual(self.refused("0", "--memory-percent", "7", "--show", *ROOT, code=2)["code"], "usage")
        self.assertIn("twice", self.refused("0", "--memory-percent", "7", "--set", "memory_percent=8", *ROOT,
                                            code=2)["message"])

    def test_a_named_machine_must_be_readable(self):
        self.assertEqual(self.refused("0", "--memory-percent", "70", "--root", "nosuch")["code"], "not-found")

    def test_a_shared_gpu_is_a_warning(self):
        self.configure("configure", "0", "--set", "gpus=[0035:03:00.0]", *ROOT)
        shown = self.configure("configure", "--show", *ROOT)
        self.assertIn("NUMA entry 0 shares the GPU 0035:03:00.0 with others", shown.stdout)

    def test_an_infiniband_port_may_carry_connections(self):
        root = ("--root", harness.capture("ac922-4gpu-infiniband"))
        self.configure("configure", "0", "--data-iface", "ib0", *root)


if __name__ == "__main__":
    harness.main()
