#!/usr/bin/env python3
"""aitherion kubernetes scheduler in a real control plane: kube-apiserver, kube-scheduler and etcd that tests/kubernetes/build has made.

The numbers that are printed are measured; no test depends on them.
"""
import base64
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))

import apiserver  # noqa: E402
import control_plane  # noqa: E402
import harness  # noqa: E402
from test_scheduler import Extender  # noqa: E402
from test_webhook import Webhook  # noqa: E402

MANY = 1000  # nodes


def status_of(gpus=8, **others):
    """Returns the status that an agent publishes of a node."""
    cluster = apiserver.Cluster()
    cluster.add_node("n", gpus, **others)
    return cluster.objects[apiserver.NODES]["n"]["status"]


def named(status, name):
    """The status with the GPUs of another node."""
    return {**status, "devices": [{**device, "uuid": f"{name}-{i}"} for i, device in enumerate(status["devices"])]}


def buckets(extender, verb):
    """Returns the count of requests, and the limits in seconds below which half and 99 % of them lie."""
    prefix = f'aitherion_scheduler_request_seconds_bucket{{verb="{verb}",le="'
    rows = [line.removeprefix(prefix).split('"} ') for line in extender.ask("GET", "/metrics")[1].splitlines() if line.startswith(prefix)]
    count = int(rows[-1][1])
    return count, *(next(limit for limit, below in rows if int(below) >= part * count) for part in (0.5, 0.99))


class Base(unittest.TestCase):
    """A control plane for the tests of a class, without nodes and pods at the beginning of each test."""

    @classmethod
    def setUpClass(cls):
        if control_plane.LACKS:
            raise unittest.SkipTest(control_plane.LACKS)
        cls.plane = control_plane.ControlPlane()
        cls.addClassCleanup(cls.plane.close)
        cls.plane.start_etcd()
        cls.plane.start_apiserver()
        cls.plane.prepare()

    def setUp(self):
        self.extender = None

    def tearDown(self):
        for name in [name for name in self.plane.processes if name.startswith("kube-scheduler")]:
            self.plane.kill(name)
        for path in ("/api/v1/namespaces/default/pods?gracePeriodSeconds=0", "/api/v1/nodes", "/apis/aitherion.io/v1alpha1/computenodes",
                     "/api/v1/namespaces/default/events"):
            self.plane.ask("DELETE", path)

    def start(self, port=0):
        extender = Extender(self.plane.kubeconfig("extender"), port=port)
        self.addCleanup(lambda: extender.process.poll() is None and extender.end())
        self.wait(extender.is_ready)
        return extender

    def wait(self, claim):
        self.assertTrue(harness.wait_until(claim))

    def add_node(self, name, status, extra=None):
        self.plane.add_host(name, extra)
        self.plane.add_compute_node(name, named(status, name))

    def await_bound(self, count):
        """Waits until so many pods are bound, and makes sure that no GPU has two."""
        self.wait(lambda: len(self.plane.bound()) >= count)
        bound = self.plane.bound()
        gpus = [gpu for list_of_gpus in bound.values() for gpu in list_of_gpus]
        self.assertEqual(len(gpus), len(set(gpus)))
        return bound


