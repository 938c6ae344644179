#!/usr/bin/env python3
"""The Docker Engine client against fake daemons that are old, slow, broken or no daemons at all."""
import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import engine  # noqa: E402
import harness  # noqa: E402
from fake import Fake, answer, chunk  # noqa: E402

CHUNKED = b"HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nTransfer-Encoding: chunked\r\n\r\n"


def says(data, after=None):
    """Returns a script that sends these bytes, and then calls after(connection)."""
    def script(connection, *_):
        connection.sendall(data)
        if after:
            after(connection)
    return script


def hang(connection):
    """Stays silent until the client closes the connection."""
    connection.settimeout(3 * harness.PATIENCE_S)
    connection.recv(1)


class FaultCase(unittest.TestCase):
    def ask(self, script, shape="object", method="GET", path="/x", env=None, words=(), **fake_options):
        """Runs `ask` against a fake with this script, and returns the last line of its output."""
        with Fake(script, **fake_options) as daemon:
            self.status, self.lines = engine.steps(daemon.host, "ask", method, path, shape, *words, env=env)
            self.requests = [request for request in daemon.requests if request[1] != "/_ping"]
        return self.lines[-1]

    def expect(self, code, text, script, *words, **options):
        failure = self.ask(script, *words, **options)
        self.assertEqual(failure.get("error"), code, failure)
        self.assertRegex(failure["message"], text)
        self.assertEqual(self.status, 1)
        return failure


class Versions(FaultCase):
    def ping(self, ping, script=None):
        with Fake(script or says(answer(500)), ping=ping) as daemon:
            return engine.steps(daemon.host, "ping")[1][0]

    def test_chooses_the_highest_common_version(self):
        for theirs, ours in (("1.41", "1.41"), ("1.45", "1.45"), ("1.51", "1.51")):
            self.assertEqual(self.ping(answer(200, b"OK", api=theirs))["api"], ours)
        self.ask(says(answer(200, b"{}")), ping=answer(200, b"OK", api="1.43"))
        self.assertEqual(self.requests[0][1], "/v1.43/x")

    def test_names_an_old_daemon(self):
        failure = self.ping(answer(200, b"OK", api="1.40"))
        self.assertEqual(failure["error"], "engine-version")
        for word in ("1.40", "1.41", "20.10"):
            self.assertIn(word, failure["message"])

    def test_accepts_a_newer_daemon(self):
        version = says(answer(200, b'{"ApiVersion": "1.99", "MinAPIVersion": "1.44"}'))
        self.assertEqual(self.ping(answer(200, b"OK", api="1.99"), version)["api"], "1.51")

    def test_refuses_a_daemon_that_dropped_our_versions(self):
        version = says(answer(200, b'{"ApiVersion": "2.3", "MinAPIVersion": "1.60"}'))
        failure = self.ping(answer(200, b"OK", api="2.3"), version)
        self.assertEqual(failure["error"], "engine-version")
        self.assertIn("1.60", failure["message"])
        self.assertIn("1.51", failure["message"])

    def test_refuses_other_http_servers(self):
        for ping in (answer(200, b"OK", api=None), answer(200, b"OK", api="new"), answer(200, b"OK", api="1"),
                     answer(200, b"OK", api="1.4x"), answer(404, b"<html>", api=None), answer(302, b"", api=None)):
            self.assertEqual(self.ping(ping)["error"], "engine-invalid", ping)

    def test_reports_a_daemon_with_errors(self):
        failure = self.ping(answer(500, b'{"message": "no disk"}'))
        self.assertEqual(failure["error"], "engine-error")
        self.assertIn("Docker says: no disk", failure["message"])


