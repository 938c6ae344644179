#!/usr/bin/env python3
"""aitherion kubernetes scheduler against a fake API server: pods from filter to binding, restarts, and an API server that fails."""
import concurrent.futures
import contextlib
import http.client
import json
import os
import ssl
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))

import apiserver  # noqa: E402
import authority  # noqa: E402
import harness  # noqa: E402


def kubeconfig(url, cluster="", user="{}"):
    folder = harness.scratch()
    path = os.path.join(folder, f"kubeconfig-{len(os.listdir(folder))}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {{cluster: k, user: u}}\nclusters:\n- name: k\n"
                   f"  cluster:\n    server: {url}\n{cluster}users:\n- name: u\n  user: {user}\n")
    return path


class Extender:
    """The process under test, and questions to it."""

    def __init__(self, config, *words, context=None, port=0):
        self.context = context
        self.errors = []
        self.process = subprocess.Popen([harness.binary(), "-v", "kubernetes", "scheduler", "--listen", f"127.0.0.1:{port}", "--kubeconfig", config, *words],
                                        env=harness.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.communicate()[1])
        self.port = int(line.rsplit(":", 1)[1])
        threading.Thread(target=self.read_errors, daemon=True).start()

    def read_errors(self):
        for line in self.process.stderr:
            self.errors.append(line)

    def connect(self):
        if self.context:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=harness.PATIENCE_S, context=self.context)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE_S)

    def ask(self, method, path, body=None, connection=None):
        """Returns (status, text)."""
        one = connection or self.connect()
        one.request(method, path, body=body if body is None or isinstance(body, (bytes, str)) else json.dumps(body))
        answer = one.getresponse()
        text = answer.read().decode()
        if not connection:
            one.close()
        return answer.status, text

    def post(self, verb, body, connection=None):
        status, text = self.ask("POST", "/" + verb, body, connection)
        if status != 200:
            raise AssertionError(f"{status} {text}")
        return json.loads(text)

    def is_ready(self):
        return self.ask("GET", "/readyz")[0] == 200

    def metric(self, name):
        for line in self.ask("GET", "/metrics")[1].splitlines():
            if line.startswith(name + " "):
                return float(line.split()[-1])
        raise AssertionError(name)

    def schedule(self, pod, nodes, connection=None):
        """Does as kube-scheduler: filter, prioritize, and a binding to the best node. Returns the node, or the reasons."""
        question = {"Pod": pod, "Nodes": None, "NodeNames": nodes}
        filtered = self.post("filter", question, connection)
        if not filtered["NodeNames"]:
            return {**filtered["FailedNodes"], **filtered["FailedAndUnresolvableNodes"]}
        scores = self.post("prioritize", {**question, "NodeNames": filtered["NodeNames"]}, connection)
        best = max(scores, key=lambda row: row["Score"])["Host"]
        return best, self.bind(pod, best, connection)

    def bind(self, pod, node, connection=None):
        metadata = pod["metadata"]
        return self.post("bind", {"PodName": metadata["name"], "PodNamespace": metadata["namespace"], "PodUID": metadata["uid"], "Node": node}, connection)["Error"]

    def end(self, number=None):
        if number:
            self.process.send_signal(number)
        else:
            self.process.terminate()
        code = self.process.wait(timeout=harness.PATIENCE_S)
        self.process.stdout.close()
        return code


class Base(unittest.TestCase):
    def setUp(self):
        self.cluster = apiserver.Cluster()
        self.server = apiserver.Server(self.cluster)
        self.addCleanup(self.server.close)
        self.extender = None

    def start(self, *words, port=0):
        self.extender = Extender(kubeconfig(self.server.url), *words, port=port)
        self.addCleanup(self.end_extender, self.extender)
        harness.wait_until(self.extender.is_ready)
        return self.extender

    def lead(self, extender):
        """Has the extender take the Lease, and list the pods after that, by a pod without GPUs."""
        self.assertEqual(extender.bind(self.cluster.add_pod(f"without-{extender.port}"), "elsewhere"), "")
        self.cluster.bindings.clear()

    @staticmethod
    def end_extender(extender):
        if extender.process.poll() is None:
            extender.end()

    def gpus(self, name):
        return self.cluster.pod(name)["metadata"]["annotations"]["aitherion.io/gpus"].split(",")


