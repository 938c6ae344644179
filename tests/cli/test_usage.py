#!/usr/bin/env python3
"""Wrong command lines: the error suggests what was meant, the exit code is 2, and --json gives JSON."""
import json
import os
import re
import shutil
import tempfile
import unittest

import cli
import harness


class Typos(unittest.TestCase):
    def check(self, args, *wanted):
        result = harness.run(*args)
        self.assertEqual(result.returncode, 2, f"{args}: {result.stderr}")
        self.assertEqual(result.stdout, "")
        self.assertTrue(result.stderr.startswith("aitherion: "), result.stderr)
        self.assertIn("\n  hint: ", result.stderr)
        for text in wanted:
            self.assertIn(text, result.stderr)

    def test_each_command_with_a_letter_too_many(self):
        for words, _ in cli.commands():
            if len(words) == 1:
                self.check([words[0] + "x"], f"'{words[0]}x'", words[0])

    def test_each_command_with_two_letters_swapped(self):
        for words, _ in cli.commands():
            name = words[0]
            self.check([name[0] + name[2] + name[1] + name[3:]], f"'aitherion {name}'")

    def test_each_long_option_with_a_letter_missing(self):
        for words, row in cli.commands():
            for option in cli.options_of(row):
                if len(option["name"]) > 4:
                    self.check([*words, "--" + option["name"][:-2] + option["name"][-1]], "--" + option["name"])

    def test_choices(self):
        self.check(["discover", "--format", "jsno"], "jsno", "json")
        self.check(["--color", "purple", "version"], "purple", "always")
        self.check(["--log-level", "warn", "version"], "warn", "error|warning|info|debug")
        self.check(["completion", "zhs"], "zhs", "zsh")

    def test_nothing_near(self):
        self.check(["xylophone"], "'xylophone'", "aitherion --help")
        self.check(["discover", "--xylophone"], "--xylophone", "--help")
        self.check(["discover", "-X"], "-X")

    def test_options_that_exclude_each_other(self):
        self.check(["key", "--new", "--export"], "hint: aitherion key --help")
        self.check(["configure", "--show", "--set", "a=b"], "hint: aitherion configure --help")
        self.check(["roce", "test", "--server", "--peer", "h"], "hint: aitherion roce test --help")
        for words in (["session", "limit", "7", "--cap", "--no-cap"], ["discover", "--root", "/", "--topology", "a.xml"],
                      ["fingerprint", "--rates", "--equivalent", "0"], ["session", "list", "--server", "a:1", "--numa", "0"]):
            self.check(words, " and ".join(f"'{word}'" for word in words if word.startswith("--")) + " exclude each other")

    def test_help(self):
        self.check(["help", "start", "stop"], "'start' has no command 'stop'", "hint: aitherion help stop")
        self.check(["help", "session", "lisst"], "'session' has no command 'lisst'", "did you mean 'list'?")
        self.check(["help", "session", "xylophone"], "'session' has no command 'xylophone'", "hint: aitherion session --help")
        self.check(["help", "xylophone"], "no help for 'xylophone'", "hint: aitherion --help")

    def test_values(self):
        self.check(["discover", "--root"], "--root")
        self.check(["discover", "--json=yes"], "--json")
        self.check(["version", "--quiet=1"], "--quiet")

    def test_arguments(self):
        self.check(["discover", "surplus"], "surplus")
        self.check(["version", "surplus"], "surplus")
        self.check(["completion"], "SHELL")

    def test_empty_words(self):
        self.check([""])
        self.check(["--"] + [""])

    def test_contradictions(self):
        root = harness.capture("laptop")
        self.check(["discover", "--root", root, "--topology", "x.xml"], "--topology")
        for args in (["--json", "--yaml"], ["--json", "--format", "dot"]):
            result = harness.run("discover", "--root", root, *args)
            value, faults = harness.check_json(result.stderr)
            self.assertEqual((result.returncode, result.stdout, faults, value["code"]), (2, "", [], "usage"), args)

    def test_a_server_takes_no_measurement_options(self):
        for args in ("--op", "write"), ("--op", "read"), ("--size", "64"), ("--latency",):
            self.check(["roce", "test", "--server", *args], "the client chooses what is measured")
        self.check(["roce", "test", "--op", "writ"], "write, read or send")


