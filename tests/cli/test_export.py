#!/usr/bin/env python3
"""aitherion export: the files for Kubernetes, Slurm, Volcano and topograph, what they must be, and each flag's wrong values."""
import json
import os
import re
import unittest

from cli import harness
import miniyaml

CLUSTER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "cluster")
EXAMPLE = ("--cluster", os.path.join(CLUSTER, "example.yaml"))
AC922 = ("--root", harness.capture("ac922-4gpu"))
MACHINES = [AC922] + [("--topology", harness.capture(name)) for name in (
    "azure-ndv5-8gpu-8nic.nccl.xml", "dgx2-16gpu.hwloc2.xml", "xeon-2numa-gpu-mlx5.hwloc2.xml", "power8-minsky-4gpu-nvlink.hwloc2.xml")]
LABEL = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")


def export(*words):
    return harness.run_soundly("export", *words)


def files_of(*words):
    result = export(*words, "--json")
    if result.returncode:
        raise AssertionError(result.stderr)
    value, faults = harness.check_json(result.stdout)
    if faults:
        raise AssertionError(faults)
    return {file["name"]: file["content"] for file in value["files"]}


def objects_of(*words):
    """The objects of an export for Kubernetes; each must have what the API server wants of all."""
    (content,) = files_of(*words).values()
    value = miniyaml.load(content)
    objects = value["items"] if value["kind"] == "List" else [value]
    for each in objects:
        assert each["apiVersion"] and each["kind"], each
        assert NAME.fullmatch(each["metadata"]["name"]), each["metadata"]
        for key, text in each["metadata"].get("labels", {}).items():
            assert LABEL.fullmatch(text) and key.startswith("aitherion.io/"), (key, text)
    return objects


