#!/usr/bin/env python3
"""--topology with the texts of `nvidia-smi topo -m`, `numactl -H` and `nvidia-smi -L`.

Each table must come back from `discover --format matrix` cell by cell, in every form that it has in the wild. No address may appear
that no text has.
"""
import os
import re
import unittest

from cli import harness

TEXTS = os.path.join(harness.DATA, "texts")
TABLES = ("ac922-a.topo.txt", "ac922-b.topo.txt", "dgx1-made.topo.txt", "hgx-h100-made.topo.txt")
ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")


def path(name):
    return os.path.join(TEXTS, name)


def read(name):
    with open(path(name), encoding="utf-8") as file:
        return file.read()


def scratch_file(name, text):
    place = os.path.join(harness.scratch(), name)
    with open(place, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return place


def table_of(text):
    """Returns the table of a text with tabs, read without the program: {(row, column): word}, and {GPU: its last cells}."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).split("\t") for line in text.splitlines() if "\t" in line]
    devices = dict(re.findall(r"^  (NIC\d+): (\S+)$", text, re.M))
    heads = lines[0][1:]
    columns = heads[:heads.index("CPU Affinity")]
    cells, last = {}, {}
    for line in lines[1:]:
        for column, word in zip(columns, line[1:]):
            cells[devices.get(line[0], line[0]), devices.get(column, column)] = word.strip()
        if line[0].startswith("GPU"):
            last[line[0]] = line[1 + len(columns):]
    return cells, last


def matrix(*names):
    """Returns the same from the program's matrix."""
    text = harness.run_soundly("discover", "--topology", ",".join(names), "--format", "matrix", env=harness.environment(COLUMNS="400")).stdout
    lines = [line.split() for line in text.split("\n\n")[0].splitlines()]
    columns = lines[0][:-3]
    cells = {(line[0], column): word for line in lines[1:] for column, word in zip(columns, line[1:])}
    return cells, {line[0]: line[1 + len(columns):] for line in lines[1:] if line[0].startswith("GPU")}


class Forms(unittest.TestCase):
    """The same table in other forms says the same."""

    def test_each_gives_its_cells_back(self):
        for name in TABLES:
            wanted, last = table_of(read(name))
            got, got_last = matrix(path(name))
            self.assertEqual(got, wanted, name)
            self.assertGreater(len(wanted), 60)
            if name != "dgx1-made.topo.txt":  # without its text of numactl no source tells the nodes
                self.assertEqual({gpu: cells[:2] for gpu, cells in got_last.items()}, {gpu: cells[:2] for gpu, cells in last.items()})

    def test_forms_of_the_wild(self):
        for name in TABLES:
            text, wanted = read(name), table_of(read(name))[0]
            plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
            forms = {
                "crlf": text.replace("\n", "\r\n"),
                "mark": "\ufeff" + text,
                "screen": "$ nvidia-smi topo -m\n" + "\n".join(line.expandtabs(8) for line in plain.splitlines()) + "\n$ ",
                "underlined": re.sub(r"^\t", "\t\x1b[4m", text, flags=re.M).replace("Affinity\n", "Affinity\x1b[0m\n"),
                "web page": "\n".join(line.expandtabs(8).replace(" ", "\u00a0") for line in plain.splitlines()),
                "before and behind": "Thu Nov 26\n\n" + text + "\n\nroot@host:~# GPU3\n",
            }
            for form, changed in forms.items():
                self.assertEqual(matrix(scratch_file("form.txt", changed))[0], wanted, f"{name}: {form}")

    def test_blank_affinities(self):
        """WSL and machines without NUMA leave them blank; with blanks, only the place below the head tells whose a cell is."""
        head, row = "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n", "GPU0\t X \t%s\n"
        for cells, node, memory in (("\t\t\tN/A", None, None), ("0-31\tN/A\t\tN/A", None, None), ("0-31\t0\t\tN/A", 0, None),
                                    ("0-71\t0\t\t4", 0, 4), ("0-71\t0-1\t\t4", None, 4)):
            text = head + row % cells
            for form in (text, text.expandtabs(8)):
                value = harness.checked_json("discover", "--topology", scratch_file("blank.txt", form))
                gpu = value["gpus"][0]
                self.assertEqual((gpu["numa_node"], gpu["memory_node"]), (node, memory), form)

    def test_several_nodes_of_a_gpu(self):
        """The table of a GB200 also names the nodes that parts of the GPU may get. The CPUs tell which one is meant."""
        topo = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n" \
               "GPU0\t X \tNV18\t0-1\t0,4-9\t\t2\nGPU1\tNV18\t X \t2-3\t1,12-19\t\t10\n"
        numactl = "available: 4 nodes (0-2,10)\nnode 0 cpus: 0 1\nnode 1 cpus: 2 3\nnode 2 cpus:\nnode 10 cpus:\n"
        for text, nodes in ((topo, [None, None]), (topo + numactl, [0, 1])):
            value = harness.checked_json("discover", "--topology", scratch_file("gb200.txt", text))
            self.assertEqual([gpu["numa_node"] for gpu in value["gpus"]], nodes)
            self.assertEqual([gpu["memory_node"] for gpu in value["gpus"]], [2, 10])

    def test_memory_of_a_gpu(self):
        """Grace Hopper: the node is in the column, and numactl gives its size."""
        topo = "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t0-71\t0\t\t1\n"
        numactl = "available: 2 nodes (0-1)\nnode 0 cpus: 0 1 2\nnode 0 size: 10 MB\nnode 0 free: <not available>\nnode 1 cpus:\nnode 1 size: 96 MB\n"
        value = harness.checked_json("discover", "--topology", scratch_file("gh200.txt", topo + numactl))
        self.assertEqual([(node["id"], node["kind"], node["memory_total_bytes"]) for node in value["numa_nodes"]],
                         [(0, "cpu", 10 << 20), (1, "gpu", 96 << 20)])
        text = harness.run_soundly("discover", "--topology", scratch_file("gh200.txt", topo + numactl)).stdout
        self.assertIn("96.0 MiB, NUMA node 1", text)
        self.assertEqual(value["gpus"][0]["memory_total_bytes"], 96 << 20)


class Machine(unittest.TestCase):
    SOURCE = ("--topology", path("ac922-a.topo.txt") + "," + path("ac922-a.numactl.txt"))

    def test_numactl_in_the_same_file_or_another(self):
        both = scratch_file("both.txt", read("ac922-a.topo.txt") + read("ac922-a.numactl.txt"))
        turned = scratch_file("turned.txt", read("ac922-a.numactl.txt") + read("ac922-a.topo.txt"))
        values = [harness.checked_json("discover", "--topology", source) for source in (both, turned, self.SOURCE[1])]
        for value in values:
            for warning in value["warnings"]:
                warning["object"] = warning["message"] = ""
        self.assertEqual(values[0], values[1])
        self.assertEqual(values[0], values[2])
        nodes = values[0]["numa_nodes"]
        self.assertEqual([node["id"] for node in nodes], [0, 8, 252, 253, 254, 255])
        self.assertEqual([node["memory_total_bytes"] >> 20 for node in nodes], [257716, 261728, 32256, 32256, 32256, 32256])
        self.assertEqual((nodes[1]["cpus"], nodes[1]["memory_free_bytes"] >> 20), ("64-127", 244415))
        self.assertEqual(nodes[1]["distances"], {"0": 40, "8": 10, "252": 80, "253": 80, "254": 80, "255": 80})

    def test_a_comma_in_a_name(self):
        place = scratch_file("a,b.txt", read("ac922-a.topo.txt"))
        self.assertEqual(matrix(place)[0], table_of(read("ac922-a.topo.txt"))[0])

    def test_nothing_is_invented(self):
        value = harness.checked_json("discover", *self.SOURCE)
        self.assertEqual([gpu["pci"] for gpu in value["gpus"]], [None] * 4)
        self.assertEqual({nic["pci"] for nic in value["nics"]}, {None})
        self.assertEqual([(pair["a"], pair["b"], pair["a_index"], pair["b_index"], pair["class"]) for pair in value["gpu_pairs"]][:2],
                         [(None, None, 0, 1, "NV3"), (None, None, 0, 2, "SYS")])
        self.assertEqual({pair["gpu"] for pair in value["pairs"]}, {None})
        self.assertEqual(sorted({pair["gpu_index"] for pair in value["pairs"]}), [0, 1, 2, 3])
        self.assertEqual(value["gpus"][0]["nvlinks"][0]["peer"], None)
        for name in TABLES:
            for form in ("text", "dot", "svg", "json"):
                result = harness.run_soundly("discover", "--topology", path(name), "--format", form)
                self.assertEqual((result.returncode, ADDRESS.search(result.stdout)), (0, None), f"{name} {form}")
        for words in (["discover"], ["discover", "--format", "matrix"], ["discover", "--format", "dot"], ["discover", "--format", "svg"],
                      ["discover", "--json"], ["place", "2"], ["place", "2", "--json"], ["estimate", "all-reduce", "--size", "1M"]):
            result = harness.run_soundly(*words, *self.SOURCE)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIsNone(ADDRESS.search(result.stdout), words)
            self.assertIn("GPU3" if words[0] == "discover" and "--json" not in words else "0", result.stdout)

    def test_gpus_keep_their_numbers(self):
        """Ten and more: by number, not by text."""
        count = 12
        text = "\t" + "\t".join(f"GPU{i}" for i in range(count)) + "\tCPU Affinity\tNUMA Affinity\n" + "".join(
            f"GPU{i}\t" + "\t".join(" X " if i == j else "NV1" if {i, j} == {2, 10} else "SYS" for j in range(count)) + f"\t{i}\t{i}\n"
            for i in range(count))
        value = harness.checked_json("discover", "--topology", scratch_file("twelve.txt", text))
        self.assertEqual([gpu["numa_node"] for gpu in value["gpus"]], list(range(count)))
        self.assertEqual([(pair["a_index"], pair["b_index"]) for pair in value["gpu_pairs"] if pair["class"] == "NV1"], [(2, 10)])

    def test_place(self):
        value = harness.checked_json("place", "2", *self.SOURCE)
        group = value["groups"][0]
        self.assertEqual([gpu["index"] for gpu in group["gpus"]], [0, 1])
        self.assertEqual([port["rdma_device"] for port in group["ports"]], ["mlx5_0", "mlx5_1"])
        self.assertEqual(group["environment"]["CUDA_VISIBLE_DEVICES"], "0,1")
        self.assertEqual((group["numa_nodes"], group["cpus"]), ([0], "0-63"))
        near = harness.checked_json("place", "1", "--near", "mlx5_4", *self.SOURCE)
        self.assertIn(near["groups"][0]["gpus"][0]["index"], (2, 3))

    def test_links_of_unknown_speed_are_compared_by_number(self):
        """Without models no bandwidth is known, and a set of two links is better than one of a node."""
        alone = harness.checked_json("place", "2", "--topology", path("dgx1-made.topo.txt"))
        self.assertEqual([gpu["index"] for gpu in alone["groups"][0]["gpus"]], [0, 3])
        self.assertIsNone(alone["groups"][0]["ring_bandwidth_bytes_per_s"])
        known = harness.checked_json("place", "2", "--topology", path("dgx1-made.topo.txt") + "," + path("dgx1-made.rest.txt"))
        self.assertEqual([gpu["index"] for gpu in known["groups"][0]["gpus"]], [0, 3])
        self.assertEqual(known["groups"][0]["ring_bandwidth_bytes_per_s"], 50000000000)
        self.assertTrue(known["groups"][0]["environment"]["CUDA_VISIBLE_DEVICES"].startswith("GPU-00000000-1111-"))

    def test_cards_belong_to_the_node_of_their_gpus(self):
        value = harness.checked_json("discover", "--topology", path("dgx1-made.topo.txt") + "," + path("dgx1-made.rest.txt"))
        self.assertEqual({nic["rdma_device"]: nic["numa_node"] for nic in value["nics"]}, {"mlx5_0": 0, "mlx5_2": 0, "mlx5_1": 1, "mlx5_3": 1})
        self.assertEqual([gpu["numa_node"] for gpu in value["gpus"]], [0] * 4 + [1] * 4)  # from the CPUs that numactl lists
        self.assertEqual(value["gpus"][3]["model"], "Tesla V100-SXM2-32GB")

    def test_estimate(self):
        source = ("--topology", path("dgx1-made.topo.txt") + "," + path("dgx1-made.rest.txt"))
        value = harness.checked_json("estimate", "all-reduce", "--size", "100M", *source)
        self.assertEqual(value["slowest"]["bandwidth_bytes_per_s"], 50000000000)
        self.assertEqual(value["nccl"]["algorithm"], "ring")

    def test_init_wants_addresses(self):
        result = harness.run_soundly("init", "-c", os.path.join(harness.scratch(), "never.yaml"), *self.SOURCE)
        self.assertEqual(result.returncode, 1)
        self.assertIn("has no PCI addresses", result.stderr)
        self.assertFalse(os.path.exists(os.path.join(harness.scratch(), "never.yaml")))

    def test_health_does_not_miss_what_the_text_cannot_have(self):
        document = os.path.join(harness.SOURCE, "etc", "ac922_topology.yaml")
        value, faults = harness.check_json(harness.run_soundly("health", "--json", "-c", document, *self.SOURCE).stdout)
        self.assertEqual(faults, [])
        codes = {check["code"] for check in value["checks"] if check["status"] == "fault"}
        self.assertFalse(codes)
        self.assertIn("gpu-missing", {check["code"] for check in value["checks"] if check["status"] == "unknown"})


class WrongTexts(unittest.TestCase):
    """Each fault is named with file, line and cause, and a hint."""

    TOPO, NUMACTL = read("ac922-a.topo.txt"), read("ac922-a.numactl.txt")

    def refused(self, text, message):
        place = text if isinstance(text, str) and text.startswith("/") else scratch_file("wrong.txt", text)
        result = harness.run_soundly("discover", "--topology", place)
        self.assertEqual((result.returncode, result.stdout), (1, ""), message)
        self.assertRegex(result.stderr, message)
        self.assertIn("hint: ", result.stderr)
        value, faults = harness.check_json(harness.run("discover", "--topology", place, "--json").stderr)
        self.assertEqual((faults, value["code"]), ([], "topology-invalid"))

    def change(self, text, old, new):
        self.assertIn(old, text)
        return text.replace(old, new, 1)

    def test_tables(self):
        for old, new, message in (
                ("NV3", "NVX", r"wrong.txt:3: the cell 'NVX' of GPU0 and GPU1 is no word of the legend"),
                ("NV3", "NV4", r"wrong.txt:4: GPU0 and GPU1 say different things about each other"),
                ("mlx5_1\tNODE", "mlx5_1\tSYS", r"wrong.txt:8: GPU0 and mlx5_1 say different things"),
                ("NODE\tNODE\tSYS\tSYS\tSYS\tSYS\t0-63\t0\nGPU1", "NODE\nGPU1", r"wrong.txt:3: the row GPU0 is cut"),
                ("0-63", "none", r"wrong.txt:3: the column 'CPU Affinity' of GPU0 has no list of numbers: 'none'"),
                ("GPU2\tSYS", "GPU1\tNV3", r"wrong.txt:5: the row GPU1 occurs twice"),
                ("\tGPU2\tGPU3\tmlx", "\tGPU3\tGPU2\tmlx", r"wrong.txt:2: the column 'GPU3' stands where GPU2"),
                ("mlx5_1\tmlx5_2", "mlx5_0\tmlx5_2", r"wrong.txt:2: the column 'mlx5_0' occurs twice"),
                ("mlx5_5\tSYS", "mlx\tSYS", r"wrong.txt:2: the row mlx5_5 is missing"),
                ("GPU3\tSYS", "GPU4\tSYS", r"wrong.txt:2: the row GPU3 is missing")):
            self.refused(self.change(self.TOPO, old, new), message)
        self.refused(self.TOPO + "\n" + read("ac922-b.topo.txt"), r"wrong.txt:15: a second table begins here, and the first one in line 2")

    def test_numactl(self):
        for old, new, message in (
                ("nodes (0,8,252-255)", "nodes 0,8", r"wrong.txt:14: .* is no number of NUMA nodes in brackets"),
                ("(0,8,", "(0,8,9,", r"wrong.txt:14: the line of the CPUs of NUMA node 9 is missing"),
                ("cpus: 0 1", "cpus: 0 x", r"wrong.txt:15: 'x 2 3.* is no number of a CPU"),
                ("size: 257716 MB", "size: big", r"wrong.txt:16: 'big' is no number of megabytes"),
                ("  8:  40  10", "  8:  40", r"wrong.txt:36: the row of node 8 does not have 6 distances"),
                ("  8:  40", "  0:  40", r"wrong.txt:36: the distances of node 0 occur twice"),
                ("  8:  40", "  9:  40", r"wrong.txt:36: the table of distances has node 9"),
                ("node 8 cpus: 64 ", "node 9 cpus: 64 ", r"wrong.txt:14: the line of the CPUs of NUMA node 8 is missing"),
                ("252-255)", "252-254)", r"wrong.txt:14: the first line does not name NUMA node 255")):
            self.refused(self.TOPO + self.change(self.NUMACTL, old, new), message)
        self.refused(self.TOPO + self.NUMACTL + self.NUMACTL, r"wrong.txt:\d+: a second text of `numactl -H` begins here")
        self.refused(self.NUMACTL, "has no table of `nvidia-smi topo -m`")
        self.refused(self.TOPO + re.sub(r"node 8 [^\n]*\n|\n  8:[^\n]*", "", self.NUMACTL).replace("0,8,", "0,"),
                     r"wrong.txt:2: GPU2 belongs to NUMA node 8, which the text of `numactl -H`")

    def test_names(self):
        name = "GPU 9: Tesla V100 (UUID: GPU-1)\n"
        self.refused(self.TOPO + name, r"wrong.txt:13: the table of `nvidia-smi topo -m` has no GPU 9")
        self.refused(self.TOPO + name.replace("9", "1") * 2, r"wrong.txt:14: GPU 1 is named a second time")

    def test_other_files(self):
        self.refused(self.TOPO.encode("utf-16"), "is no text of UTF-8")
        xml = os.path.join(harness.DATA, "topologies", "azure-ndv5-8gpu-8nic.nccl.xml")
        result = harness.run_soundly("discover", "--topology", path("ac922-a.topo.txt") + "," + xml)
        self.assertEqual(result.returncode, 1)
        self.assertIn("is not one of the texts that can be given together", result.stderr)
        result = harness.run_soundly("discover", "--topology", path("ac922-a.topo.txt") + ",missing.txt")
        self.assertEqual(result.returncode, 1)
        self.assertIn("missing.txt", result.stderr)

    def test_cut_anywhere(self):
        """A table that ends early is never taken for a smaller machine."""
        for name in TABLES:
            text = read(name)
            end = text.index("Legend") if "Legend" in text else text.rindex("X")
            for part in range(5, 100, 7):
                cut = text[:end * part // 100]
                result = harness.run_soundly("discover", "--topology", scratch_file("cut.txt", cut))
                self.assertEqual(result.returncode, 1, f"{name} {part}: {result.stdout}")


if __name__ == "__main__":
    harness.main()
