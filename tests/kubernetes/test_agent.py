#!/usr/bin/env python3
"""aitherion kubernetes agent against a fake API server: what it publishes, changes of the node, and an API server that fails."""
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))

import apiserver  # noqa: E402
import harness  # noqa: E402
import ports  # noqa: E402
from test_scheduler import Extender, kubeconfig  # noqa: E402


class Agent:
    def __init__(self, config, *words):
        self.errors = []
        self.process = subprocess.Popen([harness.binary(), "-v", "kubernetes", "agent", "--kubeconfig", config, *words], env=harness.environment(),
                                        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self.read_errors, daemon=True)
        self.reader.start()

    def read_errors(self):
        for line in self.process.stderr:
            self.errors.append(line)

    def has_said(self, words):
        return any(words in line for line in self.errors)

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(timeout=harness.PATIENCE_S)
        self.reader.join()
        self.process.stderr.close()
        return code


class Base(unittest.TestCase):
    def setUp(self):
        self.cluster = apiserver.Cluster()
        self.server = apiserver.Server(self.cluster)
        self.addCleanup(self.server.close)
        self.cluster.put(apiserver.HOSTS, "n1", {"metadata": {"name": "n1", "labels": {"kept": "yes"}}})

    def wait(self, claim):
        self.assertTrue(harness.wait_until(claim))

    def start(self, *words, source=("--root", "ac922-4gpu")):
        agent = Agent(kubeconfig(self.server.url), "--node", "n1", "--interval", "1", *source, *words)
        self.addCleanup(agent.end)
        return agent

    def node(self):
        with self.cluster.changed:
            return self.cluster.objects[apiserver.NODES].get("n1", {})

    def labels(self):
        with self.cluster.changed:
            return self.cluster.objects[apiserver.HOSTS]["n1"]["metadata"]["labels"]

    def is_published(self):
        return "status" in self.node() and "aitherion.io/gpu-count" in self.labels()

    def patches(self):
        with self.cluster.changed:
            return [path for method, path in self.cluster.requests if method == "PATCH"]


