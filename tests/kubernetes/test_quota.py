#!/usr/bin/env python3
"""ComputeQuotas in aitherion kubernetes scheduler: what they count, whom they concern, faults, and pods that come at once."""
import concurrent.futures
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))

import apiserver  # noqa: E402
import harness  # noqa: E402
from test_scheduler import Base  # noqa: E402


class Quotas(Base):
    def setUp(self):
        super().setUp()
        self.cluster.add_node("n", 8)

    def put(self, spec, name="q", space="default", kind="ADDED"):
        """Writes a quota, and waits until the extender has seen it: by a second one, of a namespace of its own, that watches bring later."""
        self.cluster.put(apiserver.QUOTAS, f"{space}/{name}", {"metadata": {"name": name, "namespace": space}, "spec": spec}, kind)

    def pod(self, name, limits, **metadata):
        pod = self.cluster.add_pod(name, limits)
        spec = metadata.pop("spec", {})
        pod["metadata"].update(metadata)
        pod["spec"].update(spec)
        self.cluster.put(apiserver.PODS, name, pod, "MODIFIED")
        return pod

    def reason(self, pod):
        """Binds the pod and returns None, or returns why it was refused."""
        answer = self.extender.schedule(pod, ["n"])
        return answer["n"] if isinstance(answer, dict) else answer[1] or None

    def until(self, pod, words):
        """Waits for a change of a quota to arrive."""
        self.assertTrue(harness.wait_until(lambda: words in (self.extender.post(
            "filter", {"Pod": pod, "NodeNames": ["n"]})["FailedAndUnresolvableNodes"].get("n", "fits"))))

    def test_the_number_of_gpus(self):
        self.put({"hard": {"gpu": 3}})
        self.start()
        self.assertIsNone(self.reason(self.pod("a", {"aitherion.io/gpu": "2"})))
        self.assertEqual(self.reason(self.pod("b", {"aitherion.io/gpu": "2"})),
                         "the ComputeQuota 'q' allows 3 of aitherion.io/gpu: pods have 2, and this one wants 2")
        self.assertIsNone(self.reason(self.pod("c", {"aitherion.io/gpu": "1"})))
        self.cluster.delete_pod("a")
        self.until(self.cluster.pod("b"), "fits")
        self.assertIsNone(self.reason(self.cluster.pod("b")))

    def test_memory_and_time(self):
        self.put({"hard": {"vram": "20Gi"}}, "memory")
        self.put({"hard": {"aitherion.io/gpu-share": "100"}}, "time")
        self.start()
        self.assertIn("limits aitherion.io/gpu-share, and the pod does not state it", self.reason(self.pod("a", {"ai.compute/vram": "10Gi"})))
        self.assertIn("limits aitherion.io/gpu-memory, and the pod does not state it", self.reason(self.pod("b", {"aitherion.io/gpu": "1"})))
        both = {"aitherion.io/gpu-memory": "10Gi", "aitherion.io/gpu-share": "50"}
        self.assertIsNone(self.reason(self.pod("c", both)))
        self.assertIn("'memory' allows 21474836480", self.reason(self.pod("d", {**both, "aitherion.io/gpu-memory": "11Gi"})))
        self.assertIn("'time' allows 100", self.reason(self.pod("e", {**both, "aitherion.io/gpu-share": "51"})))
        self.assertIsNone(self.reason(self.pod("f", both)))

    def test_throughput(self):
        """The GPUs are A100s, with 312 TFLOPS each."""
        self.put({"hard": {"tflops-fp16": "600"}})
        self.start()
        self.assertIsNone(self.reason(self.pod("a", {"aitherion.io/gpu": "2", "aitherion.io/gpu-tflops": "312"})))
        bound = self.cluster.pod("a")["metadata"]["annotations"]
        self.assertEqual((bound["aitherion.io/share-of-each-gpu"], len(bound["aitherion.io/gpus"].split(","))), ("50", 2))
        self.assertEqual(self.reason(self.pod("b", {"ai.compute/tflops-fp16": "289"})),
                         "the ComputeQuota 'q' allows 600 of aitherion.io/gpu-tflops: pods have 312, and this one wants 289")
        self.assertIn("limits aitherion.io/gpu-tflops, and the pod does not state it", self.reason(self.pod("c", {"aitherion.io/gpu": "1"})))
        model = {"aitherion.io/gpu-model": "a100-sxm4-80gb"}
        self.assertIn("and this one wants 312", self.reason(self.pod("d", {"aitherion.io/gpu": "1"}, annotations=model)))
        self.assertIsNone(self.reason(self.pod("e", {"aitherion.io/gpu-share": "50"}, annotations=model)))

    def test_other_pods_are_not_concerned(self):
        self.put({"hard": {"gpu": 0}, "scopes": [{"priority": "high"}, {"priority": "higher"}], "selector": {"matchLabels": {"team": "a"}}})
        self.put({"hard": {"gpu": 0}}, space="other")
        self.start()
        labels, priority = {"team": "a", "more": "x"}, {"priorityClassName": "higher"}
        one = {"aitherion.io/gpu": "1"}
        self.assertIsNotNone(self.reason(self.pod("a", one, labels=labels, spec=priority)))
        self.assertIsNone(self.reason(self.pod("b", one, labels=labels)))
        self.assertIsNone(self.reason(self.pod("c", one, labels=labels, spec={"priorityClassName": "low"})))
        self.assertIsNone(self.reason(self.pod("d", one, labels={"team": "b"}, spec=priority)))
        self.assertIsNone(self.reason(self.pod("e", one, spec=priority)))
        self.assertIsNotNone(self.reason(self.pod("f", one, namespace="other")))

    def test_changes_of_a_quota(self):
        self.start()
        self.put({"hard": {"gpu": 1}})
        pod = self.pod("a", {"aitherion.io/gpu": "2"})
        self.until(pod, "allows 1 of")
        self.put({"hard": {"gpu": 0}}, kind="MODIFIED")
        self.until(pod, "allows 0 of")
        self.put({"hard": {"gpu": 0}}, kind="DELETED")
        self.until(pod, "fits")

    def test_a_quota_with_a_fault_allows_nothing(self):
        self.put({"hard": {"tflops-fp32": "100"}})
        self.start()
        self.assertEqual(self.reason(self.pod("a", {"aitherion.io/gpu": "1"})),
                         "the ComputeQuota 'q' has a fault: 'tflops-fp32' cannot be limited: give gpu, gpu-memory, gpu-share or gpu-tflops")

    def test_forty_pods_at_once(self):
        """Each of them passes the filter alone; the bindings come together."""
        self.put({"hard": {"gpu": 5}})
        for i in range(4):
            self.cluster.add_node(f"n{i}", 8)
        extender = self.start()
        pods = [self.pod(f"p{i}", {"aitherion.io/gpu": "1"}) for i in range(40)]
        for pod in pods:
            self.assertEqual(extender.post("filter", {"Pod": pod, "NodeNames": ["n"]})["NodeNames"], ["n"])
        self.assertTrue(harness.wait_until(lambda: extender.metric("aitherion_scheduler_pods_pending") == 40))
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda at: extender.bind(pods[at], f"n{at % 4}"), range(40)))
        self.assertEqual(sum(not answer for answer in answers), 5)
        self.assertEqual(sum("the ComputeQuota 'q' allows 5" in answer for answer in answers), 35)

    def test_a_killed_extender_counts_bound_pods(self):
        self.put({"hard": {"gpu": 2}})
        first = self.start()
        self.assertIsNone(self.reason(self.pod("a", {"aitherion.io/gpu": "2"})))
        first.end(9)
        self.start()
        self.assertIn("pods have 2", self.reason(self.pod("b", {"aitherion.io/gpu": "1"})))

    def test_a_server_without_the_kind(self):
        with self.cluster.changed:
            del self.cluster.objects[apiserver.QUOTAS]
        self.start()
        self.assertIsNone(self.reason(self.pod("a", {"aitherion.io/gpu": "1"})))


if __name__ == "__main__":
    unittest.TestCase.maxDiff = None
    harness.main()
