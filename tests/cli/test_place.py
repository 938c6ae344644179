#!/usr/bin/env python3
"""aitherion place: choices on captured machines, programs bound to a choice, and each flag's wrong values."""
import itertools
import json
import os
import re
import tempfile
import unittest
import xml.etree.ElementTree

from cli import harness

AC922 = ("--root", harness.capture("ac922-4gpu"))
DGX2 = ("--topology", harness.capture("dgx2-16gpu.hwloc2.xml"))  # node 0 has CPUs 0 and 1 there
SVG = "{http://www.w3.org/2000/svg}"
XEON = ("--topology", harness.capture("xeon-2numa-gpu-mlx5.hwloc2.xml"))


def place(*words, **options):
    return harness.run_soundly("place", *words, **options)


def placed(*words):
    return harness.checked_json("place", *words)


def gpus_of(answer):
    return [[gpu["index"] for gpu in group["gpus"]] for group in answer["groups"]]


class Choices(unittest.TestCase):
    def test_two_gpus_of_an_ac922_share_a_socket(self):
        """Any set of free GPUs, and captures that know no link."""
        for source in (AC922, ("--root", harness.capture("ac922-6gpu")),
                       ("--topology", harness.capture("ac922-8335gtw-6gpu.hwloc2.xml"))):
            count = placed(*source, "1")["free_gpus"]
            all_gpus, = placed(*source, str(count))["groups"]
            nodes = [gpu["numa_node"] for gpu in all_gpus["gpus"]]
            self.assertEqual(set(nodes), {0, 8})
            for size in range(2, count + 1):
                for free in itertools.combinations(range(count), size):
                    answer = placed(*source, "2", "--free", ",".join(map(str, free)))
                    (first, second), = gpus_of(answer)
                    self.assertLessEqual({first, second}, set(free))
                    self.assertEqual(answer["free_gpus"], size)
                    can_share = any(nodes[a] == nodes[b] for a, b in itertools.combinations(free, 2))
                    self.assertEqual(nodes[first] == nodes[second], can_share, (source, free))

    def test_all_of_an_ac922(self):
        group, = placed(*AC922, "2")["groups"]
        self.assertEqual([gpu["memory_node"] for gpu in group["gpus"]], [255, 254])
        self.assertEqual((group["numa_nodes"], group["gpu_memory_nodes"]), ([0], [254, 255]))
        self.assertEqual((group["cpus"], group["cores"]), ("0-63", 16))
        self.assertEqual([port["rdma_device"] for port in group["ports"] if port["is_for_rdma"]], ["mlx5_0", "mlx5_1"])
        self.assertEqual(group["environment"]["NCCL_IB_HCA"], "=mlx5_0:1,mlx5_1:1")
        self.assertEqual(group["environment"]["CUDA_VISIBLE_DEVICES"], ",".join(gpu["uuid"] for gpu in group["gpus"]))
        self.assertEqual(group["command"], ["numactl", "--physcpubind=0-63", "--preferred=0", "--"])

    def test_cpus(self):
        """A thread of each core comes before the second ones; POWER9 has four."""
        group, = placed(*AC922, "1", "--cpus", "6")["groups"]
        self.assertEqual((group["cpus"], group["cores"]), ("0,4,8,12,16,20", 6))
        group, = placed(*AC922, "4", "--cpus", "4", "--membind")["groups"]
        self.assertEqual((group["cpus"], group["command"][2]), ("0,4,64,68", "--membind=0,8,252-255"))
        group, = placed(*AC922, "4")["groups"]
        self.assertEqual(group["command"], ["numactl", "--physcpubind=0-127", "--localalloc", "--"])
        # hwloc's file says which threads are a core
        group, = placed(*XEON, "1", "--cpus", "2")["groups"]
        self.assertEqual(group["cores"], 2)

    def test_groups(self):
        answer = placed(*AC922, "2", "--groups", "2")
        self.assertEqual(gpus_of(answer), [[0, 1], [2, 3]])
        self.assertEqual([group["cpus"] for group in answer["groups"]], ["0-63", "64-127"])
        self.assertIsNone(answer["next"])
        answer = placed(*AC922, "1", "--groups", "4", "--cpus", "3")
        self.assertEqual([group["cpus"] for group in answer["groups"]], ["0,4,8", "32,36,40", "64,68,72", "96,100,104"])
        self.assertEqual(gpus_of(placed(*DGX2, "4", "--groups", "4")),
                         [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]])

    def test_policies(self):
        self.assertEqual(gpus_of(placed(*AC922, "2", "--avoid", "0", "--policy", "none")), [[1, 2]])
        self.assertEqual(gpus_of(placed(*AC922, "2", "--avoid", "0", "--policy", "single-numa")), [[2, 3]])
        self.assertEqual(gpus_of(placed(*AC922, "3", "--policy", "restricted")), [[0, 1, 2]])
        result = place(*AC922, "2", "--avoid", "0,2", "--policy", "restricted")
        self.assertEqual(result.returncode, 1)
        self.assertIn("needs 2 free GPUs on 1 NUMA node: node 0 has 1, node 8 has 1", result.stderr)

    def test_near(self):
        for name in "mlx5_4", "enP51p1s0f0", "0033:01:00.0":
            answer = placed(*AC922, "1", "--near", name)
            self.assertEqual((gpus_of(answer), answer["near"]), ([[2]], name))
        group, = answer["groups"]
        self.assertEqual(group["environment"]["NCCL_IB_HCA"], "=mlx5_4:1")

    def test_names_of_gpus(self):
        uuid = placed(*AC922, "1", "--free", "3")["groups"][0]["gpus"][0]["uuid"]
        for name in "3", "GPU3", "gpu3", "0035:04:00.0", "00000035:04:00.0", uuid:
            self.assertEqual(gpus_of(placed(*AC922, "1", "--free", name)), [[3]], name)

    def test_a_lost_gpu_is_not_placed(self):
        root = "--root", harness.capture("ac922-4gpu-gpu-lost")
        answer = json.loads(place(*root, "1", "--json").stdout)
        self.assertLess(answer["free_gpus"], 4)

    def test_every_capture(self):
        for name in harness.capture_names():
            source = "--topology" if name.endswith(".xml") else "--root", harness.capture(name)
            for words in (["1"], ["2", "--policy", "restricted"], ["1", "--groups", "2", "--cpus", "1"]):
                result = place(*source, "--json", *words)
                value, faults = harness.check_json(result.stdout or result.stderr)
                self.assertEqual(faults, [], name)
                self.assertIn(value["schema"], ("aitherion.place/1", "aitherion.error/1"))
                self.assertEqual(place(*source, *words).returncode, result.returncode)

    def test_text(self):
        result = place(*AC922, "2")
        self.assertEqual(result.returncode, 0)
        for words in ("GPU0 ", "NUMA nodes   0; GPU memory: 254-255", "CPUs         0-63 (64 CPUs, 16 cores)", "enP3p1s0f0 (mlx5_0) NODE",
                      "numactl --physcpubind=0-63 --preferred=0 --", "the search was exact", "Next best    GPU2, GPU3"):
            self.assertIn(words, result.stdout)


