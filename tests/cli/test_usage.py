#!/usr/bin/env python3
"""Wrong command lines: what was meant is guessed, the exit code is 2, and --json gets JSON."""
import json
import unittest

import cli
import harness


class Typos(unittest.TestCase):
    def check(self, args, *wanted):
        result = harness.run(*args)
        self.assertEqual(result.returncode, 2, f"{args}: {result.stderr}")
        self.assertEqual(result.stdout, "")
        self.assertTrue(result.stderr.startswith("aitherion: "), result.stderr)
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
        self.check(["completion", "zhs"], "zhs", "zsh")

    def test_nothing_near(self):
        self.check(["xylophone"], "'xylophone'", "aitherion --help")
        self.check(["discover", "--xylophone"], "--xylophone", "--help")
        self.check(["discover", "-X"], "-X")

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

    def test_what_is_measured_is_not_said_to_a_server(self):
        for args in ("--op", "write"), ("--op", "read"), ("--size", "64"), ("--latency",):
            self.check(["roce", "test", "--server", *args], "said by the client")
        self.check(["roce", "test", "--op", "writ"], "write, read or send")


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

    def test_message_is_the_one_of_the_text(self):
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
        value = json.loads(harness.run("version", "--json").stdout)
        self.assertEqual(f"aitherion {value['version']}\n", result.stdout)


if __name__ == "__main__":
    harness.main()