class Placing(Base):
    def test_a_pod_gets_gpus_and_another_one_reasons(self):
        self.add_node("slow", status_of(near=100))
        self.add_node("fast", status_of(runtime="10.0.0.1:50051"))
        extender = self.start()
        self.plane.start_scheduler(extender.port)
        self.plane.add_pod("a", {"aitherion.io/gpu": "4"}, {"aitherion.io/numa-policy": "single-numa"})
        self.wait(lambda: self.plane.bound())
        pod = self.plane.pod("a")
        self.assertEqual(pod["spec"]["nodeName"], "fast")
        annotations = pod["metadata"]["annotations"]
        self.assertEqual(set(annotations["aitherion.io/gpus"].split(",")), {f"fast-{i}" for i in range(4)})
        self.assertEqual((annotations["aitherion.io/numa-nodes"], annotations["aitherion.io/runtime"]), ("0", "10.0.0.1:50051"))
        self.plane.add_pod("b", {"aitherion.io/gpu": "9"})
        self.wait(lambda: any("2 the pod wants 9 GPUs, and 8 of the node's 8 GPUs can be used for that" in message for message in self.plane.messages("b")))
        self.plane.add_pod("c", {"aitherion.io/gpu": "8"})
        self.wait(lambda: len(self.plane.bound()) == 2)
        self.plane.add_pod("d", {"aitherion.io/gpu": "5"})
        self.wait(lambda: any("the pod wants 5 GPUs, and 4 of 8 have room now" in message for message in self.plane.messages("d")))
        self.plane.delete_pod("a")
        self.await_bound(2)

    def test_a_pod_by_what_an_agent_publishes(self):
        self.plane.add_host("n1")
        result = harness.run_soundly("kubernetes", "agent", "--once", "--node", "n1", "--root", "ac922-4gpu", "--kubeconfig", self.plane.kubeconfig("agent"))
        self.assertEqual(result.returncode, 0, result.stderr)
        extender = self.start()
        self.plane.start_scheduler(extender.port)
        self.plane.add_pod("a", {"aitherion.io/gpu": "2"}, {"aitherion.io/numa-policy": "single-numa"})
        self.wait(lambda: self.plane.bound())
        self.assertIn(self.plane.pod("a")["metadata"]["annotations"]["aitherion.io/numa-nodes"], ("0", "8"))
        self.assertEqual(self.plane.ask("GET", "/api/v1/nodes/n1")["metadata"]["labels"]["aitherion.io/gpu-count"], "4")

    def test_forty_pods_on_one_node(self):
        self.add_node("n", status_of(10))
        extender = self.start()
        self.plane.start_scheduler(extender.port)
        begin = time.monotonic()
        for i in range(40):
            self.plane.add_pod(f"q{i}", {"aitherion.io/gpu-memory": "20Gi"})
        self.wait(lambda: len(self.plane.bound()) == 40)
        print(f"40 pods on one node: {time.monotonic() - begin:.2f} s", file=sys.stderr)
        counts = {}
        for gpus in self.plane.bound().values():
            counts[gpus[0]] = counts.get(gpus[0], 0) + 1
        self.assertEqual(counts, {f"n-{i}": 4 for i in range(10)})

    def test_a_pod_of_high_priority_evicts_the_lowest(self):
        for name, value in (("low", 1), ("middle", 5), ("high", 10)):
            self.plane.try_until("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": value})
        self.add_node("n", status_of(2), {"aitherion.io/gpu": "2"})
        extender = self.start()
        self.plane.start_scheduler(extender.port, ignored=False)
        self.plane.add_pod("keeps", {"aitherion.io/gpu": "1"}, priorityClassName="middle", terminationGracePeriodSeconds=600)
        self.plane.add_pod("goes", {"aitherion.io/gpu": "1"}, priorityClassName="low", terminationGracePeriodSeconds=600)
        self.await_bound(2)
        pod = self.plane.add_pod("new", {"aitherion.io/gpu": "1"}, priorityClassName="high")
        # kube-scheduler 1.20 does not ask extenders: its framework is made without them. Later ones do.
        victim = {"UID": self.plane.pod("goes")["metadata"]["uid"]}
        self.assertEqual(extender.post("preempt", {"Pod": pod, "NodeNameToMetaVictims": {"n": {"Pods": [], "NumPDBViolations": 0}}}),
                         {"NodeNameToMetaVictims": {"n": {"Pods": [victim], "NumPDBViolations": 0}}})
        self.wait(lambda: "deletionTimestamp" in self.plane.pod("goes")["metadata"])
        self.plane.delete_pod("goes")
        self.wait(lambda: "new" in self.plane.bound())
        self.assertNotIn("deletionTimestamp", self.plane.pod("keeps")["metadata"])
        self.await_bound(2)


