#!/usr/bin/env python3
"""Failures from outside while CUDA programs run, over both transports: servers and clients that are killed, stopped, cut off or
without descriptors; servers that speak nonsense. In each case a program gets one stable error in time or goes on, other programs
do not notice, and the server is afterwards as it was before. test_crowds.py has what fails by numbers."""
import contextlib
import errno
import functools
import os
import random
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
import unicodedata
import unittest

import cuda
import runtime
from cuda import MIB, Program
from runtime import Server, Session, harness
from test_cuda import FULL, GONE, GOOD, TRANSPORTS, Base, needs_capnp, place, serve

CALLS = ("launch sync alloc pool virtual up down up-pinned down-pinned set event query await host graph module stream pinned managed "
         "info").split()
BOARD_BLOCKS = 70000  # a file that is larger than the board, and smaller than the simulated GPU
WAITS = "stream event context copy pinned host graph function".split()


def quiet_close(program):
    program.kill()
    program.__exit__()


def memory_of(pid):
    """Bytes that a process has written, shared with its children or not: private bytes change as children come and go."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return 1024 * sum(int(line.split()[1]) for line in file if line.startswith("Anonymous:"))


def resident(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return 1024 * sum(int(line.split()[1]) for line in file if line.startswith("Rss:"))


def threads_of(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def is_in_memory(folder):
    return subprocess.run(["stat", "-f", "-c", "%T", folder], stdout=subprocess.PIPE, text=True, check=True).stdout.strip() == "tmpfs"


def files_of(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def run_steps(server, prefix=(), key=runtime.KEY, **variables):
    """Runs the program to its end, after some work, by its environment alone."""
    env = harness.environment(srcdir=runtime.SOURCE, **cuda.alone_variables(server, key), **variables)
    return subprocess.run([*prefix, os.path.join(harness.build(), "tests", "runtime", "cuda_steps")], input="fill 10\n",
                          text=True, capture_output=True, env=env, timeout=harness.PATIENCE_S, check=False)


@unittest.skipIf(runtime.IS_SANITIZED, "a sanitizer keeps what was freed")
class Leaks(Base):
    """Objects that a program has ended are gone on both sides, however long it runs."""

    def cycle(self, kind, measure, most, times=40):
        """The growth of each side after many more objects of a kind."""
        for transport, server, program in self.both():
            self.assertEqual(program.do(f"cycle {kind} 10"), GOOD)
            sides = {"session": server.children()[0], "program": program.process.pid}
            before = {side: measure(pid) for side, pid in sides.items()}
            self.assertEqual(program.do(f"cycle {kind} {times}"), GOOD)
            for side, pid in sides.items():
                self.assertLess(measure(pid) - before[side], most, f"{side}, {transport}")

    def test_code_that_came_in_parts(self):
        self.cycle("image", memory_of, 120 * MIB)  # an arena of malloc() keeps some for each thread

    def test_default_streams_of_threads_that_ended(self):
        self.cycle("thread", threads_of, 10)

    def test_pageable_memory_of_graphs(self):
        self.cycle("capture", resident, 20 * MIB)


@needs_capnp
class Files(Base):
    """A client passes files over the unix socket, which the server maps."""

    def share(self, fd, length, offset=0, is_file=1, address=0x300000000000):
        self.number += 1
        socket.send_fds(self.connection, [struct.pack("=5Q", self.number, address, length, offset, is_file)], [fd])
        number, status = struct.unpack("=Qq", runtime.read_bytes(self.connection, 16))
        self.assertEqual(number, self.number)
        return -status

    def test_only_files_in_memory_are_mapped(self):
        page = os.sysconf("SC_PAGESIZE")
        with serve() as server, contextlib.ExitStack() as stack:
            self.connection, self.number = stack.enter_context(socket.socket(socket.AF_UNIX)), 0
            self.connection.settimeout(harness.PATIENCE_S)
            self.connection.connect(server.socket)
            Session(self.connection, purpose="cuda").ask({"openChannel": {"transport": "shm", "program": "files"}}, "channel")
            for fd in socket.recv_fds(self.connection, 1, 1)[1]:
                os.close(fd)
            memory = os.memfd_create("test")
            os.ftruncate(memory, page + 1)
            read_only = os.open(f"/proc/self/fd/{memory}", os.O_RDONLY)
            disk = os.open(harness.scratch(), os.O_TMPFILE | os.O_RDWR)
            os.ftruncate(disk, page)
            pipe = os.pipe()
            zero = os.open("/dev/zero", os.O_RDWR)
            for fd in (memory, read_only, disk, *pipe, zero):
                stack.callback(os.close, fd)
            self.assertEqual(self.share(memory, 2 * page), 0, "its last page counts")
            self.assertEqual(self.share(memory, 2 * page), 0, "the same address again: it is put elsewhere")
            self.assertEqual(self.share(memory, page, offset=page), 0)
            self.assertEqual(self.share(memory, 3 * page), errno.EINVAL)
            self.assertEqual(self.share(memory, page, offset=2 * page), errno.EINVAL)
            self.assertEqual(self.share(memory, page, offset=1), errno.EINVAL)
            self.assertEqual(self.share(memory, (1 << 64) - page, offset=page), errno.EINVAL)
            self.assertEqual(self.share(memory, page, is_file=0, address=0x310000000000), errno.EINVAL, "it is not sealed")
            self.assertEqual(self.share(read_only, page, address=0x320000000000), errno.EACCES)
            for fd in (pipe[1], zero):
                self.assertEqual(self.share(fd, page), errno.ENOTSUP)
            if not is_in_memory(harness.scratch()):
                self.assertEqual(self.share(disk, page), errno.ENOTSUP)
            self.check_well(server)


class Killed(Base):
    def check_lost(self, program, name):
        """Every later call fails with the same error, and the program ends by itself."""
        for step in ("memory", "fill 10", "take plain 100", "take async 100", "launch 1", "pinned"):
            self.assertEqual(program.do(step).split()[0], GONE, (name, step))
        self.assertRegex(program.end(), r"^aitherion: the server '[^']+' is gone or has ended this session: .*\n$", name)
        self.assertEqual(program.process.returncode, 0, name)

    def kill_in_the_middle(self, steps, kill):
        """Programs that print the start of their steps, and whose server is then killed."""
        for transport in TRANSPORTS:
            with serve(memory="1G") as server, contextlib.ExitStack() as stack:
                programs = [stack.enter_context(Program(place(server, transport), wait=False)) for _ in steps]
                for program, step in zip(programs, steps):
                    self.assertEqual(program.read(), GOOD)
                    self.assertIn(program.do(step), ("begins", "waits"), step)
                time.sleep(0.2)
                kill(server)
                for program, step in zip(programs, steps):
                    with self.subTest(f"{transport} {step}"):
                        self.assertEqual(program.read(), GONE)
                for program, step in zip(programs, steps):
                    with self.subTest(f"{transport} after {step}"):
                        self.check_lost(program, step)

    @staticmethod
    def kill_sessions(server):
        for session in server.children():
            os.kill(session, signal.SIGKILL)

    def test_killed_in_calls_of_every_kind(self):
        for i in range(0, len(CALLS), 5):
            self.kill_in_the_middle([f"repeat {kind}" for kind in CALLS[i:i + 5]], self.kill_sessions)

    def test_while_the_gpu_is_waited_for(self):
        self.kill_in_the_middle([f"wait {kind}" for kind in WAITS], self.kill_sessions)

    def test_the_listening_process(self):
        self.kill_in_the_middle(["wait stream", "repeat sync", "repeat up"], lambda server: server.process.kill())

    def test_between_two_calls(self):
        for _, server, program in self.both():
            self.kill_sessions(server)
            self.assertTrue(harness.wait_until(lambda: not server.children()))
            self.check_lost(program, "idle")
            self.assertIn("event=session-crashed", server.log())

    def test_a_file_of_the_gpu_that_is_cut_off(self):
        """A file that is cut off ends the session of the program that did it, and no other."""
        with serve() as server, Program(place(server, "shm")) as other, Program(place(server, "shm")) as program:
            self.assertEqual(program.do("shorten"), GONE)
            self.check_lost(program, "shorten")
            self.assertIn("event=session-crashed", server.log())
            self.assertEqual(other.do("fill 1000"), f"{GOOD} right")
            self.check_well(server)

    def test_a_program_with_memory_of_every_kind(self):
        for transport in TRANSPORTS:
            with serve("--vram-fraction", "0.9", memory="256M") as server, Program(place(server, transport)) as other:
                program = Program(place(server, transport))
                for kind in ("plain", "pitch", "managed", "async", "pool", "create", "array"):
                    self.assertEqual(program.do(f"take {kind} {4 * MIB}"), GOOD, kind)
                self.assertEqual(program.do("repeat up-pinned"), "begins")
                free = int(other.do("memory").split()[1])
                quiet_close(program)
                self.assertTrue(harness.wait_until(lambda: int(other.do("memory").split()[1]) >= free + 28 * MIB),
                                "its memory is not free")
                self.assertTrue(harness.wait_until(lambda: len(server.children()) == 1))
                self.assertEqual(other.do("fill 1000"), f"{GOOD} right")


class Stopped(Base):
    def test_stopped_for_longer_than_a_host_may_be_silent(self):
        """The limit is ten seconds. A session's process and another program are stopped, then go on; others notice nothing."""
        with serve(memory="256M") as server, contextlib.ExitStack() as stack:
            stopped = {}
            for transport in TRANSPORTS:
                before = set(server.children())
                program = stack.enter_context(Program(place(server, transport)))
                stopped[program] = (set(server.children()) - before).pop()
            others = [stack.enter_context(Program(place(server, transport))) for transport in TRANSPORTS]
            sleeper = stack.enter_context(Program(server.address))
            self.assertEqual(sleeper.do("repeat sync"), "begins")
            sleeper.process.send_signal(signal.SIGSTOP)
            for program, session in stopped.items():
                os.kill(session, signal.SIGSTOP)
                program.say("fill 300000")
            end = time.monotonic() + 13
            while time.monotonic() < end:
                for other in others:
                    self.assertEqual(other.do("fill 1000"), f"{GOOD} right")
                self.assertEqual(select.select([program.process.stdout for program in stopped], [], [], 0.5)[0], [])
            for program, session in stopped.items():
                os.kill(session, signal.SIGCONT)
                self.assertEqual(program.read(), f"{GOOD} right")
                self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
            sleeper.process.send_signal(signal.SIGCONT)
            self.assertFalse(select.select([sleeper.process.stdout], [], [], 0.5)[0], "its calls fail after a rest")
            self.assertNotIn("session-broken", server.log())