class Placing(Base):
    def test_a_pod_from_filter_to_binding(self):
        self.cluster.add_node("slow", near=100, runtime="10.0.0.2:50051")
        self.cluster.add_node("fast", runtime="10.0.0.1:50051")
        extender = self.start()
        pod = self.cluster.add_pod("a", {"aitherion.io/gpu": "4"}, {"aitherion.io/numa-policy": "single-numa"})
        self.assertEqual(extender.schedule(pod, ["slow", "fast", "unknown"]), ("fast", ""))
        bound = self.cluster.pod("a")
        self.assertEqual(bound["spec"]["nodeName"], "fast")
        self.assertEqual(bound["metadata"]["annotations"],
                         {"aitherion.io/numa-policy": "single-numa", "aitherion.io/gpus": bound["metadata"]["annotations"]["aitherion.io/gpus"],
                          "aitherion.io/numa-nodes": "0", "aitherion.io/runtime": "10.0.0.1:50051"})
        self.assertEqual(set(self.gpus("a")), {f"fast-{i}" for i in range(4)})

    def test_reasons(self):
        self.cluster.add_node("small", 2)
        self.cluster.add_node("late", phase="NotReady")
        extender = self.start()
        pod = self.cluster.add_pod("a", {"aitherion.io/gpu": "4"})
        self.assertEqual(extender.schedule(pod, ["small", "late", "none"]),
                         {"small": "the pod wants 4 GPUs, and 2 of the node's 2 GPUs can be used for that", "late": "the ComputeNode is not Ready",
                          "none": "there is no ComputeNode: aitherion's agent does not run on the node"})

    def test_a_deleted_pod_gives_its_gpus_back(self):
        self.cluster.add_node("n", 2)
        extender = self.start()
        one, two = (self.cluster.add_pod(name, {"aitherion.io/gpu": "2"}) for name in "ab")
        self.assertEqual(extender.schedule(one, ["n"]), ("n", ""))
        self.assertEqual(extender.schedule(two, ["n"]), {"n": "the pod wants 2 GPUs, and 0 of 2 have room now"})
        self.cluster.delete_pod("a")
        harness.wait_until(lambda: extender.metric("aitherion_scheduler_gpus_used") == 0)
        self.assertEqual(extender.schedule(two, ["n"]), ("n", ""))

    def test_forty_pods_at_once_on_one_node(self):
        self.cluster.add_node("n", 10)
        extender = self.start()
        pods = [self.cluster.add_pod(f"p{i}", {"aitherion.io/gpu-memory": "20Gi"}) for i in range(41)]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda pod: extender.bind(pod, "n"), pods))
        self.assertEqual(sum(not answer for answer in answers), 40)
        self.assertIn("the node 'n' does not fit any more", next(answer for answer in answers if answer))
        counts = {}
        for pod in pods:
            for gpu in self.cluster.pod(pod["metadata"]["name"])["metadata"]["annotations"].get("aitherion.io/gpus", "").split(","):
                counts[gpu] = counts.get(gpu, 0) + 1
        counts.pop("")
        self.assertEqual(counts, {f"n-{i}": 4 for i in range(10)})

    def test_many_nodes_and_pages_of_a_list(self):
        for i in range(1001):
            self.cluster.add_node(f"n{i}", 4)
        extender = self.start()
        self.assertEqual(extender.metric("aitherion_scheduler_nodes"), 1001)
        pod = self.cluster.add_pod("a", {"aitherion.io/gpu": "2"})
        answer = extender.post("filter", {"Pod": pod, "Nodes": None, "NodeNames": [f"n{i}" for i in range(1001)]})
        self.assertEqual(len(answer["NodeNames"]), 1001)


class Restarts(Base):
    def test_a_killed_extender_remembers_bound_pods(self):
        self.cluster.add_node("n", 2)
        first = self.start()
        one, two = (self.cluster.add_pod(name, {"aitherion.io/gpu": "1"}) for name in "ab")
        self.assertEqual(first.schedule(one, ["n"]), ("n", ""))
        self.assertEqual(first.end(9), -9)
        second = self.start(port=first.port)  # of the same identity, so that the Lease is soon its own
        self.assertEqual(second.schedule(two, ["n"]), ("n", ""))
        self.assertNotEqual(self.gpus("a"), self.gpus("b"))

    def test_a_signal_ends_it_with_0(self):
        self.assertEqual(self.start().end(), 0)


    def test_an_extender_that_ends_gives_its_lease_back(self):
        extender = self.start()
        self.lead(extender)
        self.assertIn(f"127.0.0.1:{extender.port}_net:", self.cluster.holder())
        self.assertEqual(extender.end(), 0)
        self.assertIsNone(self.cluster.holder())