class Admission(Base):
    """The objects of `aitherion kubernetes manifests`, and the webhook that they have the API server ask."""

    def setUp(self):
        super().setUp()
        self.objects = control_plane.manifests()

    def path_of(self, item):
        """The path of the kind, by the list that the API server gives."""
        version = item["apiVersion"]
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        resource = next(row for row in self.plane.ask("GET", base)["resources"] if row["kind"] == item["kind"] and "/" not in row["name"])
        return base + (f"/namespaces/{item['metadata']['namespace']}" if resource["namespaced"] else "") + "/" + resource["name"]

    def start_webhook(self):
        web, (certificate, key) = self.plane.path("web.yaml"), self.plane.ca.sign("webhook")
        with open(web, "w", encoding="utf-8") as file:
            file.write(f"tls_server_config:\n  cert_file: {certificate}\n  key_file: {key}\n")
        webhook = Webhook("--image", "registry/aitherion:1", "--binder", "aitherion-extender", "--web", web, context=self.plane.context)
        self.addCleanup(webhook.end)
        with open(self.plane.ca.file, "rb") as file:
            bundle = base64.b64encode(file.read()).decode()
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
            item = self.objects[kind, "aitherion"]
            for hook in item["webhooks"]:
                hook["clientConfig"] = {"caBundle": bundle, "url": f"https://127.0.0.1:{webhook.port}{hook['clientConfig']['service']['path']}"}
                hook["timeoutSeconds"] = 30  # the machine may be busy
            path = self.path_of(item)
            self.plane.ask("POST", path, item)
            self.addCleanup(self.plane.ask, "DELETE", f"{path}/aitherion")
        pod = {"metadata": {"generateName": "try-", "annotations": {"aitherion.io/gpus": "x"}}, "spec": {"containers": [{"name": "c", "image": "none"}]}}
        self.wait(lambda: self.refusal("POST", "/api/v1/namespaces/default/pods?dryRun=All", pod))
        return webhook

    def refusal(self, *words, **options):
        """Returns the answer of a refused request, or None."""
        try:
            self.plane.ask(*words, **options)
        except control_plane.Refusal as refusal:
            return str(refusal)
        return None

    def test_the_api_server_takes_all_objects(self):
        namespace = self.objects["Namespace", "aitherion"]
        self.plane.ask("POST", "/api/v1/namespaces", namespace)
        self.addCleanup(self.plane.ask, "DELETE", "/api/v1/namespaces/aitherion")
        for (kind, name), item in self.objects.items():
            if kind in ("Namespace", "CustomResourceDefinition"):  # are there already
                continue
            with self.subTest(kind=kind, name=name):
                item["metadata"]["name"] += "-again"  # the rights are there already
                self.plane.ask("POST", self.path_of(item) + "?dryRun=All", item)

    def test_a_pod_with_a_gpu_of_another_node(self):
        self.start_webhook()
        self.plane.add_host("host")
        self.add_node("gpu", status_of(2, runtime="10.0.0.1:50051"))
        self.plane.ask("PATCH", "/api/v1/nodes/gpu", {"spec": {"unschedulable": True}}, kind="application/merge-patch+json")
        extender = self.start()
        self.plane.start_scheduler(extender.port)
        pod = self.plane.add_pod("a", {"aitherion.io/gpu-memory": "16Gi"}, {"aitherion.io/gpu-location": "any-node"})
        self.assertEqual([container["name"] for container in pod["spec"]["initContainers"]], ["aitherion-library"])
        variables = {variable["name"]: variable for variable in pod["spec"]["containers"][0]["env"]}
        self.assertEqual(variables["AITHERION_SERVER"]["valueFrom"]["fieldRef"]["fieldPath"], "metadata.annotations['aitherion.io/runtime']")
        self.wait(lambda: self.plane.bound())
        pod = self.plane.pod("a")
        annotations = pod["metadata"]["annotations"]
        self.assertEqual((pod["spec"]["nodeName"], annotations["aitherion.io/gpu-node"], annotations["aitherion.io/runtime"]), ("host", "gpu", "10.0.0.1:50051"))

    def test_what_may_not_be_written(self):
        self.start_webhook()
        self.plane.add_host("n")
        pods = "/api/v1/namespaces/default/pods"
        own = {"metadata": {"annotations": {"aitherion.io/gpus": "GPU-a"}}}
        self.plane.add_pod("a", {"cpu": "1"})
        self.assertIn("only the scheduler writes the annotation 'aitherion.io/gpus'",
                      self.refusal("PATCH", f"{pods}/a", own, kind="application/merge-patch+json"))
        self.assertIn("only the scheduler writes", self.refusal("PATCH", f"{pods}/a/status", own, kind="application/merge-patch+json") or "")
        for path in (f"{pods}/a", f"{pods}/a/status"):
            self.assertIsNone(self.refusal("PATCH", path, {"metadata": {"annotations": {"own": path}}}, kind="application/merge-patch+json"))
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a", **own["metadata"]},
                   "target": {"apiVersion": "v1", "kind": "Node", "name": "n"}}
        for path in (f"{pods}/a/binding", "/api/v1/namespaces/default/bindings"):
            self.assertIn("only the scheduler writes", self.refusal("POST", path, binding) or "")
        self.assertNotIn("nodeName", self.plane.pod("a")["spec"])
        with self.assertRaisesRegex(control_plane.Refusal, "the resource 'aitherion.io/gpus' is not known"):
            self.plane.add_pod("b", {"aitherion.io/gpus": "1"})
        quotas = "/apis/aitherion.io/v1alpha1/namespaces/default/computequotas"
        quota = {"apiVersion": "aitherion.io/v1alpha1", "kind": "ComputeQuota", "metadata": {"name": "q"}, "spec": {"hard": {"tflops": 1}}}
        self.assertIn("'tflops' cannot be limited", self.refusal("POST", quotas, quota))

    def test_a_quota(self):
        quotas = "/apis/aitherion.io/v1alpha1/namespaces/default/computequotas"
        self.plane.ask("POST", quotas, {"apiVersion": "aitherion.io/v1alpha1", "kind": "ComputeQuota", "metadata": {"name": "q"},
                                        "spec": {"hard": {"gpu": 3, "gpu-share": "300"}}})
        self.addCleanup(self.plane.ask, "DELETE", f"{quotas}/q")
        self.add_node("n", status_of(8))
        extender = self.start()
        self.plane.start_scheduler(extender.port)
        for i in range(8):
            self.plane.add_pod(f"p{i}", {"aitherion.io/gpu": "1"})
        self.wait(lambda: len(self.plane.bound()) == 3)
        waiting = next(pod["metadata"]["name"] for pod in self.plane.pods() if "nodeName" not in pod["spec"])
        self.wait(lambda: any("the ComputeQuota 'q' allows 3 of aitherion.io/gpu: pods have 3, and this one wants 1" in message
                              for message in self.plane.messages(waiting)))
        self.plane.delete_pod(next(iter(self.plane.bound())))
        self.wait(lambda: len(self.plane.bound()) == 3)