class Publishing(Base):
    def test_what_a_node_has(self):
        self.start("--runtime", self.runtime())
        self.wait(self.is_published)
        status = self.node()["status"]
        self.assertEqual({key: status[key] for key in ("phase", "gpuCount", "usableGpuCount", "numaNodes")},
                         {"phase": "Ready", "gpuCount": 4, "usableGpuCount": 4, "numaNodes": [0, 8]})
        self.assertNotIn("message", status)
        self.assertEqual(status["devices"][3], {"uuid": "GPU-252a9220-0000-4000-8000-000000000003", "model": "Tesla V100-SXM2-32GB",
                                                "memory": "33822867456", "numaNode": 8})
        self.assertIn({"devices": [0, 1], "bytesPerSecond": 75000000000}, status["links"])
        self.assertEqual(len(status["links"]), 6)
        self.assertEqual(self.labels(), {"kept": "yes", "aitherion.io/gpu-count": "4", "aitherion.io/gpu-usable": "4",
                                         "aitherion.io/gpu-model": "Tesla-V100-SXM2-32GB"})

    def runtime(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        return f"127.0.0.1:{listener.getsockname()[1]}"

    def test_a_pod_is_placed_by_what_it_publishes(self):
        address = self.runtime()
        self.start("--runtime", address)
        self.wait(self.is_published)
        extender = Extender(kubeconfig(self.server.url))
        self.addCleanup(extender.end)
        self.wait(extender.is_ready)
        pod = self.cluster.add_pod("a", {"aitherion.io/gpu": "2"}, {"aitherion.io/numa-policy": "single-numa"})
        self.assertEqual(extender.schedule(pod, ["n1"]), ("n1", ""))
        annotations = self.cluster.pod("a")["metadata"]["annotations"]
        self.assertEqual(annotations["aitherion.io/runtime"], address)
        self.assertIn(annotations["aitherion.io/numa-nodes"], ("0", "8"))

    def test_without_a_change_nothing_is_sent(self):
        self.start()
        self.wait(self.is_published)
        before = len(self.patches())
        time.sleep(2.5)
        self.assertEqual(len(self.patches()), before)

    def test_a_runtime_that_does_not_answer_and_comes(self):
        port = ports.take(1)
        self.start("--runtime", f"127.0.0.1:{port}")
        self.wait(self.is_published)
        self.assertEqual(self.node()["status"]["phase"], "NotReady")
        self.assertIn("the runtime does not answer", self.node()["status"]["message"])
        self.assertEqual(self.labels()["aitherion.io/gpu-usable"], "0")
        with socket.create_server(("127.0.0.1", port)):
            self.wait(lambda: self.labels()["aitherion.io/gpu-usable"] == "4")
            self.assertEqual(self.node()["status"]["phase"], "Ready")
            self.assertNotIn("message", self.node()["status"])

    def test_a_changed_machine(self):
        """The file of the machine is replaced: the GPUs are gone, and so are the label of the model and the links."""
        path = os.path.join(harness.scratch(), "machine.json")
        for name in ("ac922-4gpu", "no-numa"):
            with open(path + "." + name, "w", encoding="utf-8") as file:
                file.write(harness.run("discover", "--json", "--root", harness.capture(name)).stdout)
        shutil.copy(path + ".ac922-4gpu", path)
        self.start(source=("--topology", path))
        self.wait(self.is_published)
        os.replace(path + ".no-numa", path)
        self.wait(lambda: "aitherion.io/gpu-model" not in self.labels())
        self.assertEqual(self.labels(), {"kept": "yes", "aitherion.io/gpu-count": "0", "aitherion.io/gpu-usable": "0"})
        self.assertEqual((self.node()["status"]["devices"], self.node()["status"]["links"]), ([], []))

    def test_once(self):
        result = harness.run_soundly("kubernetes", "agent", "--once", "--node", "n1", "--root", "ac922-4gpu", "--kubeconfig", kubeconfig(self.server.url))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(self.is_published())

    def test_a_dry_run_sends_nothing(self):
        result = harness.run_soundly("kubernetes", "agent", "--dry-run", "--node", "n1", "--root", "ac922-4gpu")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("kind: ComputeNode", result.stdout)
        self.assertIn("name: n1", result.stdout)
        self.assertEqual(self.cluster.requests, [])


class Faults(Base):
    def test_an_api_server_that_goes_away_and_comes_back(self):
        port = self.server.server_address[1]
        self.server.close()
        agent = self.start()
        self.wait(lambda: agent.has_said("does not answer"))
        server = apiserver.Server(self.cluster, port)
        self.addCleanup(server.close)
        self.wait(self.is_published)

    def test_answers_that_are_faults(self):
        for fault in (429, 500, 503, 410, b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"):
            with self.subTest(fault=fault):
                cluster = self.cluster = apiserver.Cluster()
                server = apiserver.Server(cluster)
                cluster.put(apiserver.HOSTS, "n1", {"metadata": {"name": "n1", "labels": {}}})
                cluster.faults = [fault, fault]
                agent = Agent(kubeconfig(server.url), "--node", "n1", "--root", "ac922-4gpu")
                try:
                    self.wait(self.is_published)
                finally:
                    self.assertEqual(agent.end(), 0)
                    server.close()

    def test_a_deleted_compute_node_is_made_again(self):
        port = ports.take(1)
        self.start("--runtime", f"127.0.0.1:{port}")
        self.wait(self.is_published)
        self.cluster.put(apiserver.NODES, "n1", self.node(), "DELETED")
        with socket.create_server(("127.0.0.1", port)):
            self.wait(lambda: self.node().get("status", {}).get("phase") == "Ready")

    def test_a_cluster_without_the_kind(self):
        with self.cluster.changed:
            del self.cluster.objects[apiserver.NODES]
        result = harness.run_soundly("kubernetes", "agent", "--once", "--node", "n1", "--root", "ac922-4gpu", "--kubeconfig", kubeconfig(self.server.url))
        self.assertEqual(result.returncode, 1)
        self.assertIn("could not find the requested resource", result.stderr)
        self.assertIn("kubectl apply -k", result.stderr)

    def test_a_node_that_does_not_exist(self):
        with self.cluster.changed:
            del self.cluster.objects[apiserver.HOSTS]["n1"]
        result = harness.run_soundly("kubernetes", "agent", "--once", "--node", "n1", "--root", "ac922-4gpu", "--kubeconfig", kubeconfig(self.server.url))
        self.assertEqual(result.returncode, 1)
        self.assertIn("'/api/v1/nodes/n1': \"n1\" not found", result.stderr)


class Options(unittest.TestCase):
    def refused(self, *words, **environment):
        result = harness.run_soundly("kubernetes", "agent", "--dry-run", "--root", "ac922-4gpu", *words, env=harness.environment(**environment))
        self.assertEqual(result.returncode, 2, result.stderr)
        return result.stderr

    def test_wrong_values(self):
        self.assertIn("'a/b' is no name of a node", self.refused("--node", "a/b"))
        self.assertIn("'..' is no name of a node", self.refused("--node", ".."))
        self.assertIn("is no name of a node", self.refused("--node", "n" * 254))
        self.assertIn("'Node' is no name of a node", self.refused(NODE_NAME="Node"))
        self.assertIn("'0' is no number for --interval", self.refused("--interval", "0"))
        self.assertIn("in the network", self.refused("--runtime", "unix:/run/a"))

    def test_the_name_of_the_variable(self):
        result = harness.run_soundly("kubernetes", "agent", "--dry-run", "--root", "ac922-4gpu", env=harness.environment(NODE_NAME="n7"))
        self.assertIn("name: n7", result.stdout)


if __name__ == "__main__":
    harness.main()