def overbooked(cluster):
    """Returns the GPUs that several pods have, of pods that want whole GPUs."""
    owners = {}
    with cluster.changed:
        for pod in cluster.objects[apiserver.PODS].values():
            for gpu in pod["metadata"]["annotations"].get("aitherion.io/gpus", "").split(","):
                owners.setdefault(gpu, []).append(pod["metadata"]["name"])
    owners.pop("", None)
    return {gpu: names for gpu, names in owners.items() if len(names) > 1}


class Two(Base):
    """Two extenders that are asked at once: only the holder of the Lease binds, and no GPU has two pods."""

    def test_only_the_holder_binds(self):
        self.cluster.add_node("n", 8)
        first, second = self.start(), self.start()
        self.lead(first)
        pods = [self.cluster.add_pod(f"p{i}", {"aitherion.io/gpu": "1"}) for i in range(8)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda i: (first, second)[i % 2].bind(pods[i], "n"), range(8)))
        self.assertEqual(answers[::2], [""] * 4)
        for answer in answers[1::2]:
            self.assertIn("the extender '" + self.cluster.holder() + "' holds it", answer)
        self.assertEqual(overbooked(self.cluster), {})
        self.assertEqual((first.metric("aitherion_scheduler_holds_lease"), second.metric("aitherion_scheduler_holds_lease")), (1, 0))

    def test_the_next_one_binds_after_the_first_was_killed(self):
        self.cluster.add_node("n", 4)
        first, second = self.start(), self.start()
        pods = [self.cluster.add_pod(f"p{i}", {"aitherion.io/gpu": "1"}) for i in range(5)]
        self.assertEqual(first.schedule(pods[0], ["n"]), ("n", ""))
        first.end(9)
        harness.wait_until(lambda: second.bind(pods[1], "n") == "")
        for pod in pods[2:4]:
            self.assertEqual(second.schedule(pod, ["n"]), ("n", ""))
        self.assertIn("0 of 4 have room", second.schedule(pods[4], ["n"])["n"])
        self.assertEqual(overbooked(self.cluster), {})

    def test_the_next_one_knows_what_the_last_has_bound(self):
        """Its watch of pods hangs: so only a list can tell it."""
        self.cluster.add_node("n", 2)
        first = self.start()
        second = self.start()
        one, two = (self.cluster.add_pod(name, {"aitherion.io/gpu": "1"}) for name in "ab")
        harness.wait_until(lambda: second.metric("aitherion_scheduler_pods_pending") == 2)
        self.cluster.is_mute = True
        self.assertEqual(first.bind(one, "n"), "")
        first.end()
        harness.wait_until(lambda: second.bind(two, "n") == "")
        self.assertEqual(overbooked(self.cluster), {})


