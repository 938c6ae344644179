#!/usr/bin/env python3
"""Output on its way out: colour, ASCII, Chinese, pager, full disks; and the libraries that --version loads."""
import os
import re
import subprocess
import unittest

import cli
import harness
import miniyaml

ESCAPE = "\x1b["
LIBRARIES_OF_SOME = re.compile(r"lib(hwloc|expat|curl|ncurses\w*|tinfo|nvidia-ml|cuda|ibverbs|rdmacm|mnl|numa)\.so")


def roots():
    return [name for name in harness.capture_names() if not name.endswith(".xml")]


def source_of(name):
    return ["--topology" if name.endswith(".xml") else "--root", harness.capture(name)]


class Colour(unittest.TestCase):
    def discover(self, *args, **env):
        args = ["discover", *source_of("ac922-4gpu-memory-offline"), *args]
        return cli.run_on_terminal(*args, env=harness.environment(**{"TERM": "xterm-256color", "PAGER": "cat", **env}))[1]

    def test_on_a_terminal(self):
        self.assertIn(ESCAPE, self.discover())

    def test_not_with_no_color(self):
        self.assertNotIn(ESCAPE, self.discover(NO_COLOR="1"))
        self.assertIn(ESCAPE, self.discover(NO_COLOR=""))  # no-color.org: present and not empty

    def test_not_on_a_dumb_terminal(self):
        self.assertNotIn(ESCAPE, self.discover(TERM="dumb"))

    def test_the_flag_wins(self):
        self.assertIn(ESCAPE, self.discover("--color", "always", NO_COLOR="1"))
        self.assertNotIn(ESCAPE, self.discover("--color", "never"))

    def test_not_in_a_file(self):
        args = ["discover", *source_of("ac922-4gpu")]
        self.assertNotIn(ESCAPE, harness.run(*args, env=harness.environment(TERM="xterm")).stdout)
        self.assertIn(ESCAPE, harness.run(*args, "--color=always").stdout)

    def test_never_in_data(self):
        for form in ("--json", "--yaml", "--format=dot", "--format=svg"):
            self.assertNotIn("\x1b", harness.run("discover", *source_of("ac922-4gpu"), form, "--color=always").stdout, form)


class Text(unittest.TestCase):
    def test_ascii_with_lang_c(self):
        env = harness.environment(LANG="C")
        for name in harness.capture_names():
            for form in ([], ["--format", "matrix"]):
                text = harness.run("discover", *source_of(name), *form, env=env).stdout
                self.assertTrue(text.isascii() and text, name)
        self.assertTrue(harness.run("discover", "--root", "/gone-ä", env=env).stderr.isascii())

    def test_width_is_kept(self):
        for columns in (60, 80, 120):
            env = harness.environment(COLUMNS=str(columns))
            for name in roots():
                for line in harness.run("discover", *source_of(name), env=env).stdout.splitlines():
                    self.assertLessEqual(len(line), columns, f"{name}: {line}")

    def test_no_blanks_at_line_ends(self):
        for name in harness.capture_names():
            for form in ([], ["--format", "matrix"], ["--yaml"]):
                text = harness.run("discover", *source_of(name), *form).stdout
                self.assertIsNone(re.search(r"[ \t]$", text, re.MULTILINE), f"{name} {form}")

    def test_chinese(self):
        changes, why = cli.chinese_environment()
        if not changes:
            self.skipTest(why)
        env = harness.environment(**changes)
        for args in ([], ["discover", "--help"], ["discover", *source_of("ac922-4gpu")], ["discover", "--root", "/gone"]):
            result = harness.run(*args, env=env)
            self.assertRegex(result.stdout + result.stderr, r"[\u4e00-\u9fff]", args)

    def test_data_is_not_translated(self):
        changes, why = cli.chinese_environment()
        if not changes:
            self.skipTest(why)
        plain = miniyaml_free(harness.run("discover", *source_of("ac922-4gpu"), "--json").stdout)
        chinese = miniyaml_free(harness.run("discover", *source_of("ac922-4gpu"), "--json",
                                            env=harness.environment(**changes)).stdout)
        self.assertEqual(plain, chinese)


def miniyaml_free(text):
    """Returns JSON output without the sentences for people."""
    value, faults = harness.check_json(text)
    if faults:
        raise AssertionError(faults)
    for row in value["pairs"] + value["warnings"]:
        for key in ("reason", "message", "hint"):
            row.pop(key, None)
    return value


