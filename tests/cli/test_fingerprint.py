#!/usr/bin/env python3
"""aitherion fingerprint: figures and their sources on captured machines, exchange rates, requests, and wrong options."""
import os
import unittest

from cli import harness

AC922 = ("--root", harness.capture("ac922-4gpu"))
GIB = 1 << 30
FIGURES = ("memory_total_bytes", "memory_free_bytes", "memory_bandwidth_bytes_per_s", "fp64_gflops", "fp32_gflops", "tf32_gflops",
           "fp16_gflops", "bf16_gflops", "fp8_gflops", "fp4_gflops", "tensor_cores", "nvlink_bytes_per_s")


def fingerprint(*words):
    return harness.run_soundly("fingerprint", *words)


def answer(*words):
    return harness.checked_json("fingerprint", *words)


def shown(*words):
    """The text in one line, because lines are wrapped."""
    return " ".join(fingerprint(*words).stdout.split())


def source_of(name):
    return ["--topology" if name.endswith(".xml") else "--root", harness.capture(name)]


class Figures(unittest.TestCase):
    def test_each_figure_has_its_source_on_every_capture(self):
        for name in harness.capture_names():
            with self.subTest(name=name):
                for gpu in answer(*source_of(name))["gpus"]:
                    self.assertEqual(set(gpu["sources"]), set(FIGURES))
                    for figure in FIGURES:
                        self.assertEqual(gpu[figure] is None, gpu["sources"][figure] == "unknown", figure)
                        self.assertIn(gpu["sources"][figure], ("driver", "table", "unknown"))
                    if gpu["table_model"] is None:
                        self.assertNotIn("table", gpu["sources"].values())

    def test_an_ac922(self):
        gpu = answer(*AC922)["gpus"][2]
        self.assertEqual((gpu["index"], gpu["pci"], gpu["vendor"], gpu["table_model"]), (2, "0035:03:00.0", "NVIDIA", "V100 SXM2 32GB"))
        self.assertEqual((gpu["numa_node"], gpu["memory_node"]), (8, 253))
        self.assertEqual((gpu["memory_total_bytes"], gpu["sources"]["memory_total_bytes"]), (33822867456, "driver"))
        self.assertEqual(gpu["sources"]["memory_free_bytes"], "driver")
        self.assertLess(gpu["memory_free_bytes"], gpu["memory_total_bytes"])
        self.assertEqual((gpu["fp64_gflops"], gpu["fp16_gflops"], gpu["bf16_gflops"]), (7800, 125000, 0))
        self.assertEqual([(link["type"], link["peer"], link["count"], link["bandwidth_bytes_per_s"]) for link in gpu["links"]],
                         [("nvlink", "0035:04:00.0", 3, 75000000000), ("pcie", None, 2, 1969250000)])
        self.assertEqual([(peer["index"], peer["class"], peer["bandwidth_bytes_per_s"], peer["latency_ns"]) for peer in gpu["peers"]],
                         [(0, "SYS", 32000000000, 1000), (1, "SYS", 32000000000, 1000), (3, "NV3", 75000000000, 600)])
        self.assertEqual(gpu["warnings"], [])

    def test_the_warnings_of_a_gpu(self):
        gpus = answer("--root", harness.capture("ac922-4gpu-gpu-lost"))["gpus"]
        self.assertEqual([gpu["warnings"] for gpu in gpus], [[], ["gpu-lost"], [], []])
        self.assertIn("gpu-lost: ", fingerprint("--root", harness.capture("ac922-4gpu-gpu-lost")).stdout)

    def test_memory_that_is_offline_is_not_free(self):
        gpu = answer("--root", harness.capture("ac922-4gpu-memory-offline"))["gpus"][0]
        self.assertEqual((gpu["memory_free_bytes"], gpu["sources"]["memory_free_bytes"]), (None, "unknown"))
        self.assertNotIn("free", fingerprint("--root", harness.capture("ac922-4gpu-memory-offline")).stdout)

    def test_an_unknown_model(self):
        result = fingerprint(*source_of("azure-ndv5-8gpu-8nic.nccl.xml")).stdout
        for line in ("Model         not in the table of models", "Throughput    not known", "Memory        not known", "GPU1-GPU7: ?"):
            self.assertIn(line, result)

    def test_texts_without_addresses(self):
        files = ",".join(os.path.join(harness.DATA, "texts", name) for name in ("dgx1-made.topo.txt", "dgx1-made.rest.txt"))
        gpu = answer("--topology", files)["gpus"][0]
        self.assertEqual((gpu["pci"], gpu["table_model"]), (None, "V100 SXM2 32GB"))
        self.assertEqual([(link["peer"], link["peer_index"], link["bandwidth_bytes_per_s"]) for link in gpu["links"]],
                         [(None, 1, 25000000000), (None, 2, 25000000000), (None, 3, 50000000000), (None, 4, 50000000000)])
        self.assertRegex(fingerprint("--topology", files).stdout, r"(?m)^GPU0 +Tesla V100-SXM2-32GB$")

    def test_a_machine_without_gpus(self):
        self.assertEqual(answer("--root", harness.capture("laptop"))["gpus"], [])
        self.assertIn("no GPU", fingerprint("--root", harness.capture("laptop")).stdout)

    def test_a_model_without_nvlinks_does_not_lack_them(self):
        text = fingerprint("--root", harness.capture("accelerators")).stdout
        self.assertIn("NVLinks are not known", text.split("GPU1   ")[0])  # an H100
        self.assertNotIn("NVLinks are not known", text.split("GPU1   ")[1].split("GPU2   ")[0])  # an RTX 4090


