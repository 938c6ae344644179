#!/usr/bin/env python3
"""CUDA programs at aitherion-runtime with the simulated driver, over both transports: shares of memory, wrong ways, ends.
test_faults.py has what fails from outside."""
import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import time
import unittest

import runtime
from cuda import MIB, Program
from runtime import Server, Session, harness
import ports

GOOD = "CUDA_SUCCESS"
FULL = "CUDA_ERROR_OUT_OF_MEMORY"
GONE = "CUDA_ERROR_DEVICE_UNAVAILABLE"
TRANSPORTS = ("shm", "tcp")
needs_capnp = unittest.skipUnless(runtime.HAS_CAPNP, "no capnp (package capnproto)")
pins_memory = unittest.skipUnless(runtime.HAS_OWN_ADDRESSES, "ThreadSanitizer forbids the addresses of pinned memory")


def serve(*arguments, memory="64M", devices="1", copies="", env=None, **options):
    env = harness.environment(AITHERION_SIM_MEMORY=memory, AITHERION_SIM_DEVICES=devices, AITHERION_SIM_COPIES=copies, **(env or {}))
    return Server("--sim", *arguments, env=env, **options)


def place(server, transport):
    return server.socket if transport == "shm" else server.address


class Base(unittest.TestCase):
    def check_well(self, server):
        self.assertTrue(server.is_well())

    def check_alone(self, server):
        """Waits until all sessions are gone."""
        self.assertTrue(harness.wait_until(lambda: not server.children()), "a session is still there")

    def both(self, *arguments, **options):
        """A server and a program for each transport."""
        for transport in TRANSPORTS:
            with self.subTest(transport), serve(*arguments, **options) as server:
                with Program(place(server, transport)) as program:
                    self.assertEqual(program.first, GOOD)
                    yield transport, server, program


