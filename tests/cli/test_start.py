#!/usr/bin/env python3
"""start, stop, status, clean, key and their health: plans of captures, refusals, and a whole life with the process engine."""
import base64
import grp
import hashlib
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import unittest
import urllib.request

import cli
import authority
import harness
import nodes

SHIPPED = os.path.join(harness.SOURCE, "etc", "ac922_topology.yaml")
SOME_KEY = base64.b64encode(b"sixteen bytes ok").decode()
UNIT = os.path.join("packaging", "systemd", "aitherion.service")


class Base(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        # The path of a socket has at most 107 characters.
        self.folder = tempfile.mkdtemp(prefix="ath-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.document = os.path.join(self.folder, "topology.yaml")
        self.key = os.path.join(self.folder, "key")
        self.run_folder = os.path.join(self.folder, "run")

    def environment(self, **changes):
        return harness.environment(**{"AITHERION_RUN_FOLDER": self.run_folder, **changes})

    def write_document(self):
        """Makes a document for this machine, with a key of its own, and without Docker."""
        ports = nodes.write_document(self.document)
        with open(self.document, encoding="utf-8") as file:
            text = file.read().replace("engine: {", f'engine: {{ docker_host: "unix://{self.folder}/no-docker.sock",')
        with open(self.document, "w", encoding="utf-8") as file:
            file.write(text + f"key_file: {self.key}\n")
        return ports

    def run_on(self, command, *args, document=None, env=None, **options):
        result = harness.run(command, *args, "-c", document or self.document, env=self.environment(**(env or {})), **options)
        self.assertIsNone(harness.crashed(result), result.stderr)
        return result

    def ok(self, command, *args, **options):
        result = self.run_on(command, *args, **options)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result

    def data(self, command, *args, code=0, **options):
        """Returns the output with --json, checked against its schema."""
        result = self.run_on(command, *args, "--json", **options)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        value, faults = harness.check_json(result.stdout)
        self.assertEqual(faults, [])
        return value

    def error(self, command, *args, code=1, **options):
        result = self.run_on(command, *args, "--json", **options)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        value, faults = harness.check_json(result.stderr)
        self.assertEqual(faults, [])
        self.assertEqual(result.stdout, "")
        return value


class Plans(Base):
    def setUp(self):
        super().setUp()
        shutil.copy(SHIPPED, self.document)

    def plan(self, *args, **options):
        return self.data("start", "--dry-run", "--root", harness.capture("ac922-4gpu-host"), *args, **options)

    def test_request_bodies(self):
        plan = self.plan()
        self.assertEqual((plan["engine"], [node["id"] for node in plan["nodes"]]), ("docker", [0, 1]))
        text = json.dumps(plan)
        self.assertIn('"CpusetMems": "0,254-255"', text)
        self.assertIn(f'"aitherion.document": "{self.document}"', text)

    def test_hints_of_two_entries_do_not_undo_each_other(self):
        value = self.plan()
        hints = {warning["hint"] for node in value["nodes"] for warning in node["warnings"] if warning["code"] == "cgroup-mems-short"}
        self.assertEqual(len(hints), 1, hints)
        health = self.data("health", "--root", harness.capture("ac922-4gpu-host"), code=3)
        self.assertEqual({check["hint"] for check in health["checks"] if check["code"] == "cgroup-mems-short"}, hints)

    def test_one_entry(self):
        self.assertEqual([node["id"] for node in self.plan("1")["nodes"]], [1])
        self.assertEqual([node["id"] for node in self.data(
            "numa", "start", "0", "--dry-run", "--root", harness.capture("ac922-4gpu-host"))["nodes"]], [0])

    def test_engine_and_simulation(self):
        self.assertEqual(self.plan("--engine", "process")["engine"], "process")
        self.assertIs(self.plan("--sim")["is_sim"], True)

    def test_nothing_is_made(self):
        self.plan()
        self.assertEqual(os.listdir(self.folder), ["topology.yaml"])

    def test_text_has_lines_for_a_shell(self):
        text = self.ok("start", "--dry-run", "--root", "ac922-4gpu").stdout
        self.assertIn("docker run -d --pull=never", text)
        self.assertIn("--cpuset-mems 0,254-255", text)

    def test_a_relative_document_has_an_absolute_label(self):
        result = self.run_on("start", "--dry-run", "--root", "ac922-4gpu", "--json", document="topology.yaml", cwd=self.folder)
        self.assertIn(f'"aitherion.document": "{self.document}"', result.stdout)

    def test_this_machine_without_docker(self):
        self.write_document()
        result = self.ok("start", "--dry-run", "--engine", "docker")
        self.assertIn("docker run", result.stdout)
        self.assertIn("no answer at", result.stderr)


class Refusals(Base):
    def test_a_document_that_does_not_fit(self):
        shutil.copy(SHIPPED, self.document)
        error = self.error("start", "--dry-run", "--root", harness.capture("laptop"))
        self.assertEqual(error["code"], "document-invalid")
        self.assertTrue(all(fault["file"] == self.document and fault["line"] > 0 for fault in error["faults"]))

    def test_faults_of_other_entries_do_not_matter(self):
        self.write_document()
        with open(self.document, encoding="utf-8") as file:
            text = file.read()
        with open(self.document, "w", encoding="utf-8") as file:
            file.write(text.replace("numa:\n", "numa:\n  - { id: 7, node: 4095, memory_nodes: [4095], control_port: 50999, data_port: 50998 }\n"))
        self.assertEqual(self.error("start", "--engine", "process", "--dry-run")["code"], "document-invalid")
        self.data("start", "1", "--engine", "process", "--dry-run")

    def test_ids(self):
        self.write_document()
        self.assertEqual(self.error("start", "9", "--dry-run")["code"], "key-unknown")
        for command in ("start", "stop", "status"):
            self.assertEqual(self.error(command, "one", code=2)["code"], "usage")

    def test_a_capture_cannot_be_started(self):
        shutil.copy(SHIPPED, self.document)
        self.assertEqual(self.error("start", "--root", "ac922-4gpu", code=2)["code"], "usage")

    def test_no_document(self):
        for command in ("start", "stop", "status", "clean", "key"):
            self.assertEqual(self.error(command)["code"], "document-missing")

    def test_no_runtime(self):
        self.write_document()
        for command in ("session", "end", "1", "--yes"), ("net", "test"):
            error = self.error(*command)
            self.assertEqual((error["code"], error["message"]), ("not-found", "no runtime runs here"))
            self.assertIn(" start, or --server HOST:PORT ", error["hint"])

    def test_docker_on_request(self):
        self.write_document()
        error = self.error("start", "--engine", "docker")
        self.assertEqual(error["code"], "engine-unreachable")
        self.assertIn("no-docker.sock", error["message"])

    def test_values(self):
        self.write_document()
        for words in (("start", "--timeout", "0"), ("stop", "--timeout", "x"), ("key", "--new", "--export")):
            self.assertEqual(self.error(*words, code=2)["code"], "usage")


class NamedKeys(Base):
    def setUp(self):
        super().setUp()
        self.write_document()

    def content(self, name):
        with open(os.path.join(self.key, name), "rb") as file:
            return file.read()

    def test_the_first_key_makes_a_folder(self):
        self.assertIn(f"would make the key '{self.key}/alice'", self.ok("key", "add", "alice", "--dry-run").stdout)
        self.assertFalse(os.path.exists(self.key))
        made = self.data("key", "add", "alice")
        self.assertEqual((made["action"], made["name"], made["file"]), ("add", "alice", self.key + "/alice"))
        self.assertEqual(made["sha256"], hashlib.sha256(self.content("alice")).hexdigest())
        self.assertEqual((os.listdir(self.key), len(self.content("alice"))), (["alice"], 32))
        self.assertEqual([stat.S_IMODE(os.stat(path).st_mode) for path in (self.key, self.key + "/alice")], [0o755, 0o600])

    def test_the_only_key_becomes_the_default_one(self):
        self.ok("key", "--new")
        with open(self.key, "rb") as file:
            before = file.read()
        text = self.ok("key", "add", "alice").stdout
        self.assertIn("the key from before is the key 'default' now", text)
        self.assertEqual((self.content("default"), sorted(os.listdir(self.key))), (before, ["alice", "default"]))
        self.assertEqual(sorted(os.listdir(self.folder)), ["key", "topology.yaml"])
        self.assertNotIn("default", self.ok("key", "add", "bob").stdout)
        self.assertEqual(self.data("key")["file"], self.key + "/default")
        self.assertEqual(self.error("key", "add", "default")["code"], "exists")

    def test_the_list(self):
        self.assertEqual(self.data("key", "list")["keys"], [])
        self.ok("key", "--new")
        self.assertEqual([one["name"] for one in self.data("key", "list")["keys"]], ["default"])
        for name in ("zoe", "alice"):
            self.ok("key", "add", name)
        for name, content in (("weak", b"short"), ("old.bak", bytes(32)), (".hidden", bytes(32))):
            with open(os.path.join(self.key, name), "wb") as file:
                file.write(content)
        value = self.data("key", "list")
        self.assertEqual((value["path"], value["is_folder"]), (self.key, True))
        self.assertEqual([(one["name"], bool(one["problem"])) for one in value["keys"]],
                         [("alice", False), ("default", False), ("weak", True), ("zoe", False)])
        self.assertRegex(self.ok("key", "list").stdout, r"(?m)^weak .* can be guessed; 16 are needed$")

    def test_a_key_that_exists_gets_a_share(self):
        self.ok("key", "add", "old.one")
        error = self.error("key", "add", "old.one", "--share", "25")
        self.assertEqual(error["code"], "exists")
        command = re.search(r"aitherion -c \S+ (configure --set identities\.old\.one\.share=25);", error["hint"])[1]
        self.ok(*command.split())
        (row,) = self.data("configure", "--show")["document"]["identities"]
        self.assertEqual((row["name"], row["share"], row["priority"]), ("old.one", 25, None))

    def test_a_cap_of_no_share_is_refused_with_a_command_that_works(self):
        error = self.error("key", "add", "bad", "--cap")
        command = re.search(r"aitherion -c \S+ (key add bad --share 25 --cap)$", error["hint"])[1]
        self.assertFalse(os.path.exists(f"{self.key}/bad"))
        self.ok(*command.split())

    def test_a_new_key_takes_the_row_that_is_there(self):
        self.ok("configure", "--set", "identities.alice.share=10", "--set", "identities.alice.sessions=2")
        self.ok("key", "add", "alice", "--share", "20%")
        (row,) = self.data("configure", "--show")["document"]["identities"]
        self.assertEqual((row["name"], row["share"], row["sessions"]), ("alice", 20, 2))

    def test_the_row_goes_with_its_key(self):
        def rows():
            return [row["name"] for row in self.data("configure", "--show")["document"]["identities"]]
        for name in ("alice", "bob"):
            said = self.ok("key", "add", name, "--share", "60").stdout
            self.assertIn(f"wrote the row of '{name}' into `identities` of the document; `aitherion start` gives it", said)
            self.assertEqual("warning: the shares of identities that may use the same GPU add up to 120 percent" in said, name == "bob")
        self.assertNotIn("row", self.ok("key", "add", "carol").stdout)
        self.assertIn("would remove the row of 'alice'", self.ok("key", "remove", "alice", "--dry-run").stdout)
        self.assertEqual(rows(), ["alice", "bob"])
        self.assertIn("removed the row of 'alice' in `identities`", self.ok("key", "remove", "alice", "--yes").stdout)
        self.assertEqual(rows(), ["bob"])
        self.assertIs(self.data("key", "remove", "carol", "--yes")["has_row"], False)
        self.ok("key", "add", "alice", "--share", "10")
        self.assertEqual(rows(), ["bob", "alice"])

    def test_a_key_is_removed_only_on_request(self):
        self.ok("key", "add", "alice")
        self.ok("key", "add", "bob")
        self.assertEqual(self.error("key", "remove", "alice")["message"], "the key 'alice' stays as it was")
        self.assertIn("would remove", self.ok("key", "remove", "alice", "--dry-run").stdout)
        self.assertEqual(sorted(os.listdir(self.key)), ["alice", "bob"])
        self.assertEqual(self.data("key", "remove", "alice", "--yes")["action"], "remove")
        self.assertEqual(os.listdir(self.key), ["bob"])
        self.assertEqual(self.error("key", "remove", "alice", "--yes")["code"], "not-found")

    def test_the_only_key_is_not_removed(self):
        self.ok("key", "--new")
        self.assertEqual(self.error("key", "remove", "default", "--yes", code=2)["code"], "usage")
        self.assertEqual(self.error("key", "remove", "alice", "--yes")["message"], f"there is no key 'alice': '{self.key}' is one key for all")

    def test_names(self):
        for name in ("", ".x", "a/b", "../x", "a b", "x" * 64, "old.bak", "\u00e4"):
            self.assertEqual(self.error("key", "add", name, code=2)["code"], "usage", name)
        self.assertFalse(os.path.exists(self.key))

    def test_an_exported_key_keeps_its_name(self):
        self.ok("key", "--new")
        self.ok("key", "add", "alice")
        line = self.ok("key", "--export", "alice").stdout
        self.assertEqual(line, f"alice {base64.b64encode(self.content('alice')).decode()}\n")
        self.assertEqual(self.ok("key", "--export", "default").stdout, base64.b64encode(self.content("default")).decode() + "\n")
        value = self.data("key", "--export", "alice")
        self.assertEqual((value["name"], value["key_base64"]), ("alice", line.split()[1]))
        path = os.path.join(self.folder, "exported")
        self.ok("key", "--export", "alice", "-o", path)
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read(), line)
        self.ok("key", "--export", "default", "-o", path + ".default")
        with open(path + ".default", encoding="ascii") as file:
            self.assertEqual(base64.b64decode(file.read()), self.content("default"))
        key = self.content("alice")
        shutil.rmtree(self.key)
        self.ok("key", "--import", input=line)
        self.assertEqual((os.listdir(self.key), self.content("alice")), (["alice"], key))
        self.ok("key", "--import", input=line)  # the same key again needs no question
        self.ok("key", "--import", "carol", input=line)
        self.assertEqual(self.content("carol"), key)
        self.assertEqual(self.error("key", "--import", input="alice " + SOME_KEY + "\n")["code"], "exists")
        self.ok("key", "--import", "--yes", input="alice " + SOME_KEY + "\n")
        self.assertEqual(self.content("alice"), base64.b64decode(SOME_KEY))
        self.assertEqual([one["name"] for one in self.data("key", "list")["keys"]], ["alice", "carol"])  # alice.bak is none
        for wrong in ("../x " + SOME_KEY, "a b " + SOME_KEY, " " + SOME_KEY):
            self.assertEqual(self.error("key", "--import", input=wrong + "\n")["code"], "key-file-invalid")
        self.assertEqual(self.error("key", "--export", "dave")["code"], "not-found")

    def test_completion_offers_names(self):
        for name in ("alice", "bob"):
            self.ok("key", "add", name)
        for words in (("key", "remove", ""), ("key", "--export", ""), ("run", "--key-name", "")):
            result = harness.run("complete", "key-name", "aitherion", "-c", self.document, *words, env=self.environment())
            self.assertEqual([line.split("\t")[0] for line in result.stdout.splitlines()], ["alice", "bob"], words)

    @unittest.skipIf(os.geteuid() != 0, "only root can give a key to a group")
    def test_a_group_reads_its_key(self):
        self.ok("key", "add", "alice")
        group = grp.getgrgid(65534).gr_name
        self.assertEqual(self.error("key", "add", "lab", "--group", "no such group")["code"], "not-found")
        self.assertEqual(os.listdir(self.key), ["alice"])
        self.assertIn(f"members of the group '{group}'", " ".join(self.ok("key", "add", "lab", "--group", group).stdout.split()))
        os.chmod(self.folder, 0o755)
        result = harness.run(command=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", harness.binary(), "key",
                                      "-c", self.document, "--json"], env=self.environment(HOME=None, XDG_CONFIG_HOME=None))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["name"], "lab")  # the only one that this user may read
        self.assertEqual([one["group"] for one in self.data("key", "list")["keys"]], [None, group])
        self.assertNotIn("warning", self.ok("key").stdout)