class Programs(unittest.TestCase):
    def setUp(self):
        if 0 not in os.sched_getaffinity(0):
            self.skipTest("this process may not use CPU 0, as the captured machine has it")

    def test_a_port_that_has_no_name_has_an_address(self):
        text = place("1", "--topology", harness.capture("azure-ndv5-8gpu-8nic.nccl.xml")).stdout
        self.assertIn("Network      0101:00:00.0 PIX\n", text)

    def test_a_program_is_bound(self):
        result = place(*DGX2, "2", "--cpus", "1", "--", "sh", "-c", "grep Cpus_allowed_list: /proc/self/status; env; exit 7")
        self.assertEqual(result.returncode, 7, result.stderr)
        self.assertIn("Cpus_allowed_list:\t0\n", result.stdout)
        group, = placed(*DGX2, "2")["groups"]
        self.assertIn("CUDA_VISIBLE_DEVICES=" + ",".join(gpu["uuid"] for gpu in group["gpus"]) + "\n", result.stdout)

    def test_memory_policy(self):
        if not os.path.exists("/proc/self/numa_maps"):
            self.skipTest("this kernel has no NUMA nodes")
        for words, policy in ([], "prefer"), (["--membind"], "bind:0"):
            result = place(*DGX2, "1", *words, "--cpus", "1", "--", "cat", "/proc/self/numa_maps")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(f" {policy}", result.stdout)

    def test_flags_after_the_program_are_its_own(self):
        self.assertEqual(place(*DGX2, "1", "--cpus", "1", "--", "echo", "--json", "-n", "--free").stdout, "--json -n --free\n")

    def test_exit_codes(self):
        for words, code in ((["/nowhere/at/all"], 127), (["/etc/passwd"], 126), (["sh", "-c", "exit 3"], 3)):
            self.assertEqual(place(*DGX2, "1", "--cpus", "1", "--", *words).returncode, code)
        result = place(*DGX2, "17", "--", "true")
        self.assertEqual(result.returncode, 125)
        self.assertIn("cannot place 17 GPUs: 16 of the machine's 16 are free", result.stderr)
        result = place(*AC922, "1", "--free", "3", "--", "true")
        self.assertEqual(result.returncode, 125)
        self.assertIn("the choice has CPUs that this process may not use: ", result.stderr)

    def test_dry_run(self):
        result = place(*AC922, "2", "--dry-run", "--", "python3", "it's")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("--preferred=0 -- python3 'it'\\''s'", result.stdout)
        self.assertEqual(placed(*AC922, "2", "--dry-run", "--", "a", "b c")["program"], ["a", "b c"])