class Failing(Base):
    """Programs are killed while 200 pods want 208 GPUs of 26 nodes."""

    def setUp(self):
        super().setUp()
        status = status_of()
        for i in range(26):
            self.add_node(f"n{i}", status)

    def add_pods(self, first=0, end=200):
        for i in range(first, end):
            self.plane.add_pod(f"p{i}", {"aitherion.io/gpu": "1"})

    def test_a_killed_extender(self):
        extender = self.start()
        self.plane.start_scheduler(extender.port)
        self.add_pods()
        for part in (20, 80):
            self.wait(lambda part=part: len(self.plane.bound()) >= part)
            extender.end(signal.SIGKILL)
            extender = self.start(extender.port)
        self.await_bound(200)
        self.wait(lambda: extender.metric("aitherion_scheduler_gpus_used") == 200)

    def test_a_killed_api_server(self):
        extender = self.start()
        self.plane.start_scheduler(extender.port)
        self.add_pods()
        self.wait(lambda: len(self.plane.bound()) >= 20)
        self.plane.kill("kube-apiserver")
        self.plane.connection = None
        self.plane.start_apiserver()
        if self.plane.processes["kube-scheduler"].poll() is not None:
            self.plane.kill("kube-scheduler")
            self.plane.start_scheduler(extender.port)
        self.await_bound(200)
        self.wait(lambda: extender.metric("aitherion_scheduler_gpus_used") == 200 and extender.metric("aitherion_scheduler_pods_unsure") == 0)

    def nudge(self, count):
        """A new Node has kube-scheduler try again at once what it could not bind; 1.20 would wait for more than a minute."""
        for _ in range(60):
            if len(self.plane.bound()) < count:
                self.plane.add_host(f"empty{time.monotonic_ns()}")
                time.sleep(1)

    def test_two_schedulers_at_once(self):
        """Both want all pods. The one whose extender holds the Lease gets them; no GPU is given twice."""
        extenders = [self.start(), self.start()]
        for i, extender in enumerate(extenders):
            self.plane.start_scheduler(extender.port, f"kube-scheduler-{i}")
        self.add_pods(0, 100)
        self.nudge(20)
        self.wait(lambda: len(self.plane.bound()) >= 20)
        holders = [extender.metric("aitherion_scheduler_holds_lease") for extender in extenders]
        self.assertEqual(sorted(holders), [0, 1])
        extenders[holders.index(1)].end(signal.SIGKILL)
        self.add_pods(100)
        for i in range(2):
            self.assertIsNone(self.plane.processes[f"kube-scheduler-{i}"].poll(), self.plane.log(f"kube-scheduler-{i}")[-2000:])
        self.nudge(200)
        self.await_bound(200)


