#!/usr/bin/env python3
"""aitherion estimate: figures of captured machines, and each word's wrong values."""
import unittest

from cli import harness

AC922 = ("--root", harness.capture("ac922-4gpu"))


def estimate(*words):
    return harness.run_soundly("estimate", *words)


def estimated(*words):
    return harness.checked_json("estimate", *words)


class Figures(unittest.TestCase):
    def test_two_gpus_of_a_socket(self):
        value = estimated("all-reduce", "--size", "100M", "--gpus", "0,1", *AC922)
        self.assertEqual(value["slowest"], {"a": 0, "b": 1, "class": "NV3", "bandwidth_bytes_per_s": 75000000000})
        self.assertEqual(value["ring_bound"]["time_ns"], 1398101)
        self.assertEqual((value["nccl"]["time_ns"], value["nccl"]["algorithm"], value["nccl"]["protocol"]),
                         (1762827, "ring", "Simple"))
        self.assertEqual(value["notes"], [])

    def test_the_sockets_bound_all_four(self):
        value = estimated("broadcast", "--size", "1G", *AC922)
        self.assertEqual(sorted(value["ring"]), [0, 1, 2, 3])
        self.assertEqual((value["slowest"]["class"], value["slowest"]["bandwidth_bytes_per_s"]), ("SYS", 32000000000))
        self.assertEqual(value["ring_bound"]["time_ns"], round((1 << 30) / 32))
        text = estimate("broadcast", "--size", "1G", *AC922).stdout
        for word in ("Slowest", "(SYS): 32 GB/s", "Ring bound", "33.55 ms", "algorithm ring, protocol"):
            self.assertIn(word, text)

    def test_one_gpu(self):
        value = estimated("all-reduce", "--size", "1M", "--gpus", "GPU2", *AC922)
        self.assertEqual((value["ring"], value["slowest"], value["nccl"]), ([2], None, None))
        self.assertEqual(value["ring_bound"]["time_ns"], 0)
        self.assertIn("moves nothing", value["notes"][0])

    def test_an_unknown_bandwidth(self):
        source = ("--topology", harness.capture("ac922-8335gtw-6gpu.hwloc2.xml"))
        value = estimated("all-reduce", "--size", "1M", *source)
        self.assertEqual((value["ring_bound"], value["nccl"]), (None, None))
        self.assertIn("not known", value["notes"][0])
        self.assertIn("not known", estimate("all-reduce", "--size", "1M", *source).stdout)


class WrongWords(unittest.TestCase):
    def test_each_is_refused(self):
        for words, code, message in (
                (("all-to-all", "--size", "1M"), 2, "all-to-all"),
                ((), 2, "OPERATION"),
                (("all-reduce",), 2, "size of the buffer is missing"),
                (("all-reduce", "--size", "0"), 2, "'0' is no size"),
                (("all-reduce", "--size", "-1M"), 2, "'-1M' is no size"),
                (("all-reduce", "--size", "much"), 2, "'much' is no size"),
                (("all-reduce", "--size", "1M", "--gpus", "4"), 1, "no GPU '4' of --gpus"),
                (("all-reduce", "--size", "1M", "--gpus", "0,,1"), 2, "empty entry"),
                (("all-reduce", "--size", "1M", "--gpus", "0,GPU0"), 2, "names a GPU twice")):
            with self.subTest(words=words):
                result = estimate(*words, *AC922)
                self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
                self.assertIn(message, result.stderr)

    def test_a_machine_without_gpus(self):
        result = estimate("all-reduce", "--size", "1M", "--root", harness.capture("laptop"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("no GPU", result.stderr)


if __name__ == "__main__":
    harness.main()