class Refusals(FaultCase):
    def test_passes_on_the_daemons_message(self):
        words = json.dumps({"message": "driver failed: port is already allocated"}).encode()
        failure = self.expect("engine-error", "^cannot ask: Docker says: driver failed: port is already allocated$",
                              says(answer(500, words)))
        self.assertEqual(failure["status"], -5)
        self.expect("engine-denied", "Docker says: driver", says(answer(401, words)))
        self.expect("engine-denied", "Docker says: driver", says(answer(403, words)))
        self.expect("conflict", "Docker says: driver", says(answer(409, words)))
        self.expect("not-found", "Docker says: driver", says(answer(404, words)))

    def test_refusal_without_a_message(self):
        self.expect("engine-error", "HTTP 500", says(answer(500, b"<html>")))
        self.expect("engine-error", "HTTP 502", says(answer(502)))
        self.expect("engine-invalid", "HTTP 404", says(answer(404, b"<html>not found")))

    def test_long_message(self):
        self.expect("engine-error", "HTTP 500", says(answer(500, b"x" * (3 << 20))))

    def test_redirects_are_not_followed(self):
        self.expect("engine-invalid", "HTTP 301", says(answer(301, headers=["Location: /_ping"])))
        self.assertEqual(len(self.requests), 1)
        self.expect("engine-invalid", "HTTP 307", says(answer(307, headers=["Location: http://127.0.0.1:1/"])))

    def test_accepts_204_and_304(self):
        self.assertIsNone(self.ask(says(answer(204, length=False)), "nothing", "POST"))
        self.assertIsNone(self.ask(says(answer(304, length=False)), "object", "POST"))
        self.assertEqual(self.status, 0)

    def test_refused_after_200(self):
        lines = b'{"status": "Loading layer"}\r\n{"errorDetail": {"message": "no space left on device"}, "error": "x"}\r\n'
        self.expect("engine-error", "Docker says: no space left on device", says(answer(200, lines)), "progress")
        self.expect("engine-error", "Docker says: plain", says(answer(200, b'{"error": "plain"}')), "progress")
        self.assertIsNone(self.ask(says(answer(200, b'{"error": "an event may have this"}')), "lines"))


class CutOff(FaultCase):
    def test_answer_cut_off_anywhere(self):
        whole = answer(200, b'{"a": "' + b"x" * 500 + b'"}')
        bare = b"HTTP/1.1 204 No Content\r\nApi-Version: 1.41\r\n\r\n"
        for length in range(0, len(bare), 5):
            self.expect("engine-unreachable", "closed the connection", says(bare[:length]), "nothing", "POST")
        self.assertIsNone(self.ask(says(bare), "nothing", "POST"))
        head = whole.index(b"\r\n\r\n") + 4
        for length in (1, 8, 12, 14, 20, head - 5, head - 2, head, head + 1, head + 100, len(whole) - 1):
            self.expect("engine-unreachable", "closed the connection", says(whole[:length]))
        self.assertEqual(self.ask(says(whole)), {"a": "x" * 500})

    def test_no_answer(self):
        self.expect("engine-unreachable", "closed the connection without an answer", says(b""))

    def test_chunk_cut_off(self):
        whole = CHUNKED + chunk(b'{"a":') + chunk(b'"b"}') + b"0\r\n\r\n"
        self.assertEqual(self.ask(says(whole)), {"a": "b"})
        for length in range(len(CHUNKED), len(whole) - 4):
            self.expect("engine-unreachable", "in the middle of its answer", says(whole[:length]))

    def test_a_request_is_never_sent_twice(self):
        """The daemon may have carried out a request before it died."""
        for data in (b"", b"HTTP/1.1 2", answer(200, b"{}", length=10)):
            self.expect("engine-unreachable", "closed the connection", says(data), "object", "POST", words=("{}",))
            self.assertEqual(len(self.requests), 1)

    def test_wrong_content_length(self):
        self.expect("engine-unreachable", "closed the connection in the middle", says(answer(200, b"{}", length=3)))
        self.expect("engine-invalid", "not JSON", says(answer(200, b'{"a": 1}', length=5)))
        self.expect("engine-invalid", "is not Docker", says(answer(200, b"{}", length=-5)))

    def test_no_content_length(self):
        self.assertEqual(self.ask(says(answer(200, b'{"a": 1}', length=False))), {"a": 1})
        self.expect("engine-invalid", "not JSON", says(answer(200, b'{"a": ', length=False)))