def written(test, text):
    path = os.path.join(harness.scratch(), test.id() + ".yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return "--cluster", path


class Kubernetes(unittest.TestCase):
    def test_labels(self):
        (node,) = objects_of("labels", *AC922)
        self.assertEqual((node["kind"], node["metadata"]["name"]), ("Node", "ac922-01"))
        self.assertEqual(node["metadata"]["labels"], {
            "aitherion.io/gpu-count": "4", "aitherion.io/gpu-model": "Tesla-V100-SXM2-32GB", "aitherion.io/gpu-interconnect": "nvlink",
            "aitherion.io/numa-nodes": "2", "aitherion.io/gpus-per-numa": "2", "aitherion.io/single-numa-4gpu": "false",
            "aitherion.io/single-numa-8gpu": "false"})
        topology = json.loads(node["metadata"]["annotations"]["aitherion.io/gpu-topology"])
        self.assertEqual([numa["gpus"] for numa in topology["numa_nodes"]], [[0, 1], [2, 3]])
        nodes = objects_of("labels", *EXAMPLE)
        self.assertEqual([each["metadata"]["name"] for each in nodes], [f"node{i}" for i in range(1, 9)])
        labels = nodes[7]["metadata"]["labels"]
        self.assertEqual((labels["aitherion.io/rack"], labels["aitherion.io/switch"], labels["aitherion.io/switch-2"]), ("rack2", "leaf2", "spine"))
        self.assertEqual((labels["aitherion.io/gpu-interconnect"], labels["aitherion.io/single-numa-4gpu"]), ("nvswitch", "true"))

    def test_names_are_those_of_kubernetes(self):
        source = written(self, "schema: aitherion.cluster/1\nnodes: [{names: Node_A-, gpus: 1, model: '(Odd) model/x '}]\n")
        (node,) = objects_of("labels", *source)
        self.assertEqual(node["metadata"]["name"], "node-a")
        self.assertEqual(node["metadata"]["labels"]["aitherion.io/gpu-model"], "Odd--model-x")

    def test_configmap(self):
        (configmap,) = objects_of("configmap", *AC922)
        self.assertEqual((configmap["kind"], configmap["metadata"]["name"]), ("ConfigMap", "gpu-topology-config"))
        topology = json.loads(configmap["data"]["topology.json"])
        self.assertEqual(topology["gpu_count"], 4)
        self.assertEqual(topology["connections"][0], {"from": 0, "to": 1, "type": "NV3", "bandwidth_gbps": 600.0})
        self.assertEqual(len(topology["connections"]), 6)
        (whole,) = objects_of("configmap", *EXAMPLE)
        self.assertEqual(sorted(whole["data"]), [f"node{i}.json" for i in range(1, 9)])

    def test_a_configmap_has_a_limit(self):
        source = written(self, "schema: aitherion.cluster/1\nnodes: [{names: 'n[1-2000]', gpus: 16, nvlinks: 6}]\n")
        result = export("configmap", *source)
        self.assertEqual(result.returncode, 1)
        self.assertIn("a ConfigMap holds 1 MiB", result.stderr)

    def test_kubelet(self):
        for words, reserved in (((), 1024), (("--reserved", "2G"), 2048)):
            (content,) = files_of("kubelet", *words, "--topology", harness.capture("xeon-2numa-gpu-mlx5.hwloc2.xml")).values()
            value = miniyaml.load(content)
            self.assertEqual((value["kind"], value["topologyManagerPolicy"], value["cpuManagerPolicy"]), ("KubeletConfiguration", "best-effort", "static"))
            self.assertEqual(value["reservedMemory"], [{"numaNode": i, "limits": {"memory": f"{reserved}Mi"}} for i in (0, 1)])
            # kubelet refuses to start unless these are equal.
            self.assertEqual(value["systemReserved"]["memory"], f"{2 * reserved - 100}Mi")
            self.assertEqual(value["evictionHard"]["memory.available"], "100Mi")
            self.assertRegex(value["reservedSystemCPUs"], r"^[0-9]+([-,][0-9]+)*$")

    def test_kubelet_is_refused_with_the_reason(self):
        for words, message in ((AC922, "ids up to 63, and there is node 252"),
                               (EXAMPLE, "the memory of the NUMA nodes of 'node1' is not known"),
                               (("--topology", harness.capture("xeon-2numa-gpu-mlx5.hwloc2.xml"), "--reserved", "50M"), "does not add up"),
                               (("--topology", harness.capture("xeon-2numa-gpu-mlx5.hwloc2.xml"), "--reserved", "4096G"), "has no 4194304Mi to reserve")):
            with self.subTest(message=message):
                result = export("kubelet", *words)
                self.assertEqual(result.returncode, 1)
                self.assertIn(message, result.stderr)

    def test_pod(self):
        (pod,) = objects_of("pod", "--gpus", "2", "--image", "registry/app:1", *AC922)
        (container,) = pod["spec"]["containers"]
        self.assertEqual(container["image"], "registry/app:1")
        self.assertEqual(container["resources"]["limits"], {"nvidia.com/gpu": "2", "cpu": "57", "memory": "226Gi"})
        self.assertEqual(container["resources"]["requests"], container["resources"]["limits"])
        self.assertEqual(pod["spec"]["nodeSelector"], {"kubernetes.io/hostname": "ac922-01"})
        self.assertEqual(pod["metadata"]["annotations"]["aitherion.io/gpus"], "0,1")
        self.assertEqual(pod["metadata"]["annotations"]["aitherion.io/numa-nodes"], "0")
        pods = objects_of("pod", "--gpus", "12", *EXAMPLE)
        self.assertEqual([each["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] for each in pods], ["8", "4"])
        self.assertEqual([each["metadata"]["name"] for each in pods], ["gpus-0", "gpus-1"])

    def test_node_resource_topology(self):
        (object_,) = objects_of("nrt", *AC922)
        self.assertEqual((object_["apiVersion"], object_["kind"]), ("topology.node.k8s.io/v1alpha2", "NodeResourceTopology"))
        self.assertEqual([zone["name"] for zone in object_["zones"]], ["node-0", "node-8"])
        self.assertEqual(object_["zones"][1]["costs"], [{"name": "node-0", "value": 40}, {"name": "node-8", "value": 10}])
        self.assertEqual(object_["zones"][0]["resources"][2], {"name": "nvidia.com/gpu", "capacity": "2", "allocatable": "2", "available": "2"})
        source = written(self, "schema: aitherion.cluster/1\nnodes: [{names: n, gpus: 4, numa_nodes: 2, busy: [0, 2, 3]}]\n")
        (object_,) = objects_of("nrt", *source)
        self.assertEqual([zone["resources"][0]["available"] for zone in object_["zones"]], ["1", "0"])

    def test_resource_slices(self):
        for source in MACHINES:
            (slice_,) = objects_of("resourceslice", *source)
            devices = slice_["spec"]["devices"]
            self.assertEqual((slice_["apiVersion"], slice_["spec"]["driver"]), ("resource.k8s.io/v1", "gpu.aitherion.io"))
            self.assertLessEqual(len(devices), 128)
            for device in devices:
                self.assertTrue(NAME.fullmatch(device["name"]))
                self.assertLessEqual(len(device["attributes"]) + len(device.get("capacity", {})), 32)
                for attribute in device["attributes"].values():
                    (kind,) = attribute
                    self.assertIn(kind, ("int", "string"))
                    self.assertLessEqual(len(str(attribute[kind])), 64)
        (slice_,) = objects_of("resourceslice", *AC922)
        self.assertEqual([device["attributes"]["nvlinkClique"]["string"] for device in slice_["spec"]["devices"]], ["gpu-0", "gpu-0", "gpu-2", "gpu-2"])
        self.assertEqual(slice_["spec"]["devices"][2]["attributes"]["numaNode"], {"int": 8})
        self.assertEqual(slice_["spec"]["devices"][0]["capacity"], {"memory": {"value": "33822867456"}})

    def test_hypernodes(self):
        hypernodes = {each["metadata"]["name"]: each["spec"] for each in objects_of("hypernode", *EXAMPLE)}
        self.assertEqual({name: spec["tier"] for name, spec in hypernodes.items()}, {"spine": 2, "leaf1": 1, "leaf2": 1})
        self.assertEqual([(member["type"], member["selector"]["exactMatch"]["name"]) for member in hypernodes["spine"]["members"]],
                         [("HyperNode", "leaf1"), ("HyperNode", "leaf2")])
        self.assertEqual([member["selector"]["exactMatch"]["name"] for member in hypernodes["leaf2"]["members"]], ["node5", "node6", "node7", "node8"])


class Others(unittest.TestCase):
    def test_topograph(self):
        value = json.loads(export("topograph", *EXAMPLE).stdout)
        self.assertEqual(value["instances"][4], {"id": "node5", "network_layers": ["leaf2", "spine"], "labels": {}})

    def test_slurm_of_an_ac922(self):
        files = files_of("slurm", *AC922)
        self.assertEqual(sorted(files), ["gres.conf", "licenses.conf", "nodes.conf"])
        self.assertEqual(files["licenses.conf"], "Licenses=aitherion:4\n")
        self.assertEqual(files["gres.conf"].splitlines(), [
            "NodeName=ac922-01 Name=gpu Type=tesla_v100-sxm2-32gb File=/dev/nvidia0 Cores=0-15 Links=-1,3,0,0",
            "NodeName=ac922-01 Name=gpu Type=tesla_v100-sxm2-32gb File=/dev/nvidia1 Cores=0-15 Links=3,-1,0,0",
            "NodeName=ac922-01 Name=gpu Type=tesla_v100-sxm2-32gb File=/dev/nvidia2 Cores=16-31 Links=0,0,-1,3",
            "NodeName=ac922-01 Name=gpu Type=tesla_v100-sxm2-32gb File=/dev/nvidia3 Cores=16-31 Links=0,0,3,-1"])
        self.assertIn("Sockets=2 CoresPerSocket=16 ThreadsPerCore=4 RealMemory=519444 Gres=gpu:tesla_v100-sxm2-32gb:4\n", files["nodes.conf"])
        # The JSON of the machine alone says the same.
        machine = harness.run_soundly("discover", "--json", *AC922).stdout
        path = os.path.join(harness.scratch(), "ac922.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(machine)
        self.assertEqual(files_of("slurm", "--topology", path), files)

    def test_slurm_of_a_cluster(self):
        files = files_of("slurm", *EXAMPLE)
        self.assertEqual(files["topology.conf"], "SwitchName=spine Switches=leaf[1-2]\nSwitchName=leaf1 Nodes=node[1-4]\nSwitchName=leaf2 Nodes=node[5-8]\n")
        self.assertEqual(len(files["gres.conf"].splitlines()), 16)
        self.assertEqual(files["licenses.conf"], "Licenses=aitherion:64\n")
        # The written file is read again.
        path = os.path.join(harness.scratch(), "topology.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(files["topology.conf"])
        self.assertEqual(files_of("slurm", "--cluster", path)["topology.conf"], files["topology.conf"])

    def test_slurm_has_no_mixed_switches(self):
        source = written(self, "schema: aitherion.cluster/1\nswitches: [{name: a}, {name: b, above: a}]\n"
                               "nodes: [{names: n1, switch: a}, {names: n2, switch: b}]\n")
        result = export("slurm", *source)
        self.assertEqual(result.returncode, 1)
        self.assertIn("below the switch 'a' are nodes and switches", result.stderr)

    def test_unknown_facts_are_left_out(self):
        source = written(self, "schema: aitherion.cluster/1\nnodes: [{names: n1, gpus: 2}]\n")
        self.assertEqual(files_of("slurm", *source)["gres.conf"], "NodeName=n1 Name=gpu File=/dev/nvidia0\nNodeName=n1 Name=gpu File=/dev/nvidia1\n")
        (node,) = objects_of("labels", *source)
        self.assertNotIn("aitherion.io/gpu-model", node["metadata"]["labels"])
        self.assertNotIn("aitherion.io/gpu-interconnect", node["metadata"]["labels"])

    def test_every_kind_of_every_machine(self):
        for source in MACHINES:
            for kind in ("labels", "configmap", "pod", "slurm", "nrt", "resourceslice"):
                result = export(kind, *source, *(("--gpus", "1") if kind == "pod" else ()))
                self.assertEqual(result.returncode, 0, (kind, source, result.stderr))

    def test_files_in_a_folder(self):
        folder = os.path.join(harness.scratch(), "exported")
        result = export("slurm", *EXAMPLE, "-o", folder, "--dry-run")
        self.assertIn(f"would write '{folder}/gres.conf'", result.stdout)
        self.assertFalse(os.path.exists(folder))
        self.assertIn(f"wrote '{folder}/topology.conf'", export("slurm", *EXAMPLE, "-o", folder).stdout)
        for name, content in files_of("slurm", *EXAMPLE).items():
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                self.assertEqual(file.read(), content)
        self.assertEqual(export("slurm", *EXAMPLE, "-o", folder, "-q").stdout, "")
        self.assertEqual(export("slurm", *EXAMPLE, "-o", "/dev/null").returncode, 1)


class WrongWords(unittest.TestCase):
    def test_each_is_refused(self):
        for words, code, message in (
                ((), 2, "KIND"),
                (("helm",), 2, "helm"),
                (("labels", "more"), 2, "more"),
                (("pod", *AC922), 2, "the number of GPUs is missing"),
                (("pod", "--gpus", "0", *AC922), 2, "'0' is no number for --gpus"),
                (("pod", "--gpus", "5", *AC922), 1, "4 free GPUs, fewer than 5"),
                (("labels", "--gpus", "1", *AC922), 2, "--gpus has no meaning for 'labels'"),
                (("labels", "--image", "x", *AC922), 2, "--image has no meaning for 'labels'"),
                (("labels", "--reserved", "1G", *AC922), 2, "--reserved has no meaning for 'labels'"),
                (("kubelet", "--reserved", "much", *AC922), 2, "'much' is no size for --reserved"),
                (("kubelet", "--reserved", "0", *AC922), 2, "'0' is no size for --reserved"),
                (("kubelet", "--reserved", "1000", *AC922), 2, "--reserved must be whole MiB"),
                (("hypernode", *AC922), 1, "'hypernode' is about switches"),
                (("topograph", *AC922), 1, "'topograph' is about switches"),
                (("labels", *EXAMPLE, *AC922), 2, "'--cluster' and '--root' exclude each other"),
                (("labels", *EXAMPLE, *MACHINES[1]), 2, "'--cluster' and '--topology' exclude each other"),
                (("labels", "--cluster", "/nonexistent"), 1, "/nonexistent"),
                (("labels", "-o"), 2, "--output")):
            with self.subTest(words=words):
                result = export(*words)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(message, result.stderr)


if __name__ == "__main__":
    harness.main()