class Key(Base):
    def setUp(self):
        super().setUp()
        self.write_document()

    def content(self, path=None):
        with open(path or self.key, "rb") as file:
            return file.read()

    def test_new_and_shown(self):
        self.assertIs(self.data("key")["is_there"], False)
        made = self.data("key", "--new")
        content = self.content()
        self.assertEqual((len(content), stat.S_IMODE(os.stat(self.key).st_mode)), (32, 0o600))
        self.assertEqual(made["sha256"], hashlib.sha256(content).hexdigest())
        shown = self.data("key")
        self.assertEqual((shown["sha256"], shown["mode"], shown["key_base64"]), (made["sha256"], "0600", None))
        self.assertNotIn(base64.b64encode(content).decode(), self.ok("key").stdout)

    def test_a_key_is_replaced_only_on_request(self):
        self.ok("key", "--new")
        before = self.content()
        self.assertEqual(self.error("key", "--new")["code"], "exists")
        self.assertEqual(self.error("key", "--new", "--dry-run")["code"], "exists")  # as it would be without --dry-run
        self.assertEqual(self.error("key", "--import", "--dry-run", input=SOME_KEY + "\n")["code"], "exists")
        self.assertIn("would replace the shared key", self.ok("key", "--new", "--yes", "--dry-run").stdout)
        self.assertEqual(self.content(), before)
        self.assertEqual(sorted(os.listdir(self.folder)), ["key", "topology.yaml"])

    def test_a_replaced_key_is_kept(self):
        self.assertIsNone(self.data("key", "--new")["copy"])
        before = self.content()
        os.chmod(self.key, 0o644)
        copy = self.data("key", "--new", "--yes")["copy"]
        self.assertEqual((copy, self.content(copy), stat.S_IMODE(os.stat(copy).st_mode)), (self.key + ".bak", before, 0o600))
        now = self.content()
        self.assertNotEqual(now, before)
        self.assertIn(self.key + ".bak.1", self.ok("key", "--import", "--yes", input=SOME_KEY + "\n").stdout)
        self.assertEqual((self.content(copy), self.content(copy + ".1"), self.content()), (before, now, b"sixteen bytes ok"))

    @unittest.skipIf(os.geteuid() != 0, "only root can change to another user")
    def test_a_dry_run_refuses_what_cannot_be_written(self):
        env = self.environment(HOME=None, XDG_CONFIG_HOME=None)
        os.chmod(self.folder, 0o755)
        for words in ["--dry-run"], []:
            result = harness.run(command=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", harness.binary(), "key", "--new",
                                          "-c", self.document, *words, "--json"], env=env)
            self.assertEqual((result.returncode, json.loads(result.stderr or "{}").get("code")), (1, "no-access"), result)

    def test_to_another_machine(self):
        for content in (b"\0" * 16, b"any bytes, just 16\n\xff", os.urandom(32), os.urandom(5000)):
            with open(self.key, "wb") as file:
                file.write(content)
            line = self.ok("key", "--export").stdout
            self.assertEqual(line, base64.b64encode(content).decode() + "\n")
            os.remove(self.key)
            self.ok("key", "--import", input=line)
            self.assertEqual(self.content(), content)
            self.ok("key", "--import", input=line)  # the same key again needs no question

    def test_an_export_to_a_file(self):
        self.ok("key", "--new")
        path = os.path.join(self.folder, "exported")
        self.assertIn(f"would write the shared key to '{path}'", self.ok("key", "--export", "-o", path, "--dry-run").stdout)
        self.assertFalse(os.path.exists(path))
        value = self.data("key", "--export", "-o", path)
        self.assertEqual((value["output"], value["key_base64"], stat.S_IMODE(os.stat(path).st_mode)), (path, None, 0o600))
        self.assertEqual(self.content(path).decode(), self.ok("key", "--export").stdout)
        self.assertEqual(self.error("key", "--export", "-o", path)["message"], f"cannot write '{path}': it exists already")
        self.assertEqual(harness.run("key", "-o", path, env=self.environment()).returncode, 2)

    def test_invalid_keys(self):
        for line in ("", "\n", "not base64!\n", "QQ\n", "QQ==QQ==\n", base64.b64encode(b"fifteen bytes..").decode() + "\n"):
            self.assertEqual(self.error("key", "--import", input=line)["code"], "key-file-invalid")
        self.assertFalse(os.path.exists(self.key))

    def test_the_users_own_key_comes_first(self):
        own = os.path.join(self.folder, "config", "aitherion", "key")
        os.makedirs(os.path.dirname(own))
        self.ok("key", "--new")
        shutil.copy(self.key, own)
        env = {"XDG_CONFIG_HOME": os.path.join(self.folder, "config")}
        self.assertEqual(self.data("key", env=env)["file"], own)
        self.assertEqual(self.data("key")["file"], self.key)

    def test_a_key_that_other_users_may_read(self):
        self.ok("key", "--new")
        os.chmod(self.key, 0o644)
        self.assertIn("chmod 600", self.ok("key").stdout)

    @unittest.skipIf(os.geteuid() != 0, "only root can change to another user")
    def test_an_unreadable_key(self):
        self.ok("key", "--new")
        os.chmod(self.folder, 0o755)
        result = harness.run(command=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", harness.binary(), "key",
                                      "-c", self.document, "--json"], env=self.environment())
        self.assertEqual((result.returncode, json.loads(result.stderr)["code"]), (1, "no-access"))
        # a key of this user is written beside it
        home = os.path.join(self.folder, "home")
        os.mkdir(home)
        os.chown(home, 65534, 65534)
        env = {**self.environment(), "HOME": home}
        env.pop("XDG_CONFIG_HOME", None)
        result = harness.run(command=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", harness.binary(), "key",
                                      "-c", self.document, "--import", "--json"], env=env, input=SOME_KEY + "\n")
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(os.path.join(home, ".config", "aitherion", "key"), "rb") as file:
            self.assertEqual(file.read(), b"sixteen bytes ok")