class Working(Base):
    def test_a_kernel_reads_and_writes_its_data(self):
        for _, server, program in self.both():
            self.assertEqual(program.do("fill 100000"), f"{GOOD} right")
            self.assertEqual(program.do("launch 5000"), GOOD)
            self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
            self.assertEqual(program.end(), "")
            self.check_alone(server)

    @pins_memory
    def test_more_than_a_ring_holds(self):
        for _, _, program in self.both(memory="256M"):
            self.assertEqual(program.do("fill 10000000"), f"{GOOD} right")

    def test_data_that_the_driver_reads_late_still_exists(self):
        for _, _, program in self.both(copies="late"):
            self.assertEqual(program.do("behind 16 8192"), f"{GOOD} right")

    def test_the_compiler_has_as_much_stack_as_in_a_program(self):
        """Without a limit of stacks, threads get 2 MiB each. Code of 3 MiB is served by another thread than the first one."""
        for _, server, program in self.both(env={"AITHERION_SIM_COMPILER": "deep"}, prefix=("sh", "-c", 'ulimit -s unlimited; exec "$@"', "sh")):
            self.assertEqual(program.do(f"load {3 * MIB}"), GOOD)
            self.check_well(server)

    @pins_memory
    def test_large_data_that_the_gpu_reads_late_still_exist(self):
        """The server receives them in a few pinned rooms, which the GPU still reads when the next data come. The second time all of
        the rooms are known to the driver."""
        for copies in "", "late":
            for transport, _, program in self.both(memory="256M", copies=copies):
                for _ in range(2):
                    self.assertEqual(program.do(f"behind 17 {6 * MIB + 8}"), f"{GOOD} right", (copies, transport))

    def test_many_threads(self):
        for _, _, program in self.both():
            self.assertEqual(program.do("threads 32"), "right")

    def test_a_waiting_thread_does_not_delay_other_threads(self):
        for _, server, program in self.both():
            self.assertEqual(program.do("exit 7"), "waits")  # one thread waits for the GPU forever, another goes on
            self.assertEqual(program.read(), f"CUDA_ERROR_DEINITIALIZED {GOOD} {GOOD}")
            self.assertEqual(program.process.wait(harness.PATIENCE_S), 7)
            self.check_alone(server)

    def test_the_log_has_the_transport(self):
        for transport in TRANSPORTS:
            with serve() as server, Program(place(server, transport), env={"AITHERION_LOG": "info"}) as program:
                self.assertRegex(program.end(), rf"(?m)^aitherion: server=\S+ transport={transport} encrypted=no session=\d+ devices=1\n$")
                self.assertIn(f"transport={transport} encrypted=no devices=1 program=cuda_steps", server.log())

    def test_the_level_of_the_log(self):
        """Only debug has the calls that fail. The server's log has its limits and connections."""
        for level in "warning", "info", "debug":
            with serve("--log-level", "debug") as server:
                with Program(server.address, words=["--memory", "16M"], env={"AITHERION_LOG_LEVEL": level}) as program:
                    self.assertEqual(program.do("take plain 33554432"), "CUDA_ERROR_OUT_OF_MEMORY")
                    told = program.end()
                    self.assertEqual("transport=tcp" in told, level != "warning", told)
                    self.assertEqual(" error 2\n" in told, level == "debug", told)
                self.check_alone(server)
            self.assertRegex(server.log(), r"level=debug event=limit peer=\S+ device=0 pci=\S+ session_bytes=16777216 all_bytes=none\n")
            self.assertRegex(server.log(), r"level=debug event=driver-loaded peer=\S+ simulated=true\n")
            self.assertRegex(server.log(), r"level=debug event=connection-joined peer=\S+ number=1 of=3 by=tcp\n")

    def test_tcp_by_the_socket(self):
        with serve() as server, Program(server.socket, words=["--transport", "tcp"]) as program:
            self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
            self.assertIn("transport=tcp", server.log())

    def test_fork(self):
        for _, _, program in self.both():
            self.assertEqual(program.do("fork"), "CUDA_ERROR_NOT_INITIALIZED")
            self.assertEqual(program.do("fill 1000"), f"{GOOD} right", "the parent goes on")

    def test_visible_devices(self):
        first, second, third = ("FFFE:01:00.0", "FFFE:02:00.0", "FFFE:03:00.0")
        with serve(devices="3") as server:
            uuids = [one["uuid"] for one in json.loads(server.health("--json").stdout)["server"]["devices"]]
            for value, seen in ((None, [first, second, third]), ("1", [second]), ("2,0", [third, first]), ("0,7,1", [first]),
                                (uuids[2], [third]), (f"{uuids[1]},{uuids[0]}", [second, first])):
                with self.subTest(value), Program(server.socket, env={"CUDA_VISIBLE_DEVICES": value}) as program:
                    self.assertEqual(program.do("devices").upper().split(), [GOOD, *seen])
            for value in ("", "-1", "9"):
                with self.subTest(value), Program(server.socket, env={"CUDA_VISIBLE_DEVICES": value}) as program:
                    self.assertEqual(program.first, "CUDA_ERROR_NO_DEVICE")

    def test_64_programs_at_once(self):
        with serve(memory="1G") as server:
            programs = [Program(place(server, TRANSPORTS[i % 2]), wait=False) for i in range(64)]
            try:
                self.assertEqual({program.read() for program in programs}, {GOOD})
                for program in programs:
                    program.say("fill 10000")
                self.assertEqual({program.read() for program in programs}, {f"{GOOD} right"})
                self.assertEqual(json.loads(server.health("--json").stdout)["server"]["sessions"], 64)
            finally:
                for program in programs:
                    program.kill()
                    program.__exit__()
            self.check_alone(server)
            self.check_well(server)