class Rates(unittest.TestCase):
    def rates(self, *words):
        value = answer("--rates", *words)
        return value["base"], {row["model"]: row for row in value["rates"]}

    def test_of_an_a100(self):
        base, rates = self.rates()
        self.assertEqual(base, "A100 SXM4 80GB")
        self.assertEqual({name: rates["A800 PCIe 80GB"][name] for name in ("compute", "memory", "memory_bandwidth", "links", "overall")},
                         {"compute": 1, "memory": 1, "memory_bandwidth": 0.949, "links": 0.667, "overall": 0.7})
        self.assertEqual((rates["L4"]["links"], rates["L4"]["overall"]), (0, None))
        self.assertEqual((rates["Ascend 910B"]["compute"], rates["Ascend 910B"]["overall"], rates["Ascend 910B"]["source"]), (None, 0.6, None))

    def test_of_another_base(self):
        base, rates = self.rates("--base", "Tesla V100-SXM2-32GB")
        self.assertEqual((base, rates["V100 SXM2 32GB"]["compute"], rates["A100 SXM4 80GB"]["memory"]), ("V100 SXM2 32GB", 1, 2.5))
        self.assertEqual(self.rates("--base", "ascend-910b")[1]["A100 SXM4 80GB"]["overall"], 1.667)

    def test_as_text(self):
        lines = fingerprint("--rates").stdout.splitlines()
        self.assertIn("A100 SXM4 80GB", lines[0])
        self.assertIn(["L4", "0.388", "0.300", "0.147", "0", "-"], [line.split() for line in lines])