class Data(unittest.TestCase):
    def test_json_of_each_capture_keeps_its_schema(self):
        for name in harness.capture_names():
            result = harness.run("discover", *source_of(name), "--json")
            self.assertEqual((result.returncode, result.stderr), (0, ""), name)
            self.assertEqual(harness.check_json(result.stdout)[1], [], name)

    def test_yaml_equals_json(self):
        for name in harness.capture_names():
            value = harness.check_json(harness.run("discover", *source_of(name), "--json").stdout)[0]
            text = harness.run("discover", *source_of(name), "--yaml").stdout
            self.assertEqual(miniyaml.load(text), value, name)

    def test_every_json_output_has_a_schema(self):
        files = {"aitherion.topology/1", "aitherion.cluster/1", "aitherion.cluster-links/1", "aitherion.process-state/1", "aitherion.measured/1"}  # read by aitherion itself, not output
        words = set()
        for folder, _, names in os.walk(os.path.join(harness.SOURCE, "src")):
            for name in names:
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    words |= set(re.findall(r'"(aitherion\.[a-z-]+/\d+)"', file.read()))
        self.assertEqual(words - files, set(harness.schemas()))

    def test_other_commands(self):
        for args in (["version"], ["help"], ["completion", "bash"], ["help", "discover"]):
            value, faults = harness.check_json(harness.run(*args, "--json").stdout)
            self.assertEqual(faults, [], args)
            self.assertEqual(miniyaml.load(harness.run(*args, "--yaml").stdout), value, args)

    def test_svg_is_xml(self):
        import xml.etree.ElementTree
        for name in harness.capture_names():
            tree = xml.etree.ElementTree.fromstring(harness.run("discover", *source_of(name), "--format=svg").stdout)
            self.assertTrue(tree.tag.endswith("svg"), name)

    def test_written_file_is_the_same(self):
        path = os.path.join(harness.scratch(), "out.json")
        args = ["discover", *source_of("ac922-4gpu"), "--json"]
        self.assertEqual(harness.run(*args, "-o", path).returncode, 0)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), harness.run(*args).stdout)


class Failing(unittest.TestCase):
    def test_full_disk(self):
        for args in (["version"], ["help"], ["discover", *source_of("ac922-4gpu")],
                     ["discover", *source_of("ac922-4gpu"), "--json"], ["completion", "bash"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                result = harness.run(*args, stdout=full)
            self.assertEqual(result.returncode, 1, args)
            self.assertIn("no-space" if "--json" in args else "aitherion: ", result.stderr)

    def test_closed_output(self):
        for args in (["version"], ["discover", *source_of("laptop")]):
            result = harness.run(command=["sh", "-c", '"$0" "$@" >&-', harness.binary(), *args])
            self.assertEqual(result.returncode, 1, args)

    def test_reader_that_goes_away(self):
        result = harness.run(command=["bash", "-c", 'set -o pipefail; "$0" "$@" | true', harness.binary(), "discover",
                                      *source_of("ac922-4gpu"), "--json"])
        self.assertEqual(result.stderr, "")

    def test_file_in_a_missing_folder(self):
        result = harness.run("discover", *source_of("laptop"), "-o", "/nonexistent/x.svg")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/nonexistent/x.svg", result.stderr)


class Pager(unittest.TestCase):
    def run_with(self, pager, *args, size=(24, 80)):
        env = harness.environment(TERM="xterm", PAGER=pager)
        return cli.run_on_terminal(*args, env=env, size=size)

    def test_long_text(self):
        code, text = self.run_with("sed s/^/PAGED:/", "discover", *source_of("ac922-4gpu"))
        self.assertEqual(code, 0)
        self.assertIn("PAGED:", text)

    def test_short_text_needs_no_pager(self):
        self.assertNotIn("PAGED:", self.run_with("sed s/^/PAGED:/", "version")[1])

    def test_a_missing_pager(self):
        code, text = self.run_with("no-such-pager-anywhere", "discover", *source_of("ac922-4gpu"))
        self.assertEqual(code, 0)
        self.assertIn("mlx5_0", text)


class Loading(unittest.TestCase):
    def test_version_loads_no_optional_library(self):
        for args in (["--version"], ["--help"], ["completion", "bash"]):
            env = harness.environment(LD_DEBUG="libs")
            result = subprocess.run([harness.binary(), *args], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                    text=True, check=False)
            self.assertIn("calling init", result.stderr)
            loaded = LIBRARIES_OF_SOME.findall(result.stderr)
            self.assertEqual(loaded, [], args)


if __name__ == "__main__":
    harness.main()
