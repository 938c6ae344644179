#!/usr/bin/env python3
"""The Docker-compatible service of podman instead of Docker: an image, a runtime's life, its programs and its log."""
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))

import harness  # noqa: E402
import nodes  # noqa: E402

IMAGE = "aitherion-runtime:latest"


def limits():
    """Returns a containers.conf with limits that any root may set: podman's own need CAP_SYS_RESOURCE."""
    most = {name: min(1024, resource.getrlimit(number)[1]) for name, number in
            (("nofile", resource.RLIMIT_NOFILE), ("nproc", resource.RLIMIT_NPROC))}
    return "[containers]\ndefault_ulimits = [%s]\n" % ", ".join(f'"{name}={value}:{value}"' for name, value in most.items())


class Podman(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        if not shutil.which("podman") or os.geteuid() != 0:
            self.skipTest("no podman (package podman), or no root")
        self.folder = tempfile.mkdtemp(prefix="ath-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.host = f"unix://{self.folder}/podman.sock"
        self.document = os.path.join(self.folder, "topology.yaml")
        self.ports = nodes.write_document(self.document)
        with open(self.document, "a", encoding="utf-8") as file:
            file.write(f"key_file: {self.folder}/key\n")
        self.serve()
        self.addCleanup(self.run_on, "clean", "--yes", "--images")

    def serve(self):
        conf = os.path.join(self.folder, "containers.conf")
        with open(conf, "w", encoding="ascii") as file:
            file.write(limits())
        self.podman = ["podman", "--root", f"{self.folder}/root", "--runroot", f"{self.folder}/runroot", "--tmpdir", f"{self.folder}/tmp",
                       "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs"]
        with open(os.path.join(self.folder, "service.log"), "w", encoding="utf-8") as log:
            service = subprocess.Popen([*self.podman, "system", "service", "--time=0", self.host], stdout=log, stderr=log,
                                       env=harness.environment(CONTAINERS_CONF=conf, HOME=self.folder), start_new_session=True)

        def end():
            service.send_signal(signal.SIGTERM)
            service.wait(harness.PATIENCE_S)
        self.addCleanup(end)
        if not harness.wait_until(lambda: os.path.exists(f"{self.folder}/podman.sock") or service.poll() is not None) or service.poll() is not None:
            with open(os.path.join(self.folder, "service.log"), encoding="utf-8") as log:
                self.skipTest(f"podman's service does not run here: {log.read().strip()[-300:]}")

    def run_on(self, *words, **options):
        result = harness.run("-c", self.document, *words, **options,
                             env=harness.environment(AITHERION_RUN_FOLDER=f"{self.folder}/run", DOCKER_HOST=self.host))
        self.assertIsNone(harness.crashed(result), result.stderr)
        return result

    def data(self, *words, code=0):
        result = self.run_on(*words, "--json")
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        value, faults = harness.check_json(result.stdout)
        self.assertEqual(faults, [])
        return value

    def outcomes(self, *words):
        value = self.data("start", "--engine", "docker", "--sim", *words)
        self.assertEqual(value["engine"], "docker")
        return [node["outcome"] for node in value["nodes"]]

    def states(self):
        return [node["state"] for node in self.data("status")["nodes"]]

    def test_from_start_to_clean(self):
        self.assertEqual(self.outcomes(), ["started", "started"])
        images = self.data("image", "list")["images"]
        self.assertEqual([(image["names"], image["is_used_by_start"]) for image in images], [(["localhost/" + IMAGE], True)])
        self.assertEqual(self.outcomes(), ["same", "same"])
        seen = self.data("status")["nodes"]
        self.assertEqual([(node["state"], node["drift"]) for node in seen], [("running", None)] * 2)
        for node in seen:
            self.assertEqual(node["process"]["cpus"], nodes.node_cpus())
            self.assertEqual(node["process"]["memory_nodes"], str(nodes.first_node()))
        example = os.path.join(harness.build(), "examples", "vector_add")
        for transport in "shm", "tcp":
            result = self.run_on("run", "-v", "--numa", "0", "--transport", transport, "--", example)
            self.assertEqual((result.returncode, result.stdout.count("right")), (0, 1), result.stderr)
            self.assertIn(f"transport={transport}", result.stderr)
        self.assertIn("event=session-closed", "\n".join(self.data("logs", "0")["logs"][0]["lines"]))

        os.kill(seen[0]["process"]["pid"], signal.SIGKILL)
        self.assertTrue(harness.wait_until(lambda: self.data("status")["nodes"][0]["process"]["restarts"] == 1))
        self.assertTrue(harness.wait_until(lambda: self.states() == ["running", "running"]))

        self.run_on("stop")
        self.assertEqual(self.states(), ["stopped", "stopped"])
        self.assertIn("event=stopped", self.data("logs", "1")["logs"][0]["lines"][-1])
        self.assertEqual(self.outcomes("1"), ["started"])
        kinds = [step["kind"] for step in self.data("clean", "--yes", "--images")["steps"]]
        self.assertEqual((kinds.count("container"), kinds.count("image")), (2, 1))
        self.assertEqual(self.data("image", "list")["images"], [])
        left = subprocess.run([*self.podman, "ps", "-aq"], stdout=subprocess.PIPE, text=True, check=True, env=harness.environment(HOME=self.folder)).stdout
        self.assertEqual(left, "")


if __name__ == "__main__":
    harness.isolate()
    harness.main()
