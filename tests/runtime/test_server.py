#!/usr/bin/env python3
"""aitherion-runtime as users, containers and clients without the key meet it."""
import base64
import contextlib
import http.client
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
import unicodedata
import unittest
import urllib.request

import runtime
from cuda import Program
import harness
import ports
from runtime import Server, Session

sys.path.insert(0, os.path.join(harness.SOURCE, "tests", "cli"))

import cli  # noqa: E402

NOBODY = 65534
needs_capnp = unittest.skipUnless(runtime.HAS_CAPNP, "no capnp (package capnproto)")


class Binary(unittest.TestCase):
    def test_it_needs_few_libraries(self):
        if runtime.IS_SANITIZED:
            self.skipTest("a sanitized build needs its own libraries")
        shown = subprocess.run(["readelf", "-d", runtime.binary()], stdout=subprocess.PIPE, text=True, check=True).stdout
        # The dynamic linker is a part of libc. Thread-local variables in code for shared libraries name it.
        needed = {name for name in re.findall(r"NEEDED.*\[(.*)\]", shown) if not name.startswith(("ld-linux", "ld64"))}
        self.assertEqual({name.split(".so.", 1)[0] for name in needed}, {"libc", "libnettle", "libseccomp", "libyaml-0"})

    def test_help_and_version(self):
        self.assertRegex(runtime.run("--version").stdout, r"^aitherion-runtime \d+\.\d+\.\d+\n$")
        self.assertEqual(runtime.run("-V").stdout, runtime.run("--version").stdout)
        for words in (["--help"], ["serve", "--help"], ["health", "-h"], ["pause", "--help"]):
            result = runtime.run(*words)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertLessEqual(max(map(len, result.stdout.splitlines())), 80)

    def test_the_man_page_has_every_option_and_exit_code(self):
        with open(os.path.join(runtime.SOURCE, "man", "aitherion-runtime.1.in"), encoding="utf-8") as file:
            page = file.read().replace("\\-", "-")
        told = set()
        for command in ("serve", "health", "pause"):
            text = runtime.run(command, "--help").stdout
            told |= set(re.findall(r"^  (--[a-z-]+)", text, re.MULTILINE)) | set(re.findall(r"\[\$(\w+)\]", text))
        for word in sorted(told):
            self.assertIn(word, page)
        self.assertEqual(set(re.findall(r"--[a-z][a-z-]+", page)) - told, set())
        for code in re.findall(r"^  (\d) ", runtime.run("--help").stdout, re.MULTILINE):
            self.assertRegex(page, rf"\n\.TP\n\.B {code}\n")

    def test_wrong_command_lines(self):
        for words in ([], ["sreve"], ["serve", "--prot", "1"], ["serve", "--listen"], ["serve", "--sim=1"], ["serve", "x"],
                      ["health", "--sim"], ["serve", "--no-auth", "--key", "x"], ["serve", "--no-auth", "--listen", "1.2.3.4"],
                      ["serve", "--no-auth", "--listen", "fd00::1:5"], ["serve", "--no-auth", "--vram-fraction", "1.5"],
                      ["serve", "--no-auth", "--vram-fraction", "0"], ["serve", "--no-auth", "--gpus", "0"],
                      ["serve", "--no-auth", "--sim", "--listen", "127.0.0.1:0", "--socket", "/" + "x" * 200],
                      ["serve", "--no-auth", "--host-fraction", "0"], ["serve", "--no-auth", "--sessions-per-source", "513"],
                      ["serve", "--no-auth", "--sim", "--sharing", "fair"], ["serve", "--no-auth", "--sim", "--sharing", "unknown"],
                      ["serve", "--no-auth", "--log-level", "loud"], ["health", "--no-auth", "--log-level", "debug"],
                      ["health", "--no-auth", "--timeout", "0"]):
            with self.subTest(words):
                result = runtime.run(*words)
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                self.assertTrue(result.stderr.startswith("aitherion-runtime: "))