class Nonsense(FaultCase):
    def test_no_http(self):
        for data in (b"SSH-2.0-OpenSSH_9.2\r\n", b"\x15\x03\x01\x00\x02\x02\x46", os.urandom(4000).replace(b"H", b"h"),
                     b"HTTP/9.9 200 OK\r\n\r\n{}", b"HTTP/1.1 banana\r\n\r\n", b"{}", b"\0" * 100):
            self.expect("engine-invalid", "is not Docker", says(data))
            with Fake(says(b""), ping=data) as daemon:
                self.assertEqual(engine.steps(daemon.host, "ping")[1][0]["error"], "engine-invalid")

    def test_invalid_chunks(self):
        for data in (b"zz\r\n{}\r\n", b"-1\r\n", b"ffffffffffffffffff\r\n{}"):
            self.assertIn(self.ask(says(CHUNKED + data))["error"], ("engine-invalid", "engine-unreachable"))

    def test_no_json(self):
        for body in (b"", b"<html>", b"{", b'{"a": \xff}', b"[" * 100000, b'{"a": 1e999}', b"{} {}"):
            self.expect("engine-invalid", "not JSON", says(answer(200, body)))

    def test_json_of_another_shape(self):
        for body in (b"[]", b"null", b"1", b'"text"', b"true"):
            self.expect("engine-invalid", "not a JSON object", says(answer(200, body)))
        for body in (b"{}", b"1"):
            self.expect("engine-invalid", "not a JSON list", says(answer(200, body)), "array")
        self.assertEqual(self.ask(says(answer(200, b"null")), "array"), [])

    def test_descriptions_without_required_members(self):
        for words, body in ((["inspect", "x"], b"{}"), (["list"], b"[{}]"), (["list"], b"[1]"),
                            (["network-inspect", "x"], b'{"Id": 7}'), (["network-list"], b"[{}]"),
                            (["image-inspect", "x"], b'{"RepoTags": 5}'), (["image-list"], b"[null]"),
                            (["wait", "x", "removed"], b"{}"), (["facts"], b"{}")):
            with Fake(says(answer(200, body))) as daemon:
                failure = engine.steps(daemon.host, *words)[1][-1]
            self.assertEqual(failure["error"], "engine-invalid", (words, failure))

    def test_invalid_events(self):
        for body in (b"no\n", b"[]\n", b"{}\n", b'{"Type": "container", "Action": "die"}\n'):
            with Fake(says(answer(200, body))) as daemon:
                failure = engine.steps(daemon.host, "events", "{}", "x")[1][-1]
            self.assertEqual(failure["error"], "engine-invalid", failure)
            self.assertIn("cannot follow Docker's events: ", failure["message"])

    def test_output_without_frames(self):
        for body in (b"plain text without frames", b"\1\0\0\0\0\0\0", b"\1\0\0\0\0\0\0\5abc", b"\7\0\0\0\0\0\0\1a"):
            self.expect("engine-invalid", "frame", says(answer(200, body)), "output")
        self.expect("engine-error", "Docker says: no", says(answer(200, b"\3\0\0\0\0\0\0\2no")), "output")

    def test_content_type_announces_frames(self):
        kind = "Content-Type: application/vnd.docker.multiplexed-stream"
        with Fake(says(answer(200, b"\2\0\0\0\0\0\0\1x", headers=[kind]))) as daemon:
            self.assertEqual(engine.steps(daemon.host, "logs", "x", "tty")[1], [{"stream": 2, "text": "x"}])
        with Fake(says(answer(200, b"\2\0\0\0raw"))) as daemon:
            self.assertEqual(engine.steps(daemon.host, "logs", "x", "tty")[1][0]["stream"], 1)


