#!/usr/bin/env python3
"""Keys with names: who is who, what each may have, and changes while the server runs."""
import json
import os
import re
import socket
import tempfile
import unittest
import urllib.request

import runtime
from cuda import MIB, Program
from runtime import Server, Session, harness

GOOD = "CUDA_SUCCESS"
FULL = "CUDA_ERROR_OUT_OF_MEMORY"
GONE = "CUDA_ERROR_DEVICE_UNAVAILABLE"
needs_capnp = unittest.skipUnless(runtime.HAS_CAPNP, "no capnp (package capnproto)")


class Base(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="keys-", dir=harness.scratch())
        os.chmod(self.folder, 0o755)
        self.keys = {}
        for name in ("alice", "bob", "operator"):
            self.add(name)

    def path(self, name):
        return os.path.join(self.folder, name)

    def add(self, name, key=None):
        """Makes or replaces a key as `aitherion key` does: whole, or not at all."""
        self.keys[name] = key or os.urandom(32)
        with open(self.path("." + name), "wb") as file:
            file.write(self.keys[name])
        os.chmod(self.path("." + name), 0o600)
        os.rename(self.path("." + name), self.path(name))

    def rows(self, text):
        path = os.path.join(harness.scratch(), f"rows-{os.path.basename(self.folder)}")
        with open(path + ".new", "w", encoding="ascii") as file:
            file.write(text)
        os.rename(path + ".new", path)
        return path

    def session(self, server, name, key=None):
        return Session(server.connect(), key=key or self.keys[name], name=name)

    def refusal(self, server, name, key):
        with self.assertRaises(runtime.Refused) as caught:
            self.session(server, name, key)
        return str(caught.exception)

    def cli(self, server, name, *words, **changes):
        return harness.run(*words, "--server", server.address, "--key", self.path(name), env=harness.environment(**changes))

    def listed(self, server, name):
        value, faults = harness.check_json(self.cli(server, name, "session", "list", "--json").stdout)
        self.assertEqual(faults, [])
        return value["runtimes"][0]["sessions"]

    def ids(self, server, name):
        return {one["identity"]: one["id"] for one in self.listed(server, name)}

    def program(self, server, name, **variables):
        return Program(server.address, key=None, words=["--key", self.path(name)], env={"AITHERION_KEY_FILE": None, **variables})


@needs_capnp
class Names(Base):
    def test_each_key_is_an_identity(self):
        with Server("--sim", keys=self.folder) as server:
            for name in self.keys:
                self.session(server, name).connection.close()
            self.assertEqual(self.refusal(server, "alice", self.keys["bob"]), "keyWrong")

    def test_names_cannot_be_tried(self):
        """A name that does not exist is refused as late and in the same words as a wrong key."""
        with Server("--sim", keys=self.folder) as server:
            for name in ("carol", "", "../alice", ".alice", "a" * 64, "alice/", "alice.bak"):
                self.assertEqual(self.refusal(server, name, self.keys["alice"]), "keyWrong", name)
            server.stop()
            told = set(re.findall(r"event=session-refused .*?(reason=.*)", server.log()))
        self.assertEqual(told, {'reason=keyWrong detail="the client has another key"'})

    def test_without_a_name_the_default_key_counts(self):
        self.add("default")
        with Server("--sim", keys=self.folder) as server:
            self.session(server, "", self.keys["default"]).connection.close()

    def test_one_key_has_any_name(self):
        with Server("--sim") as server:
            for name in ("", "default", "alice"):
                Session(server.connect(), name=name).connection.close()

    def test_keys_that_no_server_takes(self):
        self.add("weak", b"short")
        self.add("open")
        os.chmod(self.path("open"), 0o622)
        with Server("--sim", keys=self.folder) as server:
            for name in ("weak", "open"):
                self.assertEqual(self.refusal(server, name, self.keys[name]), "keyWrong")
                self.assertTrue(server.wait_for_log(f"event=key-unusable key={name} reason="))

    def test_a_folder_that_others_may_change(self):
        os.chmod(self.folder, 0o777)
        result = runtime.run("serve", "--sim", "--listen", "127.0.0.1:0", "--key", self.folder)
        self.assertEqual(result.returncode, 1)
        self.assertIn("other users may change the folder of keys", result.stderr)

    def test_a_client_of_version_2(self):
        old = runtime.encode({"hello": {"protocol": 2, "protocolMin": 2, "software": "aitherion 0.1.0", "nonce": [1] * 32, "hasKey": True}})
        with Server("--sim", keys=self.folder) as server, server.connect() as connection:
            connection.sendall(old)
            refusal = runtime.decode(runtime.read_frame(connection))["refusal"]
        self.assertEqual((refusal["reason"], refusal["message"]), ("protocol", "this server speaks protocol 3, and the client 2"))


