#!/usr/bin/env python3
"""aitherion cluster: descriptions of clusters, placements and estimates, and each flag's wrong values."""
import json
import os
import unittest

from cli import harness

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "cluster")
EXAMPLE = ("--cluster", os.path.join(DATA, "example.yaml"))
SLURM = ("--cluster", os.path.join(DATA, "slurm.yaml"))


def cluster(*words):
    return harness.run_soundly("cluster", *words)


def answered(command, *words):
    result = cluster(command, *words, "--json")
    if result.returncode:
        raise AssertionError(result.stderr)
    value, faults = harness.check_json(result.stdout)
    if faults:
        raise AssertionError(faults)
    return value


def written(test, text, name="cluster.yaml"):
    folder = os.path.join(harness.scratch(), test.id().replace(" ", "_"))
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


class Show(unittest.TestCase):
    def test_the_example_by_rack(self):
        text = cluster("show", *EXAMPLE).stdout
        self.assertIn("example: 8 nodes, 64 GPUs, 64 of them free", text)
        rack = text.index("rack1")
        self.assertLess(rack, text.index("node[1-4]"))
        self.assertLess(text.index("node[1-4]"), text.index("rack2"))
        for words in ("100 Gb/s, 50.0 us", "50 Gb/s, 200.0 us", "NVIDIA A100-SXM4-80GB"):
            self.assertIn(words, text)

    def test_the_example_as_data(self):
        value = answered("show", *EXAMPLE)
        self.assertEqual((value["name"], value["gpu_count"], value["free_gpu_count"]), ("example", 64, 64))
        self.assertEqual([(rack["name"], rack["node_count"], rack["gpu_count"]) for rack in value["racks"]], [("rack1", 4, 32), ("rack2", 4, 32)])
        self.assertEqual([(row["name"], row["above"], row["node_count"]) for row in value["switches"]],
                         [("spine", None, 8), ("leaf1", "spine", 4), ("leaf2", "spine", 4)])
        node = value["nodes"][4]
        self.assertEqual((node["name"], node["rack"], node["switch"], node["bandwidth_bytes_per_s"], node["latency_ns"], node["numa_node_count"]),
                         ("node5", "rack2", "leaf2", 12_500_000_000, 50_000, 2))

    def test_busy_gpus_are_not_free(self):
        path = written(self, "schema: aitherion.cluster/1\nnodes:\n- {names: 'a[1-2]', gpus: 4, busy: [0, 3]}\n")
        value = answered("show", "--cluster", path)
        self.assertEqual((value["gpu_count"], value["free_gpu_count"]), (8, 4))
        self.assertEqual([row["name"] for row in value["switches"]], ["network"])
        placed = answered("place", "4", "--cluster", path)
        self.assertEqual([(node["name"], node["gpus"]) for node in placed["nodes"]], [("a1", [1, 2]), ("a2", [1, 2])])

    def test_slurm_topology_with_gpus(self):
        value = answered("show", *SLURM)
        self.assertEqual([(node["name"], node["switch"], node["gpu_count"]) for node in value["nodes"]],
                         [("n1", "leaf1", 4), ("n2", "leaf1", 4), ("n3", "leaf2", 4), ("n4", "leaf2", 4), ("login", "leaf2", 0)])
        alone = answered("show", "--cluster", os.path.join(DATA, "topology.conf"))
        self.assertEqual([row["name"] for row in alone["switches"]], ["leaf1", "leaf2", "spine"])
        self.assertEqual(alone["gpu_count"], 0)

    def test_machines_from_files(self):
        folder = os.path.dirname(written(self, "", "ignored.txt"))
        machine = harness.run_soundly("discover", "--json", "--root", harness.capture("ac922-4gpu")).stdout
        value = json.loads(machine)
        for name in ("b", "a"):
            value["machine"]["hostname"] = f"ac922-{name}"
            written(self, json.dumps(value), f"{name}.json")
        shown = answered("show", "--cluster", folder)
        self.assertEqual([(node["name"], node["gpu_count"], node["gpu_model"]) for node in shown["nodes"]],
                         [("ac922-a", 4, "Tesla V100-SXM2-32GB"), ("ac922-b", 4, "Tesla V100-SXM2-32GB")])
        path = written(self, "schema: aitherion.cluster/1\nnodes:\n- {names: 'ac[1-3]', machine: b.json, bandwidth_gbps: 100}\n")
        placed = answered("place", "6", "--cluster", path)
        self.assertEqual([(node["name"], node["gpus"], len(node["uuids"])) for node in placed["nodes"]],
                         [("ac1", [0, 1, 2, 3], 4), ("ac2", [0, 1], 2)])
        self.assertEqual(placed["nodes"][1]["ring_bandwidth_bytes_per_s"], 75_000_000_000)


