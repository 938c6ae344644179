#!/usr/bin/env python3
"""Help, man pages and the README, checked against the command table."""
import os
import re
import unittest

import cli
import harness


def man_page(name):
    return os.path.join(harness.build(), "man", name)


def plain(text):
    """Removes roff's escapes and line breaks."""
    text = re.sub(r"\\f[BIRP]", "", text).replace("\\-", "-").replace("\\e", "\\").replace("\\&", "")
    return re.sub(r"\s+", " ", text)


class Help(unittest.TestCase):
    def test_bare_command(self):
        result = harness.run()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for row in cli.table()["command"]["commands"]:
            self.assertRegex(result.stdout, rf"(?m)^  {row['name']} +\S")
        self.assertLess(result.stdout.count("\n"), 60)

    def test_each_command(self):
        for words, row in cli.commands():
            text = harness.run(*words, "--help").stdout
            self.assertIn("aitherion " + row["path"], text)
            for option in cli.options_of(row):
                self.assertRegex(text, rf"--{option['name']}(?![a-z-])", f"{words}: {option['name']}")
            for argument in row["arguments"]:
                self.assertIn(argument["name"], text)
            for example in row["examples"]:
                self.assertIn(example["command"], text)

    def test_three_ways_to_the_same_help(self):
        for words, _ in cli.commands():
            wanted = harness.run(*words, "--help").stdout
            self.assertEqual(harness.run("help", *words).stdout, wanted)
            self.assertEqual(harness.run("-h", *words).stdout, wanted)

    def test_fits_eighty_columns(self):
        for words, _ in [([], None)] + cli.commands():
            result = harness.run(*words, "--help", env=harness.environment(COLUMNS=None))
            for line in result.stdout.splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_json(self):
        for words, _ in [([], None)] + cli.commands():
            value, faults = harness.check_json(harness.run("help", *words, "--json").stdout)
            self.assertEqual(faults, [])
            self.assertEqual(value["command"]["name"], words[-1] if words else "aitherion")

    def test_every_row_has_texts(self):
        for words, row in cli.commands():
            self.assertTrue(row["summary"], words)
            self.assertFalse(row["summary"].endswith("."), words)
            for option in row["options"]:
                self.assertTrue(option["help"], option["name"])
                self.assertFalse(option["help"].endswith("."), option["name"])

    def test_an_option_takes_a_value_everywhere_or_nowhere(self):
        kinds = {}
        for _, row in cli.commands():
            for option in cli.options_of(row):
                kind = (option.get("value") is not None or option["choices"] is not None)
                if (row["path"], option["name"]) != ("roce test", "server"):  # the one exception, a flag: its command stands before it
                    self.assertEqual(kinds.setdefault(option["name"], kind), kind, option["name"])

    def test_examples_are_valid_command_lines(self):
        # Runs with --help, so that only the words are checked and nothing is done.
        for _, row in cli.commands() + [([], cli.table()["command"])]:
            for example in row["examples"]:
                words = re.sub(r"^source <\((.*)\)$|\|.*$", r"\1", example["command"]).split()
                self.assertEqual(words[0], "aitherion")
                self.assertEqual(harness.run("--help", *words[1:]).returncode, 0, example["command"])


class ManPages(unittest.TestCase):
    def read(self, name):
        with open(man_page(name), encoding="utf-8") as file:
            return plain(file.read())

    def test_each_command_has_a_page_with_all_its_options(self):
        for row in cli.places():
            text = self.read(f"aitherion-{row['path'].replace(' ', '-')}.1")
            self.assertIn(row["summary"], text.replace("`", ""), row["path"]) if "`" not in row["summary"] else None
            self.assertIn(f"aitherion {row['path']}", text)
            for option in row["options"]:
                self.assertIn("--" + option["name"], text, row["path"])
            for example in row["examples"]:
                self.assertIn(example["command"], text, row["path"])
            for child in row["commands"]:
                self.assertIn(f"aitherion-{child['path'].replace(' ', '-')}", text, row["path"])

    def test_main_page(self):
        text = self.read("aitherion.1")
        for row in cli.table()["command"]["commands"]:
            self.assertIn("aitherion-" + row["name"], text)
        for option in cli.table()["global_options"]:
            self.assertIn("--" + option["name"], text)
        for error in cli.table()["errors"]:
            self.assertIn(error["name"], text)
        for code in cli.table()["exit_codes"]:
            self.assertIn(code["meaning"], text)

    def test_document_page_has_every_key(self):
        text = self.read("aitherion-topology.yaml.5")
        for key in cli.table()["document_keys"]:
            self.assertIn(key["path"], text)

    def test_templates_are_filled_completely(self):
        folder = os.path.dirname(man_page("x"))
        pages = [name for name in os.listdir(folder) if re.search(r"\.[15]$", name)]
        self.assertGreater(len(pages), 5)
        for name in pages:
            self.assertNotRegex(self.read(name), r"@[A-Z_]+@", name)


class Readme(unittest.TestCase):
    def test_its_command_lines_are_valid(self):
        with open(os.path.join(harness.SOURCE, "README.md"), encoding="utf-8") as file:
            lines = [line.strip() for line in file if re.match(r" {4}aitherion ", line)]
        self.assertGreater(len(lines), 3)
        for line in lines:
            words = re.split(r" {2,}", line)[0].split()
            self.assertEqual(harness.run("--help", *words[1:]).returncode, 0, line)

    def test_captures_named_in_texts_are_shipped(self):
        for name in ("ac922-4gpu", "ac922-6gpu"):
            result = harness.run("discover", "--root", name)
            self.assertEqual((result.returncode, result.stderr), (0, ""), name)


if __name__ == "__main__":
    harness.main()
