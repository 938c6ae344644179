#!/usr/bin/env python3
"""Certificates (src/remote/tls/certificate.c): a server proves which one it is, in addition to the key."""
import contextlib
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
import unittest

import runtime
import authority
from authority import Authority
from cuda import MIB, Program
from runtime import Server, harness
from test_cuda import GOOD, Base

OTHER_KEY = b"another shared key of many bytes"


def serve(pair, *arguments, **options):
    """A server with a certificate; `pair` None: without."""
    env = harness.environment(AITHERION_SIM_MEMORY="256M", AITHERION_SIM_DEVICES="1")
    words = ["--tls-certificate", pair[0], "--tls-key", pair[1]] if pair else []
    return Server("--sim", *words, *arguments, env=env, **options)


def ask(address, authorities, key=runtime.KEY, encrypt="on"):
    """`aitherion-runtime health` at an address."""
    trust = ["--tls-ca", authorities] if authorities else []
    return runtime.run("health", "--server", address, "--key", runtime.key_file(key), "--timeout", str(harness.PATIENCE_S),
                       "--encrypt", encrypt, *trust)


@unittest.skipIf(authority.LACKS, authority.LACKS)
class Certified(Base):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.authority, cls.stranger = Authority("here"), Authority("elsewhere")
        cls.good = cls.authority.sign("server")

    def refuse(self, address, authorities, *texts, code=3, **options):
        result = ask(address, authorities, **options)
        self.assertEqual(result.returncode, code, result.stderr)
        for text in texts:
            self.assertIn(text, result.stderr)
        self.assertNotIn("listening", result.stdout)


class Proofs(Certified):
    def test_a_client_may_ask_for_the_certificate(self):
        with serve(self.good) as server:
            for address in (server.address, f"localhost:{server.port}"):
                for authorities in (self.authority.file, None):
                    result = ask(address, authorities)
                    self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(server.log().count("level=warning"), 0, server.log())

    def test_kinds_of_keys(self):
        for kind in ("rsa", "ed25519"):
            with self.subTest(kind), serve(self.authority.sign(kind, kind=kind)) as server:
                self.assertEqual(ask(server.address, self.authority.file).returncode, 0)

    def test_programs(self):
        """All of a session's connections are encrypted, and the later ones have the session's own keys."""
        env = {"AITHERION_ENCRYPT": "on", "AITHERION_LOG": "info"}
        with serve(self.good) as server:
            with Program(server.address, env={**env, "AITHERION_TLS_CA": self.authority.file}, alone=True) as program:
                self.assertEqual(program.first, GOOD)
                self.assertEqual(program.do(f"bring 2 {4 * MIB}"), f"{GOOD} right")
                program.end()
            self.assertIn("encrypted=yes", server.log())
            with Program(server.address, env={**env, "AITHERION_TLS_CA": self.stranger.file, "AITHERION_CONNECT_TIMEOUT": "1"},
                         alone=True) as program:
                self.assertNotEqual(program.first, GOOD)
            self.assertTrue(server.wait_for_log("does not trust this server"))

    def test_loopback_stays_plain_by_itself(self):
        """As without certificates: forwarded ports and this host's own programs need no name of their own."""
        with serve(self.good) as server:
            self.assertEqual(ask(server.address, self.stranger.file, encrypt="auto").returncode, 0)

    def test_a_renewed_certificate_counts_at_once(self):
        other = self.stranger.sign("server")
        folder = os.path.join(harness.scratch(), f"renewed-{time.monotonic_ns()}")
        os.mkdir(folder)
        pair = [shutil.copy(path, folder) for path in self.good]
        with serve(pair) as server:
            self.assertEqual(ask(server.address, self.authority.file).returncode, 0)
            for source, path in zip(other, pair):
                shutil.copy(source, path + ".new")
                os.rename(path + ".new", path)
            self.assertEqual(ask(server.address, self.stranger.file).returncode, 0)
            self.refuse(server.address, self.authority.file, "no trusted authority has signed the certificate of '127.0.0.1'")
            os.unlink(pair[1])
            self.refuse(server.address, self.stranger.file, "shows no certificate")
            self.assertTrue(server.wait_for_log("event=certificate-unusable"))
            self.assertIn("cannot read the private key", server.log())
            self.assertEqual(ask(server.address, None).returncode, 0)  # the key proves the server as before


