#!/usr/bin/env python3
"""Programs with the driver in their own process (`aitherion run --local`): the limits of GPU memory as at a server, what they share, how a
session and its runtime end, and the runtime that the command starts itself. The driver is the simulated one."""
import fcntl
import json
import mmap
import os
import shlex
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

import runtime
import test_figures
import test_limits
from cuda import MIB, Program, alone_variables
from runtime import Server, Session, harness

sys.path.append(os.path.join(runtime.SOURCE, "bench"))
import sim_gpu  # noqa: E402
from parties import Party  # noqa: E402

GOOD, FULL = test_limits.GOOD, test_limits.FULL
SIMULATED = dict(AITHERION_SIM_MEMORY="64M", AITHERION_SIM_DEVICES="1")


class Local(Program):
    """A program with its books at a server. Its own simulated driver is as the server's."""

    def __init__(self, place, words=(), env=None, **others):
        super().__init__(place, words=["--local", *words], env={**SIMULATED, **(env or {})}, **others)


def serve(*arguments, **changes):
    """A server, and the variables that its programs need for a driver like its own."""
    SIMULATED.update({f"AITHERION_SIM_{key}": value for key, value in {"MEMORY": "64M", "DEVICES": "1", **changes}.items()})
    return Server("--sim", *arguments, env=harness.environment(**SIMULATED))


def command(*words, server):
    return harness.run(*words, "--server", server.socket, "--key", runtime.key_file(runtime.KEY))


def sessions(server):
    result = command("session", "list", "--json", server=server)
    return json.loads(result.stdout)["runtimes"][0]["sessions"]


class Base(test_limits.Base):
    pass