class Hints(unittest.TestCase):
    """A hint leads on: its commands exist here, work on the same document and machine, and would not be refused."""

    def hint(self, *args, env=None):
        result = harness.run(*args, env=env or harness.environment())
        self.assertNotEqual(result.returncode, 0, result.stdout)
        return " ".join(re.findall(r"(?s)hint: (.*)", result.stderr + result.stdout)[0].split())

    def test_another_word_is_no_typing_mistake(self):
        for word in "ls", "nope", "exit", "ps":
            self.assertEqual(self.hint(word), "aitherion --help")
            self.assertEqual(self.hint("help", word), "aitherion --help")

    def test_another_machine_needs_a_document_of_its_own(self):
        for option, name in ("--root", "ac922-4gpu"), ("--topology", "dgx2-16gpu"):
            source = [option, name]
            for args in ["health"], ["configure", "0", "--set", "vram_fraction=0.5"], ["roce", "list"]:
                result = harness.run(*args, *source)
                text = " ".join((result.stdout + result.stderr).split())
                self.assertNotIn("-c /etc", text)
                self.assertRegex(text, rf"aitherion -c FILE {option} \S+ init|name a document for that machine with -c FILE")
            self.assertNotIn("FILE", harness.run("discover", *source).stdout)

    def test_other_outputs_of_a_missing_document(self):
        with tempfile.TemporaryDirectory() as folder:
            document = os.path.join(folder, "my topology.yaml")
            self.assertEqual(self.hint("configure", "--show", "-c", document), f"aitherion -c '{document}' init")
            harness.run("init", "--root", "ac922-4gpu", "-c", document)
            self.assertIn(f"aitherion -c '{document}' --root ac922-4gpu init --force", self.hint("init", "--root", "ac922-4gpu", "-c", document))

    def test_hints_in_json_have_the_options_too(self):
        value = json.loads(harness.run("health", "--root", harness.capture("ac922-4gpu"), "-c", "/nonexistent.yaml", "--json").stdout)
        self.assertIn(f"aitherion -c /nonexistent.yaml --root {harness.capture('ac922-4gpu')} init", [check["hint"] for check in value["checks"]])

    def test_files_and_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            for args, hint in ((["configure", "--show", "-c", folder], "name a file in this folder"),
                               (["init", "-c", folder], "name a file in this folder"),
                               (["discover", "-o", folder], "name a file in this folder"),
                               (["discover", "--topology", folder], "name a file in this folder"),
                               (["discover", "-o", f"{folder}/x/y.svg"], f"mkdir -p '{folder}/x'"),
                               (["image", "build", "-o", f"{folder}/x/y.tar"], f"mkdir -p '{folder}/x'"),
                               (["discover", "--topology", "/etc/passwd"], "give an XML file of lstopo .* or of NCCL .*"),
                               (["discover", "--root", "/etc/passwd"], "it is a file: --topology /etc/passwd"),
                               (["discover", "--root", "ac922-4gpu", "--topology", "dgx2-16gpu"], "leave one of them out"),
                               (["status", "--json", "--yaml"], '.*"leave one of them out".*')):
                with self.subTest(args):
                    self.assertRegex(self.hint(*args) if "--json" not in args else harness.run(*args).stderr.replace("\n", " "), f"^{hint}$")

    def test_missing_captures(self):
        self.assertRegex(self.hint("discover", "--root", "nosuch"), "^shipped captures: ac922-4gpu")
        with tempfile.TemporaryDirectory() as folder:  # without the shipped captures
            binary = shutil.copy(harness.binary(), os.path.join(folder, "aitherion"))
            for option, wanted in ("--root", "give a folder "), ("--topology", "give a file "):
                result = harness.run(command=[binary, "discover", option, "nosuch"])
                self.assertIn(f"hint: {wanted}", result.stderr)
                self.assertNotIn("shipped", result.stderr)

    @unittest.skipIf(os.geteuid() != 0, "only root can make a network namespace")
    def test_links_that_are_no_cards(self):
        with tempfile.TemporaryDirectory() as folder:
            document = os.path.join(folder, "topology.yaml")
            harness.run("init", "-c", document)
            result = harness.run(command=["unshare", "-n", "sh", "-c", f"ip link add veth7 type veth peer name veth8; exec '{harness.binary()}' "
                                          f"configure 0 --data-iface nosuch -c '{document}'"])
            self.assertRegex(result.stderr, r"hint: this machine has .*veth8")