class Equivalents(unittest.TestCase):
    def test_the_machine_comes_first(self):
        value = answer("--equivalent", "100TFLOPS-fp16,80GB", *AC922)
        self.assertEqual(value["request"], [{"figure": "fp16", "amount": 100000}, {"figure": "memory", "amount": 80 * GIB}])
        self.assertEqual(value["machine"], [{"model": "Tesla V100-SXM2-32GB", "table_model": "V100 SXM2 32GB", "gpus": [0, 1, 2, 3],
                                             "state": "fits", "needed": 3, "decides": "memory", "is_enough": True}])
        text = shown("--equivalent", "100TFLOPS-fp16,80GB", *AC922)
        self.assertRegex(text, r"Tesla V100-SXM2-32GB: 3 needed of 4 \(memory decides\): aitherion \S+ \S+ place 3 Model")
        self.assertLess(text.index("This machine"), text.index("A100 SXM4 80GB"))

    def test_the_table_is_sorted(self):
        models = answer("--equivalent", "100TFLOPS-fp16,80GB", *AC922)["models"]
        fits = [row["needed"] for row in models if row["state"] == "fits"]
        self.assertEqual(fits, sorted(fits))
        self.assertEqual([row["state"] for row in models],
                         ["fits"] * len(fits) + ["unknown"] * (len(models) - len(fits)))
        self.assertEqual(models[0], {"model": "A100 SXM4 80GB", "state": "fits", "needed": 1, "decides": "fp16"})
        self.assertTrue(all(row["needed"] is None for row in models[len(fits):]))

    def test_too_few_gpus(self):
        self.assertFalse(answer("--equivalent", "129GB", *AC922)["machine"][0]["is_enough"])
        self.assertTrue(answer("--equivalent", "128GB", *AC922)["machine"][0]["is_enough"])
        self.assertIn("5 needed of 4 (memory decides): too few", shown("--equivalent", "129GB", *AC922))

    def test_what_a_gpu_cannot(self):
        value = answer("--equivalent", "1PFLOPS-fp8", *AC922)
        self.assertEqual([(kind["state"], kind["needed"]) for kind in value["machine"]], [("never", None)])
        text = shown("--equivalent", "1PFLOPS-fp8", *AC922)
        self.assertIn("the GPU has no FP8", text)
        self.assertIn("Has none FP8: P100", text)

    def test_unusable_gpus_do_not_count(self):
        value = answer("--equivalent", "1GB", "--root", harness.capture("ac922-4gpu-gpu-lost"))
        self.assertEqual([kind["gpus"] for kind in value["machine"]], [[0, 2, 3]])
        text = fingerprint("--equivalent", "1GB", "--root", harness.capture("laptop")).stdout
        self.assertIn("no GPU that programs can use", text)

    def test_several_kinds(self):
        text = shown("--equivalent", "70GB", "--root", harness.capture("accelerators"))
        self.assertRegex(text, r"H100 SXM5 80GB: 1 needed of 1 \(memory decides\): aitherion \S+ \S+ place 1 --free 0 GeForce")
        self.assertIn("GeForce RTX 4090: 3 needed of 1 (memory decides): too few", text)


class WrongWords(unittest.TestCase):
    def test_each_is_refused(self):
        for words, message, hint in (
                (("--equivalent", "80"), "'80' is no throughput", "--equivalent 100TFLOPS-fp16,80GB"),
                (("--equivalent", ""), "empty", "--equivalent 100TFLOPS-fp16,80GB"),
                (("--equivalent", "100TFLOPS"), "does not end with a format", "--equivalent 100TFLOPS-fp16,80GB"),
                (("--equivalent", "100Gb/s"), "counts bits", "--equivalent 100TFLOPS-fp16,80GB"),
                (("--equivalent", "80GB", "--rates"), "exclude each other", ""),
                (("--base", "t4"), "'--base' needs '--rates'", "fingerprint --rates --base t4"),
                (("--rates", "--base", "A10G"), "the table has no model 'A10G'", "lists all models"),
                (("H100",), "H100", "")):
            with self.subTest(words=words):
                result = fingerprint(*words, *AC922)
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                self.assertIn(message, result.stderr)
                self.assertIn(hint, result.stderr)

    def test_a_wrong_request_reads_no_machine(self):
        result = fingerprint("--equivalent", "80", "--root", "/gone")
        self.assertEqual(result.returncode, 2)


if __name__ == "__main__":
    harness.main()