class TooMuch(FaultCase):
    def peak_bytes(self):
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024

    def endless(self, begin, block, times):
        def script(connection, *_):
            connection.sendall(begin)
            for _ in range(times):
                connection.sendall(block)
        return script

    def test_hundred_megabytes(self):
        block = b'{"a": "' + b"x" * (1 << 20) + b'"},'
        self.expect("engine-invalid", "larger than 16777216 bytes",
                    self.endless(answer(200, b"[", length=False), block, 100), "array")
        self.expect("engine-invalid", "longer than 1048576 bytes",
                    self.endless(answer(200, b"", length=False), b"x" * (1 << 20), 100), "lines")
        self.expect("engine-invalid", "more than 65536 bytes of headers",
                    self.endless(b"HTTP/1.1 200 OK\r\n", b"X-A: " + b"b" * 1000 + b"\r\n", 100000))
        self.expect("engine-error", "HTTP 500",
                    self.endless(answer(500, b"", length=False), b"x" * (1 << 20), 100))
        if os.environ.get("AITHERION_SANITIZED") != "1":
            self.assertLess(self.peak_bytes(), 128 << 20)

    def test_endless_header(self):
        failure = self.ask(self.endless(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 65536, 1000))
        self.assertEqual(failure["error"], "engine-invalid")

    def test_ignored_content_may_be_large(self):
        self.assertIsNone(self.ask(self.endless(answer(200, b"", length=False), b"x" * (1 << 20), 100), "nothing"))

    def test_many_lines(self):
        line = json.dumps({"status": "x" * 1000}).encode() + b"\n"
        self.ask(self.endless(answer(200, b"", length=False), line, 20000), "lines")
        self.assertEqual((self.status, len(self.lines)), (0, 20001))


class TooSlow(FaultCase):
    ENDLESS = {"TIMEOUT_MS": str(10000 * harness.PATIENCE_S)}

    def test_daemon_never_answers(self):
        failure = self.expect("engine-timeout", "within 0.5 s$", says(b"", hang), env={"TIMEOUT_MS": "500"})
        self.assertIn("journalctl", failure["hint"])
        self.expect("engine-timeout", "within 0.3 s$", says(CHUNKED + chunk(b"{"), hang), env={"TIMEOUT_MS": "300"})

    def test_slow_answer(self):
        def trickle(connection, *_):
            for byte in answer(200, b"{}"):
                connection.sendall(bytes([byte]))
                time.sleep(0.02)
        self.expect("engine-timeout", "within 0.6 s$", trickle, env={"TIMEOUT_MS": "600"})
        self.assertEqual(self.ask(trickle), {})

    def test_signal_ends_the_wait(self):
        with Fake(says(b"", hang)) as daemon:
            process = engine.begin(daemon.host, "ask", "GET", "/x", "object", env=self.ENDLESS)
            daemon.wait_for_requests("/x")
            process.send_signal(signal.SIGINT)
            status, lines = engine.finish(process)
        self.assertEqual((status, lines[-1]["error"], lines[-1]["message"]), (1, "interrupted", "cannot ask: interrupted"))

    def test_other_signals_do_not_end_the_wait(self):
        enough = threading.Event()
        with Fake(lambda connection, *_: (enough.wait(), connection.sendall(answer(200, b"{}")))) as daemon:
            process = engine.begin(daemon.host, "ask", "GET", "/x", "object", env=self.ENDLESS)
            daemon.wait_for_requests("/x")
            for _ in range(20):
                process.send_signal(signal.SIGWINCH)
                process.send_signal(signal.SIGCONT)
                time.sleep(0.02)
            enough.set()
            self.assertEqual(engine.finish(process), (0, [{}]))

    def test_stop_ends_the_whole_batch(self):
        with Fake(says(b"", hang)) as daemon:
            process = engine.begin(daemon.host, "parallel", "5", "{}")
            daemon.wait_for_requests("/containers/create", 5)
            process.send_signal(signal.SIGINT)
            status, lines = engine.finish(process)
        self.assertEqual(status, 1)
        self.assertEqual([line["error"] for line in lines], ["interrupted"] * 6)  # five requests and the batch


