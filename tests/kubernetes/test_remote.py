#!/usr/bin/env python3
"""aitherion kubernetes scheduler and pods whose GPUs may be on another node than they are."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))

import harness  # noqa: E402
from test_scheduler import Base, overbooked  # noqa: E402

ANY = {"aitherion.io/gpu-location": "any-node"}


class Remote(Base):
    def pod(self, name, gpus="1", annotations=None):
        return self.cluster.add_pod(name, {"aitherion.io/gpu": gpus}, {**ANY, **(annotations or {})})

    def annotations(self, name):
        return {key.removeprefix("aitherion.io/"): value for key, value in self.cluster.pod(name)["metadata"]["annotations"].items()}

    def test_a_node_without_gpus_runs_the_pod(self):
        self.cluster.add_node("gpu1", 2, runtime="10.0.0.1:50051")
        extender = self.start()
        pods = [self.pod(name) for name in "abc"]
        self.assertEqual(extender.schedule(pods[0], ["cpu1", "cpu2"]), ("cpu1", ""))
        self.assertEqual(extender.schedule(pods[1], ["cpu2"]), ("cpu2", ""))
        self.assertIn("there is no ComputeNode", extender.schedule(pods[2], ["cpu1"])["cpu1"])
        self.assertEqual(overbooked(self.cluster), {})
        annotations = self.annotations("a")
        self.assertEqual({key: annotations[key] for key in ("gpu-node", "runtime")}, {"gpu-node": "gpu1", "runtime": "10.0.0.1:50051"})
        self.cluster.delete_pod("a")
        harness.wait_until(lambda: extender.metric("aitherion_scheduler_gpus_used") == 1)
        self.assertEqual(extender.schedule(pods[2], ["cpu1"]), ("cpu1", ""))

    def test_the_own_gpus_come_first(self):
        self.cluster.add_node("gpu1", 2, runtime="10.0.0.1:50051")
        extender = self.start()
        pod = self.pod("a")
        scores = extender.post("prioritize", {"Pod": pod, "NodeNames": ["cpu1", "gpu1"]})
        self.assertEqual(scores[0]["Score"], scores[1]["Score"] // 2)
        self.assertGreater(scores[0]["Score"], 0)
        self.assertEqual(extender.schedule(pod, ["cpu1", "gpu1"]), ("gpu1", ""))
        self.assertNotIn("gpu-node", self.annotations("a"))

    def test_the_best_node_with_a_runtime(self):
        self.cluster.add_node("fast", 4)  # without a runtime, no other node reaches its GPUs
        self.cluster.add_node("late", 4, runtime="10.0.0.2:50051", phase="NotReady")
        self.cluster.add_node("slow", 4, near=50, far=50, runtime="10.0.0.3:50051")
        self.cluster.add_node("good", 4, runtime="10.0.0.4:50051")
        extender = self.start()
        for name, node in (("a", "good"), ("b", "good"), ("c", "slow"), ("d", "slow")):
            self.assertEqual(extender.schedule(self.pod(name, "2"), ["cpu1"]), ("cpu1", ""))
            self.assertEqual(self.annotations(name)["gpu-node"], node)
        self.assertIn("cpu1", extender.schedule(self.pod("e"), ["cpu1"]))
        self.assertEqual(overbooked(self.cluster), {})

    def test_a_full_node_runs_a_pod_with_gpus_of_another(self):
        for i in (1, 2):
            self.cluster.add_node(f"gpu{i}", 1, runtime=f"10.0.0.{i}:50051")
        extender = self.start()
        self.assertEqual(extender.schedule(self.pod("a"), ["gpu1"]), ("gpu1", ""))
        self.assertEqual(extender.schedule(self.pod("b"), ["gpu1"]), ("gpu1", ""))
        self.assertEqual(self.annotations("b")["gpu-node"], "gpu2")
        local = self.cluster.add_pod("c", {"aitherion.io/gpu": "1"})
        self.assertEqual(extender.schedule(local, ["gpu2"]), {"gpu2": "the pod wants a GPU, and 0 of 1 have room now"})

    def test_a_killed_extender_remembers_them(self):
        self.cluster.add_node("gpu1", 1, runtime="10.0.0.1:50051")
        first = self.start()
        self.assertEqual(first.schedule(self.pod("a"), ["cpu1"]), ("cpu1", ""))
        first.end(9)
        second = self.start()
        self.assertEqual(second.metric("aitherion_scheduler_gpus_used"), 1)
        self.assertIn("gpu1", second.schedule(self.pod("b"), ["gpu1"]))

    def test_pods_on_other_nodes_are_no_victims(self):
        """kube-scheduler evicts only pods of the node."""
        self.cluster.add_node("gpu1", 1, runtime="10.0.0.1:50051")
        extender = self.start()
        self.assertEqual(extender.schedule(self.pod("a"), ["cpu1"]), ("cpu1", ""))
        pod = self.pod("b")
        pod["spec"]["priority"] = 100
        answer = extender.post("preempt", {"Pod": pod, "NodeNameToMetaVictims": {"gpu1": {"Pods": [], "NumPDBViolations": 0}}})
        self.assertEqual(answer, {"NodeNameToMetaVictims": {}})

    def test_an_annotation_with_a_fault(self):
        self.cluster.add_node("gpu1", 1, runtime="10.0.0.1:50051")
        extender = self.start()
        pod = self.pod("a", annotations={"aitherion.io/gpu-location": "mars"})
        self.assertIn("'aitherion.io/gpu-location' is 'mars': give same-node or any-node", extender.schedule(pod, ["gpu1"])["gpu1"])


if __name__ == "__main__":
    unittest.TestCase.maxDiff = None
    harness.main()