class Clients(Base):
    def test_the_files_name_is_the_keys_name(self):
        with Server("--sim", keys=self.folder) as server:
            with self.program(server, "alice") as program:
                self.assertEqual(program.do(f"take plain {MIB}"), GOOD)
                self.assertEqual(list(self.ids(server, "alice")), ["alice"])
                result = harness.run("session", "list", "--server", server.address, "--key", self.path("alice"))
                self.assertRegex(result.stdout,
                                 rf"cuda_steps +alice +GPU 0: 1\.0 MiB +\d+ s +127\.0\.0\.1:\d+, process {program.process.pid} of {socket.gethostname()}\n")
                one = json.loads(self.cli(server, "alice", "session", "list", "--json").stdout)["runtimes"][0]["sessions"][0]
                self.assertEqual((one["host"], one["process"]), (socket.gethostname(), program.process.pid))
            self.assertTrue(harness.wait_until(lambda: not server.children()))  # the last line is there
        self.assertRegex(server.log(), r"event=session-opened peer=\S+ identity=alice host=\S+ process=\d+ session=")
        self.assertRegex(server.log(), r"event=session-(closed|broken) peer=\S+ identity=alice ")

    def test_a_key_is_named_by_the_environment_and_by_run(self):
        other = os.path.join(harness.scratch(), "some file")
        with open(other, "wb") as file:
            file.write(self.keys["bob"])
        words = ("session", "list", "--json")
        with Server("--sim", keys=self.folder) as server:
            for key, name, flags in ((other, "bob", ()), (other, None, ("--key-name", "bob")), (self.folder, "bob", ()),
                                     (self.folder, "alice", ("--key-name", "bob")), (self.folder, None, ())):
                result = harness.run(*words, "--server", server.address, *flags,
                                     env=harness.environment(AITHERION_KEY_FILE=key, AITHERION_KEY_NAME=name))
                self.assertEqual((result.returncode, result.stderr), (0, ""), (key, name, flags))
            result = harness.run(*words, "--server", server.address, env=harness.environment(AITHERION_KEY_FILE=other))
            self.assertEqual(result.returncode, 1)
            self.assertIn('the server has another key",', result.stderr)
            result = harness.run(*words, "--server", server.address, "--key", other, "--key-name", "carol")
            self.assertIn("the server has another key, or none called 'carol'", result.stderr)
            result = harness.run(*words, "--server", server.address, "--key", self.folder, "--key-name", "carol")
            self.assertIn(f"the folder of keys '{self.folder}' has no key 'carol'", result.stderr)
            result = harness.run(*words, "--server", server.address, "--key", other, "--key-name", "../x")
            self.assertIn("'../x' is not the name of a key", result.stderr)

    def test_a_folder_gives_its_default_or_first_key(self):
        def chosen():
            with Program(server.address, key=None, words=["--key", self.folder], env={"AITHERION_KEY_FILE": None}):
                return list(self.ids(server, "operator"))
        with Server("--sim", "--identities", self.rows("operator admin\n"), keys=self.folder) as server:
            self.assertEqual(chosen(), ["alice"])
            self.assertTrue(harness.wait_until(lambda: not self.ids(server, "operator")))
            words = ("session", "list", "--server", server.address, "--key", self.folder)
            first = f"key 'alice': the first in '{self.folder}' that this user may read\n"
            self.assertIn(first, harness.run(*words, "-v").stderr)
            self.assertNotIn("alice", harness.run(*words, "-v", "--key-name", "operator").stderr)
            os.remove(self.path("alice"))
            self.add("aaron")
            self.assertTrue(harness.wait_until(lambda: harness.run(*words).returncode == 0))
            with Server("--sim", key=self.keys["bob"]) as other:
                result = harness.run("session", "list", "--server", other.address, "--key", self.folder)
                self.assertEqual(result.returncode, 1)
                self.assertIn("the key 'aaron' was used, the first that this user may read; --key-name NAME names another one", result.stderr)
            self.add("default")
            self.assertEqual(chosen(), ["default"])
            self.assertNotIn("the first in", harness.run(*words, "-v").stderr)