class Uploads(FaultCase):
    def setUp(self):
        self.archive = os.path.join(harness.scratch(), "upload")
        with open(self.archive, "wb") as file:
            file.truncate(32 << 20)

    def load(self, script, **options):
        with Fake(script, **options) as daemon:
            status, lines = engine.steps(daemon.host, "load", self.archive, "sized")
        self.assertEqual(status, 1)
        return lines[-1]

    def test_refused_during_the_upload(self):
        words = answer(500, b'{"message": "no space left on device"}')
        for after in (None, lambda connection: time.sleep(0.5)):
            failure = self.load(says(words, after), reads_body=False)
            # The kernel decides whether the daemon's message or the broken pipe arrives first; both give a clear failure.
            self.assertIn(failure["error"], ("engine-error", "engine-unreachable"), failure)
            if failure["error"] == "engine-error":
                self.assertIn("no space left on device", failure["message"])

    def test_broken_pipe_is_an_error(self):
        failure = self.load(says(b""), reads_body=False)
        self.assertEqual(failure["error"], "engine-unreachable")
        self.assertIn("closed the connection", failure["message"])

    def test_upload_arrives_whole(self):
        for way in ("sized", "chunked"):
            with Fake(says(answer(200, b'{"stream": "Loaded image: a:1\\n"}'))) as daemon:
                status, lines = engine.steps(daemon.host, "load", os.path.join(engine.harness.SOURCE, "README.md"), way)
                request = daemon.requests[-1]
            self.assertEqual((status, lines[-1]["loaded"]), (0, "a:1"))
            self.assertEqual(request[2]["content-type"], "application/x-tar")
            self.assertNotIn("expect", request[2])
            with open(os.path.join(harness.SOURCE, "README.md"), "rb") as file:
                self.assertIn(file.read()[:2000], request[3])