class WrongInput(unittest.TestCase):
    def test_each_flag(self):
        for words, code, message in (
                (["0"], 2, "'0' is no number for K"),
                (["-1"], 2, "unknown option '-1'"),
                (["two"], 2, "'two' is no number for K"),
                (["99999999999999999999"], 2, "is no number for K"),
                ([], 2, "'place' needs an argument: K"),
                (["5"], 1, "cannot place 5 GPUs: 4 of the machine's 4 are free"),
                (["1", "--groups", "0"], 2, "'0' is no number for --groups"),
                (["1", "--groups", ""], 2, "'' is no number for --groups"),
                (["2", "--groups", "3"], 1, "cannot place 3 groups of 2 GPUs: 4 of the machine's 4 are free"),
                (["1", "--groups", "2", "--", "true"], 2, "'true' can run on one group, and --groups chooses 2"),
                (["1", "--policy", "best"], 2, "'best'"),
                (["1", "--cpus", "x"], 2, "'x' is no number for --cpus"),
                (["1", "--cpus", "129"], 1, "cannot take 129 CPUs: the machine has 128 online"),
                (["1", "--near", "mlx5_9"], 1, "no network port 'mlx5_9' for --near: it has enP3p1s0f0, "),
                (["1", "--near", ""], 1, "no network port '' for --near"),
                (["1", "--free", "4"], 1, "no GPU '4' of --free: it has GPU0 to GPU3"),
                (["1", "--free", ""], 2, "'' of --free has an empty entry"),
                (["1", "--free", "0,,1"], 2, "'0,,1' of --free has an empty entry"),
                (["1", "--free", "0001:00:00.0"], 1, "no GPU '0001:00:00.0' of --free"),
                (["1", "--free", "GPU-2"], 1, "'GPU-2' of --free begins the UUIDs of 4 GPUs"),
                (["1", "--avoid", "x"], 1, "no GPU 'x' of --avoid"),
                (["1", "--free", "0,1", "--avoid", "1"], 2, "GPU1 is in both --free and --avoid"),
                (["1", "--avoid", "0,1,2,3"], 1, "cannot place 1 GPUs: 0 of the machine's 4 are free"),
                (["1", "--membind=0"], 2, "'--membind' takes no value")):
            result = place(*AC922, *words)
            self.assertEqual(result.returncode, code, (words, result.stderr))
            self.assertIn(message, result.stderr)
            self.assertIn("hint: ", result.stderr, words)
        for words in (["0"], ["5"], ["1", "--free", "4"]):
            value, faults = harness.check_json(place(*AC922, "--json", *words).stderr)
            self.assertEqual(faults, [])
            self.assertIn("GPU" if words != ["0"] else "number", value["message"])

    def test_a_gpu_that_no_program_can_use(self):
        result = place("--root", harness.capture("ac922-4gpu-gpu-lost"), "1", "--free", "0,1,2,3")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"GPU\d \(\S+\) of --free cannot be placed")

    def test_a_machine_without_gpus(self):
        result = place("--root", harness.capture("laptop"), "1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("the machine has no GPU to place", result.stderr)


class Pictures(unittest.TestCase):
    """-o FILE and --format: the machine in which the choice stands out."""

    def svg(self, *words):
        result = place(*words, "--format", "svg")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return xml.etree.ElementTree.fromstring(result.stdout)

    def marks_of(self, *words):
        """The badge in each GPU's box, by GPU; and the classes of the boxes."""
        badges, classes = {}, {}
        for group in self.svg(*words).iter(f"{SVG}g"):
            name, = [text.text for text in group.iter(f"{SVG}text") if text.get("class") == "name"]
            box = next(group.iter(f"{SVG}rect"))
            classes[name] = box.get("class")
            badges.update({name: text.text for text in group.iter(f"{SVG}text") if text.get("class") == "badge"})
        return badges, classes

    def test_one_group(self):
        badges, classes = self.marks_of(*AC922, "2", "--free", "2,3")
        self.assertEqual(badges, {"GPU2": "chosen", "GPU3": "chosen"})
        self.assertEqual([classes[f"GPU{i}"] for i in range(4)], ["passed", "passed", "group0", "group0"])
        self.assertEqual({name for name, word in classes.items() if "port" in word}, {"enP48p1s0f0", "enP51p1s0f0", "enP51p1s0f1"})
        self.assertEqual(classes["enP48p1s0f1"], "off")  # its link is down

    def test_groups_differ_in_words(self):
        """More groups than colours: the words are different all the same."""
        badges, classes = self.marks_of(*DGX2, "1", "--groups", "16")
        self.assertEqual(sorted(badges.values()), sorted(f"group {i + 1}" for i in range(16)))
        self.assertEqual(len(set(classes.values())), 6)

    def test_the_ring_is_thick(self):
        paths = [path.get("class") for path in self.svg(*AC922, "2", "--groups", "2").iter(f"{SVG}path")]
        self.assertEqual(sorted(word for word in paths if word.startswith("ring")), ["ring0", "ring0", "ring1"])  # one in the legend
        paths = [path.get("class") for path in self.svg(*AC922, "1").iter(f"{SVG}path")]
        self.assertFalse([word for word in paths if word.startswith("ring")])
        stubs = [path.get("class") for path in self.svg(*DGX2, "3").iter(f"{SVG}path")]
        self.assertEqual(stubs.count("ring0"), 4)

    def test_the_legend(self):
        words = [text.text for text in self.svg(*DGX2, "9").iter(f"{SVG}text")]
        self.assertIn("chosen: 9 GPUs", words)
        self.assertIn("GPU that is not chosen", words)
        words = [text.text for text in self.svg(*AC922, "4").iter(f"{SVG}text")]
        self.assertIn("chosen: GPU0, GPU1, GPU2, GPU3", words)
        self.assertNotIn("GPU that is not chosen", words)
        self.assertNotIn("GPU", words)

    def test_a_host_without_ports(self):
        badges, classes = self.marks_of("--topology", harness.capture("power8-minsky-4gpu-nvlink.hwloc2.xml"), "2")
        self.assertEqual(sorted(badges), ["GPU0", "GPU1"])
        self.assertEqual(len(classes), 4)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, start in (("a.svg", "<?xml"), ("a.dot", "graph machine"), ("a.matrix", "  "), ("a.json", "{"), ("a.yml", "schema:"), ("a", "GPU0")):
                path = os.path.join(folder, name)
                result = place(*AC922, "2", "-o", path)
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", f"aitherion: wrote '{path}'\n"))
                with open(path, encoding="utf-8") as file:
                    self.assertTrue(file.read().lstrip(" " if start == "GPU0" else "").startswith(start), name)
            path = os.path.join(folder, "b.svg")
            result = place(*AC922, "2", "-o", path, "--dry-run")
            self.assertRegex(result.stderr, r"^aitherion: would write \d+ bytes")
            self.assertFalse(os.path.exists(path))
            result = place(*AC922, "9", "-o", path)
            self.assertEqual(result.returncode, 1)
            self.assertFalse(os.path.exists(path))
        self.assertEqual(place(*AC922, "2", "-o", "-", "--format", "json").stdout, place(*AC922, "2", "--json").stdout)

    def test_errors(self):
        for words, pattern in ((("-o", "a.png"), r"cannot write 'a.png': there is no format 'png'\n  hint: write an SVG \(-o machine.svg\)"),
                               (("-o", "/nonexistent/a.svg"), r"'/nonexistent/a.svg'"),
                               (("--format", "png"), r"--format"),
                               (("--format", "svg", "--json"), r"'--format svg' and '--json' exclude each other")):
            result = place(*AC922, "2", *words)
            self.assertNotEqual(result.returncode, 0)
            self.assertRegex(result.stderr, pattern)
        for words in (("-o", "a.svg"), ("--format", "svg")):
            result = place("1", *words, "--", "true")
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(f"'{words[0]}' and a program to run exclude each other", result.stderr)


class Words(unittest.TestCase):
    """The words of `nvidia-smi topo -m` in the text are explained in it."""

    def legend_of(self, *words):
        text = place(*words, env=harness.environment(COLUMNS="400")).stdout
        found = re.findall(r"^  Legend +(.*)$", text, re.MULTILINE)
        return found[0].split("; ") if found else []

    def test_each_word_once(self):
        node = "NODE: through several host bridges of one NUMA node"
        self.assertEqual(self.legend_of(*AC922, "1"), [node])
        self.assertEqual(self.legend_of(*AC922, "2"), ["NV3: 3 NVLinks in parallel", node])
        self.assertEqual(self.legend_of(*AC922, "2", "--groups", "2"), ["NV3: 3 NVLinks in parallel", node])
        self.assertEqual(self.legend_of(*AC922, "3"), [node, "SYS: across NUMA nodes (X-Bus, UPI, Infinity Fabric)"])
        self.assertEqual(self.legend_of(*DGX2, "2"), ["NV?: NVLinks, their number is not known"])
        self.assertEqual(self.legend_of(*DGX2, "1"), [])
        self.assertEqual([line.split(":")[0] for line in self.legend_of(*XEON, "2")], ["PIX", "PHB"])


if __name__ == "__main__":
    harness.main()