class Limits(Base):
    """The same as in test_limits.py, with a server."""

    def test_a_limit_holds_from_the_first_allocation(self):
        with serve() as server:
            with Local(server.socket, words=["--memory", "8M"]) as program:
                self.assertEqual(program.first, GOOD)
                self.all(program, [f"take plain {8 * MIB + 1}"], FULL)
                self.assertEqual(program.do("memory"), f"{GOOD} {8 * MIB} {8 * MIB} {8 * MIB}")
                self.all(program, [f"take plain {8 * MIB}"])
                self.all(program, ["take plain 1", "take async 1", "take create 65536", "take pool 1", "take managed 1", "take module 1"], FULL)
                self.assertEqual(program.do("memory"), f"{GOOD} 0 {8 * MIB} {8 * MIB}")
                self.all(program, ["give", "take plain 1"])
                program.end()
            self.check_free(server)

    def test_two_programs_share_a_limit_of_all(self):
        with serve("--vram-fraction", "0.5") as server, Local(server.socket) as one, Local(server.socket) as other:
            self.all(one, [f"take plain {20 * MIB}"])
            self.all(other, [f"take plain {12 * MIB + 1}"], FULL)
            self.all(other, [f"take plain {12 * MIB}"])
            self.all(one, ["take plain 1"], FULL)
            self.assertEqual(test_limits.used(server), 32 * MIB)
            self.all(other, ["give"])
            self.assertTrue(harness.wait_until(lambda: test_limits.used(server) == 20 * MIB), "a program does not wait for what it gives")
            self.all(one, [f"take plain {12 * MIB}"])

    def test_a_program_here_and_one_at_the_server_share_it(self):
        with serve("--vram-fraction", "0.5") as server, Local(server.socket) as one, Program(server.socket) as other:
            self.all(one, [f"take plain {20 * MIB}"])
            self.all(other, [f"take plain {12 * MIB + 1}"], FULL)
            self.all(other, [f"take plain {12 * MIB}"])

    def test_the_limit_of_a_session_changes(self):
        with serve() as server, Local(server.socket) as program:
            self.all(program, [f"take plain {8 * MIB}"])
            session = sessions(server)[0]
            self.assertEqual(session["program"], "cuda_steps")
            self.assertIn("transport=local", server.log())
            result = command("session", "limit", str(session["id"]), "12M", server=server)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.all(program, [f"take plain {4 * MIB + 1}"], FULL)
            self.all(program, [f"take plain {4 * MIB}"])

    def test_a_server_that_only_counts(self):
        with serve("--no-enforce") as server, Local(server.socket, words=["--memory", "8M"]) as program:
            self.all(program, [f"take plain {12 * MIB}"])
            self.assertEqual(test_limits.used(server), 12 * MIB)

    def test_a_library_of_a_file_counts_as_much_as_it_has_taken(self):
        with serve() as server, Local(server.socket, words=["--memory", "3M"], env=dict(AITHERION_SIM_MODULE="2M")) as program:
            self.all(program, ["take filed 8", "take kernel 0"])
            self.assertTrue(harness.wait_until(lambda: test_limits.used(server) == 2 * MIB))
            self.all(program, [f"take plain {MIB + 1}"], FULL)
            self.all(program, ["give", "give"])
            self.assertTrue(harness.wait_until(lambda: test_limits.used(server) == 0))

    def test_the_context_of_a_static_runtime_counts(self):
        with serve(DEVICES="2") as server, Local(server.socket, env=dict(AITHERION_SIM_CONTEXT="1M"), words=["--memory", "8M"]) as program:
            step = program.do("tables 4096")
            if step == "CUDA_ERROR_NOT_FOUND":
                self.skipTest("built with --disable-runtime-tables")
            self.assertEqual(step, GOOD)
            self.assertTrue(harness.wait_until(lambda: test_limits.used(server, 1) == MIB + 4096), test_limits.used(server, 1))
            self.all(program, [f"tables {7 * MIB}"], FULL)
            self.all(program, [f"tables {6 * MIB}"])
            self.assertEqual(test_limits.used(server, 1), 7 * MIB + 4096)

    def test_devices_have_the_same_numbers_on_both_sides(self):
        with serve(DEVICES="3") as server, Local(server.socket, env={"CUDA_VISIBLE_DEVICES": "2,1"}) as program:
            self.assertIn("2", program.do("devices"))
            self.all(program, ["take plain 4096", "take other 8192"])
            used = {one["device"]: one["memory_used_bytes"] for one in test_limits.listed(server)[0]}
            self.assertEqual((used[2], used[1]), (4096, 8192))

    def test_a_cancelled_thread_keeps_nothing_from_others(self):
        with serve() as server, Local(server.socket) as program:
            self.all(program, ["cancelled"])

    @unittest.skipIf(runtime.IS_SANITIZED, "Python does not load libraries with sanitizers")
    def test_nvml_shows_the_limit(self):
        asks = textwrap.dedent("""
            import ctypes
            class Memory(ctypes.Structure):
                _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]
            nvml = ctypes.CDLL("libnvidia-ml.so.1")
            device, memory = ctypes.c_void_p(), Memory()
            print(nvml.nvmlInit_v2(), nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)))
            print(nvml.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory)), memory.total, memory.free)
            """)
        with serve() as server, Local(server.socket, words=["--memory", "8M"]) as program:
            self.all(program, [f"take plain {MIB}"])
            result = harness.run("run", "--local", "--server", server.socket, "--key", runtime.key_file(runtime.KEY), "--memory", "8M", "--",
                                 sys.executable, "-c", asks, env=harness.environment(**SIMULATED, AITHERION_SERVER="unix:/nowhere"))
            self.assertEqual((result.stdout, result.stderr), (f"0 0\n0 {8 * MIB} {8 * MIB}\n", ""))

    def test_results_are_right(self):
        with serve() as server, Local(server.socket) as program:
            self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
            self.assertIn("right", program.do("threads 4"))
            self.assertIn("right", program.do("nodes 7"))