class Serving(unittest.TestCase):
    def test_health_over_tcp_and_unix_socket(self):
        with Server("--sim") as server:
            for place in (["--server", server.address], ["--socket", server.socket], ["--server", "unix:" + server.socket]):
                result = runtime.run("health", *place, "--key", runtime.key_file())
                self.assertEqual((result.returncode, result.stderr), (0, ""), place)
                self.assertIn("aitherion simulated GPU", result.stdout)
                self.assertIn("(simulated)", result.stdout)

    def test_health_in_columns(self):
        """In Chinese, too: its letters take two columns."""
        chinese, reason = cli.chinese_environment()
        if not chinese:
            self.skipTest(reason)
        with Server("--sim") as server:
            lines = runtime.run("health", "--server", server.address, *server.authentication,
                                env=harness.environment(**chinese)).stdout.splitlines()
        self.assertFalse(lines[0].isascii(), lines[0])
        for line in lines:
            width = 0
            for at, letter in enumerate(line):
                if width >= 18:
                    break
                width += 2 if unicodedata.east_asian_width(letter) in "WF" else 1
            self.assertEqual((width, line[at - 1]), (18, " "), line)

    def test_health_as_json(self):
        with Server("--sim", "--vram-fraction", "0.8", env=harness.environment(AITHERION_NUMA="1")) as server:
            result = server.health("--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            value, faults = harness.check_json(result.stdout)
            self.assertEqual(faults, [])
            told = value["server"]
            self.assertEqual((value["is_healthy"], value["error"], told["node"], told["vram_fraction"]), (True, None, "1", 0.8))
            self.assertEqual((told["is_simulated"], told["wants_key"], told["sessions"]), (True, True, 0))
            device = told["devices"][0]
            self.assertEqual((device["memory_total_bytes"], device["memory_used_bytes"]), (16 << 30, 0))
            self.assertEqual(told["address"], server.address)
            self.assertEqual(told["net_namespace"], os.stat("/proc/self/ns/net").st_ino)
            with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
                self.assertEqual(told["boot_id"], file.read().strip())

    def test_without_a_gpu_health_says_so(self):
        with Server(key=None) as server:
            result = server.health("--json")
            value, faults = harness.check_json(result.stdout)
            self.assertEqual(faults, [])
            if value["server"]["devices"]:
                self.skipTest("this machine has a GPU")
            self.assertEqual(result.returncode, 3)
            self.assertFalse(value["is_healthy"])
            self.assertIn(("fault", "no-devices"), [(one["severity"], one["code"]) for one in value["server"]["problems"]])

    def test_serving_no_gpus_on_request_is_healthy(self):
        with Server("--gpus", "none") as server:
            result = server.health("--json")
            self.assertEqual(result.returncode, 0, result.stdout)
            value = json.loads(result.stdout)
            self.assertEqual((value["server"]["devices"], value["server"]["problems"]), ([], []))

    def test_a_gpu_that_is_missing_is_named(self):
        with Server("--gpus", "0004:04:00.0,0035:03:00.0") as server:
            value = json.loads(server.health("--json").stdout)
            self.assertEqual([one["object"] for one in value["server"]["problems"] if one["code"] == "gpu-missing"],
                             ["0004:04:00.0", "0035:03:00.0"])

    def test_a_problem_is_printed_in_the_users_language(self):
        chinese, reason = cli.chinese_environment()
        if reason:
            self.skipTest(reason)
        with Server("--sim", key=None, env=harness.environment(**chinese)) as server:
            said = [json.loads(runtime.run("health", "--server", server.address, "--no-auth", "--json",
                                           env=harness.environment(**changes)).stdout)["server"]["problems"][0]
                    for changes in ({}, chinese)]
            self.assertEqual([one["code"] for one in said], ["no-auth"] * 2)
            self.assertTrue(said[0]["message"].isascii(), said)
            self.assertFalse(said[1]["message"].isascii(), said)

    def test_exit_codes_of_health(self):
        with Server("--sim") as server:
            address = ["health", "--server", server.address]
            self.assertEqual(runtime.run(*address, "--key", runtime.key_file(b"another")).returncode, 5)
            self.assertEqual(runtime.run(*address, "--no-auth").returncode, 5)
            self.assertEqual(runtime.run(*address, "--key", "/nonexistent/key").returncode, 1)
        self.assertEqual(runtime.run(*address, "--no-auth").returncode, 3)
        result = runtime.run(*address, "--no-auth", "--json")
        value, faults = harness.check_json(result.stdout)
        self.assertEqual((result.returncode, faults, value["server"]), (3, [], None))
        self.assertEqual(value["error"]["code"], "peer-unreachable")
        with Server("--sim", key=None) as server:
            result = runtime.run("health", "--server", server.address, "--key", runtime.key_file())
            self.assertEqual(result.returncode, 5, "a server without a key is not taken for the right one")

    def test_a_refusal_is_logged(self):
        with Server("--sim") as server:
            runtime.run("health", "--server", server.address, "--key", runtime.key_file(b"another"))
            self.assertTrue(server.wait_for_log("event=session-refused"))
            self.assertRegex(server.log(), r"level=warning event=session-refused peer=127\.0\.0\.1:\d+ reason=keyWrong")

    @needs_capnp
    def test_a_client_that_opens_no_channel(self):
        with Server("--sim") as server, server.connect() as connection:
            with Session(connection, purpose="cuda"):
                self.assertTrue(server.wait_for_log("event=session-broken"))
            self.assertRegex(server.log(), r'event=session-broken peer=127\.0\.0\.1:\d+ identity=default during="opening the channel" reason="it was silent for too long"')

    def test_health_gives_up_in_time(self):
        """Before another test that began earlier and takes much longer."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            words = ["health", "--server", f"127.0.0.1:{silent.getsockname()[1]}", "--no-auth", "--timeout"]
            with subprocess.Popen([runtime.binary(), *words, str(harness.PATIENCE_S)], stderr=subprocess.DEVNULL) as other:
                self.assertEqual(runtime.run(*words, "1").returncode, 3)
                self.assertIsNone(other.poll())
                other.kill()

    def test_the_man_page_has_every_event(self):
        folder = os.path.join(runtime.SOURCE, "src")
        told = set()
        for path, _, names in os.walk(folder):
            for name in names:
                with open(os.path.join(path, name), encoding="utf-8") as file:
                    told |= set(re.findall(r'ATH_EVENT_[A-Z]+,[^"]*"([a-z-]+)"', file.read())) if name.endswith(".c") else set()
        with open(os.path.join(runtime.SOURCE, "man", "aitherion-runtime.1.in"), encoding="utf-8") as file:
            page = file.read().replace("\\-", "-")
        page = page[page.index(".SH LOG"):page.index(".SH METRICS")]
        self.assertGreater(len(told), 10)
        self.assertEqual([event for event in sorted(told) if not re.search(rf"\b{event}\b", page)], [])

    def test_every_log_line_is_structured(self):
        for level in "info", "debug":
            with Server("--sim", "--log-level", level) as server:
                server.connect().close()
                server.health()
            for line in server.log().splitlines():
                self.assertRegex(line, r'^time=\S+Z level=(debug|info|warning|error) event=[a-z-]+( [a-z_]+=("([^"\\]|\\.)*"|[^ "]+))*$')

    def test_levels_of_the_log(self):
        """A log has the lines of its level and of those before it. A flag counts more than the variable."""
        def told(*words, **variables):
            with Server("--sim", *words, env=harness.environment(**variables)) as server:
                server.health()
                runtime.run("health", "--server", server.address, "--key", runtime.key_file(b"another"))
                self.assertTrue(harness.wait_until(lambda: not server.children()))
            return {(line.split()[1].split("=")[1], line.split()[2].split("=")[1]) for line in server.log().splitlines()}
        everything = told("--log-level", "debug")
        self.assertLessEqual({("info", "started"), ("warning", "session-refused"), ("debug", "connection"), ("debug", "process-started"),
                              ("debug", "process-ended"), ("debug", "handshake"), ("debug", "question")}, everything)
        self.assertEqual(told(), {line for line in everything if line[0] != "debug"})
        self.assertEqual(told(AITHERION_LOG_LEVEL="debug"), everything)
        self.assertEqual(told("--log-level", "warning", AITHERION_LOG_LEVEL="debug"), {("warning", "session-refused")})
        self.assertEqual(told("--log-level", "error"), set())

    def test_the_steps_of_a_handshake(self):
        with Server("--sim", "--log-level", "debug", "--encrypt", "on") as server:
            server.health()
        lines = [line for line in server.log().splitlines() if "event=handshake" in line]
        self.assertEqual([re.search(r"step=(\S+)", line)[1] for line in lines], ["encryption", "hello", "proof", "welcome"])
        self.assertNotIn("identity=", lines[0])
        self.assertRegex(lines[-1], r"peer=127\.0\.0\.1:\d+ step=welcome identity=default purpose=control host=\S+ process=\d+$")
        self.assertRegex(server.log(), r"event=question peer=127\.0\.0\.1:\d+ identity=default about=health\n")

    def test_a_wrong_level_names_the_right_ones(self):
        result = runtime.run("serve", "--no-auth", "--log-level", "warnings")
        self.assertEqual(result.stderr, "aitherion-runtime: --log-level is 'warnings'; it can be error, warning, info or debug\n"
                                        "  did you mean 'warning'?\n")


class Driver(unittest.TestCase):
    """The devices of a CUDA driver, with a fake libcuda."""

    @classmethod
    def setUpClass(cls):
        compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
        if not compiler:
            raise unittest.SkipTest("no C compiler (package gcc)")
        cls.folder = os.path.join(harness.scratch(), "cuda")
        os.makedirs(cls.folder, exist_ok=True)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", os.path.join(cls.folder, "libcuda.so.1"),
                        os.path.join(runtime.SOURCE, "tests", "runtime", "fake_cuda.c")], check=True)

    def health(self, kind, *words):
        path = ":".join(filter(None, [self.folder, os.environ.get("LD_LIBRARY_PATH")]))
        env = harness.environment(LD_LIBRARY_PATH=path, FAKE_CUDA=kind)
        with Server(*words, env=env) as server:
            result = server.health("--json")
        value, faults = harness.check_json(result.stdout)
        self.assertEqual(faults, [])
        return result.returncode, value["server"]

    def test_two_gpus(self):
        code, server = self.health("two", "--vram-fraction", "0.5")
        self.assertEqual((code, server["is_simulated"]), (0, False))
        self.assertEqual([(one["pci"], one["name"], one["is_simulated"]) for one in server["devices"]],
                         [("0004:04:00.0", "Fake V100 0", False), ("0004:05:00.0", "Fake V100 1", False)])
        first = server["devices"][0]
        self.assertEqual(first["uuid"], "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f")
        self.assertEqual((first["memory_total_bytes"], first["memory_limit_bytes"]), (16 << 30, 8 << 30))
        self.assertEqual(server["problems"], [])

    def test_only_the_requested_gpus(self):
        code, server = self.health("two", "--gpus", "0004:05:00.0")
        self.assertEqual((code, [one["pci"] for one in server["devices"]]), (0, ["0004:05:00.0"]))
        code, server = self.health("two", "--gpus", "00000004:05:00.0,0035:03:00.0")
        self.assertEqual((code, [one["pci"] for one in server["devices"]]), (3, ["0004:05:00.0"]))
        self.assertIn(("gpu-missing", "0035:03:00.0"), [(one["code"], one["object"]) for one in server["problems"]])

    def test_a_driver_that_fails_or_crashes(self):
        for kind, pattern in (("none", r"cuInit: CUDA_ERROR_NO_DEVICE \(100\)"), ("crash", "asking the CUDA driver")):
            code, server = self.health(kind)
            self.assertEqual((code, server["devices"]), (3, []), kind)
            self.assertRegex(server["problems"][0]["message"], pattern)


class Places(unittest.TestCase):
    def test_listens_on_the_requested_address_only(self):
        with Server("--sim", listen="127.0.0.2:0") as server:
            self.assertTrue(server.address.startswith("127.0.0.2:"))
            self.assertEqual(server.health().returncode, 0)
            with self.assertRaises(ConnectionRefusedError):
                server.connect()  # to 127.0.0.1

    def test_ipv6(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError as error:
            self.skipTest(f"no IPv6 here: {error}")
        with Server("--sim", listen="[::1]:0") as server:
            self.assertTrue(server.address.startswith("[::1]:"))
            self.assertEqual(server.health().returncode, 0)

    def test_from_the_environment(self):
        port = ports.take(1)
        env = harness.environment(CAPNP_PORT=str(port), CONTROL_IFACE="lo", AITHERION_SIM="1", VRAM_FRACTION="0.25")
        with Server(listen=None, env=env) as server:
            self.assertEqual(server.address, f"127.0.0.1:{port}")
            result = runtime.run("health", *server.authentication, "--json", env=env)
            self.assertEqual(json.loads(result.stdout)["server"]["vram_fraction"], 0.25)
        with Server("--vram-fraction", "0.5", env=env) as server:  # flags win
            self.assertNotEqual(server.port, port)
            self.assertEqual(json.loads(server.health("--json").stdout)["server"]["vram_fraction"], 0.5)

    def fail(self, *words, env=None, pattern, code=1):
        result = runtime.run("serve", *words, env=env)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        self.assertRegex(result.stderr, pattern)
        return result

    def test_an_interface_that_is_not_here(self):
        self.fail("--sim", "--no-auth", env=harness.environment(CONTROL_IFACE="none0"), pattern="'none0'.*\n +aitherion-runtime")

    def test_an_address_that_is_not_here(self):
        self.fail("--sim", "--no-auth", "--listen", "192.0.2.1:0", pattern="'192.0.2.1:0': no link here has that address")

    def test_port_in_use(self):
        with Server("--sim") as server:
            self.fail("--sim", "--no-auth", "--listen", server.address,
                      pattern=f"'{server.address}': another process does\n  ss -ltnp 'sport = :{server.port}'")

    def test_socket_in_use_and_left_over(self):
        with Server("--sim") as server:
            self.fail("--sim", "--no-auth", "--listen", "127.0.0.1:0", "--socket", server.socket, pattern="another process does")
            self.assertEqual(server.health().returncode, 0)
            server.process.kill()  # leaves its socket file
            server.process.wait()
            self.assertTrue(os.path.exists(server.socket))
            again = subprocess.Popen([runtime.binary(), "serve", "--sim", "--no-auth", "--listen", "127.0.0.1:0", "--socket",
                                      server.socket], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.assertTrue(again.stdout.readline())
            self.assertEqual(os.stat(server.socket).st_mode & 0o777, 0o600)
            again.terminate()
            self.assertEqual(again.wait(harness.PATIENCE_S), 0)
            again.stdout.close()
            self.assertFalse(os.path.exists(server.socket))

    def test_a_file_at_the_sockets_path_stays(self):
        path = os.path.join(harness.scratch(), "a-file")
        with open(path, "w", encoding="ascii") as file:
            file.write("precious")
        self.fail("--sim", "--no-auth", "--listen", "127.0.0.1:0", "--socket", path, pattern="not a socket")
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read(), "precious")

    def test_keys_that_cannot_be_used(self):
        empty = os.path.join(harness.scratch(), "empty")
        with open(empty, "w", encoding="ascii"):
            pass
        listen = ["--sim", "--listen", "127.0.0.1:0"]
        self.fail(*listen, "--key", "/nonexistent/key", pattern="'/nonexistent/key'.*\n.*--no-auth")
        self.fail(*listen, "--key", empty, pattern=f"'{empty}' is empty")
        short, other = runtime.key_file(b"fifteen bytes.."), runtime.key_file(b"changed by other users")
        self.fail(*listen, "--sim", "--key", short, pattern="has 15 bytes and can be guessed; 16 are needed")
        for mode in 0o666, 0o620, 0o602:
            os.chmod(other, mode)
            self.fail(*listen, "--sim", "--key", other, pattern="other users may change the shared key '.*', and so choose it\n  chmod 600")
        self.fail(*listen, env=harness.environment(AITHERION_KEY_FILE="/nonexistent/other"), pattern="'/nonexistent/other'")

    def test_a_key_that_all_users_may_read(self):
        key = b"all users may read it"
        for mode, severities in (0o600, []), (0o640, []), (0o644, ["note"]):
            os.chmod(runtime.key_file(key), mode)
            with Server("--sim", key=key) as server:
                told = json.loads(server.health("--json").stdout)["server"]["problems"]
                of_key = [one for one in told if one["code"] == "key-readable"]
                self.assertEqual(([one["severity"] for one in of_key], mode), (severities, mode), told)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv (package util-linux)")
    def test_a_key_that_may_not_be_read(self):
        os.chmod(harness.scratch(), 0o755)
        folder = os.path.join(harness.scratch(), "as-nobody")
        os.makedirs(folder, exist_ok=True)
        shutil.copy(runtime.binary(), folder)
        prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", os.path.join(folder, "aitherion-runtime")]
        result = harness.run(command=[*prefix, "serve", "--sim", "--listen", "127.0.0.1:0", "--key", runtime.key_file()], cwd="/")
        self.assertEqual(result.returncode, 1)
        self.assertIn("Permission denied", result.stderr)


class Ending(unittest.TestCase):
    @needs_capnp
    def test_sigterm_ends_at_once_and_cleanly(self):
        """The server ends although a session is open."""
        for number in (signal.SIGTERM, signal.SIGINT):
            with Server("--sim") as server, Session(server.connect(), purpose="cuda") as idle:
                idle.ask({"openChannel": {"transport": "tcp", "program": "idle"}}, "channel")
                children = server.children()
                server.process.send_signal(number)
                self.assertEqual(server.process.wait(harness.PATIENCE_S), 0)
                self.assertFalse(os.path.exists(server.socket))
                self.assertTrue(runtime.is_closed(idle.connection))
                self.assertTrue(harness.wait_until(lambda: not any(os.path.exists(f"/proc/{pid}/exe") for pid in children)))
            self.assertIn("event=stopped", server.log())

    def test_it_runs_without_a_reader_of_its_output(self):
        process = subprocess.Popen([runtime.binary(), "serve", "--sim", "--no-auth", "--listen", "127.0.0.1:0"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        address = process.stdout.readline().split()[-1]
        process.stdout.close()
        process.stderr.close()
        for _ in range(3):  # a broken session is a log line
            with socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1]))) as connection:
                connection.sendall(b"x")
        self.assertTrue(harness.wait_until(lambda: not harness.children_of(process.pid)))
        self.assertEqual(runtime.run("health", "--server", address, "--no-auth").returncode, 0)
        process.terminate()
        self.assertEqual(process.wait(harness.PATIENCE_S), 0)

    def test_a_log_without_a_reader_does_not_stop_sessions(self):
        path = os.path.join(harness.scratch(), "full-log")
        os.mkfifo(path)
        log = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        with open(log, "r+b", buffering=0), Server("--sim", log_path=self.fill(path, log)) as server:
            for _ in range(5):
                self.break_off(server)
            self.assertEqual(server.health().returncode, 0)
            while log_bytes := self.read_now(log):
                self.assertNotIn(b"event", log_bytes)
            self.break_off(server)
            self.assertEqual(server.stop(), 0)
            lines = self.read_now(log).decode().splitlines()
        self.assertEqual([re.search(r" event=(\S+)", line).group(1) for line in lines],
                         ["lines-missing", "session-broken", "stopped"])
        self.assertRegex(lines[0], " level=warning event=lines-missing count=8$")  # "started", "listening" twice

    @staticmethod
    def fill(path, log):
        while True:
            try:
                os.write(log, b"." * 4096)
            except BlockingIOError:
                return path

    @staticmethod
    def read_now(log):
        try:
            return os.read(log, 65536)
        except BlockingIOError:
            return b""

    @staticmethod
    def break_off(server):
        """A connection that causes a line of the log."""
        with server.connect() as connection:
            connection.sendall(b"x")
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):  # its process is there, and ends
                pass
        harness.wait_until(lambda: not server.children())

    @needs_capnp
    def test_no_session_can_end_another_process(self):
        """A session's process writes to the memory that the server's processes share."""
        with subprocess.Popen(["sleep", "60"]) as stranger, Server("--sim") as server:
            self.addCleanup(stranger.kill)
            with server.connect() as connection:
                runtime.greet(connection)
                child = harness.wait_until(server.children)[0]
                with open(f"/proc/{child}/maps", encoding="ascii") as file:
                    areas = [line.split("-")[0] for line in file if "rw-s" in line and "aitherion-board" in line]
                self.assertEqual(len(areas), 1)
                try:
                    with open(f"/proc/{child}/mem", "r+b", buffering=0) as memory:
                        memory.seek(int(areas[0], 16))
                        memory.write(struct.pack("=i", stranger.pid) * 16384)
                except PermissionError as error:
                    stranger.kill()
                    self.skipTest(f"writing to a process's memory: {error}")
                server.stop()
            self.assertIsNone(stranger.poll())
            stranger.kill()

    def test_it_raises_its_limits(self):
        """Limits of file sizes and of descriptors: each exported piece of memory is one."""
        with Server("--sim", prefix=["prlimit", "--fsize=1000000:64000000", "--nofile=100:1000"]) as server:
            self.assertEqual(resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE), (64000000, 64000000))
            self.assertEqual(resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE), (1000, 1000))

    @needs_capnp
    def test_its_sessions_die_with_it(self):
        with Server("--sim") as server:
            idle = server.connect()
            runtime.greet(idle)
            self.assertEqual(len(server.children()), 1)
            server.process.kill()
            self.assertTrue(runtime.is_closed(idle))
            idle.close()

    def test_as_process_1(self):
        """The kernel shields process 1 of a namespace from signals without a handler."""
        unshare = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
            self.skipTest("no PID namespaces here")
        for words in (["serve", "--sim", "--no-auth", "--listen", "127.0.0.1:0"], ["pause"]):
            process = subprocess.Popen([*unshare, runtime.binary(), *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            first = self.child_of(process.pid)
            if words[0] == "serve":
                self.assertTrue(process.stdout.readline())
            else:
                self.check_pause(first)
            os.kill(first, signal.SIGTERM)
            self.assertEqual(process.wait(harness.PATIENCE_S), 0, words)
            process.stdout.close()

    def child_of(self, pid):
        """Waits until the child runs our program."""
        def found():
            return next((child for child in harness.children_of(pid) if os.readlink(f"/proc/{child}/exe") == runtime.binary()), None)
        child = harness.wait_until(found)
        self.assertIsNotNone(child, "the program does not start")
        return child

    def check_pause(self, pid):
        """The process is small, asleep, and reaps orphans."""
        subprocess.run(["nsenter", "-t", str(pid), "-p", "-m", "sh", "-c", "(sleep 0.1 & sleep 0.1 &)"], check=True)
        self.assertTrue(harness.wait_until(lambda: not harness.children_of(pid)))
        self.assertTrue(harness.wait_until(lambda: self.status_of(pid)["State"].split()[0] == "S"))
        if not runtime.IS_SANITIZED:
            self.assertLess(int(self.status_of(pid)["RssAnon"].split()[0]), 512)  # KiB of its own

    @staticmethod
    def status_of(pid):
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return dict(line.split(":", 1) for line in file.read().splitlines())


@needs_capnp
class Sessions(unittest.TestCase):
    """Sessions of the client in tests/runtime/runtime.py."""

    def test_devices_and_sessions(self):
        with Server("--sim") as server, Session(server.connect()) as session:
            devices = session.ask({"getDevices": None}, "devices")["devices"]
            self.assertEqual([(one["name"], one["isSimulated"]) for one in devices], [("aitherion simulated GPU", True)])
            sessions = session.ask({"getSessions": None}, "sessions")["sessions"]
            self.assertEqual([int(one["id"]) for one in sessions], [session.id])
            self.assertEqual(sessions[0]["peer"], "127.0.0.1:%d" % session.connection.getsockname()[1])
            for limited in "999", str(session.id):  # no session has the first number; the second only asks
                failure = session.ask({"limitSession": {"id": limited, "memoryLimitBytes": "1"}}, "failure")
                self.assertEqual(failure["code"], "notFound")

    def test_cuda_needs_the_key(self):
        with Server("--sim") as server:
            with self.assertRaisesRegex(runtime.Refused, "keyWrong"):
                Session(server.connect(), purpose="cuda", key=b"wrong")

    def test_a_session_is_ended(self):
        with Server("--sim") as server, Session(server.connect()) as session, Session(server.connect()) as other:
            session.ask({"endSession": str(other.id)}, "done")
            self.assertTrue(runtime.is_closed(other.connection))
            self.assertEqual(session.ask({"endSession": str(other.id)}, "failure")["code"], "notFound")
            self.assertEqual(len(session.ask({"getSessions": None}, "sessions")["sessions"]), 1)

    def test_a_replayed_handshake_is_refused(self):
        with Server("--sim") as server:
            with Session(server.connect()) as session:
                hello, proof = session.hello, session.proof
            with server.connect() as connection:
                connection.sendall(hello + proof)
                self.assertIn("challenge", runtime.decode(runtime.read_frame(connection)))
                self.assertEqual(runtime.decode(runtime.read_frame(connection))["refusal"]["reason"], "keyWrong")
                self.assertEqual(runtime.read_frame(connection), b"")

    def test_64_at_once(self):
        with Server("--sim", key=None) as server, contextlib.ExitStack() as stack:
            sessions = [runtime.quick_session(stack.enter_context(server.connect())) for _ in range(64)]
            self.assertEqual(len(server.children()), 64)
            for session in sessions:
                session.sendall(runtime.encode({"getSessions": None}))
            listed = [runtime.read_frame(session) for session in sessions]
            self.assertEqual(server.health().returncode, 0)
            for answer in listed:
                self.assertEqual(len({one["id"] for one in runtime.decode(answer)["sessions"]["sessions"]}), 64)

    def test_answers_in_order_to_questions_sent_at_once(self):
        with Server("--sim") as server, Session(server.connect()) as session:
            session.connection.sendall(runtime.encode({"getHealth": None}) + runtime.encode({"getDevices": None}) * 20)
            self.assertTrue(session.receive("health"))
            for _ in range(20):
                self.assertTrue(session.receive("devices"))


class Strangers(unittest.TestCase):
    def check_well(self, server):
        self.assertTrue(server.is_well())

    @staticmethod
    def send(connection, data):
        """Sends bytes, or (None) ends the sending direction; the server may have hung up already."""
        with contextlib.suppress(OSError):
            if data is None:
                connection.shutdown(socket.SHUT_WR)
            else:
                connection.sendall(data)

    def test_1000_connects(self):
        with Server("--sim") as server:
            files = f"/proc/{server.process.pid}/fd"
            before = len(os.listdir(files))
            for i in range(1000):
                with server.connect() as connection:
                    if i % 2:
                        connection.sendall(b"\0" * (i % 17))
            self.check_well(server)
            self.assertTrue(harness.wait_until(lambda: not server.children()))
            self.assertEqual(len(os.listdir(files)), before)

    def test_slow_and_silent_peers_are_disconnected(self):
        with Server("--sim") as server:
            silent = [server.connect() for _ in range(20)]
            slow = server.connect()
            slow.sendall(struct.pack("<II", 0, 500))

            def is_let_go():  # a trickle does not help: the handshake has one deadline
                self.send(slow, b"x")
                self.check_well(server)
                return runtime.is_closed(slow, 0.25)
            self.assertTrue(harness.wait_until(is_let_go))
            for connection in [slow, *silent]:
                self.assertTrue(runtime.is_closed(connection))
                connection.close()
            self.assertEqual(server.log().count("event=session-broken"), 21)

    @needs_capnp
    def test_they_do_not_keep_out_clients_with_the_key(self):
        with Server("--sim") as server, Session(server.connect()) as proven, contextlib.ExitStack() as stack:
            for _ in range(600):  # silence costs no process
                stack.enter_context(server.connect())
            self.assertEqual(len(server.children()), 1)
            for _ in range(40):  # with a hello 32 of one address have one
                stack.enter_context(server.connect()).sendall(runtime.encode(runtime.HELLO))
            self.assertTrue(harness.wait_until(lambda: "have not proven a key yet" in server.log()))
            self.assertEqual(len(server.children()), 1 + 32)

            def makes_room():  # for one more
                stack.enter_context(server.connect()).sendall(runtime.encode(runtime.HELLO))
                return "proven no key" in server.log()
            self.assertTrue(harness.wait_until(makes_room))
            # Over its socket at once, for root and its owner; over TCP as soon as one client was silent for a while.
            result = runtime.run("health", "--server", "unix:" + server.socket, *server.authentication,
                                 "--timeout", str(harness.PATIENCE_S))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.check_well(server)
            proven.ask({"getHealth": None}, "health")

    def test_garbage(self):
        pick = random.Random(1)
        with Server("--sim") as server:
            for text in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"SSH-2.0-x\r\n", b"\x16\x03\x01\x02\0" * 20,
                         struct.pack("<II", 0, 0xffffffff), struct.pack("<II", 0, 600) + b"\0" * 4800,
                         struct.pack("<II", 0xffffffff, 1), struct.pack("<II", 0, 0), struct.pack("<II", 0, 1) + b"\xff" * 8,
                         *(struct.pack("<II", 0, words) + pick.randbytes(8 * words) for words in range(1, 40))):
                with server.connect() as connection:
                    self.send(connection, text)
                    self.assertTrue(runtime.is_closed(connection), text[:16])
            self.check_well(server)
            log = server.log()
            self.assertEqual(log.count("event=session-broken") + log.count("event=session-refused"), 8 + 39)
            self.assertNotIn("crashed", log)

    @needs_capnp
    def test_changed_bytes_of_a_right_handshake(self):
        pick = random.Random(2)
        with Server("--sim") as server:
            with Session(server.connect()) as session:
                hello = session.hello
            for _ in range(200):
                changed = bytearray(hello)
                changed[pick.randrange(len(changed))] ^= 1 << pick.randrange(8)
                with server.connect() as connection:
                    self.send(connection, changed)
                    self.send(connection, None)
                    self.assertTrue(runtime.is_closed(connection))
            self.check_well(server)
            self.assertNotIn("crashed", server.log())


class Metrics(unittest.TestCase):
    def get(self, address, path, method="GET", headers=""):
        host, port = address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=harness.PATIENCE_S) as connection:
            connection.sendall(f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n".encode())
            answer = b""
            while chunk := connection.recv(65536):
                answer += chunk
        head, body = answer.decode().split("\r\n\r\n", 1)
        if method != "HEAD":
            self.assertIn(f"Content-Length: {len(body.encode())}", head)
        self.head = head
        return head.split()[1], body

    def address(self, server):
        server.wait_for_log("event=metrics")  # this line comes after those that the start waits for
        return re.search(r"event=metrics address=(\S+)", server.log()).group(1)

    def test_uptime(self):
        begin = time.monotonic()
        with Server("--sim", "--metrics", "127.0.0.1:0") as server:
            address = self.address(server)

            def uptime_s():
                return float(re.search(r"(?m)^aitherion_runtime_uptime_seconds ([0-9.]+)$", self.get(address, "/metrics")[1])[1])
            self.assertTrue(harness.wait_until(lambda: uptime_s() >= 1))
            self.assertLessEqual(uptime_s(), time.monotonic() - begin)

    def test_prometheus(self):
        with Server("--sim", "--vram-fraction", "0.5", "--metrics", "127.0.0.1:0") as server:
            runtime.run("health", "--server", server.address, "--key", runtime.key_file(b"another"))
            server.health()
            address = self.address(server)
            self.assertTrue(harness.wait_until(lambda: 'refused_total{reason="keyWrong"} 1' in self.get(address, "/metrics")[1]))
            code, body = self.get(address, "/metrics")
            self.assertEqual(code, "200")
            values = dict(line.split() for line in body.splitlines() if not line.startswith("#"))
            self.assertEqual((values["aitherion_runtime_connections_total"], values['aitherion_runtime_refused_total{reason="keyWrong"}'],
                              values["aitherion_runtime_devices"]), ("2", "1", "1"))
            labels = '{device="0",uuid="GPU-61697468-6572-696f-6e2d-73696d2d0000",pci="fffe:01:00.0"}'
            self.assertEqual([values[f"aitherion_runtime_device_{name}{labels}"] for name in
                              ("memory_total_bytes", "memory_limit_bytes", "memory_used_bytes", "sessions")],
                             [str(16 << 30), str(8 << 30), "0", "0"])
            self.assertEqual(self.get(address, "/")[0], "404")
            with Program(server.socket):  # for the metrics of identities
                self.check_form(self.get(address, "/metrics")[1])

    def check_form(self, body):
        """The text format: each metric has its HELP and TYPE in front, and its lines together."""
        seen = set()
        for name, kind, lines in re.findall(r"# HELP (\S+) [^\n]+\.\n# TYPE \1 (gauge|counter|histogram)\n((?:[^#][^\n]*\n)+)", body):
            self.assertNotIn(name, seen)
            seen.add(name)
            ending = "(_bucket|_sum|_count)" if kind == "histogram" else ""
            for line in lines.splitlines():
                self.assertRegex(line, rf'^{name}{ending}(\{{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\}})? [0-9.]+$')
        self.assertEqual(len(re.findall("^# HELP", body, re.MULTILINE)), len(seen))

    @unittest.skipUnless(shutil.which("promtool"), "no promtool (package prometheus)")
    def test_promtool_finds_nothing(self):
        with Server("--sim", "--metrics", "127.0.0.1:0") as server, Program(server.socket):
            body = self.get(self.address(server), "/metrics")[1]
            self.assertIn("session_age_seconds", body)
        result = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stdout + result.stderr), (0, ""))

    def test_openmetrics(self):
        with Server("--sim", "--metrics", "127.0.0.1:0") as server:
            accept = "Accept: application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3\r\n"
            body = self.get(self.address(server), "/metrics", headers=accept)[1]
            self.assertIn("Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8", self.head)
            self.assertTrue(body.endswith("\n# EOF\n"))
            self.assertIn("\n# TYPE aitherion_runtime_connections counter\naitherion_runtime_connections_total 0\n", body)

    def test_what_is_refused(self):
        with Server("--sim", "--metrics", "127.0.0.1:0") as server:
            address = self.address(server)
            self.assertEqual(self.get(address, "/"), ("404", "the metrics are at /metrics\n"))
            self.assertEqual(self.get(address, "/metrics", "POST"), ("405", "only GET and HEAD are answered here\n"))
            self.assertIn("Allow: GET, HEAD", self.head)
            self.assertEqual(self.get(address, "/metrics", headers="Content-Length: 5\r\n"), ("400", "a request has no body here\n"))
            self.assertEqual(self.get(address, "/metrics", headers="Transfer-Encoding: chunked\r\n")[0], "400")
            self.assertEqual(self.get(address, "/metrics", headers="Long: " + "x" * 65536 + "\r\n")[0], "431")
            self.assertEqual(self.get(address, "/metrics", "HEAD"), ("200", ""))
            self.assertRegex(self.head, r"Content-Length: \d\d")

    def test_one_connection_for_several_requests(self):
        with Server("--sim", "--metrics", "127.0.0.1:0") as server:
            connection = http.client.HTTPConnection(self.address(server), timeout=harness.PATIENCE_S)
            with contextlib.closing(connection):
                connection.connect()
                own = connection.sock
                for _ in range(3):
                    connection.request("GET", "/metrics")
                    answer = connection.getresponse()
                    self.assertEqual((answer.status, answer.read()[:7]), (200, b"# HELP "))
                self.assertIs(connection.sock, own)
                self.assertEqual(len(server.children()), 1)
            self.assertTrue(harness.wait_until(lambda: not server.children()), "the process ends with its connection")

    def test_a_request_that_never_ends(self):
        """Its time is over after 5 seconds, however often it sends another byte; others are answered meanwhile."""
        with Server("--sim", "--metrics", "127.0.0.1:0") as server:
            host, port = self.address(server).rsplit(":", 1)
            with socket.create_connection((host, int(port)), timeout=harness.PATIENCE_S) as slow:
                slow.sendall(b"GET /metrics HTTP/1.1\r\n")

                def is_let_go():
                    with contextlib.suppress(OSError):
                        slow.sendall(b"x")
                    self.assertEqual(self.get(f"{host}:{port}", "/metrics")[0], "200")
                    return runtime.is_closed(slow, 0.25)
                self.assertTrue(harness.wait_until(is_let_go))

    def test_no_session_leaves_a_series(self):
        """Programs come, go and are killed while the server is scraped."""
        with Server("--sim", "--metrics", "127.0.0.1:0") as server:
            address = self.address(server)

            def ids():
                body = self.get(address, "/metrics")[1]
                found = set(re.findall(r'session_age_seconds\{session="(\d+)"', body))
                total = int(re.search(r"(?m)^aitherion_runtime_sessions (\d+)$", body)[1])
                self.assertEqual(len(found), total)
                used = sum(map(int, re.findall(r"(?m)^aitherion_runtime_session_memory_used_bytes\S+ (\d+)$", body)))
                self.assertEqual(used, int(re.search(r"(?m)^aitherion_runtime_device_memory_used_bytes\S+ (\d+)$", body)[1]))
                self.assertEqual(used, sum(map(int, re.findall(r"(?m)^aitherion_runtime_identity_memory_used_bytes\S+ (\d+)$", body))))
                return found
            seen = set()
            for turn in range(4):
                with Program(server.socket) as kept, Program(server.socket) as killed:
                    self.assertEqual(kept.do(f"take plain {(turn + 1) << 20}"), "CUDA_SUCCESS")
                    self.assertEqual(killed.do(f"take plain {1 << 20}"), "CUDA_SUCCESS")
                    now = ids()
                    self.assertEqual(len(now), 2)
                    self.assertFalse(now & seen, "no number is used twice")
                    killed.process.kill()
                    self.assertTrue(harness.wait_until(lambda: len(ids()) == 1))
                    self.assertLess(ids(), now)
                    seen |= now
                self.assertTrue(harness.wait_until(lambda: not ids()))

    def test_metrics_on_the_requested_address_only(self):
        with Server("--sim", "--metrics", "127.0.0.2:0") as server:
            address = self.address(server)
            self.assertTrue(address.startswith("127.0.0.2:"))
            self.assertEqual(self.get(address, "/metrics")[0], "200")
            with self.assertRaises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1])), timeout=harness.PATIENCE_S)

    def test_other_protocols(self):
        with Server("--sim", "--metrics", "127.0.0.1:0") as server:
            host, port = self.address(server).rsplit(":", 1)
            for text in (b"\0" * 100 + b"\n\n", b"POST /metrics HTTP/1.1\r\n\r\n", b"GET /metrics" + b"x" * 9000, b"\r\n\r\n",
                         struct.pack("<II", 0, 4) + b"\xff" * 32 + b"\n\n"):
                with socket.create_connection((host, int(port)), timeout=harness.PATIENCE_S) as connection:
                    with contextlib.suppress(OSError):  # the server may have closed the connection
                        connection.sendall(text)
                        connection.shutdown(socket.SHUT_WR)
                    with contextlib.suppress(ConnectionResetError):
                        self.assertIn(connection.recv(16)[:10], (b"", b"HTTP/1.1 4"), text[:20])
            self.assertEqual(self.get(f"{host}:{port}", "/metrics")[0], "200")
            self.assertNotIn("crashed", server.log())


# bcrypt's hash of "s3cret:word" (cost 5).
HASH = "$2b$05$abcdefghijklmnopqrstuu2JDQLR7mbHhdpill4/jMLDoVbsBhlUi"


class Web(unittest.TestCase):
    """TLS and passwords of metrics."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=harness.scratch())
        for name, subject in (("server", "subjectAltName=IP:127.0.0.1"), ("client", "subjectAltName=DNS:client")):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                            f"/CN={name}", "-addext", subject, "-keyout", f"{self.folder}/{name}.key", "-out", f"{self.folder}/{name}.pem"],
                           check=True, stderr=subprocess.DEVNULL)

    def file(self, text):
        path = os.path.join(self.folder, "web.yml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    TLS = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n"

    def serve(self, text):
        return Server("--sim", "--metrics", "127.0.0.1:0", "--metrics-web", self.file(text))

    def get(self, server, password=None, client=None, newest=ssl.TLSVersion.TLSv1_3):
        """Its status; a TLS connection if there is an authority."""
        server.wait_for_log("event=metrics")
        host, port = re.search(r"event=metrics address=(\S+)", server.log())[1].rsplit(":", 1)
        context = ssl.create_default_context(cafile=f"{self.folder}/server.pem")
        context.maximum_version = newest
        if client:
            context.load_cert_chain(f"{self.folder}/{client}.pem", f"{self.folder}/{client}.key")
        kind = {"context": context} if "server.pem" in open(f"{self.folder}/web.yml", encoding="utf-8").read() else {}
        make = http.client.HTTPSConnection if kind else http.client.HTTPConnection
        headers = {"Authorization": "Basic " + base64.b64encode(password.encode()).decode()} if password else {}
        with contextlib.closing(make(host, int(port), timeout=harness.PATIENCE_S, **kind)) as connection:
            connection.request("GET", "/metrics", headers=headers)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status == 200:
                self.assertIn(b"\naitherion_runtime_devices 1\n", text)
                connection.request("GET", "/metrics", headers={"Authorization": "Basic eDp5"} if password else {})
                again = connection.getresponse()
                again.read()
                self.assertEqual(again.status, 401 if password else 200, "each request needs the password")
            return answer.status

    def test_a_password(self):
        with self.serve(f'basic_auth_users: {{ other: "{HASH[:-1]}a", prometheus: "{HASH}" }}\n') as server:
            self.assertEqual(self.get(server, "prometheus:s3cret:word"), 200)
            for wrong in (None, "prometheus:s3cret:wore", "prometheus:", ":", "nobody:s3cret:word", "other:s3cret:word", "prometheus"):
                self.assertEqual(self.get(server, wrong), 401, wrong)
            self.assertNotIn("crashed", server.log())

    def test_a_new_file(self):
        """The next connection has the passwords of the file as it is then."""
        with self.serve(f'basic_auth_users: {{ old: "{HASH}" }}\n') as server:
            self.assertEqual(self.get(server, "old:s3cret:word"), 200)
            self.file(f'basic_auth_users: {{ new: "{HASH}" }}\n')
            self.assertEqual(self.get(server, "old:s3cret:word"), 401)
            self.assertEqual(self.get(server, "new:s3cret:word"), 200)
            self.file("basic_auth_user: {}\n")
            with self.assertRaises((ConnectionError, http.client.HTTPException)):
                self.get(server, "new:s3cret:word")
            server.wait_for_log("there is no key 'basic_auth_user' here")

    def test_tls(self):
        with self.serve(self.TLS + f'basic_auth_users:\n  prometheus: "{HASH}"\n') as server:
            self.assertEqual(self.get(server, "prometheus:s3cret:word"), 200)
            self.assertEqual(self.get(server), 401)
            self.assertEqual(self.get(server, "prometheus:s3cret:word", newest=ssl.TLSVersion.TLSv1_2), 200)

    def test_certificates_of_clients(self):
        more = "  client_ca_file: client.pem\n  client_auth_type: RequireAndVerifyClientCert\n  min_version: TLS13\n"
        with self.serve(self.TLS + more) as server:
            self.assertEqual(self.get(server, client="client"), 200)
            self.assertEqual(self.get(server), 403)
            self.assertEqual(self.get(server, client="server"), 403)
            with self.assertRaises((ssl.SSLError, ConnectionError, http.client.HTTPException)):
                self.get(server, client="client", newest=ssl.TLSVersion.TLSv1_2)

    def test_faults_of_the_file(self):
        for text, line, words in (
                ("tls_server_config:\n  cert_file: server.pem\n", 1, "needs cert_file and key_file"),
                (self.TLS + "  cipher_suites: []\n", 4, "'cipher_suites' must be a text"),
                (self.TLS + "  ciphers: x\n", 4, "tls_server_config has no key 'ciphers'"),
                ("# none\nhttp_server_config: { http2: true }\n", 2, "there is no key 'http_server_config' here"),
                (self.TLS + "  client_auth_type: RequestClientCert\n", 4, "can be NoClientCert or RequireAndVerifyClientCert"),
                (self.TLS + "  client_ca_file: client.pem\n", 1, "need each other"),
                (self.TLS + "  min_version: TLS10\n", 4, "min_version can be TLS12 or TLS13"),
                ("basic_auth_users:\n  a: word\n", 2, "the password of 'a' must be a bcrypt hash"),
                ("basic_auth_users: []\n", 1, "'basic_auth_users' must be a mapping"),
                ("- a\n", 1, "the file must be a mapping"), ("a: b: c\n", 1, "")):
            path = self.file(text)
            result = runtime.run("serve", "--sim", "--no-auth", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--metrics-web", path)
            self.assertEqual(result.returncode, 1, text)
            self.assertIn(f"{path}:{line}: ", result.stderr)
            self.assertIn(words, result.stderr)
            self.assertNotIn(HASH, result.stderr)
        path = self.file("tls_server_config:\n  cert_file: server.pem\n  key_file: client.key\n")
        result = runtime.run("serve", "--sim", "--no-auth", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--metrics-web", path)
        self.assertIn("that fit each other", result.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to read the memory of another user's process")
    def test_no_session_has_the_secrets(self):
        """The memory of a session's process has neither the hash nor the private key."""
        with self.serve(self.TLS + f'basic_auth_users:\n  prometheus: "{HASH}"\n') as server, Program(server.socket):
            with open(f"{self.folder}/server.key", encoding="utf-8") as file:
                secrets = [HASH[7:].encode(), file.read().splitlines()[1].encode()]
            child = server.children()[0]
            with open(f"/proc/{child}/maps", encoding="utf-8") as maps, open(f"/proc/{child}/mem", "rb") as memory:
                for line in maps:
                    begin, end, rights = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
                    if rights.startswith("rw") and "[v" not in line and int(end, 16) - int(begin, 16) < 1 << 28:
                        memory.seek(int(begin, 16))
                        with contextlib.suppress(OSError):
                            part = memory.read(int(end, 16) - int(begin, 16))
                            self.assertFalse([secret for secret in secrets if secret in part], line)

    def test_the_page_of_a_host(self):
        with Server("--sim") as server:
            path = self.file(self.TLS)
            command = [harness.binary(), "metrics", "--key", runtime.key_file(runtime.KEY), "--server", server.address, "--listen", "127.0.0.1:0",
                       "--web", path]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=harness.environment()) as process:
                address = re.search(r"https://(\S+)/metrics", process.stdout.readline())[1]
                context = ssl.create_default_context(cafile=f"{self.folder}/server.pem")
                with urllib.request.urlopen(f"https://{address}/metrics", timeout=harness.PATIENCE_S, context=context) as answer:
                    self.assertIn(b"\naitherion_up{", answer.read())
                process.terminate()
                process.wait(harness.PATIENCE_S)


class HostPage(unittest.TestCase):
    """`aitherion metrics`: one page for several runtimes."""

    def words(self, *places):
        return ["metrics", "--key", runtime.key_file(runtime.KEY), "--server", ",".join(places)]

    @staticmethod
    def up(page):
        return dict(re.findall(r'(?m)^aitherion_up\{server="([^"]+)"[^}]*\} ([01])$', page))

    def test_it_has_the_series_of_all_runtimes(self):
        with Server("--sim", env=harness.environment(AITHERION_NUMA="8")) as first, Server("--sim") as second, Program(second.address):
            result = harness.run(*self.words(first.address, second.address))
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual(self.up(result.stdout), {first.address: "1", second.address: "1"})
            self.assertIn(f'\naitherion_up{{server="{first.address}",node="8"}} 1\n', result.stdout)
            self.assertIn(f'\naitherion_runtime_sessions{{server="{second.address}"}} 1\n', result.stdout)
            self.assertRegex(result.stdout, rf'\naitherion_runtime_session_calls_total{{server="{second.address}",session="')
            value = harness.checked_json(*self.words(first.address))
            self.assertIn("\naitherion_runtime_devices{", value["page"])

    def test_a_key_that_cannot_be_read(self):
        result = harness.run("metrics", "--server", "127.0.0.1:1", "--key", "/nonexistent")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("/nonexistent", result.stderr)

    def test_no_runtime_has_a_page(self):
        document = os.path.join(harness.scratch(), "empty.yaml")
        with open(document, "w", encoding="utf-8") as file:
            file.write("schema: aitherion.topology/1\nnuma: []\n")
        result = harness.run("metrics", "-c", document, env=harness.environment(AITHERION_SERVER=""))
        self.assertEqual(result.stderr, "aitherion: no runtime runs here\n")
        self.assertNotIn("aitherion_up", result.stdout)

    def test_a_silent_runtime_does_not_hold_up_the_others(self):
        with Server("--sim") as server, socket.create_server(("127.0.0.1", 0)) as silent, socket.create_server(("127.0.0.1", 0)) as closed:
            places = [f"127.0.0.1:{each.getsockname()[1]}" for each in (silent, closed)]
            closed.close()
            result = harness.run(*self.words(places[0], server.address, places[1]))
            self.assertEqual(self.up(result.stdout), {server.address: "1", places[0]: "0", places[1]: "0"})
            self.assertIn(f"'{places[0]}' has not answered within 4 seconds", result.stderr)
            self.assertIn(f"cannot connect to '{places[1]}'", result.stderr)
            self.assertNotIn(f'aitherion_runtime_devices{{server="{places[0]}"', result.stdout)

    def test_it_is_served(self):
        with Server("--sim") as first, Server("--sim") as second:
            command = [harness.binary(), *self.words(first.address, second.address), "--listen", "127.0.0.1:0"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=harness.environment()) as process:
                try:
                    address = re.search(r"http://(\S+)/metrics", process.stdout.readline())[1]
                    get = Metrics().get
                    self.assertEqual(self.up(get(address, "/metrics")[1]), {first.address: "1", second.address: "1"})
                    second.process.kill()
                    second.process.wait()
                    # a page is shown to others for a second
                    self.assertTrue(harness.wait_until(lambda: self.up(get(address, "/metrics")[1]) == {first.address: "1", second.address: "0"}))
                    self.assertEqual(get(address, "/")[0], "404")
                    process.terminate()
                    self.assertEqual(process.wait(harness.PATIENCE_S), 0)
                finally:
                    process.kill()

    def test_one_source_does_not_take_all_places(self):
        """A source has 4 of the 16 places. One that is given back can be taken again."""
        with Server("--sim") as server:
            command = [harness.binary(), *self.words(server.address), "--listen", "127.0.0.1:0"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=harness.environment()) as process:
                try:
                    place, port = re.search(r"http://(\S+):(\d+)/metrics", process.stdout.readline()).groups()
                    get = lambda number: self.get_from(f"127.0.0.{number}", place, port)  # noqa: E731
                    with contextlib.ExitStack() as held:
                        for _ in range(20):
                            held.enter_context(socket.create_connection((place, int(port)), source_address=("127.0.0.2", 0)))
                        self.assertTrue(harness.wait_until(lambda: not get(2)), "the first four still have their places")
                        self.assertIn(b"\naitherion_up{", get(3))
                    self.assertTrue(harness.wait_until(lambda: b"\naitherion_up{" in get(2)))
                    process.terminate()
                    self.assertEqual(process.wait(harness.PATIENCE_S), 0)
                finally:
                    process.kill()

    @staticmethod
    def get_from(source, place, port):
        """The answer to a request from an address; empty if the connection is ended without one."""
        try:
            with socket.create_connection((place, int(port)), harness.PATIENCE_S, (source, 0)) as connection:
                connection.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                return connection.makefile("rb").read()
        except ConnectionError:
            return b""

    def test_the_table(self):
        table = harness.checked_json("metrics", "--table")["metrics"]
        by_name = {row["name"]: row for row in table}
        self.assertEqual(by_name["aitherion_runtime_session_gpu_seconds_total"]["type"], "counter")
        self.assertEqual(by_name["aitherion_runtime_device_busy_ratio"]["labels"], ["server", "node", "device", "uuid", "pci"])
        self.assertIn("aitherion_runtime_session_wait_seconds (histogram)\n", harness.run("metrics", "--table").stdout)
        result = harness.run("metrics", "--table", "--listen", "127.0.0.1:0")
        self.assertEqual(result.returncode, 2)


if __name__ == "__main__":
    harness.main()