class Place(unittest.TestCase):
    def test_the_job_of_the_example(self):
        value = answered("place", "32", "--per-node", "8", *EXAMPLE)
        self.assertEqual([node["name"] for node in value["nodes"]], ["node1", "node2", "node3", "node4"])
        place = value["placement"]
        self.assertEqual((place["level"], place["rack"], place["switch"], place["hops"], place["bandwidth_bytes_per_s"], place["latency_ns"]),
                         ("switch", "rack1", "leaf1", 1, 12_500_000_000, 100_000))
        self.assertEqual(value["estimate"]["least"]["time_ns"], 12_000_000)
        text = cluster("place", "32", "--per-node", "8", *EXAMPLE).stdout
        for words in ("node[1-4]: GPU0-GPU7", "all on the switch leaf1; rack rack1", "12.00 ms", "0 free GPUs stay"):
            self.assertIn(words, text)

    def test_levels(self):
        for words, level, nodes in ((("8",), "node", 1), (("9",), "switch", 2), (("33",), "switches", 5), (("8", "--per-node", "2"), "switch", 4),
                                    (("16", "--within", "rack"), "switch", 2), (("16", "--within", "switch"), "switch", 2),
                                    (("4", "--policy", "single-numa"), "node", 1)):
            with self.subTest(words=words):
                value = answered("place", *words, *EXAMPLE)
                self.assertEqual((value["placement"]["level"], value["placement"]["node_count"]), (level, nodes))

    def test_chosen_nodes(self):
        value = answered("place", "16", "--nodes", "node[2-8]", "--avoid", "node[2,4],node5", *EXAMPLE)
        self.assertEqual([node["name"] for node in value["nodes"]], ["node6", "node7"])


class Estimate(unittest.TestCase):
    def test_the_example(self):
        value = answered("estimate", "all-reduce", "--size", "100000000", "--gpus", "32", *EXAMPLE)
        times = value["estimate"]
        self.assertEqual((times["operation"], times["size_bytes"]), ("all-reduce", 100_000_000))
        self.assertEqual((times["least"]["time_ns"], times["ring_bound"]["time_ns"]), (12_000_000, 15_500_000))
        self.assertEqual(times["nccl"]["algorithm"], "ring")

    def test_unknown_links_are_named(self):
        result = cluster("estimate", "broadcast", "--size", "1M", "--gpus", "6", *SLURM)
        self.assertEqual(result.returncode, 0)
        self.assertIn("not known", result.stdout)
        self.assertIsNone(answered("estimate", "broadcast", "--size", "1M", "--gpus", "6", *SLURM)["estimate"]["nccl"])


def links(*pairs):
    """A file of measured links, from rows of (from, to, Gb/s, round trip in us)."""
    rows = [{"from": one, "to": other, "date": "2026-11-27T20:00:00Z", "to_bytes_per_s": speed * 125_000_000, "from_bytes_per_s": speed * 125_000_000,
             "round_trip_ns": time * 1000} for one, other, speed, time in pairs]
    return json.dumps({"schema": "aitherion.cluster-links/1", "pairs": rows})