class Load(Base):
    """Programs that are killed while pods are bound."""

    def run_pods(self, count, node_names, ask, step):
        """Schedules pods from several threads until each is bound; calls step(number of bound pods) meanwhile."""
        pods = [self.cluster.add_pod(f"p{i}", {"aitherion.io/gpu": "1"}) for i in range(count)]

        def bind(pod):
            while "nodeName" not in self.cluster.pod(pod["metadata"]["name"])["spec"]:
                with contextlib.suppress(OSError, http.client.HTTPException, AssertionError):
                    ask().schedule(pod, node_names)
                time.sleep(0.05)

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            futures = [pool.submit(bind, pod) for pod in pods]
            done = 0
            while done < count:
                self.assertFalse([future.exception() for future in futures if future.done() and future.exception()])
                done = len(self.cluster.bindings)
                step(done)
                time.sleep(0.02)
        self.assertEqual(overbooked(self.cluster), {})

    def test_a_killed_extender(self):
        for i in range(4):
            self.cluster.add_node(f"n{i}", 16)
        current = [self.start()]
        kills = [10, 30]

        def step(done):
            if kills and done >= kills[0]:
                kills.pop(0)
                current[0].end(9)
                current[0] = self.start(port=current[0].port)

        self.run_pods(64, [f"n{i}" for i in range(4)], lambda: current[0], step)
        self.assertEqual(kills, [])
        self.assertTrue(harness.wait_until(lambda: current[0].metric("aitherion_scheduler_gpus_used") == 64))

    def test_an_api_server_that_is_killed_and_loses_answers(self):
        for i in range(4):
            self.cluster.add_node(f"n{i}", 16)
        extender = self.start()
        port = self.server.server_address[1]
        kills = [10, 30]
        self.cluster.lost_answers = 5

        def step(done):
            if kills and done >= kills[0]:
                kills.pop(0)
                self.server.close()
                time.sleep(0.5)
                self.server = apiserver.Server(self.cluster, port)
                self.addCleanup(self.server.close)

        self.run_pods(64, [f"n{i}" for i in range(4)], lambda: extender, step)
        self.assertEqual((kills, self.cluster.lost_answers), ([], 0))
        self.assertTrue(harness.wait_until(lambda: extender.metric("aitherion_scheduler_gpus_used") == 64))
        self.assertTrue(harness.wait_until(lambda: extender.metric("aitherion_scheduler_pods_unsure") == 0))  # the list tells of the last one