class Refusals(Certified):
    def test_certificates_of_another_authority(self):
        with serve(self.stranger.sign("server")) as server:
            self.refuse(server.address, self.authority.file, "no trusted authority has signed", self.authority.file, "--tls-ca")
            self.assertTrue(server.wait_for_log("the client does not trust this server's certificate"))

    def test_other_names(self):
        with serve(self.authority.sign("other", names="DNS:elsewhere.example,IP:127.0.0.2")) as server:
            self.refuse(server.address, self.authority.file, "the server's certificate is not for the name '127.0.0.1'", "subjectAltName")
            self.refuse(f"localhost:{server.port}", self.authority.file, "is not for the name 'localhost'")

    def test_other_purposes(self):
        with serve(self.authority.sign("client", usage="clientAuth")) as server:
            self.refuse(server.address, self.authority.file, "is not meant for servers")

    def test_an_expired_certificate(self):
        old = self.authority.sign("old", days="-1")
        result = runtime.run("serve", "--sim", "--listen", "127.0.0.1:0", "--key", runtime.key_file(), "--tls-certificate", old[0],
                             "--tls-key", old[1])
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, f"the certificate '{old[0]}' was valid until 20[0-9-]*T[0-9:]*Z")
        self.assertIn("renew the certificate", result.stderr)
        folder = os.path.join(harness.scratch(), f"expires-{time.monotonic_ns()}")
        os.mkdir(folder)
        pair = [shutil.copy(path, os.path.join(folder, name)) for path, name in zip(self.good, ("pem", "key"))]
        with serve(pair) as server:  # it expires while the server runs
            for source, path in zip(old, pair):
                shutil.copy(source, path)
            self.refuse(server.address, self.authority.file, "the certificate of '127.0.0.1' has expired", "clock")

    def test_a_server_without_a_certificate(self):
        with serve(None) as server:
            self.refuse(server.address, self.authority.file, "the server '127.0.0.1' shows no certificate", "--tls-certificate")
            self.assertEqual(ask(server.address, None).returncode, 0)

    def test_files_of_authorities(self):
        with serve(self.good) as server:
            missing = harness.scratch() + "/missing.pem"
            self.assertIn(f"cannot read '{missing}'", ask(server.address, missing).stderr)
            result = ask(server.address, self.good[1])
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"'{self.good[1]}' holds no certificate that could be trusted", result.stderr)


class Impostors(Certified):
    """Each has one of the two: the key or a certificate."""

    def test_the_key_is_not_enough(self):
        with serve(self.stranger.sign("server")) as server:
            self.refuse(server.address, self.authority.file, "no trusted authority")
        with serve(None) as server:
            self.refuse(server.address, self.authority.file, "shows no certificate")

    def test_the_certificate_is_not_enough(self):
        with serve(self.good, key=OTHER_KEY) as server:
            self.refuse(server.address, self.authority.file, "the server has another key", code=5)
            self.assertTrue(server.wait_for_log("reason=keyWrong"))

    def relay(self, address, listener):
        """Decrypts all, and passes it on to the server by an encrypted connection of its own."""
        inside, outside = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        inside.load_cert_chain(*self.authority.sign("relay"))
        outside.load_verify_locations(self.authority.file)
        seen = []

        def pass_on(source, sink):
            with contextlib.suppress(OSError):
                while got := source.recv(65536):
                    seen.append(got)
                    sink.sendall(got)
                sink.shutdown(socket.SHUT_WR)

        def accept():
            with contextlib.suppress(OSError):
                near = inside.wrap_socket(listener.accept()[0], server_side=True)
                far = outside.wrap_socket(socket.create_connection(("127.0.0.1", address)), server_hostname="127.0.0.1")
                threading.Thread(target=pass_on, args=(far, near), daemon=True).start()
                pass_on(near, far)
        threading.Thread(target=accept, daemon=True).start()
        return seen

    def test_the_proofs_of_the_key_hold_for_one_connection_only(self):
        """An impostor on the path that has a certificate for the server's name passes everything on, and still gets no session."""
        with serve(self.good) as server, socket.create_server(("127.0.0.1", 0)) as listener:
            seen = self.relay(server.port, listener)
            self.refuse(f"127.0.0.1:{listener.getsockname()[1]}", self.authority.file, "the server has another key", code=5)
            self.assertIn(b"aitherion", b"".join(seen))
            self.assertTrue(server.wait_for_log("reason=keyWrong"))
            self.assertNotIn("event=session-opened", server.log())