class Memory(Base):
    KINDS = ("plain", "pitch", "managed", "async", "pool", "create", "array", "halves", "mipmap", "graph")

    def test_the_share_limits_every_kind_of_memory(self):
        for kind in self.KINDS:
            with self.subTest(kind), serve("--vram-fraction", "0.5") as server, Program(server.socket) as program:
                self.assertEqual(program.do(f"take {kind} {34 * MIB}"), FULL)
                self.assertEqual(program.do(f"take {kind} {30 * MIB}"), GOOD)
                self.assertEqual(program.do("memory").split()[1], str(2 * MIB))
                self.assertEqual(program.do(f"take plain {3 * MIB}"), FULL)
                self.assertEqual(program.do("give"), GOOD)
                self.assertEqual(program.do(f"take plain {31 * MIB}"), GOOD)

    def test_freed_memory_can_be_taken_again(self):
        """Memory of every kind, any number of times."""
        for kind in self.KINDS:
            with self.subTest(kind), serve("--vram-fraction", "0.5") as server, Program(server.socket) as program:
                for _ in range(5):
                    self.assertEqual(program.do(f"take {kind} {20 * MIB}"), GOOD)
                    self.assertEqual(program.do("give"), GOOD)
                    self.assertEqual(program.do("sync"), GOOD)
                self.assertEqual(program.do("memory").split()[1], str(32 * MIB))

    def test_a_share_that_is_reached_is_in_the_log_once(self):
        for kind in ("plain", "async", "create"):
            with self.subTest(kind), serve("--vram-fraction", "0.5") as server, Program(server.socket) as program:
                program.do(f"take plain {8 * MIB}")
                for _ in range(3):
                    self.assertEqual(program.do(f"take {kind} {30 * MIB}"), FULL)
                lines = [line for line in server.log().splitlines() if "event=share-reached" in line]
                self.assertEqual(len(lines), 1)
                self.assertRegex(lines[0], rf"level=warning .* peer=unix:\S+ device=0 asked_bytes={30 * MIB} "
                                           rf"allocated_bytes={8 * MIB} limit_bytes={32 * MIB} limit=share$")

    def test_memory_that_a_pool_keeps_counts(self):
        with serve("--vram-fraction", "0.5") as server, Program(server.socket) as program, Program(server.address) as other:
            def free():
                return [int(one.do("memory").split()[1]) // MIB for one in (program, other)]
            self.assertEqual(program.do(f"threshold {64 * MIB}"), GOOD)
            self.assertEqual(program.do(f"take async {20 * MIB}"), GOOD)
            self.assertEqual(program.do("give"), GOOD)
            self.assertEqual(program.do("sync"), GOOD)
            self.assertEqual(free(), [12, 12])
            self.assertEqual(other.do(f"take plain {20 * MIB}"), FULL)
            self.assertEqual(program.do(f"take async {18 * MIB}"), GOOD)  # from memory that the pool keeps
            self.assertEqual(free(), [12, 12])
            self.assertEqual(program.do("give"), GOOD)
            self.assertEqual(program.do(f"take plain {30 * MIB}"), GOOD)  # the pool gives up the memory that it keeps
            self.assertEqual(free(), [2, 2])
            self.assertEqual(program.do("give"), GOOD)
            self.assertEqual(program.do(f"take async {20 * MIB}"), GOOD)
            self.assertEqual(program.do("give"), GOOD)
            self.assertEqual(program.do("sync"), GOOD)
            self.assertEqual(program.do("trim"), GOOD)
            self.assertEqual(free(), [32, 32])
            self.assertEqual(program.do(f"take async {20 * MIB}"), GOOD)
            self.assertEqual(program.do("threshold 0"), GOOD)
            self.assertEqual(program.do("give"), GOOD)
            self.assertEqual(program.do("sync"), GOOD)
            self.assertEqual(other.do(f"take plain {30 * MIB}"), GOOD)

    def test_memory_that_another_process_opens_counts_once(self):
        for transport in TRANSPORTS:
            with serve("--vram-fraction", "0.5") as server, Program(place(server, transport)) as one, \
                    Program(place(server, transport)) as other:
                self.assertEqual(one.do(f"take plain {20 * MIB}"), GOOD)
                status, handle = one.do("export").split()
                self.assertEqual(status, GOOD)
                self.assertEqual(other.do(f"import {handle}"), GOOD)
                self.assertEqual(other.do("memory").split()[1], str(12 * MIB))
                self.assertEqual(other.do(f"take plain {13 * MIB}"), FULL)
                self.assertEqual(other.do("unimport"), GOOD)
                self.assertEqual(one.do("give"), GOOD)
                self.assertEqual(other.do("memory").split()[1], str(32 * MIB))

    def test_open_memory_counts_after_its_maker_has_ended(self):
        for transport in TRANSPORTS:
            with serve("--vram-fraction", "0.5") as server, Program(place(server, transport)) as other:
                with Program(place(server, transport)) as one:
                    self.assertEqual(one.do(f"take plain {20 * MIB}"), GOOD)
                    status, handle = one.do("export").split()
                    self.assertEqual(status, GOOD)
                    self.assertEqual(other.do(f"import {handle}"), GOOD)
                self.assertTrue(harness.wait_until(lambda: len(server.children()) == 1))
                self.assertEqual(other.do("memory").split()[1], str(12 * MIB))
                self.assertEqual(other.do(f"take plain {13 * MIB}"), FULL)
                self.assertEqual(other.do("unimport"), GOOD)
                self.assertEqual(other.do("memory").split()[1], str(32 * MIB))

    def test_memory_kept_by_an_exported_descriptor_counts(self):
        for _, _, program in self.both("--vram-fraction", "0.5"):
            self.assertEqual(program.do(f"park {20 * MIB}"), GOOD)
            self.assertEqual(program.do("memory").split()[1], str(12 * MIB))
            self.assertEqual(program.do(f"take create {14 * MIB}"), FULL)
            self.assertEqual(program.do("regain 40"), GOOD)
            self.assertEqual(program.do("unpark"), GOOD)
            self.assertEqual(program.do(f"take create {14 * MIB}"), FULL)
            self.assertEqual(program.do("memory").split()[1], str(12 * MIB))
            self.assertEqual(program.do("give"), GOOD)
            self.assertEqual(program.do(f"take create {32 * MIB}"), GOOD)

    def test_a_descriptor_that_is_closed_keeps_nothing(self):
        for _, _, program in self.both("--vram-fraction", "0.5"):
            for _ in range(5):
                self.assertEqual(program.do(f"park {20 * MIB}"), GOOD)
                self.assertEqual(program.do("unpark"), GOOD)
            self.assertEqual(program.do(f"take create {32 * MIB}"), GOOD)

    def test_another_device_s_pool_counts_there(self):
        for _, server, program in self.both("--vram-fraction", "0.5", devices="2"):
            self.assertEqual(program.do(f"take other {34 * MIB}"), FULL)
            self.assertRegex(server.log(), "event=share-reached .* device=1 ")
            self.assertEqual(program.do(f"take other {20 * MIB}"), GOOD)
            self.assertEqual(program.do(f"take plain {30 * MIB}"), GOOD)
            used = [one["memory_used_bytes"] for one in json.loads(server.health("--json").stdout)["server"]["devices"]]
            self.assertEqual(used, [30 * MIB, 20 * MIB])

    def test_another_device_s_graph_counts_there(self):
        for _, server, program in self.both("--vram-fraction", "0.5", devices="2"):
            self.assertEqual(program.do(f"take plain {30 * MIB}"), GOOD)
            self.assertEqual(program.do(f"take far {34 * MIB}"), FULL)
            self.assertEqual(program.do(f"take far {20 * MIB}"), GOOD)
            used = [one["memory_used_bytes"] for one in json.loads(server.health("--json").stdout)["server"]["devices"]]
            self.assertEqual(used, [30 * MIB, 20 * MIB])
            self.assertEqual(program.do(f"take other {14 * MIB}"), FULL)
            self.assertEqual(program.do("give"), GOOD)
            self.assertEqual(program.do(f"take other {30 * MIB}"), GOOD)

    def test_memory_of_a_captured_graph(self):
        for _, server, program in self.both("--vram-fraction", "0.5"):
            self.assertEqual(program.do(f"captured {34 * MIB}"), FULL)
            self.assertEqual(program.do("memory").split()[1], str(32 * MIB))
            self.assertEqual(program.do(f"captured {20 * MIB}"), GOOD)
            self.assertEqual(program.do("memory").split()[1], str(12 * MIB))
            self.assertEqual(program.do(f"take plain {13 * MIB}"), FULL)
            self.assertEqual(program.do(f"captured {13 * MIB}"), FULL)
            self.assertEqual(program.do("uncaptured"), GOOD)
            self.assertEqual(program.do(f"take plain {31 * MIB}"), GOOD)
            self.check_well(server)

    def test_a_program_sees_its_share(self):
        with serve("--vram-fraction", "0.5") as server, Program(server.socket) as program:
            self.assertEqual(program.do("memory"), f"{GOOD} {32 * MIB} {32 * MIB} {32 * MIB}")
            program.do(f"take plain {8 * MIB}")
            self.assertEqual(program.do("memory"), f"{GOOD} {24 * MIB} {32 * MIB} {32 * MIB}")

    def test_memory_counts_while_the_primary_context_has_a_user(self):
        with serve("--vram-fraction", "0.5") as server, Program(server.socket) as program:
            self.assertEqual(program.do(f"take plain {20 * MIB}"), GOOD)
            self.assertEqual(program.do("pieces 2"), f"{GOOD} right")  # retains and releases the context that the program has
            self.assertEqual(program.do("memory").split()[1], str(12 * MIB))
            self.assertEqual(program.do(f"take plain {20 * MIB}"), FULL)
            self.assertEqual(program.do("give"), GOOD)
            self.assertEqual(program.do("memory").split()[1], str(32 * MIB))

    def test_all_sessions_together_have_the_share(self):
        for transport in TRANSPORTS:
            with self.subTest(transport), serve("--vram-fraction", "0.5") as server:
                with Program(place(server, transport)) as one, Program(place(server, transport)) as other:
                    self.assertEqual(one.do(f"take plain {20 * MIB}"), GOOD)
                    self.assertEqual(other.do(f"take plain {20 * MIB}"), FULL)
                    self.assertEqual(other.do("memory").split()[1], str(12 * MIB))
                    one.kill()
                    self.assertTrue(harness.wait_until(lambda: other.do(f"take plain {20 * MIB}") == GOOD),
                                    "a killed program's memory is not free")

    def test_health_and_control_show_it(self):
        with serve("--vram-fraction", "0.5") as server, Program(server.socket) as program:
            program.do(f"take plain {8 * MIB}")
            device = json.loads(server.health("--json").stdout)["server"]["devices"][0]
            self.assertEqual([device[key] for key in ("memory_total_bytes", "memory_used_bytes", "memory_limit_bytes", "sessions")],
                             [64 * MIB, 8 * MIB, 32 * MIB, 1])
            if not runtime.HAS_CAPNP:
                self.skipTest("no capnp (package capnproto)")
            with Session(server.connect()) as session:
                sessions = session.ask({"getSessions": None}, "sessions")["sessions"]
            self.assertEqual([(one["purpose"], [(use["device"], use["memoryUsedBytes"]) for use in one["devices"]])
                              for one in sessions if one["purpose"] == "cuda"], [("cuda", [(0, str(8 * MIB))])])

    def test_without_a_share_the_driver_reports_the_memory(self):
        with serve() as server, Program(server.socket) as program:
            self.assertEqual(program.do("memory").split()[2:], [str(64 * MIB)] * 2)
            self.assertEqual(program.do(f"take plain {65 * MIB}"), FULL)
            self.assertEqual(program.do(f"take plain {60 * MIB}"), GOOD)


    def test_a_context_without_memory_is_in_the_log(self):
        with serve(memory="512K") as server, Program(server.socket) as program:
            self.assertEqual(program.first, FULL)
            self.assertTrue(server.wait_for_log("event=no-memory-for-context"))
            self.assertRegex(server.log(), "level=warning event=no-memory-for-context peer=.* device=0 sessions=0 allocated_bytes=0")


class Ends(Base):
    def test_a_killed_program(self):
        for _, server, program in self.both():
            program.do(f"take plain {8 * MIB}")
            self.assertEqual(program.do("block"), "waits")
            program.kill()
            self.check_alone(server)
            self.assertIn("event=session-closed", server.log())

    @pins_memory
    def test_calls_that_work_without_the_server(self):
        """Destructors succeed, so that a program reports the failure itself; other work fails."""
        for _, server, program in self.both():
            self.assertEqual(program.do("keep"), GOOD)
            for session in server.children():
                os.kill(session, signal.SIGKILL)
            self.check_alone(server)
            self.assertEqual(program.do("fill 1000").split()[0], GONE)
            self.assertEqual(program.do("end"), "0 0 0 0 0 0 0 0 0 46 46 active")
            self.assertRegex(program.end(), r"^aitherion: the server '[^']+' is gone or has ended this session: .*\n$")

    def test_the_log_has_a_failure_of_a_call_without_an_answer(self):
        for _, server, program in self.both():
            self.assertEqual(program.do("wrong"), f"{GOOD} CUDA_ERROR_INVALID_VALUE")
            self.assertEqual(program.end(), "")
            self.check_alone(server)
            self.assertRegex(server.log(), r"event=session-closed .* failed=cuMemsetD8Async error=1\n")

    @needs_capnp
    def test_a_session_is_ended_by_control(self):
        for _, server, program in self.both():
            with Session(server.connect()) as session:
                sessions = session.ask({"getSessions": None}, "sessions")["sessions"]
                session.ask({"endSession": next(one["id"] for one in sessions if one["purpose"] == "cuda")}, "done")
            self.assertEqual(program.do("fill 1000").split()[0], GONE)

    def test_the_server_ends(self):
        for _, server, program in self.both():
            self.assertEqual(server.stop(), 0)
            self.assertEqual(program.do("fill 1000").split()[0], GONE)


class Opening(Base):
    def complaint(self, status, pattern, server="127.0.0.1:1", **options):
        with Program(server, alone="words" not in options, **options) as program:
            self.assertEqual(program.first, status)
            self.assertEqual(program.do("fill 10").split()[0] in (GONE, "CUDA_ERROR_NOT_INITIALIZED"), True)
            self.assertRegex(program.end(), rf"^aitherion: {pattern}\n$")

    def test_no_server_listens(self):
        soon = {"AITHERION_CONNECT_TIMEOUT": "0.5"}
        self.complaint("CUDA_ERROR_SYSTEM_NOT_READY", "cannot connect to '127.0.0.1:1': Connection refused", env=soon)
        self.complaint("CUDA_ERROR_SYSTEM_NOT_READY", "cannot connect to '/nonexistent/socket': No such file or directory",
                       server="/nonexistent/socket", env=soon)

    def test_a_wrong_key(self):
        with serve() as server:
            hint = r" \(name the server's key with AITHERION_KEY_FILE\)"
            self.complaint("CUDA_ERROR_NOT_PERMITTED",
                           rf"no session with '{server.address}': the server has another key, or none called '[^']*'{hint}",
                           server=server.address, key=b"another")
            self.complaint("CUDA_ERROR_NOT_PERMITTED", rf"no session with 'unix:.*': the server wants a key, .*{hint}",
                           server=server.socket, key=None)
            self.assertEqual(server.log().count("event=session-refused"), 2)
            self.assertEqual(server.log().count("event=session-opened"), 0)
        with serve(key=None) as server:
            self.complaint("CUDA_ERROR_NOT_PERMITTED", r"no session with .*: the server has no key, .* \(.*AITHERION_KEY_FILE= means no key\)",
                           server=server.address)

    def test_a_transport_that_is_impossible(self):
        with serve() as server:
            self.complaint("CUDA_ERROR_SYSTEM_NOT_READY",
                           "no session with '127.0.0.1:.*': the transport 'shm' needs the server's unix socket, not '127.0.0.1:.*'",
                           server=server.address, env={"AITHERION_TRANSPORT": "shm"})

    def test_a_server_without_a_driver(self):
        with Server("--sim", env=harness.environment(AITHERION_SIM_FOLDER="/nonexistent")) as server:
            self.complaint("CUDA_ERROR_NO_DEVICE", "the server could not do it: 'libcuda.so.1' cannot be loaded: .*",
                           server=server.socket)
            self.assertIn("event=session-failed", server.log())
            self.assertEqual(server.health().returncode, 3)

    def test_it_waits_for_a_server_that_comes(self):
        address = f"127.0.0.1:{ports.take(1)}"
        with Program(address, wait=False) as program:
            time.sleep(0.5)
            with serve(listen=address):
                self.assertEqual(program.read(), GOOD)

    def test_the_gpu_is_switched_off(self):
        with serve() as server, Program(server.socket, env={"AITHERION_DISABLE": "1"}) as program:
            self.assertEqual(program.first, "CUDA_ERROR_NO_DEVICE")
            self.assertEqual(program.end(), "")

    def test_nothing_else_is_switched_off_by_mistake(self):
        with serve() as server, Program(server.socket, env={"AITHERION_DISABLE": "caches,stageing"}, alone=True) as program:
            self.assertNotEqual(program.first, GOOD)
            self.assertEqual(program.end(), "aitherion: AITHERION_DISABLE has 'stageing', which cannot be switched off "
                                            "(did you mean 'staging'?)\n")


@needs_capnp
class Strangers(Base):
    """Clients that have the key and break the rules."""

    def channel(self, server):
        session = Session(server.connect(), purpose="cuda")
        session.ask({"openChannel": {"transport": "tcp", "program": "stranger"}}, "channel")
        return session

    @staticmethod
    def convert(kind, direction, data):
        schema = os.path.join(harness.build(), "proto", "cuda-wire.capnp")
        return subprocess.run(["capnp", "convert", "--quiet", "-I", os.path.join(runtime.SOURCE, "proto"), direction, schema, kind],
                              input=data, stdout=subprocess.PIPE, check=True).stdout

    def answers(self, session, calls, context=0):
        """The results of all of them, one after another: `capnp` is slow to start."""
        text = "\n".join(json.dumps({"context": str(context), "isAsked": True, **call}) for call in calls)
        frames, given = self.convert("Call", "json:binary", text.encode()), b""
        while frames:
            length = 8 + 8 * struct.unpack_from("<I", frames, 4)[0]
            session.connection.sendall(frames[:length])
            frames = frames[length:]
            given += runtime.read_frame(session.connection)
        text, found = self.convert("Answer", "binary:json", given).decode(), []
        while text.strip():
            one, length = json.JSONDecoder().raw_decode(text.lstrip())
            found.append(one)
            text = text.lstrip()[length:]
        return found

    @pins_memory
    def test_a_copy_cannot_use_the_servers_memory(self):
        own, layers = 0x200000000000, {"depth": "1"}
        with serve() as server, self.channel(server) as session:
            made = self.answers(session, [{"init": {}}, {"devicePrimaryCtxRetain": {"device": 0}}, {"graphCreate": {}}])
            context, graph = int(made[1]["devicePrimaryCtxRetain"]["context"]), made[2]["graphCreate"]["graph"]
            made = self.answers(session, [{"memAllocV2": {"bytes": "65536"}},
                                          {"memHostRegisterV2": {"memory": str(own), "bytes": "8192"}}], context)
            self.assertEqual([one["status"] for one in made], [0, 0])
            device = int(made[0]["memAllocV2"]["address"])
            with open(f"/proc/{server.children()[0]}/maps", encoding="ascii") as maps:
                theirs = next(int(line.split("-")[0], 16) for line in maps if line.endswith("[stack]\n"))

            def side(kind, address, pitch=64, **more):
                where = {"MemoryType": 1, "Host": str(address)} if kind == "host" else {"MemoryType": 4, "Device": str(address)}
                return {**where, "Pitch": str(pitch), **{key: str(value) for key, value in more.items()}}

            rows = [(0, side("unified", device + 4096)), (1, side("unified", theirs)), (1, side("host", 0, XInBytes=theirs))]
            for kind in ("host", "unified"):
                rows += [(0, side(kind, own)), (0, side(kind, own, 8128)), (0, side(kind, own, 0)),
                         (1, side(kind, own, 8129)), (1, side(kind, own, XInBytes=(theirs - own) % (1 << 64))),
                         (1, side(kind, own, Y=127)), (1, side(kind, own, 0, Y=127)), (1, side(kind, own, 1 << 63, Y=2))]
            contexts = {"srcContext": str(context), "dstContext": str(context)}
            methods = {"memcpy2DAsyncV2": {}, "memcpy2DV2": {}, "memcpy2DUnalignedV2": {}, "memcpy3DAsyncV2": layers,
                       "memcpy3DV2": layers, "memcpy3DPeerAsync": {**layers, **contexts}, "memcpy3DPeer": {**layers, **contexts},
                       "graphAddMemcpyNode": layers}
            calls, wanted = [], []
            for method, more in methods.items():
                for status, one in rows:
                    for sides in ((one, side("unified", device)), (side("unified", device), one)):
                        copy = {name + key: value for name, end in zip(("src", "dst"), sides) for key, value in end.items()}
                        call = {"copy": {**copy, "widthInBytes": "64", "height": "2", **more}}
                        calls.append({method: {**call, "graph": graph, "context": str(context)} if "graph" in method else call})
                        wanted.append(status)
            given = [one["status"] for one in self.answers(session, calls, context)]
            wrong = [(json.dumps(call), status) for call, status, want in zip(calls, given, wanted) if status != want]
            self.assertEqual(wrong, [])
            self.check_well(server)

    def test_code_that_is_never_loaded_has_a_limit(self):
        with serve() as server, self.channel(server) as session:
            given = self.answers(session, [{"uploadImage": {"id": str(one), "offset": "0", "total": str(1 << 31), "data": [1]}}
                                           for one in (1, 2, 3)])
            self.assertEqual([one.get("status", 0) for one in given], [0, 0, 2])

    def test_garbage_ends_that_session_only(self):
        pick = random.Random(3)
        with serve() as server, Program(server.socket) as program:
            for data in (b"GET / HTTP/1.1\r\n\r\n", struct.pack("<II", 0, 0xffffffff), struct.pack("<II", 1, 1) + b"\0" * 16,
                         struct.pack("<II", 0, 1) + b"\xff" * 8, struct.pack("<II", 0, 0),
                         *(struct.pack("<II", 0, words) + pick.randbytes(8 * words) for words in range(1, 60))):
                with self.channel(server) as session:
                    session.connection.sendall(data)
                    session.connection.shutdown(socket.SHUT_WR)
                    self.assertTrue(runtime.is_closed(session.connection), data[:16])
            self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
            self.check_well(server)
            self.assertNotIn("crashed", server.log())

    def test_a_frame_too_large_or_cut_off(self):
        with serve() as server:
            with self.channel(server) as session:
                session.connection.sendall(struct.pack("<II", 0, (80 << 20) // 8 + 1))
                self.assertTrue(runtime.is_closed(session.connection))
            self.assertTrue(server.wait_for_log('during=calls reason="a call too large"'))
            with self.channel(server) as session:
                session.connection.sendall(struct.pack("<II", 0, 100) + b"\0" * 50)
            self.check_alone(server)
            self.check_well(server)

    def test_changed_bytes_of_right_calls(self):
        pick = random.Random(4)
        subprocess.run([os.path.join(harness.build(), "tests", "cuda", "loopback"), "calls", "answers"],
                       cwd=harness.scratch(), stdout=subprocess.DEVNULL, check=False)  # another test checks the result
        with open(os.path.join(harness.scratch(), "calls"), "rb") as file:
            frames = list(iter(lambda: self.frame_of(file), b""))
        with serve() as server:
            for _ in range(60):
                with self.channel(server) as session:
                    for frame in pick.sample(frames, 20):
                        changed = bytearray(frame)
                        for _ in range(pick.randrange(4)):
                            changed[pick.randrange(8, len(changed))] = pick.randrange(256)
                        try:
                            session.connection.sendall(changed)
                        except (BrokenPipeError, ConnectionResetError):
                            break
            self.check_alone(server)
            self.check_well(server)

    @staticmethod
    def frame_of(file):
        head = file.read(8)
        return head + file.read(8 * struct.unpack("<II", head)[1]) if head else b""

    def test_wrong_requests_for_a_channel(self):
        with serve() as server:
            for question in ({"getHealth": None}, {"openChannel": {"transport": "udp"}},
                             {"openChannel": {"transport": "shm"}}):  # over TCP
                with Session(server.connect(), purpose="cuda") as session:
                    session.connection.sendall(runtime.encode(question))
                    self.assertTrue(runtime.is_closed(session.connection), question)
            self.check_well(server)


if __name__ == "__main__":
    harness.main()