class Speed(Base):
    def test_a_thousand_nodes(self):
        status = status_of()
        for i in range(MANY):
            self.add_node(f"n{i}", status)
        extender = self.start()
        count, wants = 600, ("1", "2", "4", "8")
        for i in range(count):
            self.plane.add_pod(f"p{i}", {"aitherion.io/gpu": wants[i % 4]})
        begin = time.monotonic()
        self.plane.start_scheduler(extender.port)
        path = "/api/v1/namespaces/default/pods?fieldSelector=spec.nodeName%3D&limit=1"
        self.wait(lambda: len(self.plane.bound()) > 0)
        first = time.monotonic()
        self.wait(lambda: not self.plane.ask("GET", path)["items"])
        end = time.monotonic()
        self.await_bound(count)
        print(f"{MANY} nodes, {count} pods: {count / (end - first):.0f} pods/s after the first ({first - begin:.1f} s)", file=sys.stderr)
        for verb in ("filter", "prioritize", "bind"):
            print("{}: {} requests, half within {} s, 99 % within {} s".format(verb, *buckets(extender, verb)), file=sys.stderr)
        refused = next(line for line in extender.ask("GET", "/metrics")[1].splitlines() if 'refusals_total{reason="binding"}' in line)
        print(f"refused bindings: {refused.split()[-1]}", file=sys.stderr)
        size = subprocess.run(["ps", "-o", "rss=", "-p", str(extender.process.pid)], capture_output=True, text=True, check=True).stdout
        print(f"memory of the extender: {int(size) / 1024:.0f} MiB", file=sys.stderr)


if __name__ == "__main__":
    harness.main()