class CutOff(Base):
    def test_a_host_that_is_gone_is_noticed_on_both_sides(self):
        """A lost host is noticed by programs that wait, and by sessions of programs that wait or do nothing."""
        make = ["unshare", "--net", "--map-root-user"]
        if not shutil.which("unshare") or not shutil.which("ip") or subprocess.run(
                [*make, "ip", "link", "set", "lo", "up"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no network namespace of its own may be made here")
        with subprocess.Popen([*make, "sh", "-c", "ip link set lo up; echo up; exec sleep 600"], stdout=subprocess.PIPE) as holder:
            try:
                self.assertEqual(holder.stdout.readline(), b"up\n")
                inside = ["nsenter", "-t", str(holder.pid), "--net", "--user", "--preserve-credentials"]
                self.cut_off(inside)
            finally:
                holder.kill()

    def cut_off(self, inside):
        with Server("--sim", prefix=inside) as server, Program(server.address, prefix=inside) as waiting, \
                Program(server.address, prefix=inside) as idle:
            self.assertEqual(waiting.do("wait stream"), "waits")
            self.assertEqual(idle.do(f"take plain {MIB}"), GOOD)
            subprocess.run([*inside, "ip", "link", "set", "lo", "down"], check=True)
            self.assertEqual(waiting.read(), GONE)
            self.assertTrue(harness.wait_until(lambda: not server.children()), "sessions of a host that is gone are still there")
            self.assertEqual(len(re.findall(r"event=session-broken .*reason=\"(?:its host does not answer|it went away|"
                                            r"Connection timed out)", server.log())), 2, server.log())
            self.assertEqual(idle.do("fill 10").split()[0], GONE)
            self.assertEqual(idle.do("memory").split()[0], GONE)

    @needs_capnp
    def test_a_program_that_reads_no_answers(self):
        """The program's session waits without using more memory, and other sessions work; it ends with its program."""
        question = subprocess.run(["capnp", "convert", "json:binary", f"-I{runtime.SOURCE}/proto",
                                   os.path.join(harness.build(), "proto", "cuda-wire.capnp"), "Call"],
                                  input=b'{"number": "1", "isAsked": true, "driverGetVersion": null}', stdout=subprocess.PIPE,
                                  check=True).stdout
        with serve() as server, Program(server.socket) as program:
            before = set(server.children())
            with Session(server.connect(), purpose="cuda") as session:
                session.ask({"openChannel": {"transport": "tcp", "program": "slow"}}, "channel")
                (pid,) = set(server.children()) - before
                session.connection.settimeout(1)
                self.assertIsNone(self.send_for_ever(session.connection, question))
                # each of its 512 threads at most waits with an answer; a sanitizer has memory of its own for each thread
                self.assertLess(memory_of(pid), (192 if runtime.IS_SANITIZED else 64) * MIB)
                self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
            self.assertTrue(harness.wait_until(lambda: len(server.children()) == 1))

    @staticmethod
    def send_for_ever(connection, question):
        """Takes memory until it fails; returns the size that failed, or None."""
        sent = 0
        while sent < 256 * MIB:
            try:
                sent += connection.send(question * 4096)
            except socket.timeout:
                return None
        return sent


class Without(Base):
    """Tests without descriptors, or without room on a disk."""

    def test_descriptors_on_the_program_s_side(self):
        for transport, server, program in self.both():
            self.assertEqual(program.do("files 0"), GOOD)
            self.assertEqual(program.do("pinned"), f"{GOOD} {GOOD}")
            self.assertEqual(program.do("files 1"), GOOD)
            status = program.do("pinned").split()
            self.assertIn(status[0], (GOOD, "CUDA_ERROR_OUT_OF_MEMORY"), transport)
            for step in ("fill 1000", "threads 4"):
                self.assertIn("right", program.do(step), (transport, step))
            self.assertEqual(program.do("files 0"), GOOD)
            self.assertEqual(program.do("pinned"), f"{GOOD} {GOOD}", transport)
            self.assertEqual(program.end(), "")
            self.check_alone(server)

    def test_descriptors_at_the_program_s_beginning(self):
        with serve() as server:
            for transport in TRANSPORTS:
                told = set()
                for count in range(3, 8):
                    result = run_steps(place(server, transport), ["sh", "-c", f'ulimit -n {count}; exec "$0"'],
                                       AITHERION_CONNECT_TIMEOUT="10")
                    told.add((result.stdout.split() or [result.returncode])[0])
                self.assertIn(GOOD, told, transport)
                if transport == "shm":  # over TCP one descriptor is enough
                    self.assertIn("CUDA_ERROR_SYSTEM_NOT_READY", told)
                self.assertLessEqual(told, {GOOD, "CUDA_ERROR_SYSTEM_NOT_READY", 127}, transport)
            self.check_alone(server)
            self.check_well(server)

    def test_descriptors_on_the_server_s_side(self):
        with serve() as server:
            limit, begin = files_of(server.process.pid), time.monotonic()
            for more in range(6):
                resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (limit + more, 1024))
                for transport in TRANSPORTS:
                    with self.subTest(f"{more} more, {transport}"), \
                            Program(place(server, transport), env={"AITHERION_CONNECT_TIMEOUT": "1"}, alone=True) as program:
                        if program.first == GOOD:
                            self.assertIn(program.do("fill 1000"), (f"{GOOD} right", f"{GONE} wrong",
                                                                    "CUDA_ERROR_OPERATING_SYSTEM wrong"))
                            program.end()
                        else:
                            self.assertIn(program.first, ("CUDA_ERROR_SYSTEM_NOT_READY", "CUDA_ERROR_NO_DEVICE"))
                            self.assertRegex(program.end(), "^aitherion: .+\n$")
            self.assertIn("event=cannot-accept", server.log())
            self.assertLess(server.log().count("event=cannot-accept") / (time.monotonic() - begin), 100, "it does not rest")
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (1024, 1024))
            self.check_well(server)
            with Program(server.socket) as program:
                self.assertEqual(program.do("fill 1000"), f"{GOOD} right")

    @unittest.skipIf(runtime.IS_SANITIZED, "a sanitizer meets the limit as well, with calls of its own")
    def test_large_files(self):
        """A limit of file sizes, which the kernel also applies to shared memory."""
        small = ["sh", "-c", 'ulimit -S -f 1 && exec "$@"', "sh"]
        for transport in TRANSPORTS:
            calls = os.path.join(harness.scratch(), "calls")
            with serve(prefix=small) as server, Program(place(server, transport), prefix=small, alone=True,
                                                        env={"AITHERION_RECORD": calls}) as program:
                self.assertEqual(program.first, GOOD)
                self.assertEqual(program.do("pinned"), f"{GOOD} {GOOD}")
                self.assertEqual(program.do(f"take managed {MIB}"), GOOD)
                self.assertEqual(program.do("repeat info"), "begins")  # until the recording is larger than a file may be
                self.assertTrue(harness.wait_until(lambda: os.path.getsize(calls) == 512))
                self.assertFalse(select.select([program.process.stdout], [], [], 0.3)[0])
                self.assertNotIn("crashed", server.log())
        hard = ["sh", "-c", 'ulimit -f 1 && exec "$@"', "sh"]
        with self.assertRaisesRegex(AssertionError, "no memory for sessions: File too large\n  ulimit -f unlimited"):
            serve(prefix=hard)
        hard = ["sh", "-c", f'ulimit -f {BOARD_BLOCKS} && exec "$@"', "sh"]
        with serve(prefix=hard) as server:
            with Program(server.address) as program:  # the simulated driver's memory is such a file as well
                self.assertEqual((program.first, program.do("fill 1000")), (GOOD, f"{FULL} wrong"))
            self.assertNotIn("crashed", server.log())

    def test_a_disk_for_the_log_and_the_recording(self):
        with serve(log_path="/dev/full") as server:
            for transport in TRANSPORTS:
                with Program(place(server, transport), env={"AITHERION_RECORD": "/dev/full"}) as program:
                    self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
                    self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
                    self.assertEqual(program.end(), "aitherion: recording stops: No space left on device\n")
            with Program(server.socket, env={"AITHERION_RECORD": "/nonexistent/calls"}) as program:
                self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
                self.assertEqual(program.end(), "aitherion: the calls are not recorded: '/nonexistent/calls': No such file or "
                                                "directory\n")
            self.check_well(server)


