#!/usr/bin/env python3
"""States of a machine: discover, init, health and start say the same about each.

One row of STATES is one state of a machine. The document in use is that of the whole machine, or the one that init proposes now.
"""
import json
import os
import tempfile
import unittest

import cli  # noqa: F401 - finds harness
import harness

WHOLE = "ac922-4gpu"
DRIVER, LOST, OWNER = "gpu-without-driver", "gpu-lost", "gpu-memory-unknown"
GONE, BUS = "memory-node-missing", "memory-owner-unknown"

# capture or topology file: (warnings of discover; words in the comments of init, or None for no comment;
#   with the document of the whole machine: faults and warnings of health, faults of start;
#   with the document that init proposes: the same three)
STATES = {
    "ac922-4gpu": ([], None, [], [], [], [], [], []),
    "ac922-4gpu-memory-offline": (["gpu-memory-offline"], None, ["gpu-memory-offline"], [], [], ["gpu-memory-offline"], [], []),
    "ac922-4gpu-no-driver": ([DRIVER], "driver does not run the GPU 0004:04:00.0", [DRIVER], [], [DRIVER], [DRIVER], [], [DRIVER]),
    "ac922-4gpu-no-driver-no-nodes": ([DRIVER], "memory are not known, and CUDA", [DRIVER], [], [DRIVER], [DRIVER], [], [DRIVER]),
    "ac922-4gpu-gpu-lost": ([LOST], "driver does not reach the GPU 0004:05:00.0", [LOST], [], [LOST], [LOST], [], [LOST]),
    "ac922-4gpu-vfio": ([DRIVER], "driver does not run the GPU 0004:05:00.0", [DRIVER], [], [DRIVER], [DRIVER], [], [DRIVER]),
    "ac922-4gpu-memory-gone": ([GONE], "names NUMA node 255 as its memory, but", [GONE], [], [GONE], [GONE], [], [GONE]),
    "ac922-4gpu-off-bus": ([BUS], "Left out: NUMA node 252, memory of GPUs", ["gpu-missing"], [BUS], ["gpu-missing"], [], [BUS], []),
    "ac922-4gpu-rdma-inactive": (["no-usable-gid"], None, ["rdma-port-down"], [], [], [], ["no-usable-gid"], []),
    "ac922-4gpu-no-owner.hwloc2.xml": ([OWNER], "memory_nodes has all that may be it: 252-255", [], [OWNER], [], [], [OWNER], []),
    "ac922-4gpu-socket-offline": (["cpus-offline"], "NUMA node 8, because all its CPUs are offline", ["node-cpus-offline"],
                                  ["cpus-offline"], ["node-cpus-offline"], [], ["cpus-offline"], []),
    "ac922-4gpu-socket-gathered": (["cpus-offline"], "NUMA node 8, because all its CPUs are offline", ["node-cpus-offline"],
                                   ["cpus-offline"], ["node-cpus-offline"], [], ["cpus-offline"], []),
    "ac922-4gpu-socket-without-memory": (["node-without-memory"], "NUMA node 8 has no memory", ["memory-missing"],
                                         ["node-without-memory"], ["memory-missing"], [], ["node-without-memory"], []),
}


def source_of(name):
    return "--topology" if name.endswith(".xml") else "--root", harness.capture(name)


class States(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.path = os.path.join(tempfile.mkdtemp(dir=harness.scratch()), "topology.yaml")
        self.whole = self.propose(source_of(WHOLE))

    def propose(self, source):
        result = harness.run("init", "--dry-run", "--json", *source)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["text"]

    def judge(self, source, text):
        """Returns the codes of health's faults and warnings, and of start's faults."""
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)
        health = json.loads(harness.run("health", "--json", "-c", self.path, *source).stdout)
        plan = harness.run("start", "--dry-run", "--json", "-c", self.path, *source)
        start = json.loads(plan.stdout or plan.stderr)

        def codes(status):
            return sorted({check["code"] for check in health["checks"] if check["status"] == status})
        return codes("fault"), codes("warning"), sorted({fault["code"] for fault in start.get("faults", [])})

    def test_all_commands_say_the_same(self):
        for name, (warnings, comment, *expected) in STATES.items():
            with self.subTest(name):
                source = source_of(name)
                machine = json.loads(harness.run("discover", "--json", *source).stdout)
                self.assertEqual(sorted({warning["code"] for warning in machine["warnings"]}), warnings)
                text = self.propose(source)
                comments = text[text.index("All keys:"):text.index("schema:")]
                self.assertEqual("\n# " in comments, comment is not None, comments)
                self.assertIn(comment or "", comments)
                self.assertEqual([*self.judge(source, self.whole), *self.judge(source, text)], expected)


if __name__ == "__main__":
    harness.main()