class Changes(Base):
    def test_an_added_key_counts_at_once(self):
        with Server("--sim", keys=self.folder) as server:
            self.add("carol")
            self.assertEqual(self.cli(server, "carol", "session", "list").returncode, 0)

    def test_a_removed_key_ends_its_sessions(self):
        with Server("--sim", keys=self.folder) as server:
            with self.program(server, "alice") as program, self.program(server, "bob") as other:
                for one in program, other:
                    self.assertEqual(one.do(f"take plain {MIB}"), GOOD)
                os.unlink(self.path("alice"))
                self.assertTrue(server.wait_for_log("its key was removed"))
                self.assertEqual(program.do("take plain 1"), GONE)
                self.assertEqual(other.do("take plain 1"), GOOD)
            if runtime.HAS_CAPNP:
                self.assertEqual(self.refusal(server, "alice", self.keys["alice"]), "keyWrong")
        ends = re.findall(r"event=session-ended .*", server.log())
        self.assertEqual(len(ends), 1, ends)
        self.assertRegex(ends[0], r'identity=alice reason="its key was removed or replaced"$')

    def test_the_program_learns_why(self):
        """Its own copy of the key still exists, so it can ask the server."""
        copy = os.path.join(tempfile.mkdtemp(dir=harness.scratch()), "alice")
        with open(copy, "wb") as file:
            file.write(self.keys["alice"])
        with Server("--sim", keys=self.folder) as server:
            with Program(server.address, key=None, words=["--key", copy], env={"AITHERION_KEY_FILE": None}) as program:
                self.assertEqual(program.do(f"take plain {MIB}"), GOOD)
                os.unlink(self.path("alice"))
                self.assertTrue(server.wait_for_log("its key was removed"))
                self.assertEqual(program.do("take plain 1"), GONE)
                said = program.end()
        self.assertIn("is gone or has ended this session", said)
        self.assertIn("the server refuses the key now: the server has another key, or none called 'alice'", said)

    def test_a_replaced_key_ends_the_sessions_of_the_old_one(self):
        with Server("--sim", keys=self.folder) as server, self.program(server, "alice") as program:
            self.assertEqual(program.do(f"take plain {MIB}"), GOOD)
            self.add("alice")
            self.assertTrue(server.wait_for_log("its key was removed or replaced"))
            self.assertEqual(program.do("take plain 1"), GONE)
            with self.program(server, "alice") as again:
                self.assertEqual(again.first, GOOD)

    def test_other_changes_in_the_folder_end_nothing(self):
        with Server("--sim", keys=self.folder) as server, self.program(server, "alice") as program:
            self.add("carol")
            os.unlink(self.path("bob"))
            os.chmod(self.path("alice"), 0o640)
            with open(self.path(".hidden"), "wb"):
                pass
            self.assertEqual(self.cli(server, "carol", "session", "list").returncode, 0)
            self.assertEqual(program.do("take plain 1"), GOOD)
        self.assertNotIn("its key was", server.log())


def metrics(server):
    with urllib.request.urlopen(f"http://{server.metrics}/metrics", timeout=harness.PATIENCE_S) as answer:
        return answer.read().decode()