@needs_capnp
class Nonsense(Base):
    """A server that the program trusts (without a key) and that breaks the rules."""

    @contextlib.contextmanager
    def liar(self, stage, data, lingers=False):
        """Serves correctly until it sends data instead of the answer of a stage, to every connection; then it hangs up, or
        (lingers) waits until the program does."""
        answers = {"hello": {"challenge": {"protocol": runtime.PROTOCOL, "software": "liar", "nonce": [1] * 32, "wantsKey": False}},
                   "proof": {"welcome": {"mac": [], "session": "1"}},
                   "openChannel": {"channel": {"transport": "tcp", "devices": 1}}, "calls": None}

        def serve_one(connection):
            with connection, contextlib.suppress(OSError, AssertionError):
                for name, answer in answers.items():
                    runtime.read_frame(connection)
                    if name == stage:
                        connection.sendall(data)
                        break
                    connection.sendall(runtime.encode(answer))
                if lingers:
                    while connection.recv(65536):
                        pass

        def accept(listening):
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=serve_one, args=(listening.accept()[0],), daemon=True).start()

        with socket.create_server(("127.0.0.1", 0)) as listening:
            accepting = threading.Thread(target=accept, args=(listening,), daemon=True)
            accepting.start()
            try:
                yield "127.0.0.1:%d" % listening.getsockname()[1]
            finally:
                listening.shutdown(socket.SHUT_RDWR)
                accepting.join()  # before another file gets its descriptor's number

    def pieces(self):
        pick = random.Random(5)
        whole = runtime.encode({"welcome": {"mac": [], "session": "1"}})
        return {"nothing": b"", "garbage": pick.randbytes(4000), "words": b"HTTP/1.1 400 Bad Request\r\n\r\n",
                "too large": struct.pack("<II", 0, 0x7fffffff) + b"\0" * 64, "cut off": struct.pack("<II", 0, 100) + b"\0" * 80,
                "segments": struct.pack("<II", 3, 1) + b"\0" * 64, "empty": struct.pack("<II", 0, 0),
                "pointers": struct.pack("<II", 0, 8) + b"\xff" * 64, "another message": whole,
                "half": whole[:len(whole) // 2]}

    def test_a_program_survives_nonsense_from_the_server(self):
        for stage in ("hello", "proof", "openChannel", "calls"):
            for name, data in self.pieces().items():
                with self.subTest(f"{name} after {stage}"), self.liar(stage, data) as address:
                    result = run_steps(address, key=None, AITHERION_CONNECT_TIMEOUT="0.2")
                    self.assertEqual(result.returncode, 0, result.stderr)
                    first = result.stdout.split()[0]
                    if stage == "calls":
                        self.assertEqual(first, GONE)
                    else:
                        self.assertIn(first, ("CUDA_ERROR_SYSTEM_NOT_READY", "CUDA_ERROR_NO_DEVICE", "CUDA_ERROR_NOT_PERMITTED"))
                        self.assertRegex(result.stderr, "^aitherion: .+\n$")

    def test_a_server_of_another_version(self):
        refusal = runtime.encode({"refusal": {"reason": "protocol", "message": "this server speaks protocol 3"}})
        with self.liar("hello", refusal) as address:
            result = harness.run("run", "--server", address, "echo", "ran",
                                 env=harness.environment(AITHERION_KEY_FILE="", AITHERION_CONNECT_TIMEOUT="3600"))
        self.assertEqual((result.returncode, result.stdout), (125, ""))
        self.assertEqual(result.stderr, f"aitherion: no session with '{address}': the server refused: this server speaks protocol 3\n"
                                        "  hint: install the same version of aitherion on both machines\n")

    def test_texts_of_a_server_cannot_control_a_terminal(self):
        """Control characters (C0 and C1) and Unicode's bidirectional controls of servers without and with the key."""
        hostile = "a\x07[2J\x9b31m\u202eb\n\u2066c"
        health = {"health": {"software": hostile, "hostname": hostile, "node": hostile, "devices": [{"name": hostile, "pci": hostile}],
                             "problems": [{"severity": "fault", "code": hostile, "object": hostile, "message": hostile}]}}
        list_of = {"sessions": {"sessions": [{"id": "1", "purpose": "cuda", "peer": hostile, "program": hostile}]}}
        for stage, answers, words in (("hello", [{"refusal": {"reason": "protocol", "message": hostile}}], ["run", "--server", "{}", "true"]),
                                     ("hello", [{"failure": {"code": "internal", "message": hostile}}], ["session", "list", "--server", "{}"]),
                                     ("openChannel", [health], ["run", "-v", "--server", "{}", "true"]),
                                     ("openChannel", [{"health": {**health["health"], "devices": []}}], ["run", "-v", "--server", "{}", "true"]),
                                     ("openChannel", [health, list_of], ["session", "list", "--server", "{}"]),
                                     ("openChannel", [health], ["aitherion-runtime", "health", "--no-auth", "--server", "{}"])):
            with self.subTest((stage, words)), self.liar(stage, b"".join(map(runtime.encode, answers)), lingers=True) as address:
                words = [word.format(address) for word in words]
                run = functools.partial(runtime.run, *words[1:]) if words[0] == "aitherion-runtime" else functools.partial(harness.run, *words)
                result = run(env=harness.environment(AITHERION_KEY_FILE="", AITHERION_CONNECT_TIMEOUT=str(harness.PATIENCE_S)))
                said = result.stdout + result.stderr
                self.assertIn("a\ufffd[2J\ufffd31m\ufffdb", said)
                self.assertEqual([letter for letter in said if unicodedata.category(letter) in ("Cc", "Cf") and letter != "\n"], [])

    def test_logs_hold_no_control_characters(self):
        with Server("--sim") as server, server.connect() as connection:
            Session(connection, purpose="cuda").ask({"openChannel": {"transport": "tcp", "program": 'a\x07[2J\x9b\u202e"\\é b'}}, "channel")
            self.assertTrue(server.wait_for_log("event=session-opened"))
            self.assertIn(r'program="a\x07[2J\xc2\x9b\xe2\x80\xae\"\\é b"', server.log())

    def test_silence_has_an_end(self):
        """A program waits a limited time for its session; after that it waits as long as its GPU works."""
        with self.liar("hello", b"", lingers=True) as address:
            with Program(address, key=None, env={"AITHERION_CONNECT_TIMEOUT": "1"}, alone=True) as program:
                self.assertEqual(program.first, "CUDA_ERROR_SYSTEM_NOT_READY")


if __name__ == "__main__":
    harness.main()
