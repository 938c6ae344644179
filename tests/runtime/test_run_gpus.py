#!/usr/bin/env python3
"""aitherion run --gpus K: which GPUs of simulated runtimes with NVLinks a program gets, and the errors."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import runtime
from cuda import Program
from runtime import Server, harness

# The links of a DGX-1V's first four GPUs: growing a set from GPU0's first best link would miss GPU0-GPU3.
FOUR = "0-1:1,0-2:1,0-3:2,1-2:2,1-3:1,2-3:2"
UUID = "GPU-61697468-6572-696f-6e2d-73696d2d{:04x}"

# A program that counts its GPUs and shows the first one's address.
COUNTER = """
import ctypes
cuda, count, device, text = ctypes.CDLL("libcuda.so"), ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(32)
print(cuda.cuInit(0), cuda.cuDeviceGetCount(ctypes.byref(count)), cuda.cuDeviceGet(ctypes.byref(device), 0),
      cuda.cuDeviceGetPCIBusId(text, 32, device), count.value, text.value.decode())
"""


def serve(*arguments, devices=4, links="", first=0, faults="", **options):
    return Server("--sim", *arguments, env=harness.environment(AITHERION_SIM_DEVICES=str(devices), AITHERION_SIM_LINKS=links,
                                                               AITHERION_SIM_FAULTS=faults,
                                                               AITHERION_SIM_FIRST=str(first)), **options)


def run(server, count, *words, key=runtime.KEY, program=("true",), **changes):
    named = ["--server", server] if server else []
    keys = ["--key", key if isinstance(key, str) else runtime.key_file(key)]
    return harness.run("run", *named, *keys, "--gpus", str(count), *words, "--", *program, env=harness.environment(**changes))


class Base(unittest.TestCase):
    def chosen(self, server, count, **options):
        """The numbers of the chosen GPUs, and the whole answer."""
        result = run(server, count, "--dry-run", "--json", **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        value, faults = harness.check_json(result.stdout)
        self.assertEqual(faults, [])
        return [gpu["index"] for gpu in value["choice"]["gpus"]], value

    def refused(self, code, pattern, *arguments, **options):
        result = run(*arguments, **options)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        self.assertRegex(result.stderr, pattern)


class Choices(Base):
    def test_the_best_links_win(self):
        with serve(links=FOUR) as server:
            for place in server.address, server.socket:
                numbers, value = self.chosen(place, 2)
                self.assertEqual(numbers, [0, 3])
                self.assertEqual(value["environment"]["CUDA_VISIBLE_DEVICES"], f"{UUID.format(0)},{UUID.format(3)}")
                self.assertEqual(value["choice"]["ring_bandwidth_bytes_per_s"], 50000000000)
                self.assertEqual(value["choice"]["gpus"][1]["pci"], "fffe:04:00.0")
                self.assertEqual(value["choice"]["why"], ["GPU0, GPU3: the best ring through them has 50 GB/s at its slowest link"])
            numbers, value = self.chosen(server.address, 3)
            self.assertEqual((numbers, value["choice"]["ring_bandwidth_bytes_per_s"]), ([0, 2, 3], 25000000000))
            numbers, value = self.chosen(server.address, 1)  # the others keep the two best links
            self.assertEqual((numbers, value["choice"]["ring_bandwidth_bytes_per_s"]), ([0], None))
            numbers, value = self.chosen(server.address, 4)
            self.assertEqual(numbers, [0, 1, 2, 3])
            self.assertEqual(value["choice"]["why"], ["GPU0, GPU1, GPU2, GPU3: there are no others to choose from"])
        with serve(links="2-3:1") as server:
            self.assertEqual(self.chosen(server.address, 2)[0], [2, 3])
            numbers, value = self.chosen(server.address, 3)
            self.assertIn("a link of their best ring has an unknown bandwidth", value["choice"]["why"][0])
            self.assertIsNone(value["choice"]["ring_bandwidth_bytes_per_s"])

    def test_without_links_the_first_ones(self):
        with serve() as server:
            numbers, value = self.chosen(server.address, 2)
            self.assertEqual((numbers, value["choice"]["ring_bandwidth_bytes_per_s"]), ([0, 1], None))

    def test_the_program_sees_them_alone(self):
        with serve(links=FOUR) as server:
            result = run(server.address, 2, "-v", "--memory", "1G", program=("env",))
            self.assertIn(f"\nCUDA_VISIBLE_DEVICES={UUID.format(0)},{UUID.format(3)}\n", result.stdout)
            self.assertIn("\nAITHERION_MEMORY=1G\n", result.stdout)
            self.assertIn("aitherion: --gpus 2: GPU0, GPU3: the best ring through them has 50 GB/s at its slowest link\n", result.stderr)
            if runtime.IS_SANITIZED:
                return  # Python does not load such libraries
            result = run(server.address, 1, program=(sys.executable, "-c", COUNTER), CUDA_VISIBLE_DEVICES="3,2")
            self.assertEqual(result.stdout, "0 0 0 0 1 fffe:03:00.0\n", result.stderr)

    def test_a_dry_run_is_a_command_for_a_shell(self):
        with serve(links=FOUR) as server:
            shown = run(server.address, 2, "--dry-run", program=("printenv", "CUDA_VISIBLE_DEVICES")).stdout
            self.assertRegex(shown, r"^env .* printenv CUDA_VISIBLE_DEVICES\n# GPU0, GPU3: .*\n$")
            self.assertEqual(harness.run(command=["sh", "-c", shown]).stdout, f"{UUID.format(0)},{UUID.format(3)}\n")
        value, _ = harness.check_json(harness.run("run", "--server", "10.0.0.11:50051", "--dry-run", "--json", "true").stdout)
        self.assertIsNone(value["choice"])  # and no server was asked

    def test_what_is_visible_already(self):
        """CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER say among which GPUs is chosen, as for any program."""
        with serve(links=FOUR) as server:
            self.assertEqual(self.chosen(server.address, 2, CUDA_VISIBLE_DEVICES="0,1,2")[0], [1, 2])
            self.assertEqual(self.chosen(server.address, 2, CUDA_VISIBLE_DEVICES=f"{UUID.format(3)},0,1,x,2")[0], [0, 3])
            self.assertEqual(self.chosen(server.address, 2, CUDA_DEVICE_ORDER="PCI_BUS_ID")[0], [0, 3])
            self.refused(125, r"cannot choose 3 GPUs: of the 4 that the runtimes serve, the program may use 2\n  hint: CUDA_VISIBLE_DEVICES hides",
                         server.address, 3, CUDA_VISIBLE_DEVICES="0,1")
            self.refused(125, "cannot choose 1 GPU: of the 4 that the runtimes serve, the program may use 0",
                         server.address, 1, CUDA_VISIBLE_DEVICES="")

    def test_programs_that_begin_at_once_get_different_gpus(self):
        """None of them uses its GPU, so only the reservations tell them apart."""
        with serve() as server:
            command = [harness.binary(), "run", "--server", server.address, "--key", runtime.key_file(runtime.KEY), "--gpus", "1",
                       "printenv", "CUDA_VISIBLE_DEVICES"]
            begun = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=harness.environment()) for _ in range(4)]
            self.assertEqual(sorted(one.communicate(timeout=harness.PATIENCE_S)[0].strip() for one in begun), [UUID.format(i) for i in range(4)])
            # All are reserved: a program gets one all the same.
            result = run(server.address, 1, "-v", program=("printenv", "CUDA_VISIBLE_DEVICES"))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("0 of 4 GPUs are idle", result.stderr)
            self.assertTrue(harness.wait_until(lambda: "are idle" not in run(server.address, 1, "-v", "--dry-run").stderr))  # they end

    def test_what_is_reserved(self):
        """A dry run reserves nothing, a session's GPU is not reserved, and others are chosen beside a reserved one."""
        with serve(links=FOUR) as server:
            for _ in range(2):
                self.assertEqual(self.chosen(server.address, 2)[0], [0, 3])
            session = runtime.Session(server.connect())
            taken = {"failure": {"code": "notFound", "message": "a session uses one of these GPUs, or it is reserved"}}

            def reserve(devices):
                session.connection.sendall(runtime.encode({"reserve": str(devices)}))
                return runtime.decode(runtime.read_frame(session.connection))
            self.assertEqual(reserve(1 << 3), {"done": None})
            self.assertEqual([reserve(devices) for devices in (1 << 3, 1 << 3 | 1, 0, 1 << 4, 1 << 63)], [taken] * 5)
            self.assertEqual(self.chosen(server.address, 2)[0], [1, 2])
            with Program(server.address, env={"CUDA_VISIBLE_DEVICES": "0"}) as program:
                self.assertEqual(program.do("take plain 4096"), "CUDA_SUCCESS")
                self.assertEqual([reserve(1), reserve(2)], [taken, {"done": None}])

    def test_idle_gpus_come_first(self):
        with serve(links=FOUR) as server, Program(server.address, env={"CUDA_VISIBLE_DEVICES": "3"}) as program:
            self.assertEqual(program.first, "CUDA_SUCCESS")
            self.assertEqual(program.do("take plain 4096"), "CUDA_SUCCESS")
            numbers, value = self.chosen(server.address, 2)
            self.assertEqual(numbers, [1, 2])
            self.assertIn("chosen among the 3 of 4 GPUs that no session uses now", value["choice"]["why"])
            numbers, value = self.chosen(server.address, 2, CUDA_VISIBLE_DEVICES="0,2,3")
            self.assertEqual(numbers, [0, 2])
            with Program(server.address, env={"CUDA_VISIBLE_DEVICES": "0,1,2"}) as other:
                self.assertEqual(other.do("take plain 4096"), "CUDA_SUCCESS")
                numbers, value = self.chosen(server.address, 4)
                self.assertEqual(numbers, [0, 1, 2, 3])
                self.assertRegex(value["choice"]["why"][1], r"^other sessions use some of them: \d of 4 GPUs are idle$")