class Roles(Base):
    def test_others_see_and_end_only_their_own(self):
        rows = self.rows("operator admin\n")
        with Server("--sim", "--identities", rows, keys=self.folder) as server:
            with self.program(server, "alice") as alice, self.program(server, "bob") as bob:
                self.assertEqual(alice.do(f"take plain {MIB}"), GOOD)
                ids = self.ids(server, "operator")
                self.assertEqual(sorted(ids), ["alice", "bob"])
                self.assertEqual(self.ids(server, "alice"), {"alice": ids["alice"]})
                self.assertEqual(self.ids(server, "bob"), {"bob": ids["bob"]})
                result = self.cli(server, "bob", "session", "end", str(ids["alice"]))
                self.assertEqual(result.returncode, 1)
                self.assertIn(f"the runtime has no session '{ids['alice']}'", result.stderr)
                result = self.cli(server, "bob", "session", "limit", str(ids["alice"]), "1M")
                self.assertEqual(result.returncode, 1, result.stdout)
                self.assertEqual(alice.do("take plain 1"), GOOD)
                self.assertEqual(self.cli(server, "bob", "session", "end", str(ids["bob"])).returncode, 0)
                self.assertEqual(bob.do("take plain 1"), GONE)
                self.assertEqual(self.cli(server, "operator", "session", "end", str(ids["alice"])).returncode, 0)
                self.assertEqual(alice.do("take plain 1"), GONE)
        self.assertRegex(server.log(), r'event=session-ended peer=\S+ identity=alice reason="asked for" by=operator')

    @needs_capnp
    def test_the_listening_process_decides_itself(self):
        """A request that goes past the client's own check."""
        with Server("--sim", keys=self.folder) as server, self.program(server, "alice") as alice:
            ids = self.ids(server, "alice")
            with self.session(server, "bob") as session:
                failure = session.ask({"endSession": str(ids["alice"])}, "failure")
                self.assertEqual(failure["code"], "notFound")
                failure = session.ask({"limitSession": {"id": str(ids["alice"]), "device": 0, "memoryLimitBytes": "1"}}, "failure")
                self.assertEqual(failure["code"], "notFound")
            self.assertEqual(alice.do("take plain 1"), GOOD)

    def test_the_servers_own_user_is_an_administrator_on_the_socket(self):
        with Server("--sim", keys=self.folder) as server, self.program(server, "alice") as alice:
            self.assertEqual(alice.do("take plain 1"), GOOD)
            result = harness.run("session", "list", "--json", "--server", server.socket, "--key", self.path("bob"))
            one = json.loads(result.stdout)["runtimes"][0]["sessions"][0]
            self.assertEqual(one["identity"], "alice")
            result = harness.run("session", "end", str(one["id"]), "--server", server.socket, "--key", self.path("bob"))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(alice.do("take plain 1"), GONE)

    def test_an_administrators_role_ends_with_its_row(self):
        with Server("--sim", "--identities", self.rows("operator admin\n"), keys=self.folder) as server, self.program(server, "alice"):
            self.assertEqual(list(self.ids(server, "operator")), ["alice"])
            self.rows("")
            self.assertTrue(harness.wait_until(lambda: not self.ids(server, "operator")))