class MeasuredLinks(unittest.TestCase):
    """The figures that `cluster measure` keeps beside the description. test_cluster_measure.py of tests/runtime measures."""

    def described(self):
        with open(EXAMPLE[1], encoding="utf-8") as file:
            return written(self, file.read())

    def test_they_take_the_place_of_the_description(self):
        path = self.described()
        written(self, links(("node1", "node2", 80, 100), ("node5", "node6", 80, 100), ("node1", "node5", 40, 500)), "cluster.links.json")
        value = answered("show", "--cluster", path)
        found = {node["name"]: (node["bandwidth_bytes_per_s"], node["latency_ns"], node["measured"]) for node in value["nodes"]}
        self.assertEqual((found["node1"], found["node6"], found["node3"]),
                         ((10_000_000_000, 25_000, True), (10_000_000_000, 25_000, True), (12_500_000_000, 50_000, False)))
        leaf = value["switches"][1]
        self.assertEqual((leaf["name"], leaf["bandwidth_bytes_per_s"], leaf["latency_ns"], leaf["measured"]), ("leaf1", 5_000_000_000, 100_000, True))
        text = cluster("show", "--cluster", path).stdout
        for words in ("80 Gb/s measured, 25.0 us", "40 Gb/s measured, 100.0 us", "100 Gb/s, 50.0 us"):
            self.assertIn(words, text)

    def test_places_and_estimates_use_them(self):
        path = self.described()
        before = answered("place", "16", "--cluster", path)
        self.assertEqual(([node["name"] for node in before["nodes"]], before["placement"]["measured"]), (["node1", "node2"], False))
        written(self, links(("node1", "node2", 40, 100), ("node1", "node3", 40, 100), ("node1", "node4", 40, 100)), "cluster.links.json")
        after = answered("place", "16", "--cluster", path)  # the other leaf has faster links now
        self.assertEqual([node["name"] for node in after["nodes"]], ["node5", "node6"])
        slow = answered("estimate", "all-reduce", "--size", "100000000", "--gpus", "32", "--nodes", "node[1-4]", "--cluster", path)
        self.assertEqual((slow["placement"]["bandwidth_bytes_per_s"], slow["placement"]["measured"], slow["estimate"]["least"]["time_ns"]),
                         (5_000_000_000, True, 30_000_000))
        self.assertIn("40 Gb/s measured", cluster("place", "16", "--nodes", "node[1-4]", "--cluster", path).stdout)

    def test_of_a_folder(self):
        machine = json.loads(harness.run_soundly("discover", "--json", "--root", harness.capture("ac922-4gpu")).stdout)
        for name in ("a", "b"):
            machine["machine"]["hostname"] = name
            written(self, json.dumps(machine), f"{name}.json")
        folder = os.path.dirname(written(self, "", "ignored.txt"))
        with open(folder + ".links.json", "w", encoding="utf-8") as file:
            file.write(links(("a", "b", 10, 100)))
        for name in folder, folder + "/":
            self.assertEqual([node["bandwidth_bytes_per_s"] for node in answered("show", "--cluster", name)["nodes"]], [1_250_000_000] * 2)

    def test_a_file_that_does_not_fit(self):
        path = self.described()
        written(self, links(("node1", "gone", 10, 100), ("node1", "node2", 80, 100)), "cluster.links.json")
        result = cluster("show", "--cluster", path)
        self.assertIn("80 Gb/s measured", result.stdout)
        self.assertIn("1 pair has a node that the cluster lacks", result.stderr)
        written(self, "{}", "cluster.links.json")
        result = cluster("show", "--cluster", path)
        self.assertEqual(result.returncode, 0)
        self.assertNotIn("measured", result.stdout)
        self.assertIn("measured links are left out: ", result.stderr)

    def test_files_of_several_runs_are_merged(self):
        path = self.described()
        one = written(self, links(("node1", "node2", 80, 100)), "one.json")
        two = written(self, links(("node2", "node1", 90, 110)), "two.json")
        said = cluster("measure", one, two, "--cluster", path, "--dry-run")
        self.assertIn("would write 2 pairs to", said.stderr)
        kept = os.path.join(os.path.dirname(path), "cluster.links.json")
        self.assertFalse(os.path.exists(kept))
        value = answered("measure", one, two, "--cluster", path)
        self.assertEqual(value["file"], kept)
        self.assertEqual([(pair["from"], pair["to"], pair["hops"], pair["to_bytes_per_s"], pair["round_trip_ns"], pair["address"], pair["error"])
                          for pair in value["pairs"]],
                         [("node1", "node2", 1, 10_000_000_000, 100_000, None, None), ("node2", "node1", 1, 11_250_000_000, 110_000, None, None)])
        text = cluster("measure", one, "--cluster", path).stdout  # the pair from the other file stays
        for words in ("node2  node1  1", "from row to column", "Gb/s   node1  node2", "node1  -      90.0"):
            self.assertIn(words, text)
        self.assertIn("90 Gb/s measured", cluster("show", "--cluster", path).stdout)

    def test_plans(self):
        path = self.described()
        for words, nodes in (((), [1, 3, 4, 5, 6, 7, 8]), (("--sample",), [3, 6]), (("--nodes", "node[1-4]", "--avoid", "node3"), [1, 4])):
            said = cluster("measure", "--from", "node2", "--dry-run", *words, "--cluster", path).stderr
            self.assertIn("would measure from the node 'node2'", said)
            self.assertEqual([line.split("to the node ")[1] for line in said.splitlines() if "to the node" in line],
                             [f"'node{number}' at node{number}:50051" for number in nodes])

    def test_addresses_of_runtimes(self):
        path = written(self, "schema: aitherion.cluster/1\nnodes:\n- {names: 'n[1-2]', runtime: '10.0.0.[7-8]:5000'}\n- {names: x, runtime: '[fd00::1]:50051'}\n")
        said = cluster("measure", "--from", "n1", "--dry-run", "--cluster", path).stderr
        self.assertIn("'n2' at 10.0.0.8:5000", said)
        self.assertIn("'x' at [fd00::1]:50051", said)


