#!/usr/bin/env python3
"""aitherion cluster measure: pairs of nodes whose runtimes answer, refuse, or are away. tests/cli/test_cluster.py has the rest."""
import json
import os
import unittest

import runtime
from runtime import Server, harness

OTHER_KEY = b"another key of any bytes"


class Measure(unittest.TestCase):
    def described(self, *addresses):
        """A description with a node for each address, n1 and so on."""
        folder = os.path.join(harness.scratch(), self.id())
        os.makedirs(folder, exist_ok=True)
        self.path = os.path.join(folder, "cluster.yaml")
        self.kept = os.path.join(folder, "cluster.links.json")
        rows = [f"- {{names: n{number}, runtime: '{address}', gpus: 1}}\n" for number, address in enumerate(addresses, 1)]
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("schema: aitherion.cluster/1\nnodes:\n" + "".join(rows))

    def measure(self, *words, key=runtime.KEY):
        return harness.run("cluster", "measure", "--cluster", self.path, "--key", runtime.key_file(key), "--time", "0.1", *words)

    def answered(self, *words):
        result = self.measure(*words, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        value, faults = harness.check_json(result.stdout)
        self.assertEqual(faults, [])
        return value["pairs"], result.stderr

    def pairs_kept(self):
        with open(self.kept, encoding="utf-8") as file:
            return {(pair["from"], pair["to"]): pair for pair in json.load(file)["pairs"]}

    def test_runs_on_each_node_fill_the_file(self):
        with Server("--sim") as one, Server("--sim") as two, Server("--sim") as three:
            self.described(one.address, two.address, three.address)
            pairs, said = self.answered("--from", "n1")
            self.assertIn(f"wrote '{self.kept}'", said)
            self.assertEqual([(pair["from"], pair["to"], pair["address"], pair["hops"], pair["error"]) for pair in pairs],
                             [("n1", "n2", two.address, 1, None), ("n1", "n3", three.address, 1, None)])
            for pair in pairs:
                for name in ("round_trip_ns", "to_bytes_per_s", "from_bytes_per_s"):
                    self.assertGreater(pair[name], 0, name)
            self.assertEqual(set(self.pairs_kept()), {("n1", "n2"), ("n1", "n3")})
            self.answered("--from", "n2", "--sample")
            self.answered("--from", "n3", "--nodes", "n1")
            self.assertEqual(set(self.pairs_kept()), {("n1", "n2"), ("n1", "n3"), ("n2", "n3"), ("n3", "n1")})
            shown = harness.run("cluster", "show", "--cluster", self.path, "--json")
            for node in json.loads(shown.stdout)["nodes"]:
                self.assertGreater(node["latency_ns"], 0)
                self.assertTrue(node["measured"])
            text = self.measure("--from", "n2", "--nodes", "n1").stdout
            for words in ("From  To  Switches", "from row to column", "Gb/s  n1"):
                self.assertIn(words, text)

    def test_another_file(self):
        with Server("--sim") as server:
            self.described("unix:/nobody", server.address)
            path = self.kept + ".mine"
            self.answered("--from", "n1", "-o", path)
            self.assertFalse(os.path.exists(self.kept))
            merged = self.measure(path)
            self.assertEqual((merged.returncode, set(self.pairs_kept())), (0, {("n1", "n2")}), merged.stderr)

    def test_a_node_that_is_away_does_not_end_the_run(self):
        with Server("--sim") as server:
            self.described("unix:/nobody", "unix:/nobody", server.address)
            pairs, said = self.answered("--from", "n1")
            self.assertEqual([pair["error"] is None for pair in pairs], [False, True])
            self.assertIn("/nobody", pairs[0]["error"])
            self.assertIn("'n2' was not measured: ", said)
            self.assertEqual(set(self.pairs_kept()), {("n1", "n3")})
            self.assertIn("failed", self.measure("--from", "n1").stdout)

    def test_no_pair_at_all_is_a_failure(self):
        with Server("--sim", key=OTHER_KEY) as server:
            self.described("unix:/nobody", server.address)
            result = self.measure("--from", "n1")
            self.assertEqual((result.returncode, result.stdout, os.path.exists(self.kept)), (1, "", False))
            self.assertIn("no pair was measured: ", result.stderr)
            self.assertIn("key", result.stderr)


if __name__ == "__main__":
    harness.main()