class Several(Base):
    def test_poor_health_comes_last(self):
        """GPU0 and GPU3 have the best links, GPU0 is about to fail; GPU1 is worn, which does not matter."""
        avoided, chosen = ("GPU0 is avoided, because its health score is 40 of 100",
                           "GPU0 is chosen with a health score of 40 of 100, because too few others are free or fit")
        with serve(links=FOUR, faults="0:rows_failed=1,1:ecc_uncorrected=1") as server:
            self.assertTrue(harness.wait_until(lambda: avoided in self.chosen(server.address, 1)[1]["choice"]["why"]), "there is no score")
            self.assertEqual(self.chosen(server.address, 1)[0], [1])
            self.assertEqual(self.chosen(server.address, 2)[0], [1, 2])
            self.assertEqual(self.chosen(server.address, 3)[0], [1, 2, 3])
            numbers, value = self.chosen(server.address, 4)
            self.assertEqual(numbers, [0, 1, 2, 3])
            self.assertIn(chosen, value["choice"]["why"])
            with Program(server.address, env={"CUDA_VISIBLE_DEVICES": "1,2"}) as program:
                self.assertEqual(program.first, "CUDA_SUCCESS")
                numbers, value = self.chosen(server.address, 3)  # a GPU that others use is better than one that fails
                self.assertEqual(numbers, [1, 2, 3])
                self.assertIn(avoided, value["choice"]["why"])

    def test_a_set_of_one_machine(self):
        """The GPUs of two machines have no links: a set of one machine is better, even without any."""
        with serve(devices=1) as first, serve(devices=2, first=8) as second:
            both = f"{first.address},{second.socket}"
            numbers, value = self.chosen(both, 2)
            self.assertEqual(numbers, [1, 2])
            self.assertEqual({gpu["server"] for gpu in value["choice"]["gpus"]}, {f"unix:{second.socket}"})
            self.assertEqual(self.chosen(both, 3)[0], [0, 1, 2])
            self.refused(125, r"cannot choose 4 GPUs: of the 3 .*\n  hint: ask for fewer, or name more runtimes", both, 4)
        with serve(links="0-1:2,2-3:1") as first, serve(links="1-3:3", first=8) as second:
            numbers, value = self.chosen(f"{first.address},{second.address}", 2)
            self.assertEqual((numbers, value["choice"]["ring_bandwidth_bytes_per_s"]), ([5, 7], 75000000000))

    def test_equal_uuids(self):
        """Simulated GPUs of two servers have the same UUIDs, so the variable has numbers."""
        with serve(devices=2, links="0-1:1") as first, serve(devices=2, links="0-1:2") as second:
            numbers, value = self.chosen(f"{first.address},{second.address}", 2)
            self.assertEqual((numbers, value["environment"]["CUDA_VISIBLE_DEVICES"]), ([2, 3], "2,3"))


