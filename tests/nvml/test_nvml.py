#!/usr/bin/env python3
"""NVML through a server with simulated GPUs: as pynvml and PyTorch use it, nvidia-smi, faults, and calls that no client makes."""
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(SOURCE, "tests", "runtime"), os.path.dirname(os.path.abspath(__file__)),
                os.path.join(SOURCE, "tests", "tools")]

import harness  # noqa: E402
import runtime  # noqa: E402
from serving import LIBRARIES, client_environment  # noqa: E402

CLIENT = os.path.join(LIBRARIES, "libnvidia-ml.so.1")
SIMULATED = os.path.join(LIBRARIES, "sim", "libnvidia-ml.so.1")
GIB = 1 << 30
RESERVED = 64 << 20  # of each simulated GPU, by its driver
INVALID_ARGUMENT, NOT_SUPPORTED, NO_PERMISSION, INSUFFICIENT_SIZE, DRIVER_NOT_LOADED, TIMEOUT = 2, 3, 4, 7, 9, 10
GPU_IS_LOST, VERSION_MISMATCH = 15, 25
P2P_NOT_SUPPORTED, TOPOLOGY_SYSTEM = 5, 50


def serve(*arguments, devices=2, first=0, distance=50, **options):
    env = harness.environment(AITHERION_SIM_DEVICES=str(devices), AITHERION_SIM_FIRST=str(first), AITHERION_SIM_DISTANCE=str(distance))
    return runtime.Server("--sim", *arguments, env=env, **options)


# A program that has 1 GiB of the first device. With the path of NVML it then says for each line that it reads what NVML says.
HOLDER = """
import contextlib
import ctypes, sys
cuda = ctypes.CDLL(sys.argv[1])
context, address = ctypes.c_void_p(), ctypes.c_ulonglong()
print(cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context),
      cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 << 30)), flush=True)
while sys.stdin.readline() != "on\\n":
    nvml, device, memory = ctypes.CDLL(sys.argv[2]), ctypes.c_void_p(), (ctypes.c_ulonglong * 3)()
    print(nvml.nvmlInit_v2(), nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)),
          nvml.nvmlDeviceGetMemoryInfo(device, memory), *memory, flush=True)
"""
MANNER = [sys.executable, "-B", os.path.join(os.path.dirname(os.path.abspath(__file__)), "pynvml_manner.py")]


def manner(*servers, library=CLIENT, **changes):
    """The findings of tests/nvml/pynvml_manner.py, and its standard error."""
    ran = subprocess.run([*MANNER, library], env=client_environment(*servers, **changes), stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, timeout=harness.PATIENCE_S)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout), ran.stderr