class Ends(Base):
    def test_killing_a_program_frees_its_memory(self):
        with serve() as server, Local(server.socket) as program:
            self.all(program, [f"take plain {48 * MIB}"])
            program.kill()
            self.check_free(server)
            with Local(server.socket) as next_one:
                self.all(next_one, [f"take plain {48 * MIB}"])

    def test_an_ended_session_makes_further_calls_fail(self):
        with serve() as server, Local(server.socket) as program:
            self.all(program, ["take plain 4096"])
            result = command("session", "end", str(sessions(server)[0]["id"]), server=server)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertTrue(harness.wait_until(lambda: program.do("sync") == "CUDA_ERROR_DEVICE_UNAVAILABLE"))
            self.all(program, ["take plain 1", "take module 1"], "CUDA_ERROR_DEVICE_UNAVAILABLE")
            self.assertIn("has ended this program's session; its CUDA calls fail from here on", program.end())

    def test_without_its_runtime_a_program_keeps_what_it_has(self):
        with serve() as server, Local(server.socket) as program:
            self.all(program, ["take plain 4096"])
            server.stop()
            self.assertTrue(harness.wait_until(lambda: program.do("take plain 4096") == FULL))
            self.assertEqual(program.do("fill 1").split()[0], FULL)  # it needs memory
            self.all(program, ["sync", "give"])
            self.assertIn("the program goes on with the GPU memory that it has, and gets no more", program.end())

    def test_a_runtime_that_was_started_again_has_ended_no_session(self):
        """It answers at the same address, but does not know the program."""
        with serve() as server, serve() as next_one, Local(server.socket) as program:
            self.all(program, ["take plain 4096"])
            os.rename(next_one.socket, server.socket)
            server.process.kill()
            self.assertTrue(harness.wait_until(lambda: program.do("take plain 4096") == FULL))
            self.all(program, ["sync", "give"])
            self.assertIn("the program goes on with the GPU memory that it has, and gets no more", program.end())

    def test_a_program_without_a_runtime_does_not_run(self):
        with Local("unix:/nowhere/socket", env=dict(AITHERION_LOCAL="unix:/nowhere/socket", AITHERION_CONNECT_TIMEOUT="0.1"),
                   wait=False) as program:
            self.assertEqual(program.process.wait(harness.PATIENCE_S), 125)


@unittest.skipUnless(harness.copies_alone(), "programs that an emulator runs find no library by LD_LIBRARY_PATH")
class Turns(unittest.TestCase):
    """A GPU's time. Both processes have the same simulated GPU."""

    def party(self, server, number, file, is_local, **variables):
        place = "unix:" + server.socket
        env = alone_variables(place)
        if is_local:
            lib = os.path.join(harness.build(), "lib", "aitherion")
            env.update(LD_LIBRARY_PATH=os.path.join(lib, "local"), AITHERION_LOCAL=place, AITHERION_SIM_GPU=file,
                       AITHERION_DRIVER=os.path.join(lib, "sim", "libcuda.so.1"))
        party = Party(harness.build(), "kernels", number, harness.environment(**{**env, **variables}), patience_s=harness.PATIENCE_S,
                      BENCH_KERNEL_US=2000)
        self.addCleanup(party.end)
        return party

    def test_shares_are_kept_with_programs_here_and_at_the_server(self):
        for where in ((True, True), (True, False)):
            with self.subTest(where):
                file = os.path.join(harness.scratch(), f"gpu-{where[1]}")
                with Server("--sim", env=harness.environment(AITHERION_SIM_GPU=file)) as server:
                    parties = [self.party(server, number, file, is_local, AITHERION_SHARE=share)
                               for number, is_local, share in zip((1, 2), where, ("20", "80"))]
                    for party in parties:
                        party.go(1000)
                    parts = []

                    def has_share():
                        """Over a while in which a busy machine let both programs work."""
                        before = [sim_gpu.used(file).get(number, 0) for number in (1, 2)]
                        time.sleep(2)
                        used = [sim_gpu.used(file).get(number, 0) - first for number, first in zip((1, 2), before)]
                        parts.append(used[0] / max(sum(used), 1e-9))
                        return abs(parts[-1] - 0.2) < 0.06
                    self.assertTrue(harness.wait_until(has_share), parts)
                    for party in parties:
                        party.end()