class Rows(Base):
    def test_the_number_of_sessions(self):
        with Server("--sim", "--identities", self.rows("alice sessions=1\n"), keys=self.folder) as server:
            with self.program(server, "alice") as first, self.program(server, "bob"):
                self.assertEqual(first.first, GOOD)
                with Program(server.address, key=None, words=["--key", self.path("alice")],
                             env={"AITHERION_KEY_FILE": None, "AITHERION_CONNECT_TIMEOUT": "1"}) as second:
                    self.assertNotEqual(second.first, GOOD)
                    self.assertIn("the server refused: 'alice' may have 1 sessions at a time", second.end())
                test = harness.run("net", "test", "--server", server.address, "--key", self.path("alice"), "--time", "0.1")
                self.assertEqual(test.returncode, 1)  # a test of the network counts as well
                self.assertIn("the server refused: 'alice' may have 1 sessions at a time", test.stderr)
                self.rows("alice sessions=2\n")
                with self.program(server, "alice") as third:
                    self.assertEqual(third.first, GOOD)

    def test_memory_counts_for_all_sessions_of_an_identity(self):
        rows = self.rows(f"alice memory_bytes={100 * MIB}\nbob memory_percent=1\n")
        with Server("--sim", "--identities", rows, keys=self.folder) as server:
            with self.program(server, "alice") as first, self.program(server, "alice") as second, self.program(server, "bob") as bob:
                self.assertEqual(first.do(f"take plain {60 * MIB}"), GOOD)
                self.assertEqual(second.do(f"take plain {60 * MIB}"), FULL)
                self.assertEqual(second.do(f"take plain {40 * MIB}"), GOOD)
                self.assertEqual(first.do(f"take plain {MIB}"), FULL)
                self.assertEqual(bob.do(f"take plain {150 * MIB}"), GOOD)  # of 16 GiB
                self.assertEqual(bob.do(f"take plain {20 * MIB}"), FULL)

    def test_a_row_bounds_what_a_program_asks_for(self):
        rows = self.rows(f"alice memory_bytes={100 * MIB}\nbob memory_percent=1\n")
        with Server("--sim", "--identities", rows, keys=self.folder) as server, self.program(server, "alice") as first:
            self.assertEqual(first.do("memory"), f"{GOOD} {100 * MIB} {100 * MIB} {100 * MIB}")
            self.assertEqual(first.do(f"take plain {60 * MIB}"), GOOD)
            for asked, mib, source in (("8G", 100, "identity"), ("30M", 30, "asked")):
                with self.subTest(asked), self.program(server, "alice", AITHERION_MEMORY=asked) as second:
                    left = min(40, mib)
                    self.assertEqual(second.do("memory"), f"{GOOD} {left * MIB} {mib * MIB} {mib * MIB}")
                    self.assertEqual(second.do(f"take plain {left * MIB + 1}"), FULL)
                    self.assertEqual(second.do(f"take plain {left * MIB}"), GOOD)
                    self.assertRegex(server.log(), rf"event=share-reached .* asked_bytes={left * MIB + 1} .* limit="
                                                   f"{'session' if source == 'asked' else 'identity'}\n")
                    use = self.listed(server, "alice")[-1]["devices"][0]
                    self.assertEqual((use["memory_limit_bytes"], use["memory_limit_source"]), (mib * MIB, source))
                self.assertTrue(harness.wait_until(lambda: len(self.listed(server, "alice")) == 1))

    def test_run_says_what_a_row_allows_of_the_gpus_time(self):
        """A share without a priority allows no more than normal."""
        rows = self.rows("alice share=20 cap\nbob priority=low\noperator priority=high share=100\n")
        share = "the key may have 20 percent of a GPU's time, so the program gets that, and not {} percent"
        class_ = "the key's highest priority is '{}', so the program gets that, and not '{}'"
        with Server("--sim", "--identities", rows, keys=self.folder) as server:
            for name, words, said in (
                    ("alice", ["--share", "21"], [share.format(21)]), ("alice", ["--share", "20", "--priority", "normal"], []),
                    ("alice", ["--share=100", "--priority=high"], [share.format(100), class_.format("normal", "high")]),
                    ("alice", [], []), ("bob", ["--share", "100"], []), ("bob", [], []),
                    ("bob", ["--priority", "normal"], [class_.format("low", "normal")]), ("bob", ["--priority", "low"], []),
                    ("operator", ["--share", "100", "--cap", "--priority", "high"], [])):
                with self.subTest(name=name, words=words):
                    result = harness.run("run", "--server", server.address, "--key", self.path(name), *words, "--", "true",
                                         env=harness.environment())
                    self.assertEqual((result.returncode, result.stdout), (0, ""))
                    self.assertEqual(result.stderr.splitlines(), [f"aitherion: warning: {line}" for line in said])
            result = harness.run("run", "--server", server.address, "--key", self.path("alice"), "--", "true",
                                 env=harness.environment(AITHERION_SHARE="50,cap"))
            self.assertIn(share.format(50), result.stderr)

    def test_faulty_rows_change_nothing(self):
        rows = self.rows("operator admin\n")
        with Server("--sim", "--identities", rows, keys=self.folder) as server, self.program(server, "alice"):
            self.rows("operator\nalice sessions=many\n")
            self.assertTrue(server.wait_for_log("event=identities-unusable"))
            self.assertEqual(list(self.ids(server, "operator")), ["alice"])
        self.assertIn("line 2 of the rows of identities is not valid: 'sessions'", server.log())
        result = runtime.run("serve", "--sim", "--listen", "127.0.0.1:0", "--key", self.folder, "--identities", rows)
        self.assertEqual(result.returncode, 1)
        self.assertIn("line 2 of the rows of identities is not valid", result.stderr)

    def test_rows_beside_the_socket(self):
        folder = tempfile.mkdtemp(dir=harness.scratch())
        with open(os.path.join(folder, "identities"), "w", encoding="ascii") as file:
            file.write("operator admin\n")
        with Server("--sim", "--socket", os.path.join(folder, "socket"), keys=self.folder) as server, self.program(server, "alice"):
            self.assertEqual(list(self.ids(server, "operator")), ["alice"])

    def test_metrics_say_who(self):
        with Server("--sim", "--metrics", "127.0.0.1:0", keys=self.folder) as server, self.program(server, "alice") as program:
            self.assertEqual(program.do(f"take plain {3 * MIB}"), GOOD)
            server.metrics = re.search(r"event=metrics address=(\S+)", server.log())[1]
            text = metrics(server)
        self.assertIn('\naitherion_runtime_identity_sessions{identity="alice"} 1\n', text)
        self.assertRegex(text, rf'\naitherion_runtime_identity_memory_used_bytes{{identity="alice",device="0",uuid="GPU-[^"]*",pci="[^"]*"}} {3 * MIB}\n')
        self.assertNotIn('"bob"', text)


if __name__ == "__main__":
    harness.main()
