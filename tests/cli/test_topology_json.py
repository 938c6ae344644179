#!/usr/bin/env python3
"""--topology with the JSON of `discover --json`: the machine that comes back, and broken files."""
import json
import os
import unittest

from cli import harness

CAPTURES = [("--root", harness.capture(name)) for name in ("ac922-4gpu", "ac922-6gpu", "accelerators", "roce-lag", "laptop")] + \
    [("--topology", harness.capture(name)) for name in ("azure-ndv5-8gpu-8nic.nccl.xml", "dgx2-16gpu.hwloc2.xml")] + \
    [("--topology", os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "ac922-4gpu.smi-topo.txt"))]


def discovered(*source):
    return json.loads(harness.run_soundly("discover", "--json", *source).stdout)


def written(test, value):
    path = os.path.join(harness.scratch(), test.id() + ".json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(value if isinstance(value, str) else json.dumps(value))
    return "--topology", path


class Machine(unittest.TestCase):
    def test_the_same_machine_comes_back(self):
        for source in CAPTURES:
            with self.subTest(source=source[1]):
                there = discovered(*source)
                back = discovered(*written(self, there))
                for part in ("gpu_pairs", "pairs"):
                    self.assertEqual(back[part], there[part])
                for part, lost in (("numa_nodes", {"hugepages"}), ("gpus", {"health"}), ("nics", {"gids", "best_gid_index", "subnets"})):
                    for a, b in zip(there[part], back[part], strict=True):
                        self.assertEqual({key: a[key] for key in a if key not in lost}, {key: b[key] for key in b if key not in lost})
                self.assertEqual([gpu["health"]["score"] for gpu in back["gpus"]], [gpu["health"]["score"] for gpu in there["gpus"]])
                self.assertEqual(back["machine"] | {"source": None}, there["machine"] | {"source": None})

    def test_the_same_gpus_are_placed(self):
        for size in ("1", "2", "3"):
            there = harness.checked_json("place", size, "--root", harness.capture("ac922-4gpu"))
            back = harness.checked_json("place", size, *written(self, discovered("--root", harness.capture("ac922-4gpu"))))
            for group, other in zip(there["groups"], back["groups"], strict=True):
                self.assertEqual([gpu["uuid"] for gpu in group["gpus"]], [gpu["uuid"] for gpu in other["gpus"]])

    def test_measured_bandwidths_and_scores_are_kept(self):
        value = discovered("--root", harness.capture("ac922-4gpu"))
        pair = next(pair for pair in value["gpu_pairs"] if (pair["a_index"], pair["b_index"]) == (2, 3))
        pair.update(source="measured", bandwidth_bytes_per_s=80_000_000_000, latency_ns=1234)
        value["gpus"][0]["health"]["score"] = 10
        back = discovered(*written(self, value))
        self.assertIn(pair, back["gpu_pairs"])
        self.assertEqual([gpu["health"]["score"] for gpu in back["gpus"]], [10, None, None, None])
        placed = harness.checked_json("place", "1", *written(self, value))
        self.assertNotEqual(placed["groups"][0]["gpus"][0]["index"], 0)


class Broken(unittest.TestCase):
    def test_each_is_refused(self):
        good = discovered("--root", harness.capture("ac922-4gpu"))
        gpus = good["gpus"]
        nodes = good["numa_nodes"]
        for value, message in (
                ("{", "the JSON is broken"),
                ("{}", "its schema is not aitherion.machine/1"),
                ({"schema": "aitherion.place/1"}, "its schema is not aitherion.machine/1"),
                ({"schema": 1}, "its schema is not aitherion.machine/1"),
                ({"schema": "aitherion.machine/1"}, "'numa_nodes' is missing"),
                (good | {"gpus": {}}, "'gpus' is missing, or no list"),
                (good | {"gpus": [1]}, "'gpus' is no list of objects"),
                (good | {"gpus": [gpus[1], gpus[0]]}, "'gpus' is not in the order of the PCI addresses"),
                (good | {"gpus": [gpus[0], gpus[0]]}, "'gpus' is not in the order of the PCI addresses"),
                (good | {"gpus": [gpus[0], gpus[1] | {"pci": None}]}, "'gpus' is not in the order"),
                (good | {"gpus": [gpus[0] | {"nvlinks": [{}] * 4097}]}, "'nvlinks' is longer"),
                (good | {"gpus": [{}] * 1025}, "'gpus' is longer"),
                (good | {"nics": None}, "'nics' is missing"),
                (good | {"numa_nodes": [nodes[0], nodes[0]]}, "'numa_nodes' is a list with a wrong or double id"),
                (good | {"numa_nodes": [nodes[0] | {"id": -1}]}, "wrong or double id"),
                (good | {"numa_nodes": [nodes[0] | {"id": 1 << 40}]}, "wrong or double id"),
                (good | {"numa_nodes": [nodes[0] | {"cpus": "0-"}]}, "'cpus' is no list of CPUs"),
                (good | {"numa_nodes": [nodes[0] | {"cpus_online": "x"}]}, "'cpus_online' is no list of CPUs")):
            with self.subTest(message=message):
                result = harness.run_soundly("discover", *written(self, value))
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn(message, result.stderr)

    def test_wrong_values_become_unknown(self):
        value = discovered("--root", harness.capture("ac922-4gpu"))
        value["gpus"][0].update(vendor_id="10d", model=7, numa_node=-3, memory_total_bytes=1 << 62, nvlinks=[None, {"peer": 3}], pcie=None)
        value["gpu_pairs"] += [{}, None, {"a_index": 0, "b_index": 99}, {"a_index": 1, "b_index": 1}]
        value["pairs"] += [{}, None, {"gpu_index": 99, "netdev": "enP3p1s0f0"}]
        value["numa_nodes"][0]["distances"] = {"x": 1, "8": "y", "9": -1}
        back = discovered(*written(self, value))
        gpu = back["gpus"][0]
        self.assertEqual((gpu["vendor_id"], gpu["model"], gpu["numa_node"], gpu["pcie"]["gen"]), (None,) * 4)


if __name__ == "__main__":
    harness.main()