class Json(unittest.TestCase):
    def error(self, *args):
        result = harness.run(*args)
        self.assertEqual(result.stdout, "")
        value, faults = harness.check_json(result.stderr)
        self.assertEqual(faults, [])
        return result.returncode, value

    def test_usage(self):
        for args in (["discver", "--json"], ["--json", "discover", "--rot", "x"], ["discover", "--json", "x"]):
            code, value = self.error(*args)
            self.assertEqual((code, value["code"]), (2, "usage"), args)
            self.assertTrue(value["hint"], args)

    def test_missing_root(self):
        code, value = self.error("discover", "--root", "/nonexistent-root", "--json")
        self.assertEqual((code, value["code"]), (1, "not-found"))
        self.assertIn("/nonexistent-root", value["message"])

    def test_missing_document(self):
        code, value = self.error("configure", "--show", "-c", "/nonexistent.yaml", "--json")
        self.assertEqual((code, value["code"]), (1, "document-missing"))
        self.assertIn("init", value["hint"])

    def test_json_has_the_message_of_the_text(self):
        _, value = self.error("discover", "--root", "/nonexistent-root", "--json")
        text = harness.run("discover", "--root", "/nonexistent-root").stderr
        self.assertTrue(text.startswith(f"aitherion: {value['message']}\n"), text)

    def test_every_code_is_listed(self):
        words = {row["name"] for row in cli.table()["errors"]}
        for word in ("usage", "not-found", "document-missing", "topology-invalid"):
            self.assertIn(word, words)


class Words(unittest.TestCase):
    def test_flags_may_stand_anywhere(self):
        root = harness.capture("laptop")
        wanted = harness.run("discover", "--root", root, "--json").stdout
        for args in (["--json", "discover", "--root", root], ["--root", root, "discover", "--json"],
                     [f"--root={root}", "--json", "numa", "discover"], ["numa", "--json", "discover", "--root", root]):
            self.assertEqual(harness.run(*args).stdout, wanted, args)

    def test_levels_of_messages(self):
        """-q, -v and -vv are levels. A level of the environment changes no result."""
        root = harness.capture("ac922-4gpu")
        def told(*words, **variables):
            result = harness.run("discover", "--root", root, *words, env=harness.environment(**variables))
            self.assertEqual(result.returncode, 0, result.stderr)
            return result.stderr
        self.assertEqual(told(), "")
        self.assertEqual(told("--log-level", "info"), told("-v"))
        self.assertEqual(told("-q", "--log-level=debug"), told("-vv"))
        self.assertLess(len(told("-v")), len(told("-vv")))
        self.assertEqual(told(AITHERION_LOG_LEVEL="debug"), told("-vv"))
        self.assertEqual(told("-v", AITHERION_LOG_LEVEL="debug"), told("-v"))
        self.assertEqual(told("--log-level", "error", AITHERION_LOG_LEVEL="debug"), "")

    def test_a_wrong_level_in_the_environment(self):
        wrong = harness.environment(AITHERION_LOG_LEVEL="loud")
        result = harness.run("discover", "--root", harness.capture("laptop"), env=wrong)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("AITHERION_LOG_LEVEL is 'loud'; it can be error, warning, info or debug", result.stderr)
        for words in ["version"], ["help"], ["--help"], ["discover", "--help"]:
            self.assertEqual(harness.run(*words, env=wrong).returncode, 0, words)

    def test_letters_in_one_word(self):
        result = harness.run("-qv", "version")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(harness.run("-c/nonexistent.yaml", "configure", "--show").returncode, 1)

    def test_help_and_version_win(self):
        for words, _ in cli.commands():
            self.assertEqual(harness.run(*words, "--version").stdout, harness.run("version").stdout)
            self.assertEqual(harness.run(*words, "--help").returncode, 0)

    def test_version(self):
        result = harness.run("--version")
        self.assertRegex(result.stdout, r"^aitherion \d+\.\d+\.\d+\n$")
        self.assertEqual(harness.run("-V").stdout, result.stdout)
        self.assertEqual(harness.run("status", "-qV").stdout, result.stdout)
        value = json.loads(harness.run("version", "--json").stdout)
        self.assertEqual(f"aitherion {value['version']}\n", result.stdout)


if __name__ == "__main__":
    harness.main()