class Requests(FaultCase):
    def test_sent_requests(self):
        self.ask(says(answer(200, b"{}")), method="POST", path="/x?y=1", words=('{"k": "\u5185"}',))
        method, path, headers, body = self.requests[0]
        self.assertEqual((method, path, json.loads(body)), ("POST", "/v1.41/x?y=1", {"k": "\u5185"}))
        self.assertEqual(headers["content-type"], "application/json")
        self.assertRegex(headers["user-agent"], r"^aitherion/\d")
        self.ask(says(answer(200, b"{}")), method="POST")
        self.assertNotIn("content-type", self.requests[0][2])
        self.assertEqual(self.requests[0][2]["content-length"], "0")
        self.ask(says(answer(200, b"{}")), method="DELETE")
        self.assertEqual(self.requests[0][0], "DELETE")

    def test_ignores_proxies(self):
        env = {name: "http://127.0.0.1:1" for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY")}
        self.assertEqual(self.ask(says(answer(200, b"{}")), tcp=True, env=env), {})
        self.assertEqual(self.ask(says(answer(200, b"{}")), env=env), {})

    def test_many_at_once(self):
        """No request of forty is answered before the last one arrives."""
        all_are_asked = threading.Barrier(40, timeout=harness.PATIENCE_S)

        def slow(connection, *_):
            with contextlib.suppress(threading.BrokenBarrierError):
                all_are_asked.wait()
                connection.sendall(answer(500, b'{"message": "enough"}'))
        with Fake(slow) as daemon:
            status, lines = engine.steps(daemon.host, "parallel", "40", "{}")
        self.assertFalse(all_are_asked.broken)
        self.assertEqual((status, len(lines)), (0, 40))


class Places(FaultCase):
    def ping(self, host, **options):
        return engine.steps(host, "ping", **options)[1][0]

    def expect_ping(self, code, text, host, **options):
        failure = self.ping(host, **options)
        self.assertEqual(failure.get("error"), code, failure)
        self.assertRegex(failure["message"], text)
        return failure

    def test_no_daemon(self):
        path = os.path.join(harness.scratch(), "nobody")
        failure = self.expect_ping("engine-unreachable", "no answer at .*: No such file", "unix://" + path)
        self.assertIn("systemctl start docker", failure["hint"])
        self.expect_ping("engine-unreachable", "Not a directory", "unix:///dev/null/x")
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path)
        self.expect_ping("engine-unreachable", "Connection refused", "unix://" + path)
        self.expect_ping("engine-unreachable", "refused", "unix:///dev/null")
        self.expect_ping("engine-unreachable", "refused", "tcp://127.0.0.1:1")
        self.expect_ping("engine-unreachable", "the host name is unknown", "tcp://no-such-host.invalid:1")

    def test_hints_at_a_rootless_daemon(self):
        folder = harness.scratch()
        with open(os.path.join(folder, "docker.sock"), "wb"):
            pass
        failure = self.expect_ping("engine-unreachable", "no answer", "unix:///nonexistent/docker.sock",
                                   env={"XDG_RUNTIME_DIR": folder})
        self.assertEqual(failure["hint"], f"export DOCKER_HOST=unix://{folder}/docker.sock")

    def test_invalid_addresses(self):
        self.expect_ping("value-invalid", "DOCKER_HOST: 'ssh://me@there'", "ssh://me@there")
        self.expect_ping("value-invalid", "longer than the 107 bytes that the kernel allows", "unix:///" + "x" * 200)

    def test_socket_without_permission(self):
        if os.geteuid() != 0:
            self.skipTest("only root can be another user")
        with Fake(says(answer(200))) as daemon:
            os.chmod(os.path.dirname(daemon.path), 0o755)
            os.chmod(daemon.path, 0o660)
            failure = self.expect_ping("engine-denied", "you may not use the socket .*: Permission denied", daemon.host,
                                       user=65534, group=65534, extra_groups=[], cwd="/")
            self.assertIn("usermod -aG docker", failure["hint"])

    def test_waits_for_a_starting_daemon(self):
        path = os.path.join(harness.scratch(), "later.sock")
        process = engine.begin("unix://" + path, "ping", env={"WAIT_MS": str(1000 * harness.PATIENCE_S)})
        time.sleep(0.7)
        with Fake(says(b""), path=path):
            self.assertEqual(engine.finish(process)[0], 0)
        begin = time.monotonic()
        self.expect_ping("engine-unreachable", "no answer", "unix:///nonexistent/sock", env={"WAIT_MS": "700"})
        self.assertGreater(time.monotonic() - begin, 0.6)

    def test_other_faults_end_the_wait(self):
        with Fake(says(b""), ping=answer(200, b"OK", api="1.20")) as daemon:
            self.expect_ping("engine-version", "1.20", daemon.host, env={"WAIT_MS": str(10000 * harness.PATIENCE_S)})

    def test_without_libcurl(self):
        """Without the library the error names its package."""
        if not shutil.which("unshare") or os.geteuid() != 0:
            self.skipTest("hiding a library takes root and unshare (package util-linux)")
        found = subprocess.run(["ldconfig", "-p"], stdout=subprocess.PIPE, text=True, check=True).stdout
        paths = [line.split("=> ")[1] for line in found.splitlines() if "libcurl.so.4 " in line]
        hide = "".join(f"mount --bind /dev/null {os.path.realpath(path)} && " for path in paths)
        result = subprocess.run(["unshare", "--mount", "sh", "-c", hide + '"$0" ping', engine.steps_program()],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                                env=harness.environment(DOCKER_HOST="unix:///x"))
        if not result.stdout:
            self.skipTest(f"no mounts here: {result.stderr.strip()}")
        failure = json.loads(result.stdout)
        self.assertEqual((failure["error"], failure["hint"]), ("library-missing", "apt-get install libcurl4"))