class Own(Base):
    """The runtime that the command starts if none runs."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=harness.scratch())
        self.run = os.path.join(self.folder, "run")
        self.env = harness.environment(AITHERION_RUN_FOLDER=self.run, AITHERION_SIM="1", srcdir=runtime.SOURCE, AITHERION_SERVER=None,
                                       AITHERION_KEY_FILE=None, **SIMULATED)

    def program(self, *words):
        return subprocess.Popen([harness.binary(), "run", "--local", *words, "--", os.path.join(harness.build(), "tests", "runtime",
                                                                                               "cuda_steps")],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env,
                                cwd=self.folder)

    def is_unused(self):
        """Whether no runtime is left: it has removed its socket, and no process has the lock."""
        with open(os.path.join(self.run + "-local", "users"), "r+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return not os.path.exists(os.path.join(self.run + "-local", "socket"))

    def test_two_programs_at_once_have_one_runtime_that_ends_after_them(self):
        programs = [self.program("--memory", "8M") for _ in range(2)]
        for one in programs:
            output, errors = one.communicate(f"take plain {8 * MIB}\ntake plain 1\n", timeout=harness.PATIENCE_S)
            self.assertEqual((output.split(), errors), ([GOOD, GOOD, FULL], ""))
        with open(os.path.join(self.run + "-local", "log")) as log:
            text = log.read()
        self.assertEqual((text.count("event=started"), text.count("event=session-opened")), (1, 2), text)
        self.assertTrue(harness.wait_until(self.is_unused), "the runtime has not ended")

    def test_it_waits_for_a_program_that_uses_no_gpu_yet(self):
        sleeper = subprocess.Popen([harness.binary(), "run", "--local", "--", "sleep", "1000"], env=self.env, cwd=self.folder)
        try:
            socket = os.path.join(self.run + "-local", "socket")
            self.assertTrue(harness.wait_until(lambda: os.path.exists(socket)))
            with self.assertRaises(subprocess.TimeoutExpired):
                sleeper.wait(5)  # longer than an unused runtime stays
            self.assertTrue(os.path.exists(socket))
        finally:
            sleeper.send_signal(signal.SIGKILL)
            sleeper.wait()
        self.assertTrue(harness.wait_until(self.is_unused), "the runtime has not ended")

    def test_it_stays_for_a_session_whose_program_closed_the_lock(self):
        steps = os.path.join(harness.build(), "tests", "runtime", "cuda_steps")
        words = "for fd in 3 4 5 6 7 8 9; do eval \"exec $fd>&-\"; done; exec " + shlex.quote(steps)
        with subprocess.Popen([harness.binary(), "run", "--local", "--", "sh", "-c", words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True, env=self.env, cwd=self.folder) as one:
            self.assertEqual(one.stdout.readline().strip(), GOOD)
            time.sleep(5)  # longer than an unused runtime stays
            self.assertEqual(one.communicate("take plain 4096\n", timeout=harness.PATIENCE_S)[0].strip(), GOOD)

    def refused(self):
        one = self.program()
        _, errors = one.communicate("", timeout=harness.PATIENCE_S)
        self.assertEqual(one.returncode, 125)
        return errors

    def test_a_runtime_that_does_not_end_is_not_waited_for_forever(self):
        os.mkdir(self.run + "-local", 0o700)
        users = os.path.join(self.run + "-local", "users")
        with open(users, "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            errors = self.refused()
        self.assertIn(f"the last runtime for local programs has not ended in 10 s, and keeps '{users}'", errors)
        self.assertIn(f"fuser -k {users}", errors)

    def test_a_runtime_that_ends_at_once_is_not_waited_for(self):
        os.makedirs(os.path.join(self.run + "-local", "socket", "in the way"))
        os.chmod(self.run + "-local", 0o700)
        begin = time.monotonic()
        errors = self.refused()
        self.assertLess(time.monotonic() - begin, 25)  # 30 s are for one that runs
        self.assertIn("the runtime for local programs has ended at once", errors)
        self.assertIn(f"cat {self.run}-local/log", errors)

    def test_a_link_in_place_of_the_lock_is_not_followed(self):
        os.mkdir(self.run + "-local", 0o700)
        users = os.path.join(self.run + "-local", "users")
        os.symlink(os.path.join(self.folder, "elsewhere"), users)
        self.assertIn(f"cannot open '{users}'", self.refused())
        self.assertEqual(os.listdir(self.folder), ["run-local"])

    def test_a_folder_that_others_may_write_is_refused(self):
        os.mkdir(self.run + "-local")
        os.chmod(self.run + "-local", 0o755)
        self.assertIn("is not a folder of this user's alone", self.refused())


COPIER = """
import ctypes, sys
cuda, context, address = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64()
host, size = ctypes.create_string_buffer(4096), ctypes.c_size_t(4096)
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(address), size) == 0
for line in sys.stdin:
    for _ in range(int(line)):
        assert cuda.cuMemcpyHtoD_v2(address, host, size) == 0
    assert cuda.cuMemcpyDtoH_v2(host, address, size) == 0
    print("done", flush=True)