class Faults(Base):
    def test_an_api_server_that_goes_away_and_comes_back(self):
        self.cluster.add_node("n", 1)
        extender = self.start()
        pod = self.cluster.add_pod("a", {"aitherion.io/gpu": "1"})
        self.lead(extender)
        port = self.server.server_address[1]
        harness.wait_until(lambda: extender.metric("aitherion_scheduler_pods_pending") == 1)
        self.server.close()
        self.assertIn("does not answer", extender.bind(pod, "n"))
        self.assertEqual(extender.metric("aitherion_scheduler_pods_unsure"), 1)
        self.cluster.add_node("m", 1)
        self.server = apiserver.Server(self.cluster, port)
        self.addCleanup(self.server.close)
        harness.wait_until(lambda: extender.metric("aitherion_scheduler_nodes") == 2)
        self.assertEqual(extender.schedule(pod, ["n"]), ("n", ""))

    def test_a_history_that_is_gone_and_answers_that_are_none(self):
        self.cluster.add_node("n", 1)
        extender = self.start()
        with self.cluster.changed:
            self.cluster.faults = [500, b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\ngarbage", b"\0\1\2\3", 429, b""]
        self.cluster.forget_history()
        self.cluster.add_node("m", 1)
        harness.wait_until(lambda: extender.metric("aitherion_scheduler_nodes") == 2)
        harness.wait_until(lambda: not self.cluster.faults)
        self.assertTrue(any("410" in line or "too old" in line for line in extender.errors), extender.errors)

    def test_bindings_that_are_refused(self):
        self.cluster.add_node("n", 1)
        extender = self.start()
        pod = self.cluster.add_pod("a", {"aitherion.io/gpu": "1"})
        harness.wait_until(lambda: extender.metric("aitherion_scheduler_pods_pending") == 1)
        self.lead(extender)
        self.cluster.faulty = "/binding"
        self.cluster.faults = [403]
        self.assertIn("fault 403", extender.bind(pod, "n"))
        self.assertEqual(extender.metric("aitherion_scheduler_gpus_used"), 0)
        self.cluster.faults = [429]
        self.assertEqual(extender.bind(pod, "n"), "")
        self.assertEqual(self.cluster.faults, [])
        self.assertEqual(len(self.cluster.bindings), 1)

    def test_hostile_requests(self):
        extender = self.start()
        for method, path, body, status in (("GET", "/filter", None, 405), ("POST", "/metrics", b"", 405), ("POST", "/nothing", b"", 404),
                                           ("POST", "/filter", b"", 400), ("POST", "/filter", b"\xff" * 1000, 400),
                                           ("POST", "/filter", b"[" * 200000, 400), ("POST", "/bind", b"{}", 400), ("POST", "/preempt", b"{}", 400),
                                           ("POST", "/filter", b" " * ((8 << 20) + 1), 413)):
            self.assertEqual(extender.ask(method, path, body)[0], status, (method, path))
        pod = self.cluster.add_pod("a", {"aitherion.io/gpu": "1"})
        self.assertIn("nodeCacheCapable", extender.ask("POST", "/filter", {"Pod": pod, "Nodes": {"items": []}, "NodeNames": None})[1])
        self.assertTrue(extender.is_ready())


class Access(Base):
    def refused(self, *words, config=None):
        result = harness.run_soundly("kubernetes", "scheduler", *words, "--kubeconfig", config or kubeconfig(self.server.url))
        self.assertEqual(result.returncode, 1, result.stderr)
        return result.stderr

    def test_addresses_of_the_network_need_certificates(self):
        self.assertIn("every host of the network could bind pods", self.refused("--listen", "0.0.0.0:0"))

    def test_kubeconfigs_with_faults(self):
        url = self.server.url
        self.assertIn("'insecure-skip-tls-verify' is not supported", self.refused(config=kubeconfig(url, "    insecure-skip-tls-verify: true\n")))
        self.assertIn("'exec' is not supported", self.refused(config=kubeconfig(url, user="{exec: {command: x}}")))
        self.assertIn("need each other", self.refused(config=kubeconfig(url, user="{client-key: x}")))
        self.assertIn("is not encrypted", self.refused(config=kubeconfig(url, user="{token: secret}")))
        self.assertIn("no URL", self.refused(config=kubeconfig("ftp://x")))

    def test_outside_a_pod(self):
        result = harness.run_soundly("kubernetes", "scheduler")
        self.assertEqual(result.returncode, 1)
        self.assertIn("KUBERNETES_SERVICE_HOST is not set", result.stderr)

    @unittest.skipIf(authority.LACKS, authority.LACKS)
    def test_tls_in_both_directions(self):
        ca = authority.Authority("kubernetes")
        server = apiserver.Server(self.cluster, certificate=ca.sign("api"))
        self.addCleanup(server.close)
        self.cluster.tokens = {"secret"}
        self.cluster.add_node("n", 1)
        certificate, key = ca.sign("extender")
        client = ca.sign("scheduler", usage="clientAuth")
        web, token = ca.path("web.yaml"), ca.path("token")
        with open(web, "w", encoding="utf-8") as file:
            file.write(f"tls_server_config:\n  cert_file: {certificate}\n  key_file: {key}\n  client_ca_file: {ca.file}\n"
                       "  client_auth_type: RequireAndVerifyClientCert\n")
        with open(token, "w", encoding="utf-8") as file:
            file.write("secret\n")
        context = ssl.create_default_context(cafile=ca.file)
        config = kubeconfig(server.url, f"    certificate-authority: {ca.file}\n", f"{{tokenFile: {token}}}")
        extender = Extender(config, "--web", web, context=context)
        self.addCleanup(self.end_extender, extender)
        harness.wait_until(extender.is_ready)
        pod = self.cluster.add_pod("a", {"aitherion.io/gpu": "1"})
        self.assertEqual(extender.ask("POST", "/filter", b"{}")[0], 403)
        extender.context = ssl.create_default_context(cafile=ca.file)
        extender.context.load_cert_chain(*client)
        self.assertEqual(extender.schedule(pod, ["n"]), ("n", ""))

    @unittest.skipIf(authority.LACKS, authority.LACKS)
    def test_a_server_that_the_authority_does_not_know(self):
        ca, other = authority.Authority("one"), authority.Authority("other")
        server = apiserver.Server(self.cluster, certificate=other.sign("api"))
        self.addCleanup(server.close)
        extender = Extender(kubeconfig(server.url, f"    certificate-authority: {ca.file}\n", "{token: secret}"))
        self.addCleanup(self.end_extender, extender)
        harness.wait_until(lambda: any("does not answer" in line for line in extender.errors))
        self.assertFalse(extender.is_ready())
        self.assertEqual(self.cluster.requests, [])


class Benchmark(unittest.TestCase):
    def test_it_runs(self):
        result = harness.run(command=[os.path.join(harness.build(), "bench", "kubernetes"), "20", "5"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([line.split(" | ")[1] for line in result.stdout.splitlines() if line.startswith("| 20 |")],
                         ["1 GPU", "4 GPUs", "4 GPUs, single-numa", "8 GPUs", "20 GiB of a GPU", "100 TFLOPS of a GPU"])


if __name__ == "__main__":
    harness.main()
