#!/usr/bin/env python3
"""aitherion session, and what `aitherion run` does before its program: with runtimes that programs use."""
import contextlib
import json
import os
import pwd
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

import runtime
from cuda import MIB, Program
from runtime import Server, harness
from test_cuda import TRANSPORTS, place, serve

GOOD = "CUDA_SUCCESS"
FULL = "CUDA_ERROR_OUT_OF_MEMORY"
NO_PART = {"multiprocessors": None, "multiprocessors_total": None}


def aitherion(*words, server=None, key=runtime.KEY, **changes):
    named = ["--server", server.address, "--key", runtime.key_file(key)] if server else []
    return harness.run(*words[:2], *named, *words[2:], env=harness.environment(**changes))


def sessions(server):
    value, faults = harness.check_json(aitherion("session", "list", "--json", server=server).stdout)
    assert not faults, faults
    return value["runtimes"][0]["sessions"]


class Sessions(unittest.TestCase):
    def test_the_list(self):
        with Server("--sim", "--vram-fraction", "0.5") as server:
            self.assertEqual(aitherion("session", "list", server=server).stdout, "no program uses a runtime now\n")
            with Program(server.socket) as program:
                self.assertEqual(program.first, GOOD)
                program.do(f"take plain {64 * MIB}")
                result = aitherion("session", "list", server=server)
                self.assertRegex(result.stdout, r"^Runtime +Session +Program +Key +Memory +Age +From\n"
                                                r"127\.0\.0\.1:\d+ +\d+ +cuda_steps +default +GPU 0: 64\.0 MiB +\d+ s +process \d+, user \d+\n$")
                here = aitherion("session", "list", "--server", server.socket, "--key", runtime.key_file(runtime.KEY))
                self.assertRegex(here.stdout, rf" process \d+, user {pwd.getpwuid(os.geteuid()).pw_name}\n")
                value, faults = harness.check_json(aitherion("session", "list", "--json", server=server).stdout)
                self.assertEqual(faults, [])
                self.assertRegex(value["runtimes"][0]["sessions"][0]["peer"], rf"^unix:\d+:{os.geteuid()}$")
                group = value["runtimes"][0]
                device = group["devices"][0]
                self.assertEqual((device["name"], device["sessions"], device["memory_used_bytes"]),
                                 ("aitherion simulated GPU", 1, 64 * MIB))
                self.assertEqual(device["memory_limit_bytes"] * 2, device["memory_total_bytes"])
                self.assertEqual(group["sessions"][0]["devices"],
                                 [{"device": 0, "memory_used_bytes": 64 * MIB, "memory_limit_bytes": None,
                                   "memory_limit_source": None, "is_limit_enforced": True, **NO_PART}])
                words = ("session", "list", "--json", "--watch", "1", "--server", server.address, "--key", runtime.key_file())
                with subprocess.Popen([harness.binary(), *words], env=harness.environment(), stdout=subprocess.PIPE, text=True) as watch:
                    self.assertEqual(len(json.loads(watch.stdout.readline())["runtimes"][0]["sessions"]), 1)
                    time.sleep(2.5)  # the session's age grows, which is no change
                    program.do(f"take plain {MIB}")
                    uses = json.loads(watch.stdout.readline())["runtimes"][0]["sessions"][0]["devices"]
                    self.assertEqual(uses[0]["memory_used_bytes"], 65 * MIB)
                    watch.send_signal(signal.SIGINT)
                    self.assertEqual(watch.stdout.read(), "")
            self.assertTrue(harness.wait_until(lambda: not sessions(server)))

    def test_completion_offers_them(self):
        def offered(*words, key=runtime.KEY):
            result = harness.run("complete", "session", "aitherion", "session", *words, "--key", runtime.key_file(key), "")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            return result.stdout
        with Server("--sim") as server:
            self.assertEqual(offered("end", "--server", server.address), "")
            with Program(server.socket) as program:
                self.assertEqual(program.do(f"take plain {MIB}"), GOOD)
                first = sessions(server)[0]["id"]
                self.assertRegex(offered("limit", "--server", server.address), rf"^{first}\tcuda_steps, unix:\d+:\d+\n$")
                self.assertEqual(offered("end", "--server", server.address, str(first)), "")
                self.assertEqual(offered("end", "--server", server.address, key=b"another"), "")
            self.assertEqual(offered("end", "--server", "127.0.0.1:1"), "")

    def test_completion_ends_in_time(self):
        """A mute server takes no longer than the time that a person waits for a list: `complete` ends itself."""
        with socket.create_server(("127.0.0.1", 0)) as mute:
            result = harness.run("complete", "session", "aitherion", "session", "end", "--server", f"127.0.0.1:{mute.getsockname()[1]}",
                                 "--key", runtime.key_file(), "")
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
            self.assertFalse(harness.crashed(result))

    def test_one_is_ended(self):
        with Server("--sim") as server, Program(server.socket) as program, Program(server.address) as other:
            for one in program, other:
                self.assertEqual(one.do(f"take plain {MIB}"), GOOD)
            first, second = (one["id"] for one in sessions(server))
            for words, code, pattern in ((["999"], 1, "the runtime has no session '999'"),
                                         ([str(first), "999"], 1, "the runtime has no session '999'"),
                                         (["x"], 2, "'x' is not the number of a session"), (["0"], 2, "'0' is not the number of a session"),
                                         (["-1"], 2, ""), (["99999999999999999999999"], 2, "is not the number of a session"),
                                         ([], 2, "needs an argument: SESSION")):
                result = aitherion("session", "end", *words, server=server)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(pattern, result.stderr)
            self.assertEqual(aitherion("session", "end", str(first), "--dry-run", server=server).stdout,
                             f"would end session {first}\n")
            self.assertEqual([one["id"] for one in sessions(server)], [first, second])
            result = aitherion("session", "end", str(first), "--json", server=server)
            value, faults = harness.check_json(result.stdout)
            self.assertEqual((faults, value["action"], value["sessions"]), ([], "end", [first]))
            self.assertEqual([one["id"] for one in sessions(server)], [second])
            self.assertEqual(program.do("take plain 1"), "CUDA_ERROR_DEVICE_UNAVAILABLE")
            self.assertEqual(other.do("take plain 1"), GOOD)

    def test_one_is_limited(self):
        def limit(*words):
            return aitherion("session", "limit", *words, server=server)

        with Server("--sim") as server, Program(server.address) as program, Program(server.socket) as other:
            first = str(sessions(server)[0]["id"])
            self.assertEqual(program.do(f"take plain {10 * MIB}"), GOOD)
            self.assertEqual(limit(first, "32M").stdout, f"session {first} may use 32.0 MiB of GPU 0\n")
            self.assertEqual(sessions(server)[0]["devices"],
                             [{"device": 0, "memory_used_bytes": 10 * MIB, "memory_limit_bytes": 32 * MIB,
                               "memory_limit_source": "set", "is_limit_enforced": True, **NO_PART}])
            for words, then in (["10M"], ""), (["10485759", "--dry-run"], "note: it uses 10.0 MiB now and keeps them; it gets no more memory"):
                said = limit(first, *words).stdout.split("\n", 1)[1]
                self.assertEqual(said[:len(then)] if then else said, then)
            value = json.loads(limit(first, "0", "--dry-run", "--json").stdout)
            self.assertEqual((value["memory_limit_bytes"], value["memory_used_bytes"]), (0, 10 * MIB))
            self.assertIn("may use 0 B of GPU 0\n", limit(first, "0").stdout)
            self.assertIn("GPU 0: 10.0 MiB of 0 B ", aitherion("session", "list", server=server).stdout)
            self.assertEqual(limit(first, "32M").returncode, 0)
            self.assertIn("GPU 0: 10.0 MiB of 32.0 MiB", aitherion("session", "list", server=server).stdout)
            for kind in "plain", "async", "managed":
                self.assertEqual(program.do(f"take {kind} {30 * MIB}"), FULL, kind)
            memory = program.do("memory").split()
            self.assertEqual(int(memory[2]), 32 * MIB, memory)
            self.assertEqual(program.do(f"take plain {20 * MIB}"), GOOD)
            self.assertEqual(other.do(f"take plain {64 * MIB}"), GOOD)
            self.assertEqual(limit(first, "none", "--dry-run").stdout,
                             f"would allow session {first} to use all served memory of GPU 0\n")
            self.assertEqual(program.do(f"take plain {30 * MIB}"), FULL)
            self.assertEqual(limit(first, "none").returncode, 0)
            self.assertEqual(program.do(f"take plain {30 * MIB}"), GOOD)
            for words, code, pattern in (([first, "1M", "--device", "7"], 1, "there is no such device"),
                                         (["999", "1M"], 1, f"no session '999'\n  hint: aitherion session list --server {server.address} --key "), ([first, "much"], 2, "is not a memory size"),
                                         ([first, "1M", "--device", "x"], 2, "'x' is not the number of a GPU")):
                result = limit(*words)
                self.assertEqual(result.returncode, code)
                self.assertIn(pattern, result.stderr)

    def test_a_user_without_the_key(self):
        with Server("--sim") as server:
            for words in (["list"], ["end", "1"], ["limit", "1", "1M"]):
                result = aitherion("session", *words, server=server, key=b"another")
                self.assertEqual((result.returncode, result.stdout), (1, ""))
                self.assertIn("another key", result.stderr)


    @unittest.skipIf(runtime.IS_SANITIZED, "Python does not load libraries with sanitizers")
    def test_shared_memory_counts_to_its_holder(self):
        def held():
            return [one["devices"][0]["memory_used_bytes"] if one["devices"] else 0 for one in sessions(server)]

        def peer(*words, fds=()):
            return subprocess.Popen([sys.executable, "-c", PEER, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                    pass_fds=fds, env=environment)

        def tell(process, word):
            process.stdin.write(word + "\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), "0\n")

        with Server("--sim", "--vram-fraction", "0.5") as server:
            library = os.path.join(harness.build(), "lib", "aitherion")
            environment = harness.environment(AITHERION_SERVER=server.address, AITHERION_KEY_FILE=runtime.key_file(),
                                              LD_LIBRARY_PATH=library)
            ours, theirs = socket.socketpair()
            with ours, theirs, peer("make", str(theirs.fileno()), fds=[theirs.fileno()]) as maker:
                _, (fd, *_), _, _ = socket.recv_fds(ours, 1, 1)
                with peer("import", str(fd), fds=[fd]) as first, peer("import", str(fd), fds=[fd]) as second:
                    for process in first, second:
                        self.assertEqual(process.stdout.readline(), "0\n")
                    os.close(fd)
                    self.assertEqual(held(), [64 * MIB, 0, 0])
                    tell(maker, "again")  # two handles of its own
                    tell(maker, "release")
                    self.assertEqual(held(), [64 * MIB, 0, 0])
                    tell(maker, "release")
                    self.assertEqual(held(), [64 * MIB, 0, 0])  # its descriptor keeps the memory
                    tell(maker, "close")
                    self.assertTrue(harness.wait_until(lambda: held()[0] == 0))
                    self.assertEqual(sorted(held()), [0, 0, 64 * MIB])
                    payer = first if held()[1] else second
                    tell(payer, "map")
                    tell(payer, "release")
                    self.assertEqual(sorted(held()), [0, 0, 64 * MIB])
                    payer.kill()
                    self.assertTrue(harness.wait_until(lambda: held() == [0, 64 * MIB]))
                    tell(second if payer is first else first, "release")
                    self.assertEqual(held(), [0, 0])
                    value = json.loads(aitherion("session", "list", "--json", server=server).stdout)
                    self.assertEqual(value["runtimes"][0]["devices"][0]["memory_used_bytes"], 0)

    @unittest.skipIf(runtime.IS_SANITIZED, "Python does not load libraries with sanitizers")
    def test_a_program_that_unloads_the_library(self):
        """The library's threads may be at work, and a thread of the program that called the library ends later."""
        with serve() as server:
            library = os.path.join(harness.build(), "lib", "aitherion")
            for where in (place(server, transport) for transport in TRANSPORTS):
                environment = harness.environment(AITHERION_SERVER=where, AITHERION_KEY_FILE=runtime.key_file(), LD_LIBRARY_PATH=library)
                result = subprocess.run([sys.executable, "-c", UNLOADER], env=environment, text=True, stdout=subprocess.PIPE,
                                        timeout=harness.PATIENCE_S, check=False)
                self.assertEqual((result.returncode, result.stdout), (0, "0 0 0 0\n"), where)

    def test_a_simulated_gpu_says_what_it_cannot_run(self):
        with open(os.path.join(harness.build(), "examples", "vector_add"), "rb") as file:
            code = file.read()
        renamed = os.path.join(harness.scratch(), "vector_sub")
        with open(renamed, "wb") as file:
            file.write(code.replace(b"vector_add", b"vector_sub"))
        os.chmod(renamed, 0o755)
        with Server("--sim") as server:
            result = harness.run("run", "--server", server.address, "--key", runtime.key_file(), renamed)
            self.assertIn("CUDA_ERROR_NOT_FOUND", result.stdout + result.stderr)
            said = "GPU is simulated (aitherion start --sim) and has no kernel 'vector_sub': it runs only the kernels of"
            self.assertIn(said, result.stderr)
            self.assertEqual(result.stderr.count("kernel 'vector_sub'"), 1)
            self.assertTrue(server.wait_for_log(said))

    def test_several_runtimes(self):
        """All sessions are listed; a command that changes something needs to know which."""
        with Server("--sim") as server, Server("--sim") as other, Program(other.address) as program:
            self.assertEqual(program.first, GOOD)
            names = f"{server.address},{other.address},127.0.0.1:1"
            value, faults = harness.check_json(aitherion("session", "list", "--json", "--server", names, "--key", runtime.key_file()).stdout)
            self.assertEqual((faults, [group["server"] for group in value["runtimes"]]), ([], names.split(",")))
            self.assertEqual([[len(group["sessions"] or []), group["error"] is None] for group in value["runtimes"]],
                             [[0, True], [1, True], [0, False]])
            for words in ["end", "1"], ["limit", "1", "1M"]:
                result = aitherion("session", *words, "--key", runtime.key_file(), AITHERION_SERVER=names)
                self.assertEqual(result.returncode, 2)
                self.assertRegex(result.stderr, rf"several runtimes are named; choose one\n  hint: --server {re.escape(server.address)}\n")


    def test_runtimes_that_do_not_answer_are_waited_for_together(self):
        with Server("--sim") as server, contextlib.ExitStack() as stack:
            silent = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(15)]
            names = ",".join([f"127.0.0.1:{one.getsockname()[1]}" for one in silent] + [server.address])
            begun = time.monotonic()
            value, _ = harness.check_json(aitherion("session", "list", "--json", "--server", names, "--key", runtime.key_file()).stdout)
            self.assertLess(time.monotonic() - begun, 3 * len(silent))  # each has 3 seconds
        self.assertEqual([group["error"] and group["error"]["code"] for group in value["runtimes"]], ["peer-failed"] * len(silent) + [None])
        for group in value["runtimes"][:-1]:
            self.assertIn(f"no session with '{group['server']}': the peer took too long", group["error"]["message"])
            self.assertIn("check that this is the address", group["error"]["hint"])


# A program that makes 64 MiB of memory and sends a descriptor of it, or gets one; then does one step for each line, which is a word.
PEER = """
import ctypes, os, socket, sys
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p
cuda, size = ctypes.CDLL("libcuda.so.1"), 64 << 20
context, handle, address, fd = c_void_p(), c_uint64(), c_uint64(), c_int(-1)
status = cuda.cuInit(0) or cuda.cuDevicePrimaryCtxRetain(byref(context), 0) or cuda.cuCtxSetCurrent(context)
properties = (c_int * 8)(1, 1, 1, 0)  # pinned, by file descriptor, of device 0
if sys.argv[1] == "make":
    status = status or cuda.cuMemCreate(byref(handle), c_size_t(size), properties, c_uint64(0))
    status = status or cuda.cuMemExportToShareableHandle(byref(fd), handle, 1, c_uint64(0))
    assert not status, status
    socket.send_fds(socket.socket(fileno=int(sys.argv[2])), [b"x"], [fd.value])
else:
    print(status or cuda.cuMemImportFromShareableHandle(byref(handle), c_void_p(int(sys.argv[2])), 1), flush=True)
    os.close(int(sys.argv[2]))
handles = [handle.value]
for word in sys.stdin:
    if word == "again\\n":
        status = cuda.cuMemImportFromShareableHandle(byref(handle), c_void_p(fd.value), 1)
        handles.append(handle.value)
    elif word == "close\\n":  # the next call about this memory fails, and tells the server
        os.close(fd.value)
        status = cuda.cuMemImportFromShareableHandle(byref(handle), c_void_p(fd.value), 1) - 1
    elif word == "map\\n":
        status = cuda.cuMemAddressReserve(byref(address), c_size_t(size), c_size_t(0), c_uint64(0), c_uint64(0))
        status = status or cuda.cuMemMap(address, c_size_t(size), c_size_t(0), handle, c_uint64(0))
    else:
        status = cuda.cuMemRelease(c_uint64(handles.pop()))
    print(status, flush=True)
"""

# A program that closes the library while one of its threads, which has called it, goes on; then opens it again.
UNLOADER = """
import _ctypes, ctypes, threading, time
cuda, called, closed = ctypes.CDLL("libcuda.so.1"), threading.Event(), threading.Event()
def call():
    status.append(cuda.cuCtxGetCurrent(ctypes.byref(ctypes.c_void_p())))
    called.set()
    closed.wait()
status = [cuda.cuInit(0)]
thread = threading.Thread(target=call)
thread.start()
called.wait()
status.append(_ctypes.dlclose(cuda._handle) or 0)
time.sleep(0.2)
closed.set()
thread.join()
print(*status, ctypes.CDLL("libcuda.so.1").cuInit(0))
"""

# A program that counts its GPUs as NVML and CUDA have them, whose library it finds without a version.
COUNTER = """
import ctypes
cuda, nvml, count, same = ctypes.CDLL("libcuda.so"), ctypes.CDLL("libnvidia-ml.so"), ctypes.c_int(), ctypes.c_int()
print(nvml.nvmlInit_v2(), nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)), cuda.cuInit(0), cuda.cuDeviceGetCount(ctypes.byref(same)),
      count.value, same.value)
"""


class BeforeTheProgram(unittest.TestCase):
    def run_at(self, place, *words, key=runtime.KEY, **changes):
        return harness.run("run", *words[:-1], "--server", place, "--key", runtime.key_file(key), "--", "echo", words[-1],
                           env=harness.environment(**changes))

    def refused(self, code, pattern, place, **options):
        result = self.run_at(place, "ran", **options)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        self.assertRegex(result.stderr, pattern)

    def test_it_is_not_run_without_a_runtime(self):
        with Server("--sim") as server:
            self.refused(124, r"^aitherion: no session with '.*': the server has another key, or none called 'key-\w+'\n  hint: .*aitherion key --export",
                         server.address, key=b"another")
            self.assertTrue(server.wait_for_log("reason=keyWrong"))
            place = server.address
            self.assertEqual(self.run_at(place, "ran").stdout, "ran\n")
        self.refused(125, rf"^aitherion: cannot connect to '{re.escape(place)}': Connection refused\n  hint: .*aitherion status", place,
                     AITHERION_CONNECT_TIMEOUT="0.3")
        self.assertEqual(self.run_at(place, "ran", AITHERION_DISABLE="1").stdout, "ran\n")

    def test_how_long_a_command_waits(self):
        """session waits as long as a program does: one command gives up while another still waits for the same server."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            words = [harness.binary(), "session", "list", "--server", f"127.0.0.1:{silent.getsockname()[1]}", "--key", runtime.key_file()]

            def begin(seconds):
                return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                        env=harness.environment(AITHERION_CONNECT_TIMEOUT=seconds))
            with begin("3600") as patient, begin("0.1") as hasty, begin("soon") as wrong:
                self.assertIn("AITHERION_CONNECT_TIMEOUT is 'soon'", wrong.communicate()[1])
                self.assertIn("no session with", hasty.communicate()[1])
                self.assertIsNone(patient.poll())
                patient.kill()

    def test_a_runtime_without_a_key(self):
        with Server("--sim", key=None) as server:
            self.refused(124, "the server has no key, .*\n  hint: .* an empty AITHERION_KEY_FILE= means no key\n$", server.address)
            result = harness.run("run", "--server", server.address, "echo", "ran",
                                 env=harness.environment(AITHERION_KEY_FILE=""))
            self.assertEqual((result.returncode, result.stdout), (0, "ran\n"), result.stderr)

    def test_an_error_as_data(self):
        result = self.run_at("127.0.0.1:1", "--json", "ran", AITHERION_CONNECT_TIMEOUT="0.3")
        self.assertEqual((result.returncode, json.loads(result.stderr)["code"]), (125, "peer-unreachable"))

    def test_the_library_of_one_server_refuses_several(self):
        with Server("--sim") as server:
            result = self.run_at(server.address, "-v", "ran")
            self.assertRegex(result.stderr, rf"^aitherion: server {re.escape(server.address)}: \S+\n"
                                            r"aitherion: GPU 0: aitherion simulated GPU, 16\.0 GiB\n$")
            self.assertEqual(self.run_at(server.address, "ran").stderr, "")

    def test_several(self):
        with Server("--sim", env=harness.environment(AITHERION_SIM_DEVICES="2")) as server, Server("--sim") as other:
            result = self.run_at(f"{server.address},{other.socket}", "-v", "ran")
            self.assertEqual((result.returncode, result.stdout), (0, "ran\n"), result.stderr)
            self.assertEqual(re.findall(r"^aitherion: (?:server (\S+):|(GPU \d):)", result.stderr, re.MULTILINE),
                             [(server.address, ""), ("", "GPU 0"), ("", "GPU 1"), (f"unix:{other.socket}", ""), ("", "GPU 2")])
            place = other.address
            self.refused(124, rf"no session with '{re.escape(server.address)}'", f"{server.address},{place}", key=b"another")
            if not runtime.IS_SANITIZED:  # Python does not load such libraries
                result = harness.run("run", "--server", f"{server.address},{place}", "--key", runtime.key_file(), "--",
                                     sys.executable, "-c", COUNTER)
                self.assertEqual((result.stdout, result.stderr), ("0 0 0 0 3 3\n", ""))
            other.stop()
            self.refused(125, rf"^aitherion: cannot connect to '{re.escape(place)}'", f"{server.address},{place}", AITHERION_CONNECT_TIMEOUT="2")

    def test_several_by_hand(self):
        """The libcuda.so.1 for one server tells what is missing."""
        folder = harness.build()
        ran = harness.run(command=[os.path.join(folder, "examples", "vector_add")],
                          env=harness.environment(AITHERION_SERVER="a:1,b:2", AITHERION_KEY_FILE=runtime.key_file(),
                                                  LD_LIBRARY_PATH=os.path.join(folder, "lib", "aitherion")))
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("AITHERION_SERVER names 2 servers, but this library speaks with one only (`aitherion run` finds", ran.stderr)

    def test_a_runtime_without_a_gpu(self):
        with Server("--sim", env=harness.environment(AITHERION_SIM_FOLDER="/nonexistent")) as server:
            result = self.run_at(server.address, "ran")
            self.assertEqual((result.returncode, result.stdout), (0, "ran\n"))
            self.assertRegex(result.stderr, r"^aitherion: warning: the runtime has no GPU: 'libcuda.so.1' cannot be loaded")
        with Server("--gpus", "none") as server:  # which is no fault, so there is no reason to tell
            self.assertEqual(self.run_at(server.address, "ran").stderr, "aitherion: warning: the runtime has no GPU\n")

    def test_shared_memory_over_the_network(self):
        result = self.run_at("127.0.0.1:1", "--transport", "shm", "ran")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("'shm' needs the runtime's socket", result.stderr)

    def test_the_example(self):
        example = os.path.join(harness.build(), "examples", "vector_add")
        with Server("--sim") as server:
            for place in server.address, server.socket:
                result = harness.run("run", "--server", place, "--key", runtime.key_file(runtime.KEY), example)
                self.assertEqual((result.returncode, result.stdout, result.stderr),
                                 (0, "GPU 0: aitherion simulated GPU, 16.0 GiB\n"
                                     "1048575 + 2097150 = 3145725, and 1048575 sums like it: right\n", ""))


if __name__ == "__main__":
    harness.main()