"""


@test_figures.needs_capnp
class Calls(Base):
    """The calls of a program do not travel, so it tells how many there were."""

    @unittest.skipIf(runtime.IS_SANITIZED, "Python does not load libraries with sanitizers")
    def test_calls_and_bytes_are_in_the_figures(self):
        with serve() as server:
            command = [harness.binary(), "run", "--local", "--server", server.socket, "--key", runtime.key_file(runtime.KEY),
                       sys.executable, "-c", COPIER]
            with subprocess.Popen(command, env=harness.environment(**SIMULATED), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
                def copies(count):
                    program.stdin.write(f"{count}\n")
                    program.stdin.flush()
                    self.assertEqual(program.stdout.readline(), "done\n")

                def counted():
                    (one,) = test_figures.counts_of(test_figures.ask(server)).values()
                    return [one["calls"], one["receivedBytes"], one["sentBytes"]]
                copies(1)
                self.assertTrue(harness.wait_until(lambda: counted()[2] == 4096))
                before = counted()
                copies(1000)
                self.assertTrue(harness.wait_until(lambda: counted()[2] == 2 * 4096))
                self.assertEqual([now - then for then, now in zip(before, counted())], [1001, 4096 * 1000, 4096])
                program.stdin.write("500\n")  # told at the exit, at the latest
                program.stdin.close()
                self.assertEqual(program.wait(timeout=harness.PATIENCE_S), 0)
            wanted = f" calls={before[0] + 1001 + 501}"
            self.assertTrue(harness.wait_until(lambda: wanted in server.log()), (wanted, server.log()))


class Container(Base):
    """A program that has only what docs/sharing.md ("In a container") mounts, in namespaces of its own."""
    MOUNTS = """
        mount -t tmpfs none "$1" && cd "$1"
        mkdir -p usr lib lib64 bin proc opt/local opt/driver run/aitherion
        for folder in usr lib lib64 bin; do ! [ -d /$folder ] || mount --rbind /$folder $folder; done
        mount -t proc proc proc
        touch run/aitherion/runtime.sock run/key prog
        mount --bind "$2/local" opt/local
        mount --bind "$2/sim" opt/driver
        mount --bind "$3" run/aitherion/runtime.sock
        mount --bind "$4" run/key
        mount --bind "$5" prog
        exec chroot . /prog"""

    def test_the_limits_hold(self):
        words = ["unshare", "--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child"]
        if subprocess.run([*words, "chroot", "/", "true"], capture_output=True, check=False).returncode:
            self.skipTest("namespaces are for root here")
        root = tempfile.mkdtemp(dir=harness.scratch())
        with serve() as server:
            paths = [root, os.path.join(harness.build(), "lib", "aitherion"), server.socket, runtime.key_file(runtime.KEY),
                     os.path.join(harness.build(), "tests", "runtime", "cuda_steps")]
            env = dict(PATH=os.environ["PATH"], LD_LIBRARY_PATH="/opt/local", AITHERION_LOCAL="unix:/run/aitherion/runtime.sock",
                       AITHERION_DRIVER="/opt/none/libcuda.so.1:/opt/driver/libcuda.so.1", AITHERION_KEY_FILE="/run/key", AITHERION_MEMORY="8M",
                       AITHERION_SHARE="25", **SIMULATED)
            with subprocess.Popen([*words, "sh", "-ec", self.MOUNTS, "sh", *paths], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True, env=env) as program:
                program.stdin.write(f"take plain {8 * MIB}\ntake plain 1\n")
                program.stdin.flush()
                self.assertEqual([program.stdout.readline().strip() for _ in range(3)], [GOOD, GOOD, FULL])
                (one,) = sessions(server)
                self.assertEqual((one["program"], one["devices"][0]["memory_used_bytes"], one["turn"]["share_percent"]), ("prog", 8 * MIB, 25))
                program.stdin.close()
            self.assertEqual(program.returncode, 0)
            self.check_free(server)


class TurnPage:
    """The words about turns of a program (src/turns/private_page.h), and the pipe that tells that its wish changed."""
    GIVEN, BACK = 1, 2
    WORD, DEVICES, WANTS, LEFT = 0, 256, 264, 272  # their places

    def __init__(self, fds):
        self.page, self.pipe = mmap.mmap(fds[0], 384), fds[2]
        struct.pack_into("=Q", self.page, self.DEVICES, 1)

    def word(self):
        return struct.unpack_from("=I", self.page, self.WORD)[0]

    def tell(self, place, value):
        struct.pack_into("=I", self.page, place, value)
        os.write(self.pipe, b"\0")

    def turn(self):
        """Waits for a turn. Returns its number."""
        if not harness.wait_until(lambda: self.word() & self.GIVEN):
            raise TimeoutError("no turn")
        return self.word() >> 8


@test_figures.needs_capnp
class Wire(unittest.TestCase):
    """A program with messages that the library does not send."""

    def open(self, server, variables=(), **fields):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(harness.PATIENCE_S)
        connection.connect(server.socket)
        session = Session(connection, purpose="cuda")
        self.addCleanup(connection.close)
        channel = session.ask({"openChannel": {"transport": "local", "environment": [dict(zip(("name", "value"), one)) for one in variables],
                                               **fields}}, "channel")
        self.assertEqual((channel["transport"], channel["driverVersion"]), ("local", 0))
        channel["fds"] = [socket.recv_fds(connection, 1, 1)[1][0] for _ in range(3 if channel["hasTurns"] else 0)]
        for fd in channel["fds"]:
            self.addCleanup(os.close, fd)
        return session, channel

    def test_memory_is_taken_and_given_within_the_limits(self):
        with serve("--vram-fraction", "0.5") as server:
            session, _ = self.open(server)
            for asks, count, value in (("take", 32 * MIB + 1, "0"), ("take", 32 * MIB, "1"), ("take", 1, "0"), ("take", -1, "0"),
                                       ("shareMake", 33 * MIB, "0")):
                self.assertEqual(session.ask({"books": {"asks": asks, "bytes": count}}, "booksAnswer")["value"], value, (asks, count))
            session.connection.sendall(runtime.encode({"books": {"asks": "give", "bytes": 64 * MIB}}))  # more than it has
            rooms = session.ask({"books": {"asks": "look"}}, "booksAnswer")["rooms"]
            self.assertEqual([int(room["usedBytes"]) for room in rooms], [0, 0, 0])

    def test_a_program_that_lies_claims_no_more_than_the_gpu(self):
        """It gives what it never took, shares bytes twice, and fills the log."""
        with serve("--vram-fraction", "0.5") as server:
            session, _ = self.open(server)

            def tell(**question):
                session.connection.sendall(runtime.encode({"books": question}))

            def used():
                return int(session.ask({"books": {"asks": "look"}}, "booksAnswer")["rooms"][0]["usedBytes"])

            for _ in range(3):
                tell(asks="give", bytes=-(48 * MIB))
            self.assertEqual(used(), 64 * MIB)
            for asked, is_made in ((48 * MIB, True), (48 * MIB, False), (16 * MIB, True), (1, False)):
                share = session.ask({"books": {"asks": "shareMake", "bytes": asked}}, "booksAnswer")["value"]
                self.assertEqual(share != "0", is_made, asked)
            for _ in range(1 << 16):
                tell(asks="give", bytes=1 << 48)  # wraps around if it is only added
            self.assertEqual(used(), 64 * MIB)
            for _ in range(3):
                tell(asks="log", bytes=1)
            self.assertEqual(used(), 64 * MIB)
            self.assertEqual(server.log().count("event=share-reached"), 1)

    def test_questions_about_shares_have_no_device(self):
        with serve(DEVICES="2") as server:
            session, channel = self.open(server, [("CUDA_VISIBLE_DEVICES", "1")])
            self.assertEqual(channel["deviceNumbers"], [1])
            session.ask({"books": {"asks": "take", "device": 1, "bytes": 4096}}, "booksAnswer")
            share = session.ask({"books": {"asks": "shareMake", "device": 1, "bytes": 4096}}, "booksAnswer")["value"]
            self.assertNotEqual(share, "0")
            session.connection.sendall(runtime.encode({"books": {"asks": "shareName", "object": share, "name": 7}}))
            for question, value in (({"asks": "shareFind", "name": 7}, share), ({"asks": "shareHold", "object": share}, "1")):
                self.assertEqual(session.ask({"books": question}, "booksAnswer")["value"], value, question)
            session.connection.sendall(runtime.encode({"books": {"asks": "shareDrop", "object": share}}))
            self.assertEqual(session.ask({"books": {"asks": "shareFind", "name": 8}}, "booksAnswer")["value"], "0")

    def test_a_turn_that_leaves_work_behind_lets_others_go_on(self):
        with serve() as server:
            one, other = (TurnPage(self.open(server, claim={"sharePercent": 50})[1]["fds"]) for _ in range(2))
            one.tell(one.WANTS, 1)
            number = one.turn()
            other.tell(other.WANTS, 1)
            self.assertTrue(harness.wait_until(lambda: one.word() & one.BACK))
            one.tell(one.LEFT, number)
            other.turn()
            self.assertEqual(one.word() >> 8, number)  # it is charged until it is given back
            self.assertNotIn("turn-overdue", server.log())

    def test_other_messages_end_the_session(self):
        with serve(DEVICES="2") as server:
            for question in ({"books": {"asks": "count", "bytes": -1}},
                             {"books": {"asks": "take", "device": 1, "bytes": 1}}, {"books": {"asks": "take", "device": 99, "bytes": 1}},
                             {"books": {"asks": "give", "bytes": 1 << 62}}, {"getSessions": None}):
                with self.subTest(question):
                    session, channel = self.open(server, [("CUDA_VISIBLE_DEVICES", "0")])
                    self.assertEqual(channel["deviceNumbers"], [0])
                    session.connection.sendall(runtime.encode(question))
                    self.assertTrue(runtime.is_closed(session.connection))
            self.assertTrue(server.is_well())

    def test_tcp_is_refused(self):
        with serve() as server, Session(server.connect(), purpose="cuda") as session:
            failure = session.ask({"openChannel": {"transport": "local"}}, "failure")
            self.assertEqual(failure["message"], "a program with its own GPU needs the unix socket")


class Words(unittest.TestCase):
    def test_options_that_do_not_go_with_it(self):
        for words in (["--transport", "tcp"], ["--encrypt", "on"], ["--tls-ca", "x"]):
            result = harness.run("run", "--local", *words, "--", "true")
            self.assertEqual(result.returncode, 2, words)
            self.assertIn(f"{words[0]} does not work with --local", result.stderr)

    def test_it_needs_a_socket(self):
        result = harness.run("run", "--local", "--server", "127.0.0.1:1", "--", "true")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--local needs the runtime's socket, not '127.0.0.1:1'", result.stderr)


if __name__ == "__main__":
    harness.main()
