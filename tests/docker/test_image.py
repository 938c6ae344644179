#!/usr/bin/env python3
"""`aitherion image` with a real Docker: built, run, built again, replaced, removed; and a daemon that fails meanwhile."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import engine  # noqa: E402
import fake  # noqa: E402
import harness  # noqa: E402

NAME = "aitherion-runtime:latest"


def runtime():
    path = os.path.join(harness.build(), "aitherion-runtime")
    if not os.access(path, os.X_OK):
        raise unittest.SkipTest("no aitherion-runtime beside aitherion")
    return path


class ImageCase(unittest.TestCase):
    def setUp(self):
        runtime()
        self.daemon = engine.shared()
        self.addCleanup(self.forget)

    def forget(self):
        for container in self.steps("list", "aitherion.test"):
            self.steps("remove", container["name"], "force")
        for image in self.json("image", "list")["images"]:
            for name in image["names"] or [image["id"]]:
                self.aitherion("image", "remove", name)

    def aitherion(self, *words, host=None, **options):
        return harness.run(*words, env=harness.environment(DOCKER_HOST=host or self.daemon.host), **options)

    def ok(self, *words, **options):
        result = self.aitherion(*words, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def json(self, *words, **options):
        value, faults = harness.check_json(self.ok(*words, "--json", **options).stdout)
        self.assertEqual(faults, [])
        return value

    def failure(self, code, *words, **options):
        result = self.aitherion(*words, "--json", **options)
        self.assertEqual(result.returncode, 1, result.stdout)
        error = json.loads(result.stderr)
        self.assertEqual(error["code"], code, error)
        return error

    def steps(self, *words):
        _, lines = engine.steps(self.daemon.host, *words)
        return lines

    def start(self, name, *command, **more):
        """Runs a program of the image. Returns (exit code, output)."""
        body = {"Image": NAME, "Cmd": list(command), "Labels": {"aitherion.test": "1"}, "NetworkDisabled": True,
                "HostConfig": {"ReadonlyRootfs": True, "CapDrop": ["ALL"]}, **more}
        made = self.steps("create", name, json.dumps(body))
        self.assertNotIn("error", made[-1], made)
        self.assertNotIn("error", (self.steps("start", name) or [{}])[-1])
        ended = self.steps("wait", name, "30000")
        output = "".join(line.get("text", "") for line in self.steps("logs", name))
        return ended[-1], output


class Built(ImageCase):
    def test_program_runs(self):
        built = self.json("image", "build")
        self.assertEqual((built["image"], built["outcome"]), (NAME, "loaded"))
        ended, output = self.start("aitherion-test-version", "--version")
        self.assertEqual(ended.get("exit_code"), 0, (ended, output))
        self.assertIn("aitherion-runtime " + built["version"], output)

    def test_contains_libraries_opened_late(self):
        """`health --json` opens jansson by name, which a note in the program declares."""
        self.ok("image", "build")
        _, output = self.start("aitherion-test-health", "health", "--no-auth", "--server", "127.0.0.1:1", "--json")
        self.assertIn("{", output, output)
        self.assertNotIn("libjansson", output)

    def test_ids_match_dockers(self):
        built = self.json("image", "build")
        seen = self.steps("image-inspect", NAME)[-1]
        self.assertEqual(seen["id"], built["id"])
        self.assertEqual(seen["architecture"], built["architecture"])
        self.assertEqual(seen["labels"], {"aitherion.version": built["version"], "aitherion.tag": NAME,
                                          "aitherion.build-id": built["build_id"]})

    def test_a_second_build_does_nothing(self):
        first = self.json("image", "build")
        second = self.json("image", "build")
        self.assertEqual(second["outcome"], "current")
        self.assertEqual(second["id"], first["id"])
        self.assertIn("nothing to do", self.ok("image", "build").stdout)

    def test_a_dry_run_loads_nothing(self):
        self.assertEqual(self.json("image", "build", "--dry-run")["outcome"], "loaded")
        self.assertEqual(self.json("image", "list")["images"], [])

    def test_saved_archive_loads(self):
        archive = os.path.join(harness.scratch(), "image.tar")
        saved = self.json("image", "build", "-o", archive)
        loaded = self.steps("load", archive, "sized")
        self.assertNotIn("error", loaded[-1], loaded)
        self.assertEqual(self.steps("image-inspect", NAME)[-1]["id"], saved["id"])
        self.assertEqual(self.json("image", "build")["outcome"], "current")

    def test_other_names(self):
        self.assertEqual(self.json("image", "build", "--tag", "other/aitherion")["image"], "other/aitherion:latest")
        self.assertEqual(self.steps("image-inspect", "other/aitherion:latest")[-1]["names"], ["other/aitherion:latest"])

    def test_name_from_the_document(self):
        document = os.path.join(harness.scratch(), "named.yaml")
        with open(document, "w", encoding="utf-8") as file:
            file.write("schema: aitherion.topology/1\nnode: { name: a }\n"
                       f"engine: {{ image: \"named:7\", docker_host: \"{self.daemon.host}\" }}\nnuma: []\n")
        self.assertEqual(self.json("image", "build", "-c", document)["image"], "named:7")
        # The document also gives Docker's address if the environment has none.
        result = harness.run("image", "list", "--json", "-c", document)
        listed, faults = harness.check_json(result.stdout)
        self.assertEqual((faults, listed["docker"], listed["used_by_start"]), ([], self.daemon.host, "named:7"))
        self.assertEqual([image["is_used_by_start"] for image in listed["images"]], [True])


class Replaced(ImageCase):
    def changed(self):
        """Returns a runtime of other bytes: bytes after the end of an ELF file are ignored."""
        path = os.path.join(harness.scratch(), "changed", "aitherion-runtime")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy(runtime(), path)
        with open(path, "ab") as file:
            file.write(b"x")
        return path

    def test_removes_the_old_image(self):
        first = self.json("image", "build")
        second = self.json("image", "build", "--runtime", self.changed())
        self.assertEqual(second["outcome"], "loaded")
        self.assertNotEqual(second["id"], first["id"])
        self.assertEqual([image["id"] for image in self.json("image", "list")["images"]], [second["id"]])
        self.assertRegex(self.ok("complete", "image", "aitherion", "image", "remove", "").stdout, rf"^{re.escape(NAME)}\t[\d.]+ MiB\n$")

    def test_keeps_the_old_image_of_a_container(self):
        first = self.json("image", "build")
        self.start("aitherion-test-old", "--version")
        self.json("image", "build", "--runtime", self.changed())
        listed = {image["id"]: image["names"] for image in self.json("image", "list")["images"]}
        self.assertEqual(listed[first["id"]], [])
        self.assertIn("(no name)", self.ok("image", "list").stdout)

    def test_keeps_the_old_image_under_another_name(self):
        first = self.json("image", "build")
        self.steps("ask", "POST", f"/images/{first['id']}/tag?repo=kept&tag=1", "nothing")
        self.json("image", "build", "--runtime", self.changed())
        self.assertEqual(self.steps("image-inspect", "kept:1")[-1]["id"], first["id"])

    def test_foreign_image_loses_only_its_name(self):
        archive = os.path.join(harness.scratch(), "foreign.tar")
        engine.make_image(archive, NAME, labels={"whose": "somebody's"})
        self.steps("load", archive, "sized")
        foreign = self.steps("image-inspect", NAME)[-1]["id"]
        self.assertEqual(self.json("image", "build")["outcome"], "loaded")
        self.assertEqual(self.steps("image-inspect", foreign)[-1]["names"], [])
        self.steps("image-remove", foreign)


class Removed(ImageCase):
    def test_removes_the_default_image_twice(self):
        self.ok("image", "build")
        self.assertEqual(self.json("image", "remove", "--dry-run")["is_removed"], False)
        removed = self.json("image", "remove")
        self.assertEqual((removed["was_there"], removed["is_removed"]), (True, True))
        self.assertEqual(self.json("image", "remove")["was_there"], False)
        self.assertIn("nothing to do", self.ok("image", "remove").stdout)
        self.assertIn("has no aitherion image", self.ok("image", "list").stdout)

    def test_one_of_two_names(self):
        self.ok("image", "build")
        self.ok("image", "build", "--tag", "second:1")
        self.ok("image", "remove", "second:1")
        self.assertEqual([image["names"] for image in self.json("image", "list")["images"]], [[NAME]])

    def test_by_id(self):
        built = self.json("image", "build")
        self.ok("image", "remove", built["id"])
        self.assertEqual(self.json("image", "list")["images"], [])

    def test_keeps_a_foreign_image(self):
        archive = os.path.join(harness.scratch(), "foreign.tar")
        engine.make_image(archive, "foreign:1", labels={"whose": "somebody's"})
        self.steps("load", archive, "sized")
        self.assertIn("foreign:1", self.failure("foreign", "image", "remove", "foreign:1")["message"])
        self.assertEqual(self.steps("image-inspect", "foreign:1")[-1]["names"], ["foreign:1"])
        self.assertEqual(self.json("image", "list")["images"], [])
        self.steps("image-remove", "foreign:1")

    def test_keeps_images_built_on_ours(self):
        self.ok("image", "build")
        self.start("aitherion-test-base", "--version")
        self.steps("ask", "POST", "/commit?container=aitherion-test-base&repo=derived&tag=1", "object")
        self.steps("remove", "aitherion-test-base", "force")
        self.assertEqual([image["names"] for image in self.json("image", "list")["images"]], [[NAME]])
        self.failure("foreign", "image", "remove", "derived:1")
        self.ok("clean", "--yes", "--images")
        self.assertEqual(self.steps("image-inspect", "derived:1")[-1]["names"], ["derived:1"])
        self.assertEqual(self.json("image", "list")["images"], [])
        self.steps("image-remove", "derived:1")

    def test_keeps_a_foreign_name(self):
        self.ok("image", "build")
        self.steps("image-tag", NAME, "theirs:1")
        self.ok("clean", "--yes", "--images")
        self.assertEqual(self.steps("image-inspect", "theirs:1")[-1]["names"], ["theirs:1"])
        self.ok("image", "remove", "theirs:1")

    def test_keeps_an_image_in_use(self):
        self.ok("image", "build")
        self.start("aitherion-test-kept", "--version")
        self.failure("conflict", "image", "remove")
        self.assertEqual(len(self.json("image", "list")["images"]), 1)


class Faults(ImageCase):
    def test_no_daemon(self):
        away = "unix://" + os.path.join(harness.scratch(), "nobody.sock")
        for words in (("build",), ("list",), ("remove",)):
            error = self.failure("engine-unreachable", "image", *words, host=away)
            self.assertIn("nobody.sock", error["message"])
        self.ok("image", "build", "-o", os.path.join(harness.scratch(), "away.tar"), host=away)

    def test_another_architecture(self):
        """The build refuses to load an image that Docker's machine cannot run."""
        foreign = os.path.join(harness.scratch(), "foreign-runtime")
        with open(engine.BUSYBOX, "rb") as file:
            data = bytearray(file.read())
        data[18:20] = (21 if data[18] != 21 else 62).to_bytes(2, "little")  # e_machine: PPC64, or x86-64 there
        with open(foreign, "wb") as file:
            file.write(data)
        error = self.failure("not-supported", "image", "build", "--runtime", foreign)
        self.assertIn("docker load", error["hint"])
        saved = self.json("image", "build", "--runtime", foreign, "-o", os.path.join(harness.scratch(), "foreign.tar"))
        self.assertNotEqual(saved["architecture"], engine.ARCHITECTURES.get(os.uname().machine))

    def pretend(self, load, **options):
        """A fake daemon without images that answers a load with load(connection)."""
        answers = {"/version": {"Version": "20.10.24", "ApiVersion": "1.41"}, "/info": {}, "/networks": []}

        def script(connection, method, path, body):
            known = [answer for end, answer in answers.items() if path.endswith(end)]
            if known:
                connection.sendall(fake.answer(200, json.dumps(known[0]).encode()))
            elif "/images/load" in path:
                load(connection)
            else:
                connection.sendall(fake.answer(404, b'{"message": "No such image"}'))
        return fake.Fake(script, **options)

    def test_daemon_dies_during_a_load(self):
        """The connection breaks in the middle of the archive."""
        with self.pretend(lambda connection: connection.recv(1000), reads_body=False) as daemon:
            self.failure("engine-unreachable", "image", "build", host=daemon.host)

    def test_daemon_without_the_loaded_image(self):
        loaded = fake.answer(200, b'{"stream":"Loaded image: x\\n"}\n')
        with self.pretend(lambda connection: connection.sendall(loaded)) as daemon:
            self.failure("engine-invalid", "image", "build", host=daemon.host)

    def test_daemon_runs_out_of_disk(self):
        full = fake.answer(200, b'{"errorDetail":{"message":"no space left on device"},'
                                b'"error":"no space left on device"}\n')
        with self.pretend(lambda connection: connection.sendall(full)) as daemon:
            self.assertIn("no space left", self.failure("engine-error", "image", "build", host=daemon.host)["message"])

    def test_stopped_by_a_signal(self):
        """The daemon stops reading. SIGINT ends the build immediately, with the error "interrupted"."""
        reached, over = threading.Event(), threading.Event()
        self.addCleanup(over.set)

        def load(connection):
            reached.set()
            over.wait()
        with self.pretend(load, reads_body=False) as daemon:
            process = subprocess.Popen([harness.binary(), "image", "build", "--json"], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       env=harness.environment(DOCKER_HOST=daemon.host))
            self.assertTrue(reached.wait(harness.PATIENCE_S))
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(json.loads(errors)["code"], "interrupted")
        self.assertEqual(process.returncode, 1)


if __name__ == "__main__":
    harness.main()