class Refusals(Base):
    def test_a_key_for_some_gpus(self):
        with tempfile.TemporaryDirectory(dir=harness.scratch()) as folder:
            key, rows = os.path.join(folder, "alice"), os.path.join(harness.scratch(), "gpu-rows")
            with open(key, "wb") as file:
                file.write(b"the key of alice")
            os.chmod(key, 0o600)
            with open(rows, "w", encoding="ascii") as file:
                file.write("alice gpus=fffe:02:00.0,fffe:03:00.0\n")
            with serve("--identities", rows, links="0-3:4,1-2:1", keys=folder) as server:
                numbers, value = self.chosen(server.address, 2, key=key)
                self.assertEqual((numbers, value["environment"]["CUDA_VISIBLE_DEVICES"]), ([0, 1], f"{UUID.format(1)},{UUID.format(2)}"))
                self.refused(125, r"cannot choose 3 GPUs: of the 4 that the runtimes serve, the program may use 2\n  hint: the key may not use",
                             server.address, 3, key=key)
                result = run(server.address, 1, "-v", key=key)
                self.assertEqual(re.findall(r"^aitherion: GPU (\d+):", result.stderr, re.MULTILINE), ["0", "1"])

    def test_wrong_numbers(self):
        for word in "0", "x", "-1", "65", "1.5", "":
            self.refused(2, rf"'{re.escape(word)}' is no number of GPUs\n  hint: give a number from 1 to 64", "127.0.0.1:1", word)
        self.refused(2, "AITHERION_DISABLE=1 hides all\n  hint: unset AITHERION_DISABLE", "127.0.0.1:1", 1, AITHERION_DISABLE="1")

    def test_without_a_runtime(self):
        for words in ((), ("--dry-run",)):
            result = run("127.0.0.1:1", 1, "--json", *words, AITHERION_CONNECT_TIMEOUT="0.3")
            self.assertEqual(json.loads(result.stderr)["code"], "peer-unreachable")
            self.assertEqual((result.returncode, result.stdout), (1 if words else 125, ""))


if __name__ == "__main__":
    harness.main()