class Tls(FaultCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("openssl"):
            raise unittest.SkipTest("no openssl to make certificates with (package openssl)")
        cls.folder = os.path.join(harness.scratch(), "tls")
        os.makedirs(cls.folder)
        for who in ("ours", "others"):
            cls.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-keyout", f"{who}.key", "-out", f"{who}.pem", "-subj", f"/CN={who}")
        for name, signer in (("server", "ours"), ("client", "ours"), ("stranger", "others")):
            cls.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                        f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
            with open(os.path.join(cls.folder, "ext"), "w", encoding="ascii") as file:
                file.write("subjectAltName=IP:127.0.0.1\n")
            cls.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{signer}.pem", "-CAkey", f"{signer}.key",
                        "-CAcreateserial", "-days", "2", "-extfile", "ext", "-out", f"{name}.pem")

    @classmethod
    def openssl(cls, *words):
        subprocess.run(["openssl", *words], cwd=cls.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)

    def certificates(self, name, ca, own=None):
        folder = os.path.join(self.folder, name)
        os.makedirs(folder, exist_ok=True)
        shutil.copy(os.path.join(self.folder, ca + ".pem"), os.path.join(folder, "ca.pem"))
        if own:
            shutil.copy(os.path.join(self.folder, own + ".pem"), os.path.join(folder, "cert.pem"))
            shutil.copy(os.path.join(self.folder, own + ".key"), os.path.join(folder, "key.pem"))
        return {"DOCKER_CERT_PATH": folder, "DOCKER_TLS_VERIFY": "1"}

    def server(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(self.folder, "server.pem"), os.path.join(self.folder, "server.key"))
        context.load_verify_locations(os.path.join(self.folder, "ours.pem"))
        context.verify_mode = ssl.CERT_REQUIRED
        return Fake(says(answer(200, b"{}")), tls=context)

    def test_verifies_both_sides(self):
        with self.server() as daemon:
            env = self.certificates("good", "ours", "client")
            self.assertEqual(engine.steps(daemon.host, "ask", "GET", "/x", "object", env=env), (0, [{}]))
            https = daemon.host.replace("tcp://", "https://")
            self.assertEqual(engine.steps(https, "ask", "GET", "/x", "object", env=env), (0, [{}]))

    def expect_no_tls(self, daemon, env):
        failure = engine.steps(daemon.host, "ping", env=env)[1][0]
        self.assertEqual(failure["error"], "engine-unreachable", failure)
        return failure

    def test_refuses_wrong_certificates(self):
        with self.server() as daemon:
            failure = self.expect_no_tls(daemon, self.certificates("foreign", "others", "client"))
            self.assertRegex(failure["message"], "TLS with '.*' failed")
            self.assertIn("DOCKER_CERT_PATH", failure["hint"])
            self.expect_no_tls(daemon, self.certificates("stranger", "ours", "stranger"))
            self.expect_no_tls(daemon, self.certificates("nameless", "ours"))
            self.assertEqual(daemon.requests, [])

    def test_confused_plain_and_tls(self):
        with self.server() as daemon:
            self.assertEqual(engine.steps(daemon.host, "ping")[1][0]["error"], "engine-unreachable")
        with Fake(says(answer(200)), tcp=True) as daemon:
            self.expect_no_tls(daemon, self.certificates("good", "ours", "client"))

    def test_names_missing_files(self):
        failure = engine.steps("tcp://127.0.0.1", "ping", env={"DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": "/none"})[1][0]
        self.assertEqual(failure["error"], "not-found")
        self.assertIn("/none/ca.pem", failure["message"])


class Leaks(FaultCase):
    def test_many_failures_leak_nothing(self):
        """A client that asks 200 times has no more files open than one that asks once."""
        counts = []

        def note(connection, *_):
            del connection
        with Fake(note) as daemon:
            process = engine.begin(daemon.host, "repeat", "200", "5")

            def watch():
                while process.poll() is None:
                    try:
                        counts.append(len(os.listdir(f"/proc/{process.pid}/fd")))
                    except OSError:
                        return
                    time.sleep(0.05)
            watcher = threading.Thread(target=watch)
            watcher.start()
            status, lines = engine.finish(process)
            watcher.join()
        self.assertEqual((status, len(lines)), (0, 200))
        self.assertLess(max(counts), 16, counts)


if __name__ == "__main__":
    harness.main()