def paused(*servers, meanwhile, wait_s=harness.PATIENCE_S):
    """The same, with an action on a server during a pause. Behind it, the program waits wait_s seconds for a server at most."""
    with subprocess.Popen([*MANNER, CLIENT, str(wait_s)], env=client_environment(*servers), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline() == "paused\n"
        meanwhile()
        output, errors = program.communicate("on\n", timeout=harness.PATIENCE_S)
    assert program.returncode == 0, errors
    return json.loads(output), errors


@unittest.skipUnless(os.path.exists(CLIENT) and os.path.exists(SIMULATED), "the NVML libraries are not built")
@unittest.skipIf(runtime.IS_SANITIZED, "Python does not load libraries with sanitizers; tests/nvml/test_loopback.py does")
class Programs(unittest.TestCase):
    maxDiff = 4000

    def test_in_pynvmls_manner(self):
        with serve() as server:
            said, errors = manner(server)
            health = json.loads(server.health("--json").stdout)
        self.assertEqual(errors, "")
        self.assertEqual([said[name] for name in ("before", "init", "count", "beyond")], [-1, 0, 2, -INVALID_ARGUMENT])
        self.assertEqual(said["cuda"], 13000)
        for place, device in enumerate(said["devices"]):
            self.assertEqual(device["name"], "aitherion simulated GPU")
            self.assertEqual(device["uuid"], health["server"]["devices"][place]["uuid"])
            self.assertEqual(device["bus"], f"0000FFFE:{place + 1:02}:00.0")
            self.assertEqual([device["index"], device["short"]], [place, -INSUFFICIENT_SIZE])
            self.assertEqual(device["capability"], [9, 0])
            self.assertEqual([device["memory"], device["memory_v2"]], [[16 * GIB, 16 * GIB, 0], [16 * GIB, RESERVED, 16 * GIB - RESERVED, 0]])
            self.assertEqual([device["memory_no_version"], device["memory_too_large"]], [-VERSION_MISMATCH, -VERSION_MISMATCH])
            self.assertEqual([device["use"], device["fields"]], [[0, 0], [0, NOT_SUPPORTED]])
            self.assertTrue(device["by_uuid"] and device["by_bus"])
            self.assertEqual([device["fan"], device["compute"]], [-NOT_SUPPORTED, [0, 0]])
        self.assertEqual(said["again"], ["aitherion simulated GPU"] * 2)
        self.assertEqual([said["nobody"], said["null"]], [-INVALID_ARGUMENT, -INVALID_ARGUMENT])
        self.assertEqual(said["clocks"], [INSUFFICIENT_SIZE, 1, 0, 1, 1000, 0])
        self.assertEqual([said["set"], said["vgpu"]], [NO_PERMISSION, -NOT_SUPPORTED])
        self.assertEqual(said["events"], [0, True, True, TIMEOUT, True, 0, INVALID_ARGUMENT])
        self.assertEqual(said["fork"], [[[16 * GIB, 16 * GIB, 0], "aitherion simulated GPU"], [16 * GIB, 16 * GIB, 0]])
        self.assertEqual([said["words"], said["shutdown"]], ["Not Supported", [0, 0, 0, 1]])

    def test_the_library_itself_says_the_same(self):
        """The simulated NVML without a client and a server in between."""
        with serve() as server:
            far, _ = manner(server)
        near, _ = manner(server, library=SIMULATED, AITHERION_SIM_DEVICES="2")
        for name in ("count", "beyond", "driver", "cuda", "devices", "p2p", "nobody", "null", "clocks"):
            self.assertEqual(far[name], near[name])

    def test_memory_is_the_servers_share(self):
        with serve("--vram-fraction", "0.25") as server:
            said, _ = manner(server)
        self.assertEqual(said["devices"][0]["memory"], [4 * GIB, 4 * GIB, 0])
        self.assertEqual(said["devices"][0]["memory_v2"], [4 * GIB, 0, 4 * GIB, 0])

    def test_memory_that_a_program_holds(self):
        """Every program sees the memory as used, and as free again when the program that took it is gone."""
        with serve("--vram-fraction", "0.5") as server:
            with subprocess.Popen([sys.executable, "-B", "-c", HOLDER, os.path.join(LIBRARIES, "libcuda.so.1")], text=True,
                                  env=client_environment(server), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
                self.assertEqual(holder.stdout.readline(), "0 0 0 0\n")
                held, _ = manner(server)
                holder.communicate("on\n", timeout=harness.PATIENCE_S)
            harness.wait_until(lambda: not server.children())
            after, _ = manner(server)
        self.assertEqual([one["memory"] for one in held["devices"]], [[8 * GIB, 7 * GIB, GIB], [8 * GIB, 8 * GIB, 0]])
        self.assertEqual(held["devices"][0]["memory_v2"], [8 * GIB, 0, 7 * GIB, GIB])
        self.assertEqual(after["devices"][0]["memory"], [8 * GIB, 8 * GIB, 0])

    def test_memory_is_what_the_program_asks_for(self):
        """nvidia-smi and PyTorch see the program's limit before the program has a session, and at most the server's share."""
        with serve("--vram-fraction", "0.5") as server:
            for changes, most in (({"AITHERION_MEMORY": "4G"}, 4), ({"AITHERION_MEMORY": "25%"}, 4), ({"AITHERION_MEMORY": "100%"}, 8),
                                  ({"HCS_VRAM_QUOTA": str(3 * GIB)}, 3), ({"AITHERION_MEMORY": "12G"}, 8),
                                  ({"AITHERION_MEMORY": "none", "HCS_VRAM_QUOTA": str(GIB)}, 8)):
                said, errors = manner(server, **changes)
                self.assertEqual([one["memory"] for one in said["devices"]], [[most * GIB, most * GIB, 0]] * 2, changes)
                self.assertEqual(said["devices"][1]["memory_v2"], [most * GIB, 0, most * GIB, 0], changes)
                self.assertEqual(errors, "")
            said, errors = manner(server, AITHERION_MEMORY="much")
            self.assertEqual(said["init"], DRIVER_NOT_LOADED)
            self.assertIn("AITHERION_MEMORY is 'much'", errors)
        with serve("--vram-fraction", "0.5", "--no-enforce") as server:
            self.assertEqual(manner(server, AITHERION_MEMORY="4G")[0]["devices"][0]["memory"], [16 * GIB, 16 * GIB, 0])

    def test_memory_of_a_program_with_a_limit(self):
        """A program's own session says what it may have; a limit that is set later counts, the one asked for does not. Another
        process with the same limit has all of its own."""
        def ask():
            holder.stdin.write("ask\n")
            holder.stdin.flush()
            return holder.stdout.readline()

        def shown(total, left):
            return f"0 0 0 {total * GIB} {left * GIB} {(total - left) * GIB}\n"
        with serve() as server:
            limited = client_environment(server, AITHERION_MEMORY="4G")
            with subprocess.Popen([sys.executable, "-B", "-c", HOLDER, os.path.join(LIBRARIES, "libcuda.so.1"), CLIENT], text=True,
                                  env=limited, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
                self.assertEqual(holder.stdout.readline(), "0 0 0 0\n")
                self.assertEqual(ask(), shown(4, 3))
                self.assertEqual(manner(server, AITHERION_MEMORY="4G")[0]["devices"][0]["memory"], [4 * GIB, 4 * GIB, 0])
                place = ("--server", server.address, "--key", runtime.key_file(server.key))
                listed = json.loads(harness.run("session", "list", *place, "--json").stdout)
                session = str(listed["runtimes"][0]["sessions"][0]["id"])
                for limit, total, left in ("2G", 2, 1), ("8G", 8, 7), ("none", 16, 16):  # without limits as the driver says
                    result = harness.run("session", "limit", session, limit, *place)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertEqual(ask(), shown(total, left), limit)
                holder.communicate("on\n", timeout=harness.PATIENCE_S)

    def test_memory_of_an_identity(self):
        """All programs of a key together have the limit of its row; others see the server's share."""
        folder = os.path.join(harness.scratch(), "nvml-keys")
        os.makedirs(folder)
        rows = os.path.join(harness.scratch(), "nvml-rows")
        for name in "alice", "bob":
            with open(os.path.join(folder, name), "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write(os.urandom(32))
        with open(rows, "w", encoding="ascii") as file:
            file.write(f"alice memory_bytes={3 * GIB}\n")
        with serve("--vram-fraction", "0.5", "--identities", rows, keys=folder) as server:
            alice, bob = ({"AITHERION_KEY_FILE": os.path.join(folder, name)} for name in ("alice", "bob"))
            self.assertEqual(manner(server, **alice)[0]["devices"][0]["memory"], [3 * GIB, 3 * GIB, 0])
            with subprocess.Popen([sys.executable, "-B", "-c", HOLDER, os.path.join(LIBRARIES, "libcuda.so.1")], text=True,
                                  env=client_environment(server, **alice), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
                self.assertEqual(holder.stdout.readline(), "0 0 0 0\n")
                self.assertEqual(manner(server, **alice)[0]["devices"][0]["memory"], [3 * GIB, 2 * GIB, GIB])
                self.assertEqual(manner(server, AITHERION_MEMORY="1G", **alice)[0]["devices"][0]["memory"], [GIB, GIB, 0])
                self.assertEqual(manner(server, **bob)[0]["devices"][0]["memory"], [8 * GIB, 7 * GIB, GIB])
                holder.communicate("on\n", timeout=harness.PATIENCE_S)

    def test_wrong_key(self):
        with serve() as server:
            said, errors = manner(server, AITHERION_KEY_FILE=runtime.key_file(b"another key, long enough"))
            self.assertTrue(server.wait_for_log("keyWrong"))
        self.assertEqual(said["init"], NO_PERMISSION)
        self.assertEqual(len(errors.splitlines()), 1, errors)

    def test_no_server(self):
        with serve() as server:
            pass
        said, errors = manner(server, AITHERION_CONNECT_TIMEOUT="0.5")
        self.assertEqual(said["init"], DRIVER_NOT_LOADED)
        self.assertEqual(len(errors.splitlines()), 1, errors)

    def test_a_session_that_was_ended_is_opened_again(self):
        """The server ends sessions that are silent for a long time."""
        with serve() as server:
            before = server.children

            def end():
                for child in before():
                    with contextlib.suppress(ProcessLookupError):  # one that ends by itself meanwhile
                        os.kill(child, signal.SIGTERM)
                harness.wait_until(lambda: not before())
            said, errors = paused(server, meanwhile=end)
        self.assertEqual([said["after"], errors], [[[16 * GIB, 16 * GIB, 0]] * 2, ""])

    def test_a_server_that_has_ended(self):
        with serve() as server:
            said, errors = paused(server, meanwhile=server.stop, wait_s=1)
        self.assertEqual([said["after"], len(errors.splitlines())], [[-GPU_IS_LOST, -GPU_IS_LOST], 1], errors)

    def test_several_servers_are_one_list(self):
        with serve(devices=1) as first, serve("--vram-fraction", "0.5", devices=2, first=1) as second:
            one, _ = manner(first)
            two, _ = manner(second)
            said, errors = manner(first, second)
        self.assertEqual(errors, "")
        self.assertEqual([said["count"], said["beyond"], said["p2p"], one["p2p"]], [3, -INVALID_ARGUMENT, P2P_NOT_SUPPORTED, 0])
        self.assertEqual([device["index"] for device in said["devices"]], [0, 1, 2])
        self.assertTrue(all(device["by_uuid"] and device["by_bus"] for device in said["devices"]))
        for place, device in enumerate([*one["devices"], *two["devices"]]):
            for name in ("name", "uuid", "bus", "memory", "memory_v2", "fields", "power"):
                self.assertEqual(said["devices"][place][name], device[name])
        for name in ("driver", "cuda", "nobody", "null", "clocks", "events", "fork", "words", "shutdown"):
            self.assertEqual(said[name], one[name])
        self.assertEqual(said["apart"], [0, TOPOLOGY_SYSTEM, 0, 0])

    def test_the_topology_of_nvidia_smi(self):
        """`nvidia-smi topo` asks by addresses, also those of the program's own network ports: 0 PIX, 1 PXB, 2 PHB, 3 NODE, 4 SYS."""
        far = [[0, 4], [0, 4], [INVALID_ARGUMENT, 99]]
        for level, cell in ((0, 0), (10, 0), (20, 1), (30, 2), (40, 3), (50, 4)):
            with serve(distance=level) as server:
                said, _ = manner(server)
            if said["topology"] is None:
                self.skipTest("built with --disable-runtime-tables")
            self.assertEqual(said["topology"], [[[0, cell], [0, cell], *far], 0, [2, 0, 7]])

    def test_the_topology_of_equal_servers(self):
        """GPUs of two servers with one address: which of them is meant is not known, so they are far."""
        with serve(distance=30) as first, serve(distance=30) as second, serve(distance=30, first=2) as third:
            for other in (second, third):
                said, _ = manner(first, other)
                if said["topology"] is None:
                    self.skipTest("built with --disable-runtime-tables")
                self.assertEqual(said["topology"][0][:2], [[0, 4], [0, 4]])

    def test_one_of_several_servers_goes_away(self):
        with serve(devices=1) as first, serve(devices=1) as second:
            said, errors = paused(first, second, meanwhile=second.stop, wait_s=1)
        self.assertEqual(said["after"], [[16 * GIB, 16 * GIB, 0]] * 2)
        self.assertEqual([said["count_after"], said["last_after"]], [2, [-GPU_IS_LOST, 1]])
        self.assertEqual(len(errors.splitlines()), 1, errors)

    def test_one_of_several_servers_is_missing(self):
        with serve() as first, serve() as second:
            second.stop()
            said, errors = manner(first, second, AITHERION_CONNECT_TIMEOUT="0.5")
        self.assertEqual(said["init"], DRIVER_NOT_LOADED)
        self.assertIn(second.address, errors)
        many = ",".join(f"h:{i + 1}" for i in range(17))
        for servers, pattern in (("{0},{0}", "is named twice"), ("{0},", "is no address"), (many, "more than 16")):
            said, errors = manner(first, AITHERION_SERVER=servers.format(first.address))
            self.assertEqual(said["init"], DRIVER_NOT_LOADED)
            self.assertRegex(errors, f"^aitherion: AITHERION_SERVER: .*{pattern}")

    def test_refusals_are_explained_when_asked(self):
        with serve() as server:
            _, errors = manner(server, AITHERION_CUDA_LOG="1")
        self.assertIn("nvmlDeviceSetPowerManagementLimit is not supported: changes the GPU for everybody", errors)
        self.assertIn("nvmlDeviceGetHostVgpuMode is not supported: virtual GPUs are managed", errors)

    @unittest.skipUnless(shutil.which("nvidia-smi"), "no nvidia-smi")
    def test_nvidia_smi(self):
        with serve() as server:
            ran = subprocess.run(["nvidia-smi", "-L"], env=client_environment(server), stdout=subprocess.PIPE, text=True, timeout=harness.PATIENCE_S)
        if "Mismatch in versions" in ran.stdout:
            self.skipTest("nvidia-smi is of another driver than the simulated one, 580.159.04")
        self.assertEqual(re.findall(r"GPU (\d): aitherion simulated GPU", ran.stdout), ["0", "1"])


@unittest.skipUnless(runtime.HAS_CAPNP, "no capnp (package capnproto)")
@unittest.skipUnless(os.path.exists(SIMULATED), "the NVML libraries are not built")
class Strangers(unittest.TestCase):
    """Calls that a foreign client may send: each is answered, and the session goes on."""

    @staticmethod
    def ask(session, function, *given):
        words = [{"number": str(one["number"])} if "number" in one else one for one in given]  # JSON's numbers end at 2^53
        return session.ask({"nvml": {"calls": [{"function": function, "given": words}]}}, "nvmlAnswers")["answers"][0]

    @classmethod
    def setUpClass(cls):
        with open(os.path.join(SOURCE, "proto", "nvml.capnp"), encoding="ascii") as table:
            cls.numbers = {name: int(at) for at, name in re.findall(r'@(\d+) \(\)\s+\$c\("(\w+)"\)', table.read())}

    def session(self, server):
        return runtime.Session(server.connect())

    def test_handles_and_lengths_are_checked(self):
        number = self.numbers
        huge = 2**64 - 1
        cases = (
            ("nvmlDeviceGetName", [{"number": 3}, {"number": 1}, {"number": 96}], INVALID_ARGUMENT),           # no such handle
            ("nvmlDeviceGetName", [{"number": huge}, {"number": 1}, {"number": 96}], INVALID_ARGUMENT),
            ("nvmlDeviceGetIndex", [{"number": 3}, {"number": 1}], INVALID_ARGUMENT),
            ("nvmlDeviceGetIndex", [{"number": 1}, {}], INVALID_ARGUMENT),                                  # no place for it
            ("nvmlEventSetFree", [{"number": 1}], INVALID_ARGUMENT),                                        # a device's
            ("nvmlDeviceGetName", [{"number": 1}, {"number": 1}, {"number": huge}], 0),                       # room for more than exists
            ("nvmlDeviceGetName", [], INVALID_ARGUMENT),                                                    # nothing given
            ("nvmlDeviceGetMemoryInfo_v2", [{"number": 1}, {"bytes": [0xFF] * 40}], VERSION_MISMATCH),
            ("nvmlDeviceGetMemoryInfo_v2", [{"number": 1}, {"bytes": [40, 0, 0, 2]}], INVALID_ARGUMENT),    # shorter than its version
            ("nvmlDeviceGetFieldValues", [{"number": 1}, {"number": 1 << 31}, {"bytes": [0] * 40}], INVALID_ARGUMENT),
            ("nvmlDeviceGetFieldValues", [{"number": 1}, {"number": 2}, {"bytes": [0] * 40}], INVALID_ARGUMENT),
            ("nvmlDeviceGetFieldValues", [{"number": 1}, {"number": huge}, {"bytes": [0] * 40}], INVALID_ARGUMENT),
            ("nvmlDeviceGetSupportedMemoryClocks", [{"number": 1}, {"number": huge}, {"number": 1}], 0),
            ("nvmlDeviceGetSupportedMemoryClocks", [{"number": 1}, {}, {"number": 1}], INVALID_ARGUMENT),   # no count
            ("nvmlDeviceGetCpuAffinity", [{"number": 1}, {"number": huge}, {"number": 1}], INVALID_ARGUMENT),
            ("nvmlDeviceGetHandleByUUID", [{"bytes": [65] * 5000}, {"number": 1}], INVALID_ARGUMENT),
            ("nvmlDeviceGetHandleByIndex_v2", [{"number": huge}, {"number": 1}], INVALID_ARGUMENT),
            ("nvmlDeviceSetPersistenceMode", [{"number": 1}, {"number": 0}], NOT_SUPPORTED),                # the server does not call it
        )
        with serve() as server, self.session(server) as session:
            for name, given, status in cases:
                with self.subTest(name=name, given=str(given)[:80]):
                    self.assertEqual(self.ask(session, number[name], *given)["status"], status)
            self.assertEqual(self.ask(session, 65535)["status"], NOT_SUPPORTED)
            self.assertEqual(self.ask(session, number["nvmlDeviceGetCount_v2"], {"number": 1})["status"], 0)

    def test_random_calls(self):
        chance = random.Random(20261121)

        def value():
            return chance.choice([{}, {"number": chance.choice([0, 1, 2, 3, 96, 2**31, 2**32 - 1, 2**63, chance.randrange(2**64)])},
                                  {"bytes": [chance.randrange(256) for _ in range(chance.choice([0, 1, 4, 24, 40, 72]))]},
                                  {"handles": ["1", "2", "3"]}])
        with serve() as server, self.session(server) as session:
            for _ in range(150):
                function = chance.randrange(len(self.numbers))
                if "EventSetWait" in next(name for name, at in self.numbers.items() if at == function):
                    continue
                self.ask(session, function, *(value() for _ in range(chance.randrange(8))))
            self.assertEqual(self.ask(session, self.numbers["nvmlDeviceGetCount_v2"], {"number": 1})["status"], 0)
            server.stop()
            self.assertNotIn("session-crashed", server.log())


if __name__ == "__main__":
    harness.main()