class WrongWords(unittest.TestCase):
    def test_each_is_refused(self):
        for words, code, message in (
                (("place", *EXAMPLE), 2, "K"),
                (("place", "0", *EXAMPLE), 2, "'0' is no number for K"),
                (("place", "many", *EXAMPLE), 2, "'many' is no number for K"),
                (("place", "65", *EXAMPLE), 1, "64 free GPUs, fewer than 65"),
                (("place", "8", "--per-node", "0", *EXAMPLE), 2, "no number for --per-node"),
                (("place", "9", "--per-node", "2", *EXAMPLE), 2, "no multiple of 2"),
                (("place", "8", "--within", "house", *EXAMPLE), 2, "house"),
                (("place", "33", "--within", "rack", *EXAMPLE), 1, "no rack has 33 free GPUs"),
                (("place", "8", "--policy", "x", *EXAMPLE), 2, "'x'"),
                (("place", "8", "--nodes", "node9", *EXAMPLE), 1, "no node 'node9' of --nodes"),
                (("place", "8", "--nodes", "node[1", *EXAMPLE), 2, "bracket is not closed"),
                (("place", "8", "--avoid", "x", *EXAMPLE), 1, "no node 'x' of --avoid"),
                (("place", "1", "--avoid", "node[1-8]", *EXAMPLE), 1, "0 free GPUs"),
                (("estimate", "all-reduce", "--size", "1M", *EXAMPLE), 2, "number of GPUs is missing"),
                (("estimate", "all-reduce", "--gpus", "8", *EXAMPLE), 2, "size of the buffer is missing"),
                (("estimate", "all-reduce", "--gpus", "8", "--size", "0", *EXAMPLE), 2, "'0' is no size"),
                (("estimate", "all-reduce", "--gpus", "x", "--size", "1M", *EXAMPLE), 2, "'x' is no number for --gpus"),
                (("estimate", "all", "--gpus", "8", "--size", "1M", *EXAMPLE), 2, "all"),
                (("measure", "--from", "node9", *EXAMPLE), 1, "no node 'node9' of --from"),
                (("measure", *EXAMPLE), 1, "is no node of the cluster"),
                (("measure", "--from", "node1", "--nodes", "node1", *EXAMPLE), 1, "no other node to measure from 'node1'"),
                (("measure", "/nonexistent.json", *EXAMPLE), 1, "/nonexistent.json"),
                (("measure", "--time", "0", *EXAMPLE), 2, "'0' is not a time in seconds from 0.1 to 3600"),
                (("measure", "--time", "x", *EXAMPLE), 2, "'x' is not a time"),
                (("show", "--cluster", "/nonexistent.yaml"), 1, "/nonexistent.yaml"),
                (("show", "more", *EXAMPLE), 2, "more"),
                (("show", "--cluster"), 2, "--cluster")):
            with self.subTest(words=words):
                result = cluster(*words)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(message, result.stderr)

    def test_hints_name_the_file_of_the_cluster(self):
        path = written(self, "schema: aitherion.cluster/1\nnodes:\n- {names: n1, gpus: 4}\n", "my cluster.yaml")
        for words in (("place", "5"), ("place", "8", "--per-node", "8"), ("place", "1", "--nodes", "x"), ("measure", "--from", "x")):
            with self.subTest(words=words):
                self.assertIn(f"hint: aitherion cluster show --cluster '{path}'\n", cluster(*words, "--cluster", path).stderr)

    def test_faults_of_a_description(self):
        head = "schema: aitherion.cluster/1\n"
        for text, message in (
                ("", "no document"),
                ("nodes: []\n", "the key 'schema' is missing"),
                ("schema: aitherion.cluster/2\n", "must be aitherion.cluster/1"),
                (head + "node: []\n", "did you mean 'nodes'?"),
                (head + "nodes: []\n", "the cluster has no nodes"),
                (head + "nodes:\n- {gpus: 4}\n", ":3:3: the key 'nodes.?.names' is missing"),
                (head + "nodes:\n- {names: n1, gpus: four}\n", ":3:21: 'nodes.n1.gpus' must be a whole number from 0 to 64"),
                (head + "nodes:\n- {names: n1, gpus: 65}\n", "from 0 to 64, not '65'"),
                (head + "nodes:\n- {names: n1, bandwidth_gbps: 0}\n", "a number above 0"),
                (head + "nodes:\n- {names: n1, latency_us: -1}\n", "a number above 0"),
                (head + "nodes:\n- {names: n1, numa_nodes: 0}\n", "from 1 to 64"),
                (head + "nodes:\n- {names: 'n[1-', gpus: 1}\n", ":3:11: 'n[1-' is no list of hosts"),
                (head + "nodes:\n- {names: 'n[1-2]', runtime: 'a:1'}\n", ":3:30: 'a:1' is no list of 2 addresses"),
                (head + "nodes:\n- {names: 'n[1-2]', runtime: '10.0.0.[1-2]'}\n", "is no list of 2 addresses with one port, as in 10.0.0.[1-2]:50051"),
                (head + "nodes:\n- {names: n1, switch: leaf}\n", ":3:23: there is no switch 'leaf'"),
                (head + "switches: [{name: a, above: b}]\nnodes: [{names: n1}]\n", ":2:29: there is no switch 'b'"),
                (head + "switches: [{name: a}, {name: a}]\nnodes: [{names: n1}]\n", ":2:30: there is a switch 'a' already"),
                (head + "switches: [{name: a, above: a}]\nnodes: [{names: n1}]\n", "it is above itself"),
                (head + "nodes: [{names: n1, gpus: 2, busy: [2]}]\n", "the nodes 'n1' have no GPU 2: they have 2"),
                (head + "nodes: [{names: n1}, {names: n1}]\n", "two nodes have the name 'n1'"),
                (head + "nodes: [{names: n1, machine: none.json}]\n", "the machine of 'n1'"),
                (head + "slurm_topology: none.conf\n", "none.conf"),
                (head + "nodes: {a: 1}\n", "'nodes' must be a list of mappings")):
            with self.subTest(message=message):
                result = cluster("show", "--cluster", written(self, text))
                self.assertEqual(result.returncode, 1, result.stderr + result.stdout)
                self.assertIn(message, result.stderr)

    def test_counts_and_a_machine_exclude_each_other(self):
        machine = harness.run_soundly("discover", "--json", "--root", harness.capture("ac922-4gpu")).stdout
        written(self, machine, "m.json")
        path = written(self, "schema: aitherion.cluster/1\nnodes: [{names: n1, machine: m.json, gpus: 4}]\n")
        self.assertIn("give one of both", cluster("show", "--cluster", path).stderr)

    def test_a_folder_without_machines(self):
        folder = os.path.dirname(written(self, "", "x.txt"))
        result = cluster("show", "--cluster", folder)
        self.assertIn("has no file *.json", result.stderr)
        written(self, "{}", "x.json")
        self.assertIn("schema is not aitherion.machine/1", cluster("show", "--cluster", folder).stderr)


if __name__ == "__main__":
    harness.main()