class Options(Certified):
    def start(self, *words, key=runtime.KEY):
        keys = ["--key", runtime.key_file(key)] if key else ["--no-auth"]
        return runtime.run("serve", "--sim", "--listen", "127.0.0.1:0", *keys, *words)

    def fail(self, pair, *texts, code=1):
        result = self.start("--tls-certificate", pair[0], "--tls-key", pair[1])
        self.assertEqual(result.returncode, code, result.stderr)
        for text in texts:
            self.assertIn(text, result.stderr)

    def test_options_that_do_not_fit(self):
        certificate, key = self.good
        for words, text in ((["--tls-certificate", certificate], "need each other"), (["--tls-key", key], "need each other"),
                            (["--tls-certificate", certificate, "--tls-key", key, "--encrypt", "off"], "leaves no use")):
            result = self.start(*words)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(text, result.stderr)
        result = self.start("--tls-certificate", certificate, "--tls-key", key, key=None)
        self.assertEqual(result.returncode, 1)
        self.assertIn("needs a key as well", result.stderr)

    def test_files_that_cannot_be_read(self):
        missing = harness.scratch() + "/missing"
        self.fail((missing, self.good[1]), f"cannot read '{missing}'")
        self.fail((self.good[0], missing), f"cannot read the private key '{missing}'")
        self.fail((self.good[1], self.good[1]), f"'{self.good[1]}' holds no certificate", "PEM")
        self.fail((self.good[0], self.good[0]), "other users may read or change")
        self.fail((self.good[0], harness.scratch()), "is no file")

    def test_a_key_of_another_certificate(self):
        other = self.authority.sign("another")
        self.fail((self.good[0], other[1]), f"the private key '{other[1]}' does not belong to the certificate '{self.good[0]}'")

    def test_a_file_without_a_usable_key(self):
        wrong = runtime.key_file(b"no private key at all")
        self.fail((self.good[0], wrong), f"'{wrong}' holds no usable private key")
        self.authority.openssl("pkey", "-in", self.good[1], "-aes128", "-passout", "pass:word", "-out", "locked.key")
        os.chmod(self.authority.path("locked.key"), 0o600)
        self.fail((self.good[0], self.authority.path("locked.key")), "holds no usable private key", "without a password")

    def test_keys_that_others_may_read(self):
        key = shutil.copy(self.good[1], harness.scratch() + "/lax.key")
        for mode in (0o604, 0o602, 0o620, 0o601):
            os.chmod(key, mode)
            self.fail((self.good[0], key), f"other users may read or change the private key '{key}'", f"chmod 600 {key}")
        os.chmod(key, 0o640)
        with serve((self.good[0], key)) as server:
            self.assertEqual(ask(server.address, self.authority.file).returncode, 0)


class Secrecy(Certified):
    def private_numbers(self):
        """The bytes of the private key, in both orders."""
        text = subprocess.run(["openssl", "pkey", "-in", self.good[1], "-outform", "DER"], stdout=subprocess.PIPE, check=True).stdout
        at = text.index(b"\x02\x01\x01\x04\x20") + 5  # ECPrivateKey (RFC 5915): version 1, 32 bytes
        return [text[at:at + 32], text[at:at + 32][::-1]]

    def test_sessions_do_not_have_the_private_key(self):
        with serve(self.good) as server:
            with Program(server.address, env={"AITHERION_ENCRYPT": "on", "AITHERION_TLS_CA": self.authority.file}, alone=True) as program:
                self.assertEqual(program.first, GOOD)
                pids = [server.process.pid, *server.children()]
                self.assertGreater(len(pids), 1)
                self.assertIn(self.good[1].encode(), memory_of(pids[0]))  # the words of its command line
                for pid in pids:
                    for number in self.private_numbers():
                        self.assertEqual(memory_of(pid).count(number), 0, f"{pid} of {pids}")
                program.end()


def memory_of(pid):
    """All memory of a process that it may write."""
    found = bytearray()
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            area, mode = line.split()[:2]
            begin, end = (int(word, 16) for word in area.split("-"))
            if mode.startswith("rw") and end - begin < 64 * MIB:
                with contextlib.suppress(OSError):
                    memory.seek(begin)
                    found += memory.read(end - begin)
    return bytes(found)


if __name__ == "__main__":
    harness.main()