@unittest.skipUnless(harness.copies_alone(), nodes.NO_BINDING)
class Macvlans(Base):
    """Runs in its own network, where a pair of links stands for a network card."""

    NETWORK = """
        mount --make-rprivate / && mount -t sysfs sysfs /sys && mount -t tmpfs tmpfs /run/netns &&
        ip link set lo up && ip link add p0 type veth peer name p1 && ip link set p0 up && ip link set p1 up &&
        ip link add p2 link p0 type macvlan || exit 77
        ip link delete p2
    """
    ONE_ENTRY = """
        started=$("$AITHERION" start --engine process --no-wait -c "$DOCUMENT")
        "$AITHERION" clean 1 --yes -c "$DOCUMENT" >/dev/null; echo "left: $(ip netns list | xargs)"
        COLUMNS=200 "$AITHERION" status -c "$DOCUMENT" | grep -o "^NUMA[0-9]  [a-z ]*" | tr -s " "
        "$AITHERION" clean --yes -c "$DOCUMENT" >/dev/null; echo "left: $(ip netns list | xargs)"
        echo "$started"
    """

    TWO_DOCUMENTS = """
        "$AITHERION" roce macvlan mv0 --parent p0 --address 10.9.1.10/24 -c "$DOCUMENT" >/dev/null
        "$AITHERION" clean --yes --json -c "$OTHER"; echo "left: $(ip netns list | xargs)" >&2
        cp "$DOCUMENT" "$DOCUMENT.away"; rm "$DOCUMENT"
        "$AITHERION" clean --dry-run --yes -c "$OTHER" >&2
        mv "$DOCUMENT.away" "$DOCUMENT"
        "$AITHERION" roce macvlan mv0 --parent p0 --address 10.9.1.10/24 -c "$OTHER" >/dev/null
        "$AITHERION" clean --yes -c "$DOCUMENT" >/dev/null; echo "left: $(ip netns list | xargs)" >&2
        "$AITHERION" clean --yes -c "$OTHER" >/dev/null; echo "left: $(ip netns list | xargs)" >&2
    """

    def run_in_network(self, script, **variables):
        if os.geteuid() or not shutil.which("unshare") or not shutil.which("ip"):
            self.skipTest("needs root, unshare and ip")
        os.makedirs("/run/netns", exist_ok=True)
        result = harness.run(command=["unshare", "--net", "--mount", "sh", "-c", self.NETWORK + script],
                             env=self.environment(AITHERION=harness.binary(), DOCUMENT=self.document, **variables))
        if result.returncode == 77:
            self.skipTest("macvlans are not possible here: " + result.stderr)
        return result

    def test_clean_leaves_those_of_another_document(self):
        self.write_document()
        other = os.path.join(self.folder, "other.yaml")
        shutil.copy(self.document, other)
        result = self.run_in_network(self.TWO_DOCUMENTS, OTHER=other)
        value, faults = harness.check_json(result.stdout)
        self.assertEqual(faults, [], result.stderr)
        self.assertEqual([(left["numa"], left["document"], left["hint"]) for left in value["left"]],
                         [(None, self.document, f"aitherion clean -c '{self.document}'")])
        self.assertEqual([step["kind"] for step in value["steps"] if step["kind"] == "macvlan"], [])
        # Without its document the macvlan goes. Another document that makes it again takes it over.
        self.assertIn("remove the macvlan 'mv0' and its namespace\n", result.stderr)
        self.assertEqual(re.findall("left: .*", result.stderr), ["left: aitherion-mv0", "left: aitherion-mv0", "left: "], result.stderr)

    def test_clean_removes_those_of_one_entry(self):
        ports = self.write_document()
        with open(self.document, "a", encoding="utf-8") as file:
            file.write("roce:\n  macvlans:\n" + "".join(
                f"    - {{ name: mv{node}, parent: p0, numa: {node}, address: 10.9.1.1{node}/24 }}\n" for node in (0, 1)))
        result = self.run_in_network(self.ONE_ENTRY)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[:4], ["left: aitherion-mv0", "NUMA0 running process ", "NUMA1 not started ", "left: "], result)
        # the address with its port
        self.assertIn(f"control 10.9.1.10:{ports[0]}/tcp (mv0), ", result.stdout)
        self.assertFalse(os.path.exists(self.run_folder))


