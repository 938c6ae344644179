#!/usr/bin/env python3
"""discover --measure, on the simulated driver: its GPUs are put into a /sys of this test's own.

Figures of the simulated driver have no meaning. The tests see that they are kept, used, and left out when GPUs or drivers change.
"""
import json
import os
import shutil
import tempfile
import unittest

from cli import harness
from simulated import INSIDE, SIM, can_mount, make_sys, write


@unittest.skipUnless(can_mount(), "needs root and mount namespaces")
class Measure(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.mkdtemp(dir=harness.scratch())
        self.document = os.path.join(self.home, "topology.yaml")
        self.file = os.path.join(self.home, "measured.json")
        self.sys = make_sys(3)

    def run_on(self, *args, sys=None, before=(), **changes):
        env = {"LD_LIBRARY_PATH": SIM, "AITHERION_SIM_DEVICES": "3", "AITHERION_SIM_MEMORY": "96M", **changes}
        command = ["unshare", "--mount", "sh", "-c", INSIDE, "sh", sys or self.sys, *before, harness.binary(), *args]
        result = harness.run(command=command, env=harness.environment(**env))
        self.assertIsNone(harness.crashed(result), result.stderr)
        return result

    def on(self, command, *args, **options):
        result = self.run_on("-c", self.document, command, *args, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def value(self, command, *args, **options):
        value, faults = harness.check_json(self.on(command, "--json", *args, **options).stdout)
        self.assertEqual(faults, [])
        return value

    def record(self):
        with open(self.file, encoding="utf-8") as file:
            return json.load(file)

    def change(self, **changes):
        record = self.record()
        record.update(changes)
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump(record, file)

    def set_copies(self, figures):
        """Replaces the figures of pairs: {(from, to): bytes per second}."""
        copies = [{"from": a, "to": b, "bytes_per_s": value, "latency_ns": 2000, "direct": True, "error": None}
                  for (a, b), value in figures.items()]
        self.change(copies=copies)

    def test_measures_keeps_and_uses(self):
        before = self.value("discover")
        self.assertEqual({pair["source"] for pair in before["gpu_pairs"]} - {"driver", "table", "unknown"}, set())
        self.assertEqual({gpu["to_gpu_bytes_per_s"] for gpu in before["gpus"]}, {None})
        now = self.value("discover", "--measure")
        self.assertEqual({pair["source"] for pair in now["gpu_pairs"]}, {"measured"})
        for pair in now["gpu_pairs"]:
            self.assertGreater(pair["bandwidth_bytes_per_s"], 10 ** 6)
            self.assertGreater(pair["latency_ns"], 0)
        for gpu in now["gpus"]:
            self.assertGreater(gpu["to_gpu_bytes_per_s"], 10 ** 6)
            self.assertGreater(gpu["from_gpu_bytes_per_s"], 10 ** 6)
        peers = [peer for gpu in self.value("fingerprint")["gpus"] for peer in gpu["peers"]]
        self.assertEqual({(peer["bandwidth_source"], peer["latency_source"]) for peer in peers}, {("measured", "measured")})
        later = self.value("discover")
        self.assertEqual((later["gpu_pairs"], later["gpus"]), (now["gpu_pairs"], now["gpus"]))
        self.assertNotIn("measured-unusable", [warning["code"] for warning in later["warnings"]])

        record = self.record()
        self.assertEqual(record["schema"], "aitherion.measured/1")
        self.assertRegex(record["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertTrue(record["driver_version"])
        self.assertEqual([gpu["pci"] for gpu in record["gpus"]], [gpu["pci"] for gpu in now["gpus"]])
        self.assertEqual([gpu["uuid"] for gpu in record["gpus"]], [gpu["uuid"] for gpu in now["gpus"]])
        self.assertEqual({(copy["from"], copy["to"]) for copy in record["copies"]}, {(a, b) for a in range(3) for b in range(3) if a != b})
        self.assertTrue(all(copy["direct"] and copy["bytes_per_s"] and copy["latency_ns"] for copy in record["copies"]))
        self.assertFalse([name for name in os.listdir(self.home) if name.endswith(".new")])

    def test_the_slower_direction_counts(self):
        self.on("discover", "--measure")
        self.set_copies({(0, 1): 50 * 10 ** 9, (1, 0): 40 * 10 ** 9, (0, 2): 10 ** 9, (2, 0): 10 ** 9, (1, 2): 30 * 10 ** 9})
        pairs = {(pair["a_index"], pair["b_index"]): pair for pair in self.value("discover")["gpu_pairs"]}
        self.assertEqual((pairs[0, 1]["bandwidth_bytes_per_s"], pairs[0, 1]["latency_ns"]), (40 * 10 ** 9, 2000))
        self.assertEqual(pairs[0, 2]["bandwidth_bytes_per_s"], 10 ** 9)
        self.assertNotEqual(pairs[1, 2]["source"], "measured")  # one direction alone says nothing about a ring
        text = self.on("discover", "--format", "matrix").stdout
        self.assertIn("40m", text)
        self.assertIn("m: measured", text)

    def test_place_and_estimate_use_them(self):
        self.on("discover", "--measure")
        fast, slow = 200 * 10 ** 9, 20 * 10 ** 9
        self.set_copies({(a, b): fast if {a, b} == {1, 2} else slow for a in range(3) for b in range(3) if a != b})
        self.assertEqual([gpu["index"] for gpu in self.value("place", "2")["groups"][0]["gpus"]], [1, 2])
        estimate = self.value("estimate", "all-reduce", "--size", "100M", "--gpus", "1,2")
        self.assertEqual(estimate["slowest"]["bandwidth_bytes_per_s"], fast)
        self.assertEqual(estimate["ring_bound"]["time_ns"], round((100 << 20) / 200))

    LINKS = {"AITHERION_SIM_LINKS": "0-1:2,0-2:2,1-2:2"}  # of 25 GB/s each

    def warnings(self, **options):
        return {warning["code"]: warning for warning in self.value("discover", **options)["warnings"]}

    def test_slow_copies_are_a_warning(self):
        """Slow: less than half of what the links can carry. The slowest pair is named."""
        self.on("discover", "--measure", **self.LINKS)
        expected = 50 * 10 ** 9
        pairs = {(a, b): expected // 2 for a in range(3) for b in range(3) if a != b}
        self.set_copies(pairs)
        self.assertNotIn("gpu-links-slow", self.warnings(**self.LINKS))
        pairs.update({(0, 1): expected // 2 - 10 ** 9, (1, 2): 20 * 10 ** 9})
        self.set_copies(pairs)
        warning = self.warnings(**self.LINKS)["gpu-links-slow"]
        self.assertEqual(warning["object"], "fffe:02:00.0")
        self.assertIn("'fffe:03:00.0' were measured with 20 GB/s, although their links can carry 50 GB/s", warning["message"])
        self.assertIn("were measured with 20 GB/s", self.run_on("-c", self.document, "health", **self.LINKS).stdout)

    def test_metrics_of_the_machine(self):
        def page():
            return dict(line.rsplit(" ", 1) for line in self.on("metrics", AITHERION_SERVER="", **self.LINKS).stdout.splitlines()
                        if line.startswith("aitherion_host_"))
        with open(self.document, "w", encoding="utf-8") as file:
            file.write("schema: aitherion.topology/1\nnuma: []\n")
        self.assertFalse([name for name in page() if "copy" in name or "all_reduce" in name], "nothing is measured")
        self.on("discover", "--measure", **self.LINKS)
        self.set_copies({(a, b): 20 * 10 ** 9 for a in range(3) for b in range(3) if a != b})
        now = page()
        self.assertEqual(now['aitherion_host_copy_bytes_per_second{from="fffe:01:00.0",to="fffe:03:00.0"}'], "20000000000")
        self.assertEqual(now['aitherion_host_copy_latency_seconds{from="fffe:03:00.0",to="fffe:01:00.0"}'], "0.000002")
        each_s = (100 << 20) * 2 * 2 / 3  # of a ring of three
        for name, bytes_per_s in (("measured", 20 * 10 ** 9), ("expected", 50 * 10 ** 9)):
            self.assertAlmostEqual(float(now[f"aitherion_host_all_reduce_{name}_seconds"]), each_s / bytes_per_s, delta=1e-6)

    def test_small_differences_do_not_decide(self):
        """GPU0 and GPU2 are of one node. 2 % more between GPU0 and GPU1 is noise."""
        self.on("discover", "--measure")
        self.set_copies({(a, b): 102 * 10 ** 8 if {a, b} == {0, 1} else 10 ** 10 for a in range(3) for b in range(3) if a != b})
        self.assertEqual([gpu["index"] for gpu in self.value("place", "2")["groups"][0]["gpus"]], [0, 2])
        self.set_copies({(a, b): 12 * 10 ** 9 if {a, b} == {0, 1} else 10 ** 10 for a in range(3) for b in range(3) if a != b})
        self.assertEqual([gpu["index"] for gpu in self.value("place", "2")["groups"][0]["gpus"]], [0, 1])

    def stale(self, reason):
        value = self.value("discover")
        self.assertIn(reason, [warning["message"] for warning in value["warnings"] if warning["code"] == "measured-unusable"][0])
        for words in (("place", "2"), ("estimate", "all-reduce", "--size", "1M")):
            self.assertIn(reason, self.on(*words).stderr)
        return {pair["source"] for pair in value["gpu_pairs"]}

    def test_another_driver(self):
        self.on("discover", "--measure")
        self.change(driver_version="1.2.3")
        self.assertNotIn("measured", self.stale("it was measured with driver 1.2.3, and now it is"))
        self.on("discover", "--measure")
        self.assertNotIn("measured-unusable", [warning["code"] for warning in self.value("discover")["warnings"]])

    def test_other_gpus(self):
        self.on("discover", "--measure")
        record = self.record()
        record["gpus"][2]["uuid"] = "GPU-00000000-0000-0000-0000-000000000001"
        self.change(gpus=record["gpus"])
        self.assertIn("measured", self.stale("GPU 'fffe:03:00.0' is another one now"))
        sources = {(pair["a_index"], pair["b_index"]): pair["source"] for pair in self.value("discover")["gpu_pairs"]}
        self.assertEqual(sources[0, 1], "measured")
        self.assertNotIn("measured", (sources[0, 2], sources[1, 2]))
        record["gpus"][2]["pci"] = "0000:09:00.0"
        self.change(gpus=record["gpus"])
        self.stale("GPU '0000:09:00.0' is gone")

    def test_a_broken_file(self):
        for text, reason in (("{", "not used: line 2: "), ("[]", "its schema is not"), ('{"schema": "aitherion.measured/1"}', "the list 'gpus' is missing"),
                             ('{"schema": "aitherion.measured/1", "gpus": [{"pci": 7}]}', "a GPU has no PCI address"),
                             ('{"schema": "aitherion.measured/1", "gpus": [{"pci": "fffe:01:00.0"}], "copies": [{"from": 0, "to": 5}]}',
                              "names no two GPUs"),
                             ('{"schema": "aitherion.measured/1", "gpus": [' + ",".join(['{"pci": "fffe:01:00.0"}'] * 65) + "]}", "too long")):
            write(self.file, text)
            self.assertNotIn("measured", self.stale(reason))

    def test_one_gpu(self):
        result = self.on("discover", "--measure", sys=make_sys(1), AITHERION_SIM_DEVICES="1")
        self.assertIn("only one GPU: there is no pair to measure", result.stderr)
        self.assertIn("to the GPU and", result.stdout)
        self.assertEqual(self.record()["copies"], [])

    def test_what_cuda_shows(self):
        """CUDA_VISIBLE_DEVICES keeps a measurement away from GPUs that others use."""
        self.on("discover", "--measure", CUDA_VISIBLE_DEVICES="0,2")
        self.assertEqual([gpu["pci"] for gpu in self.record()["gpus"]], ["fffe:01:00.0", "fffe:03:00.0"])
        result = self.run_on("-c", self.document, "discover", "--measure", CUDA_VISIBLE_DEVICES="")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, "refuses to start|CUDA shows none")

    def test_no_memory(self):
        """A GPU whose memory is in use is left out, with a word, and the others are measured."""
        result = self.on("discover", "--measure", AITHERION_SIM_MEMORY="2M")
        self.assertIn("GPU fffe:01:00.0 was not measured: CUDA_ERROR_OUT_OF_MEMORY", result.stderr)

    def test_no_driver(self):
        result = self.run_on("-c", self.document, "discover", "--measure", LD_LIBRARY_PATH=None)
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot load the library 'libcuda.so.1'", result.stderr)
        self.assertFalse(os.path.exists(self.file))

    def test_no_gpu(self):
        result = self.run_on("-c", self.document, "discover", "--measure", sys=make_sys(0))
        self.assertEqual(result.returncode, 1)
        self.assertIn("no GPU of NVIDIA to measure", result.stderr)

    def test_dry_run(self):
        result = self.on("discover", "--measure", "--dry-run")
        self.assertIn(f"would measure 3 GPUs and write '{self.file}'", result.stderr)
        self.assertFalse(os.path.exists(self.file))

    @unittest.skipUnless(shutil.which("setpriv"), "needs setpriv")
    def test_a_user_without_privileges(self):
        """The own folder keeps the figures of a user who may not write beside the document, and that user uses them."""
        own = os.path.join(self.home, "own")
        os.makedirs(own)
        os.chown(own, 65534, 65534)
        os.chmod(self.home, 0o755)
        before = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        result = self.run_on("discover", "--measure", before=before, HOME=own)
        self.assertEqual(result.returncode, 0, result.stderr)
        kept = os.path.join(own, ".config", "aitherion", "measured.json")
        self.assertIn(f"wrote '{kept}'", result.stderr)
        value, _ = harness.check_json(self.run_on("discover", "--json", before=before, HOME=own).stdout)
        self.assertEqual({pair["source"] for pair in value["gpu_pairs"]}, {"measured"})


class Elsewhere(unittest.TestCase):
    def test_other_machines_are_not_measured(self):
        for option, name in (("--root", "ac922-4gpu"), ("--topology", "dgx2-16gpu")):
            result = harness.run_soundly("discover", "--measure", option, name)
            self.assertEqual(result.returncode, 2)
            self.assertIn(f"'--measure' and '{option}' exclude each other", result.stderr)


if __name__ == "__main__":
    harness.main()