@unittest.skipUnless(harness.copies_alone(), nodes.NO_BINDING)
class Life(Base):
    """The process engine, which needs no Docker."""

    def setUp(self):
        super().setUp()
        self.ports = self.write_document()
        self.addCleanup(self.run_on, "clean", "--yes")

    def start(self, *args, **options):
        return self.data("start", "--engine", "process", *args, **options)

    def outcomes(self, *args, **options):
        return [node["outcome"] for node in self.start(*args, **options)["nodes"]]

    def states(self, *args):
        return {node["id"]: node["state"] for node in self.data("status", *args)["nodes"]}

    def health(self, code=0):
        """Returns {code: status} of the checks that are not fine, without the findings about the machine."""
        value = self.data("health", code=code)
        known = {"no-gpu", "cpuset-limited", "distance-unknown", "runtime-problem", "memlock-low"}
        return {check["code"]: check["status"] for check in value["checks"]
                if check["status"] != "ok" and check["code"] not in known}

    def test_metrics(self):
        """The document switches them on. An entry without the key has none."""
        port = nodes.free_ports(5)[4]
        self.ok("configure", "0", "--metrics", str(port))
        plan = self.data("start", "--dry-run", "--sim", "--engine", "process")["nodes"]
        self.assertEqual([node["network"]["metrics_port"] for node in plan], [port, None])
        self.assertIn(f"metrics 127.0.0.1:{port}/tcp", self.ok("start", "--engine", "process", "--sim").stdout)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=harness.PATIENCE_S) as answer:
            self.assertIn(b'\naitherion_runtime_devices{node="0"} 1\n', answer.read())
        self.assertEqual([node["metrics_port"] for node in self.data("status")["nodes"]], [port, None])
        self.assertRegex(self.ok("status", env={"COLUMNS": "200"}).stdout, rf"NUMA0 .*127\.0\.0\.1:{port} \(metrics\)")
        self.assertEqual(self.ok("status").stdout.count("(metrics)"), 1)
        self.ok("configure", "0", "--metrics", "null")
        self.assertEqual(self.outcomes("--sim"), ["restarted", "same"])
        self.assertNotIn("(metrics)", self.ok("status").stdout)

    def test_a_taken_metrics_port(self):
        port = nodes.free_ports(5)[4]
        self.ok("configure", "0", "--metrics", str(port))
        with nodes.listener(port):
            error = self.start("--sim", code=1)["nodes"][0]["error"]
        self.assertEqual(error["code"], "port-in-use")
        self.assertIn("numa.0.metrics=PORT", error["hint"])

    def test_programs_of_this_machine(self):
        """Reaches a runtime by its socket or its port. With several runtimes the user chooses one."""
        example = os.path.join(harness.build(), "examples", "vector_add")

        def run(*words):
            return harness.run("-c", self.document, "run", "-v", *words, "--", example, env=self.environment())

        self.start("--sim")
        for words, pattern in ((["--numa", "0"], "transport=shm"), (["--numa", "1", "--transport", "tcp"], "transport=tcp")):
            result = run(*words)
            self.assertEqual((result.returncode, result.stdout.count(": right\n")), (0, 1), result.stderr)
            self.assertIn(pattern, result.stderr)
            self.assertIn(f": NUMA{words[1]} of ", result.stderr)
        result = run()
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertRegex(result.stderr, r"several runtimes run here; choose one\n  hint: --numa 0, or another id .*; --numa all for")
        for named in "0,1", "all", "1, 0":
            result = run("--numa", named)
            self.assertEqual((result.returncode, result.stdout.count(": right\n")), (0, 1), result.stderr)
            said = re.findall(r": NUMA(\d) of |(GPU \d): aith", result.stderr)
            order = ["1", "0"] if named == "1, 0" else ["0", "1"]
            self.assertEqual(["".join(one) for one in said], [order[0], "GPU 0", order[1], "GPU 1"])
        for words, pattern in (["0,0"], "NUMA entry 0 is named twice"), (["0, 0"], "NUMA entry 0 is named twice"), (["0,7"], "no runtime of NUMA entry 7 runs here"):
            self.assertIn(pattern, run("--numa", *words).stderr)
        value = self.data("session", "list")
        self.assertEqual([(one["id"], one["error"], one["sessions"]) for one in value["runtimes"]], [(0, None, []), (1, None, [])])
        self.ok("stop", "1")
        self.assertEqual(run().returncode, 0)
        result = run("--numa", "1")
        self.assertEqual((result.returncode, result.stdout), (125, ""))
        self.assertRegex(result.stderr, "no runtime of NUMA entry 1 runs here\n  hint: .*start 1")
        services = [node["service"] for node in self.data("status")["nodes"]]
        self.assertEqual((services[0]["driver_version"], services[0]["devices"][0]["is_simulated"], services[1]), (13000, True, None))

    def test_from_start_to_clean(self):
        self.assertEqual(self.states(), {0: "absent", 1: "absent"})
        first = self.start()
        self.assertEqual([(node["outcome"], node["is_healthy"]) for node in first["nodes"]], [("started", True)] * 2)
        self.assertIs(first["is_key_new"], True)
        self.assertNotIn("session-refused", self.ok("logs").stdout, "the start itself has the key that it made")
        self.assertEqual(stat.S_IMODE(os.stat(self.key).st_mode), 0o600)
        pids = [node["process"]["pid"] for node in self.data("status")["nodes"]]
        second = self.start()
        self.assertEqual(([node["outcome"] for node in second["nodes"]], second["is_key_new"]), (["same", "same"], False))
        status = self.data("status")["nodes"]
        self.assertEqual([node["process"]["pid"] for node in status], pids)
        self.assertEqual([node["process"]["listening"] for node in status], [[f"127.0.0.1:{port}"] for port in self.ports])
        self.assertEqual([node["drift"] for node in status], [None, None])
        self.assertEqual([node["was_running"] for node in self.data("stop", "1")["nodes"]], [True])
        self.assertEqual(self.states(), {0: "running", 1: "stopped"})
        self.assertEqual([node["was_running"] for node in self.data("stop")["nodes"]], [True, False])
        self.ok("clean", "1", "--yes")
        self.assertEqual(self.data("stop", "0", "1")["missing"], [1])
        self.assertEqual(self.outcomes(), ["started", "started"])
        self.ok("clean", "--yes")
        self.assertFalse(os.path.exists(self.run_folder))
        self.assertEqual(self.states(), {0: "absent", 1: "absent"})
        self.assertEqual(self.data("clean")["steps"], [])
        self.assertTrue(os.path.exists(self.key) and os.path.exists(self.document))

    def test_text(self):
        result = self.ok("start", "--engine", "process")
        self.assertIn("NUMA0: waiting until it answers", result.stderr)
        for word in ("NUMA0  started", f"127.0.0.1:{self.ports[1]}", self.key, "aitherion status"):
            self.assertIn(word, result.stdout)
        table = self.ok("status").stdout.splitlines()
        self.assertRegex(table[0], "^Node .*State .*Engine .*Address .*CPUs .*Memory nodes .*GPUs .*Since")
        self.assertRegex(table[1], f"^NUMA0 .*running .*process .*127.0.0.1:{self.ports[0]} ")
        self.assertNotIn("Next:", "".join(table))
        self.assertRegex(self.ok("status", env={"COLUMNS": "60"}).stdout, "(?m)^NUMA1\n  State +running$")
        self.assertEqual(self.ok("stop", "0").stdout, "stopped NUMA0 (process)\n")
        self.assertIn("NUMA0 is not running", self.ok("stop").stdout)
        self.assertEqual(self.ok("start", "-q", "--engine", "process").stderr, "")

    def test_gpus_are_those_that_the_runtime_serves(self):
        def shown(columns=""):
            return self.ok("status", "0", env={"COLUMNS": columns}).stdout

        self.assertEqual(self.data("status", "0")["nodes"][0]["gpus"], [])
        self.start("--sim")
        self.assertRegex(shown(), r"(?m)^NUMA0 .*  1 simulated  ")
        self.assertRegex(shown("60"), r"(?m)^  GPUs  +1 simulated$")
        self.ok("stop")
        self.assertNotIn("simulated", shown())

    def test_on_a_terminal(self):
        env = self.environment(TERM="xterm")
        for columns in 80, 60, 40:
            code, text = cli.run_on_terminal("start", "--engine", "process", "-c", self.document, env=env, size=(24, columns))
            self.assertEqual(code, 0, text)
            lines = re.findall("\r([^\r\n]*)\x1b\\[K", text)
            self.assertTrue(any(line.startswith("start") and line.endswith("%  NUMA0 done") for line in lines), text)
            self.assertEqual([line for line in lines if len(line) >= columns], [])
            self.assertEqual(any("#" in line for line in lines), columns >= 60)
            self.ok("stop")

    def test_dry_runs_change_nothing(self):
        self.start()
        self.assertIs(self.data("stop", "--dry-run")["nodes"][0]["was_running"], True)
        steps = self.data("clean", "--dry-run")["steps"]
        self.assertIn(("folder", os.path.join(self.run_folder, "numa0")), [(step["kind"], step["object"]) for step in steps])
        self.assertEqual(self.states(), {0: "running", 1: "running"})

    def test_clean_asks(self):
        self.start()
        self.assertEqual(self.error("clean", code=2)["code"], "usage")
        self.assertEqual(self.states(), {0: "running", 1: "running"})
        env = self.environment(TERM="xterm")
        code, text = cli.run_on_terminal("clean", "--no-input", "-c", self.document, env=env)
        self.assertEqual(code, 2, text)
        self.assertEqual(self.states(), {0: "running", 1: "running"})

    def test_keys_that_no_runtime_may_use(self):
        for content, mode, words in ((b"fifteen bytes..", 0o600, "has 15 bytes and can be guessed; 16 are needed"),
                                     (bytes(32), 0o666, "other users may change the shared key"), (bytes(32), 0o620, "other users may change")):
            with open(self.key, "wb") as file:
                file.write(content)
            os.chmod(self.key, mode)
            error = self.error("start", "--engine", "process")
            self.assertEqual(error["code"], "key-file-invalid")
            self.assertIn(words, error["message"])
        os.chmod(self.key, 0o600)
        self.assertEqual(self.outcomes(), ["started", "started"])

    def test_a_failed_node_does_not_stop_the_other(self):
        with nodes.listener(self.ports[0]):
            value = self.start(code=1)
        self.assertEqual([node["outcome"] for node in value["nodes"]], ["failed", "started"])
        self.assertEqual(value["nodes"][0]["error"]["code"], "port-in-use")
        self.assertIn(str(self.ports[0]), value["nodes"][0]["error"]["message"])
        self.assertEqual(self.states()[1], "running")
        with nodes.listener(self.ports[0]):
            result = self.run_on("start", "0", "--engine", "process", "-q")
        self.assertEqual(result.returncode, 1)
        self.assertIn(str(self.ports[0]), result.stdout)  # printed even with -q
        self.assertEqual(self.outcomes(), ["started", "same"])

    def test_a_changed_document(self):
        self.start()
        nodes.change_document(self.document, 1)
        self.assertEqual([bool(node["drift"]) for node in self.data("status")["nodes"]], [False, True])
        self.assertEqual(self.health(code=3), {"runtime-drift": "warning", "runtime-silent": "fault"})  # at the new port
        self.assertEqual(self.outcomes(), ["same", "restarted"])
        self.assertEqual(self.health(), {})

    def test_settings_of_the_document_need_a_restart(self):
        """encrypt and limits reach the servers, and a change of them is a drift until the next start."""
        def command(node):
            with open(f"/proc/{self.data('status', str(node))['nodes'][0]['process']['pid']}/cmdline", encoding="ascii") as file:
                return file.read().split("\0")
        self.start()
        self.assertNotIn("--encrypt", command(0))
        self.ok("configure", "--encrypt", "on", "--set", "limits.sessions_per_source=9")
        self.assertEqual([(node["drift"], node["needs_restart"]) for node in self.data("status")["nodes"]],
                         [("its settings have changed since it was started", True)] * 2)
        self.assertEqual(self.health(), {"runtime-drift": "warning"})
        plan = self.data("start", "--dry-run", "--engine", "process")
        self.assertEqual([(node["outcome"], node["settings"]) for node in plan["nodes"]],
                         [("restarted", {"encrypt": "on", "limits.sessions_per_source": "9"})] * 2)
        self.assertIn("settings encrypt: on, limits.sessions_per_source: 9",
                      " ".join(self.ok("start", "--dry-run", "--engine", "process").stdout.split()))
        self.assertEqual(self.outcomes(), ["restarted", "restarted"])
        words = command(1)
        self.assertEqual([words[words.index(option) + 1] for option in ("--encrypt", "--sessions-per-source")], ["on", "9"])
        self.assertEqual(self.health(), {})
        # the port wants TLS now, from this machine too
        server = ("--server", f"127.0.0.1:{self.ports[0]}")
        self.assertEqual(self.error("session", "list", *server, env={"AITHERION_ENCRYPT": "off"})["code"], "not-encrypted")
        self.ok("session", "list", *server)

    def test_turns_on_gpus_are_a_setting(self):
        def said():
            result = harness.run("-c", self.document, "run", "--numa", "0", "--share", "25", "--", "true", env=self.environment())
            self.assertEqual(result.returncode, 0, result.stderr)
            return result.stderr
        self.start()
        self.assertNotIn("no effect", said())
        self.ok("configure", "--sharing", "free")
        self.assertEqual(self.data("start", "0", "--dry-run", "--engine", "process")["nodes"][0]["settings"], {"sharing": "free"})
        self.assertEqual([node["needs_restart"] for node in self.data("status")["nodes"]], [True, True])
        self.assertEqual(self.outcomes(), ["restarted", "restarted"])
        self.assertIn("the runtime gives no turns (sharing: free): shares and priorities have no effect", said())

    def test_the_level_of_the_log(self):
        """It is a setting like others. The option of start counts for this start only."""
        def log():
            return self.ok("logs", "0").stdout
        self.ok("configure", "--log-level", "warning")
        self.start()
        self.assertNotIn("level=info", log())
        self.assertEqual(self.data("start", "0", "--dry-run", "--engine", "process", "--log-level", "debug")["nodes"][0]["settings"],
                         {"log_level": "debug"})
        self.ok("start", "0", "--engine", "process", "--log-level", "debug")
        self.assertIn("level=debug event=handshake", log())
        self.assertEqual([bool(node["drift"]) for node in self.data("status")["nodes"]], [True, False])
        self.assertEqual(self.outcomes(), ["restarted", "same"])
        self.ok("restart", "0", "--log-level", "info")
        self.assertNotIn("level=debug", log().rpartition("level=info event=started ")[2])
        self.ok("configure", "--set", "log_level=info")
        self.assertEqual(self.outcomes(), ["same", "restarted"])
        self.assertEqual(self.error("start", "--log-level", "quiet", code=2)["message"],
                         "'quiet' is not a value for '--log-level': error|warning|info|debug")

    def test_large_copies_by_udp(self):
        """The document switches UDP on, at the port of the calls if there are no data interfaces. Programs ask for it."""
        udp = f"127.0.0.1:{self.ports[0]}/udp"

        def listening():
            return self.data("status", "0")["nodes"][0]["process"]["listening"]
        self.start()
        self.assertNotIn(udp, listening())
        self.ok("configure", "--udp", "on")
        planned = self.ok("start", "0", "--dry-run", "--engine", "process").stdout
        self.assertIn(f"control 127.0.0.1:{self.ports[0]}/tcp+udp", planned)
        self.assertEqual(self.data("start", "0", "--dry-run", "--engine", "process")["nodes"][0]["settings"], {"udp": "on"})
        self.assertEqual(self.outcomes(), ["restarted", "restarted"])
        self.assertEqual(listening().count(udp), 1)
        self.assertIn(udp, self.ok("status", env={"COLUMNS": "200"}).stdout)
        result = harness.run("-c", self.document, "run", "--numa", "0", "--transport", "udp", "--encrypt", "on", "--",
                             os.path.join(harness.build(), "examples", "vector_add"), env=self.environment())
        self.assertEqual((result.returncode, result.stdout.count(": right\n")), (0, 1), result.stderr)
        self.assertNotIn("large data goes by TCP", result.stderr)
        self.assertIn("transport=udp", self.ok("logs", "0").stdout)
        self.ok("stop", "0")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(("127.0.0.1", self.ports[0]))
            error = self.start("0", code=1)["nodes"][0]["error"]
        self.assertEqual(error["code"], "port-in-use")
        self.assertIn("numa.0.control_port=PORT", error["hint"])
        self.ok("configure", "--udp", "off")
        self.assertEqual(self.outcomes(), ["started", "restarted"])
        self.assertNotIn(udp, listening())

    def test_metrics_of_a_start(self):
        """Each entry has a port of its own, for this start only."""
        port = nodes.free_ports(6)[5]
        self.start()
        planned = self.data("start", "--dry-run", "--engine", "process", "--metrics", f"127.0.0.1:{port}")["nodes"]
        self.assertEqual([[word for word in node["command"] if word.startswith("127.0.0.1:")][-1] for node in planned],
                         [f"127.0.0.1:{port}", f"127.0.0.1:{port + 1}"])
        self.ok("start", "0", "--engine", "process", "--metrics", f"127.0.0.1:{port}")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=harness.PATIENCE_S) as page:
            self.assertIn(b"aitherion_up", page.read())
        self.assertEqual([bool(node["drift"]) for node in self.data("status")["nodes"]], [True, False])
        self.assertEqual(self.outcomes(), ["restarted", "same"])
        for wrong in ("localhost", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65535"):
            with self.subTest(wrong):
                self.assertEqual(self.error("start", "--metrics", wrong, code=2)["message"], f"'{wrong}' is not a value for '--metrics'")

    @unittest.skipIf(authority.LACKS, authority.LACKS)
    def test_health_of_a_certificate(self):
        maker = authority.Authority("here")
        def use(pair):
            self.ok("configure", "--set", f"tls_certificate={pair[0]}", "--set", f"tls_key={pair[1]}")
        def told(code=0):
            checks = [check for check in self.data("health", code=code)["checks"] if check["code"] == "certificate-unusable"]
            return [(check["status"], check["message"]) for check in checks]
        self.assertEqual(told(), [])
        good, brief, old = maker.sign("good", days="15"), maker.sign("brief", days="13"), maker.sign("old", days="-1")
        use(good)
        self.assertEqual([status for status, _ in told()], ["ok"])
        use(brief)
        (status, message), = told()
        self.assertEqual(status, "warning")
        self.assertIn(f"the certificate '{brief[0]}' expires soon, at 20", message)
        use(old)
        (status, message), = told(code=3)
        self.assertEqual(status, "fault")
        self.assertIn(f"the certificate '{old[0]}' was valid until 20", message)

    @unittest.skipIf(authority.LACKS, authority.LACKS)
    def test_runtimes_prove_themselves_by_a_certificate(self):
        good, other = authority.Authority("here"), authority.Authority("elsewhere")
        certificate, key = good.sign("server")
        os.chmod(key, 0o644)
        self.ok("configure", "--set", f"tls_certificate={certificate}", "--set", f"tls_key={key}")
        error = self.error("start", "--engine", "process")
        self.assertEqual((error["code"], error["hint"]), ("certificate-invalid", f"chmod 600 {key}"))
        os.chmod(key, 0o600)
        self.start()
        server = ("--server", f"127.0.0.1:{self.ports[0]}")
        on = {"AITHERION_ENCRYPT": "on"}
        self.ok("session", "list", *server, env=on)
        self.ok("configure", "--set", f"tls_ca={other.file}")
        self.assertEqual(self.outcomes(), ["same", "same"])  # it is for clients
        self.assertEqual(self.error("session", "list", *server, env=on)["code"], "certificate-refused")
        self.ok("session", "list", *server, env={**on, "AITHERION_TLS_CA": good.file})
        self.ok("configure", "--set", f"tls_ca={good.file}")
        self.ok("session", "list", *server, env=on)
        for words, file in (([], good.file), (["--tls-ca", other.file], other.file)):
            result = harness.run("-c", self.document, "run", *server, *words, "--", "env", env=self.environment(**on))
            self.assertEqual(result.returncode, 0 if file == good.file else 125, result.stderr)
            self.assertIn("no trusted authority" if words else f"AITHERION_TLS_CA={file}\n", result.stderr if words else result.stdout)

    def test_rows_of_identities_change_without_a_restart(self):
        def rows(node):
            with open(os.path.join(self.run_folder, f"numa{node}", "identities"), encoding="ascii") as file:
                return file.read()
        self.ok("key", "add", "alice", "--memory", "4G", "--sessions", "2", "--gpus", "0004:04:00.0,0004:05:00.0")
        self.ok("key", "add", "operator", "--admin", "--share", "25", "--cap", "--priority", "normal", "--sm-share", "50%")
        self.start()
        self.assertEqual([rows(node) for node in (0, 1)],
                         ["alice memory_bytes=4294967296 sessions=2 gpus=0004:04:00.0,0004:05:00.0\n"
                          "operator share=25 cap priority=normal sm_share=50 admin\n"] * 2)
        self.assertEqual(self.outcomes(), ["same", "same"])
        pid = self.data("status", "0")["nodes"][0]["process"]["pid"]
        self.ok("configure", "--set", "identities.alice.memory=50%", "--set", "identities.alice.gpus=[]", "--set",
                "identities.operator.share=40", "--set", "identities.operator.cap=false", "--set", "identities.operator.priority=high", "--set", "identities.operator.sm_share=25")
        self.assertEqual([(node["drift"], node["needs_restart"]) for node in self.data("status")["nodes"]],
                         [("its identities have changed since it was started", False)] * 2)
        self.assertIn("(changes it without a restart)", " ".join(self.ok("status", "0").stdout.split()))
        self.assertEqual(self.health(), {"runtime-drift": "warning"})
        self.assertIn("(changes it without a restart)", " ".join(self.ok("health").stdout.split()))
        plan = self.data("start", "--dry-run", "--engine", "process")
        self.assertEqual([(node["outcome"], node["reason"]) for node in plan["nodes"]], [("changed", "identities")] * 2)
        self.assertIn("printf '%s\\n' \\\n    'alice memory_percent=50 sessions=2' \\\n"
                      f"    'operator share=40 priority=high sm_share=25 admin' >{self.run_folder}/numa0/identities", plan["nodes"][0]["commands"])
        self.assertIn("memory_bytes=4294967296", rows(0))
        self.assertEqual(self.outcomes(), ["changed", "changed"])
        self.assertEqual([node["drift"] for node in self.data("status")["nodes"]], [None] * 2)
        self.assertEqual(rows(1), "alice memory_percent=50 sessions=2\noperator share=40 priority=high sm_share=25 admin\n")
        self.assertEqual(self.data("status", "0")["nodes"][0]["process"]["pid"], pid)
        self.ok("key", "add", "bob")  # without a restart, and without a row
        self.assertIn("no program uses", self.ok("session", "list", "--numa", "0", "--key-name", "bob").stdout)
        self.ok("clean", "--yes")
        self.assertFalse(os.path.exists(os.path.join(self.run_folder, "numa0")))

    def test_status_shows_the_problems_that_health_shows(self):
        self.ok("configure", "--set", "numa.1.enforce=false")
        self.start()
        said = [[problem for problem in node["problems"] if problem["code"] != "sandbox-users"] for node in self.data("status")["nodes"]]
        words = "limits of GPU memory are counted only: sessions may go beyond them"
        self.assertEqual(said, [[], [{"is_fault": False, "code": "not-enforced", "object": None, "message": words}]])
        self.assertIn(f"NUMA1: it reports on 'not-enforced': {words}", " ".join(self.ok("status").stdout.split()))
        self.assertNotIn("not-enforced", self.ok("status", "0").stdout)
        self.assertIn(f"the runtime of NUMA1 reports on 'not-enforced': {words}", " ".join(self.ok("health").stdout.split()))
        self.ok("configure", "--encrypt", "off")
        self.assertEqual(self.outcomes(), ["restarted", "restarted"])
        for command in "status", "health":  # the hint has the entry's number
            self.assertRegex(" ".join(self.ok(command).stdout.split()),
                             r"NUMA0\S* (it )?reports on 'not-encrypted': TCP connections are not encrypted: .*? hint: "
                             r"aitherion -c \S+ configure --encrypt auto, then: aitherion -c \S+ start 0 ")
        self.ok("stop", "--yes")
        self.assertEqual([node["problems"] for node in self.data("status")["nodes"]], [[], []])

    def test_a_key_that_becomes_a_folder_is_a_change(self):
        self.start()
        self.ok("key", "add", "alice")
        self.assertEqual(self.outcomes(), ["restarted", "restarted"])
        self.assertEqual(self.outcomes(), ["same", "same"])

    def test_a_faulty_row_makes_no_key(self):
        for words in (("--memory", "4X"), ("--memory", "0%"), ("--share", "0"), ("--share", "101"), ("--sessions", "-1"), ("--gpus", "gpu0")):
            self.assertEqual(self.error("key", "add", "alice", *words)["code"], "value-invalid", words)
        fault = self.error("key", "add", "alice", "--cap")["message"]
        self.assertIn("'cap' of the identity 'alice' needs the key 'share' as well", fault)
        self.assertFalse(os.path.isdir(self.key))

    def test_simulation_by_flag_is_no_drift(self):
        self.ok("configure", "--set", "engine.sim=false")
        self.start("--sim")
        self.assertEqual([node["drift"] for node in self.data("status")["nodes"]], [None, None])
        self.assertEqual(self.health(), {})  # a start without the flag keeps the simulated GPUs

    def test_health(self):
        self.assertEqual(self.health(), {"runtime-not-started": "warning"})
        self.start()
        self.assertEqual(self.health(), {})
        text = self.ok("health", "-v").stdout
        self.assertRegex(text, f"Runtime +running, process, 127.0.0.1:{self.ports[0]}")
        self.assertIn("the runtimes answer", text)

    def test_health_of_a_hanging_runtime(self):
        self.start()
        pid = self.data("status", "0")["nodes"][0]["process"]["pid"]
        os.kill(pid, signal.SIGSTOP)
        try:
            self.assertEqual(self.health(code=3), {"runtime-silent": "fault"})
        finally:
            os.kill(pid, signal.SIGCONT)
        self.assertEqual(self.health(), {})

    def test_health_of_another_key(self):
        self.start()
        self.ok("key", "--new", "--yes")
        self.assertEqual(self.health(code=3), {"key-refused": "fault"})
        pids = [node["process"]["pid"] for node in self.data("status")["nodes"]]
        harness.wait_until(lambda: not any(map(harness.children_of, pids)))  # the questions that were refused are over
        self.ok("stop")
        self.start()
        self.assertEqual(self.health(), {})

    def test_a_key_that_others_may_read(self):
        self.start()
        os.chmod(self.key, 0o644)
        self.assertEqual(self.health(), {"key-open": "warning"})
        self.assertIn(f"chmod 600 {self.key}", self.ok("start", "--engine", "process").stderr)

    def test_sessions_of_runtimes_with_the_key_from_before(self):
        text = " ".join(self.ok("start", "--engine", "process", "--sim").stdout.split())
        self.assertIn(f"need it too: aitherion -c {self.document} key --export", text)
        self.assertIn(f"Next: aitherion -c {self.document} restart: ", " ".join(self.ok("key", "--new", "--yes").stdout.split()))
        for words in ["end", "1"], ["limit", "1", "1M"]:
            error = self.error("session", *words, "--numa", "0")
            self.assertEqual(error["code"], "key-refused")
            self.assertRegex(error["hint"], "aitherion -c .* restart 0, or --key FILE")
        self.assertIn("no program uses", self.ok("session", "list", "--numa", "all", "--key", self.key + ".bak").stdout)

    def test_start_with_another_key(self):
        self.start()
        self.ok("key", "--new", "--yes")
        failed = self.start(code=1)["nodes"][0]["error"]
        self.assertEqual((failed["code"], failed["hint"]), ("key-refused", f"aitherion -c {self.document} restart 0"))
        self.ok("stop")
        self.assertEqual(self.outcomes(), ["started", "started"])

    def test_clean_of_one(self):
        self.start()
        self.ok("clean", "1", "--yes")
        self.assertEqual(self.states(), {0: "running", 1: "absent"})
        self.assertEqual(sorted(name for name in os.listdir(self.run_folder) if name.startswith("numa")), ["numa0"])
        self.assertEqual(self.error("clean", "0", "--images", "--yes", code=2)["code"], "usage")

    def test_clean_of_missing_entries(self):
        self.assertIn("found nothing that aitherion made", self.ok("clean").stdout)
        self.start("0")
        self.assertIn("these entries left nothing behind", self.ok("clean", "1").stdout)

    def test_nodes_of_another_document(self):
        """Nodes that another existing document started are restarted and cleaned only on request."""
        self.start()
        other = os.path.join(self.folder, "other.yaml")
        shutil.copy(self.document, other)
        refused = self.start(document=other, code=1)["nodes"]
        self.assertEqual([node["error"]["code"] for node in refused], ["foreign"] * 2)
        self.assertEqual(refused[1]["error"]["hint"],
                         f"aitherion clean -c '{self.document}'; or take it over: aitherion -c {other} start 1 --yes")
        for text, is_said in (self.ok("status").stdout, False), (self.ok("status", document=other).stdout, True):
            self.assertEqual(f"'aitherion-numa0' was started from another document, '{self.document}'\n"
                             f"  hint: aitherion status -c '{self.document}'\n" in text, is_said, text)
        checks = {check["code"]: check for check in self.data("health", document=other)["checks"] if check["status"] != "ok"}
        self.assertEqual(checks["runtime-of-other-document"]["hint"], f"aitherion health -c '{self.document}'")
        self.assertFalse({"runtime-drift", "runtime-unrecorded", "key-refused"} & set(checks), checks)
        text = " ".join(self.ok("clean", "--yes", document=other).stdout.split())
        self.assertIn(f"NUMA0 is kept: 'aitherion-numa0' was started from another document, '{self.document}'", text)
        left = self.data("clean", "--yes", document=other)["left"]
        self.assertEqual([(one["numa"], one["document"]) for one in left], [(node, self.document) for node in (0, 1)])
        refused = self.data("stop", "--dry-run", document=other, code=1)["nodes"]
        self.assertEqual(self.data("stop", document=other, code=1)["nodes"], refused)
        self.assertEqual([(node["id"], node["was_running"], node["error"]["code"]) for node in refused],
                         [(0, True, "foreign"), (1, True, "foreign")])
        self.assertEqual(refused[1]["error"]["hint"],
                         f"aitherion stop -c '{self.document}'; or take it over: aitherion -c {other} stop 1 --yes")
        self.assertEqual(self.states(), {0: "running", 1: "running"})
        self.ok("stop", "1")
        self.assertEqual([node["was_running"] for node in self.data("stop", "1", document=other)["nodes"]], [False])
        left = self.data("clean", "--yes", document=other)["left"]  # a stopped node is still that of its document
        self.assertEqual([one["numa"] for one in left], [0, 1])
        self.assertEqual(self.states(), {0: "running", 1: "stopped"})
        self.ok("start", "1", "--engine", "process", "--sim")
        self.assertEqual([node["error"] for node in self.data("stop", "1", "--yes", document=other)["nodes"]], [None])
        self.ok("start", "1", "--engine", "process", "--sim")
        self.assertEqual([node["outcome"] for node in self.start("--yes", document=other)["nodes"]], ["restarted"] * 2)
        self.assertEqual(self.outcomes("--yes"), ["restarted"] * 2)
        os.remove(self.document)
        self.ok("clean", "--yes", document=other)
        self.assertFalse(os.path.exists(self.run_folder))
        shutil.move(other, self.document)

    def test_a_waiting_command_says_for_what(self):
        os.makedirs(self.run_folder)
        os.chmod(self.run_folder, 0o755)
        with open(os.path.join(self.run_folder, ".engine.lock"), "w", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            process = subprocess.Popen([harness.binary(), "stop", "-c", self.document], env=self.environment(),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            said = process.stderr.readline()
        process.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(said.strip().split(": ", 1)[-1],
                         f"waiting for another aitherion that starts, stops or cleans in '{self.run_folder}'")

    def test_a_run_folder_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("only root can change the owner of a folder")
        os.mkdir(self.run_folder)
        os.chown(self.run_folder, 65534, 65534)
        for words in (("start", "--engine", "process"), ("status",), ("stop",), ("clean", "--yes")):
            error = self.error(*words)
            self.assertEqual((error["code"], "user 65534" in error["message"]), ("foreign", True), words)
        os.rmdir(self.run_folder)

    def test_entries_by_their_names(self):
        self.assertEqual([node["id"] for node in self.start("NUMA1")["nodes"]], [1])
        self.assertEqual([node["id"] for node in self.data("status", "aitherion-numa1")["nodes"]], [1])

    def test_an_unknown_id(self):
        self.assertEqual(self.error("status", "7")["code"], "key-unknown")

    def test_without_a_gpu(self):
        """With neither GPUs nor simulated ones the runtime serves no GPU, which is no fault."""
        self.ok("configure", "--set", "engine.sim=false")
        self.assertEqual(self.outcomes(), ["started", "started"])
        self.assertEqual(self.health(), {"no-gpus": "warning"})

    def test_health_of_nodes_without_an_entry(self):
        self.start()
        with open(self.document, encoding="utf-8") as file:
            kept = [line for line in file if "{ id: 1," not in line]
        with open(self.document, "w", encoding="utf-8") as file:
            file.writelines(kept)
        self.assertEqual(self.health(), {"runtime-unrecorded": "warning"})
        self.assertEqual({node["id"]: node["is_recorded"] for node in self.data("status")["nodes"]}, {0: True, 1: False})

    def test_a_crash(self):
        self.start("0")
        note = f"it ended and was started again (1 so far)\n  hint: aitherion -c {self.document} logs 0\n"
        self.assertNotIn(note, self.ok("status").stdout)
        os.kill(self.data("status", "0")["nodes"][0]["process"]["pid"], signal.SIGKILL)
        self.assertTrue(harness.wait_until(lambda: self.data("status", "0")["nodes"][0]["process"]["restarts"] == 1))
        self.assertTrue(harness.wait_until(lambda: note in self.ok("status").stdout))
        self.ok("stop")
        self.assertNotIn(note, self.ok("status").stdout)
        self.assertEqual(self.health(), {"runtime-not-started": "warning"})

    def log_path(self, node):
        return os.path.join(self.run_folder, "state", f"numa{node}", "runtime.log")

    def write_log(self, node, text, mode="w"):
        with open(self.log_path(node), mode, encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)

    def test_logs(self):
        error = self.error("logs")
        self.assertEqual((error["code"], error["hint"].split()[-1]), ("not-found", "status"))
        self.start("--sim")
        for line in self.ok("logs").stdout.splitlines():
            self.assertRegex(line, r"^NUMA[01] \| (time=|listening )")
        self.assertRegex(self.ok("logs", "NUMA1").stdout, "^time=.* event=started .*")
        value = self.data("logs", "1", "-n", "1")["logs"][0]
        self.assertEqual((value["id"], value["engine"], value["name"], value["place"], len(value["lines"])),
                         (1, "process", "aitherion-numa1", self.log_path(1), 1))
        self.assertIn("no log of NUMA7", self.error("logs", "7")["message"])
        self.ok("stop")
        self.assertIn("event=stopped", self.ok("logs", "0").stdout, "a log stays after the end")
        self.ok("clean", "--yes")
        self.assertEqual(self.error("logs", "0")["code"], "not-found")

    def test_lines_of_a_log(self):
        self.start("0")
        old = "time=2026-01-01T10:00:00.000Z level=info event=one\nits second line\n"
        new = "time=2026-01-01T11:00:00.000Z level=info event=two\n"
        self.write_log(0, old + new)
        for words, wanted in (((), old + new), (("-n", "1"), new), (("-n", "0"), ""), (("-n", "all"), old + new), (("--lines=2",), "its second line\n" + new),
                              (("--since", "2026-01-01T10:30:00Z"), new), (("--since", "2026-01-01T10:30"), new), (("--since", "2026-01-01"), old + new),
                              (("--since", "2026-01-01 09:00:00", "-n1"), new), (("--since", "3d"), ""), (("--since", "1000000d"), old + new)):
            self.assertEqual(self.ok("logs", "0", *words).stdout, wanted, words)
        self.write_log(0, "time=2026-01-01T11:00:00.000Z \x1b[2J\tx\x00\u202e\u009b\udcff\r\nno end")
        self.assertEqual(self.ok("logs", "0").stdout, "time=2026-01-01T11:00:00.000Z \ufffd[2J x\ufffd\ufffd\ufffd\ufffd\nno end\n")
        self.assertEqual(len(self.data("logs", "0")["logs"][0]["lines"]), 2)
        self.write_log(0, "x" * 200000)
        self.assertEqual(self.ok("logs").stdout.replace("\n", ""), "x" * 200000)
        with open(self.log_path(0) + ".old", "w", encoding="utf-8") as file:
            file.write("older\n")
        self.write_log(0, "newer\n")
        self.assertEqual(self.ok("logs").stdout, "older\nnewer\n", "the supervisor moved the beginning into another file")
        for words, pattern in ((("-n", "x"), "a whole number, or all"), (("-n", "-1"), "a whole number"), (("--since", "yesterday"), "an age like 90s"),
                               (("--since", "12"), "an age like"), (("-f", "--json"), "prints text only")):
            result = self.run_on("logs", *words)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(pattern, result.stderr)
        os.remove(self.log_path(0))
        os.symlink("/etc/hostname", self.log_path(0))
        self.assertEqual(self.run_on("logs").returncode, 1, "a link is not followed")

    def test_levels_of_lines(self):
        """A line without a level is text of a driver or a crash. -n counts the lines that are shown."""
        self.start("0")
        stamp = "time=2026-01-01T10:00:00.000Z"
        lines = {"debug": f"{stamp} level=debug event=connection\n", "info": f"{stamp} level=info event=one text=\"a level=error\"\n",
                 "listening": "listening on 127.0.0.1:5\n", "warning": f"{stamp} level=warning event=two\n", "error": f"{stamp} level=error event=three\n",
                 "plain": "Segmentation fault\n", "old": f"{stamp} event=without\n"}
        self.write_log(0, "".join(lines.values()))
        for level, names in (("debug", list(lines)), ("info", ["info", "listening", "warning", "error", "plain", "old"]),
                             ("warning", ["warning", "error", "plain", "old"]), ("error", ["error", "plain", "old"])):
            self.assertEqual(self.ok("logs", "0", "--level", level).stdout, "".join(lines[name] for name in names))
        self.assertEqual(self.ok("logs", "0", "--level", "warning", "-n", "3").stdout, lines["error"] + lines["plain"] + lines["old"])
        self.assertEqual(self.ok("logs", "0", "--level", "warning", "-n", "9").stdout.count("\n"), 4)
        self.assertEqual(self.data("logs", "0", "--level", "error", "-n", "1")["logs"][0]["lines"], [lines["old"].strip()])
        self.assertEqual(self.error("logs", "--level", "warn", code=2)["message"], "'warn' is not a value for '--level': error|warning|info|debug")
        watch = self.watch("logs", "0", "-f", "--level", "warning", "-n", "3")
        self.assertEqual([watch.stdout.readline() for _ in range(3)], [lines["error"], lines["plain"], lines["old"]])
        self.write_log(0, lines["info"] + lines["warning"], "a")
        self.assertEqual(watch.stdout.readline(), lines["warning"])

    def test_status_says_where_the_log_is(self):
        self.start("0")
        self.assertEqual(self.data("status", "0")["nodes"][0]["process"]["log_file"], self.log_path(0))
        self.assertNotIn("its log", self.ok("status", "0").stdout)
        shown = self.ok("status", "0", "-v", env={"COLUMNS": "1000"}).stdout
        self.assertIn(f"NUMA0:  its log: {self.log_path(0)}\n  hint: aitherion -c {self.document} logs 0\n", shown)

    def test_following_survives_a_restart(self):
        self.start("0")
        watch = self.watch("logs", "0", "-f", "-n", "0")
        self.assertTrue(harness.wait_for_handler(watch, signal.SIGINT))
        for _ in range(2):
            self.ok("restart", "0")
            line = ""
            while "event=started" not in line:
                line = watch.stdout.readline()
                self.assertTrue(line, "it ended with the restart")
        self.ok("stop")
        self.assertIn("event=stopped", watch.stdout.read())
        self.assertEqual(watch.wait(harness.PATIENCE_S), 0)

    def test_following_logs(self):
        self.start("--sim")
        watch = self.watch("logs", "--follow", "-n", "0")
        self.assertTrue(harness.wait_for_handler(watch, signal.SIGINT))
        os.kill(self.data("status", "0")["nodes"][0]["process"]["pid"], signal.SIGKILL)
        line = ""
        while not re.match(r"NUMA0 \| time=.* event=started ", line):
            line = watch.stdout.readline()
            self.assertTrue(line.startswith("NUMA0 |"), line)
        self.write_log(1, "")  # as the supervisor does with a large log
        self.write_log(1, "after the cut\n", "a")
        while line != "NUMA1 | after the cut\n":
            line = watch.stdout.readline()
            self.assertTrue(line.startswith("NUMA"), line)
        self.ok("stop")
        self.assertIn("event=stopped", watch.stdout.read())
        self.assertEqual(watch.wait(harness.PATIENCE_S), 0, "it ends with the runtimes")

    def test_following_ends_with_a_signal(self):
        self.start("0")
        watch = self.watch("logs", "-f")
        self.assertIn("event=started", watch.stdout.readline())
        watch.send_signal(signal.SIGINT)
        self.assertEqual(watch.wait(harness.PATIENCE_S), 0)

    def watch(self, *words):
        process = subprocess.Popen([harness.binary(), *words, "-c", self.document], env=self.environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, text=True, cwd=harness.scratch())
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def test_watching(self):
        """Prints a line when something changes, and none for the time that goes on alone."""
        self.start("0", "--sim")
        lists = self.watch("session", "list", "--json", "--watch", "1")
        status = self.watch("status", "0", "--json", "--watch")
        for process, read in ((lists, lambda value: [len(one["sessions"] or []) for one in value["runtimes"]]),
                              (status, lambda value: value["nodes"][0]["state"])):
            value, faults = harness.check_json(process.stdout.readline())
            self.assertEqual((faults, read(value)), ([], [0] if process is lists else "running"))
        self.ok("stop", "0")
        self.assertNotEqual(lists.stdout.readline(), "")
        state = None
        while state != "stopped":  # a look may have come in the middle of the stop
            state = json.loads(status.stdout.readline())["nodes"][0]["state"]
        for process in lists, status:
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(harness.PATIENCE_S), 0)

    def test_seconds_of_watching(self):
        for command in "status", "session list":
            for value in "0", "x", "86401", "":
                result = harness.run(*command.split(), f"--watch={value}", "-c", self.document, env=self.environment())
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn("from 1 to 86400", result.stderr)

    def test_an_empty_key(self):
        with open(self.key, "wb"):
            pass
        self.assertEqual(self.error("start", "--engine", "process")["code"], "key-file-invalid")

    def test_a_killed_start(self):
        for delay in (0.01, 0.03, 0.06):
            process = subprocess.Popen([harness.binary(), "start", "--engine", "process", "-c", self.document],
                                       env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       cwd=harness.scratch())
            try:
                process.wait(delay)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            self.outcomes()
            self.assertEqual(self.states(), {0: "running", 1: "running"})
            self.ok("clean", "--yes")
            self.assertFalse(os.path.exists(self.run_folder))

    def test_no_wait(self):
        value = self.start("--no-wait")
        self.assertEqual([(node["outcome"], node["is_healthy"]) for node in value["nodes"]], [("started", False)] * 2)
        self.assertEqual(self.outcomes(), ["same", "same"])  # waits for the nodes

    @unittest.skipIf(os.geteuid() != 0 or not shutil.which("unshare"), "needs root and unshare")
    def test_a_user_without_rights_uses_the_runtimes(self):
        self.start("0")
        os.chmod(self.folder, 0o755)
        key = os.path.join(self.folder, "users")
        shutil.copy(self.key, key)
        os.chown(key, 65534, 65534)
        script = ('mount --make-rprivate / && mount -t tmpfs tmpfs /run && mkdir /run/aitherion && '
                  'mount --bind "$FOLDER" /run/aitherion || exit 77; exec "$@"')
        env = self.environment(FOLDER=self.run_folder, AITHERION_RUN_FOLDER=None, XDG_RUNTIME_DIR=None, AITHERION_DISABLE=None)
        command = ["unshare", "--mount", "sh", "-c", script, "sh", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                   harness.binary()]
        seen = harness.run(command=[*command, "status", "-c", self.document], env=env)
        if seen.returncode == 77:
            self.skipTest(f"no mounts here: {seen.stderr.strip()}")
        self.assertRegex(seen.stdout, "(?m)^NUMA0 +running ", seen.stderr)
        # a start that failed left a folder of the user's own, with a log alone
        left = os.path.join(self.folder, "left", "aitherion")
        os.makedirs(os.path.join(left, "state", "numa0"))
        with open(os.path.join(left, "state", "numa0", "runtime.log"), "w", encoding="ascii") as file:
            file.write("why it failed\n")
        own = {**env, "XDG_RUNTIME_DIR": os.path.dirname(left)}
        seen = harness.run(command=[*command, "status", "-c", self.document], env=own)
        self.assertRegex(seen.stdout, "(?m)^NUMA0 +running ", seen.stderr)
        logs = harness.run(command=[*command, "logs", "0", "-c", self.document], env=own)
        self.assertIn("why it failed", logs.stdout, logs.stderr)
        run = harness.run(command=[*command, "run", "--key", key, "true"], env=env)
        self.assertEqual(run.returncode, 0, run.stderr)
        # the document's key is root's alone
        refused = harness.run(command=[*command, "run", "-c", self.document, "true"], env=env)
        self.assertEqual(refused.returncode, 125)
        self.assertRegex(refused.stderr, "hint: sudo aitherion .*key --export.* \\| aitherion .*key --import")
        # with a copy of its own the user sees a runtime that runs as the document says
        config = os.path.join(self.folder, "config", "aitherion")
        os.makedirs(config)
        shutil.move(key, os.path.join(config, "key"))
        env["XDG_CONFIG_HOME"] = os.path.dirname(config)
        result = harness.run(command=[*command, "run", "-c", self.document, "true"], env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        in_folder = {**env, "AITHERION_RUN_FOLDER": self.run_folder}  # the folder's path is one of the settings
        seen = harness.run(command=[*command, "status", "0", "-c", self.document, "--json"], env=in_folder)
        node = json.loads(seen.stdout)["nodes"][0]
        self.assertEqual((node["drift"], node["process"]["listening"]), (None, [f"127.0.0.1:{self.ports[0]}"]))
        stopped = harness.run(command=[*command, "stop", "0", "-c", self.document], env=env)
        self.assertIn("'aitherion-numa0' belongs to another user", stopped.stderr)
        self.assertEqual(self.states()[0], "running")

    @unittest.skipIf(os.geteuid() != 0, "only root can change to another user")
    def test_a_user_without_rights(self):
        """A runtime with the user's own key and folder, without a login session."""
        os.chmod(self.folder, 0o777)
        env = self.environment(XDG_CONFIG_HOME=os.path.join(self.folder, "config"), AITHERION_RUN_FOLDER=None, XDG_RUNTIME_DIR=None)
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", harness.binary()]
        self.addCleanup(harness.run, command=[*words, "clean", "--yes", "-c", self.document], env=env)
        result = harness.run(command=[*words, "start", "0", "--engine", "process", "--json", "-c", self.document], env=env)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        value = json.loads(result.stdout)
        self.assertEqual(os.stat(value["key_file"]).st_uid, 65534)
        self.assertRegex(value["nodes"][0]["socket"], "^(/run/user/65534/aitherion|/tmp/aitherion-65534)/")
        self.assertIn("no cpuset", value["nodes"][0]["limits"])
        again = harness.run(command=[*words, "start", "0", "--engine", "process", "-c", self.document], env=env)
        self.assertRegex(" ".join(again.stdout.split()), "no cpuset: [^;]*; no memory limit: [^;]*; .* hint: only root may set them")
        # the runtime takes its share from its own user
        self.ok("configure", "--set", "numa.0.vram_fraction=0.25")
        changed = harness.run(command=[*words, "start", "0", "--engine", "process", "--json", "-c", self.document], env=env)
        self.assertEqual(json.loads(changed.stdout)["nodes"][0]["reason"], "share of GPU memory", changed.stderr)
        result = harness.run(command=[*words, "clean", "--yes", "-c", self.document], env=env)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


class Unit(unittest.TestCase):
    def test_systemd_accepts_the_unit(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze (package systemd)")
        if not harness.copies_alone():
            self.skipTest("systemd cannot run an emulated program as a service")
        path = os.path.join(harness.build(), UNIT)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertRegex(text, r"(?m)^ExecStart=/\S+/aitherion start ")
        folder = os.path.join(harness.scratch(), "unit")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "aitherion.service"), "w", encoding="utf-8") as file:
            for line in text.splitlines(keepends=True):
                words = line.split(" ", 1)
                if line.startswith("Exec"):
                    line = words[0].split("=")[0] + "=" + harness.binary() + " " + words[1]
                file.write(line)
        result = harness.run(command=["systemd-analyze", "verify", "--man=no", file.name])
        self.assertEqual((result.returncode, result.stdout + result.stderr), (0, ""))


if __name__ == "__main__":
    harness.isolate()
    harness.main()
